//! Samples of linear algebra, for checks without a device.

use gpu_array::{DType, gpu_driver::Registry};

use super::{plan::LinalgKernel, policy::LinalgPolicy};

/// Adds each kernel, for both types and both kinds of teams.
pub(crate) fn add_to(registry: Registry) -> Registry {
    let of = |kernel: LinalgKernel| {
        let types = [DType::F32, DType::F64].into_iter();
        types.flat_map(move |dtype| [1, LinalgPolicy::LARGE].map(|warps| (kernel, dtype, warps)))
    };
    LinalgKernel::ALL.into_iter().flat_map(of).fold(registry, |registry, (kernel, dtype, warps)| {
        registry.with_sample(kernel.header().name, kernel.program(dtype, warps))
    })
}
