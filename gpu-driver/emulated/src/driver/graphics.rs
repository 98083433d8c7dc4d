//! Objects of OpenGL, registered and mapped: those that a program has declared ([`crate::graphics`]).

use std::ffi::{c_int, c_uint, c_void};

use gpu_driver_core::texels::array_flag;

use super::{array, pointer, store, table};
use crate::{
    code::{
        ALREADY_MAPPED, INVALID_GRAPHICS_CONTEXT, INVALID_HANDLE, INVALID_VALUE, NOT_MAPPED, NOT_MAPPED_AS_ARRAY,
        NOT_MAPPED_AS_POINTER, Outcome,
    },
    graphics::{Mapping, ObjectName, RegisteredObject},
    kinds::Call,
    memory::MemoryKind,
    state::{DriverState, call},
};

table![
    cuGraphicsGLRegisterBuffer,
    cuGraphicsGLRegisterImage,
    cuGLGetDevices_v2,
    cuGraphicsUnregisterResource,
    cuGraphicsResourceSetMapFlags_v2,
    cuGraphicsMapResources,
    cuGraphicsUnmapResources,
    cuGraphicsResourceGetMappedPointer_v2,
    cuGraphicsSubResourceGetMappedArray,
];

const READ_ONLY: u32 = 1;
const WRITE_DISCARD: u32 = 2;
/// `CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST`.
const SURFACES: u32 = 4;

fn register(state: &mut DriverState, name: u32, is_image: bool, flags: u32) -> Outcome<usize> {
    let context = state.current()?;
    let object = ObjectName { context, is_image, name };
    if !state.graphics.objects.keys().any(|name| name.context == context) {
        return Err(INVALID_GRAPHICS_CONTEXT);
    }
    if !state.graphics.objects.contains_key(&object) || (!is_image && flags & SURFACES != 0) {
        return Err(INVALID_VALUE);
    }
    if state.graphics.resources.values().any(|resource| resource.object == object) {
        return Err(ALREADY_MAPPED);
    }
    let handle = state.handle();
    let (has_surfaces, map_flags) = (flags & SURFACES != 0, flags & (READ_ONLY | WRITE_DISCARD));
    state.graphics.resources.insert(handle, RegisteredObject { object, has_surfaces, map_flags, mapping: None });
    Ok(handle)
}

unsafe extern "C" fn cuGraphicsGLRegisterBuffer(resource: *mut *mut c_void, buffer: c_uint, flags: c_uint) -> c_int {
    // SAFETY: the caller passes places for the answers; so below.
    call(|state| register(state, buffer, false, flags).and_then(|made| unsafe { store(resource, pointer(made)) }))
}

unsafe extern "C" fn cuGraphicsGLRegisterImage(
    resource: *mut *mut c_void,
    image: c_uint,
    _target: c_uint,
    flags: c_uint,
) -> c_int {
    // SAFETY: see above.
    call(|state| register(state, image, true, flags).and_then(|made| unsafe { store(resource, pointer(made)) }))
}

/// The devices of the contexts with objects.
unsafe extern "C" fn cuGLGetDevices_v2(count: *mut c_uint, list: *mut c_int, most: c_uint, _which: c_int) -> c_int {
    call(|state| {
        let objects = state.graphics.objects.keys();
        let mut devices: Vec<usize> =
            objects.filter_map(|name| state.contexts.get(&name.context)).map(|context| context.device).collect();
        devices.sort_unstable();
        devices.dedup();
        if devices.is_empty() {
            return Err(INVALID_GRAPHICS_CONTEXT);
        }
        for (at, &device) in devices.iter().take(most as usize).enumerate() {
            // SAFETY: see above; the list has `most` places.
            unsafe { store(list.wrapping_add(at), device as c_int)? };
        }
        // SAFETY: see above.
        unsafe { store(count, devices.len() as c_uint) }
    })
}

fn find(state: &DriverState, resource: *mut c_void) -> Outcome<RegisteredObject> {
    state.graphics.resources.get(&(resource as usize)).copied().ok_or(INVALID_HANDLE)
}

fn set(state: &mut DriverState, resource: *mut c_void, change: impl FnOnce(&mut RegisteredObject)) {
    if let Some(found) = state.graphics.resources.get_mut(&(resource as usize)) {
        change(found);
    }
}

unsafe extern "C" fn cuGraphicsUnregisterResource(resource: *mut c_void) -> c_int {
    call(|state| {
        if find(state, resource)?.mapping.is_some() {
            return Err(ALREADY_MAPPED);
        }
        state.graphics.resources.remove(&(resource as usize));
        Ok(())
    })
}

unsafe extern "C" fn cuGraphicsResourceSetMapFlags_v2(resource: *mut c_void, flags: c_uint) -> c_int {
    call(|state| {
        if find(state, resource)?.mapping.is_some() {
            return Err(ALREADY_MAPPED);
        }
        if flags > WRITE_DISCARD {
            return Err(INVALID_VALUE);
        }
        set(state, resource, |resource| resource.map_flags = flags);
        Ok(())
    })
}

