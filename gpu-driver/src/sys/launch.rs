//! The structures of `cuLaunchKernelEx`, which is newer than cust_raw (CUDA 11.8).

use std::ffi::{c_int, c_uint};

use cust::sys::CUstream;

/// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`: the kernel may start before those before it have ended, for which it waits itself.
pub(crate) const OVERLAP: c_int = 6;

/// `CUlaunchConfig`.
#[repr(C)]
pub(crate) struct Config {
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared_bytes: c_uint,
    pub(crate) stream: CUstream,
    pub(crate) attributes: *const Attribute,
    pub(crate) attribute_count: c_uint,
}

/// `CUlaunchAttribute`: a number, and a union of 64 bytes of which integers are the first.
#[repr(C)]
pub(crate) struct Attribute {
    pub(crate) id: c_int,
    _pad: [u8; 4],
    pub(crate) value: [u64; 8],
}

const _: () = assert!(size_of::<Config>() == 56 && size_of::<Attribute>() == 72, "the layouts of cuda.h");

impl Attribute {
    /// The attribute of that number with an integer for value.
    pub(crate) const fn new(id: c_int, value: c_uint) -> Self {
        Self { id, _pad: [0; 4], value: [value as u64, 0, 0, 0, 0, 0, 0, 0] }
    }
}
