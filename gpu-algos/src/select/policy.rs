//! The kernel of a selection and its template arguments: plain data, chosen from the layout, the element types and the device.

use gpu_array::{DType, expression::LoweredLeaf, gpu_driver::Arch};

use super::leaves::Read;
use crate::{
    common::launch::DeviceLimits,
    device::params::{CONTIGUOUS, INDICES, KEYS, LENGTHS, REJECTED, VALUES},
    tiles::{layout::MemoryLayout, policy::TilePolicy},
};

/// The kernel that selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SelectAlgorithm {
    /// Values in registers, tile by tile: `select_single_pass`.
    SinglePass,
    /// Values in shared memory, tile by tile: `select_pipelined`. `tiles_ahead` tiles wait for the counts before them.
    Pipelined { tiles_ahead: u32 },
}

/// The kernel with its template arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SelectPolicy {
    pub(crate) algorithm: SelectAlgorithm,
    pub(crate) tile: TilePolicy,
}

/// Numbers that depend on the architecture, by which kernels and tiles are chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct SelectTuning {
    /// Registers for a thread's inputs of a tile of `select_single_pass`.
    registers: usize,
    /// Number of tiles that keeps a device busy.
    busy_tiles: usize,
    /// Threads of a block of `select_pipelined` without the service warp.
    pipelined_threads: usize,
    /// Bytes of a tile's values in `select_pipelined`.
    pipelined_bytes: usize,
    /// Registers for a thread's inputs of a tile of `select_pipelined`.
    pipelined_registers: usize,
    /// Tiles per multiprocessor from which on `select_pipelined` pays.
    pipelined_tiles: usize,
}

/// Measured on an H200.
///
/// Half of 2^28 f32 are selected in 416 us (CUB 3.0.1 600). Before packs were read without branches it was 452, with 512 threads and tiles
/// of 48 KB 475, of 32 KB and three ahead 518, with 256 threads 629.
const SM_90: SelectTuning = SelectTuning {
    registers: 32,   // tune gpu-algos.select_registers: 16 32 64; (select|partition)-half/.*/gpu-algos/device
    busy_tiles: 100, // tune gpu-algos.select_busy_tiles: 50 100 200; (select|partition)-half/.*/gpu-algos/device
    pipelined_threads: 768, // tune gpu-algos.select_threads: 512 768; select-half/.*/gpu-algos/device
    pipelined_bytes: 49152, // tune gpu-algos.select_bytes: 32768 49152; select-half/.*/gpu-algos/device
    pipelined_registers: 64, // tune gpu-algos.select_pipelined_registers: 32 64; select-half/.*/gpu-algos/device
    pipelined_tiles: 4, // tune gpu-algos.select_pipelined_tiles: 2 4 8; select-half/.*/gpu-algos/device
};

/// By architecture, the oldest first.
static TUNING: [(Arch, SelectTuning); 1] = [(Arch::new(9, 0), SM_90)];

/// Shared memory for the selected values of a tile. It needs no opt-in, and several blocks fit a multiprocessor.
const SHARED: usize = 32 << 10;
/// Most neighbours that a thread takes at once: with more, the bits of each would take too many registers.
const WIDEST: usize = 8;
/// Most rows of packs of a warp, and most rows of single values. With twice as many packs each kernel spilled (ptxas for sm_90).
const MOST_PACKS: usize = 4;
const MOST_ROWS: usize = 8;
/// Tiles of a block of `select_pipelined` that wait for the counts before them, and tiles that are loaded.
const TILES_AHEAD: usize = 2;
pub(super) const LOADING: usize = 2;
/// Bytes of `select_pipelined` in front of a warp's values, for the key before them.
const PAD: usize = 32;
/// Shared memory of `select_pipelined` besides its tiles.
const SHARED_BESIDES: usize = 4096;

impl SelectTuning {
    pub(super) fn of(arch: Arch) -> &'static Self {
        arch.tuned(&TUNING)
    }
}

/// A selection among at least one value.
#[derive(Clone, Copy, Debug)]
pub(super) struct SelectProblem<'p> {
    pub(super) layout: &'p MemoryLayout,
    pub(super) leaves: &'p [LoweredLeaf<'p>],
    pub(super) operands: SelectOperands<'p>,
    /// The flags of the kernel.
    pub(super) mode: u32,
    /// Step between neighbouring values of the target, in elements.
    pub(super) step: isize,
}

/// The operands of a selection, by which tiles are cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct SelectOperands<'s> {
    /// The leaves without repetitions.
    leaves: &'s [LoweredLeaf<'s>],
    /// Bytes of a value of each leaf, or 0 for a leaf that is not read. The first leaf shares its buffer with the selected values.
    leaf_bytes: &'s [usize],
    /// Bytes of a selected value, and of an index in a tile; 0 for one that is not written.
    value_bytes: usize,
    index_bytes: usize,
    /// Whether the value before a warp's first one is read too.
    has_keys: bool,
    /// Whether the kernel writes more than the selected values and their indices.
    is_heavy: bool,
}

impl<'s> SelectOperands<'s> {
    /// The operands of a selection with this mode, whose values have the type `written`.
    pub(super) fn of(read: &'s Read<'_>, mode: u32, written: DType) -> Self {
        Self {
            leaves: &read.leaves,
            leaf_bytes: &read.bytes,
            value_bytes: if mode & VALUES != 0 { written.bytes() } else { 0 },
            index_bytes: if mode & INDICES != 0 { 2 } else { 0 },
            has_keys: mode & KEYS != 0,
            is_heavy: mode & (REJECTED | LENGTHS) != 0,
        }
    }
}

