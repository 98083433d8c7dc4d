//! The state of a context's captures, which knows neither the context nor its streams.

use std::{
    any::Any,
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicUsize, Ordering},
    },
};

use cust::sys::{CUdeviceptr, CUmodule};
use gpu_driver_core::lock;

/// The captures of a context.
#[derive(Default)]
pub(crate) struct Captures {
    /// Held shared by captures, alone by waits for the whole context: see the head of `capture/mod.rs`.
    pub(super) gate: RwLock<()>,
    /// Held by the one thread that tries to have `gate` alone.
    pub(super) turn: Mutex<()>,
    /// See the head of `capture/mod.rs`.
    joining: RwLock<()>,
    /// Captures of [`Stream::capture`] under way, in any thread.
    pub(super) under_way: AtomicUsize,
    pub(super) owned: Mutex<Owned>,
    /// Released when the device is idle and no capture is under way.
    pub(super) left: Mutex<Vec<Resource>>,
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
pub(super) struct Owned {
    /// By the number of the capture that is under way. One that was not begun by [`Stream::capture`] has no end here and keeps its own.
    pub(super) captures: HashMap<u64, Resources>,
    /// Memory that a buffer and a graph share, or one of them has.
    pub(super) shared: HashMap<CUdeviceptr, Shared>,
}

/// The resources of a capture.
#[derive(Default)]
pub(super) struct Resources {
    /// Begun by [`Stream::capture`], whose graph takes the resources over.
    pub(super) is_ours: bool,
    pub(super) list: Vec<Resource>,
    /// Addresses in `Owned::shared`.
    pub(super) buffers: Vec<CUdeviceptr>,
    /// Buffers that were released again within the capture: later work of their stream may have them.
    reusable: Vec<Reusable>,
}

struct Reusable {
    address: CUdeviceptr,
    bytes: usize,
    stream: usize,
}

pub(super) struct Shared {
    pub(super) bytes: usize,
    pub(super) buffer: bool,
    pub(super) graph: bool,
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

impl Owned {
    pub(super) fn is_ours(&self, number: u64) -> bool {
        self.captures.get(&number).is_some_and(|resources| resources.is_ours)
    }

    /// Memory that a buffer of the same stream had earlier in the same capture, and that is not much larger than needed.
    pub(super) fn reuse(&mut self, number: u64, stream: usize, bytes: usize) -> Option<CUdeviceptr> {
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
