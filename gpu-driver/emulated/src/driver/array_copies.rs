//! Copies of the bytes of CUDA arrays of one dimension.

use std::ffi::{c_int, c_void};

use gpu_driver_core::copies::{Copy3d, DEVICE, HOST, Side3d};

use super::{NULL, array::find, pitched::copy_rows, table};
use crate::{
    code::{INVALID_VALUE, Outcome},
    state::{DriverState, call},
};

table![
    cuMemcpyHtoA_v2,
    cuMemcpyHtoAAsync_v2,
    cuMemcpyAtoH_v2,
    cuMemcpyAtoHAsync_v2,
    cuMemcpyDtoA_v2,
    cuMemcpyAtoD_v2,
    cuMemcpyAtoA_v2,
];

/// Bytes of an array of one dimension, from an offset on.
fn part(state: &DriverState, array: *mut c_void, offset: usize) -> Outcome<Side3d> {
    if find(state, array)?.descriptor.height != 0 {
        return Err(INVALID_VALUE);
    }
    Ok(Side3d::of_array(array, offset, 0, 0))
}

/// One end of a copy of bytes.
enum CopyEnd {
    Host(u64),
    Device(u64),
    Array(*mut c_void, usize),
}

fn copy(to: CopyEnd, from: CopyEnd, bytes: usize, stream: *mut c_void, waits: bool) -> c_int {
    call(|state| {
        let side = |end| match end {
            CopyEnd::Host(address) => Ok(Side3d::new(HOST, address, 0, 0)),
            CopyEnd::Device(address) => Ok(Side3d::new(DEVICE, address, 0, 0)),
            CopyEnd::Array(array, offset) => part(state, array, offset),
        };
        let copy = Copy3d { from: side(from)?, to: side(to)?, width_bytes: bytes, height: 1, depth: 1 };
        copy_rows(state, &copy, stream, waits)
    })
}

unsafe extern "C" fn cuMemcpyHtoA_v2(array: *mut c_void, at: usize, host: *const c_void, bytes: usize) -> c_int {
    copy(CopyEnd::Array(array, at), CopyEnd::Host(host as u64), bytes, NULL, true)
}

unsafe extern "C" fn cuMemcpyHtoAAsync_v2(
    array: *mut c_void,
    at: usize,
    host: *const c_void,
    bytes: usize,
    stream: *mut c_void,
) -> c_int {
    copy(CopyEnd::Array(array, at), CopyEnd::Host(host as u64), bytes, stream, false)
}

unsafe extern "C" fn cuMemcpyAtoH_v2(host: *mut c_void, array: *mut c_void, at: usize, bytes: usize) -> c_int {
    copy(CopyEnd::Host(host as u64), CopyEnd::Array(array, at), bytes, NULL, true)
}

unsafe extern "C" fn cuMemcpyAtoHAsync_v2(
    host: *mut c_void,
    array: *mut c_void,
    at: usize,
    bytes: usize,
    stream: *mut c_void,
) -> c_int {
    copy(CopyEnd::Host(host as u64), CopyEnd::Array(array, at), bytes, stream, false)
}

unsafe extern "C" fn cuMemcpyDtoA_v2(array: *mut c_void, at: usize, from: u64, bytes: usize) -> c_int {
    copy(CopyEnd::Array(array, at), CopyEnd::Device(from), bytes, NULL, true)
}

unsafe extern "C" fn cuMemcpyAtoD_v2(to: u64, array: *mut c_void, at: usize, bytes: usize) -> c_int {
    copy(CopyEnd::Device(to), CopyEnd::Array(array, at), bytes, NULL, true)
}

unsafe extern "C" fn cuMemcpyAtoA_v2(
    to: *mut c_void,
    to_at: usize,
    from: *mut c_void,
    from_at: usize,
    bytes: usize,
) -> c_int {
    copy(CopyEnd::Array(to, to_at), CopyEnd::Array(from, from_at), bytes, NULL, true)
}
