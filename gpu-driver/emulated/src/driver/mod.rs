//! The driver's C functions, as the emulated device answers them: they fill the table of `gpu-driver`.
//!
//! Each has the signature that cust_raw declares, with opaque handles as plain pointers. A function that is not here answers
//! `CUDA_ERROR_NOT_SUPPORTED`.

use std::ffi::c_void;

use crate::code::{INVALID_VALUE, Outcome};

mod array;
mod array_copies;
mod context;
mod device;
mod graph;
mod graphics;
mod jit;
mod launch;
mod memory;
mod mipmaps;
mod module;
mod occupancy;
mod pitched;
mod pointer_attributes;
mod pool;
mod stream;
mod tensor_map;
mod texture;
mod virtual_memory;

/// Names and addresses of functions, for the table.
macro_rules! table {
    ($($name:ident),* $(,)?) => {
        pub(super) const FUNCTIONS: &[(&str, fn() -> usize)] = &[$((stringify!($name), || $name as *const () as usize)),*];
    };
}
use table;

/// The address of the function of that name; 0 where the emulated driver has none.
pub fn address(name: &str) -> usize {
    let name = name.trim_end_matches('\0');
    let parts = [
        array::FUNCTIONS,
        array_copies::FUNCTIONS,
        context::FUNCTIONS,
        device::FUNCTIONS,
        graph::FUNCTIONS,
        graphics::FUNCTIONS,
        jit::FUNCTIONS,
        launch::FUNCTIONS,
        memory::FUNCTIONS,
        mipmaps::FUNCTIONS,
        module::FUNCTIONS,
        occupancy::FUNCTIONS,
        pitched::FUNCTIONS,
        pointer_attributes::FUNCTIONS,
        pool::FUNCTIONS,
        stream::FUNCTIONS,
        tensor_map::FUNCTIONS,
        texture::FUNCTIONS,
        virtual_memory::FUNCTIONS,
    ];
    parts.iter().copied().flatten().find(|(known, _)| *known == name).map_or(0, |(_, address)| address())
}

/// Stores an answer where the caller asked for it.
///
/// # Safety
/// `place` is null or valid for a write.
unsafe fn store<T>(place: *mut T, value: T) -> Outcome {
    if place.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: not null, so valid as the caller promises.
    unsafe { place.write(value) };
    Ok(())
}

/// Stores an answer that the caller may not want.
///
/// # Safety
/// As [`store`].
unsafe fn store_if_wanted<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: as the caller promises.
        unsafe { place.write(value) };
    }
}

/// The legacy stream, or no address.
const NULL: *mut c_void = std::ptr::null_mut();

fn pointer(handle: usize) -> *mut c_void {
    handle as *mut c_void
}
