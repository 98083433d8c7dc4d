//! The ends of waits: barriers that open, warp-wide operations that complete, and waits that nothing can end.

use super::{
    Launch,
    report::{self, Fault},
};
use crate::{
    block::{Barrier, Wait},
    code::LAUNCH_FAILED,
};

impl Launch {
    pub(super) fn deadlock(&mut self, at: usize) -> Fault {
        self.at.0 = at;
        let text = format!("deadlock: every thread of the block waits; {}", report::waiting(self));
        let site = self.thread().site;
        self.fault_here(LAUNCH_FAILED, &text, site)
    }

    /// A thread has ended, or has come too late, for a barrier that others wait at.
    pub(crate) fn missing_thread(&mut self, barrier: &Barrier) -> Fault {
        let name = barrier.site.name();
        let text = format!("{name} is not reached by every thread of the block; {}", report::waiting(self));
        self.fault_here(LAUNCH_FAILED, &text, barrier.site)
    }

    /// Opens the barrier when all have come.
    pub(crate) fn open_barrier(&mut self, at: usize) {
        let Some(barrier) = self.resident[at].barrier else { return };
        if barrier.arrived < self.resident[at].alive {
            return;
        }
        self.progress();
        self.epochs += 1;
        let (epochs, result) = (self.epochs, barrier.result());
        let block = &mut self.resident[at];
        (block.barrier, block.epoch, block.interruptions) = (None, epochs, 0);
        for thread in 0..block.threads.len() {
            if block.threads[thread].wait == Wait::Barrier {
                block.wake(thread, result);
            }
        }
    }

    /// Completes the warp-wide operations of a warp that all their lanes have come to.
    pub(crate) fn complete_groups(&mut self, at: usize, warp: usize) {
        let mut next = 0;
        while next < self.resident[at].warps[warp].groups.len() && self.fault.is_none() {
            if !self.complete_group(at, warp, next) {
                next += 1;
            }
        }
    }

    /// Completes one of them if its lanes have come; whether they have.
    pub(crate) fn complete_group(&mut self, at: usize, warp: usize, group: usize) -> bool {
        let block = &mut self.resident[at];
        let state = &mut block.warps[warp];
        let (lanes, ended) = (state.lanes, state.ended);
        let awaited = state.groups[group].mask & lanes & !ended;
        if state.groups[group].arrived & awaited != awaited {
            return false;
        }
        let group = state.groups.swap_remove(group);
        state.clock += 1;
        let clock = state.clock;
        match group.results(ended) {
            Ok(results) => {
                // Writes that one of them has seen by an atomic or a fence, all have seen now.
                let threads = &block.threads[warp * 32..];
                let seen = threads.iter().take(32).enumerate().filter(|(lane, _)| group.arrived >> lane & 1 == 1);
                let seen = seen.map(|(_, thread)| thread.last_sync).max().unwrap_or(0);
                let mut arrived = group.arrived;
                while arrived != 0 {
                    let lane = arrived.trailing_zeros() as usize;
                    arrived &= arrived - 1;
                    let thread = &mut block.threads[warp * 32 + lane];
                    (thread.warp_clock, thread.last_sync) = (clock, seen);
                    block.wake(warp * 32 + lane, results[lane]);
                }
                block.warps[warp].spare.push(group);
            }
            Err((lane, source)) => {
                let site = block.threads[warp * 32 + lane as usize].site;
                let text = format!("lane {lane} reads from lane {source}, which has ended");
                let text = format!("{} with mask {:#010x}: {text}", site.name(), group.mask);
                self.fault = Some(self.fault_here(LAUNCH_FAILED, &text, site));
            }
        }
        true
    }

    /// Answers `__activemask` where nothing else of the block can run: the lanes that wait at one line are together.
    pub(super) fn release_active_masks(&mut self, at: usize) -> bool {
        let block = &mut self.resident[at];
        let first = block.threads.iter().position(|thread| thread.wait == Wait::ActiveMask);
        let Some(first) = first else { return false };
        let (warp, site) = (first / 32, block.threads[first].site);
        let lanes = (warp * 32..(warp * 32 + 32).min(block.threads.len())).filter(|&thread| {
            block.threads[thread].wait == Wait::ActiveMask && block.threads[thread].site.same_line(&site)
        });
        let lanes: Vec<usize> = lanes.collect();
        let mask = lanes.iter().fold(0, |mask, lane| mask | 1u64 << (lane % 32));
        lanes.iter().for_each(|&lane| block.wake(lane, mask));
        true
    }
}
