//! The order in which blocks and their threads run, and the turns that they get.

use std::{ptr::null_mut, sync::atomic::Ordering, time::Instant};

use corosensei::{Coroutine, CoroutineResult};

use super::{
    CURRENT, Launch, MAX_RESIDENT, current,
    report::{self, Fault},
};
use crate::{
    block::{Block, Ending, Fiber, Site, Wait},
    code::{COOPERATIVE_LAUNCH_TOO_LARGE, LAUNCH_FAILED, LAUNCH_TIMEOUT, OUT_OF_MEMORY},
    kinds::Schedule,
    random::Affine,
    signal,
    stack::ThreadStack,
};

/// Each stack is two mappings, of which Linux allows 65,530.
const MAX_RESIDENT_THREADS: usize = 16 * 1024;

/// Blocks that run side by side from the start where they are interleaved.
const INTERLEAVED: usize = 4;

/// Basic blocks that a thread runs before another may; fewer where the order is random.
const BUDGET: i64 = 5_000;
const RANDOM_BUDGET: u64 = 5_000;

/// Every so many interruptions the clock is read.
const TIME_CHECK: u64 = 16;

/// The outcome of a block's turn.
enum Turn {
    Ended,
    Left,
    /// Its threads only spin.
    Stalled,
}

impl Launch {
    pub(super) fn all_blocks(&mut self, visits: Affine) -> Result<(), Fault> {
        let total = self.order.blocks();
        let most = MAX_RESIDENT.min(MAX_RESIDENT_THREADS / self.order.threads().max(1)).max(1);
        if self.order.cooperative && total > most as u64 {
            return Err(Fault::new(
                COOPERATIVE_LAUNCH_TOO_LARGE,
                format!("a cooperative launch of {total} blocks, of which {most} fit"),
            ));
        }
        let at_first = match self.interleaves {
            _ if self.order.cooperative => most,
            true => INTERLEAVED.min(most),
            false => 1,
        };
        let (mut admitted, mut wanted, mut stalls, mut turn) = (0, at_first, 0, 0);
        loop {
            while self.resident.len() < wanted && admitted < total {
                self.admit(visits.at(admitted));
                admitted += 1;
            }
            if self.resident.is_empty() {
                return Ok(());
            }
            turn = match self.schedule {
                Schedule::Random => self.random.below(self.resident.len() as u64) as usize,
                _ => (turn + 1) % self.resident.len(),
            };
            match self.take_turn(turn)? {
                Turn::Ended => {
                    let block = self.resident.swap_remove(turn);
                    self.spare.push(block);
                    (wanted, stalls) = (at_first.max(self.resident.len()), 0);
                }
                Turn::Left => {}
                Turn::Stalled => {
                    stalls += 1;
                    if stalls > self.resident.len() && wanted < most {
                        (wanted, stalls) = ((2 * self.resident.len()).min(most), 0);
                    }
                }
            }
        }
    }

    /// Makes the `at`-th block resident.
    pub(super) fn admit(&mut self, at: u64) {
        let used: Vec<usize> = self.resident.iter().map(|block| block.slot).collect();
        let free = (0..MAX_RESIDENT).find(|slot| !used.contains(slot)).unwrap_or(0);
        let mut block = self.spare.pop().unwrap_or_else(|| Block::new(free));
        block.slot = free;
        self.epochs += 1;
        block.restart(self.order.block_index(at), self.order.block, self.epochs);
        if self.layout.variables[0].bytes > 0 {
            self.arenas.refresh(free, &self.layout.variables[0]);
        }
        self.resident.push(block);
    }

    /// Runs threads of one block until it ends, stalls, or gives way.
    fn take_turn(&mut self, at: usize) -> Result<Turn, Fault> {
        self.leave_block = false;
        // SAFETY: the module's variable.
        unsafe { *self.order.image.module().block = self.resident[at].index };
        let mut next = 0;
        loop {
            let block = &mut self.resident[at];
            if block.ready.is_empty() {
                if block.alive == 0 {
                    return Ok(Turn::Ended);
                }
                if block.later.is_empty() {
                    if !self.release_active_masks(at) {
                        return Err(self.deadlock(at));
                    }
                    continue;
                }
                block.ready = std::mem::take(&mut block.later);
            }
            let chosen = match self.schedule {
                Schedule::Ascending => block.ready.first(),
                Schedule::Descending => block.ready.last(),
                Schedule::Random => {
                    let count = block.threads.len() as u64;
                    block.ready.from(self.random.below(count) as usize)
                }
            };
            let thread = chosen.unwrap_or(next);
            next = thread;
            self.resume(at, thread);
            if self.fault.is_some() {
                return Err(self.fault.take().unwrap_or_else(|| Fault::new(LAUNCH_FAILED, String::new())));
            }
            let block = &mut self.resident[at];
            if block.interruptions > 0 && block.interruptions > block.ready.len() + block.later.len() {
                block.interruptions = 0;
                if self.release_active_masks(at) {
                    continue;
                }
                return Ok(Turn::Stalled);
            }
            if self.leave_block {
                return Ok(Turn::Left);
            }
        }
    }

