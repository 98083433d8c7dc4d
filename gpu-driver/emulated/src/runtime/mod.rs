//! The functions that kernels call: each runs on the stack of the emulated thread that calls it.
//!
//! Nothing here may panic or hold a value with a destructor across a suspension: a thread that never resumes is reset, not
//! unwound.

use std::{
    ffi::{c_char, c_long, c_uint, c_ulong, c_ulonglong, c_void},
    io::Write,
    ptr::null_mut,
};

use crate::{
    abi::{self, GLOBAL_TIMER, Runtime, access as kind},
    block::{Site, text},
    code::{ASSERT, ILLEGAL_ADDRESS, ILLEGAL_INSTRUCTION, LAUNCH_FAILED, MISALIGNED},
    launch::{Launch, current},
};
use collective::{active_mask, barrier, warp};
use memory::{access, atomic, fence, shared_dynamic, shared_dynamic_bytes, shared_static};
use texture::{surface, texture};

mod collective;
mod memory;
mod texture;

/// Cycles in a microsecond of the emulated device's clock: 1.98 GHz, an H200's boost.
const CYCLES_PER_US: u64 = 1980;
const LONGEST_CLOCK_STEP: u64 = 1 << 20;

pub(crate) static RUNTIME: Runtime = Runtime {
    access,
    atomic,
    barrier,
    warp,
    active_mask,
    shared_static,
    shared_dynamic,
    shared_dynamic_bytes,
    fence,
    clock,
    nanosleep,
    grid_dependency_wait,
    tick,
    enter,
    trap,
    assert_failed,
    undefined,
    misaligned,
    print,
    texture,
    surface,
};

/// Gives way to the scheduler. The launch must be looked up again afterwards.
#[inline(always)] // A return behind a switch is never predicted, so each frame less counts.
fn suspend(launch: &mut Launch) {
    let yielder = launch.thread().yielder;
    // SAFETY: the yielder of the coroutine that runs this, set when it started.
    unsafe { (*yielder).suspend(()) };
}

/// Ends the launch with a fault of the current thread; the thread never resumes.
fn fail(launch: &mut Launch, code: i32, message: &str, site: Site) -> ! {
    if launch.probe.is_none() {
        launch.fault = Some(launch.fault_here(code, message, site));
    }
    gpu_emulated_fault();
    stop(launch)
}

/// A function for a debugger to stop at: a fault was found, and the kernel's frames are the callers.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn gpu_emulated_fault() {
    std::hint::black_box(());
}

fn stop(launch: &mut Launch) -> ! {
    loop {
        suspend(launch);
    }
}

/// In a probe for launch bounds nothing of a kernel's body may run.
fn leave_probe(launch: &mut Launch) {
    if launch.probe.is_some() {
        stop(launch);
    }
}

fn site(name: *const c_char, file: *const c_char, line: c_uint) -> Site {
    Site { name, file, line, pc: 0 }
}

unsafe extern "C" fn clock(kind: c_uint) -> c_ulonglong {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    leave_probe(launch);
    let start = launch.cycles;
    let this = launch.thread();
    // A busy wait asks again and again: time passes faster each time, so that it ends soon.
    this.cycles += this.clock_step;
    this.clock_step = (this.clock_step * 2).min(LONGEST_CLOCK_STEP);
    let cycles = start + this.cycles;
    if kind == GLOBAL_TIMER { cycles * 1000 / CYCLES_PER_US } else { cycles }
}

unsafe extern "C" fn nanosleep(nanoseconds: c_uint) {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    leave_probe(launch);
    launch.thread().cycles += u64::from(nanoseconds) * CYCLES_PER_US / 1000;
    interrupt(launch);
}

unsafe extern "C" fn grid_dependency_wait() {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    leave_probe(launch);
    launch.thread().waited_for_stream = true;
}

unsafe extern "C" fn tick(pc: *const c_void) {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    leave_probe(launch);
    launch.thread().site = Site::of_pc(pc as usize);
    interrupt(launch);
}

fn interrupt(launch: &mut Launch) {
    launch.interrupted();
    if launch.fault.is_some() {
        stop(launch);
    }
    suspend(launch);
}

unsafe extern "C" fn enter(max_threads: c_uint, _min_blocks: c_uint) {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    if let Some(found) = &mut launch.probe {
        *found = Some(max_threads);
        stop(launch);
    }
}

unsafe extern "C" fn trap(file: *const c_char, line: c_uint) -> ! {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    leave_probe(launch);
    fail(launch, LAUNCH_FAILED, "__trap() was called", site(c"__trap".as_ptr(), file, line))
}

unsafe extern "C" fn assert_failed(
    expression: *const c_char,
    function: *const c_char,
    file: *const c_char,
    line: c_uint,
) -> ! {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    leave_probe(launch);
    let message = format!("assertion `{}` failed in `{}`", text(expression), text(function));
    fail(launch, ASSERT, &message, site(c"assert".as_ptr(), file, line))
}

unsafe extern "C" fn undefined(
    message: *const c_char,
    file: *const c_char,
    line: c_uint,
    _column: c_uint,
    address: *const c_void,
) -> ! {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    leave_probe(launch);
    let at = if address.is_null() { String::new() } else { format!(" at {address:p}") };
    let message = text(message);
    // An index that leaves its array is an access out of bounds, found before it happens.
    let code = if message.contains("out of bounds") || message.contains("null pointer") {
        ILLEGAL_ADDRESS
    } else {
        ILLEGAL_INSTRUCTION
    };
    fail(launch, code, &format!("undefined behaviour: {message}{at}"), site(null_mut(), file, line))
}

unsafe extern "C" fn misaligned(
    address: *const c_void,
    alignment: c_ulong,
    kind: c_uint,
    type_name: *const c_char,
    file: *const c_char,
    line: c_uint,
) -> ! {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    leave_probe(launch);
    let does = if kind == kind::WRITE { "writes" } else { "accesses" };
    let message = format!(
        "{does} a {} at {address:p}, which is not a multiple of {alignment}: a misaligned access",
        text(type_name)
    );
    fail(launch, MISALIGNED, &message, site(null_mut(), file, line))
}

unsafe extern "C" fn print(text: *const c_char, bytes: c_ulong) {
    // SAFETY: see `access`.
    leave_probe(unsafe { current() });
    // SAFETY: the module passes a buffer with that many bytes.
    let text = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), bytes as usize) };
    // As on a GPU, output that cannot be written is lost.
    let _ = std::io::stdout().write_all(text);
}

// The interface counts in C's types; they are these on every machine that the emulated device runs on.
const _: () = assert!(size_of::<c_long>() == 8 && size_of::<abi::Index>() == 12);
