//! Entries as they come in, in memory that follows them and not the header.

use crate::{CooMatrix, Result, Scalar};

use super::header::MatrixMarketSymmetry;
use crate::error::MatrixMarketErrorKind as Kind;

/// The first allocation, in entries: below any slack worth counting.
const FIRST: usize = 1 << 12;

/// Collects triplets, and with each its mirror image where the symmetry calls for one.
pub(super) struct Entries<T> {
    symmetry: MatrixMarketSymmetry,
    /// No more entries than this can come.
    most: usize,
    rows: Vec<u32>,
    cols: Vec<u32>,
    values: Vec<T>,
}

impl<T: Scalar> Entries<T> {
    /// Takes up no memory until entries come. The promise only limits growth: it spares the slack behind the last entry.
    pub(super) fn new(symmetry: MatrixMarketSymmetry, promised: u64) -> Self {
        let mirrored = if symmetry == MatrixMarketSymmetry::General { 1 } else { 2 };
        let most = usize::try_from(promised.saturating_mul(mirrored)).unwrap_or(usize::MAX);
        Self { symmetry, most, rows: Vec::new(), cols: Vec::new(), values: Vec::new() }
    }

    /// Adds an entry (and its mirror image), from 0.
    ///
    /// # Errors
    /// `OutOfMemory`.
    #[inline]
    pub(super) fn push(&mut self, row: u32, col: u32, value: T) -> Result<(), Kind> {
        self.push_one(row, col, value)?;
        if row == col {
            return Ok(());
        }
        match self.symmetry {
            MatrixMarketSymmetry::General => Ok(()),
            MatrixMarketSymmetry::Symmetric => self.push_one(col, row, value),
            MatrixMarketSymmetry::SkewSymmetric => self.push_one(col, row, -value),
        }
    }

    #[inline]
    fn push_one(&mut self, row: u32, col: u32, value: T) -> Result<(), Kind> {
        if self.values.len() == self.values.capacity() {
            self.grow()?;
        }
        self.rows.push(row);
        self.cols.push(col);
        self.values.push(value);
        Ok(())
    }

    /// Grows by a half, never past the promise.
    #[cold]
    fn grow(&mut self) -> Result<(), Kind> {
        let held = self.values.len();
        let more = (held / 2).max(FIRST).min(self.most.saturating_sub(held)).max(1);
        let grown =
            [&mut self.rows, &mut self.cols].into_iter().try_for_each(|indices| indices.try_reserve_exact(more));
        grown.and_then(|()| self.values.try_reserve_exact(more)).map_err(|_| {
            let of_one = 2 * size_of::<u32>() + size_of::<T>();
            Kind::OutOfMemory { entries: held as u64, bytes: (held + more) as u64 * of_one as u64 }
        })
    }

    /// Entries held, mirror images included.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Row, column and value of each entry.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32, T)> {
        self.rows.iter().zip(&self.cols).zip(&self.values).map(|((&row, &col), &value)| (row, col, value))
    }

    pub(super) fn into_values(self) -> Vec<T> {
        self.values
    }

    /// The matrix, without slack.
    pub(super) fn into_coo(mut self, rows: usize, cols: usize) -> Result<CooMatrix<T>> {
        self.rows.shrink_to_fit();
        self.cols.shrink_to_fit();
        self.values.shrink_to_fit();
        CooMatrix::from_triplets(rows, cols, self.rows, self.cols, self.values)
    }
}
