//! Everything the emulated driver holds, and how queued work runs.
//!
//! Streams are lazy: a call only queues, and work runs when something waits for it, one operation at a time, each from a
//! stream chosen at random among those whose first operation can run. So the order of two streams is any that events and
//! the legacy stream's rule allow, and a missing dependency gives a wrong answer or a fault for some seeds.

use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, VecDeque},
    ffi::c_void,
    mem::ManuallyDrop,
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use super::{
    Call, Failure,
    graph::{Capture, Graph, Node},
    image::Image,
    launch::{self, Order, Surroundings, Workshop},
    memory::{Life, Memory, MemoryKind, Refused},
    random::Random,
    report::Fault,
    settings::{Machine, Settings},
};
use crate::{CudaCode, device::lock};

/// A result code as the error of a call.
pub(super) type Outcome<T = ()> = Result<T, i32>;

pub(super) mod code {
    pub(crate) const INVALID_VALUE: i32 = 1;
    pub(crate) const OUT_OF_MEMORY: i32 = 2;
    pub(crate) const NOT_INITIALIZED: i32 = 3;
    pub(crate) const INVALID_DEVICE: i32 = 101;
    pub(crate) const INVALID_CONTEXT: i32 = 201;
    pub(crate) const INVALID_HANDLE: i32 = 400;
    pub(crate) const NOT_FOUND: i32 = 500;
    pub(crate) const NOT_READY: i32 = 600;
    pub(crate) const ILLEGAL_ADDRESS: i32 = 700;
    pub(crate) const OUT_OF_RESOURCES: i32 = 701;
    pub(crate) const CONTEXT_IS_DESTROYED: i32 = 709;
    pub(crate) const NOT_REGISTERED: i32 = 713;
    pub(crate) const LAUNCH_FAILED: i32 = 719;
    pub(crate) const NOT_PERMITTED: i32 = 800;
    pub(crate) const CAPTURE_UNSUPPORTED: i32 = 900;
    pub(crate) const CAPTURE_INVALIDATED: i32 = 901;
    pub(crate) const CAPTURE_UNMATCHED: i32 = 903;
    pub(crate) const CAPTURE_UNJOINED: i32 = 904;
    pub(crate) const CAPTURED_EVENT: i32 = 907;
    pub(crate) const UNKNOWN: i32 = 999;
}
use code::*;

/// Bytes of an emulated device's memory.
pub(super) const MEMORY_BYTES: usize = 80 << 30;
/// Cycles in a millisecond of the device's clock.
const CYCLES_PER_MS: f64 = 1_980_000.0;
/// A queue of this length runs before more is taken in.
const LONGEST_QUEUE: usize = 4096;

/// A place in a stream: recorded by an event, waited for by others.
#[derive(Debug, Default)]
pub(super) struct Mark {
    done: AtomicBool,
    /// Bits of the device's time in milliseconds.
    time: AtomicU64,
}

impl Mark {
    pub(super) fn is_done(&self) -> bool {
        self.done.load(Ordering::Relaxed)
    }

    pub(super) fn ms(&self) -> f64 {
        f64::from_bits(self.time.load(Ordering::Relaxed))
    }

    fn set(&self, ms: f64) {
        self.time.store(ms.to_bits(), Ordering::Relaxed);
        self.done.store(true, Ordering::Relaxed);
    }
}

/// A host function to call.
#[derive(Clone, Copy)]
pub(super) struct HostCall {
    pub(super) function: unsafe extern "C" fn(*mut c_void),
    pub(super) data: *mut c_void,
}

// SAFETY: whoever queues it vouches that any thread may call it.
unsafe impl Send for HostCall {}
// SAFETY: as above.
unsafe impl Sync for HostCall {}

/// Queued work.
#[derive(Clone)]
pub(super) enum Op {
    Launch(Arc<Order>),
    /// Bytes that were read from the host when the copy was queued.
    Write {
        to: usize,
        data: Arc<[u8]>,
    },
    /// Addresses are read when it runs.
    Copy {
        to: usize,
        from: usize,
        bytes: usize,
    },
    Fill {
        at: usize,
        value: u32,
        width: usize,
        count: usize,
    },
    Begin(usize),
    Release(usize),
    Record(Arc<Mark>),
    Wait(Arc<Mark>),
    Call(HostCall),
    Graph(Arc<Graph>),
}

