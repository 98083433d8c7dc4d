//! How compactions are cut: plain data, chosen from element types, passed as template arguments.

use gpu_array::expression::LoweredLeaf;

use crate::scan::{Form, Policy};

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

/// For `count` values, of which these leaves are read, and from which so many bytes go through shared memory for each; `heavy` where more is written than what is kept
/// and where it is.
pub(crate) fn policy(leaves: &[LoweredLeaf<'_>], moved_bytes: usize, plain: bool, heavy: bool, count: usize) -> Policy {
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
    let enough = if heavy { 4 * BUSY } else { BUSY };
    let (threads, unroll) = match () {
        _ if plain && tiles(512) >= enough => (512, unroll(512)),
        // The same tiles by twice as many threads: less code for each, which is fetched to be run once.
        _ if plain && !heavy && tiles(256) >= BUSY => (512, unroll(256).div_ceil(2)),
        _ if tiles(256) >= BUSY || !plain => (256, unroll(256)),
        _ => (256, unroll(256).div_ceil(4)),
    };
    Policy::new(threads as u32, width as u32, unroll as u32)
}

/// Of `ahead.cuh`: threads of a block, but the one warp that hands on; tiles whose counts wait for those before them, and that are loaded; bytes of a tile's
/// values; registers for what a thread reads of it; shared memory besides.
///
/// On an H200 half of 2^28 f32 are selected in 416 us (CUB 3.0.1 600). Before packs were read without branches it was 452, with 512 threads and tiles of 48 KB 475, of
/// 32 KB and three ahead 518, with 256 threads 629.
const AHEAD_THREADS: usize = 768;
const AHEAD: usize = 2;
pub(super) const LOADING: usize = 2;
const TILE_BYTES: usize = 48 << 10;
const AHEAD_REGISTERS: usize = 64;
const AHEAD_BESIDES: usize = 4096;
/// Tiles for each multiprocessor from which on it pays.
pub(super) const TILES_OF_AHEAD: usize = 4;

/// What a kernel that has its tiles in shared memory puts there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Staged<'s> {
    /// The leaves with rooms of their own, with bytes of a value or 0; the first one's is that of what is kept too.
    pub(super) leaves: &'s [usize],
    /// Bytes of what is kept of each value, and of a place beside it.
    pub(super) kept: usize,
    pub(super) beside: usize,
    /// Whether what is before a warp's values is read too.
    pub(super) keys: bool,
}

impl Staged<'_> {
    /// The kernels that would do, the best one first: with the widest packs. None where they would not fit `most_shared` bytes.
    pub(super) fn policies(&self, most_shared: usize) -> impl Iterator<Item = Policy> {
        let (stages, threads) = (AHEAD + LOADING, AHEAD_THREADS);
        let main = self.leaves.first().map_or(0, |&bytes| bytes).max(self.kept);
        let others = || self.leaves.iter().skip(1).copied().filter(|&bytes| bytes > 0);
        let of_value = stages * (main + self.beside) + LOADING * others().sum::<usize>();
        let pads = if self.keys { 16 * threads / 32 * (stages + LOADING * others().count()) } else { 0 };
        let room = most_shared.saturating_sub(AHEAD_BESIDES + pads) / (of_value * threads);
        // Of a row: values, what is made of them, and a vote.
        let words: usize = 1 + self.leaves.iter().chain([&self.kept]).map(|bytes| bytes.div_ceil(4)).sum::<usize>();
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
            Policy { form: Form::Ring { ahead: AHEAD as u32 }, helpers: 32, shared_bytes: shared as u32, ..policy }
        })
    }
}
