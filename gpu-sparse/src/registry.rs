//! The registry of the crate's kernels: those of products, and those of each solver.

use std::sync::LazyLock;

use gpu_driver::{Device, Preload, Registry};

use crate::device::{Raw, RawCsr, RawPackets};
use crate::linalg::cg;
use crate::product::device::{List, product_kernels};
use crate::{DeviceMatrix, Format, Result, Scalar};

/// The kernels of this crate.
pub static KERNELS: LazyLock<Registry> = LazyLock::new(|| {
    let registry = Registry::new("gpu-sparse");
    with_element::<f64, _>(with_element::<f32, _>(registry))
});

/// Compiles and loads all kernels of this crate, side by side on all processors: those of products and of solves, of `f32` and `f64`, for both formats
/// that a [`DeviceMatrix`] has. [`DeviceMatrix::load_kernels`] does so for those of one matrix.
///
/// # Cost
/// Some seconds of one processor's time where nothing is in the cache on disk (`GPU_CACHE_DIR`, which can be shipped), else the loading of the kernels.
///
/// # Errors
/// `Driver`: no NVRTC, a lost device.
///
/// ```no_run
/// let device = gpu_driver::Device::first()?;
/// gpu_sparse::warm(&device)?;
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
pub fn warm(device: &Device) -> Result<()> {
    Ok(with_element::<f64, _>(with_element::<f32, _>(Preload::new(&KERNELS, device))).run()?)
}

fn with_element<T: Scalar, L: List>(list: L) -> L {
    cg::vector_kernels::<T, _>(of_format::<RawPackets<T>, _>(of_format::<RawCsr<T>, _>(list)))
}

/// The kernels that take a matrix of one format.
fn of_format<R: Raw, L: List>(list: L) -> L {
    cg::matrix_kernels::<R, _>(product_kernels::<R, _>(list))
}

/// Compiles and loads the kernels of products and solves with matrices of one element and format, as [`warm`] does for all: for a program that knows
/// the kind of its matrix before it has read it, on a thread of its own meanwhile.
///
/// # Errors
/// `Driver`: no NVRTC, a lost device.
///
/// ```
/// use gpu_driver::{Device, emulated::Emulated};
/// use gpu_sparse::{Format, gallery, warm_for};
///
/// let device = Emulated::new().open()?;
/// let ahead = { let device = device.clone(); std::thread::spawn(move || warm_for::<f64>(&device, Format::Csr)) };
/// let a = gallery::Poisson::two_d(8, 8).build::<f64>()?.to_device(&device)?;
/// ahead.join().unwrap()?;
/// a.load_kernels()?; // Nothing is left to compile.
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
pub fn warm_for<T: Scalar>(device: &Device, format: Format) -> Result<()> {
    let preload = Preload::new(&KERNELS, device);
    // Those that sweep a matrix take longest to compile.
    let preload = match format {
        Format::Csr => of_format::<RawCsr<T>, _>(preload),
        Format::Packets => of_format::<RawPackets<T>, _>(preload),
    };
    Ok(cg::vector_kernels::<T, _>(preload).run()?)
}

impl<T: Scalar> DeviceMatrix<T> {
    /// Compiles and loads the kernels that products and solves with this matrix launch, side by side on all processors, so that the first of them
    /// does not wait for the compiler. Takes next to nothing when they are in the cache on disk or loaded.
    ///
    /// # Errors
    /// `Driver`: no NVRTC, a lost device.
    pub fn load_kernels(&self) -> Result<()> {
        warm_for::<T>(self.device(), self.format())
    }
}