pub(super) struct Stream {
    pub(super) context: usize,
    pub(super) flags: u32,
    pub(super) priority: i32,
    pub(super) queue: VecDeque<Op>,
    /// The capture it is part of, and the nodes that its next one depends on.
    pub(super) capture: Option<(usize, Vec<usize>)>,
    /// Its handle is gone; queued work still runs.
    pub(super) is_destroyed: bool,
}

/// The work that an event was last recorded behind.
#[derive(Clone)]
pub(super) enum Recorded {
    Never,
    Marked(Arc<Mark>),
    Captured(usize, Vec<usize>),
}

pub(super) struct Event {
    pub(super) context: usize,
    pub(super) timed: bool,
    pub(super) recorded: Recorded,
}

pub(super) struct Function {
    pub(super) context: usize,
    pub(super) module: usize,
    pub(super) kernel: usize,
    pub(super) name: String,
    pub(super) most_dynamic_bytes: u32,
    /// The driver was asked for them, so that they come on top of the kernel's other shared memory.
    pub(super) is_raised: bool,
    /// The largest block, once asked for.
    pub(super) most_threads: Option<u32>,
}

pub(super) struct LoadedModule {
    pub(super) context: usize,
    pub(super) image: Arc<Image>,
}

#[derive(Default)]
pub(super) struct Pool {
    pub(super) device: usize,
    /// The context that was current when it was made; it goes with it. 0 for a device's own pool.
    pub(super) context: usize,
    pub(super) used: u64,
    pub(super) reserved: u64,
    pub(super) most_used: u64,
    pub(super) most_reserved: u64,
    /// Bytes up to which it keeps released memory.
    pub(super) threshold: u64,
}

pub(super) struct Context {
    pub(super) device: usize,
    pub(super) null_stream: usize,
    /// The fault that lost the context.
    pub(super) lost: Option<Fault>,
    pub(super) settings: Settings,
    pub(super) random: Random,
    /// Bytes allocated outside pools.
    pub(super) used: u64,
    /// How often each kind of call was made.
    pub(super) calls: HashMap<Call, u64>,
    pub(super) chosen_blocks: Vec<Range<u64>>,
    /// Cycles that kernels have waited by the clock, beyond real time.
    cycles: u64,
    pub(super) flags: u32,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Primary {
    pub(super) context: usize,
    pub(super) retains: usize,
    pub(super) flags: u32,
}

pub(super) struct State {
    pub(super) machine: Machine,
    pub(super) memory: Memory,
    workshop: Workshop,
    pub(super) contexts: HashMap<usize, Context>,
    pub(super) primary: Vec<Primary>,
    pub(super) streams: HashMap<usize, Stream>,
    pub(super) events: HashMap<usize, Event>,
    pub(super) modules: HashMap<usize, LoadedModule>,
    /// Code and variables of modules that were unloaded while work was queued, which may still lead there.
    unloaded: Vec<LoadedModule>,
    pub(super) functions: HashMap<usize, Function>,
    pub(super) pools: HashMap<usize, Pool>,
    pub(super) default_pools: Vec<usize>,
    pub(super) captures: HashMap<usize, Capture>,
    pub(super) graphs: HashMap<usize, Arc<Graph>>,
    pub(super) executables: HashMap<usize, Arc<Graph>>,
    /// Host memory that was pinned after it was allocated.
    pub(super) registered: Vec<Range<usize>>,
    next_handle: usize,
    started: Instant,
    process: u32,
    pub(super) initialised: bool,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

thread_local! {
    /// The contexts that this thread has pushed, the current one last; 0 for none.
    /// Never destroyed: a buffer in another thread-local variable may be dropped later than this would be.
    static CURRENT: RefCell<ManuallyDrop<Vec<usize>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
    /// A host function that a stream called runs on this thread.
    static IN_HOST_CALL: Cell<bool> = const { Cell::new(false) };
}

/// Runs a call of the driver; its code.
pub(super) fn call(work: impl FnOnce(&mut State) -> Outcome) -> i32 {
    answer(work).err().unwrap_or(0)
}

/// Runs something with the driver's state.
pub(super) fn answer<T>(work: impl FnOnce(&mut State) -> Outcome<T>) -> Outcome<T> {
    if IN_HOST_CALL.get() {
        return Err(NOT_PERMITTED);
    }
    let mut state = lock(&STATE);
    if state.is_none() {
        *state = State::new();
    }
    let state = state.as_mut().ok_or(OUT_OF_MEMORY)?;
    // The child of a fork has the parent's memory and none of its meaning, as with a real driver.
    if state.process != std::process::id() {
        return Err(NOT_INITIALIZED);
    }
    work(state)
}

/// The thread's stack of contexts.
pub(super) fn with_stack<T>(work: impl FnOnce(&mut Vec<usize>) -> T) -> T {
    CURRENT.with_borrow_mut(|stack| work(stack))
}

impl State {
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
            registered: Vec::new(),
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
    pub(super) fn handle(&mut self) -> usize {
        self.next_handle += 1;
        0xe000_0000 + self.next_handle * 16
    }

