//! Tuning of selections: plain data, chosen from element types, passed as template arguments.

use gpu_array::expression::LoweredLeaf;

use crate::scan::{Algorithm, Policy};

/// Registers for a thread's inputs of a tile.
const REGISTERS: usize = 32;
/// Shared memory for the selected values of a tile. It needs no opt-in, and several blocks fit a multiprocessor.
const SHARED: usize = 32 << 10;
/// Most neighbours that a thread takes at once: with more, the bits of each would take too many registers.
const WIDEST: usize = 8;
/// Most rows of packs of a warp, and most rows of single values. With twice as many packs each kernel spilled (ptxas for sm_90).
const MOST_PACKS: usize = 4;
const MOST_ROWS: usize = 8;
/// Number of tiles that keeps a device busy.
const BUSY: usize = 100;

/// The policy for `count` values, of which `leaves` are read and `moved_bytes` each go through shared memory.
/// `heavy` says that the kernel writes more than the selected values and their indices.
pub(crate) fn policy(leaves: &[LoweredLeaf<'_>], moved_bytes: usize, plain: bool, heavy: bool, count: usize) -> Policy {
    let in_memory = || leaves.iter().filter(|leaf| !leaf.is_place).map(|leaf| leaf.dtype.bytes());
    // Neighbours that fill 16 bytes; fewer if the moved values are wide.
    let width = (16 / in_memory().max().unwrap_or(4)).min(64 / moved_bytes).min(WIDEST);
    let width = if plain { width } else { 1 };
    // A value occupies registers of its own, however small it is.
    let words: usize = in_memory().map(|bytes| bytes.div_ceil(4)).sum();
    let (by_registers, most) = (REGISTERS / (width * words.max(1)), if plain { MOST_PACKS } else { MOST_ROWS });
    let unroll = |threads: usize| by_registers.min(SHARED / (threads * width * moved_bytes)).clamp(1, most);
    let tiles = |threads: usize| count / (threads * width * unroll(threads));
    // Fewer, larger blocks have fewer slots to poll. With few tiles, smaller tiles finish sooner.
    let enough = if heavy { 4 * BUSY } else { BUSY };
    let (threads, unroll) = match () {
        _ if plain && tiles(512) >= enough => (512, unroll(512)),
        // The same tiles with twice the threads: each has less code, which is fetched to run once.
        _ if plain && !heavy && tiles(256) >= BUSY => (512, unroll(256).div_ceil(2)),
        _ if tiles(256) >= BUSY || !plain => (256, unroll(256)),
        _ => (256, unroll(256).div_ceil(4)),
    };
    Policy::new(threads as u32, width as u32, unroll as u32)
}

/// Constants of `ahead.cuh`: threads of a block without the service warp.
/// The others are tiles that wait for the counts before them, tiles that are loaded, bytes of a tile's values, registers for a thread's inputs of it,
/// and further shared memory.
///
/// On an H200 half of 2^28 f32 are selected in 416 us (CUB 3.0.1 600). Before packs were read without branches it was 452, with 512 threads and tiles
/// of 48 KB 475, of 32 KB and three ahead 518, with 256 threads 629.
const AHEAD_THREADS: usize = 768;
const AHEAD: usize = 2;
pub(super) const LOADING: usize = 2;
const TILE_BYTES: usize = 48 << 10;
const AHEAD_REGISTERS: usize = 64;
const AHEAD_BESIDES: usize = 4096;
/// Tiles per multiprocessor from which on the kernel pays.
pub(super) const TILES_OF_AHEAD: usize = 4;

/// The operands of a kernel that has its tiles in shared memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Staged<'s> {
    /// Bytes of a value of each leaf, or 0 for a leaf without a buffer. The first leaf shares its buffer with the selected values.
    pub(super) leaves: &'s [usize],
    /// Bytes of a selected value, and of an index beside it.
    pub(super) selected: usize,
    pub(super) beside: usize,
    /// Whether the value before a warp's first one is read too.
    pub(super) keys: bool,
}

impl Staged<'_> {
    /// The possible policies, the one with the widest packs first. There is none if they do not fit `most_shared` bytes.
    pub(super) fn policies(&self, most_shared: usize) -> impl Iterator<Item = Policy> {
        let (stages, threads) = (AHEAD + LOADING, AHEAD_THREADS);
        let main = self.leaves.first().map_or(0, |&bytes| bytes).max(self.selected);
        let others = || self.leaves.iter().skip(1).copied().filter(|&bytes| bytes > 0);
        let of_value = stages * (main + self.beside) + LOADING * others().sum::<usize>();
        let pads = if self.keys { 16 * threads / 32 * (stages + LOADING * others().count()) } else { 0 };
        let room = most_shared.saturating_sub(AHEAD_BESIDES + pads) / (of_value * threads);
        // Registers of a row: its values, the selected values and a vote.
        let words: usize = 1 + self.leaves.iter().chain([&self.selected]).map(|bytes| bytes.div_ceil(4)).sum::<usize>();
        let most = (TILE_BYTES / (threads * main)).min(AHEAD_REGISTERS / words).min(room);
        let rows = [16, 12, 8, 4].into_iter().find(|&rows| rows <= most).unwrap_or(0);
        let narrowest = self.leaves.iter().copied().filter(|&bytes| bytes > 0).min();
        let shared = rows * threads * of_value + pads;
        let widths = [16, 8, 4, 2, 1].into_iter().filter(move |width| {
            // A copy has at least 4 bytes.
            rows > 0 && rows.is_multiple_of(*width) && narrowest.is_some_and(|narrowest| narrowest * width >= 4)
        });
        widths.map(move |width| {
            let policy = Policy::new(threads as u32, width as u32, (rows / width) as u32);
            Policy {
                algorithm: Algorithm::Pipelined { ahead: AHEAD as u32 },
                helpers: 32,
                shared_bytes: shared as u32,
                ..policy
            }
        })
    }
}
