//! To and from triplets, dense arrays and `sprs`.

use ndarray::{Array2, ArrayView2};
use sprs::{CsMatBase, SpIndex};

use super::{CsrMatrix, build};
use crate::coo::check_dimensions;
use crate::{CooMatrix, Result, Scalar, SparseError, memory, start_threads};

impl<T: Scalar> CooMatrix<T> {
    /// Converts to compressed rows. Entries at one place are added in the order in which they come; zeros are kept.
    ///
    /// Cost: a counting sort by row (serial, linear), then rows are sorted in parallel.
    ///
    /// ```
    /// use gpu_sparse::CooMatrix;
    /// let a = CooMatrix::from_triplets(2, 2, vec![1, 0, 1], vec![1, 0, 1], vec![1.0, 2.0, 3.0])?.to_csr();
    /// assert_eq!((a.nnz(), a.get(1, 1)), (2, Some(4.0)));
    /// # Ok::<(), gpu_sparse::SparseError>(())
    /// ```
    ///
    /// # Panics
    /// When the system refuses memory or threads, which are errors of [`CooMatrix::try_to_csr`].
    #[doc(alias = "tocsr")]
    pub fn to_csr(&self) -> CsrMatrix<T> {
        self.try_to_csr().expect("memory and threads for a matrix in compressed rows")
    }

    /// [`CooMatrix::to_csr`] where memory or threads may be short.
    ///
    /// # Errors
    /// `OutOfMemory` with the bytes that the system refuses; `Threads`.
    pub fn try_to_csr(&self) -> Result<CsrMatrix<T>> {
        start_threads()?;
        let (rows, entries) = (self.rows() as u64 + 1, self.nnz() as u64);
        // Row starts, where each row goes on, and row lengths; columns and values.
        let bytes = 3 * rows * size_of::<u64>() as u64 + entries * (size_of::<u32>() + size_of::<T>()) as u64;
        memory::room_for("a matrix in compressed rows", bytes)?;
        let (row_starts, columns, values) =
            counting_sort(self.rows(), self.row_indices(), self.col_indices(), self.values());
        build::canonicalize(self.rows(), self.cols(), row_starts, columns, values)
    }
}

/// Groups entries by their key (below `keys`), in input order within a key: where groups start, then the other index and the value.
pub(super) fn counting_sort<T: Scalar>(
    keys: usize,
    key: &[u32],
    other: &[u32],
    values: &[T],
) -> (Vec<u64>, Vec<u32>, Vec<T>) {
    let mut starts = vec![0_u64; keys + 1];
    for &k in key {
        starts[k as usize + 1] += 1;
    }
    for k in 0..keys {
        starts[k + 1] += starts[k];
    }
    let mut next = starts.clone();
    let (mut sorted_other, mut sorted_values) = (vec![0_u32; values.len()], vec![T::zero(); values.len()]);
    for ((&k, &o), &v) in key.iter().zip(other).zip(values) {
        let place = next[k as usize] as usize;
        next[k as usize] += 1;
        (sorted_other[place], sorted_values[place]) = (o, v);
    }
    (starts, sorted_other, sorted_values)
}

impl<T: Scalar> CsrMatrix<T> {
    /// Converts to triplets, row after row.
    pub fn to_coo(&self) -> CooMatrix<T> {
        CooMatrix::from_triplets(self.rows, self.cols, self.row_indices(), self.columns.clone(), self.values.clone())
            .expect("entries of a canonical matrix lie within it")
    }

    /// The row of each entry.
    pub(super) fn row_indices(&self) -> Vec<u32> {
        let mut indices = Vec::with_capacity(self.nnz());
        for (row, pair) in self.row_starts.windows(2).enumerate() {
            indices.resize(indices.len() + (pair[1] - pair[0]) as usize, row as u32);
        }
        indices
    }