    pub(super) fn device(&self, device: i32) -> Outcome<usize> {
        usize::try_from(device).ok().filter(|&device| device < self.machine.devices).ok_or(INVALID_DEVICE)
    }

    /// The current context, if it is there and not lost.
    pub(super) fn current(&self) -> Outcome<usize> {
        let context =
            with_stack(|stack| stack.last().copied()).filter(|&context| context != 0).ok_or(INVALID_CONTEXT)?;
        self.usable(context)
    }

    /// The context, unless it is gone or lost.
    pub(super) fn usable(&self, context: usize) -> Outcome<usize> {
        let state = self.contexts.get(&context).ok_or(CONTEXT_IS_DESTROYED)?;
        state.lost.as_ref().map_or(Ok(context), |fault| Err(fault.code))
    }

    pub(super) fn context(&mut self, context: usize) -> Outcome<&mut Context> {
        self.contexts.get_mut(&context).ok_or(CONTEXT_IS_DESTROYED)
    }

    pub(super) fn create_context(&mut self, device: usize, settings: Settings, flags: u32) -> usize {
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
    pub(super) fn destroy_context(&mut self, context: usize) {
        if self.usable(context).is_ok() {
            // A failure here has nobody to hear of it: the caller gets the context's end, as from a real driver.
            let _ = self.drain(context);
        }
        self.forget_work(context);
        for (bytes, pool) in self.memory.release_all(context) {
            self.uncount(context, bytes, pool);
        }
        self.pools.retain(|_, pool| pool.context != context);
        self.streams.retain(|_, stream| stream.context != context);
        self.events.retain(|_, event| event.context != context);
        self.modules.retain(|_, module| module.context != context);
        self.unloaded.retain(|module| module.context != context);
        self.functions.retain(|_, function| function.context != context);
        self.contexts.remove(&context);
    }

    /// Takes a module out of the context.
    pub(super) fn unload(&mut self, handle: usize) {
        self.functions.retain(|_, function| function.module != handle);
        let is_busy =
            |context| self.streams.values().any(|stream| stream.context == context && !stream.queue.is_empty());
        self.unloaded.retain(|module| is_busy(module.context));
        self.unloaded.extend(self.modules.remove(&handle));
    }

    /// Counts a call, and fails it where that was asked for.
    pub(super) fn count(&mut self, context: usize, call: Call) -> Outcome {
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

    /// Takes out a stream that was destroyed, once nothing is queued on it.
    pub(super) fn forget_stream(&mut self, stream: usize) {
        if self.streams.get(&stream).is_some_and(|stream| stream.is_destroyed && stream.queue.is_empty()) {
            self.streams.remove(&stream);
        }
    }

    fn forget_work(&mut self, context: usize) {
        for stream in self.streams.values_mut().filter(|stream| stream.context == context) {
            for op in stream.queue.drain(..) {
                if let Op::Record(mark) = op {
                    mark.set(0.0);
                }
            }
        }
        self.streams.retain(|_, stream| !stream.is_destroyed || !stream.queue.is_empty());
    }

    /// The stream behind a handle: null and 1 and 2 are the current context's legacy stream.
    pub(super) fn stream(&self, handle: *mut c_void) -> Outcome<usize> {
        let handle = handle as usize;
        if handle <= 2 {
            let context = self.current()?;
            return self.contexts.get(&context).map(|context| context.null_stream).ok_or(INVALID_CONTEXT);
        }
        let stream = self.streams.get(&handle).filter(|stream| !stream.is_destroyed).ok_or(INVALID_HANDLE)?;
        self.usable(stream.context)?;
        Ok(handle)
    }

    pub(super) fn stream_state(&mut self, stream: usize) -> Outcome<&mut Stream> {
        self.streams.get_mut(&stream).ok_or(INVALID_HANDLE)
    }

    /// Queues work on a stream, or adds it to the capture that the stream is part of.
    pub(super) fn enqueue(&mut self, stream: usize, op: Op) -> Outcome {
        let state = self.stream_state(stream)?;
        let (context, blocking) = (state.context, state.flags & 1 == 0);
        if let Some((capture, after)) = state.capture.clone() {
            return self.capture_op(stream, capture, after, op);
        }
        let null = self.context(context)?.null_stream;
        if stream == null {
            let others = self.streams.iter().filter(|(_, s)| s.context == context && s.flags & 1 == 0);
            let mut busy: Vec<usize> = others.filter(|(_, s)| !s.queue.is_empty()).map(|(&handle, _)| handle).collect();
            // In the same order each time, so that a seed gives the same run.
            busy.sort_unstable();
            for other in busy.into_iter().filter(|&other| other != null) {
                self.follow(null, other)?;
            }
        } else if blocking && !self.stream_state(null)?.queue.is_empty() {
            self.follow(stream, null)?;
        }
        self.stream_state(stream)?.queue.push_back(op);
        while self.stream_state(stream)?.queue.len() > LONGEST_QUEUE {
            self.run_one(context)?;
        }
        Ok(())
    }

    /// Makes later work of `stream` wait for the work that `other` holds now.
    fn follow(&mut self, stream: usize, other: usize) -> Outcome {
        let mark = Arc::new(Mark::default());
        self.stream_state(other)?.queue.push_back(Op::Record(mark.clone()));
        self.stream_state(stream)?.queue.push_back(Op::Wait(mark));
        Ok(())
    }

    fn capture_op(&mut self, stream: usize, capture: usize, after: Vec<usize>, op: Op) -> Outcome {
        let nodes = self.captures.get_mut(&capture).ok_or(CAPTURE_INVALIDATED)?;
        match op {
            // Memory that the graph allocates alone can be released in it.
            Op::Release(at) if !nodes.nodes.iter().any(|node| matches!(node.op, Op::Begin(of) if of == at)) => {
                return Err(INVALID_VALUE);
            }
            Op::Begin(at) => self.memory.set_of_graph(at, true),
            _ => {}
        }
        nodes.nodes.push(Node { op, after });
        let last = nodes.nodes.len() - 1;
        self.stream_state(stream)?.capture = Some((capture, vec![last]));
        Ok(())
    }

    /// Refuses a call that would wait for a stream that is being captured.
    pub(super) fn not_captured(&mut self, stream: usize) -> Outcome {
        let Some((capture, _)) = self.stream_state(stream)?.capture.clone() else { return Ok(()) };
        if let Some(capture) = self.captures.get_mut(&capture) {
            capture.invalid = true;
        }
        Err(CAPTURE_UNSUPPORTED)
    }

    /// Runs queued work until `done`.
    pub(super) fn run_until(&mut self, context: usize, done: impl Fn(&Self) -> bool) -> Outcome {
        while !done(self) {
            if !self.run_one(context)? {
                return Err(UNKNOWN);
            }
        }
        self.usable(context).map(drop)
    }

    pub(super) fn finish_stream(&mut self, stream: usize) -> Outcome {
        self.not_captured(stream)?;
        let context = self.stream_state(stream)?.context;
        self.run_until(context, |state| state.streams.get(&stream).is_none_or(|stream| stream.queue.is_empty()))
    }

    /// Runs all that a context has queued.
    pub(super) fn drain(&mut self, context: usize) -> Outcome {
        self.run_until(context, |state| {
            state.streams.values().all(|stream| stream.context != context || stream.queue.is_empty())
        })
    }

    /// Runs one operation: of this context if one can run, else of any. False when none can.
    pub(super) fn run_one(&mut self, context: usize) -> Outcome<bool> {
        let mut ready = self.ready(|stream| stream.context == context);
        if ready.is_empty() {
            ready = self.ready(|_| true);
        }
        // Streams are kept in no order; sorted, the choice depends on the seed alone.
        ready.sort_unstable();
        let Some(chooser) = self.contexts.get_mut(&context) else { return Err(CONTEXT_IS_DESTROYED) };
        if ready.is_empty() {
            return Ok(false);
        }
        let stream = ready[chooser.random.below(ready.len() as u64) as usize];
        let Some((op, owner)) =
            self.streams.get_mut(&stream).and_then(|stream| Some((stream.queue.pop_front()?, stream.context)))
        else {
            return Ok(false);
        };
        self.forget_stream(stream);
        if let Err(fault) = self.run_op(owner, &op) {
            self.lose(owner, fault);
            self.usable(context)?;
        }
        Ok(true)
    }

    fn ready(&self, of: impl Fn(&Stream) -> bool) -> Vec<usize> {
        let can_run = |stream: &Stream| match stream.queue.front() {
            None => false,
            Some(Op::Wait(mark)) => mark.is_done(),
            Some(_) => true,
        };
        self.streams.iter().filter(|(_, stream)| of(stream) && can_run(stream)).map(|(&handle, _)| handle).collect()
    }

    fn run_op(&mut self, context: usize, op: &Op) -> Result<(), Fault> {
        match op {
            Op::Launch(order) => self.run_launch(context, order)?,
            Op::Write { to, data } => {
                self.expect(context, *to, data.len(), "a copy from the host writes")?;
                // SAFETY: checked to be allocated with that many bytes.
                unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), *to as *mut u8, data.len()) };
            }
            Op::Copy { to, from, bytes } => {
                self.expect(context, *to, *bytes, "a copy writes")?;
                self.expect(context, *from, *bytes, "a copy reads")?;
                // SAFETY: device addresses are checked; host addresses are vouched for by the caller of the copy.
                unsafe { std::ptr::copy(*from as *const u8, *to as *mut u8, *bytes) };
            }
            Op::Fill { at, value, width, count } => {
                self.expect(context, *at, width * count, "a memset writes")?;
                self.fill(*at, *value, *width, *count);
            }
            Op::Begin(address) => {
                if self.memory.find(*address).is_some_and(|all| all.life == Life::Live) {
                    let text = "a graph is launched again though memory that it allocates was not released";
                    return Err(Fault::new(LAUNCH_FAILED, text.to_owned()));
                }
                if !self.memory.begin(*address) {
                    let text = "this machine has no memory left for an allocation of the emulated device";
                    return Err(Fault::new(UNKNOWN, text.to_owned()));
                }
            }
            Op::Release(address) => {
                if self.memory.find(*address).is_some_and(|all| all.life == Life::Ordered) {
                    let text = "memory is released before its stream has allocated it (is an event missing between the streams?)";
                    return Err(Fault::new(ILLEGAL_ADDRESS, text.to_owned()));
                }
                self.memory.release(*address);
            }
            Op::Record(mark) => mark.set(self.now_ms(context)),
            Op::Call(call) => {
                // The driver's lock is held: as with a real driver, the function may not call it.
                IN_HOST_CALL.set(true);
                // SAFETY: whoever queued the call vouches for it.
                unsafe { (call.function)(call.data) };
                IN_HOST_CALL.set(false);
            }
            Op::Graph(graph) => {
                let mut random = Random::new(self.contexts.get_mut(&context).map_or(0, |c| c.random.next()));
                for node in graph.random_order(&mut random) {
                    self.run_op(context, &graph.nodes[node].op)?;
                }
            }
            Op::Wait(_) => {}
        }
        Ok(())
    }

