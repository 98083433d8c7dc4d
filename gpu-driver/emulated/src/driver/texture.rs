//! Texture and surface objects.

use std::ffi::{c_int, c_uint, c_void};

use gpu_driver_core::texels::{ResourceDescriptor, TextureDescriptor, array_flag, resource_kind, texture_flag};

use super::{array::find, pointer, store, table};
use crate::{
    code::{INVALID_VALUE, NOT_SUPPORTED, Outcome},
    state::{DriverState, call},
    texels::{
        Channel, LEAST_TEXTURE_ALIGNMENT, MOST_OF_MEMORY, MOST_PITCH, MOST_PITCHED_COLUMNS, MOST_PITCHED_ROWS, Surface,
        TEXTURE_PITCH_ALIGNMENT, TexelForm, Texels, Texture,
    },
};

table![
    cuTexObjectCreate,
    cuTexObjectDestroy,
    cuTexObjectGetResourceDesc,
    cuTexObjectGetTextureDesc,
    cuTexObjectGetResourceViewDesc,
    cuSurfObjectCreate,
    cuSurfObjectDestroy,
    cuSurfObjectGetResourceDesc,
    cuDeviceGetTexture1DLinearMaxWidth,
];

/// The elements of device memory that a descriptor names.
fn memory(state: &DriverState, resource: &ResourceDescriptor) -> Outcome<Texels> {
    let ResourceDescriptor { kind, place, format, channels, width, height, pitch, .. } = *resource;
    let channel = Channel::of(format).ok_or(INVALID_VALUE)?;
    if !matches!(channels, 1 | 2 | 4) {
        return Err(INVALID_VALUE);
    }
    let (start, channels) = (place as usize, channels as usize);
    let mut texels = Texels {
        form: TexelForm::Memory,
        start,
        channel,
        channels,
        columns: width,
        rows: 1,
        layers: 1,
        pitch: 0,
        gathers: false,
    };
    let bytes = if kind == resource_kind::LINEAR {
        // The width counts bytes.
        texels.columns = width / texels.element_bytes();
        if !(1..=MOST_OF_MEMORY).contains(&texels.columns) {
            return Err(INVALID_VALUE);
        }
        width
    } else {
        (texels.form, texels.rows, texels.pitch) = (TexelForm::Plane, height, pitch);
        let fits = (1..=MOST_PITCHED_COLUMNS).contains(&width)
            && (1..=MOST_PITCHED_ROWS).contains(&height)
            && (texels.row_bytes()..=MOST_PITCH).contains(&pitch)
            && pitch.is_multiple_of(TEXTURE_PITCH_ALIGNMENT);
        if !fits {
            return Err(INVALID_VALUE);
        }
        (height - 1) * pitch + texels.row_bytes()
    };
    if !start.is_multiple_of(LEAST_TEXTURE_ALIGNMENT) {
        return Err(INVALID_VALUE);
    }
    state.expect_device(start, bytes)?;
    Ok(texels)
}

/// Whether the rules allow to read such elements in that way.
fn is_right(texture: &Texture) -> bool {
    let TextureDescriptor { address_modes, is_linear, is_linear_between_mipmaps, flags, border, .. } =
        texture.descriptor;
    let known = texture_flag::READ_AS_INTEGER | texture_flag::NORMALIZED_COORDINATES;
    let is_memory = texture.texels.form == TexelForm::Memory;
    address_modes.iter().all(|&mode| mode <= 3)
        && is_linear <= 1
        && is_linear_between_mipmaps <= 1
        && (is_linear_between_mipmaps == 0 || texture.gives_floats())
        && (is_linear == 0 || texture.gives_floats())
        && flags & !known == 0
        && border.iter().all(|part| !part.is_nan())
        && !(is_memory && (is_linear == 1 || flags & texture_flag::NORMALIZED_COORDINATES != 0))
}

