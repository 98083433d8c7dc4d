//! Samples of linear algebra, for checks without a device.

use gpu_array::{DType, gpu_driver::Registry};

use super::plan::LinalgKernel;

/// Adds each kernel, for both types and in all its algorithms.
pub(crate) fn add_to(registry: Registry) -> Registry {
    let of_types = |(kernel, algorithm)| [DType::F32, DType::F64].map(|dtype| (kernel, algorithm, dtype));
    LinalgKernel::all().flat_map(of_types).fold(registry, |registry, (kernel, algorithm, dtype)| {
        registry.with_sample(kernel.header().name, kernel.program(dtype, algorithm))
    })
}
