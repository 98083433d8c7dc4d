//! Runs one launch: blocks and their threads, each thread a coroutine, all on the calling thread.
//!
//! A thread runs until it waits (barrier, warp-wide operation), until its step budget is used up, or, where blocks are
//! interleaved, until an atomic operation or a fence. Which one runs next is the [`Schedule`]'s choice. A block that only
//! spins lets further blocks come in beside it, as they would be resident on a real device; a launch without any progress
//! ends at the timeout with a report of where every warp is.

use std::{
    collections::HashMap,
    ffi::c_void,
    ops::Range,
    ptr::{NonNull, null_mut},
    sync::{
        Arc,
        atomic::{AtomicPtr, Ordering},
    },
    time::{Duration, Instant},
};

use corosensei::{Coroutine, CoroutineResult};

use super::{
    Blocks, Schedule,
    abi::Index,
    block::{Barrier, Block, Ending, Fiber, Site, Thread, Wait},
    image::Image,
    memory::Memory,
    random::{Affine, Random},
    report::{self, Fault},
    settings::Settings,
    shared::{Arenas, SharedLayout},
    signal,
    stack::ThreadStack,
    state::LoadedModule,
};

/// Most blocks that run side by side, and most threads.
pub(super) const MAX_RESIDENT: usize = 264;
/// Each stack is two mappings, of which Linux allows 65,530.
const MAX_RESIDENT_THREADS: usize = 16 * 1024;
/// Blocks that run side by side from the start where they are interleaved.
const INTERLEAVED: usize = 4;
/// Basic blocks that a thread runs before another may; fewer where the order is random.
const BUDGET: i64 = 5_000;
const RANDOM_BUDGET: u64 = 5_000;
/// Every so many interruptions the clock is read.
const TIME_CHECK: u64 = 16;
const LAUNCH_TIMEOUT: i32 = 702;
const LAUNCH_FAILED: i32 = 719;

/// A launch as it stands in a queue: its arguments are copied.
#[derive(Clone)]
pub(super) struct Order {
    pub(super) image: Arc<Image>,
    /// Handle of the module, which must be loaded when the launch runs; 0 for a launch that is asked about only.
    pub(super) module: usize,
    pub(super) kernel: usize,
    pub(super) name: String,
    pub(super) grid: Index,
    pub(super) block: Index,
    pub(super) dynamic_bytes: u32,
    /// All blocks must be resident at once.
    pub(super) cooperative: bool,
    /// It may start while earlier work of the stream runs, so its threads wait for that themselves before they touch memory.
    pub(super) overlaps: bool,
    /// The kernel was allowed more dynamic shared memory than every kernel has.
    pub(super) raised: bool,
    /// The arguments' values, each at a multiple of 16 bytes.
    pub(super) arguments: Vec<u128>,
    /// The start of each value, in units of 16 bytes.
    pub(super) places: Vec<usize>,
    /// Linear numbers of the blocks to run; empty for all.
    pub(super) chosen: Vec<Range<u64>>,
}

/// The state outside of a launch that it needs.
pub(super) struct Surroundings<'a> {
    pub(super) memory: &'a Memory,
    pub(super) modules: &'a HashMap<usize, LoadedModule>,
    /// Host memory that was pinned after it was allocated.
    pub(super) registered: &'a [Range<usize>],
    pub(super) context: usize,
    pub(super) settings: &'a Settings,
    pub(super) random: &'a mut Random,
    pub(super) workshop: &'a mut Workshop,
    /// The device's clock at the start, in cycles.
    pub(super) cycles: u64,
}

/// Resources that launches reuse.
#[derive(Default)]
pub(super) struct Workshop {
    stacks: Vec<ThreadStack>,
    made_stacks: usize,
    blocks: Vec<Block>,
    /// Barrier intervals so far: the blocks' shadows remember their numbers from launch to launch.
    epochs: u32,
    arenas: Option<Arenas>,
}

// SAFETY: between launches no thread of a block has a stack or a coroutine, only memory to reuse.
unsafe impl Send for Workshop {}

