//! Run-time compilation of CUDA C++ with NVRTC, and its cache.

use std::path::PathBuf;

use gpu_driver_core::PRELUDE_NAME;

use crate::{CudaVersion, Result};

mod architectures;
mod binary;
pub(crate) mod cache;
mod compile;
pub(crate) mod early;
mod headers;
mod nvcc;
mod program;
mod sys;
#[cfg(feature = "templates")]
mod template;

#[doc(inline)]
pub use gpu_driver_core::cache::folder as cache_folder;

pub use architectures::Binaries;
pub use binary::{Arch, Binary, BinaryKind, Origin};
pub use nvcc::{device_runtime, nvcc};
pub(crate) use program::HOPPER;
pub use program::Program;

/// Name and text of the header that every program may include without passing it along.
pub const PRELUDE: Header = Header { name: PRELUDE_NAME, text: include_str!("../prelude/prelude.cuh") };

/// The names of the headers that every program may include, the prelude among them: those of C and CUDA that device code has a use for. They are the same
/// for GPUs and on the emulated device; any other header is a program's own ([`Program::header`]) or a file in a folder of `-I`.
///
/// ```
/// let names = gpu_driver::nvrtc::standard_headers();
/// assert!(["cstdint", "cfloat", "cuda_fp16.h", "math_constants.h", "prelude.cuh"].iter().all(|name| names.contains(name)));
/// ```
pub fn standard_headers() -> Vec<&'static str> {
    headers::names()
}

/// A header held in memory: `#include "name"` finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The text between the quotes of the `#include`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The version of NVRTC and the file it was opened from.
///
/// # Errors
/// `NoNvrtc` with each place that was searched.
pub fn version() -> Result<(CudaVersion, PathBuf)> {
    sys::nvrtc().map(|nvrtc| (nvrtc.version, nvrtc.path.clone()))
}
