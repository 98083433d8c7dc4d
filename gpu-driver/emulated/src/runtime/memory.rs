//! Accesses: of device memory, of shared memory, by atomic operations, and the fences between them.

use std::ffi::{c_char, c_uint, c_ulong, c_void};

use super::{fail, leave_probe, site, suspend};
use crate::{
    abi::access as kind,
    block::{Site, text},
    code::{ILLEGAL_ADDRESS, LAUNCH_FAILED, MISALIGNED, OUT_OF_RESOURCES},
    kinds::Schedule,
    launch::{Launch, current, report},
    shared::{Accessor, Trouble, Variable},
};

pub(super) unsafe extern "C" fn access(address: *const c_void, bytes: c_ulong, kind: c_uint, pc: *const c_void) {
    // SAFETY: called by a kernel of the current launch; so in every function below.
    let launch = unsafe { current() };
    leave_probe(launch);
    let (address, bytes) = (address as usize, bytes as usize);
    if kind == 0 && launch.is_built_in(address) {
        return;
    }
    if kind & kind::VOLATILE != 0 {
        give_way(launch);
    } else if launch.schedule == Schedule::Random {
        tear(launch, kind, pc);
    }
    // Other threads may have run since.
    // SAFETY: see above.
    let launch = unsafe { current() };
    check(launch, address, bytes, kind, Site::of_pc(pc as usize));
}

/// Now and then another thread runs between a read and the next write: an update that is not atomic then gets lost.
fn tear(launch: &mut Launch, kind: u32, pc: *const c_void) {
    const ONE_IN: u64 = 64;
    if kind & kind::WRITE == 0 {
        launch.reads_left -= 1;
        if launch.reads_left == 0 {
            launch.torn = true;
            launch.reads_left = 1 + launch.random.below(2 * ONE_IN - 1);
        }
    } else if std::mem::take(&mut launch.torn) {
        launch.thread().site = Site::of_pc(pc as usize);
        let thread = launch.at.1;
        launch.leave_block = launch.interleaves;
        launch.block().later.insert(thread);
        suspend(launch);
    }
}

/// Refuses an access of memory that the thread may not touch.
#[inline]
pub(super) fn check(launch: &mut Launch, address: usize, bytes: usize, kind: u32, site: Site) {
    if bytes > 0 && !launch.allowed.holds(address, bytes) {
        search(launch, address, bytes, kind, site);
    }
}

/// Refuses an access outside of the ranges that are known, unless it may be.
fn search(launch: &mut Launch, address: usize, bytes: usize, kind: u32, site: Site) {
    // Shared memory comes before device memory, whose refusal is long; no address is of two kinds.
    if let Some(slot) = launch.arenas.slot_of(address) {
        return check_shared(launch, slot, address, bytes, kind, site);
    }
    let refused = match launch.memory().check(address, bytes, launch.context) {
        Ok(_) if launch.order.overlaps && !launch.thread().waited_for_stream => {
            let text = format!(
                "{} memory before it waited for its stream (gpu::grid_dependency_wait)",
                report::verb(kind, bytes)
            );
            fail(launch, LAUNCH_FAILED, &text, site);
        }
        // A launch that overlaps is asked each time whether its thread has waited.
        Ok(_) if launch.order.overlaps => return,
        Ok(allocation) => return launch.allowed.add(allocation),
        Err(refused) => refused,
    };
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
            let text = format!(
                "{does} {name}, which no thread of the block has written (shared memory read before written; a __syncthreads() may be missing)"
            );
            fail(launch, LAUNCH_FAILED, &text, site);
        }
        Err(Trouble::Race { other, wrote, pc }) => {
            let text = report::race(launch, offset, &report::verb(kind, bytes), other, wrote, pc);
            fail(launch, LAUNCH_FAILED, &text, site);
        }
    }
}

pub(super) unsafe extern "C" fn atomic(address: *const c_void, bytes: c_ulong, file: *const c_char, line: c_uint) {
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

pub(super) unsafe extern "C" fn fence(_kind: c_uint, _file: *const c_char, _line: c_uint) {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    leave_probe(launch);
    synchronizes(launch);
    give_way(launch);
}

/// Lets other threads run, as the order says, at a point where they may see this one's work.
fn give_way(launch: &mut Launch) {
    let interleaved = launch.interleaves;
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

pub(super) unsafe extern "C" fn shared_static(
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

pub(super) unsafe extern "C" fn shared_dynamic() -> *mut c_void {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    leave_probe(launch);
    let slot = launch.block().slot;
    launch.arenas.start(slot) as *mut c_void
}

pub(super) unsafe extern "C" fn shared_dynamic_bytes() -> c_uint {
    // SAFETY: see `access`.
    unsafe { current() }.order.dynamic_bytes
}