/// The launch that runs now; callbacks of modules find it here. Guarded by the driver's lock.
static CURRENT: AtomicPtr<Launch> = AtomicPtr::new(null_mut());

/// The launch that runs on this stack.
///
/// # Safety
/// Called by a kernel's callback only, and the reference is not kept across a suspension.
pub(super) unsafe fn current<'a>() -> &'a mut Launch {
    // SAFETY: set while a launch runs, by the thread that runs it.
    unsafe { &mut *CURRENT.load(Ordering::Relaxed) }
}

pub(super) struct Launch {
    pub(super) order: Order,
    memory: NonNull<Memory>,
    /// The context's modules, whose variables kernels may use, and registered host memory.
    modules: Vec<Arc<Image>>,
    registered: Vec<Range<usize>>,
    pub(super) context: usize,
    pub(super) schedule: Schedule,
    pub(super) blocks: Blocks,
    timeout: Option<Duration>,
    pub(super) sees_accesses: bool,
    pub(super) seed: u64,
    pub(super) random: Random,
    arguments: Vec<*mut c_void>,
    /// The addresses of `threadIdx` and its like.
    built_in: [usize; 4],
    pub(super) resident: Vec<Block>,
    spare: Vec<Block>,
    pub(super) arenas: Arenas,
    pub(super) layout: SharedLayout,
    /// The variable that a module's slot number stands for in this launch.
    pub(super) slots: HashMap<usize, usize>,
    stacks: Vec<ThreadStack>,
    made_stacks: usize,
    /// The block and thread that run.
    pub(super) at: (usize, usize),
    pub(super) fault: Option<Fault>,
    /// Asks to go on with another block.
    pub(super) leave_block: bool,
    pub(super) epochs: u32,
    pub(super) interruptions: u64,
    last_progress: Instant,
    /// A thread has ended, or a barrier opened, since the clock was last read.
    progressed: bool,
    pub(super) cycles: u64,
    pub(super) longest_wait: u64,
    /// In a probe for launch bounds: the bound, once it is found.
    pub(super) probe: Option<Option<u32>>,
}

/// The outcome of a block's turn.
enum Turn {
    Ended,
    Left,
    /// Its threads only spin.
    Stalled,
}

/// Runs a launch to its end; returns the cycles that its longest thread waited by the clock.
pub(super) fn run(order: Order, mut around: Surroundings<'_>) -> Result<u64, Fault> {
    let blocks = order.blocks();
    let visits = match around.settings.schedule {
        Schedule::Ascending => Affine::identity(blocks),
        Schedule::Descending => Affine::reversed(blocks),
        Schedule::Random => Affine::random(blocks, around.random),
    };
    let mut launch = Launch::new(order, &mut around)?;
    let outcome = launch.with_current(|launch| launch.all_blocks(visits));
    *around.random = launch.random.clone();
    let longest = launch.longest_wait;
    launch.give_back(around.workshop);
    outcome.map(|()| longest)
}

/// The largest block that the kernel's `__launch_bounds__` allow, without running its body.
pub(super) fn launch_bound(order: Order, mut around: Surroundings<'_>) -> Option<u32> {
    if order.image.module().kernels_enter == 0 {
        return None;
    }
    let mut launch = Launch::new(order, &mut around).ok()?;
    launch.probe = Some(None);
    launch.with_current(|launch| {
        launch.admit(0);
        launch.resume(0, 0);
    });
    let found = launch.probe.take().flatten();
    launch.give_back(around.workshop);
    found.filter(|&bound| bound > 0)
}

impl Order {
    pub(super) fn threads(&self) -> usize {
        self.block.x as usize * self.block.y as usize * self.block.z as usize
    }

    fn blocks(&self) -> u64 {
        let all = u64::from(self.grid.x) * u64::from(self.grid.y) * u64::from(self.grid.z);
        if self.chosen.is_empty() { all } else { self.chosen_below(all).map(|range| range.end - range.start).sum() }
    }

