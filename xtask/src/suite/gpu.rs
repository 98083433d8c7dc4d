//! The GPU that tests run on.

use std::env;

use crate::machine;

/// A GPU as nvidia-smi names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gpu {
    pub(super) device: String,
    pub(super) driver: String,
}

/// The machine's first GPU; none where there is none, or where `GPU_DEVICE` keeps the tests from it.
pub(super) fn real() -> Option<Gpu> {
    let asked = env::var_os("GPU_DEVICE").unwrap_or_default();
    if !asked.is_empty() && asked != "cuda" {
        return None;
    }
    let mut said = machine::gpu(&["name", "driver_version"]);
    Some(Gpu { device: said.remove("name")?, driver: said.remove("driver_version")? })
}