unsafe extern "C" fn cuTexObjectCreate(
    texture: *mut u64,
    resource: *const ResourceDescriptor,
    descriptor: *const TextureDescriptor,
    view: *const c_void,
) -> c_int {
    call(|state| {
        let context = state.current()?;
        // SAFETY: the caller passes both structures and a place for the answer; so below.
        let (resource, descriptor) =
            unsafe { (*resource.as_ref().ok_or(INVALID_VALUE)?, *descriptor.as_ref().ok_or(INVALID_VALUE)?) };
        // Views of arrays are not emulated.
        if !view.is_null() {
            return Err(NOT_SUPPORTED);
        }
        let texels = match resource.kind {
            resource_kind::ARRAY => find(state, pointer(resource.place as usize))?.texels,
            resource_kind::MIPMAPPED_ARRAY => {
                // The driver has no other coordinates for them.
                if descriptor.flags & texture_flag::NORMALIZED_COORDINATES == 0 {
                    return Err(INVALID_VALUE);
                }
                let mipmaps = state.texels.mipmaps.get(&(resource.place as usize)).ok_or(INVALID_VALUE)?;
                find(state, pointer(*mipmaps.levels.first().ok_or(INVALID_VALUE)?))?.texels
            }
            resource_kind::LINEAR | resource_kind::PITCHED => memory(state, &resource)?,
            _ => return Err(NOT_SUPPORTED),
        };
        let made = Texture { context, resource, descriptor, texels };
        if !is_right(&made) {
            return Err(INVALID_VALUE);
        }
        let handle = state.handle() as u64;
        state.texels.textures.insert(handle, made);
        // SAFETY: see above.
        unsafe { store(texture, handle) }
    })
}

/// CUDA promises no wait for kernels that use the texture, so a queued one that does is a fault.
unsafe extern "C" fn cuTexObjectDestroy(texture: u64) -> c_int {
    call(|state| {
        state.current()?;
        state.texels.textures.remove(&texture).map(drop).ok_or(INVALID_VALUE)
    })
}

fn texture(state: &DriverState, handle: u64) -> Outcome<&Texture> {
    state.texels.textures.get(&handle).ok_or(INVALID_VALUE)
}

unsafe extern "C" fn cuTexObjectGetResourceDesc(resource: *mut ResourceDescriptor, handle: u64) -> c_int {
    // SAFETY: see above.
    call(|state| unsafe { store(resource, texture(state, handle)?.resource) })
}

unsafe extern "C" fn cuTexObjectGetTextureDesc(descriptor: *mut TextureDescriptor, handle: u64) -> c_int {
    // SAFETY: see above.
    call(|state| unsafe { store(descriptor, texture(state, handle)?.descriptor) })
}

/// No texture was made with a view.
unsafe extern "C" fn cuTexObjectGetResourceViewDesc(_view: *mut c_void, _handle: u64) -> c_int {
    INVALID_VALUE
}

unsafe extern "C" fn cuSurfObjectCreate(surface: *mut u64, resource: *const ResourceDescriptor) -> c_int {
    call(|state| {
        let context = state.current()?;
        // SAFETY: see above.
        let resource = unsafe { *resource.as_ref().ok_or(INVALID_VALUE)? };
        if resource.kind != resource_kind::ARRAY {
            return Err(INVALID_VALUE);
        }
        let array = find(state, pointer(resource.place as usize))?;
        if array.descriptor.flags & array_flag::SURFACE == 0 {
            return Err(INVALID_VALUE);
        }
        let handle = state.handle() as u64;
        state.texels.surfaces.insert(handle, Surface { context, resource, texels: array.texels });
        // SAFETY: see above.
        unsafe { store(surface, handle) }
    })
}

unsafe extern "C" fn cuSurfObjectDestroy(surface: u64) -> c_int {
    call(|state| {
        state.current()?;
        state.texels.surfaces.remove(&surface).map(drop).ok_or(INVALID_VALUE)
    })
}

unsafe extern "C" fn cuSurfObjectGetResourceDesc(resource: *mut ResourceDescriptor, handle: u64) -> c_int {
    call(|state| {
        let found = state.texels.surfaces.get(&handle).ok_or(INVALID_VALUE)?;
        // SAFETY: see above.
        unsafe { store(resource, found.resource) }
    })
}

unsafe extern "C" fn cuDeviceGetTexture1DLinearMaxWidth(
    width: *mut usize,
    format: c_int,
    channels: c_uint,
    device: c_int,
) -> c_int {
    call(|state| {
        state.device(device)?;
        u32::try_from(format).ok().and_then(Channel::of).ok_or(INVALID_VALUE)?;
        if !matches!(channels, 1 | 2 | 4) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: see above.
        unsafe { store(width, MOST_OF_MEMORY) }
    })
}
