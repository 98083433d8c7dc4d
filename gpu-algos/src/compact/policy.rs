//! How compactions are cut: plain data, chosen from element types, passed as template arguments.

use gpu_array::expression::LoweredLeaf;

use crate::scan::Policy;

/// Registers for what a thread reads of a tile.
const REGISTERS: usize = 32;
/// Shared memory for what is kept of a tile: no more than goes without asking, and several blocks have room beside each other.
const SHARED: usize = 32 << 10;
/// Neighbours that a thread takes at once: with more, the bits of each would take too many registers.
const WIDEST: usize = 8;
/// Rows of packs of a warp, and rows of single values. With twice as many packs each kernel spilled (ptxas for sm_90).
const MOST_PACKS: usize = 4;
const MOST_ROWS: usize = 8;
/// Tiles that are enough for a device.
const BUSY: usize = 100;

/// For `count` values, of which these leaves are read, and from which so many bytes go through shared memory for each.
pub(crate) fn policy(leaves: &[LoweredLeaf<'_>], moved_bytes: usize, plain: bool, count: usize) -> Policy {
    let in_memory = || leaves.iter().filter(|leaf| !leaf.is_place).map(|leaf| leaf.dtype.bytes());
    // Neighbours that make 16 bytes; fewer of what is computed and wide.
    let width = (16 / in_memory().max().unwrap_or(4)).min(64 / moved_bytes).min(WIDEST);
    let width = if plain { width } else { 1 };
    // A value has a register to itself, however small it is.
    let words: usize = in_memory().map(|bytes| bytes.div_ceil(4)).sum();
    let (by_registers, most) = (REGISTERS / (width * words.max(1)), if plain { MOST_PACKS } else { MOST_ROWS });
    let unroll = |threads: usize| by_registers.min(SHARED / (threads * width * moved_bytes)).clamp(1, most);
    let tiles = |threads: usize| count / (threads * width * unroll(threads));
    // Fewer and larger blocks have fewer slots to look at; where there are few tiles smaller ones are done sooner.
    let (threads, unroll) = match () {
        _ if plain && tiles(512) >= 4 * BUSY => (512, unroll(512)),
        _ if tiles(256) >= BUSY || !plain => (256, unroll(256)),
        _ => (256, unroll(256).div_ceil(4)),
    };
    Policy::new(threads as u32, width as u32, unroll as u32)
}
