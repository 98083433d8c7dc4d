//! Diagonal, transpose, symmetry, submatrices.

use std::ops::Range;

use ndarray::Array1;
use rayon::prelude::*;

use super::CsrMatrix;
use super::convert::counting_sort;
use crate::{Result, Scalar, SparseError, start_threads};

/// How far a matrix is from symmetric: see [`CsrMatrix::symmetry`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Symmetry {
    /// The largest `|a_ij - a_ji|`; NaN where one is not a number, so that no comparison with a tolerance accepts it as small (`largest <= tolerance`).
    pub largest: f64,
    /// Row of the first place (row by row, on or above the diagonal) where it is reached, of the first NaN where there is one; 0 for a symmetric matrix.
    pub row: usize,
    /// Column of that place.
    pub col: usize,
}

impl<T: Scalar> CsrMatrix<T> {
    /// The elements `a_ii`, zero where nothing is stored; as many as the shorter side has.
    pub fn diagonal(&self) -> Array1<T> {
        let n = self.rows.min(self.cols);
        (0..n).map(|i| self.get(i, i).unwrap_or(T::zero())).collect()
    }

    /// Whether no value is a NaN or an infinity.
    pub(crate) fn holds_finite_values(&self) -> bool {
        let _ = start_threads();
        self.values.par_chunks(1 << 16).all(|values| values.iter().all(|v| v.is_finite()))
    }

    /// The transpose. Cost: linear in rows, columns and entries, serial.
    pub fn transpose(&self) -> Self {
        // Entries come row by row, so within a column of A (a row of the result) they are in order already.
        let (starts, columns, values) = counting_sort(self.cols, &self.columns, &self.row_indices(), &self.values);
        Self::from_canonical(self.cols, self.rows, starts, columns, values)
    }

    /// The largest `|a_ij - a_ji|` over all places, and where it is; an entry without a partner faces zero. A NaN, of an element that is NaN or of
    /// infinities that differ by no number, counts as larger than any number.
    ///
    /// Cost: one search in another row per entry, in parallel. The answer does not depend on the number of threads.
    ///
    /// # Errors
    /// `Shape` when the matrix is not square; `Threads`.
    ///
    /// ```
    /// let a = gpu_sparse::CsrMatrix::from_parts(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 0.5, 1.0])?;
    /// let symmetry = a.symmetry()?;
    /// assert_eq!((symmetry.largest, symmetry.row, symmetry.col), (0.5, 0, 1));
    /// # Ok::<(), gpu_sparse::SparseError>(())
    /// ```
    pub fn symmetry(&self) -> Result<Symmetry> {
        if self.rows != self.cols {
            let (expected, got) = ("a square matrix".into(), format!("{} x {}", self.rows, self.cols));
            return Err(SparseError::Shape { op: "CsrMatrix::symmetry", expected, got });
        }
        start_threads()?;
        let none = Symmetry { largest: 0.0, row: 0, col: 0 };
        let worst = |a: Symmetry, b: Symmetry| {
            // A NaN is the largest; of equal ones the first place counts.
            let order = b.largest.total_cmp(&a.largest).then((a.row, a.col).cmp(&(b.row, b.col)));
            if order.is_gt() { b } else { a }
        };
        let rows = (0..self.rows).into_par_iter().with_min_len(256);
        Ok(rows.flat_map_iter(|row| self.differences(row)).reduce(|| none, worst))
    }

    /// Row, column and value of the first entry, row by row, that is NaN or an infinity.
    ///
    /// ```
    /// let a = gpu_sparse::CsrMatrix::from_parts(2, 2, vec![0, 1, 2], vec![0, 1], vec![1.0, f64::NAN])?;
    /// assert!(a.first_non_finite().is_some_and(|(row, col, value)| (row, col) == (1, 1) && value.is_nan()));
    /// # Ok::<(), gpu_sparse::SparseError>(())
    /// ```
    pub fn first_non_finite(&self) -> Option<(usize, usize, T)> {
        let entry = self.values.iter().position(|value| !value.is_finite())?;
        let row = self.row_starts.partition_point(|&start| start <= entry as u64) - 1;
        Some((row, self.columns[entry] as usize, self.values[entry]))
    }

    /// Whether no `|a_ij - a_ji|` exceeds `tolerance`; false for a matrix that is not square.
    pub fn is_symmetric(&self, tolerance: f64) -> bool {
        self.symmetry().is_ok_and(|symmetry| symmetry.largest <= tolerance)
    }

    /// The nonzero `|a_ij - a_ji|` seen from the entries of row `i`; (i, j) and (j, i) both name the place above the diagonal.
    fn differences(&self, row: usize) -> impl Iterator<Item = Symmetry> {
        self.entries(row).filter_map(move |entry| {
            let col = self.columns[entry] as usize;
            let (here, there) = (self.values[entry].into(), self.get(col, row)?.into());
            let difference: f64 = if here == there { 0.0 } else { (here - there).abs() };
            // Of one sign and payload, as any of them counts alike.
            let largest = if difference.is_nan() { f64::NAN } else { difference };
            (largest != 0.0).then_some(Symmetry { largest, row: row.min(col), col: row.max(col) })
        })
    }

    /// The entries within `rows` and `cols`, renumbered from 0.
    ///
    /// # Errors
    /// `Shape` when a range reaches beyond the matrix or ends before it starts.
    pub fn submatrix(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Self> {
        if rows.start > rows.end || cols.start > cols.end || rows.end > self.rows || cols.end > self.cols {
            let expected = format!("ranges within {} x {}", self.rows, self.cols);
            let got = format!("{rows:?} x {cols:?}");
            return Err(SparseError::Shape { op: "CsrMatrix::submatrix", expected, got });
        }
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in rows.clone() {
            let entries = self.entries(row);
            let row_columns = &self.columns[entries.clone()];
            let first = row_columns.partition_point(|&c| (c as usize) < cols.start);
            let last = row_columns.partition_point(|&c| (c as usize) < cols.end);
            columns.extend(row_columns[first..last].iter().map(|&c| c - cols.start as u32));
            values.extend_from_slice(&self.values[entries][first..last]);
            starts.push(values.len() as u64);
        }
        Ok(Self::from_canonical(rows.len(), cols.len(), starts, columns, values))
    }
}
