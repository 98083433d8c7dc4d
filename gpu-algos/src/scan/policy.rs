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

/// Threads of a block.
const THREADS: u32 = 256;
/// Registers for the values of a tile.
const REGISTERS: usize = 32;
/// Tiles that are enough for a device.
const BUSY: usize = 100;

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
        let in_memory = || leaves.iter().filter(|leaf| !leaf.is_place);
        let widest = in_memory().map(|leaf| leaf.dtype.bytes()).max().unwrap_or(4).max(result_bytes);
        let words = state_bytes.div_ceil(4).max(1);
        if !plain {
            return Self { threads: THREADS, width: 1, unroll: (8 / words).clamp(1, 8) as u32 };
        }
        let width = (16 / widest).clamp(1, 16).min(REGISTERS / words.min(REGISTERS));
        let shares = words.max(in_memory().count()) * if segments { 2 } else { 1 };
        let unroll = |registers: usize| registers / (width * shares).min(registers);
        let tiles = |unroll: usize| count / (THREADS as usize * width * unroll);
        // Where slots have more words larger tiles have fewer of them to look at; where there are few tiles smaller ones are done sooner.
        let unroll = match () {
            _ if shares > 1 && tiles(unroll(2 * REGISTERS)) >= 4 * BUSY => unroll(2 * REGISTERS),
            _ if tiles(unroll(REGISTERS)) >= BUSY => unroll(REGISTERS),
            _ => (unroll(REGISTERS) / 4).max(1),
        };
        Self { threads: THREADS, width: width as u32, unroll: unroll as u32 }
    }

    /// Of scans along an axis across which neighbours lie.
    pub(crate) fn across(leaves: &[LoweredLeaf<'_>], state_bytes: usize, result_bytes: usize) -> Self {
        let in_memory = || leaves.iter().filter(|leaf| !leaf.is_place);
        let widest = in_memory().map(|leaf| leaf.dtype.bytes()).max().unwrap_or(4).max(result_bytes);
        let words = state_bytes.div_ceil(4).max(1);
        let width = (16 / widest).clamp(1, 8).min(REGISTERS / words.min(REGISTERS));
        let unroll = REGISTERS / (width * words.max(in_memory().count())).min(REGISTERS);
        Self { threads: THREADS, width: width as u32, unroll: unroll as u32 }
    }

    /// Values of a tile.
    pub(crate) fn tile(&self) -> usize {
        (self.threads * self.width * self.unroll) as usize
    }
}
