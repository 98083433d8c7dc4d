//! The kernels of the crate.

use std::sync::LazyLock;

use gpu_array::gpu_driver::Registry;

use crate::{block, kernels, linalg, matmul, reduce, scan, select};

/// All kernels of this crate. Samples stand for the kernels that are made from a user's text.
pub static KERNELS: LazyLock<Registry> = LazyLock::new(|| {
    let registry = block::add_to(kernels::samples::add_to(Registry::new("gpu-algos")));
    let registry = scan::samples::add_to(reduce::samples::add_to(registry));
    linalg::samples::add_to(matmul::samples::add_to(select::samples::add_to(registry)))
});
