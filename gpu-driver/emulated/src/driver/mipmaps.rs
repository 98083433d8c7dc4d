//! Mipmapped CUDA arrays: an array for each level, in one allocation.

use std::ffi::{c_int, c_uint, c_void};

use gpu_driver_core::texels::{ArrayDescriptor, array_flag};

use super::{pointer, store, table};
use crate::{
    code::{INVALID_HANDLE, INVALID_VALUE},
    kinds::Call,
    memory::MemoryKind,
    state::call,
    texels::{CudaArray, Mipmaps, Texels},
};

table![cuMipmappedArrayCreate, cuMipmappedArrayGetLevel, cuMipmappedArrayDestroy];

/// The description of a level: each length is half of that before it, but for layers and faces.
fn of_level(whole: &ArrayDescriptor, level: c_uint) -> ArrayDescriptor {
    let half = |length: usize| if length == 0 { 0 } else { length.checked_shr(level).unwrap_or(0).max(1) };
    let has_layers = whole.flags & (array_flag::LAYERED | array_flag::CUBEMAP) != 0;
    let depth = if has_layers { whole.depth } else { half(whole.depth) };
    ArrayDescriptor { width: half(whole.width), height: half(whole.height), depth, ..*whole }
}

unsafe extern "C" fn cuMipmappedArrayCreate(
    mipmaps: *mut *mut c_void,
    descriptor: *const ArrayDescriptor,
    count: c_uint,
) -> c_int {
    call(|state| {
        let context = state.current()?;
        // SAFETY: the caller passes a descriptor, and a place for the answer; so below.
        let whole = unsafe { *descriptor.as_ref().ok_or(INVALID_VALUE)? };
        let longest = whole.width.max(whole.height).max(if whole.flags == 0 { whole.depth } else { 0 });
        // The driver takes a number beyond the most levels for that.
        let count = count.clamp(1, longest.max(1).ilog2() + 1);
        let levels = (0..count).map(|level| of_level(&whole, level));
        let levels: Vec<_> =
            levels.map(|of| Some((of, Texels::of_descriptor(&of)?))).collect::<Option<_>>().ok_or(INVALID_VALUE)?;
        // Elements of 16 bytes at most are aligned to their size.
        let aligned = |bytes: usize| bytes.next_multiple_of(16);
        let bytes = levels.iter().map(|(_, (_, bytes))| aligned(*bytes)).sum();
        let start = state.allocate(context, bytes, MemoryKind::Device)?;
        let (mut made, mut at) = (Mipmaps { context, levels: Vec::new(), start, bytes }, start);
        for (descriptor, (texels, bytes)) in levels {
            let (array, texels) = (state.handle(), Texels { start: at, ..texels });
            state.texels.arrays.insert(array, CudaArray { context, descriptor, texels, bytes });
            made.levels.push(array);
            at += aligned(bytes);
        }
        let handle = state.handle();
        state.texels.mipmaps.insert(handle, made);
        // SAFETY: see above.
        unsafe { store(mipmaps, pointer(handle)) }
    })
}

unsafe extern "C" fn cuMipmappedArrayGetLevel(array: *mut *mut c_void, mipmaps: *mut c_void, level: c_uint) -> c_int {
    call(|state| {
        let found = state.texels.mipmaps.get(&(mipmaps as usize)).ok_or(INVALID_HANDLE)?;
        let level = *found.levels.get(level as usize).ok_or(INVALID_VALUE)?;
        // SAFETY: see above.
        unsafe { store(array, pointer(level)) }
    })
}

/// No wait for work that uses it, as for other arrays.
unsafe extern "C" fn cuMipmappedArrayDestroy(mipmaps: *mut c_void) -> c_int {
    call(|state| {
        let found = state.texels.mipmaps.get(&(mipmaps as usize)).cloned().ok_or(INVALID_HANDLE)?;
        state.usable(found.context)?;
        state.count(found.context, Call::Release)?;
        state.texels.mipmaps.remove(&(mipmaps as usize));
        state.texels.arrays.retain(|array, _| !found.levels.contains(array));
        state.uncount(found.context, found.bytes, 0);
        state.memory.release(found.start);
        Ok(())
    })
}
