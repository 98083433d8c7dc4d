//! Compressed sparse rows: the format of record, from which products and other formats are made.

mod build;
mod convert;
mod structure;

#[cfg(test)]
mod tests;

pub(crate) use build::{Emit, from_row_function};
pub use structure::Symmetry;

use std::ops::Range;

use crate::coo::check_dimensions;
use crate::partition::row_blocks;
use crate::{Result, Scalar, SparseError};

/// A sparse matrix in compressed rows, always canonical: within a row the columns rise strictly.
///
/// Row `i` holds `columns()[row_starts()[i]..row_starts()[i + 1]]` and the values at the same places. Stored zeros are
/// entries like any other. The pattern cannot change after construction; the values can. Columns are u32, so there are at
/// most `u32::MAX` rows and columns; the number of entries is limited by memory alone.
///
/// Products run on rayon's threads, in blocks of rows cut by rows and entries, never by the number of threads: every result is
/// bitwise the same on any number of them.
///
/// ```
/// use gpu_sparse::CsrMatrix;
///
/// let a = CsrMatrix::from_parts(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
/// assert_eq!(a.matvec(&[1.0, 1.0, 10.0])?.to_vec(), [21.0, 3.0]);
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CsrMatrix<T> {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) row_starts: Vec<u64>,
    pub(crate) columns: Vec<u32>,
    pub(crate) values: Vec<T>,
    /// Boundaries of the blocks of rows that products run in parallel.
    pub(crate) blocks: Vec<usize>,
}