    #[inline(always)] // See `runtime::suspend`.
    pub(super) fn resume(&mut self, at: usize, thread: usize) {
        self.at = (at, thread);
        self.resident[at].ready.remove(thread);
        if self.resident[at].threads[thread].fiber.is_none() {
            self.start(at, thread);
            if self.fault.is_some() {
                return;
            }
        }
        let module = self.order.image.module();
        // A thread keeps the rest of its steps while it waits: also one that polls an atomic uses them up.
        let budget = match (self.resident[at].threads[thread].budget, self.schedule) {
            (left @ 1.., _) => left,
            (_, Schedule::Random) => 1 + self.random.below(RANDOM_BUDGET) as i64,
            _ => BUDGET,
        };
        let (index, steps) = (self.resident[at].threads[thread].index, module.budget);
        // SAFETY: the module's variables, read by the thread that is resumed.
        unsafe { (*module.thread, *steps) = (index, budget) };
        let Some(fiber) = self.resident[at].threads[thread].fiber.as_mut() else { return };
        let fiber: *mut Fiber = fiber;
        self.allowed.set_stack(&self.resident[at].threads[thread].stack);
        self.torn = false;
        signal::watch(fiber);
        // The callbacks' reference comes from this one, which is not used until they are done.
        CURRENT.store(self, Ordering::Relaxed);
        // SAFETY: blocks and their threads stay where they are while one of them runs.
        let outcome = unsafe { (*fiber).resume(()) };
        signal::watch(null_mut());
        // SAFETY: the module's variable, as the thread left it.
        self.resident[at].threads[thread].budget = unsafe { *steps };
        if let CoroutineResult::Return(ending) = outcome {
            if let Some(fiber) = self.resident[at].threads[thread].fiber.take() {
                self.stacks.push(fiber.into_stack());
            }
            self.ended(at, thread, ending);
        }
    }

    #[inline(never)]
    fn start(&mut self, at: usize, thread: usize) {
        self.made_stacks += usize::from(self.stacks.is_empty());
        let Some(stack) = self.stacks.pop().or_else(|| ThreadStack::new(self.made_stacks)) else {
            self.fault = Some(Fault::new(OUT_OF_MEMORY, "no memory for the threads' stacks".to_owned()));
            return;
        };
        let run = self.order.image.kernels()[self.order.kernel].run;
        let arguments = self.arguments.as_mut_ptr();
        let this = &mut self.resident[at].threads[thread];
        this.stack = stack.addresses();
        let fiber: Fiber = Coroutine::with_stack(stack, move |yielder, ()| {
            // SAFETY: a callback-like use: the launch is current, and the reference is not kept.
            unsafe { current().thread().yielder = yielder };
            // SAFETY: the arguments are those that the kernel's own table asks for.
            unsafe { run(arguments) };
            Ending::Finished
        });
        this.fiber = Some(fiber);
    }

    #[inline(never)]
    fn ended(&mut self, at: usize, thread: usize, ending: Ending) {
        if ending == Ending::Signal {
            self.fault = Some(report::signal(self));
            return;
        }
        self.progress();
        let block = &mut self.resident[at];
        let this = &mut block.threads[thread];
        (this.wait, this.site) = (Wait::Ended, Site::NONE);
        let cycles = this.cycles;
        block.alive -= 1;
        block.interruptions = 0;
        block.warps[thread / 32].ended |= 1 << (thread % 32);
        self.longest_wait = self.longest_wait.max(cycles);
        if let Some(barrier) = self.resident[at].barrier {
            self.fault = Some(self.missing_thread(&barrier));
            return;
        }
        // Operations that waited for this lane alone can go on.
        self.complete_groups(at, thread / 32);
    }

    pub(crate) fn progress(&mut self) {
        self.progressed = true;
    }

    /// A thread's step budget is used up: another may run, or time is up.
    pub(crate) fn interrupted(&mut self) {
        self.interruptions += 1;
        if std::mem::take(&mut self.progressed) {
            self.last_progress = Instant::now();
        } else if self.interruptions.is_multiple_of(TIME_CHECK)
            && let Some(timeout) = self.timeout
            && self.last_progress.elapsed() > timeout
        {
            let seconds = timeout.as_secs_f64();
            let text = format!("no thread has ended for {seconds} s; {}", report::waiting(self));
            let site = self.thread().site;
            self.fault = Some(self.fault_here(LAUNCH_TIMEOUT, &text, site));
        }
        let thread = self.at.1;
        let block = self.block();
        block.threads[thread].budget = 0;
        // SAFETY: the module's variable: the steps are used up, also where a wait and not their count ends the turn.
        unsafe { *self.order.image.module().budget = 0 };
        let block = self.block();
        block.interruptions += 1;
        block.later.insert(thread);
    }
}
