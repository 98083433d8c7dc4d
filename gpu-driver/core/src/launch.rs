//! The structures of `cuLaunchKernelEx`, which is newer than cust_raw (CUDA 11.8).

use std::ffi::{c_int, c_uint, c_void};

/// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`: the kernel may start before those before it have ended, for which it waits itself.
pub const OVERLAP: c_int = 6;

/// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`: blocks of a cluster along x, y, z.
pub const CLUSTER: c_int = 4;

/// `CUlaunchConfig`.
#[derive(Debug)]
#[repr(C)]
pub struct Config {
    /// Blocks along x, y, z.
    pub grid: [c_uint; 3],
    /// Threads of a block along x, y, z.
    pub block: [c_uint; 3],
    /// Dynamic shared memory of a block.
    pub shared_bytes: c_uint,
    /// A `CUstream`.
    pub stream: *mut c_void,
    /// The first attribute, or null where there is none.
    pub attributes: *const Attribute,
    /// Number of attributes.
    pub attribute_count: c_uint,
}

/// `CUlaunchAttribute`: a number, and a union of 64 bytes of which integers are the first.
#[derive(Debug)]
#[repr(C)]
pub struct Attribute {
    /// The number, such as [`OVERLAP`].
    pub id: c_int,
    _pad: [u8; 4],
    /// The union.
    pub value: [u64; 8],
}

const _: () = assert!(size_of::<Config>() == 56 && size_of::<Attribute>() == 72, "the layouts of cuda.h");

impl Attribute {
    /// The attribute for clusters of that many blocks along x, y, z.
    pub const fn cluster([x, y, z]: [c_uint; 3]) -> Self {
        Self { id: CLUSTER, _pad: [0; 4], value: [x as u64 | (y as u64) << 32, z as u64, 0, 0, 0, 0, 0, 0] }
    }

    /// The attribute of that number with an integer for value.
    pub const fn new(id: c_int, value: c_uint) -> Self {
        Self { id, _pad: [0; 4], value: [value as u64, 0, 0, 0, 0, 0, 0, 0] }
    }
}
