//! Captures under way, and the resources that captured graphs own.
//!
//! A captured launch runs whenever its graph does, so all that it reads and no caller can see has to live as long as the graph:
//!
//! * Memory that is allocated within a capture belongs to its buffer and to the graph, and goes when both have gone.
//! * A buffer that is released within a capture becomes the graph's.
//! * Scratch memory, the modules of captured kernels and the values of [`Stream::retain_in_graph`] are the graph's.
//!
//! # Locks
//! `cuCtxSynchronize` would end every capture of the context. So each capture holds `gate` shared, and such a wait holds it alone, but no thread ever
//! waits to hold it alone: a capture may begin beside others at any time, also in a thread that another capture waits for.
//!
//! Whether a stream is captured decides where memory comes from. `joining` is held shared from that question to the call that depends on the answer,
//! and alone while a stream becomes part of a capture.

use std::{
    any::Any,
    cell::RefCell,
    collections::HashMap,
    fmt,
    marker::PhantomData,
    mem::ManuallyDrop,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
        atomic::{AtomicUsize, Ordering},
    },
};

use cust::sys::{CUdeviceptr, CUmodule, CUstream};

use crate::{
    CudaCode, Device, DriverError, Result, Stream,
    device::{Context, Current, lock},
    pool, sys,
};

/// What a graph owns, or what is released once the device is idle.
pub(crate) enum Resource {
    /// Device memory, from the pool or not.
    Memory(CUdeviceptr),
    Module(CUmodule),
    Value(Arc<dyn Any + Send + Sync>),
}

/// The captures of a context.
#[derive(Default)]
pub(crate) struct Captures {
    /// Held shared by captures, alone by waits for the whole context: see the head of this file.
    gate: RwLock<()>,
    /// Held by the one thread that tries to have `gate` alone.
    turn: Mutex<()>,
    /// See the head of this file.
    joining: RwLock<()>,
    /// Captures of [`Stream::capture`] under way, in any thread.
    under_way: AtomicUsize,
    owned: Mutex<Owned>,
    /// Released when the device is idle and no capture is under way.
    left: Mutex<Vec<Resource>>,
}

/// What captures and graphs own.
#[derive(Default)]
struct Owned {
    /// By the number of the capture that is under way. One that was not begun by [`Stream::capture`] has no end here and keeps what it has.
    captures: HashMap<u64, Resources>,
    /// Memory that a buffer and a graph share, or one of them has.
    shared: HashMap<CUdeviceptr, Shared>,
}

/// The resources of a capture.
#[derive(Default)]
struct Resources {
    /// Begun by [`Stream::capture`], whose graph takes the resources over.
    is_ours: bool,
    list: Vec<Resource>,
    /// Addresses in `Owned::shared`.
    buffers: Vec<CUdeviceptr>,
    /// Buffers that were released again within the capture: later work of their stream may have them.
    reusable: Vec<Reusable>,
}

struct Reusable {
    address: CUdeviceptr,
    bytes: usize,
    stream: usize,
}

struct Shared {
    bytes: usize,
    buffer: bool,
    graph: bool,
}

/// Whether a stream is part of a capture, while memory goes back in its order.
enum CaptureState {
    Outside,
    Within(u64),
    /// The capture came to nothing, and has not been ended.
    Invalidated,
}

thread_local! {
    /// The contexts of the captures that this thread is in. Never destroyed: a module in another thread-local variable may
    /// be dropped later than this would be.
    static CAPTURES: RefCell<ManuallyDrop<Vec<usize>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// A capture of this thread; see [`Context::capturing`].
pub(crate) struct Capturing<'a> {
    context: &'a Context,
    others: Option<RwLockReadGuard<'a, ()>>,
    /// The list belongs to a thread.
    _not_send: PhantomData<*const ()>,
}

impl Drop for Capturing<'_> {
    fn drop(&mut self) {
        // Captures of one thread are nested, so the last one ends first.
        CAPTURES.with_borrow_mut(|captures| captures.pop());
        self.context.captures.under_way.fetch_sub(1, Ordering::Release);
        drop(self.others.take());
        self.context.release_left();
    }
}

/// No capture is under way, and none begins.
pub(crate) struct Alone<'a> {
    _gate: RwLockWriteGuard<'a, ()>,
    _turn: MutexGuard<'a, ()>,
}

