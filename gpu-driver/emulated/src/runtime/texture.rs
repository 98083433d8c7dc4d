//! Reads of textures, and accesses of surfaces.

use std::ffi::{c_char, c_float, c_int, c_uint, c_ulonglong, c_void};

use gpu_driver_core::texels::resource_kind;

use super::{fail, leave_probe, memory::check, site};
use crate::{
    abi::{access as kind, texels as abi},
    block::{Site, text},
    code::{ILLEGAL_ADDRESS, LAUNCH_FAILED, MISALIGNED},
    launch::{Launch, current},
    texels::{Coordinates, Refusal, Surface, TexelForm, Texels, Texture, levels},
};

/// The value of a texture at a place, in the bits of up to four channels.
#[allow(clippy::too_many_arguments, reason = "the interface of abi.h")]
pub(super) unsafe extern "C" fn texture(
    object: c_ulonglong,
    form: c_uint,
    x: c_float,
    y: c_float,
    z: c_float,
    layer: c_int,
    detail: c_float,
    wanted: c_uint,
    bits: *mut c_uint,
    name: *const c_char,
    file: *const c_char,
    line: c_uint,
) {
    // SAFETY: called by a kernel of the current launch; so in every function below.
    let launch = unsafe { current() };
    leave_probe(launch);
    let site = site(name, file, line);
    let Some(texture) = launch.texels().textures.get(&object).copied().filter(|texture| is_alive(launch, texture))
    else {
        fail(launch, ILLEGAL_ADDRESS, &format!("{object:#x} is no texture, or one that was destroyed"), site);
    };
    expect_type(launch, &texture, wanted, site);
    let form = TexelForm::of(form).unwrap_or(TexelForm::Memory);
    let at = Coordinates { at: [x, y, z], layer };
    let levels = levels_of(launch, &texture, detail);
    let read = &mut |address, bytes| check(launch, address, bytes, 0, site);
    let sampled = if wanted & abi::GATHER == 0 {
        sample(&texture, levels, form, at, read)
    } else {
        // The number of channels that are wanted ends with the one that is gathered.
        texture.gather((wanted & abi::CHANNELS).saturating_sub(1) as usize, at.at, read)
    };
    match sampled {
        // SAFETY: the module passes room for four channels.
        Ok(value) => unsafe { bits.cast::<[c_uint; 4]>().write(value) },
        Err(Refusal::Gather) => {
            let text = "tex2Dgather reads a texture whose array was not made for gathers (ArrayShape::for_gathers)";
            fail(launch, LAUNCH_FAILED, text, site);
        }
        Err(Refusal::Form) => {
            let (got, needed) = (text(name), texture.texels.form.name());
            fail(launch, LAUNCH_FAILED, &format!("{got} reads a texture that {needed} is made for"), site);
        }
    }
}

/// The elements of the levels that a texture reads, and the weight of the second; those of the texture itself without mipmaps.
fn levels_of(launch: &Launch, texture: &Texture, detail: f32) -> ([Texels; 2], f32) {
    let texels = launch.texels();
    let mipmaps = texels.mipmaps.get(&(texture.resource.place as usize));
    let Some(mipmaps) = mipmaps.filter(|_| texture.resource.kind == resource_kind::MIPMAPPED_ARRAY) else {
        return ([texture.texels; 2], 0.0);
    };
    let (chosen, weight) = levels(&texture.descriptor, mipmaps.levels.len(), detail);
    let of_level = |level: usize| mipmaps.levels.get(level).and_then(|array| texels.arrays.get(array));
    (chosen.map(|level| of_level(level).map_or(texture.texels, |array| array.texels)), weight)
}

/// The value of the first level, or between it and the second.
fn sample(
    texture: &Texture,
    (levels, weight): ([Texels; 2], f32),
    form: TexelForm,
    at: Coordinates,
    read: &mut dyn FnMut(usize, usize),
) -> Result<[c_uint; 4], Refusal> {
    let [first, second] = levels.map(|texels| Texture { texels, ..*texture });
    let near = first.sample(form, at, read)?;
    if weight == 0.0 {
        return Ok(near);
    }
    let far = second.sample(form, at, read)?.map(f32::from_bits);
    let mut mixed = near.map(f32::from_bits);
    mixed.iter_mut().zip(far).for_each(|(near, far)| *near = *near * (1.0 - weight) + far * weight);
    Ok(mixed.map(f32::to_bits))
}

