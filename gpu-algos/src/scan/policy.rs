//! How scans are cut: plain data, chosen from element types, passed as template arguments.

use gpu_array::expression::LoweredLeaf;

/// The template arguments of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Values that a thread takes at once.
    pub(crate) width: u32,
    /// How many of those it has of a tile.
    pub(crate) unroll: u32,
}

/// Registers for the values of a tile.
const REGISTERS: usize = 32;
/// Blocks that keep a device busy.
const BUSY: usize = 256;

impl Policy {
    /// For `count` values, of which these leaves are read, with a state of so many bytes, and results of so many.
    pub(crate) fn of(
        leaves: &[LoweredLeaf<'_>],
        state_bytes: usize,
        result_bytes: usize,
        segments: bool,
        plain: bool,
        count: usize,
    ) -> Self {
        let threads = 256; // tune gpu-algos.scan_threads: 128 256 512; scan/.*/gpu-algos/device
        let in_memory = || leaves.iter().filter(|leaf| !leaf.is_place);
        let widest = in_memory().map(|leaf| leaf.dtype.bytes()).max().unwrap_or(4).max(result_bytes);
        let words = state_bytes.div_ceil(4).max(1);
        if !plain {
            return Self { threads, width: 1, unroll: (8 / words).clamp(1, 8) as u32 };
        }
        let width = (16 / widest).clamp(1, 16).min(REGISTERS / words.min(REGISTERS));
        let shares = words.max(in_memory().count()) * if segments { 2 } else { 1 };
        let unroll = REGISTERS / (width * shares).min(REGISTERS);
        // Where that gives few tiles, smaller ones are done sooner.
        let tile = threads as usize * width * unroll;
        let unroll = if count / tile < BUSY { (unroll / 4).max(1) } else { unroll };
        Self { threads, width: width as u32, unroll: unroll as u32 }
    }

    /// Values of a tile.
    pub(crate) fn tile(&self) -> usize {
        (self.threads * self.width * self.unroll) as usize
    }
}
