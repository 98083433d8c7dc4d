//! Everything the emulated driver holds, and how queued work runs.
//!
//! Streams are lazy: a call only queues, and work runs when something waits for it, one operation at a time, each from a
//! stream chosen at random among those whose first operation can run. So the order of two streams is any that events and
//! the legacy stream's rule allow, and a missing dependency gives a wrong answer or a fault for some seeds.

use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, HashSet, VecDeque},
    ffi::c_void,
    mem::ManuallyDrop,
    ops::Range,
    sync::{Arc, Mutex},
    time::Instant,
};

use gpu_driver_core::{CudaCode, lock};

use crate::{
    code::{
        CONTEXT_IS_DESTROYED, INVALID_CONTEXT, INVALID_DEVICE, INVALID_HANDLE, LAUNCH_FAILED, NOT_INITIALIZED,
        NOT_PERMITTED, OUT_OF_MEMORY, Outcome,
    },
    graphics::Graphics,
    kinds::{Call, Failure},
    launch::{Fault, Workshop},
    memory::Memory,
    random::Random,
    settings::{Machine, Settings},
    texels::TexelObjects,
    work::{Capture, Graph},
};

mod allocations;
mod objects;
mod queue;
mod run;

pub(crate) use allocations::MEMORY_BYTES;
pub(crate) use objects::{Context, Event, Function, Link, LoadedModule, Pool, Primary, Recorded, Stream};

/// Cycles in a millisecond of the device's clock.
const CYCLES_PER_MS: f64 = 1_980_000.0;

/// All objects and memory of the emulated driver, behind one lock.
pub(crate) struct DriverState {
    pub(crate) machine: Machine,
    pub(crate) memory: Memory,
    workshop: Workshop,
    pub(crate) contexts: HashMap<usize, Context>,
    pub(crate) primary: Vec<Primary>,
    pub(crate) streams: HashMap<usize, Stream>,
    pub(crate) events: HashMap<usize, Event>,
    pub(crate) modules: HashMap<usize, LoadedModule>,
    /// Code and variables of modules that were unloaded while work was queued, which may still lead there.
    unloaded: Vec<LoadedModule>,
    pub(crate) functions: HashMap<usize, Function>,
    pub(crate) pools: HashMap<usize, Pool>,
    pub(crate) default_pools: Vec<usize>,
    pub(crate) captures: HashMap<usize, Capture>,
    pub(crate) graphs: HashMap<usize, Arc<Graph>>,
    pub(crate) executables: HashMap<usize, Arc<Graph>>,
    pub(crate) texels: TexelObjects,
    pub(crate) graphics: Graphics,
    pub(crate) links: HashMap<usize, Link>,
    /// Host memory that was pinned after it was allocated.
    pub(crate) registered: Vec<Range<usize>>,
    /// Starts of allocations of managed memory.
    pub(crate) managed: HashSet<usize>,
    /// Bytes of reserved addresses, by the first.
    pub(crate) reserved: HashMap<usize, usize>,
    /// Bytes of memory that was created for reserved addresses, by handle.
    pub(crate) created: HashMap<usize, usize>,
    /// Bytes of the parts of reserved addresses that have memory, by the first address.
    pub(crate) mapped: HashMap<usize, usize>,
    next_handle: usize,
    started: Instant,
    process: u32,
    pub(crate) initialised: bool,
}

static STATE: Mutex<Option<DriverState>> = Mutex::new(None);

thread_local! {
    /// The contexts that this thread has pushed, the current one last; 0 for none.
    /// Never destroyed: a buffer in another thread-local variable may be dropped later than this would be.
    static CURRENT: RefCell<ManuallyDrop<Vec<usize>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
    /// A host function that a stream called runs on this thread.
    static IN_HOST_CALL: Cell<bool> = const { Cell::new(false) };
}

/// Runs a call of the driver; its code.
pub(crate) fn call(work: impl FnOnce(&mut DriverState) -> Outcome) -> i32 {
    answer(work).err().unwrap_or(0)
}

