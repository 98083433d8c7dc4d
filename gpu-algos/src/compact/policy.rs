//! How compactions are cut: plain data, chosen from element types, passed as template arguments.

use gpu_array::expression::LoweredLeaf;

use crate::scan::Policy;

const THREADS: usize = 256;
/// Registers for the values of a tile, in bytes.
const REGISTERS: usize = 160;
/// Shared memory for what is kept of a tile: no more than goes without asking, and several blocks have room beside each other.
const SHARED: usize = 32 << 10;
/// Tiles that are enough for a device.
const BUSY: usize = 100;
/// Rows that ranks are made of: more have no use.
const MOST: usize = 8;

/// For `count` values, of which these leaves are read, and from which so many bytes go through shared memory for each.
pub(crate) fn policy(leaves: &[LoweredLeaf<'_>], moved_bytes: usize, plain: bool, count: usize) -> Policy {
    let in_memory = || leaves.iter().filter(|leaf| !leaf.is_place).map(|leaf| leaf.dtype.bytes());
    // Neighbours that make 16 bytes; fewer of what is computed and wide.
    let width = (16 / in_memory().max().unwrap_or(4)).min(64 / moved_bytes);
    let width = if plain { width } else { 1 };
    let by_registers = REGISTERS / (width * in_memory().sum::<usize>().max(1));
    let by_memory = SHARED / (THREADS * width * moved_bytes);
    let unroll = by_registers.min(by_memory).clamp(1, MOST);
    let is_busy = count / (THREADS * width * unroll) >= BUSY;
    // Where there are few tiles smaller ones are done sooner.
    let unroll = if is_busy || !plain { unroll } else { unroll.div_ceil(4) };
    Policy { threads: THREADS as u32, width: width as u32, unroll: unroll as u32 }
}
