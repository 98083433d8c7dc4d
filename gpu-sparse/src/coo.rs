//! Coordinate format: one (row, column, value) triplet per entry.

use crate::{Result, Scalar, SparseError};

/// A sparse matrix as triplets, in any order, duplicates allowed (they mean their sum).
///
/// The format of choice to build a matrix; [`CooMatrix::to_csr`](crate::CooMatrix::to_csr) makes it ready for products.
#[derive(Clone, Debug, PartialEq)]
pub struct CooMatrix<T> {
    rows: usize,
    cols: usize,
    row_indices: Vec<u32>,
    col_indices: Vec<u32>,
    values: Vec<T>,
}

/// Rows and columns are counted in u32.
pub(crate) const MAX_DIM: usize = u32::MAX as usize;

impl<T: Scalar> CooMatrix<T> {
    /// Makes a matrix of three parallel vectors; entry `k` is `values[k]` at `(row_indices[k], col_indices[k])`, from 0.
    ///
    /// # Errors
    /// `Shape` when the vectors differ in length, `IndexOutOfRange` for the first entry outside the matrix, `TooLarge`
    /// when a dimension exceeds `u32::MAX`.
    ///
    /// ```
    /// let a = gpu_sparse::CooMatrix::from_triplets(2, 2, vec![0, 1], vec![0, 1], vec![2.0, 3.0])?;
    /// assert_eq!(a.nnz(), 2);
    /// # Ok::<(), gpu_sparse::SparseError>(())
    /// ```
    #[doc(alias = "coo_matrix")]
    pub fn from_triplets(
        rows: usize,
        cols: usize,
        row_indices: Vec<u32>,
        col_indices: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self> {
        check_dimensions(rows, cols)?;
        if row_indices.len() != values.len() || col_indices.len() != values.len() {
            return Err(SparseError::Shape {
                op: "CooMatrix::from_triplets",
                expected: format!("{} row and column indices, one per value", values.len()),
                got: format!("{} and {}", row_indices.len(), col_indices.len()),
            });
        }
        for (entry, (&row, &col)) in row_indices.iter().zip(&col_indices).enumerate() {
            if row as usize >= rows || col as usize >= cols {
                return Err(SparseError::IndexOutOfRange { entry, row: row.into(), col: col.into(), rows, cols });
            }
        }
        Ok(Self { rows, cols, row_indices, col_indices, values })
    }

    /// Makes a matrix of entries (row, column, value), counted from 0, as an assembly yields them.
    ///
    /// # Errors
    /// `IndexOutOfRange` for the first entry outside the matrix, `TooLarge` when a dimension exceeds `u32::MAX`.
    ///
    /// ```
    /// let springs = (0..3).flat_map(|i| [(i, i, 1.0), (i + 1, i + 1, 1.0), (i, i + 1, -1.0), (i + 1, i, -1.0)]);
    /// let a = gpu_sparse::CooMatrix::from_entries(4, 4, springs)?.to_csr();
    /// assert_eq!((a.nnz(), a.get(1, 1)), (10, Some(2.0)));
    /// # Ok::<(), gpu_sparse::SparseError>(())
    /// ```
    pub fn from_entries(
        rows: usize,
        cols: usize,
        entries: impl IntoIterator<Item = (usize, usize, T)>,
    ) -> Result<Self> {
        check_dimensions(rows, cols)?;
        let mut matrix = Self { rows, cols, row_indices: Vec::new(), col_indices: Vec::new(), values: Vec::new() };
        for (entry, (row, col, value)) in entries.into_iter().enumerate() {
            if row >= rows || col >= cols {
                return Err(SparseError::IndexOutOfRange { entry, row: row as u64, col: col as u64, rows, cols });
            }
            // Both fit, as the dimensions do.
            matrix.row_indices.push(row as u32);
            matrix.col_indices.push(col as u32);
            matrix.values.push(value);
        }
        Ok(matrix)
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

    /// Number of stored entries, duplicates and explicit zeros included.
    pub fn nnz(&self) -> usize {
        self.values.len()
    }

    /// Row of each entry.
    pub fn row_indices(&self) -> &[u32] {
        &self.row_indices
    }

    /// Column of each entry.
    pub fn col_indices(&self) -> &[u32] {
        &self.col_indices
    }

    /// Value of each entry.
    pub fn values(&self) -> &[T] {
        &self.values
    }
}

pub(crate) fn check_dimensions(rows: usize, cols: usize) -> Result<()> {
    for (quantity, value) in [("rows", rows), ("columns", cols)] {
        if value > MAX_DIM {
            return Err(SparseError::TooLarge { quantity, value: value as u64, limit: MAX_DIM as u64 });
        }
    }
    Ok(())
}
