//! Products on a GPU: the methods of [`DeviceMatrix`], the kernels of both formats, and their launches, which solvers use, too.
//!
//! A call checks lengths (`launch.rs`) and enqueues one kernel of `product.cu`. `sweep.cuh` says which block takes which rows, `csr.cuh` and
//! `packets.cuh` how the rows of a format are summed, and `long_rows.cuh` how a row is cut into segments. `policy.rs` chooses the grid.

mod entries;
mod launch;
mod policy;

use gpu_array::GpuArray;
use ndarray::Ix1;

pub(crate) use entries::{
    CONSTANTS_HEADER, CSR_HEADER, LONG_ROWS_HEADER, List, PACKETS_HEADER, Product, SUMS_HEADER, SWEEP_HEADER,
    product_kernel, product_kernels,
};
pub(crate) use launch::{RowScratch, grid, main_blocks, product, product_on};
pub(crate) use policy::{PRODUCTS, ProductPolicy, blocks};

use crate::vector::{IntoView, OnDevice};
use crate::{DeviceMatrix, Result, Scalar};

impl<T: Scalar> DeviceMatrix<T> {
    /// `A x`, in a new array of the matrix's stream. Does not wait.
    ///
    /// `x` is a `&GpuArray`, a view of one, or an expression. A view with gaps is copied and an expression computed first. Several vectors take a loop,
    /// `for j in 0..k { a.matvec(x.slice(s![.., j])?)?; }` over the columns of a matrix `x` on the device.
    ///
    /// A row is summed in f64 and rounded once. Only stored entries touch `x`: a NaN in `x` reaches a result only through an
    /// entry in its column.
    ///
    /// Shapes: `x` has `cols()` elements. Determinism: bitwise. Cost: one pass over the matrix, one kernel; 8 bytes of scratch for every
    /// 4096 entries of rows that are longer than that; a kernel and an array for an `x` that does not lie in C order.
    ///
    /// # Errors
    /// `Shape` when the length of `x` is not `cols()`; `Driver`; `Array` when an expression cannot be computed.
    ///
    /// ```no_run
    /// # let device = gpu_driver::Device::first()?;
    /// use ndarray::s;
    /// let a = gpu_sparse::CsrMatrix::<f64>::identity(3)?.to_device(&device)?;
    /// let x = gpu_array::GpuArray::arange(&device, 0.0, 12.0, 1.0)?.into_shape((3, 4))?;
    /// let y = a.matvec(x.slice(s![.., 1])?)? * 0.85;
    /// let z = a.matvec(y)?;
    /// # Ok::<(), gpu_sparse::SparseError>(())
    /// ```
    #[doc(alias("dot", "spmv", "A @ x"))]
    pub fn matvec<'x>(&self, x: impl IntoView<'x, T, Backend = OnDevice>) -> Result<GpuArray<T, Ix1>> {
        let mut y = GpuArray::zeros(self.stream(), self.rows())?;
        self.matvec_into(x, &mut y)?;
        Ok(y)
    }

    /// `y = A x`, on the stream of `y`; otherwise as [`matvec`](Self::matvec).
    ///
    /// # Errors
    /// `Shape` when `x` does not have `cols()` elements or `y` not `rows()`; `Driver`; `Array` when an expression cannot be computed.
    ///
    /// ```no_run
    /// # let device = gpu_driver::Device::first()?;
    /// use gpu_array::GpuArray;
    /// let a = gpu_sparse::CsrMatrix::<f64>::identity(2)?.to_device(&device)?;
    /// let (x, mut y) = (GpuArray::from_ndarray(&device, &ndarray::array![1.0, 2.0])?, GpuArray::zeros(&device, 2)?);
    /// a.matvec_into(&x, &mut y)?;
    /// assert_eq!(y.to_ndarray()?.to_vec(), [1.0, 2.0]);
    /// # Ok::<(), gpu_sparse::SparseError>(())
    /// ```
    pub fn matvec_into<'x>(&self, x: impl IntoView<'x, T, Backend = OnDevice>, y: &mut GpuArray<T, Ix1>) -> Result<()> {
        let x = x.into_view().into_elements()?;
        launch::product(self, x.as_slice(), y.view_mut().into_device_slice_mut()?)
    }

    /// `y = alpha A x + beta y`, on the stream of `y`. Each operation is rounded to f64 and the result once to `T`, as
    /// [`CsrMatrix::axpby_into`](crate::CsrMatrix::axpby_into) does. With `beta` zero the old `y` is not read, so it may hold NaN.
    ///
    /// Cost: as [`matvec`](Self::matvec), and one read of `y`.
    ///
    /// # Errors
    /// `Shape` when `x` does not have `cols()` elements or `y` not `rows()`; `Driver`; `Array` when an expression cannot be computed.
    ///
    /// ```no_run
    /// # let device = gpu_driver::Device::first()?;
    /// use gpu_array::GpuArray;
    /// let a = gpu_sparse::CsrMatrix::<f64>::identity(2)?.to_device(&device)?;
    /// let (x, mut y) = (GpuArray::full(&device, 2, 1.0)?, GpuArray::full(&device, 2, 5.0)?);
    /// a.axpby_into(-1.0, &x, 2.0, &mut y)?;
    /// assert_eq!(y.to_ndarray()?.to_vec(), [9.0, 9.0]);
    /// # Ok::<(), gpu_sparse::SparseError>(())
    /// ```
    pub fn axpby_into<'x>(
        &self,
        alpha: T,
        x: impl IntoView<'x, T, Backend = OnDevice>,
        beta: T,
        y: &mut GpuArray<T, Ix1>,
    ) -> Result<()> {
        let x = x.into_view().into_elements()?;
        launch::product_axpby(self, (alpha, beta), x.as_slice(), y.view_mut().into_device_slice_mut()?)
    }
}
