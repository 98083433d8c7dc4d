//! Products of compressed rows, on rayon's threads.

use std::ops::Range;

use gpu_algos::host::dot_block;
use ndarray::{Array1, ArrayView1, ArrayViewMut1};
use rayon::prelude::*;

use super::{axpby, check_length, on_slices};
use crate::csr::CsrMatrix;
use crate::partition::sum_over_blocks;
use crate::vector::contiguous;
use crate::{Result, Scalar, start_threads};

impl<T: Scalar> CsrMatrix<T> {
    /// `A x`, in a new array. Several vectors take a loop, `for j in 0..k { a.matvec(x.column(j))?; }` over the columns of a matrix `x`.
    ///
    /// A row's products are formed and added in f64, from the first column to the last, and rounded once. Only stored entries
    /// touch `x`: a NaN in `x` reaches a result only through an entry in its column.
    ///
    /// Shapes: `x` has `cols()` elements. Determinism: bitwise, for any number of threads. Cost: one pass over the matrix.
    ///
    /// # Errors
    /// `Shape` when the length of `x` is not `cols()`.
    #[doc(alias("dot", "spmv", "A @ x"))]
    pub fn matvec<'x>(&self, x: impl Into<ArrayView1<'x, T>>) -> Result<Array1<T>> {
        let mut y = vec![T::zero(); self.rows];
        self.matvec_into(x, y.as_mut_slice())?;
        Ok(y.into())
    }

    /// `y = A x`; otherwise as [`matvec`](Self::matvec).
    ///
    /// # Errors
    /// `Shape` when `x` does not have `cols()` elements or `y` not `rows()`.
    ///
    /// ```
    /// let a = gpu_sparse::CsrMatrix::identity(2)?;
    /// let mut y = [0.0; 2];
    /// a.matvec_into(&[1.0, 2.0], &mut y)?;
    /// assert_eq!(y, [1.0, 2.0]);
    /// # Ok::<(), gpu_sparse::SparseError>(())
    /// ```
    pub fn matvec_into<'x, 'y>(
        &self,
        x: impl Into<ArrayView1<'x, T>>,
        y: impl Into<ArrayViewMut1<'y, T>>,
    ) -> Result<()> {
        self.combine("CsrMatrix::matvec_into", x.into(), y.into(), |sum, y| *y = T::from_f64(sum))
    }

    /// `y = alpha A x + beta y`. With `beta` zero the old `y` is not read, so it may hold NaN.
    ///
    /// # Errors
    /// `Shape` when `x` does not have `cols()` elements or `y` not `rows()`.
    pub fn axpby_into<'x, 'y>(
        &self,
        alpha: T,
        x: impl Into<ArrayView1<'x, T>>,
        beta: T,
        y: impl Into<ArrayViewMut1<'y, T>>,
    ) -> Result<()> {
        self.combine("CsrMatrix::axpby_into", x.into(), y.into(), axpby(alpha, beta))
    }

    /// `A^T x`, in a new array, without building the transpose.
    ///
    /// Cost: one pass over the matrix, scattered writes, and up to eight vectors of f64 as scratch (their number depends on the
    /// matrix alone, so the result is bitwise the same for any number of threads). For many products, make
    /// [`transpose`](Self::transpose) once.
    ///
    /// # Errors
    /// `Shape` when the length of `x` is not `rows()`.
    pub fn matvec_transpose<'x>(&self, x: impl Into<ArrayView1<'x, T>>) -> Result<Array1<T>> {
        let x = x.into();
        check_length("CsrMatrix::matvec_transpose", "x", x.len(), self.rows)?;
        start_threads()?;
        let x = contiguous(&x);
        let blocks = self.blocks.len() - 1;
        // A group costs two passes over a vector of f64; worth it where that is little beside the group's entries.
        let groups = (self.nnz() / (2 * self.cols).max(1)).clamp(1, 8).min(blocks.max(1));
        let group_rows = |g: usize| self.blocks[blocks * g / groups]..self.blocks[blocks * (g + 1) / groups];
        let sums: Vec<Vec<f64>> = (0..groups).into_par_iter().map(|g| self.scatter(group_rows(g), &x)).collect();
        Ok((0..self.cols).map(|col| T::from_f64(sums.iter().map(|s| s[col]).sum())).collect())
    }

    /// The share of `rows` in `A^T x`.
    fn scatter(&self, rows: Range<usize>, x: &[T]) -> Vec<f64> {
        let mut sums = vec![0.0; self.cols];
        for row in rows {
            let weight: f64 = x[row].into();
            for entry in self.entries(row) {
                sums[self.columns[entry] as usize] += self.values[entry].into() * weight;
            }
        }
        sums
    }

    /// `finish(row sum, element of y)` for every row.
    fn combine(
        &self,
        op: &'static str,
        x: ArrayView1<'_, T>,
        y: ArrayViewMut1<'_, T>,
        finish: impl Fn(f64, &mut T) + Sync,
    ) -> Result<()> {
        on_slices(op, (self.rows, self.cols), x, y, |x, y| {
            self.sweep(x, y, |sum, _, y| finish(sum, y), |_, _| 0.0);
        })
    }

    /// `y = A x`, and `x . y` in the same pass. Lengths are checked; the matrix must be square.
    pub(crate) fn product_and_dot(&self, x: &[T], y: &mut [T]) -> Result<f64> {
        check_length("CsrMatrix::apply_dot", "x", x.len(), self.cols)?;
        check_length("CsrMatrix::apply_dot", "y", y.len(), self.rows)?;
        check_length("CsrMatrix::apply_dot", "the matrix's rows", self.rows, self.cols)?;
        Ok(self.sweep(x, y, |sum, _, y| *y = T::from_f64(sum), |rows, y| dot_block(&x[rows], y)))
    }

    /// `r = b - A x`, rounded once. Lengths are checked.
    pub(crate) fn residual_into(&self, x: &[T], b: &[T], r: &mut [T]) -> Result<()> {
        check_length("CsrMatrix::residual", "x", x.len(), self.cols)?;
        check_length("CsrMatrix::residual", "b", b.len(), self.rows)?;
        check_length("CsrMatrix::residual", "r", r.len(), self.rows)?;
        self.sweep(x, r, |sum, row, r| *r = T::from_f64(b[row].into() - sum), |_, _| 0.0);
        Ok(())
    }

    /// The pass behind every product. Per row: `finish(sum, row, element of y)`. Per block, once its rows are done and still in
    /// the cache: `partial(rows, their part of y)`; the partials are added in order. `x` has `cols`, `y` `rows` elements.
    fn sweep(
        &self,
        x: &[T],
        y: &mut [T],
        finish: impl Fn(f64, usize, &mut T) + Sync,
        partial: impl Fn(Range<usize>, &[T]) -> f64 + Sync,
    ) -> f64 {
        sum_over_blocks(&self.blocks, y, |rows, y| {
            let starts = &self.row_starts[rows.start..=rows.end];
            let mut start = starts[0] as usize;
            for ((row, out), &end) in rows.clone().zip(y.iter_mut()).zip(&starts[1..]) {
                let end = end as usize;
                finish(row_sum(&self.columns[start..end], &self.values[start..end], x), row, out);
                start = end;
            }
            partial(rows, y)
        })
    }
}

/// One row times `x`, left to right, in f64.
#[inline(always)]
fn row_sum<T: Scalar>(columns: &[u32], values: &[T], x: &[T]) -> f64 {
    let mut sum = 0.0;
    for (&column, &value) in columns.iter().zip(values) {
        sum += value.into() * x[column as usize].into();
    }
    sum
}
