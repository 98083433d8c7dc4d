//! The kernel of a scan and its template arguments: plain data, chosen from the layout, the element types and the device.
//!
//! # Measured alternatives
//! Times are of an H200, in us.
//!
//! - `scan_single_pass`, 2^28 f32: 600 to 620. With four batches of slots read at once 656, with eight 676, since more polls disturb the writers; with
//!   sums of batches published too, which are fewer to poll but come later, 720; with the next tile claimed before the tile in hand is written 980.
//! - `scan_single_wave`, 2^20 values, f32, f64, f32 by key: 4.4, 6.2, 5.6 (CUB 3.0.1 6.7, 7.8, 7.5; `scan_single_pass` 5.0, 8.3, 7.9, and 0.5 more where
//!   its blocks claim after the wait for the stream). Written with the default of the caches in place of the streaming one: 4.5, 6.2.
//! - `scan_pipelined`, 2^28 f32, 2^27 f64, 2^28 f32 by key: 529, 538, 821 (CUB 3.0.1 697, 664, 1060; a copy of the bytes of either of the first two
//!   512). A tile more ahead, and tiles of 44 KB in place of 48, took f32 from 561 to 529; tiles of 52 KB f64 from 579 to 538, of 56 KB to 571. A kernel
//!   is faster if it does not wait for the slowest block and has fewer slots to poll, not if it reads more at once: with three tiles in flight f32 took
//!   560 to 750, f64 640 to 1300. Slower too: two blocks to a multiprocessor; one tile ahead; four warps that only write; each warp with values of its
//!   own, and one barrier to a tile; tiles of 32 KB or less.
//! - `scan_column_strips`, 8192^2 f32 in a prototype: 141, and `scan_rows` of the other axis 145; a copy takes 132. Strips of 128 bytes take 156,
//!   those of 64 bytes 185.

use gpu_array::{
    expression::LoweredLeaf,
    gpu_driver::{Arch, Header, joined_text, kernel_constants},
};

use crate::{
    common::launch::DeviceLimits,
    device::params::{CONTIGUOUS, FLAGS, KEYS, LINES},
    tiles::{layout::MemoryLayout, policy::TilePolicy},
};

/// The kernel that scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanAlgorithm {
    /// Values in registers, tile by tile: `scan_single_pass`.
    SinglePass,
    /// Values in shared memory, tile by tile: `scan_pipelined`. Each block has scanned `tiles_ahead` tiles whose prefixes it does not know yet.
    Pipelined { tiles_ahead: u32 },
    /// Values in shared memory, all at once: `scan_single_wave`, with at most `tiles_per_block` tiles for a block.
    SingleWave { tiles_per_block: u32 },
    /// A block for each line: `scan_rows`.
    Rows,
    /// Blocks that share columns: `scan_columns`.
    Columns,
    /// A block for `lanes` packs of columns: `scan_column_strips`.
    ColumnStrips { lanes: u32 },
}

/// The kernel with its template arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScanPolicy {
    pub(crate) algorithm: ScanAlgorithm,
    pub(crate) tile: TilePolicy,
}

/// Numbers that depend on the architecture, by which kernels and tiles are chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScanTuning {
    /// Threads of a block of `scan_single_pass` and `scan_columns`.
    threads: usize,
    /// Registers of a thread for the values of a tile of these kernels.
    registers: usize,
    /// Number of tiles that keeps a device busy.
    busy_tiles: usize,
    /// Bytes of a thread's states in a tile of `scan_pipelined`, or of the values that they are made of.
    pipelined_bytes: usize,
    /// Tiles per multiprocessor from which on `scan_pipelined` pays.
    pipelined_tiles: usize,
    /// `scan_single_wave` pays if at least one multiprocessor in this many has a tile.
    wave_share: usize,
    /// Bytes of a thread's states in a tile of `scan_rows`.
    row_bytes: usize,
    /// Lines per multiprocessor from which on `scan_rows` pays.
    rows: usize,
    /// Rows from which on `scan_column_strips` pays.
    strip_rows: usize,
}

