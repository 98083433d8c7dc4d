//! CUDA arrays, and the rows of theirs that a copy takes.

use std::ffi::{c_int, c_void};

use gpu_driver_core::{
    copies::{ARRAY, Copy3d, Side3d},
    texels::{ArrayDescriptor, ArrayDescriptor2d},
};

use super::{pointer, store, table};
use crate::{
    code::{INVALID_HANDLE, INVALID_VALUE, Outcome},
    kinds::Call,
    memory::MemoryKind,
    state::{DriverState, call},
    texels::{CudaArray, Texels},
};

table![cuArrayCreate_v2, cuArray3DCreate_v2, cuArrayGetDescriptor_v2, cuArray3DGetDescriptor_v2, cuArrayDestroy,];

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