/// Runs something with the driver's state.
pub(crate) fn answer<T>(work: impl FnOnce(&mut DriverState) -> Outcome<T>) -> Outcome<T> {
    if IN_HOST_CALL.get() {
        return Err(NOT_PERMITTED);
    }
    // Before the lock, which a thread of the parent may have held.
    if gpu_driver_core::fork::is_child() {
        return Err(NOT_INITIALIZED);
    }
    let mut state = lock(&STATE);
    if state.is_none() {
        *state = DriverState::new();
    }
    let state = state.as_mut().ok_or(OUT_OF_MEMORY)?;
    // The child of a fork has the parent's memory and none of its meaning, as with a real driver.
    if state.process != std::process::id() {
        return Err(NOT_INITIALIZED);
    }
    work(state)
}

/// The thread's stack of contexts.
pub(crate) fn with_stack<T>(work: impl FnOnce(&mut Vec<usize>) -> T) -> T {
    CURRENT.with_borrow_mut(|stack| work(stack))
}

impl DriverState {
    fn new() -> Option<Self> {
        let machine = Machine::from_environment().ok()?;
        let devices = machine.devices;
        let mut state = Self {
            machine,
            memory: Memory::new()?,
            workshop: Workshop::default(),
            contexts: HashMap::new(),
            primary: vec![Primary::default(); devices],
            streams: HashMap::new(),
            events: HashMap::new(),
            modules: HashMap::new(),
            unloaded: Vec::new(),
            functions: HashMap::new(),
            pools: HashMap::new(),
            default_pools: Vec::new(),
            captures: HashMap::new(),
            graphs: HashMap::new(),
            executables: HashMap::new(),
            texels: TexelObjects::default(),
            graphics: Graphics::default(),
            links: HashMap::new(),
            registered: Vec::new(),
            managed: HashSet::new(),
            reserved: HashMap::new(),
            created: HashMap::new(),
            mapped: HashMap::new(),
            next_handle: 0,
            started: Instant::now(),
            process: std::process::id(),
            initialised: false,
        };
        for device in 0..devices {
            let pool = state.handle();
            state.pools.insert(pool, Pool { device, ..Pool::default() });
            state.default_pools.push(pool);
        }
        Some(state)
    }

    /// A number that was no handle before. Handles are never used again, so a stale one is known.
    pub(crate) fn handle(&mut self) -> usize {
        self.next_handle += 1;
        0xe000_0000 + self.next_handle * 16
    }

    pub(crate) fn device(&self, device: i32) -> Outcome<usize> {
        usize::try_from(device).ok().filter(|&device| device < self.machine.devices).ok_or(INVALID_DEVICE)
    }

    /// The current context, if it is there and not lost.
    pub(crate) fn current(&self) -> Outcome<usize> {
        let context =
            with_stack(|stack| stack.last().copied()).filter(|&context| context != 0).ok_or(INVALID_CONTEXT)?;
        self.usable(context)
    }

    /// The context, unless it is gone or lost.
    pub(crate) fn usable(&self, context: usize) -> Outcome<usize> {
        let state = self.contexts.get(&context).ok_or(CONTEXT_IS_DESTROYED)?;
        state.lost.as_ref().map_or(Ok(context), |fault| Err(fault.code))
    }

    pub(crate) fn context(&mut self, context: usize) -> Outcome<&mut Context> {
        self.contexts.get_mut(&context).ok_or(CONTEXT_IS_DESTROYED)
    }

    pub(crate) fn create_context(&mut self, device: usize, settings: Settings, flags: u32) -> usize {
        let (context, null_stream) = (self.handle(), self.handle());
        let random = Random::new(settings.seed);
        let stream =
            Stream { context, flags: 0, priority: 0, queue: VecDeque::new(), capture: None, is_destroyed: false };
        self.streams.insert(null_stream, stream);
        let made = Context {
            device,
            null_stream,
            lost: None,
            settings,
            random,
            used: 0,
            calls: HashMap::new(),
            chosen_blocks: Vec::new(),
            cycles: 0,
            flags,
        };
        self.contexts.insert(context, made);
        context
    }

