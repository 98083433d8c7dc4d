//! Attributes of pointers.

use std::ffi::{c_int, c_uint};

use gpu_driver_core::copies::{DEVICE, HOST};

use super::table;
use crate::{
    code::{INVALID_VALUE, Outcome},
    memory::{Life, MemoryKind},
    state::{DriverState, call},
};

table![cuPointerGetAttribute, cuPointerGetAttributes];

/// The answer to an attribute of a pointer, as the bytes that the driver writes; None where the pointer is not known to the driver.
fn attribute_of(state: &DriverState, attribute: c_int, address: usize) -> Outcome<Option<Vec<u8>>> {
    let found = state
        .memory
        .find(address)
        .filter(|found| !found.is_freed && found.life != Life::Released && address - found.start < found.bytes);
    let registered = state.registered.iter().find(|range| range.contains(&address));
    let on_host = registered.is_some() || found.is_some_and(|found| found.kind == MemoryKind::Pinned);
    let (context, start, bytes) = match (found, registered) {
        (Some(found), _) => (found.context, found.start, found.bytes),
        (None, Some(range)) => (state.current()?, range.start, range.len()),
        (None, None) => return Ok(None),
    };
    let is_managed = found.is_some_and(|found| state.managed.contains(&found.start));
    let ordinal = state.contexts.get(&context).map_or(-2, |context| context.device as c_int);
    Ok(Some(match attribute {
        1 => context.to_ne_bytes().to_vec(),                               // CONTEXT
        2 => (if on_host { HOST } else { DEVICE }).to_ne_bytes().to_vec(), // MEMORY_TYPE
        3 => address.to_ne_bytes().to_vec(),                               // DEVICE_POINTER
        4 if on_host || is_managed => address.to_ne_bytes().to_vec(),      // HOST_POINTER
        4 => return Ok(None),
        8 => vec![u8::from(is_managed)],     // IS_MANAGED
        9 => ordinal.to_ne_bytes().to_vec(), // DEVICE_ORDINAL
        11 => start.to_ne_bytes().to_vec(),  // RANGE_START_ADDR
        12 => bytes.to_ne_bytes().to_vec(),  // RANGE_SIZE
        _ => return Err(INVALID_VALUE),
    }))
}

/// Writes an answer.
///
/// # Safety
/// `place` is null or has room for the attribute.
unsafe fn write(place: *mut u8, answer: &[u8]) -> Outcome {
    if place.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: not null, so with room as the caller promises.
    unsafe { std::ptr::copy_nonoverlapping(answer.as_ptr(), place, answer.len()) };
    Ok(())
}

unsafe extern "C" fn cuPointerGetAttribute(answer: *mut u8, attribute: c_int, address: u64) -> c_int {
    call(|state| {
        state.current()?;
        let bytes = attribute_of(state, attribute, address as usize)?.ok_or(INVALID_VALUE)?;
        // SAFETY: the caller's place has room for the attribute.
        unsafe { write(answer, &bytes) }
    })
}

unsafe extern "C" fn cuPointerGetAttributes(
    count: c_uint,
    attributes: *const c_int,
    answers: *const *mut u8,
    address: u64,
) -> c_int {
    call(|state| {
        state.current()?;
        for at in 0..count as usize {
            // SAFETY: the caller passes lists of that many entries.
            let (attribute, answer) = unsafe { (*attributes.add(at), *answers.add(at)) };
            // A pointer that the driver does not know has no answers: 0, and for the device -2.
            let unknown = match attribute {
                9 => (-2 as c_int).to_ne_bytes().to_vec(),
                2 => vec![0; 4],
                8 => vec![0],
                _ => vec![0; 8],
            };
            let bytes = attribute_of(state, attribute, address as usize)?.unwrap_or(unknown);
            // SAFETY: the caller's place has room for the attribute.
            unsafe { write(answer, &bytes)? };
        }
        Ok(())
    })
}