impl Captures {
    /// Keeps streams from joining a capture until the guard goes.
    pub(crate) fn steady(&self) -> RwLockReadGuard<'_, ()> {
        self.joining.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held while a stream becomes part of a capture. None where there is no capture to join.
    pub(crate) fn joining(&self) -> Option<RwLockWriteGuard<'_, ()>> {
        self.any().then(|| self.joining.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether [`Stream::capture`] runs in some thread.
    pub(crate) fn any(&self) -> bool {
        self.under_way.load(Ordering::Acquire) != 0
    }

    /// The scratch memory and whatever else is left at the context's end, when nothing runs any more.
    pub(crate) fn take_all(&self) -> Vec<Resource> {
        let owned = std::mem::take(&mut *lock(&self.owned));
        let of_captures = owned.captures.into_values().flat_map(|resources| resources.list);
        let shared = owned.shared.into_keys().map(Resource::Memory);
        let left = std::mem::take(&mut *lock(&self.left));
        of_captures.chain(shared).chain(left).collect()
    }
}

impl Context {
    /// Announces a capture of this thread until the guard goes.
    pub(crate) fn capturing(&self) -> Capturing<'_> {
        // A second shared lock of one thread is not needed, and could wait for a thread that waits for the first.
        let first = !self.captures_here();
        let others = first.then(|| self.captures.gate.read().unwrap_or_else(PoisonError::into_inner));
        CAPTURES.with_borrow_mut(|captures| captures.push(self.raw() as usize));
        self.captures.under_way.fetch_add(1, Ordering::AcqRel);
        Capturing { context: self, others, _not_send: PhantomData }
    }

    /// Whether this thread is in a capture of the context.
    pub(crate) fn captures_here(&self) -> bool {
        CAPTURES.with_borrow(|captures| captures.contains(&(self.raw() as usize)))
    }

