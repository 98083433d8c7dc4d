//! Kernels compiled ahead of their first use.

use gpu_driver::Device;

use crate::{
    GpuArray, Result,
    expression::{IntoExpr, Precompile, precompile},
};

/// Compiles and loads the kernels that most programs begin with, in one program: copies of dense `f32` and `f64` arrays, `x + y`, `x - y`,
/// `x * y`, `x / y` of two arrays, and each of them of an array and a number.
///
/// Each other expression has a kernel of its own, which [`precompile`] compiles ahead. A program that has run once finds all of its kernels in the cache
/// on disk (`GPU_CACHE_DIR`), which can be shipped with it.
///
/// # Cost
/// About a second where nothing is in the cache, else the loading of one image.
///
/// # Errors
/// `Driver`: no NVRTC, a lost device.
///
/// ```no_run
/// let device = gpu_array::gpu_driver::Device::first()?;
/// gpu_array::warm(&device)?;
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub fn warm(device: &Device) -> Result<()> {
    let (x, y) = (GpuArray::<f32, _>::zeros(device, 4)?, GpuArray::<f32, _>::zeros(device, 4)?);
    let (u, v) = (GpuArray::<f64, _>::zeros(device, 4)?, GpuArray::<f64, _>::zeros(device, 4)?);
    let (x, y, u, v) = (&x, &y, &u, &v);
    macro_rules! expressions {
        ($x:ident, $y:ident, $number:literal) => {
            [
                &$x.into_expr() as &dyn Precompile,
                &($x + $y),
                &($x - $y),
                &($x * $y),
                &($x / $y),
                &($x + $number),
                &($x - $number),
                &($x * $number),
                &($x / $number),
            ]
        };
    }
    precompile(device, &[expressions!(x, y, 2.0f32), expressions!(u, v, 2.0f64)].concat())
}
