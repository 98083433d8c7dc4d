//! The CUDA driver API without linking to it: every function that cust_raw declares and a few newer ones, defined here, through a table.
//!
//! `cust` calls the driver's C symbols. This module *is* those symbols: each is a small function that looks its target up
//! in a table which is filled once per process, at the first call, from the real `libcuda.so.1` (see [`loader`]). Where
//! there is no driver the table stays empty and every function returns `CUDA_ERROR_NO_DEVICE`, so one binary runs with a
//! driver and without.
//!
//! Two faces of each function:
//! * `sys::cuX(..) -> c_int` is called by this crate. The code is a plain integer, whatever the driver's age.
//! * the exported C symbol `cuX` is called by `cust`. cust_raw's result enum ends with CUDA 11.4 and a Rust enum that holds
//!   any other value is undefined behaviour, so here a newer code becomes `CUDA_ERROR_UNKNOWN`.
//!
//! The forwarders are typed functions because a bare jump could not look at the result; they are also the same on every processor.
//! `cargo xtask symbols` generates `symbols.rs`. `cuGetErrorString` and `cuGetErrorName` are answered here in every state.
//!
//! Without the feature `cust` there is the first face alone, and no C symbol.
//!
//! # Linking
//! The build script of cust_raw wants `$CUDA_LIBRARY_PATH/lib64` and asks the linker for `-lcuda`. `.cargo/config.toml` points it at
//! `gpu-driver/stub`, whose `lib64/libcuda.so` is an empty linker script. For crates outside of the workspace `gpu-driver/build.rs`
//! writes the same script to its output folder.

use std::ffi::c_int;

#[cfg(feature = "cust")]
pub(crate) mod handover;
pub(crate) mod loader;

/// Returned by every function when there is no driver.
const NO_DEVICE: c_int = 100;
/// Returned by every function in the child of a fork, as CUDA's driver does where it answers.
const NOT_INITIALIZED: c_int = 3;
/// Returned when the driver is there but too old to have the function.
const NOT_SUPPORTED: c_int = 801;
#[cfg_attr(not(feature = "cust"), allow(dead_code))]
const UNKNOWN: c_int = 999;

/// Defines, for each function, its slot, its typed call, and the C symbol that cust links to.
macro_rules! forward {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?);)*) => {
        #[repr(usize)]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        pub(super) enum Slot { $($name,)* Count }

        /// The C names of the functions, in slot order, each ending in NUL.
        pub(super) const NAMES: [&str; Slot::Count as usize] = [$(concat!(stringify!($name), "\0")),*];

        $(
            /// The driver function of this name; see the CUDA Driver API reference.
            ///
            /// # Safety
            /// As the driver's documentation asks: pointers valid, handles alive.
            pub(crate) unsafe fn $name($($arg: $type),*) -> c_int {
                match target(Slot::$name as usize) {
                    Ok(address) => {
                        // SAFETY: the address is that of the driver's function of this name, whose C signature cust_raw
                        // declares; the caller vouches for the arguments.
                        unsafe {
                            let function: unsafe extern "C" fn($($type),*) -> c_int = std::mem::transmute(address);
                            function($($arg),*)
                        }
                    }
                    Err(code) => code,
                }
            }
        )*

        /// The symbols that cust links to.
        #[cfg(feature = "cust")]
        mod exported {
            use super::*;
            use crate::sys::handover;
            $(
                // SAFETY: no other library of the process defines the symbol, because nothing links to libcuda.
                #[unsafe(no_mangle)]
                unsafe extern "C" fn $name($($arg: $type),*) -> c_int {
                    if let Some(address) = handover::replacement(Slot::$name as usize) {
                        // SAFETY: a function of this signature; the caller vouches for the arguments.
                        return unsafe {
                            let function: unsafe extern "C" fn($($type),*) -> c_int = std::mem::transmute(address);
                            function($($arg),*)
                        };
                    }
                    // SAFETY: forwarded as it came.
                    known_or_unknown(unsafe { super::$name($($arg),*) })
                }
            )*
        }
    };
}

#[rustfmt::skip]
#[allow(non_snake_case, dead_code, unused_imports, clippy::too_many_arguments)]
mod symbols;
pub(crate) use symbols::*;

use loader::target;

/// `code` if cust_raw's enum has it, else `CUDA_ERROR_UNKNOWN`.
#[cfg_attr(not(feature = "cust"), allow(dead_code))]
fn known_or_unknown(code: c_int) -> c_int {
    if symbols::KNOWN_CODES.binary_search(&code).is_ok() { code } else { UNKNOWN }
}

/// cust's `Display` for its error panics when these two fail, so they are answered here in every state.
#[cfg(feature = "cust")]
mod texts {
    use std::ffi::{c_char, c_int};

    use gpu_driver_core::codes;

    /// Stores the code's description; returns `CUDA_ERROR_INVALID_VALUE` for a null pointer.
    // SAFETY: no other library of the process defines the symbol, because nothing links to libcuda.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn cuGetErrorString(code: c_int, text: *mut *const c_char) -> c_int {
        // SAFETY: the caller passes a pointer to a `const char *`, or null.
        unsafe { store(codes::description_c(code).as_ptr(), text) }
    }

    /// Stores the code's name; returns `CUDA_ERROR_INVALID_VALUE` for a null pointer.
    // SAFETY: no other library of the process defines the symbol, because nothing links to libcuda.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn cuGetErrorName(code: c_int, text: *mut *const c_char) -> c_int {
        // SAFETY: the caller passes a pointer to a `const char *`, or null.
        unsafe { store(codes::name_c(code).as_ptr(), text) }
    }

    unsafe fn store(value: *const c_char, target: *mut *const c_char) -> c_int {
        if target.is_null() {
            return 1;
        }
        // SAFETY: not null, and valid for a write as the callers promise.
        unsafe { *target = value };
        0
    }
}

#[cfg(test)]
mod tests {
    use super::{
        symbols::{NAMES, Slot},
        *,
    };

    #[test]
    fn codes_newer_than_cust_become_unknown() {
        assert_eq!(known_or_unknown(0), 0);
        assert_eq!(known_or_unknown(700), 700);
        assert_eq!(known_or_unknown(721), UNKNOWN); // CUDA 12.8: CUDA_ERROR_TENSOR_MEMORY_LEAK
    }

    #[test]
    fn names_are_c_strings_in_slot_order() {
        assert_eq!(NAMES[Slot::cuInit as usize], "cuInit\0");
        assert_eq!(NAMES.len(), 357);
        assert!(NAMES.iter().all(|name| name.starts_with("cu") && name.ends_with('\0')));
    }

    #[test]
    #[cfg(feature = "cust")]
    fn cust_prints_every_error() {
        // Panics inside cust when cuGetErrorString fails.
        assert!(cust::error::CudaError::OutOfMemory.to_string().contains("memory"));
        assert!(!cust::error::CudaError::NoDevice.to_string().is_empty());
    }
}
