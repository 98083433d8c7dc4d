//! Queued work: operations, the marks by which streams wait for each other, and graphs.

use std::{
    ffi::c_void,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use crate::launch::Order;

mod graph;
mod rows;

pub(crate) use graph::{Capture, CaptureError, Graph, Node};
pub(crate) use rows::{BoxRows, Spread};

/// A place in a stream: recorded by an event, waited for by others.
#[derive(Debug, Default)]
pub(crate) struct Mark {
    done: AtomicBool,
    /// Bits of the device's time in milliseconds.
    time: AtomicU64,
}

impl Mark {
    pub(crate) fn is_done(&self) -> bool {
        self.done.load(Ordering::Relaxed)
    }

    pub(crate) fn ms(&self) -> f64 {
        f64::from_bits(self.time.load(Ordering::Relaxed))
    }

    pub(crate) fn set(&self, ms: f64) {
        self.time.store(ms.to_bits(), Ordering::Relaxed);
        self.done.store(true, Ordering::Relaxed);
    }
}

/// A host function to call.
#[derive(Clone, Copy)]
pub(crate) struct HostCall {
    pub(crate) function: unsafe extern "C" fn(*mut c_void),
    pub(crate) data: *mut c_void,
}

// SAFETY: whoever queues it vouches that any thread may call it.
unsafe impl Send for HostCall {}

// SAFETY: as above.
unsafe impl Sync for HostCall {}

/// Queued work.
#[derive(Clone)]
pub(crate) enum Op {
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
    /// Addresses are read when it runs; of `data`, which `from` leads to, where there is some.
    CopyRows {
        to: Spread,
        from: Spread,
        rows: BoxRows,
        data: Option<Arc<[u8]>>,
    },
    FillRows {
        to: Spread,
        rows: BoxRows,
        value: u32,
        width: usize,
    },
    Begin(usize),
    Release(usize),
    Record(Arc<Mark>),
    Wait(Arc<Mark>),
    Call(HostCall),
    Graph(Arc<Graph>),
}