/// Measured on an H200.
const SM_90: ScanTuning = ScanTuning {
    threads: 256,    // tune gpu-algos.scan_threads: 128 256 512; (segmented-scan|scan-axis0)/.*/gpu-algos/device
    registers: 32,   // tune gpu-algos.scan_registers: 16 32 64; (segmented-scan|scan-axis0)/.*/gpu-algos/device
    busy_tiles: 100, // tune gpu-algos.scan_busy_tiles: 50 100 200; (inclusive|exclusive)-scan/.*/gpu-algos/device
    pipelined_bytes: 128, // tune gpu-algos.pipelined_bytes: 64 128; (inclusive|exclusive)-scan/.*/gpu-algos/device
    pipelined_tiles: 4, // tune gpu-algos.pipelined_tiles: 2 4 8; (inclusive|exclusive)-scan/.*/gpu-algos/device
    wave_share: 8,   // tune gpu-algos.wave_share: 4 8 16; (inclusive|exclusive)-scan/.*/gpu-algos/device
    row_bytes: 64,   // tune gpu-algos.scan_row_bytes: 32 64 128; scan-axis1/.*/gpu-algos/device
    rows: 2,         // tune gpu-algos.scan_rows: 1 2 4; scan-axis1/.*/gpu-algos/device
    strip_rows: 256, // tune gpu-algos.strip_rows: 128 256 512; scan-axis0/.*/gpu-algos/device
};

/// By architecture, the oldest first.
static TUNING: [(Arch, ScanTuning); 1] = [(Arch::new(9, 0), SM_90)];

/// Threads of a block of `scan_pipelined` and tiles ahead, the best pair first; the first is for states of at most 4 bytes.
const PIPELINES: [(usize, usize); 5] = [(352, 3), (416, 2), (384, 2), (256, 2), (128, 2)];
/// Tiles of a block of `scan_pipelined` that are in flight, or are scanned just now.
pub(super) const LOADING: usize = 2;
/// Shared memory of the kernels with tiles in shared memory besides these tiles.
const SHARED_BESIDES: usize = 4096;
/// Threads of a block of `scan_single_wave`, and values of a thread in a tile.
///
/// On an H200, 2^20 values, f32 / f64 / f32 by key in us: 4.4 / 6.2 / 5.6 (CUB 3.0.1 6.7 / 7.8 / 7.5). Half as many values 5.4 / 7.2 / 7.2, twice as
/// many 4.6 / - / 6.9; twice as many threads with half as many values 5.0 / 6.6 / 6.4, half as many with twice as many 4.3 / 7.6 / 5.4.
const WAVE_THREADS: usize = 512;
const WAVE_VALUES: usize = 16;
/// Threads of a block of `scan_column_strips`.
const STRIP_THREADS: usize = 512;

kernel_constants! {
    const CONSTANTS: &str;
    /// Most tiles of a block of `scan_single_wave`.
    const WAVE_TILES_PER_BLOCK: i32 = 8;
    /// Most tiles of `scan_single_wave`.
    const WAVE_TILES: i32 = 2048;
    /// Tiles of a block of `scan_rows` or `scan_column_strips` that are in flight.
    const TILES_IN_FLIGHT: i32 = 2;
    /// Tiles of a block of `scan_rows`, in hand and in flight.
    const ROW_TILES_PER_BLOCK: i32 = 3;
    /// Most bytes of shared memory by which the warps of `scan_column_strips` exchange states.
    const STRIP_STATES_BYTES: i32 = 32768;
}

/// The header of these constants.
pub(super) const CONSTANTS_HEADER: Header = Header {
    name: "scan_constants.cuh",
    text: joined_text![
        "#pragma once\n#include \"prelude.cuh\"\nnamespace gpu::algos::scan {\n",
        CONSTANTS,
        "} // namespace gpu::algos::scan\n",
    ],
};

impl ScanTuning {
    pub(super) fn of(arch: Arch) -> &'static Self {
        arch.tuned(&TUNING)
    }
}

/// A scan of at least one value.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScanProblem<'p> {
    pub(super) layout: &'p MemoryLayout,
    pub(super) operands: ScanOperands<'p, 'p>,
    /// The flags of the kernel.
    pub(super) mode: u32,
    /// Whether the epilogue reads operands.
    pub(super) epilogue_reads: bool,
}

