//! Handles that pass to cust and back.
//!
//! cust's types are made by its own calls alone, and events and modules do not tell their handles. Both sides of those calls are here: while this thread
//! hands a handle over, the functions by which cust makes a stream, event, module, function or primary context return that handle; while it asks for one,
//! the functions that cust passes it to keep it. Other threads, and this library's own calls, see the driver as ever.

use std::{
    cell::Cell,
    ffi::{c_char, c_int, c_uint, c_void},
};

use super::symbols::Slot;
use crate::raw::{CUcontext, CUdevice, CUevent, CUfunction, CUmodule, CUstream};

/// The way in which cust's next call on this thread is answered.
#[derive(Clone, Copy)]
enum Mode {
    Driver,
    Give(*mut c_void),
    Tell(*mut c_void),
}

thread_local! {
    static MODE: Cell<Mode> = const { Cell::new(Mode::Driver) };
}

/// Puts back the driver's functions, also after a panic.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        MODE.set(Mode::Driver);
    }
}

/// Runs `make`, which makes one object of cust's: it gets `handle`.
///
/// # Safety
/// The handle is of the kind that is made. The object is not dropped unless it may destroy the handle.
pub(crate) unsafe fn give<R>(handle: *mut c_void, make: impl FnOnce() -> R) -> R {
    let _restored = Restored;
    MODE.set(Mode::Give(handle));
    make()
}

/// The handle of an event that `ask` queries, or of a module in which it looks for a function; null if it does neither.
pub(crate) fn told(ask: impl FnOnce()) -> *mut c_void {
    let _restored = Restored;
    MODE.set(Mode::Tell(std::ptr::null_mut()));
    ask();
    match MODE.get() {
        Mode::Tell(handle) => handle,
        _ => std::ptr::null_mut(),
    }
}

/// The function that takes a slot's place on this thread, of the same signature.
#[inline]
pub(super) fn replacement(slot: usize) -> Option<usize> {
    match MODE.get() {
        Mode::Driver => None,
        Mode::Give(_) => giver(slot),
        Mode::Tell(_) => teller(slot),
    }
}

fn giver(slot: usize) -> Option<usize> {
    const STREAM: usize = Slot::cuStreamCreateWithPriority as usize;
    const EVENT: usize = Slot::cuEventCreate as usize;
    const MODULE: usize = Slot::cuModuleLoadDataEx as usize;
    const FUNCTION: usize = Slot::cuModuleGetFunction as usize;
    const CONTEXT: usize = Slot::cuDevicePrimaryCtxRetain as usize;
    const CURRENT: usize = Slot::cuCtxSetCurrent as usize;
    Some(match slot {
        STREAM => give_stream as *const () as usize,
        EVENT => give_event as *const () as usize,
        MODULE => give_module as *const () as usize,
        FUNCTION => give_function as *const () as usize,
        CONTEXT => give_context as *const () as usize,
        CURRENT => leave_current as *const () as usize,
        _ => return None,
    })
}

fn teller(slot: usize) -> Option<usize> {
    const EVENT: usize = Slot::cuEventQuery as usize;
    const MODULE: usize = Slot::cuModuleGetFunction as usize;
    match slot {
        EVENT => Some(tell_event as *const () as usize),
        MODULE => Some(tell_module as *const () as usize),
        _ => None,
    }
}

/// Writes the handle that is given.
///
/// # Safety
/// `to` is valid for a write, and the handle has the kind that it wants.
unsafe fn write<T>(to: *mut *mut T) -> c_int {
    const INVALID_VALUE: c_int = 1;
    let Mode::Give(handle) = MODE.get() else { return INVALID_VALUE };
    // SAFETY: as the caller promises.
    unsafe { *to = handle.cast() };
    0
}

// SAFETY of all: cust passes a pointer that is valid for the write, and `give`'s caller promises the kind.

unsafe extern "C" fn give_stream(to: *mut CUstream, _flags: c_uint, _priority: c_int) -> c_int {
    // SAFETY: see above.
    unsafe { write(to) }
}

unsafe extern "C" fn give_event(to: *mut CUevent, _flags: c_uint) -> c_int {
    // SAFETY: see above.
    unsafe { write(to) }
}

unsafe extern "C" fn give_module(
    to: *mut CUmodule,
    _image: *const c_void,
    _count: c_uint,
    _options: *mut c_int,
    _values: *mut *mut c_void,
) -> c_int {
    // SAFETY: see above.
    unsafe { write(to) }
}

unsafe extern "C" fn give_function(to: *mut CUfunction, _module: CUmodule, _name: *const c_char) -> c_int {
    // SAFETY: see above.
    unsafe { write(to) }
}

unsafe extern "C" fn give_context(to: *mut CUcontext, _device: CUdevice) -> c_int {
    // SAFETY: see above.
    unsafe { write(to) }
}

/// A context that is lent does not become current.
unsafe extern "C" fn leave_current(_context: CUcontext) -> c_int {
    0
}

unsafe extern "C" fn tell_event(event: CUevent) -> c_int {
    MODE.set(Mode::Tell(event.cast()));
    0
}

unsafe extern "C" fn tell_module(_to: *mut CUfunction, module: CUmodule, _name: *const c_char) -> c_int {
    const NOT_FOUND: c_int = 500;
    MODE.set(Mode::Tell(module.cast()));
    NOT_FOUND
}
