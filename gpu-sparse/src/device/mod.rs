//! Matrices in GPU memory.

mod entries;
pub(crate) mod launch;
mod policy;

use std::fmt;

use gpu_array::GpuArray;
use gpu_driver::{Device, DeviceVec, In, Stream};
use ndarray::Ix1;

pub use entries::KERNELS;
use policy::RowPolicy;

use crate::linalg::LinearOperator;
use crate::{CsrMatrix, Result, Scalar, SparseError};

/// A [`CsrMatrix`] in GPU memory, made by [`CsrMatrix::to_device`]; it serves any number of products and solves.
///
/// [`linalg::cg`](crate::linalg::cg) with a `DeviceCsr` solves on its device; `b`, the guess and the solution are host arrays there.
/// The matrix belongs to one stream, its home, on which solves run; products run on the stream of their result.
///
/// Determinism: bitwise the same on every run and every device, for the same number of [`lanes`](DeviceCsr::lanes). Between the
/// device and the CPU, sums differ by their order.
///
/// ```no_run
/// use gpu_sparse::{gallery, linalg};
///
/// let device = gpu_driver::Device::first()?;
/// let a = gallery::Poisson::three_d(100, 100, 100).build::<f64>()?.to_device(&device)?;
/// let solution = linalg::cg(&a, &vec![1.0; a.rows()]).rtol(1e-8).preconditioner(linalg::Jacobi).solve()?;
/// println!("{solution}");
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
pub struct DeviceCsr<T: Scalar> {
    rows: usize,
    cols: usize,
    row_starts: DeviceVec<u64>,
    columns: DeviceVec<u32>,
    values: DeviceVec<T>,
    policy: RowPolicy,
    /// On the host: what solvers ask before they start.
    diagonal: Vec<T>,
    finite: bool,
}

impl<T: Scalar> CsrMatrix<T> {
    /// A copy in the memory of a device, with the device's main stream or the stream given as its home.
    ///
    /// # Cost
    /// `(4 + size of T)` bytes of device memory per entry and 8 per row, copied once; the diagonal also stays on the host. Returns when
    /// the copies have run.
    ///
    /// # Errors
    /// `Driver`: no device memory left, a lost device.
    pub fn to_device(&self, home: impl Into<Stream>) -> Result<DeviceCsr<T>> {
        let home = home.into();
        Ok(DeviceCsr {
            rows: self.rows(),
            cols: self.cols(),
            row_starts: DeviceVec::from_slice(&home, self.row_starts())?,
            columns: DeviceVec::from_slice(&home, self.columns())?,
            values: DeviceVec::from_slice(&home, self.values())?,
            policy: RowPolicy::choose(self.rows(), self.nnz()),
            diagonal: self.diagonal().to_vec(),
            finite: LinearOperator::is_finite(self),
        })
    }
}

impl<T: Scalar> DeviceCsr<T> {
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

    /// Where each row starts in `columns` and `values`, and at the end their length: `rows() + 1` numbers.
    pub fn row_starts(&self) -> &DeviceVec<u64> {
        &self.row_starts
    }

    /// The column of each entry, row after row.
    pub fn columns(&self) -> &DeviceVec<u32> {
        &self.columns
    }

    /// The value of each entry, row after row.
    pub fn values(&self) -> &DeviceVec<T> {
        &self.values
    }

    /// The stream that orders the matrix's work.
    pub fn stream(&self) -> &Stream {
        self.values.home()
    }

    /// The device that holds it.
    pub fn device(&self) -> &Device {
        self.values.device()
    }

    /// How many neighbouring threads share a row in products: 1, 2, 4, 8, 16 or 32, chosen by the mean length of a row.
    pub fn lanes(&self) -> u32 {
        self.policy.lanes
    }

    /// The same matrix with another number of [`lanes`](Self::lanes), for rows whose mean length misleads.
    ///
    /// # Errors
    /// `Parameter` for any number but 1, 2, 4, 8, 16 and 32.
    pub fn with_lanes(mut self, lanes: u32) -> Result<Self> {
        if !RowPolicy::LANES.contains(&lanes) {
            let range = "1, 2, 4, 8, 16 or 32";
            return Err(SparseError::Parameter { name: "lanes", value: lanes.into(), range });
        }
        self.policy = RowPolicy::with_lanes(lanes);
        Ok(self)
    }

    /// Compiles and loads the kernels that products and solves with this matrix launch, so that the first of them does not
    /// pay for it. Takes some 20 to 80 ms a kernel, and next to nothing when they are in the cache on disk or loaded.
    ///
    /// # Errors
    /// `Driver`: no NVRTC, a lost device.
    pub fn load_kernels(&self) -> Result<()> {
        launch::load_kernels(self)
    }

    /// `A x`, in a new array of the matrix's stream. Does not wait.
    ///
    /// A row is summed in f64 and rounded once. Only stored entries touch `x`: a NaN in `x` reaches a result only through an
    /// entry in its column.
    ///
    /// Shapes: `x` has `cols()` elements. Determinism: bitwise. Cost: one pass over the matrix, one kernel.
    ///
    /// # Errors
    /// `Shape` when the length of `x` is not `cols()`; `Driver`.
    pub fn matvec(&self, x: &GpuArray<T, Ix1>) -> Result<GpuArray<T, Ix1>> {
        let mut y = GpuArray::zeros(self.stream(), self.rows)?;
        self.matvec_into(x, &mut y)?;
        Ok(y)
    }

    /// `y = A x`, on the stream of `y`; otherwise as [`matvec`](Self::matvec).
    ///
    /// # Errors
    /// `Shape` when `x` does not have `cols()` elements or `y` not `rows()`; `Driver`.
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
    pub fn matvec_into(&self, x: &GpuArray<T, Ix1>, y: &mut GpuArray<T, Ix1>) -> Result<()> {
        launch::product(self, x.as_device_vec(), y.as_mut_device_vec())
    }

    fn policy(&self) -> RowPolicy {
        self.policy
    }

    /// The arrays as the kernels take them.
    fn inputs(&self) -> (In<'_, u64>, In<'_, u32>, In<'_, T>) {
        (self.row_starts.input(), self.columns.input(), self.values.input())
    }
}

impl<T: Scalar> fmt::Debug for DeviceCsr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shape, nnz, device) = ((self.rows, self.cols), self.nnz(), self.device().ordinal());
        write!(f, "DeviceCsr<{}>(shape {shape:?}, {nnz} entries, {} lanes, device {device})", T::DTYPE, self.lanes())
    }
}

/// As an operator on host vectors: right, and slow, for each application copies `x` to the device and `y` back. Solvers that can
/// run on the device ask [`on_device`](LinearOperator::on_device) and do not come here.
impl<T: Scalar> LinearOperator<T> for DeviceCsr<T> {
    fn shape(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    fn apply(&self, x: &[T], y: &mut [T]) -> Result<()> {
        let x = DeviceVec::from_slice(self.stream(), x)?;
        let mut product = DeviceVec::zeros(self.stream(), y.len())?;
        launch::product(self, &x, &mut product)?;
        Ok(product.copy_to_slice(y)?)
    }

    fn diagonal(&self) -> Option<Vec<T>> {
        Some(self.diagonal.clone())
    }

    fn is_finite(&self) -> bool {
        self.finite
    }

    fn on_device(&self) -> Option<&DeviceCsr<T>> {
        Some(self)
    }
}
