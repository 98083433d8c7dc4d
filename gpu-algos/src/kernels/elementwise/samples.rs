//! Kernels that stand for all others where kernels are checked without a device.

use std::sync::LazyLock;

use gpu_array::gpu_driver::Registry;

use super::{ElementwiseKernel, POLICY, text};
use crate::Result;

/// Kernels made of texts, one of each kind that there is: the checks of the project compile them for every architecture, and record what they take.
pub static KERNELS: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry::new("gpu-algos");
    for all in [true, false] {
        // Its arguments are right.
        if let Ok(program) = lin_comb().and_then(|kernel| text::program(&kernel, POLICY, all)) {
            registry = registry.with_sample(text::LOOP.name, program);
        }
    }
    registry
});

fn lin_comb() -> Result<ElementwiseKernel> {
    let arguments = "float a, const float *x, float b, const float *y, float *z";
    ElementwiseKernel::new(arguments, "z[i] = a * x[i] + b * y[i]")?.name("lin_comb")
}
