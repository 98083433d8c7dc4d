//! The template arguments and the grid of the loop over a kernel's places.

use gpu_array::gpu_driver::{Device, Dim3, LaunchConfig};

use crate::Result;

/// The template arguments of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ElementwisePolicy {
    /// Threads of a block.
    threads: u32,
    /// Number of places of a thread whose loads are in flight at once.
    vectors_per_thread: u32,
}

/// Threads that a multiprocessor holds.
const RESIDENT: u32 = 2048;

/// Measured on an H200; for all architectures.
pub(super) const POLICY: ElementwisePolicy = ElementwisePolicy {
    threads: 256,          // tune gpu-algos.elementwise_threads: 128 256 512; lincomb/.*/gpu-algos-kernel/device
    vectors_per_thread: 4, // tune gpu-algos.elementwise_vectors: 1 2 4 8; lincomb/.*/gpu-algos-kernel/device
};

impl ElementwisePolicy {
    /// The template arguments.
    pub(super) fn template(self, all: bool) -> String {
        format!("{}, {}, {all}", self.threads, self.vectors_per_thread)
    }

    /// The launch for `count` places, at least one.
    /// If threads have work before or after the loop (`once`), the grid has at most the threads that run at once. Otherwise each block has one tile.
    pub(super) fn launch(self, device: &Device, count: u64, once: bool) -> Result<LaunchConfig> {
        let tiles = count.div_ceil(u64::from(self.threads * self.vectors_per_thread));
        let most = if once {
            u64::from(device.multiprocessors()? * (RESIDENT / self.threads))
        } else {
            u64::from(i32::MAX as u32)
        };
        let grid: Dim3 = (tiles.min(most) as u32).into();
        Ok(LaunchConfig { grid, block: self.threads.into(), shared_bytes: 0 })
    }
}
