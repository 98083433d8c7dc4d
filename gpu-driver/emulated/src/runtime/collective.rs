//! Operations of several threads: barriers of a block, and operations of a warp.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong};

use super::{fail, leave_probe, site, stop, suspend};
use crate::{
    block::{Barrier, Group, Wait},
    code::LAUNCH_FAILED,
    kinds::Schedule,
    launch::{Launch, current, report},
};

pub(super) unsafe extern "C" fn barrier(
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

pub(super) unsafe extern "C" fn warp(
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
        let mut group = state.spare.pop().unwrap_or_else(|| Box::new(Group::EMPTY));
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

pub(super) unsafe extern "C" fn active_mask(file: *const c_char, line: c_uint) -> c_uint {
    // SAFETY: see `access`.
    let launch = unsafe { current() };
    leave_probe(launch);
    let this = launch.thread();
    (this.wait, this.site) = (Wait::ActiveMask, site(c"__activemask".as_ptr(), file, line));
    suspend(launch);
    // SAFETY: see `access`.
    unsafe { current() }.thread().result as c_uint
}
