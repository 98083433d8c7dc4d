//! All kernels of the crate, for checks without a device.

use std::sync::LazyLock;

use gpu_driver::Registry;

use crate::{concatenate, expression::samples, put};

/// Kernels of expressions, one of each kind, those that join arrays, and those that write at computed places.
///
/// The project's checks compile them for every architecture and record their resources. Kernels that run are made from the same texts.
pub static KERNELS: LazyLock<Registry> = LazyLock::new(|| {
    let registry = samples::with_samples(Registry::new("gpu-array"));
    put::with_samples(concatenate::with_samples(registry))
});
