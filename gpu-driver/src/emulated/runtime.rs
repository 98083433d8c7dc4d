//! The functions that kernels call: each runs on the stack of the emulated thread that calls it.
//!
//! Nothing here may panic or hold a value with a destructor across a suspension: a thread that never resumes is reset, not
//! unwound.

use std::{
    ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_ulonglong, c_void},
    io::Write,
    ptr::null_mut,
};

use super::{
    Blocks, Schedule,
    abi::{self, GLOBAL_TIMER, Runtime, access as kind, barrier as kinds},
    block::{Barrier, Group, Site, Wait, text},
    launch::{Launch, current},
    report,
    shared::{Accessor, Trouble, Variable},
};

const ILLEGAL_ADDRESS: i32 = 700;
const OUT_OF_RESOURCES: i32 = 701;
const ASSERT: i32 = 710;
const ILLEGAL_INSTRUCTION: i32 = 715;
const MISALIGNED: i32 = 716;
const LAUNCH_FAILED: i32 = 719;
/// Cycles in a microsecond of the emulated device's clock: 1.98 GHz, an H200's boost.
const CYCLES_PER_US: u64 = 1980;
const LONGEST_CLOCK_STEP: u64 = 1 << 20;

pub(super) static RUNTIME: Runtime = Runtime {
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
};

pub(super) const EMPTY_GROUP: Group =
    Group { kind: 0, mask: 0, arrived: 0, values: [0; 32], arguments: [0; 32], width: 32 };

/// Gives way to the scheduler. The launch must be looked up again afterwards.
#[inline(always)] // A return behind a switch is never predicted, so each frame less counts.
fn suspend(launch: &mut Launch) {
    let yielder = launch.thread().yielder;
    // SAFETY: the yielder of the coroutine that runs this, set when it started.
    unsafe { (*yielder).suspend(()) };
}