/// The operands of a scan, by which tiles are cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScanOperands<'o, 'l> {
    pub(super) leaves: &'o [LoweredLeaf<'l>],
    pub(super) state_bytes: usize,
    pub(super) result_bytes: usize,
}

impl ScanPolicy {
    /// The policy for a problem: tiles in shared memory if such a kernel fits and has enough work for the device, else tiles in registers.
    pub(super) fn of(problem: &ScanProblem<'_>, device: &DeviceLimits) -> Self {
        let ScanProblem { layout, operands, .. } = *problem;
        let tuning = ScanTuning::of(device.arch);
        let staged = Self::staged(problem, device, tuning);
        let in_registers = || match layout.is_across {
            true => Self::columns(&operands, tuning),
            false => Self::single_pass(&operands, layout.mode & CONTIGUOUS != 0, layout.count(), tuning),
        };
        staged.unwrap_or_else(in_registers)
    }

    /// The policy of a kernel with its tiles in shared memory.
    fn staged(problem: &ScanProblem<'_>, device: &DeviceLimits, tuning: &ScanTuning) -> Option<Self> {
        let ScanProblem { layout, operands, mode, epilogue_reads, .. } = *problem;
        // The kernel would wait for operands that the epilogue reads.
        if epilogue_reads {
            return None;
        }
        let &DeviceLimits { multiprocessors, most_shared_bytes, .. } = device;
        let (leaves, length, lines) = (operands.leaves, layout.axes.length(), layout.axes.line_count());
        let width = |policy: &Self| policy.tile.vector_size as usize;
        let is_packed = |policy: &Self| layout.is_packed(leaves, width(policy));
        if layout.is_across {
            let policy = Self::column_strips(&operands, lines, multiprocessors, most_shared_bytes, tuning)?;
            return (length >= tuning.strip_rows && layout.is_packed_in_rows(leaves, width(&policy))).then_some(policy);
        }
        match mode & (CONTIGUOUS | LINES) {
            CONTIGUOUS => {
                let tiles = |policy: &Self| layout.count() / policy.tile.values();
                let pipelined = Self::pipelined(&operands, most_shared_bytes, tuning)
                    .filter(|policy| tiles(policy) >= tuning.pipelined_tiles * multiprocessors);
                let single_wave = || {
                    Self::single_wave(&operands, layout.count(), multiprocessors, most_shared_bytes).filter(|policy| {
                        layout.count() > policy.tile.values() && tiles(policy) * tuning.wave_share >= multiprocessors
                    })
                };
                pipelined.or_else(single_wave).filter(is_packed)
            }
            _ if mode & (CONTIGUOUS | LINES | FLAGS | KEYS) == CONTIGUOUS | LINES => {
                let policy = Self::rows(&operands, length, most_shared_bytes, tuning)?;
                let width = width(&policy);
                let is_whole = length.is_multiple_of(width) && layout.is_aligned(leaves, width);
                (lines >= tuning.rows * multiprocessors && is_whole && is_packed(&policy)).then_some(policy)
            }
            _ => None,
        }
    }

    /// The policy of the kernel `scan_pipelined`.
    /// None if the tiles do not fit `most_shared` bytes, packs have less than 4 bytes, or a state's size is no power of two up to 16.
    pub(super) fn pipelined(operands: &ScanOperands<'_, '_>, most_shared: usize, tuning: &ScanTuning) -> Option<Self> {
        let staged = StagedTile::of(operands, |_| tuning.pipelined_bytes)?;
        let of_value = |ahead: usize| (ahead + LOADING) * staged.main + LOADING * staged.others;
        let shared = |(threads, ahead): (usize, usize)| threads * staged.values * of_value(ahead);
        let pipelines = &PIPELINES[if operands.state_bytes <= 4 { 0 } else { 1 }..];
        let pipeline = pipelines.iter().copied().find(|&one| shared(one) + SHARED_BESIDES <= most_shared)?;
        let (threads, tiles_ahead) = (pipeline.0, pipeline.1 as u32);
        let tile = TilePolicy { service_threads: 64, ..staged.policy(threads, shared(pipeline)) };
        Some(Self { algorithm: ScanAlgorithm::Pipelined { tiles_ahead }, tile })
    }

