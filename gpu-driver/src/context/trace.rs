//! The places of allocations, recorded where a program asks for it.

use std::{
    collections::HashMap,
    panic::Location,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use gpu_driver_core::{fork, lock};

/// The allocations that are alive, by address (arrays, which have none, by their handle), while anybody traces.
#[derive(Default)]
pub(crate) struct Trace {
    users: AtomicUsize,
    alive: Mutex<HashMap<u64, Traced>>,
}

/// An allocation that is alive.
#[derive(Clone, Copy)]
pub(crate) struct Traced {
    pub(crate) owner: &'static str,
    pub(crate) bytes: usize,
    pub(crate) place: &'static Location<'static>,
}

impl Trace {
    pub(crate) fn begin(&self) {
        if fork::is_child() {
            return;
        }
        let _alive = lock(&self.alive);
        self.users.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the trace of one user; with the last one all is forgotten.
    pub(crate) fn end(&self) {
        if fork::is_child() {
            return;
        }
        let mut alive = lock(&self.alive);
        if self.users.fetch_sub(1, Ordering::Relaxed) == 1 {
            *alive = HashMap::new();
        }
    }

    fn is_on(&self) -> bool {
        self.users.load(Ordering::Relaxed) > 0 && !fork::is_child()
    }

    pub(crate) fn record(&self, address: u64, owner: &'static str, bytes: usize, place: &'static Location<'static>) {
        if self.is_on() && address != 0 {
            lock(&self.alive).insert(address, Traced { owner, bytes, place });
        }
    }

    /// Sets the size of an allocation that has grown.
    pub(crate) fn resize(&self, address: u64, bytes: usize) {
        if self.is_on()
            && let Some(traced) = lock(&self.alive).get_mut(&address)
        {
            traced.bytes = bytes;
        }
    }

    /// To be called before the memory is released, since another allocation may have its address from then on.
    pub(crate) fn forget(&self, address: u64) {
        if self.is_on() {
            lock(&self.alive).remove(&address);
        }
    }

    pub(crate) fn alive(&self) -> Vec<Traced> {
        if !self.is_on() {
            return Vec::new();
        }
        lock(&self.alive).values().copied().collect()
    }
}