/// Whether the array of a texture is there; memory without a form is checked when it is read.
fn is_alive(launch: &Launch, texture: &Texture) -> bool {
    let place = texture.resource.place as usize;
    let is_there = match texture.resource.kind {
        resource_kind::ARRAY => launch.texels().arrays.contains_key(&place),
        resource_kind::MIPMAPPED_ARRAY => launch.texels().mipmaps.contains_key(&place),
        _ => true,
    };
    texture.context == launch.context && is_there
}

/// Refuses a type of values that the texture does not give.
fn expect_type(launch: &mut Launch, texture: &Texture, wanted: c_uint, site: Site) {
    let (channels, wants_floats) = ((wanted & abi::CHANNELS) as usize, wanted & abi::FLOATS != 0);
    let gives = if texture.gives_floats() { "floats" } else { "integers" };
    if wants_floats != texture.gives_floats() {
        let wants = if wants_floats { "floats" } else { "integers" };
        let text = format!("reads {wants} of a texture that gives {gives} (its element type and read mode say which)");
        fail(launch, LAUNCH_FAILED, &text, site);
    }
    if channels > texture.texels.channels {
        let text = format!("reads {channels} channels of a texture that has {}", texture.texels.channels);
        fail(launch, LAUNCH_FAILED, &text, site);
    }
}

/// Reads or writes bytes of a surface.
#[allow(clippy::too_many_arguments, reason = "the interface of abi.h")]
pub(super) unsafe extern "C" fn surface(
    object: c_ulonglong,
    form: c_uint,
    x_bytes: c_int,
    y: c_int,
    z: c_int,
    access: c_uint,
    value: *mut c_void,
    bytes: c_uint,
    name: *const c_char,
    file: *const c_char,
    line: c_uint,
) {
    // SAFETY: see `texture`.
    let launch = unsafe { current() };
    leave_probe(launch);
    let (site, bytes, is_write) = (site(name, file, line), bytes as usize, access & kind::WRITE != 0);
    let found = launch.texels().surfaces.get(&object).copied();
    let is_alive = |surface: &Surface| {
        let array = surface.resource.place as usize;
        surface.context == launch.context && launch.texels().arrays.contains_key(&array)
    };
    let Some(surface) = found.filter(is_alive) else {
        fail(launch, ILLEGAL_ADDRESS, &format!("{object:#x} is no surface, or one that was destroyed"), site);
    };
    let texels = surface.texels;
    if TexelForm::of(form) != Some(texels.form) {
        let needed = texels.form.name().replace("tex", "surf");
        let text = format!("{} accesses a surface that {needed}read and {needed}write are made for", text(name));
        fail(launch, LAUNCH_FAILED, &text, site);
    }
    if !x_bytes.unsigned_abs().is_multiple_of(bytes as u32) {
        let text = format!("the first coordinate of a surface counts bytes: {x_bytes} is no multiple of {bytes}");
        fail(launch, MISALIGNED, &text, site);
    }
    let most = [texels.row_bytes().saturating_sub(bytes), texels.rows - 1, texels.layers - 1];
    let at = [x_bytes, y, z];
    let inside = |(&at, &most): (&c_int, &usize)| usize::try_from(at).is_ok_and(|at| at <= most);
    let is_inside = bytes <= texels.row_bytes() && at.iter().zip(&most).all(inside);
    match access & !kind::WRITE {
        _ if is_inside => {}
        abi::CLAMP if bytes <= texels.row_bytes() => {}
        abi::ZERO | abi::CLAMP => {
            if !is_write {
                // SAFETY: the module passes the place of a value of that many bytes.
                unsafe { std::ptr::write_bytes(value.cast::<u8>(), 0, bytes) };
            }
            return;
        }
        _ => {
            let [columns, rows, layers] = [texels.columns, texels.rows, texels.layers];
            let text = format!(
                "accesses a surface of {columns} x {rows} x {layers} elements at byte {x_bytes} of row {y} of layer {z}: out of bounds"
            );
            fail(launch, ILLEGAL_ADDRESS, &text, site);
        }
    }
    let [x_bytes, y, z] = [0, 1, 2].map(|axis| usize::try_from(at[axis]).unwrap_or(0).min(most[axis]));
    let address = texels.address(0, y, z) + x_bytes;
    check(launch, address, bytes, if is_write { kind::WRITE } else { 0 }, site);
    // SAFETY: checked above; the value is the module's, of that many bytes.
    unsafe {
        if is_write {
            std::ptr::copy_nonoverlapping(value.cast::<u8>(), address as *mut u8, bytes);
        } else {
            std::ptr::copy_nonoverlapping(address as *const u8, value.cast(), bytes);
        }
    }
}