    /// The policy of the kernel `scan_single_wave` for `count` values; None if they do not fit the multiprocessors' shared memory.
    pub(super) fn single_wave(
        operands: &ScanOperands<'_, '_>,
        count: usize,
        multiprocessors: usize,
        most_shared: usize,
    ) -> Option<Self> {
        let staged = StagedTile::of(operands, |bytes| WAVE_VALUES * bytes)?;
        let values = WAVE_THREADS * staged.values;
        let tiles = (count + staged.width).div_ceil(values).div_ceil(multiprocessors);
        let shared = tiles.checked_mul(values * (staged.main + staged.others))?;
        let fits = tiles <= WAVE_TILES_PER_BLOCK as usize
            && tiles * multiprocessors <= WAVE_TILES as usize
            && shared + SHARED_BESIDES <= most_shared;
        let algorithm = ScanAlgorithm::SingleWave { tiles_per_block: tiles as u32 };
        fits.then(|| Self { algorithm, tile: staged.policy(WAVE_THREADS, shared) })
    }

    /// The policy of the kernel `scan_rows` for lines of `length` values; None if lines are too short or tiles do not fit.
    pub(super) fn rows(
        operands: &ScanOperands<'_, '_>,
        length: usize,
        most_shared: usize,
        tuning: &ScanTuning,
    ) -> Option<Self> {
        let staged = StagedTile::of(operands, |_| tuning.row_bytes)?;
        let threads = [256, 128, 64, 32].into_iter().find(|threads| threads * staged.values <= length)?;
        let shared = threads * staged.values * ROW_TILES_PER_BLOCK as usize * (staged.main + staged.others);
        let tile = staged.policy(threads, shared);
        (shared + SHARED_BESIDES <= most_shared).then_some(Self { algorithm: ScanAlgorithm::Rows, tile })
    }

    /// The policy of the kernel `scan_column_strips` for so many columns; None if they are too few for blocks of their own, or do not fit.
    pub(super) fn column_strips(
        operands: &ScanOperands<'_, '_>,
        columns: usize,
        multiprocessors: usize,
        most_shared: usize,
        tuning: &ScanTuning,
    ) -> Option<Self> {
        let StagedTile { width, .. } = StagedTile::of(operands, |_| tuning.pipelined_bytes)?;
        let &ScanOperands { leaves, state_bytes, .. } = operands;
        let enough = |lanes: &usize| columns.div_ceil(width * lanes) * 10 >= multiprocessors * 9;
        let lanes = [16, 8].into_iter().find(enough)?;
        let of_warps = 2 * STRIP_THREADS / 32 * lanes * width * state_bytes;
        let in_memory = leaves.iter().filter(|leaf| !leaf.is_place).count().max(1);
        let packs = (tuning.registers / (width * state_bytes.div_ceil(4) * in_memory)).clamp(1, 8);
        let mut bytes = leaves.iter().map(|leaf| if leaf.is_place { 0 } else { leaf.dtype.bytes() });
        // The first leaf has a buffer also if it is not in memory.
        let of_value = bytes.next().unwrap_or(0).max(1) + bytes.sum::<usize>();
        let shared = STRIP_THREADS * packs * width * TILES_IN_FLIGHT as usize * of_value;
        if of_warps > STRIP_STATES_BYTES as usize || shared + of_warps + SHARED_BESIDES > most_shared {
            return None;
        }
        let tile = TilePolicy { shared_bytes: shared as u32, ..TilePolicy::new(STRIP_THREADS, width, packs) };
        Some(Self { algorithm: ScanAlgorithm::ColumnStrips { lanes: lanes as u32 }, tile })
    }

