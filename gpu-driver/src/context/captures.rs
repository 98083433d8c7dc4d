//! The state of a context's captures, which knows neither the context nor its streams.
//!
//! # Locks
//! `cuCtxSynchronize` would end every capture of the context. So each capture holds `gate` shared, and such a wait holds it alone, but no thread ever
//! waits to hold it alone: a capture may begin beside others at any time, also in a thread that another capture waits for.
//!
//! Whether a stream is captured decides where memory comes from. `joining` is held shared from that question to the call that depends on the answer,
//! and alone while a stream becomes part of a capture. A copy between device and host is held so to its end, since the wait for it would end a capture
//! that has begun meanwhile: a capture waits for such copies of other threads.

use std::{
    any::Any,
    cell::RefCell,
    collections::HashMap,
    mem::ManuallyDrop,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::raw::{CUcontext, CUdeviceptr, CUmodule};
use gpu_driver_core::lock;

thread_local! {
    /// The contexts of the captures that this thread is in. Never destroyed: a module in another thread-local variable may
    /// be dropped later than this would be.
    static CAPTURES: RefCell<ManuallyDrop<Vec<usize>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// Whether this thread is in a capture of the context.
pub(super) fn are_here(context: CUcontext) -> bool {
    CAPTURES.with_borrow(|captures| captures.contains(&(context as usize)))
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
    /// Captures of [`Stream::capture`](crate::Stream::capture) under way, in any thread.
    under_way: AtomicUsize,
    pub(crate) owned: Mutex<Owned>,
    /// Released when the device is idle and no capture is under way.
    pub(super) left: Mutex<Vec<Resource>>,
}

/// No capture is under way, and none begins.
pub(crate) struct Alone<'a> {
    _gate: RwLockWriteGuard<'a, ()>,
    _turn: MutexGuard<'a, ()>,
}

/// A resource of a graph, or one that is released once the device is idle.
pub(crate) enum Resource {
    /// Device memory, from the pool or not.
    Memory(CUdeviceptr),
    Module(CUmodule),
    Value(Arc<dyn Any + Send + Sync>),
}

// SAFETY: a handle of a module is no pointer to this process's memory; the driver takes it from any thread.
unsafe impl Send for Resource {}
// SAFETY: as above.
unsafe impl Sync for Resource {}

/// The resources of captures and graphs.
#[derive(Default)]
pub(crate) struct Owned {
    /// By the number of the capture that is under way. One that was not begun by [`Stream::capture`](crate::Stream::capture) has no end here and keeps its own.
    pub(crate) captures: HashMap<u64, Resources>,
    /// Memory that a buffer and graphs share, or one of them has.
    pub(crate) shared: HashMap<CUdeviceptr, Shared>,
}

/// The resources of a capture.
#[derive(Default)]
pub(crate) struct Resources {
    /// Begun by [`Stream::capture`](crate::Stream::capture), whose graph takes the resources over.
    pub(crate) is_ours: bool,
    pub(crate) list: Vec<Resource>,
    /// Addresses in `Owned::shared`.
    pub(crate) buffers: Vec<CUdeviceptr>,
    /// Buffers that were released again within the capture: later work of their stream may have them.
    reusable: Vec<Reusable>,
}

struct Reusable {
    address: CUdeviceptr,
    bytes: usize,
    stream: usize,
}

pub(crate) struct Shared {
    pub(crate) bytes: usize,
    /// Whether there is the buffer.
    pub(crate) buffer: bool,
    /// Number of graphs and captures that have it.
    pub(crate) graphs: usize,
}

impl Captures {
    /// Announces a capture of this thread, and keeps waits for the whole context away until the guard goes.
    pub(crate) fn begin(&self, context: CUcontext) -> Option<RwLockReadGuard<'_, ()>> {
        // A second shared lock of one thread is not needed, and could wait for a thread that waits for the first.
        let first = !are_here(context);
        let others = first.then(|| self.gate.read().unwrap_or_else(PoisonError::into_inner));
        CAPTURES.with_borrow_mut(|captures| captures.push(context as usize));
        self.under_way.fetch_add(1, Ordering::AcqRel);
        others
    }

    /// Ends this thread's last capture; its guard of [`Captures::begin`] goes next.
    pub(crate) fn end(&self) {
        // Captures of one thread are nested, so the last one ends first.
        CAPTURES.with_borrow_mut(|captures| captures.pop());
        self.under_way.fetch_sub(1, Ordering::Release);
    }

    /// Keeps captures from beginning; None where one is under way. Waits for another thread that is alone, and so for the device at most.
    pub(crate) fn alone(&self) -> Option<Alone<'_>> {
        self.alone_with(lock(&self.turn))
    }

    /// [`Captures::alone`], or None where another thread is.
    pub(super) fn alone_at_once(&self) -> Option<Alone<'_>> {
        match self.turn.try_lock() {
            Ok(turn) => self.alone_with(turn),
            Err(TryLockError::Poisoned(turn)) => self.alone_with(turn.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn alone_with<'a>(&'a self, turn: MutexGuard<'a, ()>) -> Option<Alone<'a>> {
        match self.gate.try_write() {
            Ok(gate) => Some(Alone { _gate: gate, _turn: turn }),
            Err(TryLockError::Poisoned(gate)) => Some(Alone { _gate: gate.into_inner(), _turn: turn }),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Keeps streams from joining a capture until the guard goes.
    pub(crate) fn steady(&self) -> RwLockReadGuard<'_, ()> {
        self.joining.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held while a stream becomes part of a capture. None where there is no capture to join.
    pub(crate) fn joining(&self) -> Option<RwLockWriteGuard<'_, ()>> {
        self.any().then(|| self.joining.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether [`Stream::capture`](crate::Stream::capture) runs in some thread.
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

impl Owned {
    pub(crate) fn is_ours(&self, number: u64) -> bool {
        self.captures.get(&number).is_some_and(|resources| resources.is_ours)
    }

    /// Memory that a buffer of the same stream had earlier in the same capture, and that is not much larger than needed.
    pub(crate) fn reuse(&mut self, number: u64, stream: usize, bytes: usize) -> Option<CUdeviceptr> {
        let reusable = &mut self.captures.get_mut(&number)?.reusable;
        let fits = |free: &Reusable| free.stream == stream && (bytes..=bytes.saturating_mul(2)).contains(&free.bytes);
        let at = reusable.iter().rposition(fits)?;
        let address = reusable.swap_remove(at).address;
        self.shared.get_mut(&address)?.buffer = true;
        Some(address)
    }

    /// Whether nobody has the memory any more once its buffer has gone, in a capture of that number or outside.
    pub(super) fn release(&mut self, number: Option<u64>, stream: usize, address: CUdeviceptr) -> bool {
        let Some(shared) = self.shared.get_mut(&address) else { return false };
        shared.buffer = false;
        if let Some(number) = number {
            let resources = self.captures.entry(number).or_default();
            if resources.buffers.contains(&address) {
                resources.reusable.push(Reusable { address, bytes: shared.bytes, stream });
            } else {
                // A buffer of an earlier capture: launches of this one may use it too. Its memory is not reused, since the other graph writes to it.
                resources.buffers.push(address);
                shared.graphs += 1;
            }
        }
        if shared.graphs > 0 {
            return false;
        }
        self.shared.remove(&address);
        true
    }
}
