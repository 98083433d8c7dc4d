//! Device and pinned memory: allocations, the counts of pools and contexts, and the addresses that copies may use.

use std::sync::Arc;

use super::DriverState;
use crate::{
    code::{INVALID_VALUE, OUT_OF_MEMORY, Outcome},
    kinds::Call,
    memory::{Life, MemoryKind},
    work::{Graph, Op},
};

/// Bytes of an emulated device's memory.
pub(crate) const MEMORY_BYTES: usize = 80 << 30;

impl DriverState {
    /// Bytes in use on a device.
    pub(crate) fn used(&self, device: usize) -> u64 {
        let outside = self.contexts.values().filter(|context| context.device == device).map(|context| context.used);
        let pools = self.pools.values().filter(|pool| pool.device == device).map(|pool| pool.reserved);
        outside.chain(pools).sum()
    }

    /// An allocation of its own, usable at once.
    pub(crate) fn allocate(&mut self, context: usize, bytes: usize, kind: MemoryKind) -> Outcome<usize> {
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
    pub(crate) fn allocate_ordered(&mut self, stream: usize, bytes: usize, pool: usize) -> Outcome<usize> {
        let context = self.stream_state(stream)?.context;
        self.count(context, Call::Allocation)?;
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        let others = {
            let pool = self.pools.get(&pool).filter(|pool| !pool.has_ended).ok_or(INVALID_VALUE)?;
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
    pub(crate) fn allocation_at(&self, address: usize) -> Outcome<(usize, usize, MemoryKind)> {
        let found = self.memory.find(address).filter(|all| all.start == address && !all.is_freed);
        found.map(|all| (all.bytes, all.pool, all.kind)).ok_or(INVALID_VALUE)
    }

    /// Takes an allocation out of the counts of its pool or context; the memory itself goes in its stream's order.
    pub(crate) fn uncount(&mut self, context: usize, bytes: usize, pool: usize) {
        if pool != 0 {
            if let Some(pool) = self.pools.get_mut(&pool) {
                pool.used -= (bytes as u64).min(pool.used);
                pool.reserved = pool.used.max(pool.reserved.min(pool.threshold));
            }
            self.forget_ended_pool(pool);
        } else if let Some(context) = self.contexts.get_mut(&context) {
            context.used -= (bytes as u64).min(context.used);
        }
    }

    /// Lets go of a pool that was destroyed, and of whose memory nothing is in use any more.
    pub(crate) fn forget_ended_pool(&mut self, pool: usize) {
        if self.pools.get(&pool).is_some_and(|pool| pool.has_ended && pool.used == 0) {
            self.pools.remove(&pool);
        }
    }

    /// Allocations of a context that are not released.
    pub(crate) fn live_allocations(&self, context: usize) -> usize {
        self.memory.live(context)
    }

    /// Whether host memory is pinned, so that copies read it only when they run.
    pub(crate) fn is_pinned(&self, address: usize) -> bool {
        self.memory.find(address).is_some_and(|all| all.kind == MemoryKind::Pinned && all.life == Life::Live)
            || self.registered.iter().any(|range| range.contains(&address))
    }

    /// Whether an address is device memory: an allocation, or a variable of a module.
    pub(crate) fn is_device(&self, address: usize) -> bool {
        self.memory.find(address).is_some_and(|all| all.kind == MemoryKind::Device)
            || self.modules.values().any(|module| module.image.contains(address))
    }

    /// Checks that a range is device memory, ordered or live, as the driver does when a copy is asked for.
    pub(crate) fn expect_device(&self, address: usize, bytes: usize) -> Outcome {
        let Some(all) = self.memory.find(address).filter(|all| all.life != Life::Released) else {
            let variable = self.modules.values().any(|module| module.image.holds(address, bytes, false));
            return if variable { Ok(()) } else { Err(INVALID_VALUE) };
        };
        let inside = address >= all.start && bytes <= all.bytes && address - all.start <= all.bytes - bytes;
        if inside { Ok(()) } else { Err(INVALID_VALUE) }
    }

    /// Ends the memory that a graph allocates and that is not in use, when nothing leads to the graph any more.
    pub(crate) fn forget_graph(&mut self, graph: Arc<Graph>) {
        let Some(graph) = Arc::into_inner(graph) else { return };
        for node in graph.nodes {
            let Op::Begin(address) = node.op else { continue };
            self.memory.set_of_graph(address, false);
            if self.memory.find(address).is_some_and(|all| all.life == Life::Ordered) {
                self.memory.release(address);
            }
        }
    }
}