    /// The policy of the kernel `scan_single_pass` for `count` values.
    pub(super) fn single_pass(
        operands: &ScanOperands<'_, '_>,
        is_contiguous: bool,
        count: usize,
        tuning: &ScanTuning,
    ) -> Self {
        let &ScanTuning { threads, registers, busy_tiles, .. } = tuning;
        let (state_words, in_memory) = (operands.state_words(), operands.in_memory());
        let algorithm = ScanAlgorithm::SinglePass;
        if !is_contiguous {
            return Self { algorithm, tile: TilePolicy::new(threads, 1, (8 / state_words).clamp(1, 8)) };
        }
        let width = (16 / operands.widest()).clamp(1, 16).min(registers / state_words.min(registers));
        let shares = state_words.max(in_memory);
        let packs = |registers: usize| registers / (width * shares).min(registers);
        let tiles = |packs: usize| count / (threads * width * packs);
        // Larger tiles have fewer slots to poll, which matters if slots have more words. With few tiles, smaller tiles finish sooner.
        let packs = match () {
            _ if shares > 1 && tiles(packs(2 * registers)) >= 4 * busy_tiles => packs(2 * registers),
            _ if tiles(packs(registers)) >= busy_tiles => packs(registers),
            _ => (packs(registers) / 4).max(1),
        };
        Self { algorithm, tile: TilePolicy::new(threads, width, packs) }
    }

    /// The policy of the kernel `scan_columns`, for scans along an axis across which neighbours lie.
    pub(super) fn columns(operands: &ScanOperands<'_, '_>, tuning: &ScanTuning) -> Self {
        let &ScanTuning { threads, registers, .. } = tuning;
        let state_words = operands.state_words();
        let width = (16 / operands.widest()).clamp(1, 8).min(registers / state_words.min(registers));
        let packs = registers / (width * state_words.max(operands.in_memory())).min(registers);
        Self { algorithm: ScanAlgorithm::Columns, tile: TilePolicy::new(threads, width, packs) }
    }
}

impl ScanOperands<'_, '_> {
    /// Bytes of the widest element that is read or written.
    fn widest(&self) -> usize {
        let in_memory = self.leaves.iter().filter(|leaf| !leaf.is_place);
        in_memory.map(|leaf| leaf.dtype.bytes()).max().unwrap_or(4).max(self.result_bytes)
    }

    /// Number of leaves in memory.
    fn in_memory(&self) -> usize {
        self.leaves.iter().filter(|leaf| !leaf.is_place).count()
    }

    fn state_words(&self) -> usize {
        self.state_bytes.div_ceil(4).max(1)
    }
}

/// Layout of a tile in shared memory.
struct StagedTile {
    /// Values of a pack, and of a thread in a tile.
    width: usize,
    values: usize,
    /// Bytes of a value: of the first leaf or the state that takes its place, and of the other leaves.
    main: usize,
    others: usize,
}

impl StagedTile {
    /// The layout; `of_thread` maps the bytes of a value to the bytes of a thread in a tile.
    /// None if packs have less than the 4 bytes of a copy, or the size of a state does not divide 16.
    fn of(operands: &ScanOperands<'_, '_>, of_thread: impl Fn(usize) -> usize) -> Option<Self> {
        let &ScanOperands { leaves, state_bytes: state, result_bytes: result } = operands;
        let bytes = || leaves.iter().map(|leaf| if leaf.is_place { 0 } else { leaf.dtype.bytes() });
        let widest = bytes().max().filter(|&widest| widest > 0).unwrap_or(4).max(result);
        let width = 16 / widest;
        if !state.is_power_of_two() || state > 16 || bytes().any(|bytes| (1..4).contains(&(bytes * width))) {
            return None;
        }
        let of_value = state.max(widest);
        // Three bits tell the packs of a thread apart.
        let values = (of_thread(of_value) / of_value).clamp(width, 32.min(8 * width));
        let main = bytes().next().unwrap_or(0).max(state);
        Some(Self { width, values, main, others: bytes().skip(1).sum() })
    }

    fn policy(&self, threads: usize, shared_bytes: usize) -> TilePolicy {
        let policy = TilePolicy::new(threads, self.width, self.values / self.width);
        TilePolicy { shared_bytes: shared_bytes as u32, ..policy }
    }
}