    /// Keeps captures from beginning; None where one is under way. Waits for another thread that is alone, and so for the device at most.
    pub(crate) fn alone(&self) -> Option<Alone<'_>> {
        self.alone_with(lock(&self.captures.turn))
    }

    /// [`Context::alone`], or None where another thread is.
    fn alone_at_once(&self) -> Option<Alone<'_>> {
        match self.captures.turn.try_lock() {
            Ok(turn) => self.alone_with(turn),
            Err(TryLockError::Poisoned(turn)) => self.alone_with(turn.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn alone_with<'a>(&'a self, turn: MutexGuard<'a, ()>) -> Option<Alone<'a>> {
        match self.captures.gate.try_write() {
            Ok(gate) => Some(Alone { _gate: gate, _turn: turn }),
            Err(TryLockError::Poisoned(gate)) => Some(Alone { _gate: gate.into_inner(), _turn: turn }),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The number of the capture that a stream is part of, for the process's time. None outside.
    pub(crate) fn capture_of(&self, stream: CUstream, _current: &Current) -> Result<Option<u64>> {
        const ACTIVE: i32 = 1;
        const STREAM_CAPTURE_INVALIDATED: CudaCode = CudaCode(901);
        const CALL: &str = "cuStreamGetCaptureInfo";
        let (mut status, mut number) = (0, 0);
        // SAFETY: the pointers are valid for the call, the stream is alive.
        self.check(CALL, unsafe { sys::cuStreamGetCaptureInfo(stream, &mut status, &mut number) })?;
        match status {
            0 => Ok(None),
            ACTIVE => Ok(Some(number)),
            _ => Err(DriverError::Cuda { call: CALL, code: STREAM_CAPTURE_INVALIDATED }),
        }
    }

    /// [`Context::capture_of`] for captures of [`Stream::capture`] alone; costs next to nothing where there is none.
    pub(crate) fn own_capture_of(&self, stream: CUstream, current: &Current) -> Result<Option<u64>> {
        if !self.captures.any() {
            return Ok(None);
        }
        let number = self.capture_of(stream, current)?;
        Ok(number.filter(|number| lock(&self.captures.owned).is_ours(*number)))
    }

    /// Begins to own the resources of a capture.
    pub(crate) fn open_capture(&self, number: u64) {
        lock(&self.captures.owned).captures.entry(number).or_default().is_ours = true;
    }

    /// The resources of a capture that has ended, for its graph.
    pub(crate) fn close_capture(&self, device: &Device, number: u64) -> GraphResources {
        self.scratches.forget_capture(number);
        let resources = lock(&self.captures.owned).captures.remove(&number).unwrap_or_default();
        GraphResources { device: device.clone(), resources }
    }

    /// Gives a resource to the graph of a capture.
    pub(crate) fn give_to_graph(&self, number: u64, resource: Resource) {
        lock(&self.captures.owned).captures.entry(number).or_default().list.push(resource);
    }

    /// Memory within a capture of [`Stream::capture`], which its buffer and its graph share; zero at first.
    pub(crate) fn allocate_in_graph(
        &self,
        stream: &Stream,
        number: u64,
        bytes: usize,
        current: &Current,
    ) -> Result<CUdeviceptr> {
        if let Some(address) = lock(&self.captures.owned).reuse(number, stream.as_raw() as usize, bytes) {
            return Ok(address);
        }
        let address = pool::allocate_aside(stream.device(), bytes, bytes, current)?;
        let mut owned = lock(&self.captures.owned);
        owned.shared.insert(address, Shared { bytes, buffer: true, graph: true });
        owned.captures.entry(number).or_default().buffers.push(address);
        Ok(address)
    }

    /// Gives up the buffer's share of memory from [`Context::allocate_in_graph`].
    pub(crate) fn release_from_graph(&self, stream: CUstream, address: CUdeviceptr) {
        let number = match self.state_of(stream) {
            CaptureState::Within(number) => Some(number),
            CaptureState::Outside | CaptureState::Invalidated => None,
        };
        if lock(&self.captures.owned).release(number, stream as usize, address) {
            self.release_when_idle([Resource::Memory(address)]);
        }
    }

    fn state_of(&self, stream: CUstream) -> CaptureState {
        if !self.captures.any() {
            return CaptureState::Outside;
        }
        let number = self.enter_quietly().and_then(|current| self.capture_of(stream, &current));
        match number {
            Ok(Some(number)) => CaptureState::Within(number),
            Ok(None) | Err(DriverError::DeviceLost { .. }) => CaptureState::Outside,
            Err(_) => CaptureState::Invalidated,
        }
    }

    /// Gives memory back in the order of a stream by `free`, or keeps it where the stream is captured, until the graph has gone. The address is one of
    /// the pool, or of cuMemAlloc where there is none.
    pub(crate) fn release_in_order(&self, stream: CUstream, address: CUdeviceptr, free: impl FnOnce()) {
        let _steady = self.captures.steady();
        match self.state_of(stream) {
            CaptureState::Outside => free(),
            CaptureState::Within(number) => self.give_to_graph(number, Resource::Memory(address)),
            CaptureState::Invalidated => self.release_when_idle([Resource::Memory(address)]),
        }
    }

    /// Releases resources once the device's work has ended: at once, or at the end of the captures that are under way, as a wait would end them.
    pub(crate) fn release_when_idle(&self, resources: impl IntoIterator<Item = Resource>) {
        lock(&self.captures.left).extend(resources);
        self.release_left();
    }

    /// Releases what has been left, unless a capture is under way or another thread waits for the device: both come here at their end.
    pub(crate) fn release_left(&self) {
        while !lock(&self.captures.left).is_empty() {
            let Some(alone) = self.alone_at_once() else { return };
            let left = std::mem::take(&mut *lock(&self.captures.left));
            let mut idle = self.is_lost();
            self.in_drop("what a graph owned", "cuCtxSynchronize", || {
                // SAFETY: no arguments.
                let code = unsafe { sys::cuCtxSynchronize() };
                idle = code == 0;
                code
            });
            if !idle {
                // Work that may still run keeps what it uses, for good.
                std::mem::forget(left);
                return;
            }
            let (values, others): (Vec<_>, Vec<_>) =
                left.into_iter().partition(|resource| matches!(resource, Resource::Value(_)));
            for other in others {
                // SAFETY: who could use it has gone, and nothing runs any more; taken from the list once.
                unsafe { self.destroy(other) };
            }
            drop(alone);
            // Some of them may leave resources themselves.
            drop(values);
        }
    }

    /// Frees memory or unloads a module.
    ///
    /// # Safety
    /// Nothing uses it any more, and this is done once.
    pub(crate) unsafe fn destroy(&self, resource: Resource) {
        match resource {
            Resource::Memory(address) => {
                // SAFETY: as the caller promises.
                self.in_drop("device memory", "cuMemFree", || unsafe { sys::cuMemFree_v2(address) });
            }
            Resource::Module(module) => {
                // SAFETY: as the caller promises.
                self.in_drop("a module", "cuModuleUnload", || unsafe { sys::cuModuleUnload(module) });
            }
            Resource::Value(value) => drop(value),
        }
    }
}

impl Owned {
    fn is_ours(&self, number: u64) -> bool {
        self.captures.get(&number).is_some_and(|resources| resources.is_ours)
    }

    /// Memory that a buffer of the same stream had earlier in the same capture, and that is not much larger than needed.
    fn reuse(&mut self, number: u64, stream: usize, bytes: usize) -> Option<CUdeviceptr> {
        let reusable = &mut self.captures.get_mut(&number)?.reusable;
        let fits = |free: &Reusable| free.stream == stream && (bytes..=bytes.saturating_mul(2)).contains(&free.bytes);
        let at = reusable.iter().rposition(fits)?;
        let address = reusable.swap_remove(at).address;
        self.shared.get_mut(&address)?.buffer = true;
        Some(address)
    }

    /// Whether nobody has the memory any more once its buffer has gone, in a capture of that number or outside.
    fn release(&mut self, number: Option<u64>, stream: usize, address: CUdeviceptr) -> bool {
        let Some(shared) = self.shared.get_mut(&address) else { return false };
        shared.buffer = false;
        let bytes = shared.bytes;
        if !shared.graph {
            self.shared.remove(&address);
            return true;
        }
        let of_capture = number.and_then(|number| self.captures.get_mut(&number));
        if let Some(resources) = of_capture.filter(|resources| resources.buffers.contains(&address)) {
            resources.reusable.push(Reusable { address, bytes, stream });
        }
        false
    }
}

impl Stream {
    /// Keeps a value until the graph goes that this stream is being captured for; true then. Outside of a [`Stream::capture`] nothing is kept, and it is
    /// false.
    ///
    /// For launches that read memory which is no argument the caller could see, such as tables: `Arc<DeviceVec<_>>`. CUDA calls such values user
    /// objects of a graph.
    ///
    /// # Errors
    /// `Cuda` with `STREAM_CAPTURE_INVALIDATED` where an error has ended the capture; `DeviceLost`.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    /// use gpu_driver::{Device, DeviceVec, DriverError};
    /// let stream = Device::first()?.stream();
    /// let table = Arc::new(DeviceVec::from_slice(&stream, &[1.0f32, 2.0])?);
    /// let (graph, ()) = stream.capture(|| {
    ///     stream.retain_in_graph(&table)?;
    ///     // … launch a kernel that reads the table …
    ///     Ok::<_, DriverError>(())
    /// })?;
    /// drop(table); // the graph has it
    /// # Ok::<(), DriverError>(())
    /// ```
    pub fn retain_in_graph<T: Send + Sync + 'static>(&self, value: &Arc<T>) -> Result<bool> {
        let context = &self.device().0;
        if !context.captures.any() {
            return Ok(false);
        }
        let current = self.device().enter()?;
        let Some(number) = context.own_capture_of(self.as_raw(), &current)? else { return Ok(false) };
        let mut owned = lock(&context.captures.owned);
        let list = &mut owned.captures.entry(number).or_default().list;
        let this = Arc::as_ptr(value).cast::<()>();
        // What is launched again and again is found near the end.
        let same =
            |resource: &Resource| matches!(resource, Resource::Value(other) if Arc::as_ptr(other).cast::<()>() == this);
        if !list.iter().rev().any(same) {
            list.push(Resource::Value(value.clone()));
        }
        Ok(true)
    }

    /// The number of the capture that the stream is part of, which no other one of the process's time has. None outside.
    ///
    /// # Errors
    /// `Cuda` with `STREAM_CAPTURE_INVALIDATED` where an error has ended the capture; else what the driver reports.
    pub fn capture_number(&self) -> Result<Option<u64>> {
        let current = self.device().enter()?;
        self.device().0.capture_of(self.as_raw(), &current)
    }

    /// Whether the stream is being captured.
    ///
    /// # Errors
    /// What the driver reports.
    pub fn is_capturing(&self) -> Result<bool> {
        let current = self.device().enter()?;
        self.is_capturing_entered(&current)
    }

    pub(crate) fn is_capturing_entered(&self, _current: &Current) -> Result<bool> {
        let mut status = 0;
        // SAFETY: the pointer is valid for the call, the stream is alive.
        let code = unsafe { sys::cuStreamIsCapturing(self.as_raw(), &mut status) };
        self.device().check("cuStreamIsCapturing", code)?;
        Ok(status != 0)
    }

    /// That this stream is not captured, for an operation that a graph cannot hold. Refused before the driver sees it, so the capture goes on.
    pub(crate) fn not_captured(&self, op: &'static str, current: &Current) -> Result<()> {
        match self.device().0.own_capture_of(self.as_raw(), current)? {
            None => Ok(()),
            Some(_) => Err(DriverError::InCapture { op }),
        }
    }
}

/// What a graph owns; released when the device has done its work.
pub(crate) struct GraphResources {
    device: Device,
    resources: Resources,
}

impl Drop for GraphResources {
    fn drop(&mut self) {
        let Resources { list, buffers, .. } = std::mem::take(&mut self.resources);
        let context = &self.device.0;
        let alone: Vec<Resource> = {
            let shared = &mut lock(&context.captures.owned).shared;
            let mut give_up = |address| match shared.get_mut(address) {
                Some(holders) if holders.buffer => {
                    holders.graph = false;
                    None
                }
                _ => shared.remove(address).map(|_| Resource::Memory(*address)),
            };
            buffers.iter().filter_map(&mut give_up).collect()
        };
        context.release_when_idle(list.into_iter().chain(alone));
    }
}

impl fmt::Debug for GraphResources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Resources { list, buffers, .. } = &self.resources;
        write!(f, "{} resources and {} buffers of a graph", list.len(), buffers.len())
    }
}
