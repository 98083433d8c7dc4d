//! CUDA arrays, and copies of their rows.

use std::ffi::{c_int, c_void};

use gpu_driver_core::{
    copies::{ARRAY, Copy3d, DEVICE, HOST, Side3d},
    texels::{ArrayDescriptor, ArrayDescriptor2d},
};

use super::{NULL, pitched::copy_rows, pointer, store, table};
use crate::{
    code::{INVALID_HANDLE, INVALID_VALUE, Outcome},
    kinds::Call,
    memory::MemoryKind,
    state::{DriverState, call},
    texels::{CudaArray, Texels},
};

table![
    cuArrayCreate_v2,
    cuArray3DCreate_v2,
    cuArrayGetDescriptor_v2,
    cuArray3DGetDescriptor_v2,
    cuArrayDestroy,
    cuMemcpyHtoA_v2,
    cuMemcpyHtoAAsync_v2,
    cuMemcpyAtoH_v2,
    cuMemcpyAtoHAsync_v2,
    cuMemcpyDtoA_v2,
    cuMemcpyAtoD_v2,
    cuMemcpyAtoA_v2,
];

/// Allocates an array.
pub(super) fn create(state: &mut DriverState, descriptor: ArrayDescriptor) -> Outcome<usize> {
    let context = state.current()?;
    let (mut texels, bytes) = Texels::of_descriptor(&descriptor).ok_or(INVALID_VALUE)?;
    texels.start = state.allocate(context, bytes, MemoryKind::Device)?;
    let array = state.handle();
    state.texels.arrays.insert(array, CudaArray { context, descriptor, texels, bytes });
    Ok(array)
}

unsafe extern "C" fn cuArray3DCreate_v2(array: *mut *mut c_void, descriptor: *const ArrayDescriptor) -> c_int {
    call(|state| {
        // SAFETY: the caller passes a descriptor, and a place for the answer; so below.
        unsafe {
            let made = create(state, *descriptor.as_ref().ok_or(INVALID_VALUE)?)?;
            store(array, pointer(made))
        }
    })
}

unsafe extern "C" fn cuArrayCreate_v2(array: *mut *mut c_void, descriptor: *const ArrayDescriptor2d) -> c_int {
    call(|state| {
        // SAFETY: see above.
        unsafe {
            let ArrayDescriptor2d { width, height, format, channels } = *descriptor.as_ref().ok_or(INVALID_VALUE)?;
            let made = create(state, ArrayDescriptor { width, height, depth: 0, format, channels, flags: 0 })?;
            store(array, pointer(made))
        }
    })
}

/// The array of a handle.
pub(super) fn find(state: &DriverState, array: *mut c_void) -> Outcome<CudaArray> {
    state.texels.arrays.get(&(array as usize)).copied().ok_or(INVALID_HANDLE)
}

unsafe extern "C" fn cuArray3DGetDescriptor_v2(descriptor: *mut ArrayDescriptor, array: *mut c_void) -> c_int {
    call(|state| {
        state.current()?;
        // SAFETY: see above.
        unsafe { store(descriptor, find(state, array)?.descriptor) }
    })
}

unsafe extern "C" fn cuArrayGetDescriptor_v2(descriptor: *mut ArrayDescriptor2d, array: *mut c_void) -> c_int {
    call(|state| {
        state.current()?;
        let ArrayDescriptor { width, height, format, channels, .. } = find(state, array)?.descriptor;
        // SAFETY: see above.
        unsafe { store(descriptor, ArrayDescriptor2d { width, height, format, channels }) }
    })
}

/// CUDA promises no wait for work that uses the array, so queued work that does is a fault.
unsafe extern "C" fn cuArrayDestroy(array: *mut c_void) -> c_int {
    call(|state| {
        let CudaArray { context, texels, bytes, .. } = find(state, array)?;
        state.usable(context)?;
        state.count(context, Call::Release)?;
        state.texels.arrays.remove(&(array as usize));
        state.uncount(context, bytes, 0);
        state.memory.release(texels.start);
        Ok(())
    })
}

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

/// The rows of an array, for a copy of a box.
pub(super) fn side(state: &DriverState, side: &Side3d, copy: &Copy3d) -> Outcome<Texels> {
    debug_assert_eq!(side.memory_type, ARRAY);
    let texels = find(state, side.array)?.texels;
    let within = |start: usize, length: usize, all| start.checked_add(length).is_some_and(|end| end <= all);
    let whole = |bytes: usize| bytes.is_multiple_of(texels.element_bytes());
    let fits = within(side.x_bytes, copy.width_bytes, texels.row_bytes())
        && within(side.y, copy.height, texels.rows)
        && within(side.z, copy.depth, texels.layers)
        && whole(side.x_bytes)
        && whole(copy.width_bytes);
    if fits { Ok(texels) } else { Err(INVALID_VALUE) }
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