    fn run_launch(&mut self, context: usize, order: &Arc<Order>) -> Result<(), Fault> {
        if !self.modules.contains_key(&order.module) {
            let text = format!("kernel `{}` was to run after its module had been unloaded", order.name);
            return Err(Fault::new(ILLEGAL_ADDRESS, text));
        }
        let Some(state) = self.contexts.get_mut(&context) else { return Ok(()) };
        let cycles = self.started.elapsed().as_secs_f64() * 1e3 * CYCLES_PER_MS;
        let around = Surroundings {
            memory: &self.memory,
            modules: &self.modules,
            registered: &self.registered,
            context,
            settings: &state.settings,
            random: &mut state.random,
            workshop: &mut self.workshop,
            cycles: cycles as u64 + state.cycles,
        };
        let mut order = Order::clone(order);
        order.chosen.clone_from(&state.chosen_blocks);
        state.cycles += launch::run(order, around)?;
        Ok(())
    }

    /// The largest block that a kernel may be launched with, by its launch bounds.
    pub(super) fn most_threads(&mut self, function: usize) -> Outcome<u32> {
        const MOST: u32 = 1024;
        let state = self.functions.get(&function).ok_or(INVALID_HANDLE)?;
        if let Some(known) = state.most_threads {
            return Ok(known);
        }
        let (context, module, kernel) = (state.context, state.module, state.kernel);
        let image = self.modules.get(&module).ok_or(INVALID_HANDLE)?.image.clone();
        let zeros = super::driver::zero_arguments(&image, kernel);
        let order = zeros.order(image, kernel, String::new());
        let Some(state) = self.contexts.get(&context) else { return Err(CONTEXT_IS_DESTROYED) };
        let around = Surroundings {
            memory: &self.memory,
            modules: &self.modules,
            registered: &self.registered,
            context,
            settings: &state.settings,
            random: &mut Random::new(0),
            workshop: &mut self.workshop,
            cycles: 0,
        };
        let found = launch::launch_bound(order, around).unwrap_or(MOST).min(MOST);
        if let Some(function) = self.functions.get_mut(&function) {
            function.most_threads = Some(found);
        }
        Ok(found)
    }