    fn chosen_below(&self, all: u64) -> impl Iterator<Item = Range<u64>> {
        self.chosen.iter().map(move |range| range.start.min(all)..range.end.min(all)).filter(|range| !range.is_empty())
    }

    /// The index of the `at`-th block that runs.
    fn block_index(&self, mut at: u64) -> Index {
        let (x, y, z) = (u64::from(self.grid.x), u64::from(self.grid.y), u64::from(self.grid.z));
        if !self.chosen.is_empty() {
            for range in self.chosen_below(x * y * z) {
                let length = range.end - range.start;
                if at < length {
                    at += range.start;
                    break;
                }
                at -= length;
            }
        }
        Index { x: (at % x) as u32, y: (at / x % y) as u32, z: (at / x / y) as u32 }
    }
}

impl Launch {
    fn new(order: Order, around: &mut Surroundings<'_>) -> Result<Self, Fault> {
        let Surroundings { memory, modules, registered, context, settings, random, workshop, cycles } = around;
        let (memory, context) = (*memory, *context);
        let arenas = workshop.arenas.take().or_else(|| Arenas::new(MAX_RESIDENT));
        let arenas = arenas.ok_or_else(|| Fault::new(2, "no memory for the shared memory of the blocks".to_owned()))?;
        let layout = SharedLayout::new(order.dynamic_bytes as usize, order.raised);
        if workshop.epochs > u32::MAX / 2 {
            // Before the numbers run out, the shadows that know old ones go.
            (workshop.blocks, workshop.epochs) = (Vec::new(), 0);
        }
        let module = order.image.module();
        let built_in = [module.thread, module.block, module.block_size, module.grid_size];
        let images = modules.values().filter(|module| module.context == context).map(|module| module.image.clone());
        Ok(Self {
            memory: NonNull::from(memory),
            modules: images.collect(),
            registered: registered.to_vec(),
            context,
            schedule: settings.schedule,
            blocks: settings.blocks,
            timeout: settings.timeout,
            sees_accesses: settings.sees_accesses,
            seed: settings.seed,
            random: random.clone(),
            arguments: Vec::new(),
            built_in: built_in.map(|index| index as usize),
            resident: Vec::new(),
            spare: std::mem::take(&mut workshop.blocks),
            arenas,
            layout,
            slots: HashMap::new(),
            stacks: std::mem::take(&mut workshop.stacks),
            made_stacks: workshop.made_stacks,
            at: (0, 0),
            fault: None,
            leave_block: false,
            epochs: workshop.epochs,
            interruptions: 0,
            last_progress: Instant::now(),
            progressed: false,
            cycles: *cycles,
            longest_wait: 0,
            probe: None,
            order,
        })
    }

    /// Ends threads that still run, and keeps the resources that the next launch can use.
    fn give_back(mut self, workshop: &mut Workshop) {
        for block in &mut self.resident {
            for thread in &mut block.threads {
                if let Some(mut fiber) = thread.fiber.take() {
                    // SAFETY: the frames on the stack are the kernel's and our callbacks', none with anything to drop.
                    unsafe { fiber.force_reset() };
                    self.stacks.push(fiber.into_stack());
                }
            }
        }
        self.spare.append(&mut self.resident);
        (workshop.made_stacks, workshop.epochs) = (self.made_stacks, self.epochs);
        (workshop.stacks, workshop.blocks, workshop.arenas) = (self.stacks, self.spare, Some(self.arenas));
    }

