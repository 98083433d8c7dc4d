//! Matrices in GPU memory.

mod storage;

use std::fmt;

use gpu_driver::{Device, Stream};

use storage::{Csr, LongRows, Packets};
pub(crate) use storage::{ROW_CONSTANTS, Raw, RawCsr, RawPackets, SEGMENT, Stored, SweepUnits, View};

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
    pub(crate) diagonal: Vec<T>,
    pub(crate) finite: bool,
}

/// The arrays of the matrix, in its format.
pub(crate) enum Storage<T: Scalar> {
    Csr(Box<Csr<T>>),
    Packets(Box<Packets<T>>),
}

impl<T: Scalar> Storage<T> {
    pub(crate) fn long_rows(&self) -> &LongRows {
        match self {
            Self::Csr(stored) => stored.long_rows(),
            Self::Packets(stored) => stored.long_rows(),
        }
    }
}

/// Runs `$body`, whatever the format, with `$stored` as the matrix's arrays and `$Raw` as the structure that kernels take.
macro_rules! in_its_format {
    ($a:expr, $stored:ident: $Raw:ident => $body:expr) => {
        match $a.storage() {
            $crate::device::Storage::Csr($stored) => {
                type $Raw<T> = $crate::device::RawCsr<T>;
                let $stored = &**$stored;
                $body
            }
            $crate::device::Storage::Packets($stored) => {
                type $Raw<T> = $crate::device::RawPackets<T>;
                let $stored = &**$stored;
                $body
            }
        }
    };
}
pub(crate) use in_its_format;

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
            finite: self.holds_finite_values(),
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

    /// The arrays.
    pub(crate) fn storage(&self) -> &Storage<T> {
        &self.storage
    }
}

impl<T: Scalar> fmt::Debug for DeviceMatrix<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shape, nnz, device) = ((self.rows(), self.cols()), self.nnz(), self.device().ordinal());
        write!(f, "DeviceMatrix<{}>({}, shape {shape:?}, {nnz} entries, device {device})", T::DTYPE, self.format())
    }
}
