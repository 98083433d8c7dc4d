//! The template arguments that kernels of tiles have in common.

/// The part of a policy that says how a block takes a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TilePolicy {
    /// Threads of a block that compute elements.
    pub(crate) threads: u32,
    /// Neighbours that a thread takes at once, as one pack.
    pub(crate) vector_size: u32,
    /// Packs of a thread in a tile.
    pub(crate) vectors_per_thread: u32,
    /// Threads of the service warps of a block.
    pub(crate) service_threads: u32,
    /// Dynamic shared memory of a block.
    pub(crate) shared_bytes: u32,
}

impl TilePolicy {
    /// A block without service warps and without dynamic shared memory.
    pub(crate) fn new(threads: usize, vector_size: usize, vectors_per_thread: usize) -> Self {
        let [threads, vector_size, vectors_per_thread] = [threads, vector_size, vectors_per_thread].map(|n| n as u32);
        Self { threads, vector_size, vectors_per_thread, service_threads: 0, shared_bytes: 0 }
    }

    /// Values of a tile.
    pub(crate) fn values(&self) -> usize {
        (self.threads * self.vector_size * self.vectors_per_thread) as usize
    }

    /// Threads of a block.
    pub(crate) fn block(&self) -> u32 {
        self.threads + self.service_threads
    }

    /// A key of the template arguments.
    pub(crate) fn key(&self) -> u64 {
        u64::from(self.threads) << 32 | u64::from(self.vector_size) << 16 | u64::from(self.vectors_per_thread)
    }

    /// The template arguments, in the order of `gpu::tiles::Policy`.
    pub(crate) fn arguments(&self) -> String {
        format!("{}, {}, {}", self.threads, self.vector_size, self.vectors_per_thread)
    }
}
