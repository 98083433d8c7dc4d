//! The registry of the crate's kernels: those of products, and those of each solver.

use std::sync::LazyLock;

use gpu_driver::{Arch, Device, Preload, Registry};

use crate::device::{Raw, RawCsr, RawPackets, in_its_format};
use crate::linalg::cg::device::entries as cg;
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

/// Compiles the kernels of conjugate gradients with matrices of one element and format into the cache on disk (`GPU_CACHE_DIR`), where devices of that
/// architecture find them; `by_diagonal`: preconditioned by [`Jacobi`](crate::linalg::Jacobi), else not at all.
///
/// For a program that knows the kind of its matrix before it has a device, on a thread of its own: opening a GPU takes some 200 ms, in which one of its
/// kernels compiles, and reading a large matrix takes longer.
///
/// # Errors
/// `Driver`: no NVRTC.
///
/// ```no_run
/// use gpu_driver::Device;
/// use gpu_sparse::{Format, compile_cg};
///
/// let ahead = std::thread::spawn(|| compile_cg::<f64>(Device::arch_of(0)?, Format::Packets, true));
/// let device = Device::first()?;
/// // … read the matrix, copy it to the device …
/// ahead.join().unwrap()?;
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
pub fn compile_cg<T: Scalar>(arch: Arch, format: Format, by_diagonal: bool) -> Result<()> {
    let preload = Preload::into_cache(&KERNELS, arch);
    let preload = match format {
        Format::Csr => cg::solve_kernels::<RawCsr<T>, _>(preload, by_diagonal),
        Format::Packets => cg::solve_kernels::<RawPackets<T>, _>(preload, by_diagonal),
    };
    Ok(preload.run()?)
}

impl<T: Scalar> DeviceMatrix<T> {
    /// Compiles and loads the kernels that products and solves with this matrix launch, side by side on all processors, so that the first of them
    /// does not wait for the compiler. Takes next to nothing when they are in the cache on disk or loaded.
    ///
    /// # Errors
    /// `Driver`: no NVRTC, a lost device.
    pub fn load_kernels(&self) -> Result<()> {
        let preload = Preload::new(&KERNELS, self.device());
        // Those that sweep a matrix take longest to compile.
        let preload = in_its_format!(self, _stored: Raw => of_format::<Raw<T>, _>(preload));
        Ok(cg::vector_kernels::<T, _>(preload).run()?)
    }
}