    /// Ends a context and all that belongs to it.
    pub(crate) fn destroy_context(&mut self, context: usize) {
        if self.usable(context).is_ok() {
            // A failure here has nobody to hear of it: the caller gets the context's end, as from a real driver.
            let _ = self.drain(context);
        }
        self.forget_work(context);
        let of_context = |address: &usize| self.memory.find(*address).is_some_and(|found| found.context == context);
        let reserved: Vec<_> = self.reserved.keys().copied().filter(of_context).collect();
        for start in reserved {
            let all = start..start + self.reserved.remove(&start).unwrap_or_default();
            self.mapped.retain(|at, _| !all.contains(at));
            self.memory.set_accessible(all, false);
        }
        for (bytes, pool) in self.memory.release_all(context) {
            self.uncount(context, bytes, pool);
        }
        self.pools.retain(|_, pool| pool.context != context);
        self.streams.retain(|_, stream| stream.context != context);
        self.events.retain(|_, event| event.context != context);
        self.modules.retain(|_, module| module.context != context);
        self.unloaded.retain(|module| module.context != context);
        self.functions.retain(|_, function| function.context != context);
        self.texels.forget_context(context);
        self.graphics.forget_context(context);
        self.links.retain(|_, link| link.context != context);
        self.contexts.remove(&context);
    }

    /// Takes a module out of the context.
    pub(crate) fn unload(&mut self, handle: usize) {
        self.functions.retain(|_, function| function.module != handle);
        let is_busy =
            |context| self.streams.values().any(|stream| stream.context == context && !stream.queue.is_empty());
        self.unloaded.retain(|module| is_busy(module.context));
        self.unloaded.extend(self.modules.remove(&handle));
    }

    /// Counts a call, and fails it where that was asked for.
    pub(crate) fn count(&mut self, context: usize, call: Call) -> Outcome {
        let state = self.context(context)?;
        let calls = state.calls.entry(call).or_default();
        *calls += 1;
        let now = *calls;
        let hit = |f: &&Failure| f.call == call && (f.at == now || (f.and_later && f.at < now));
        let Some(code) = state.settings.failures.iter().find(hit).map(|failure| failure.code) else { return Ok(()) };
        if code.is_fatal() {
            self.lose(context, Fault::new(code.0, format!("asked for: call {now} of kind {call:?} fails")));
        }
        Err(code.0)
    }

    /// The context is lost: its work is forgotten, and all that waits for it goes on.
    fn lose(&mut self, context: usize, mut fault: Fault) {
        if !CudaCode(fault.code).is_fatal() {
            // Any fault of a launch ends the context.
            fault.code = LAUNCH_FAILED;
        }
        if let Some(state) = self.contexts.get_mut(&context) {
            state.lost.get_or_insert(fault);
        }
        self.forget_work(context);
    }

    /// The stream behind a handle: null and 1 and 2 are the current context's legacy stream.
    pub(crate) fn stream(&self, handle: *mut c_void) -> Outcome<usize> {
        let handle = handle as usize;
        if handle <= 2 {
            let context = self.current()?;
            return self.contexts.get(&context).map(|context| context.null_stream).ok_or(INVALID_CONTEXT);
        }
        let stream = self.streams.get(&handle).filter(|stream| !stream.is_destroyed).ok_or(INVALID_HANDLE)?;
        self.usable(stream.context)?;
        Ok(handle)
    }

    pub(crate) fn stream_state(&mut self, stream: usize) -> Outcome<&mut Stream> {
        self.streams.get_mut(&stream).ok_or(INVALID_HANDLE)
    }

    /// The device's time: real time, and the time that its kernels waited by their clock.
    pub(crate) fn now_ms(&self, context: usize) -> f64 {
        let waited = self.contexts.get(&context).map_or(0, |context| context.cycles);
        self.started.elapsed().as_secs_f64() * 1e3 + waited as f64 / CYCLES_PER_MS
    }
}