    /// Checks that device memory of an operation is there when it runs. Host addresses are taken as they are.
    fn expect(&self, context: usize, address: usize, bytes: usize, what: &str) -> Result<(), Fault> {
        let refused = match self.memory.check(address, bytes, context) {
            Err(Refused::Unknown) if self.unloaded.iter().any(|module| module.image.contains(address)) => {
                let text = format!("{what} {bytes} bytes at {address:#x}, a variable of a module that was unloaded");
                return Err(Fault::new(ILLEGAL_ADDRESS, text));
            }
            Ok(()) | Err(Refused::Unknown | Refused::OtherContext(_)) => return Ok(()),
            Err(refused) => refused,
        };
        let state = match refused {
            Refused::NotYet(_) => "that its stream has not allocated yet (is an event missing between the streams?)",
            Refused::Released(_) => "that was released (use after free)",
            _ => "beyond its allocation",
        };
        Err(Fault::new(ILLEGAL_ADDRESS, format!("{what} {bytes} bytes at {address:#x}, memory {state}")))
    }

    fn fill(&self, at: usize, value: u32, width: usize, count: usize) {
        let bytes = width * count;
        if value == 0 && self.memory.zero_by_mapping(at, bytes) {
            return;
        }
        // SAFETY: the caller has checked that all bytes are allocated; the driver demands an address that fits the width.
        unsafe {
            match width {
                1 => std::ptr::write_bytes(at as *mut u8, value as u8, count),
                2 => std::slice::from_raw_parts_mut(at as *mut u16, count).fill(value as u16),
                _ => std::slice::from_raw_parts_mut(at as *mut u32, count).fill(value),
            }
        }
    }