/// The resources of a list, of the stream's context.
///
/// # Safety
/// The list has so many.
unsafe fn listed(
    state: &mut DriverState,
    count: c_uint,
    list: *mut *mut c_void,
    stream: usize,
) -> Outcome<Vec<*mut c_void>> {
    if count == 0 || list.is_null() {
        return Err(INVALID_VALUE);
    }
    let context = state.stream_state(stream)?.context;
    // SAFETY: as the caller promises.
    let handles = unsafe { std::slice::from_raw_parts(list, count as usize) }.to_vec();
    for &handle in &handles {
        if find(state, handle)?.object.context != context {
            return Err(INVALID_HANDLE);
        }
    }
    Ok(handles)
}

unsafe extern "C" fn cuGraphicsMapResources(count: c_uint, list: *mut *mut c_void, stream: *mut c_void) -> c_int {
    call(|state| {
        let stream = state.stream(stream)?;
        state.not_captured(stream)?;
        // SAFETY: the caller passes a list of so many; so below.
        unsafe { listed(state, count, list, stream)? }.into_iter().try_for_each(|resource| map(state, resource))
    })
}

/// Gives an object memory with its contents; without them where the program says that it overwrites all.
fn map(state: &mut DriverState, handle: *mut c_void) -> Outcome {
    let resource = find(state, handle)?;
    if resource.mapping.is_some() {
        return Err(ALREADY_MAPPED);
    }
    let object = state.graphics.objects.get(&resource.object).ok_or(INVALID_HANDLE)?;
    let (bytes, image) = (object.contents.len(), object.image);
    let (mapping, start) = match image {
        None => {
            let start = state.allocate(resource.object.context, bytes, MemoryKind::Device)?;
            (Mapping::Memory(start), start)
        }
        Some(mut descriptor) => {
            descriptor.flags |= if resource.has_surfaces { array_flag::SURFACE } else { 0 };
            let made = array::create(state, descriptor)?;
            (Mapping::Array(made), array::find(state, pointer(made))?.texels.start)
        }
    };
    if resource.map_flags != WRITE_DISCARD
        && let Some(object) = state.graphics.objects.get(&resource.object)
    {
        // SAFETY: fresh memory of so many bytes, which no work uses yet.
        unsafe { std::ptr::copy_nonoverlapping(object.contents.as_ptr(), start as *mut u8, bytes) };
    }
    set(state, handle, |resource| resource.mapping = Some(mapping));
    Ok(())
}

unsafe extern "C" fn cuGraphicsUnmapResources(count: c_uint, list: *mut *mut c_void, stream: *mut c_void) -> c_int {
    call(|state| {
        let stream = state.stream(stream)?;
        state.not_captured(stream)?;
        // SAFETY: see above.
        let resources = unsafe { listed(state, count, list, stream)? };
        // The work of this stream alone comes first: that of others is to be ordered with it by the program.
        state.finish_stream(stream)?;
        resources.into_iter().try_for_each(|resource| unmap(state, resource))
    })
}

/// Copies the memory back, unless the program says that it wrote nothing, and releases it.
fn unmap(state: &mut DriverState, handle: *mut c_void) -> Outcome {
    let resource = find(state, handle)?;
    let mapping = resource.mapping.ok_or(NOT_MAPPED)?;
    let context = resource.object.context;
    state.count(context, Call::Release)?;
    let start = match mapping {
        Mapping::Memory(start) => start,
        Mapping::Array(array) => {
            let start = array::find(state, pointer(array))?.texels.start;
            state.texels.arrays.remove(&array);
            start
        }
    };
    let mut bytes = 0;
    if let Some(object) = state.graphics.objects.get_mut(&resource.object) {
        bytes = object.contents.len();
        if resource.map_flags != READ_ONLY {
            // SAFETY: the mapping's memory of so many bytes, whose work has run as far as the program orders it.
            unsafe { std::ptr::copy_nonoverlapping(start as *const u8, object.contents.as_mut_ptr(), bytes) };
        }
    }
    state.uncount(context, bytes, 0);
    state.memory.release(start);
    set(state, handle, |resource| resource.mapping = None);
    Ok(())
}

unsafe extern "C" fn cuGraphicsResourceGetMappedPointer_v2(
    address: *mut u64,
    size: *mut usize,
    resource: *mut c_void,
) -> c_int {
    call(|state| {
        let found = find(state, resource)?;
        let start = match found.mapping.ok_or(NOT_MAPPED)? {
            Mapping::Memory(start) => start as u64,
            Mapping::Array(_) => return Err(NOT_MAPPED_AS_POINTER),
        };
        let bytes = state.graphics.objects.get(&found.object).map_or(0, |object| object.contents.len());
        // SAFETY: see above.
        unsafe { store(address, start).and_then(|()| store(size, bytes)) }
    })
}

/// Objects have one level and one face.
unsafe extern "C" fn cuGraphicsSubResourceGetMappedArray(
    array: *mut *mut c_void,
    resource: *mut c_void,
    index: c_uint,
    level: c_uint,
) -> c_int {
    call(|state| match find(state, resource)?.mapping.ok_or(NOT_MAPPED)? {
        // SAFETY: see above.
        Mapping::Array(made) if index == 0 && level == 0 => unsafe { store(array, pointer(made)) },
        Mapping::Array(_) => Err(INVALID_VALUE),
        Mapping::Memory(_) => Err(NOT_MAPPED_AS_ARRAY),
    })
}
