//! The registry of the crate's kernels: those of products, and those of each solver.

use std::sync::LazyLock;

use gpu_driver::{Device, DriverError, Entry, Registry};

use crate::device::{Raw, RawCsr, RawPackets, in_its_format};
use crate::linalg::cg;
use crate::product::device::{List, product_kernels};
use crate::{DeviceMatrix, Result, Scalar};

/// The kernels of this crate.
pub static KERNELS: LazyLock<Registry> = LazyLock::new(|| {
    let registry = Registry::new("gpu-sparse");
    with_element::<f64, _>(with_element::<f32, _>(registry))
});

fn with_element<T: Scalar, L: List>(list: L) -> L {
    cg::vector_kernels::<T, _>(of_format::<RawPackets<T>, _>(of_format::<RawCsr<T>, _>(list)))
}

/// The kernels that take a matrix of one format.
fn of_format<R: Raw, L: List>(list: L) -> L {
    cg::matrix_kernels::<R, _>(product_kernels::<R, _>(list))
}

/// Compiles and loads kernels, up to the first error.
struct Load<'a> {
    device: &'a Device,
    outcome: Result<(), DriverError>,
}

impl List for Load<'_> {
    fn and<E: Entry>(self, policy: &E::Policy) -> Self {
        let outcome = self.outcome.and_then(|()| KERNELS.kernel::<E>(self.device, policy).map(drop));
        Self { outcome, ..self }
    }
}

impl<T: Scalar> DeviceMatrix<T> {
    /// Compiles and loads the kernels that products and solves with this matrix launch, so that the first of them does not
    /// pay for it. Takes some 20 to 80 ms a kernel, and next to nothing when they are in the cache on disk or loaded.
    ///
    /// # Errors
    /// `Driver`: no NVRTC, a lost device.
    pub fn load_kernels(&self) -> Result<()> {
        let load = Load { device: self.device(), outcome: Ok(()) };
        let load = in_its_format!(self, _stored: Raw => of_format::<Raw<T>, _>(load));
        Ok(cg::vector_kernels::<T, _>(load).outcome?)
    }
}
