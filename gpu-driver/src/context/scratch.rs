//! The scratch memory that a context and its streams hold.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use crate::raw::{CUdeviceptr, CUstream};
use gpu_driver_core::{fork, lock};

use super::Context;

/// A kind of scratch memory; a stream has one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScratchKind {
    /// Counters, which are zero between kernels, and bytes that hold anything.
    Counted,
    /// All of it is zero between kernels.
    Cleared,
}

/// The scratch memory of one stream.
#[derive(Default)]
pub(crate) struct Scratch {
    /// The memory of each [`ScratchKind`].
    pub(crate) memory: Mutex<[ScratchMemory; 2]>,
}

impl Scratch {
    /// Gives the memory back in the order of its stream, which goes next.
    pub(super) fn release(&self, context: &Context, stream: CUstream) {
        if fork::is_child() {
            return;
        }
        let memory = std::mem::take(&mut *lock(&self.memory));
        for address in memory.map(|memory| memory.address).into_iter().filter(|&address| address != 0) {
            context.scratches.live.fetch_sub(1, Ordering::Relaxed);
            context.release_in_order(stream, address);
        }
    }
}

/// Address 0 for none.
#[derive(Default)]
pub(crate) struct ScratchMemory {
    pub(crate) address: CUdeviceptr,
    pub(crate) bytes: usize,
}

/// The scratch memory of a context beside that of its streams.
#[derive(Default)]
pub(crate) struct Scratches {
    /// The memory of the main stream.
    pub(crate) main: Scratch,
    /// The memory of captures under way.
    pub(crate) of_captures: Mutex<Vec<OfCapture>>,
    /// How many allocations streams have now.
    pub(crate) live: AtomicUsize,
}

impl Scratches {
    /// How many allocations streams keep for their next calls.
    pub(crate) fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// Gives no memory of a capture that has ended any more: it is the graph's.
    pub(crate) fn forget_capture(&self, number: u64) {
        lock(&self.of_captures).retain(|memory| memory.capture != number);
    }
}

/// Scratch memory of one stream within one capture. It stays when a later call needs more: the work of earlier ones uses it.
pub(crate) struct OfCapture {
    pub(crate) capture: u64,
    pub(crate) kind: ScratchKind,
    pub(crate) stream: usize,
    pub(crate) address: CUdeviceptr,
    pub(crate) bytes: usize,
}