    fn with_current<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let base = self.order.arguments.as_mut_ptr();
        // SAFETY: each place lies within the values.
        self.arguments = self.order.places.iter().map(|&at| unsafe { base.add(at) }.cast()).collect();
        let module = self.order.image.module();
        // SAFETY: the module's variables, which no thread reads before it is resumed.
        unsafe { (*module.block_size, *module.grid_size) = (self.order.block, self.order.grid) };
        signal::install();
        let outcome = work(self);
        CURRENT.store(null_mut(), Ordering::Relaxed);
        outcome
    }

    pub(super) fn memory(&self) -> &Memory {
        // SAFETY: borrowed from the caller of `run`, for longer than the launch.
        unsafe { self.memory.as_ref() }
    }

    /// Whether a kernel may access memory outside of all allocations: its modules' variables, and host memory that was registered.
    pub(super) fn allows(&self, address: usize, bytes: usize, writes: bool) -> bool {
        let registered = |range: &Range<usize>| range.contains(&address) && bytes <= range.end - address;
        self.modules.iter().any(|image| image.holds(address, bytes, writes)) || self.registered.iter().any(registered)
    }

    /// Whether the address is that of `threadIdx` or its like.
    pub(super) fn is_built_in(&self, address: usize) -> bool {
        self.built_in.iter().any(|&start| address.wrapping_sub(start) < size_of::<Index>())
    }

    /// Whether the address is that of an argument's value or of the list of them, which a kernel's entry reads.
    pub(super) fn holds_argument(&self, address: usize, bytes: usize) -> bool {
        let lies_in =
            |start: usize, length: usize| address >= start && bytes <= length && address - start <= length - bytes;
        lies_in(self.arguments.as_ptr() as usize, size_of_val(self.arguments.as_slice()))
            || lies_in(self.order.arguments.as_ptr() as usize, size_of_val(self.order.arguments.as_slice()))
    }

    pub(super) fn block(&mut self) -> &mut Block {
        &mut self.resident[self.at.0]
    }

    pub(super) fn thread(&mut self) -> &mut Thread {
        let (block, thread) = self.at;
        &mut self.resident[block].threads[thread]
    }

    fn all_blocks(&mut self, visits: Affine) -> Result<(), Fault> {
        let total = self.order.blocks();
        let most = MAX_RESIDENT.min(MAX_RESIDENT_THREADS / self.order.threads().max(1)).max(1);
        if self.order.cooperative && total > most as u64 {
            return Err(Fault::new(720, format!("a cooperative launch of {total} blocks, of which {most} fit")));
        }
        let at_first = match self.blocks {
            _ if self.order.cooperative => most,
            Blocks::Sequential => 1,
            Blocks::Interleaved => INTERLEAVED.min(most),
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
    fn admit(&mut self, at: u64) {
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
    fn resume(&mut self, at: usize, thread: usize) {
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
            self.fault = Some(Fault::new(2, "no memory for the threads' stacks".to_owned()));
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

    pub(super) fn progress(&mut self) {
        self.progressed = true;
    }

    /// A thread's step budget is used up: another may run, or time is up.
    pub(super) fn interrupted(&mut self) {
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

    fn deadlock(&mut self, at: usize) -> Fault {
        self.at.0 = at;
        let text = format!("deadlock: every thread of the block waits; {}", report::waiting(self));
        let site = self.thread().site;
        self.fault_here(LAUNCH_FAILED, &text, site)
    }

    /// A thread has ended, or has come too late, for a barrier that others wait at.
    pub(super) fn missing_thread(&mut self, barrier: &Barrier) -> Fault {
        let what = barrier.site.name();
        let text = format!("{what} is not reached by every thread of the block; {}", report::waiting(self));
        self.fault_here(LAUNCH_FAILED, &text, barrier.site)
    }

    /// A fault of the current thread, with the line it is at.
    pub(super) fn fault_here(&mut self, code: i32, what: &str, site: Site) -> Fault {
        report::fault(self, code, what, site)
    }

    /// Opens the barrier when all have come.
    pub(super) fn open_barrier(&mut self, at: usize) {
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
    pub(super) fn complete_groups(&mut self, at: usize, warp: usize) {
        let mut next = 0;
        while next < self.resident[at].warps[warp].groups.len() && self.fault.is_none() {
            if !self.complete_group(at, warp, next) {
                next += 1;
            }
        }
    }

    /// Completes one of them if its lanes have come; whether they have.
    pub(super) fn complete_group(&mut self, at: usize, warp: usize, group: usize) -> bool {
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
    fn release_active_masks(&mut self, at: usize) -> bool {
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