    /// Ends the memory that a graph allocates and that is not in use, when nothing leads to the graph any more.
    pub(super) fn forget_graph(&mut self, graph: Arc<Graph>) {
        let Some(graph) = Arc::into_inner(graph) else { return };
        for node in graph.nodes {
            let Op::Begin(address) = node.op else { continue };
            self.memory.set_of_graph(address, false);
            if self.memory.find(address).is_some_and(|all| all.life == Life::Ordered) {
                self.memory.release(address);
            }
        }
    }

    /// The device's time: real time, and the time that its kernels waited by their clock.
    pub(super) fn now_ms(&self, context: usize) -> f64 {
        let waited = self.contexts.get(&context).map_or(0, |context| context.cycles);
        self.started.elapsed().as_secs_f64() * 1e3 + waited as f64 / CYCLES_PER_MS
    }

    /// Bytes in use on a device.
    pub(super) fn used(&self, device: usize) -> u64 {
        let outside = self.contexts.values().filter(|context| context.device == device).map(|context| context.used);
        let pools = self.pools.values().filter(|pool| pool.device == device).map(|pool| pool.reserved);
        outside.chain(pools).sum()
    }

    /// An allocation of its own, usable at once.
    pub(super) fn allocate(&mut self, context: usize, bytes: usize, kind: MemoryKind) -> Outcome<usize> {
        self.count(context, Call::Allocation)?;
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        let device = self.context(context)?.device;
        if kind == MemoryKind::Device && bytes as u64 > (MEMORY_BYTES as u64).saturating_sub(self.used(device)) {
            return Err(OUT_OF_MEMORY);
        }
        let address = self.memory.reserve(bytes, kind, context, 0).ok_or(OUT_OF_MEMORY)?;
        if !self.memory.begin(address) {
            self.memory.release(address);
            return Err(OUT_OF_MEMORY);
        }
        if kind == MemoryKind::Device {
            self.context(context)?.used += bytes as u64;
        }
        Ok(address)
    }

