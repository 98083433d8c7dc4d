//! Matrices in GPU memory.

mod entries;
#[macro_use]
mod launch;
mod policy;
pub(crate) mod state;
mod storage;
pub(crate) mod workspace;

use std::fmt;

use gpu_array::GpuArray;
use gpu_driver::{Device, DeviceVec, Stream};
use ndarray::Ix1;

pub use entries::KERNELS;
use storage::{Csr, LongRows, Packets, Stored};

use crate::linalg::LinearOperator;
use crate::{CsrMatrix, Description, Format, PacketMatrix, PacketPlan, Result, Scalar};

/// A sparse matrix in GPU memory, in either [`Format`]; it serves any number of products and solves.
///
/// [`CsrMatrix::to_device`] and [`PacketMatrix::to_device`] copy a matrix as it is; [`DeviceMatrix::new`] chooses the format that
/// is expected to be faster. [`linalg::cg`](crate::linalg::cg) with a `DeviceMatrix` solves on its device. The matrix belongs to one
/// stream, its home; products run on the stream of their result.
///
/// Determinism: bitwise the same on every run and every device, for one matrix in one format. A row's products are added in f64
/// and rounded once; the two formats add them in different orders, and each row in packets has the bits of [`PacketMatrix`] on the CPU.
///
/// ```no_run
/// use gpu_sparse::{DeviceMatrix, gallery, linalg};
///
/// let device = gpu_driver::Device::first()?;
/// let a = DeviceMatrix::new(&gallery::Poisson::three_d(100, 100, 100).build::<f64>()?, &device)?;
/// println!("{}", a.description());
/// let solution = linalg::cg(&a, &vec![1.0; a.rows()]).rtol(1e-8).preconditioner(linalg::Jacobi).solve()?;
/// println!("{solution}");
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
pub struct DeviceMatrix<T: Scalar> {
    storage: Storage<T>,
    home: Stream,
    description: Description,
    /// The diagonal, on the host: solvers ask for it, and for `finite`, before they start.
    diagonal: Vec<T>,
    finite: bool,
}

/// The arrays of the matrix, in its format.
enum Storage<T: Scalar> {
    Csr(Box<Csr<T>>),
    Packets(Box<Packets<T>>),
}

impl<T: Scalar> Storage<T> {
    fn main_blocks(&self) -> u32 {
        match self {
            Self::Csr(stored) => stored.main_blocks(),
            Self::Packets(stored) => stored.main_blocks(),
        }
    }

    fn long_rows(&self) -> &LongRows {
        match self {
            Self::Csr(stored) => stored.long_rows(),
            Self::Packets(stored) => stored.long_rows(),
        }
    }
}

impl<T: Scalar> CsrMatrix<T> {
    /// A copy in the memory of a device, as compressed rows, with the device's main stream or the stream given as its home.
    ///
    /// # Cost
    /// `(4 + size of T)` bytes of device memory per entry, 8 per row and 12 for every 2048 rows and entries, copied once; the diagonal also
    /// stays on the host. Returns when the copies have run.
    ///
    /// # Errors
    /// `Driver`: no device memory left, a lost device.
    pub fn to_device(&self, home: impl Into<Stream>) -> Result<DeviceMatrix<T>> {
        let home = home.into();
        Ok(DeviceMatrix {
            storage: Storage::Csr(Csr::upload(&home, self)?.into()),
            home,
            description: Description::of_csr(self.rows(), self.cols(), self.nnz(), size_of::<T>()),
            diagonal: self.diagonal().to_vec(),
            finite: LinearOperator::is_finite(self),
        })
    }
}

impl<T: Scalar> PacketMatrix<T> {
    /// A copy in the memory of a device, with the device's main stream or the stream given as its home.
    ///
    /// # Cost
    /// [`Description::bytes`] bytes of device memory and some 16 more for each long row, copied once; the diagonal also stays on the host.
    /// Returns when the copies have run.
    ///
    /// # Errors
    /// `Driver`: no device memory left, a lost device.
    pub fn to_device(&self, home: impl Into<Stream>) -> Result<DeviceMatrix<T>> {
        let home = home.into();
        Ok(DeviceMatrix {
            storage: Storage::Packets(Packets::upload(&home, self)?.into()),
            home,
            description: self.description().clone(),
            diagonal: self.diagonal.clone(),
            finite: self.finite,
        })
    }
}