impl SelectPolicy {
    /// The policy for a problem: tiles in shared memory if they fit and there are enough for the device, else tiles in registers.
    pub(super) fn of(problem: &SelectProblem<'_>, device: &DeviceLimits) -> Self {
        let SelectProblem { layout, leaves, operands, step, .. } = *problem;
        let (count, tuning) = (layout.count(), SelectTuning::of(device.arch));
        let enough = tuning.pipelined_tiles * device.multiprocessors;
        let is_contiguous = layout.mode & CONTIGUOUS != 0;
        let fits = |policy: &Self| {
            count / policy.tile.values() >= enough && layout.are_leaves_packed(leaves, policy.tile.vector_size as usize)
        };
        let mut pipelined = Self::pipelined(&operands, device.most_shared_bytes, tuning);
        let pipelined = if is_contiguous && step == 1 { pipelined.find(fits) } else { None };
        pipelined.unwrap_or_else(|| Self::single_pass(&operands, is_contiguous, count, tuning))
    }

    /// The policy of the kernel `select_single_pass` for `count` values.
    pub(super) fn single_pass(
        operands: &SelectOperands<'_>,
        is_contiguous: bool,
        count: usize,
        tuning: &SelectTuning,
    ) -> Self {
        let &SelectTuning { registers, busy_tiles, .. } = tuning;
        let moved_bytes = operands.value_bytes.max(operands.index_bytes);
        let in_memory = || operands.leaves.iter().filter(|leaf| !leaf.is_place).map(|leaf| leaf.dtype.bytes());
        // Neighbours that fill 16 bytes; fewer if the moved values are wide.
        let width = (16 / in_memory().max().unwrap_or(4)).min(64 / moved_bytes).min(WIDEST);
        let width = if is_contiguous { width } else { 1 };
        // A value occupies registers of its own, however small it is.
        let input_words: usize = in_memory().map(|bytes| bytes.div_ceil(4)).sum();
        let by_registers = registers / (width * input_words.max(1));
        let most = if is_contiguous { MOST_PACKS } else { MOST_ROWS };
        let packs = |threads: usize| by_registers.min(SHARED / (threads * width * moved_bytes)).clamp(1, most);
        let tiles = |threads: usize| count / (threads * width * packs(threads));
        // Fewer, larger blocks have fewer slots to poll. With few tiles, smaller tiles finish sooner.
        let enough = if operands.is_heavy { 4 * busy_tiles } else { busy_tiles };
        let (threads, packs) = match () {
            _ if is_contiguous && tiles(512) >= enough => (512, packs(512)),
            // The same tiles with twice the threads: each has less code, which is fetched to run once.
            _ if is_contiguous && !operands.is_heavy && tiles(256) >= busy_tiles => (512, packs(256).div_ceil(2)),
            _ if tiles(256) >= busy_tiles || !is_contiguous => (256, packs(256)),
            _ => (256, packs(256).div_ceil(4)),
        };
        Self { algorithm: SelectAlgorithm::SinglePass, tile: TilePolicy::new(threads, width, packs) }
    }

    /// The possible policies of the kernel `select_pipelined` for contiguous operands, the one with the widest packs first.
    /// There is none if they do not fit `most_shared` bytes.
    pub(super) fn pipelined(
        operands: &SelectOperands<'_>,
        most_shared: usize,
        tuning: &SelectTuning,
    ) -> impl Iterator<Item = Self> + use<> {
        let &SelectTuning { pipelined_threads: threads, pipelined_bytes, pipelined_registers, .. } = tuning;
        let &SelectOperands { leaf_bytes, value_bytes, index_bytes, .. } = operands;
        // Indices alone take the place of values.
        let (selected, beside) = if value_bytes > 0 { (value_bytes, index_bytes) } else { (index_bytes, 0) };
        let stages = TILES_AHEAD + LOADING;
        let main = leaf_bytes.first().map_or(0, |&bytes| bytes).max(selected);
        let others = || leaf_bytes.iter().skip(1).copied().filter(|&bytes| bytes > 0);
        let of_value = stages * (main + beside) + LOADING * others().sum::<usize>();
        let pads = if operands.has_keys { PAD * threads / 32 * (stages + LOADING * others().count()) } else { 0 };
        let room = most_shared.saturating_sub(SHARED_BESIDES + pads) / (of_value * threads);
        // Registers of a row: its values, the selected values and a vote.
        let row_words: usize = 1 + leaf_bytes.iter().chain([&selected]).map(|bytes| bytes.div_ceil(4)).sum::<usize>();
        let most = (pipelined_bytes / (threads * main)).min(pipelined_registers / row_words).min(room);
        let rows = [16, 12, 8, 4].into_iter().find(|&rows| rows <= most).unwrap_or(0);
        let narrowest = leaf_bytes.iter().copied().filter(|&bytes| bytes > 0).min();
        let shared = rows * threads * of_value + pads;
        let widths = [16, 8, 4, 2, 1].into_iter().filter(move |width| {
            // A copy has at least 4 bytes.
            rows > 0 && rows.is_multiple_of(*width) && narrowest.is_some_and(|narrowest| narrowest * width >= 4)
        });
        let algorithm = SelectAlgorithm::Pipelined { tiles_ahead: TILES_AHEAD as u32 };
        widths.map(move |width| {
            let tile = TilePolicy::new(threads, width, rows / width);
            Self { algorithm, tile: TilePolicy { service_threads: 32, shared_bytes: shared as u32, ..tile } }
        })
    }
}
