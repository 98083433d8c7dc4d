//! Kernels compiled ahead of their first use.

use gpu_array::{
    Element, GpuArray,
    gpu_driver::{Device, Stream},
    start_threads,
};
use ndarray::{Axis, Ix2};
use rayon::prelude::*;

use crate::{Result, prelude::*};

/// Compiles and loads the kernels that most programs begin with, side by side on all processors: `sum`, `mean`, `max`, `argmax` and `cumsum` of
/// dense `f32` and `f64` arrays, of all elements and along the first and the last axis, and `select`.
///
/// They are those of long axes; kernels of other types, layouts and expressions are compiled at their first use. A program that has run once finds all
/// of its kernels in the cache on disk (`GPU_CACHE_DIR`), which can be shipped with it.
///
/// # Cost
/// About 7 s of one processor's time where nothing is in the cache, else the loading of 32 kernels. Arrays of a million elements are computed, with
/// some 100 MB of the device's memory meanwhile.
///
/// # Errors
/// `Driver`: no NVRTC, too little memory, a lost device.
///
/// ```no_run
/// let device = gpu_algos::gpu_array::gpu_driver::Device::first()?;
/// gpu_algos::warm(&device)?;
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn warm(device: &Device) -> Result<()> {
    macro_rules! work {
        ($($method:ident),*) => {
            [
                |x| x.select(x.gt(0.0)).eval().map(drop),
                $(
                    |x| x.$method().eval().map(drop),
                    |x| x.$method().axis(Axis(0)).eval().map(drop),
                    |x| x.$method().axis(Axis(1)).eval().map(drop),
                )*
            ]
        };
    }
    let of_f32: [Work<f32>; 16] = work![argmax, mean, cumsum, sum, max];
    let of_f64: [Work<f64>; 16] = work![argmax, mean, cumsum, sum, max];
    start_threads()?;
    let (of_f32, of_f64) = rayon::join(|| run(device, &of_f32), || run(device, &of_f64));
    of_f32.and(of_f64)
}

/// A computation whose kernel is to be loaded.
type Work<T> = fn(&GpuArray<T, Ix2>) -> Result<()>;

fn run<T: Element>(device: &Device, all: &[Work<T>]) -> Result<()> {
    all.par_iter().try_for_each(|work| work(&GpuArray::zeros(&Stream::new(device)?, (1024, 1024))?))
}
