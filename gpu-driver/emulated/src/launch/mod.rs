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

use crate::{
    abi::Index,
    block::{Block, Site, Thread},
    code::OUT_OF_MEMORY,
    image::Image,
    kinds::Schedule,
    memory::Memory,
    random::{Affine, Random},
    settings::Settings,
    shared::{Arenas, SharedLayout},
    signal,
    stack::ThreadStack,
    texels::TexelObjects,
};

mod allowed;
mod order;
pub(crate) mod report;
mod schedule;
mod waits;

pub(crate) use allowed::Allowed;
use allowed::lies_in;
pub(crate) use order::{Order, copy_arguments, parameter_bytes, zero_arguments};
pub(crate) use report::Fault;

/// Most blocks that run side by side.
pub(crate) const MAX_RESIDENT: usize = 264;

/// The state outside of a launch that it needs.
pub(crate) struct Surroundings<'a> {
    pub(crate) memory: &'a Memory,
    /// The context's modules, whose variables kernels may use.
    pub(crate) images: Vec<Arc<Image>>,
    /// Host memory that was pinned after it was allocated.
    pub(crate) registered: &'a [Range<usize>],
    pub(crate) texels: &'a TexelObjects,
    pub(crate) context: usize,
    pub(crate) settings: &'a Settings,
    pub(crate) random: &'a mut Random,
    pub(crate) workshop: &'a mut Workshop,
    /// The device's clock at the start, in cycles.
    pub(crate) cycles: u64,
}

/// Resources that launches reuse.
#[derive(Default)]
pub(crate) struct Workshop {
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
pub(crate) unsafe fn current<'a>() -> &'a mut Launch {
    // SAFETY: set while a launch runs, by the thread that runs it.
    unsafe { &mut *CURRENT.load(Ordering::Relaxed) }
}

pub(crate) struct Launch {
    pub(crate) order: Order,
    memory: NonNull<Memory>,
    texels: NonNull<TexelObjects>,
    /// The context's modules, whose variables kernels may use, and registered host memory.
    modules: Vec<Arc<Image>>,
    registered: Vec<Range<usize>>,
    pub(crate) context: usize,
    pub(crate) schedule: Schedule,
    pub(crate) interleaves: bool,
    timeout: Option<Duration>,
    pub(crate) sees_accesses: bool,
    pub(crate) seed: u64,
    pub(crate) random: Random,
    arguments: Vec<*mut c_void>,
    /// The addresses of `threadIdx` and its like.
    built_in: [usize; 4],
    /// From the first of them to the end of the last.
    all_built_in: Range<usize>,
    pub(crate) allowed: Allowed,
    /// The thread that runs has read, and another one runs before its next write.
    pub(crate) torn: bool,
    /// Reads until `torn` is set.
    pub(crate) reads_left: u64,
    pub(crate) resident: Vec<Block>,
    spare: Vec<Block>,
    pub(crate) arenas: Arenas,
    pub(crate) layout: SharedLayout,
    /// The variable that a module's slot number stands for in this launch.
    pub(crate) slots: HashMap<usize, usize>,
    stacks: Vec<ThreadStack>,
    made_stacks: usize,
    /// The block and thread that run.
    pub(crate) at: (usize, usize),
    pub(crate) fault: Option<Fault>,
    /// Asks to go on with another block.
    pub(crate) leave_block: bool,
    pub(crate) epochs: u32,
    pub(crate) interruptions: u64,
    last_progress: Instant,
    /// A thread has ended, or a barrier opened, since the clock was last read.
    progressed: bool,
    pub(crate) cycles: u64,
    pub(crate) longest_wait: u64,
    /// In a probe for launch bounds: the bound, once it is found.
    pub(crate) probe: Option<Option<u32>>,
}

/// Runs a launch to its end; returns the cycles that its longest thread waited by the clock.
pub(crate) fn run(order: Order, mut around: Surroundings<'_>) -> Result<u64, Fault> {
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
pub(crate) fn launch_bound(order: Order, mut around: Surroundings<'_>) -> Option<u32> {
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

impl Launch {
    fn new(order: Order, around: &mut Surroundings<'_>) -> Result<Self, Fault> {
        let Surroundings { memory, images, registered, texels, context, settings, random, workshop, cycles } = around;
        let (memory, context) = (*memory, *context);
        let mut random = random.clone();
        let interleaves = settings.interleaves(&mut random);
        let arenas = workshop.arenas.take().or_else(|| Arenas::new(MAX_RESIDENT));
        let arenas = arenas
            .ok_or_else(|| Fault::new(OUT_OF_MEMORY, "no memory for the shared memory of the blocks".to_owned()))?;
        let layout = SharedLayout::new(order.dynamic_bytes as usize, order.raised);
        if workshop.epochs > u32::MAX / 2 {
            // Before the numbers run out, the shadows that know old ones go.
            (workshop.blocks, workshop.epochs) = (Vec::new(), 0);
        }
        let module = order.image.module();
        let built_in = [module.thread, module.block, module.block_size, module.grid_size].map(|index| index as usize);
        let first = built_in.into_iter().min().unwrap_or_default();
        let end = built_in.into_iter().max().unwrap_or_default() + size_of::<Index>();
        Ok(Self {
            memory: NonNull::from(memory),
            texels: NonNull::from(*texels),
            modules: std::mem::take(images),
            registered: registered.to_vec(),
            context,
            schedule: settings.schedule,
            interleaves,
            timeout: settings.timeout,
            sees_accesses: settings.sees_accesses,
            seed: settings.seed,
            random,
            arguments: Vec::new(),
            built_in,
            all_built_in: first..end,
            allowed: Allowed::new(),
            torn: false,
            reads_left: 1,
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

    pub(crate) fn memory(&self) -> &Memory {
        // SAFETY: borrowed from the caller of `run`, for longer than the launch.
        unsafe { self.memory.as_ref() }
    }

    pub(crate) fn texels(&self) -> &TexelObjects {
        // SAFETY: as above.
        unsafe { self.texels.as_ref() }
    }

    /// Whether a kernel may access memory outside of all allocations: its modules' variables, and host memory that was registered.
    pub(crate) fn allows(&self, address: usize, bytes: usize, writes: bool) -> bool {
        let is_registered = || self.registered.iter().any(|range| lies_in(range, address, bytes));
        self.modules.iter().any(|image| image.holds(address, bytes, writes)) || is_registered()
    }

    /// Whether the address is that of `threadIdx` or its like.
    pub(crate) fn is_built_in(&self, address: usize) -> bool {
        let is_in = |&start: &usize| address.wrapping_sub(start) < size_of::<Index>();
        self.all_built_in.contains(&address) && self.built_in.iter().any(is_in)
    }

    /// Whether the address is that of an argument's value or of the list of them, which a kernel's entry reads.
    pub(crate) fn holds_argument(&self, address: usize, bytes: usize) -> bool {
        let is_in = |start: usize, length: usize| lies_in(&(start..start + length), address, bytes);
        is_in(self.arguments.as_ptr() as usize, size_of_val(self.arguments.as_slice()))
            || is_in(self.order.arguments.as_ptr() as usize, size_of_val(self.order.arguments.as_slice()))
    }

    pub(crate) fn block(&mut self) -> &mut Block {
        &mut self.resident[self.at.0]
    }

    pub(crate) fn thread(&mut self) -> &mut Thread {
        let (block, thread) = self.at;
        &mut self.resident[block].threads[thread]
    }

    /// A fault of the current thread, with the line it is at.
    pub(crate) fn fault_here(&mut self, code: i32, message: &str, site: Site) -> Fault {
        report::fault(self, code, message, site)
    }
}