/// Ends the launch with a fault of the current thread; the thread never resumes.
fn fail(launch: &mut Launch, code: i32, what: &str, site: Site) -> ! {
    if launch.probe.is_none() {
        launch.fault = Some(launch.fault_here(code, what, site));
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

unsafe extern "C" fn access(address: *const c_void, bytes: c_ulong, kind: c_uint, pc: *const c_void) {
    // SAFETY: called by a kernel of the current launch; so in every function below.
    let launch = unsafe { current() };
    leave_probe(launch);
    if kind == 0 && launch.is_built_in(address as usize) {
        return;
    }
    let site = Site::of_pc(pc as usize);
    if kind & kind::VOLATILE != 0 {
        give_way(launch);
    } else if launch.schedule == Schedule::Random {
        tear(launch, kind, site);
    }
    check(launch, address as usize, bytes as usize, kind, site);
}

/// Now and then another thread runs between a read and the next write: an update that is not atomic then gets lost.
fn tear(launch: &mut Launch, kind: u32, site: Site) {
    const ONE_IN: u64 = 64;
    if kind & kind::WRITE == 0 {
        launch.thread().torn = launch.random.below(ONE_IN) == 0;
    } else if std::mem::take(&mut launch.thread().torn) {
        launch.thread().site = site;
        let thread = launch.at.1;
        launch.leave_block = launch.blocks == Blocks::Interleaved;
        launch.block().later.insert(thread);
        suspend(launch);
    }
}

/// Refuses an access of memory that the thread may not touch.
fn check(launch: &mut Launch, address: usize, bytes: usize, kind: u32, site: Site) {
    if bytes == 0 {
        return;
    }
    let refused = match launch.memory().check(address, bytes, launch.context) {
        Ok(()) if launch.order.overlaps && !launch.thread().waited_for_stream => {
            let text = format!(
                "{} memory before it waited for its stream (gpu::grid_dependency_wait)",
                report::verb(kind, bytes)
            );
            fail(launch, LAUNCH_FAILED, &text, site);
        }
        Ok(()) => return,
        Err(refused) => refused,
    };
    if let Some(slot) = launch.arenas.slot_of(address) {
        return check_shared(launch, slot, address, bytes, kind, site);
    }
    let stack = &launch.thread().stack;
    if stack.contains(&address) && bytes <= stack.end - address {
        return;
    }
    let writes = kind & (kind::WRITE | kind::ATOMIC) != 0;
    if launch.allows(address, bytes, writes) {
        return;
    }
    if !writes && launch.holds_argument(address, bytes) {
        return;
    }
    let text = report::refused(launch, address, bytes, kind, &refused);
    fail(launch, ILLEGAL_ADDRESS, &text, site);
}

fn check_shared(launch: &mut Launch, slot: usize, address: usize, bytes: usize, kind: u32, site: Site) {
    if slot != launch.block().slot {
        let text = format!("{} shared memory of another block", report::verb(kind, bytes));
        fail(launch, ILLEGAL_ADDRESS, &text, site);
    }
    let offset = address - launch.arenas.start(slot);
    let inside = |v: &Variable| offset >= v.offset && bytes <= v.bytes && offset - v.offset <= v.bytes - bytes;
    if !launch.layout.variables.iter().any(inside) {
        let text = report::outside_variables(launch, offset, &report::verb(kind, bytes));
        fail(launch, ILLEGAL_ADDRESS, &text, site);
    }
    if !launch.sees_accesses {
        return;
    }
    let thread = launch.at.1;
    let block = launch.block();
    let this = &block.threads[thread];
    let who = Accessor {
        thread: thread as u16,
        warp_clock: this.warp_clock,
        time: block.time,
        last_sync: this.last_sync,
        epoch: block.epoch,
        pc: site.pc,
    };
    // A lane of the other's warp released the other's work: itself, or after a warp-wide operation of both.
    let threads = &block.threads;
    let released = |other: u16, time: u32, warp_clock: u32| {
        let first = usize::from(other) / 32 * 32;
        let lanes = threads.iter().enumerate().skip(first).take(32);
        lanes.into_iter().any(|(lane, thread)| {
            thread.last_sync > time && (lane == usize::from(other) || thread.sync_clock > warp_clock)
        })
    };
    match block.shadow.access(offset, bytes, kind, who, released) {
        Ok(()) => {}
        Err(Trouble::NeverWritten) => {
            let does = report::verb(kind, bytes);
            let name = report::variable_at(launch, offset);
            let text =
                format!("{does} {name}, which no thread of the block has written (shared memory read before written)");
            fail(launch, LAUNCH_FAILED, &text, site);
        }
        Err(Trouble::Race { other, wrote, pc }) => {
            let text = report::race(launch, offset, &report::verb(kind, bytes), other, wrote, pc);
            fail(launch, LAUNCH_FAILED, &text, site);
        }
    }
}

unsafe extern "C" fn atomic(address: *const c_void, bytes: c_ulong, file: *const c_char, line: c_uint) {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    leave_probe(launch);
    let here = site(c"an atomic operation".as_ptr(), file, line);
    let (address, bytes) = (address as usize, bytes as usize);
    if bytes > 0 && !address.is_multiple_of(bytes) {
        let text = format!("an atomic operation of {bytes} bytes at {address:#x}, which is not a multiple of {bytes}");
        fail(launch, MISALIGNED, &text, here);
    }
    synchronizes(launch);
    check(launch, address, bytes, kind::ATOMIC, here);
    give_way(launch);
}

/// Notes an atomic operation or a fence of the current thread: a pair of them may order two threads.
fn synchronizes(launch: &mut Launch) {
    let thread = launch.at.1;
    let block = launch.block();
    block.time += 1;
    let this = &mut block.threads[thread];
    (this.last_sync, this.sync_clock) = (block.time, this.warp_clock);
}

unsafe extern "C" fn fence(_kind: c_uint, _file: *const c_char, _line: c_uint) {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    leave_probe(launch);
    synchronizes(launch);
    give_way(launch);
}

/// Lets other threads run, as the order says, at a point where they may see this one's work.
fn give_way(launch: &mut Launch) {
    let interleaved = launch.blocks == Blocks::Interleaved;
    let random = launch.schedule == Schedule::Random;
    let leave = match (interleaved, random) {
        (true, true) => launch.random.below(2) == 0,
        (true, false) => true,
        (false, true) => launch.random.below(8) == 0,
        (false, false) => false,
    };
    if leave {
        launch.leave_block = interleaved;
        let thread = launch.at.1;
        launch.block().later.insert(thread);
        suspend(launch);
    }
}

unsafe extern "C" fn barrier(
    kind: c_uint,
    predicate: c_int,
    name: *const c_char,
    file: *const c_char,
    line: c_uint,
) -> c_int {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    leave_probe(launch);
    let here = site(name, file, line);
    let (at, thread) = launch.at;
    let block = launch.block();
    let total = block.threads.len();
    let mut state = block.barrier.unwrap_or(Barrier { kind, site: here, arrived: 0, nonzero: 0 });
    if !state.site.same_line(&here) || state.kind != kind {
        let other = report::line(launch, state.site);
        let text =
            format!("{} is divergent: other threads of the block wait at {} ({other})", here.name(), state.site.name());
        fail(launch, LAUNCH_FAILED, &text, here);
    }
    state.arrived += 1;
    state.nonzero += usize::from(predicate != 0);
    block.barrier = Some(state);
    (block.threads[thread].wait, block.threads[thread].site) = (Wait::Barrier, here);
    if block.alive < total {
        let fault = launch.missing_thread(&state);
        launch.fault = Some(fault);
        stop(launch);
    }
    launch.open_barrier(at);
    rejoin(launch);
    // SAFETY: see `access`.
    unsafe { current() }.thread().result as c_int
}

/// Waits, unless the operation is complete already and the order lets this thread go on.
#[inline(always)]
fn rejoin(launch: &mut Launch) {
    let thread = launch.at.1;
    if launch.fault.is_some() {
        stop(launch);
    }
    let done = launch.thread().wait == Wait::No;
    if done && launch.schedule != Schedule::Random {
        launch.block().ready.remove(thread);
        return;
    }
    suspend(launch);
}

impl Barrier {
    /// The value that each thread's call returns.
    pub(super) fn result(&self) -> u64 {
        match self.kind {
            kinds::COUNT => self.nonzero as u64,
            kinds::AND => (self.nonzero == self.arrived).into(),
            kinds::OR => (self.nonzero > 0).into(),
            _ => 0,
        }
    }
}

unsafe extern "C" fn warp(
    kind: c_uint,
    mask: c_uint,
    value: c_ulonglong,
    argument: c_uint,
    width: c_uint,
    name: *const c_char,
    file: *const c_char,
    line: c_uint,
) -> c_ulonglong {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    leave_probe(launch);
    let here = site(name, file, line);
    let (at, thread) = launch.at;
    let lane = thread % 32;
    if mask >> lane & 1 == 0 {
        let text = format!("{} with mask {mask:#010x}: lane {lane} calls it and is not in the mask", here.name());
        fail(launch, LAUNCH_FAILED, &text, here);
    }
    let block = launch.block();
    let state = &mut block.warps[thread / 32];
    let mine = |group: &Group| {
        group.kind == kind && group.mask == mask && group.width == width && group.arrived >> lane & 1 == 0
    };
    let found = state.groups.iter().position(|group| mine(group)).unwrap_or_else(|| {
        let mut group = state.spare.pop().unwrap_or_else(|| Box::new(EMPTY_GROUP));
        (group.kind, group.mask, group.width, group.arrived) = (kind, mask, width, 0);
        state.groups.push(group);
        state.groups.len() - 1
    });
    let group = &mut state.groups[found];
    group.arrived |= 1 << lane;
    (group.values[lane], group.arguments[lane]) = (value, argument);
    (block.threads[thread].wait, block.threads[thread].site) = (Wait::Warp, here);
    launch.complete_group(at, thread / 32, found);
    rejoin(launch);
    // SAFETY: see `access`.
    unsafe { current() }.thread().result
}

unsafe extern "C" fn active_mask(file: *const c_char, line: c_uint) -> c_uint {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    leave_probe(launch);
    let this = launch.thread();
    (this.wait, this.site) = (Wait::ActiveMask, site(c"__activemask".as_ptr(), file, line));
    suspend(launch);
    // SAFETY: see `access`.
    unsafe { current() }.thread().result as c_uint
}

unsafe extern "C" fn shared_static(
    slot: *mut c_uint,
    bytes: c_ulong,
    alignment: c_ulong,
    name: *const c_char,
    file: *const c_char,
    line: c_uint,
) -> *mut c_void {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    leave_probe(launch);
    let known = launch.slots.get(&(slot as usize)).copied();
    let variable = known.unwrap_or_else(|| {
        let added = launch.layout.add(text(name), bytes as usize, alignment as usize);
        let variable = match added {
            Ok(variable) => variable,
            Err(why) => fail(launch, OUT_OF_RESOURCES, &why, site(name, file, line)),
        };
        launch.slots.insert(slot as usize, variable);
        variable
    });
    let at = launch.block().slot;
    let filled = &mut launch.block().filled;
    if filled.len() <= variable {
        filled.resize(variable + 1, false);
    }
    if !std::mem::replace(&mut filled[variable], true) {
        launch.arenas.refresh(at, &launch.layout.variables[variable]);
    }
    (launch.arenas.start(at) + launch.layout.variables[variable].offset) as *mut c_void
}

unsafe extern "C" fn shared_dynamic() -> *mut c_void {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    leave_probe(launch);
    let slot = launch.block().slot;
    launch.arenas.start(slot) as *mut c_void
}

unsafe extern "C" fn shared_dynamic_bytes() -> c_uint {
    // SAFETY: see `access`.
    unsafe { current() }.order.dynamic_bytes
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
    let what = format!("assertion `{}` failed in `{}`", text(expression), text(function));
    fail(launch, ASSERT, &what, site(c"assert".as_ptr(), file, line))
}

unsafe extern "C" fn undefined(
    what: *const c_char,
    file: *const c_char,
    line: c_uint,
    _column: c_uint,
    address: *const c_void,
) -> ! {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    leave_probe(launch);
    let at = if address.is_null() { String::new() } else { format!(" at {address:p}") };
    let what = text(what);
    // An index that leaves its array is an access out of bounds, found before it happens.
    let code = if what.contains("out of bounds") || what.contains("null pointer") {
        ILLEGAL_ADDRESS
    } else {
        ILLEGAL_INSTRUCTION
    };
    fail(launch, code, &format!("undefined behaviour: {what}{at}"), site(null_mut(), file, line))
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
    let what = format!(
        "{does} a {} at {address:p}, which is not a multiple of {alignment}: a misaligned access",
        text(type_name)
    );
    fail(launch, MISALIGNED, &what, site(null_mut(), file, line))
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