    /// An allocation in the order of a stream.
    pub(super) fn allocate_ordered(&mut self, stream: usize, bytes: usize, pool: usize) -> Outcome<usize> {
        let context = self.stream_state(stream)?.context;
        self.count(context, Call::Allocation)?;
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        let others = {
            let pool = self.pools.get(&pool).ok_or(INVALID_VALUE)?;
            self.used(pool.device) - pool.reserved
        };
        let this = self.pools.get_mut(&pool).ok_or(INVALID_VALUE)?;
        let used = this.used + bytes as u64;
        if used.max(this.reserved) + others > MEMORY_BYTES as u64 {
            return Err(OUT_OF_MEMORY);
        }
        let address = self.memory.reserve(bytes, MemoryKind::Device, context, pool).ok_or(OUT_OF_MEMORY)?;
        self.enqueue(stream, Op::Begin(address)).inspect_err(|_| self.memory.release(address))?;
        if self.stream_state(stream)?.capture.is_some() {
            // The graph's memory, which no pool counts.
            return Ok(address);
        }
        let this = self.pools.get_mut(&pool).ok_or(INVALID_VALUE)?;
        (this.used, this.reserved) = (used, this.reserved.max(used));
        (this.most_used, this.most_reserved) = (this.most_used.max(used), this.most_reserved.max(this.reserved));
        Ok(address)
    }

    /// The start of an allocation that is not released.
    pub(super) fn allocation_at(&self, address: usize) -> Outcome<(usize, usize, MemoryKind)> {
        let found = self.memory.find(address).filter(|all| all.start == address && !all.is_freed);
        found.map(|all| (all.bytes, all.pool, all.kind)).ok_or(INVALID_VALUE)
    }

    /// Takes an allocation out of the counts of its pool or context; the memory itself goes in its stream's order.
    pub(super) fn uncount(&mut self, context: usize, bytes: usize, pool: usize) {
        if pool != 0 {
            if let Some(pool) = self.pools.get_mut(&pool) {
                pool.used -= (bytes as u64).min(pool.used);
                pool.reserved = pool.used.max(pool.reserved.min(pool.threshold));
            }
        } else if let Some(context) = self.contexts.get_mut(&context) {
            context.used -= (bytes as u64).min(context.used);
        }
    }

    /// Allocations of a context that are not released.
    pub(super) fn live_allocations(&self, context: usize) -> usize {
        self.memory.live(context)
    }

    /// Whether host memory is pinned, so that copies read it only when they run.
    pub(super) fn is_pinned(&self, address: usize) -> bool {
        self.memory.find(address).is_some_and(|all| all.kind == MemoryKind::Pinned && all.life == Life::Live)
            || self.registered.iter().any(|range| range.contains(&address))
    }

    /// Whether an address is device memory: an allocation, or a variable of a module.
    pub(super) fn is_device(&self, address: usize) -> bool {
        self.memory.find(address).is_some_and(|all| all.kind == MemoryKind::Device)
            || self.modules.values().any(|module| module.image.contains(address))
    }

    /// Checks that a range is device memory, ordered or live, as the driver does when a copy is asked for.
    pub(super) fn expect_device(&self, address: usize, bytes: usize) -> Outcome {
        let Some(all) = self.memory.find(address).filter(|all| all.life != Life::Released) else {
            let variable = self.modules.values().any(|module| module.image.holds(address, bytes, false));
            return if variable { Ok(()) } else { Err(INVALID_VALUE) };
        };
        let inside = address >= all.start && bytes <= all.bytes && address - all.start <= all.bytes - bytes;
        if inside { Ok(()) } else { Err(INVALID_VALUE) }
    }
}
