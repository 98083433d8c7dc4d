//! The structures of copies of rows, which the driver takes by address.

use std::ffi::{c_uint, c_void};

/// `CU_MEMORYTYPE_HOST`.
pub const HOST: c_uint = 1;
/// `CU_MEMORYTYPE_DEVICE`.
pub const DEVICE: c_uint = 2;
/// `CU_MEMORYTYPE_ARRAY`.
pub const ARRAY: c_uint = 3;
/// `CU_MEMORYTYPE_UNIFIED`: the address, in the field of devices, tells the side.
pub const UNIFIED: c_uint = 4;

/// One side of a `CUDA_MEMCPY3D`. Distances are bytes, and `y`, `z` and `height` rows, layers and rows of a layer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "the names of cuda.h")]
pub struct Side3d {
    pub x_bytes: usize,
    pub y: usize,
    pub z: usize,
    pub level: usize,
    pub memory_type: c_uint,
    pub host: *mut c_void,
    pub device: u64,
    pub array: *mut c_void,
    pub reserved: *mut c_void,
    pub pitch: usize,
    pub height: usize,
}

/// `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "the names of cuda.h")]
pub struct Copy3d {
    pub from: Side3d,
    pub to: Side3d,
    pub width_bytes: usize,
    pub height: usize,
    pub depth: usize,
}

/// One side of a `CUDA_MEMCPY2D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "the names of cuda.h")]
pub struct Side2d {
    pub x_bytes: usize,
    pub y: usize,
    pub memory_type: c_uint,
    pub host: *mut c_void,
    pub device: u64,
    pub array: *mut c_void,
    pub pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "the names of cuda.h")]
pub struct Copy2d {
    pub from: Side2d,
    pub to: Side2d,
    pub width_bytes: usize,
    pub height: usize,
}

const _: () = assert!(size_of::<Copy3d>() == 200 && size_of::<Copy2d>() == 128, "the layouts of cuda.h");

impl Side3d {
    /// Memory that begins at an address, of rows of `pitch` bytes and layers of `height` rows.
    pub fn new(memory_type: c_uint, address: u64, pitch: usize, height: usize) -> Self {
        let null = std::ptr::null_mut();
        let host = if memory_type == HOST { address as *mut c_void } else { null };
        let device = if memory_type == HOST { 0 } else { address };
        let (x_bytes, y, z, level) = (0, 0, 0, 0);
        Self { x_bytes, y, z, level, memory_type, host, device, array: null, reserved: null, pitch, height }
    }
}

impl Side3d {
    /// The element of a CUDA array at a number of bytes in a row, a row and a layer.
    pub fn of_array(array: *mut c_void, x_bytes: usize, y: usize, z: usize) -> Self {
        Self { x_bytes, y, z, array, ..Self::new(ARRAY, 0, 0, 0) }
    }
}

impl From<Side2d> for Side3d {
    fn from(side: Side2d) -> Self {
        let Side2d { x_bytes, y, memory_type, host, device, array, pitch } = side;
        let (z, level, height, reserved) = (0, 0, 0, std::ptr::null_mut());
        Self { x_bytes, y, z, level, memory_type, host, device, array, reserved, pitch, height }
    }
}