impl<T: Scalar> CsrMatrix<T> {
    /// Makes a matrix of its three arrays, which must be canonical (see [`from_unsorted_parts`](Self::from_unsorted_parts)
    /// for arrays that are not). Cost: one pass over `row_starts` and `columns`.
    ///
    /// # Errors
    /// `Shape` when the arrays' lengths do not fit, `RowStarts`, `IndexOutOfRange` or `UnsortedColumns` for the first
    /// row or entry that breaks the invariant (an entry twice in a row is unsorted, too), `TooLarge` for a dimension above `u32::MAX`.
    #[doc(alias = "csr_matrix")]
    pub fn from_parts(
        rows: usize,
        cols: usize,
        row_starts: Vec<u64>,
        columns: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self> {
        check_parts(rows, cols, &row_starts, &columns, values.len())?;
        for row in 0..rows {
            let entries = row_starts[row] as usize..row_starts[row + 1] as usize;
            for (entry, pair) in (entries.start + 1..).zip(columns[entries].windows(2)) {
                if pair[0] >= pair[1] {
                    return Err(SparseError::UnsortedColumns { row, entry, column: pair[1], previous: pair[0] });
                }
            }
        }
        Ok(Self::from_canonical(rows, cols, row_starts, columns, values))
    }

    /// Like [`from_parts`](Self::from_parts), for rows whose columns come in any order and more than once: rows are sorted,
    /// and entries at one place are added in the order in which they come.
    ///
    /// # Errors
    /// The errors of `from_parts`, without `UnsortedColumns`.
    ///
    /// ```
    /// use gpu_sparse::CsrMatrix;
    /// let a = CsrMatrix::from_unsorted_parts(1, 3, vec![0, 3], vec![2, 0, 2], vec![1.0, 5.0, 2.0])?;
    /// assert_eq!((a.columns(), a.values()), (&[0, 2][..], &[5.0, 3.0][..]));
    /// # Ok::<(), gpu_sparse::SparseError>(())
    /// ```
    pub fn from_unsorted_parts(
        rows: usize,
        cols: usize,
        row_starts: Vec<u64>,
        columns: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self> {
        check_parts(rows, cols, &row_starts, &columns, values.len())?;
        build::canonicalize(rows, cols, row_starts, columns, values)
    }

    /// The `n` x `n` identity.
    ///
    /// # Errors
    /// `TooLarge` when `n` exceeds `u32::MAX`.
    pub fn identity(n: usize) -> Result<Self> {
        check_dimensions(n, n)?;
        Ok(Self::from_canonical(n, n, (0..=n as u64).collect(), (0..n as u32).collect(), vec![T::one(); n]))
    }

    /// Puts together arrays known to be canonical.
    pub(crate) fn from_canonical(
        rows: usize,
        cols: usize,
        row_starts: Vec<u64>,
        columns: Vec<u32>,
        values: Vec<T>,
    ) -> Self {
        let blocks = row_blocks(&row_starts);
        Self { rows, cols, row_starts, columns, values, blocks }
    }

    /// Number of rows and of columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of stored entries, explicit zeros included.
    pub fn nnz(&self) -> usize {
        self.values.len()
    }

    /// The start of each row in `columns` and `values`, and at the end their length: `rows() + 1` numbers.
    #[doc(alias = "indptr")]
    pub fn row_starts(&self) -> &[u64] {
        &self.row_starts
    }

    /// The column of each entry, row after row.
    #[doc(alias = "indices")]
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The value of each entry, row after row.
    #[doc(alias = "data")]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The values, to be changed in place; the pattern stays.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Columns and values of row `row`; `None` beyond the last row.
    pub fn row(&self, row: usize) -> Option<(&[u32], &[T])> {
        (row < self.rows).then(|| {
            let entries = self.entries(row);
            (&self.columns[entries.clone()], &self.values[entries])
        })
    }

    /// The element at (`row`, `col`), zero where nothing is stored; `None` outside the matrix. Cost: a search in the row.
    pub fn get(&self, row: usize, col: usize) -> Option<T> {
        if col >= self.cols {
            return None;
        }
        let (columns, values) = self.row(row)?;
        Some(columns.binary_search(&(col as u32)).map_or(T::zero(), |k| values[k]))
    }

    /// A matrix of this pattern with `f` of every stored value; also the way from f64 to f32.
    ///
    /// ```
    /// let a = gpu_sparse::CsrMatrix::<f64>::identity(3)?;
    /// let narrow = a.map_values(|v| v as f32);
    /// assert_eq!(narrow.values(), [1.0_f32; 3]);
    /// # Ok::<(), gpu_sparse::SparseError>(())
    /// ```
    pub fn map_values<U: Scalar>(&self, f: impl Fn(T) -> U) -> CsrMatrix<U> {
        CsrMatrix {
            rows: self.rows,
            cols: self.cols,
            row_starts: self.row_starts.clone(),
            columns: self.columns.clone(),
            values: self.values.iter().map(|&v| f(v)).collect(),
            blocks: self.blocks.clone(),
        }
    }

    /// Multiplies every stored value by `factor`, in place.
    pub fn scale(&mut self, factor: T) {
        self.values.iter_mut().for_each(|v| *v *= factor);
    }

    /// The positions of the entries of `row`, which must exist.
    pub(crate) fn entries(&self, row: usize) -> Range<usize> {
        self.row_starts[row] as usize..self.row_starts[row + 1] as usize
    }
}

/// Checks all that makes the arrays safe to index, but not the order within rows.
fn check_parts(rows: usize, cols: usize, row_starts: &[u64], columns: &[u32], nnz: usize) -> Result<()> {
    const OP: &str = "CsrMatrix::from_parts";
    check_dimensions(rows, cols)?;
    if columns.len() != nnz {
        let (expected, got) = (format!("{nnz} columns, one per value"), columns.len().to_string());
        return Err(SparseError::Shape { op: OP, expected, got });
    }
    if row_starts.len() != rows + 1 {
        let (expected, got) =
            (format!("{} row starts, one per row and the end", rows + 1), row_starts.len().to_string());
        return Err(SparseError::Shape { op: OP, expected, got });
    }
    let wrong = |row: usize, start, end| SparseError::RowStarts { row, start, end, nnz };
    if row_starts[0] != 0 {
        return Err(wrong(0, row_starts[0], *row_starts.get(1).unwrap_or(&0)));
    }
    if let Some(row) = row_starts.windows(2).position(|pair| pair[0] > pair[1] || pair[1] > nnz as u64) {
        return Err(wrong(row, row_starts[row], row_starts[row + 1]));
    }
    if row_starts[rows] != nnz as u64 {
        let last = rows.saturating_sub(1);
        return Err(wrong(last, row_starts[last], row_starts[rows]));
    }
    if let Some(entry) = columns.iter().position(|&c| c as usize >= cols) {
        let row = row_starts.partition_point(|&start| start <= entry as u64) - 1;
        let (row, col) = (row as u64, columns[entry].into());
        return Err(SparseError::IndexOutOfRange { entry, row, col, rows, cols });
    }
    Ok(())
}