    /// Converts to a dense array, with every zero written out.
    ///
    /// # Errors
    /// `TooLarge` when memory for `rows * cols` elements cannot be had.
    #[doc(alias("toarray", "todense"))]
    pub fn to_dense(&self) -> Result<Array2<T>> {
        let elements = self.rows as u64 * self.cols as u64; // both fit u32
        let limit = isize::MAX as u64 / size_of::<T>() as u64;
        let too_large = SparseError::TooLarge { quantity: "elements of a dense matrix", value: elements, limit };
        let mut dense = Vec::new();
        if elements > limit || dense.try_reserve_exact(elements as usize).is_err() {
            return Err(too_large);
        }
        dense.resize(elements as usize, T::zero());
        let mut dense = Array2::from_shape_vec((self.rows, self.cols), dense).map_err(|_| too_large)?;
        for (mut dense_row, row) in dense.rows_mut().into_iter().zip(0..self.rows) {
            for entry in self.entries(row) {
                dense_row[self.columns[entry] as usize] = self.values[entry];
            }
        }
        Ok(dense)
    }

    /// The nonzero elements of a dense matrix (NaN is one).
    ///
    /// # Errors
    /// `TooLarge` when a dimension exceeds `u32::MAX`.
    pub fn from_dense<'a>(dense: impl Into<ArrayView2<'a, T>>) -> Result<Self> {
        let dense = dense.into();
        let (rows, cols) = dense.dim();
        check_dimensions(rows, cols)?;
        let (mut row_starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for dense_row in dense.rows() {
            for (column, &value) in dense_row.iter().enumerate().filter(|(_, v)| !v.is_zero()) {
                columns.push(column as u32);
                values.push(value);
            }
            row_starts.push(values.len() as u64);
        }
        row_starts.resize(rows + 1, 0); // ndarray yields no rows when there are no columns
        Ok(Self::from_canonical(rows, cols, row_starts, columns, values))
    }

    /// Converts to a matrix of `sprs`, stored by rows, whose operators add and multiply matrices; [`CsrMatrix::try_from`] converts back.
    ///
    /// ```
    /// use gpu_sparse::{CsrMatrix, gallery::Poisson};
    ///
    /// let (a, e) = (Poisson::two_d(3, 3).build::<f64>()?, CsrMatrix::<f64>::identity(9)?);
    /// let sum = CsrMatrix::try_from(&(&a.to_sprs() + &e.to_sprs()))?;
    /// let product = CsrMatrix::try_from(&(&a.to_sprs() * &a.to_sprs()))?;
    /// assert_eq!((sum.get(0, 0), product.get(0, 0)), (Some(5.0), Some(18.0)));
    /// # Ok::<(), gpu_sparse::SparseError>(())
    /// ```
    #[doc(alias("add", "matmul", "multiply", "A + B", "A @ B"))]
    pub fn to_sprs(&self) -> sprs::CsMat<T> {
        let starts = self.row_starts.iter().map(|&s| s as usize).collect();
        let columns = self.columns.iter().map(|&c| c as usize).collect();
        sprs::CsMat::new((self.rows, self.cols), starts, columns, self.values.clone())
    }
}

/// Takes a matrix from `sprs`, stored by rows or by columns, owned or a view, with any index types.
impl<T, I, P, IS, JS, DS> TryFrom<&CsMatBase<T, I, IS, JS, DS, P>> for CsrMatrix<T>
where
    T: Scalar,
    I: SpIndex,
    P: SpIndex,
    IS: std::ops::Deref<Target = [P]>,
    JS: std::ops::Deref<Target = [I]>,
    DS: std::ops::Deref<Target = [T]>,
{
    type Error = SparseError;

    fn try_from(source: &CsMatBase<T, I, IS, JS, DS, P>) -> Result<Self> {
        check_dimensions(source.rows(), source.cols())?;
        let (mut starts, mut inner) = (vec![0_u64], Vec::with_capacity(source.nnz()));
        let mut values = Vec::with_capacity(source.nnz());
        for outer in source.outer_iterator() {
            for (index, &value) in outer.iter() {
                inner.push(index as u32); // below a dimension just checked, or refused by from_parts
                values.push(value);
            }
            starts.push(values.len() as u64);
        }
        if source.is_csr() {
            return Self::from_parts(source.rows(), source.cols(), starts, inner, values);
        }
        Ok(Self::from_parts(source.cols(), source.rows(), starts, inner, values)?.transpose())
    }
}

impl<T: Scalar> From<&CsrMatrix<T>> for sprs::CsMat<T> {
    fn from(matrix: &CsrMatrix<T>) -> Self {
        matrix.to_sprs()
    }
}