impl<T: Scalar> DeviceMatrix<T> {
    /// A copy of `a` in the memory of a device, in the format that [`PacketPlan`] advises.
    ///
    /// # Cost
    /// A pass over `a` to decide, and another to build packets where they are chosen, both on the CPU's threads; then as
    /// [`CsrMatrix::to_device`] or [`PacketMatrix::to_device`].
    ///
    /// # Errors
    /// `Driver`: no device memory left, a lost device.
    pub fn new(a: &CsrMatrix<T>, home: impl Into<Stream>) -> Result<Self> {
        // More slots than packets can count are no reason to fail: compressed rows hold them.
        let Ok(plan) = PacketPlan::new(a) else { return a.to_device(home) };
        if plan.format() == Format::Packets {
            return plan.build(a)?.to_device(home);
        }
        Ok(Self { description: plan.csr_description(), ..a.to_device(home)? })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.description.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.description.cols
    }

    /// Number of stored entries, explicit zeros included.
    pub fn nnz(&self) -> usize {
        self.description.nnz
    }

    /// How it is stored.
    pub fn format(&self) -> Format {
        self.description.format
    }

    /// The sizes of the stored arrays, and the reason for the format.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The stream that orders the matrix's work.
    pub fn stream(&self) -> &Stream {
        &self.home
    }

    /// The device that holds it.
    pub fn device(&self) -> &Device {
        self.home.device()
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
    /// Shapes: `x` has `cols()` elements. Determinism: bitwise. Cost: one pass over the matrix, one kernel; 8 bytes of scratch for every
    /// 4096 entries of rows that are longer than that.
    ///
    /// # Errors
    /// `Shape` when the length of `x` is not `cols()`; `Driver`.
    pub fn matvec(&self, x: &GpuArray<T, Ix1>) -> Result<GpuArray<T, Ix1>> {
        let mut y = GpuArray::zeros(self.stream(), self.rows())?;
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
        x.take_error()?;
        y.take_error()?;
        launch::product(self, x.as_device_vec(), y.as_mut_device_vec())
    }

    /// `y = alpha A x + beta y`, on the stream of `y`. Each operation is rounded to f64 and the result once to `T`, as
    /// [`CsrMatrix::axpby_into`] does. With `beta` zero the old `y` is not read, so it may hold NaN.
    ///
    /// Cost: as [`matvec`](Self::matvec), and one read of `y`.
    ///
    /// # Errors
    /// `Shape` when `x` does not have `cols()` elements or `y` not `rows()`; `Driver`.
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
    pub fn axpby_into(&self, alpha: T, x: &GpuArray<T, Ix1>, beta: T, y: &mut GpuArray<T, Ix1>) -> Result<()> {
        x.take_error()?;
        y.take_error()?;
        launch::product_axpby(self, (alpha, beta), x.as_device_vec(), y.as_mut_device_vec())
    }

    /// The matrix on the host again, as compressed rows: the matrix it was made of, bit for bit.
    ///
    /// Cost: a copy of everything, and for packets their decoding on the CPU's threads. Waits.
    ///
    /// # Errors
    /// `Driver`.
    pub fn to_csr(&self) -> Result<CsrMatrix<T>> {
        match &self.storage {
            Storage::Csr(stored) => stored.download(self.cols()),
            Storage::Packets(stored) => Ok(stored.download(self.cols())?.to_csr()),
        }
    }

    fn storage(&self) -> &Storage<T> {
        &self.storage
    }
}

impl<T: Scalar> fmt::Debug for DeviceMatrix<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shape, nnz, device) = ((self.rows(), self.cols()), self.nnz(), self.device().ordinal());
        write!(f, "DeviceMatrix<{}>({}, shape {shape:?}, {nnz} entries, device {device})", T::DTYPE, self.format())
    }
}

/// An operator on host vectors: right, and slow, for each application copies `x` to the device and `y` back. Solvers that can
/// run on the device ask [`on_device`](LinearOperator::on_device) and do not come here.
impl<T: Scalar> LinearOperator<T> for DeviceMatrix<T> {
    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.cols())
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

    fn on_device(&self) -> Option<&DeviceMatrix<T>> {
        Some(self)
    }
}
