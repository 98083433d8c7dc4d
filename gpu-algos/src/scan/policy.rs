//! Tuning of scans: plain data, chosen from element types, passed as template arguments.

use gpu_array::expression::LoweredLeaf;

/// The kernel that scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// Values in registers, tile by tile: `scan_single_pass`, and `select_single_pass` of selections.
    SinglePass,
    /// Values in shared memory, tile by tile: `scan_pipelined`, and `select_pipelined` of selections. `ahead` tiles wait for those before them.
    Pipelined { ahead: u32 },
    /// Values in shared memory, all at once: `scan_single_wave`, with `parts` tiles for a block.
    SingleWave { parts: u32 },
    /// A block for each line: `scan_rows`.
    Rows,
    /// Blocks that share columns: `scan_columns`.
    Columns,
    /// A block for `lanes` packs of columns: `scan_column_strips`.
    ColumnStrips { lanes: u32 },
}

/// The template arguments of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) algorithm: Algorithm,
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Neighbours that a thread takes at once, as one pack.
    pub(crate) width: u32,
    /// Packs of a thread in a tile.
    pub(crate) unroll: u32,
    /// Threads of the service warps of a block.
    pub(crate) helpers: u32,
    /// Dynamic shared memory of a block.
    pub(crate) shared_bytes: u32,
}

/// Threads of a block.
const THREADS: u32 = 256;
/// Registers for the values of a tile.
const REGISTERS: usize = 32;
/// Number of tiles that keeps a device busy.
const BUSY: usize = 100;
/// Bytes of a thread's states in a tile of `scan_pipelined`, or of the values that they are made of.
const PIPELINE_BYTES: usize = 128;
/// Threads of a block and tiles that wait, the best pair first; the first is for states of a word.
const PIPELINES: [(usize, usize); 5] = [(352, 3), (416, 2), (384, 2), (256, 2), (128, 2)];
/// Tiles of a block of `scan_pipelined` that are in flight, or are scanned just now.
pub(super) const LOADING: usize = 2;
/// Shared memory of `scan_pipelined` besides its tiles.
const PIPELINE_BESIDES: usize = 4096;
/// Constants of `scan_single_wave.cuh`: threads of a block; values of a thread in a tile; most tiles of a block, and of all.
///
/// On an H200, 2^20 values, f32 / f64 / f32 by key in us: 4.4 / 6.2 / 5.6 (CUB 3.0.1 6.7 / 7.8 / 7.5). Half as many values 5.4 / 7.2 / 7.2, twice as
/// many 4.6 / - / 6.9; twice as many threads with half as many values 5.0 / 6.6 / 6.4, half as many with twice as many 4.3 / 7.6 / 5.4.
const WAVE_THREADS: usize = 512;
const WAVE_VALUES: usize = 16;
const MOST_PARTS: usize = 8;
const MOST_TILES: usize = 64 * 32;
/// Constants of `scan_rows.cuh`: bytes of a thread's states in a tile, and tiles of a block, in hand and in flight.
const ROWS_BYTES: usize = 64;
const TILES_OF_BLOCK: usize = 3;
/// Constants of `scan_column_strips.cuh`: threads of a block; tiles; shared memory by which warps exchange states.
const STRIP_THREADS: usize = 512;
const STRIP_TILES: usize = 2;
const STRIP_BESIDES: usize = 32 << 10;

impl Policy {
    pub(crate) fn new(threads: u32, width: u32, unroll: u32) -> Self {
        Self { algorithm: Algorithm::SinglePass, threads, width, unroll, helpers: 0, shared_bytes: 0 }
    }

    /// The policy of the kernel `scan_pipelined`.
    /// None if the tiles do not fit `most_shared` bytes, or packs have less than 4 bytes.
    pub(crate) fn ring(leaves: &[LoweredLeaf<'_>], bytes: Bytes, most_shared: usize) -> Option<Self> {
        let staged = Staged::of(leaves, bytes, |_| PIPELINE_BYTES)?;
        let of_value = |ahead: usize| (ahead + LOADING) * staged.main + LOADING * staged.others;
        let shared = |(threads, ahead): (usize, usize)| threads * staged.values * of_value(ahead);
        let rings = &PIPELINES[if bytes.state <= 4 { 0 } else { 1 }..];
        let ring = rings.iter().copied().find(|&ring| shared(ring) + PIPELINE_BESIDES <= most_shared)?;
        let policy = staged.policy(Algorithm::Pipelined { ahead: ring.1 as u32 }, ring.0, shared(ring));
        Some(Self { helpers: 64, ..policy })
    }

    /// The policy of the kernel `scan_single_wave` for `count` values; None if they do not fit the multiprocessors' shared memory.
    pub(crate) fn wave(
        leaves: &[LoweredLeaf<'_>],
        bytes: Bytes,
        count: usize,
        multiprocessors: usize,
        most_shared: usize,
    ) -> Option<Self> {
        let staged = Staged::of(leaves, bytes, |bytes| WAVE_VALUES * bytes)?;
        let tile = WAVE_THREADS * staged.values;
        let parts = (count + staged.width).div_ceil(tile).div_ceil(multiprocessors);
        let shared = parts.checked_mul(tile * (staged.main + staged.others))?;
        let fits =
            parts <= MOST_PARTS && parts * multiprocessors <= MOST_TILES && shared + PIPELINE_BESIDES <= most_shared;
        fits.then(|| staged.policy(Algorithm::SingleWave { parts: parts as u32 }, WAVE_THREADS, shared))
    }

    /// The policy of the kernel `scan_rows` for lines of `length` values; None if lines are too short or tiles do not fit.
    pub(crate) fn along(leaves: &[LoweredLeaf<'_>], bytes: Bytes, length: usize, most_shared: usize) -> Option<Self> {
        let staged = Staged::of(leaves, bytes, |_| ROWS_BYTES)?;
        let threads = [256, 128, 64, 32].into_iter().find(|threads| threads * staged.values <= length)?;
        let shared = threads * staged.values * TILES_OF_BLOCK * (staged.main + staged.others);
        (shared + PIPELINE_BESIDES <= most_shared).then(|| staged.policy(Algorithm::Rows, threads, shared))
    }

    /// The policy of the kernel `scan_column_strips` for `scan_columns` columns; None if they are too few for blocks of their own, or do not fit.
    pub(crate) fn down(
        leaves: &[LoweredLeaf<'_>],
        bytes: Bytes,
        columns: usize,
        multiprocessors: usize,
        most_shared: usize,
    ) -> Option<Self> {
        let staged = Staged::of(leaves, bytes, |_| PIPELINE_BYTES)?;
        let width = staged.width;
        let enough = |lanes: &usize| columns.div_ceil(width * lanes) * 10 >= multiprocessors * 9;
        let lanes = [16, 8].into_iter().find(enough)?;
        let of_warps = 2 * STRIP_THREADS / 32 * lanes * width * bytes.state;
        let in_memory = leaves.iter().filter(|leaf| !leaf.is_place).count().max(1);
        let unroll = (REGISTERS / (width * bytes.state.div_ceil(4) * in_memory)).clamp(1, 8);
        let of_leaves: usize = leaves.iter().filter(|leaf| !leaf.is_place).map(|leaf| leaf.dtype.bytes()).sum();
        let shared = STRIP_THREADS * unroll * width * STRIP_TILES * of_leaves.max(1);
        if of_warps > STRIP_BESIDES || shared + of_warps + PIPELINE_BESIDES > most_shared {
            return None;
        }
        let policy = Self::new(STRIP_THREADS as u32, width as u32, unroll as u32);
        Some(Self { algorithm: Algorithm::ColumnStrips { lanes: lanes as u32 }, shared_bytes: shared as u32, ..policy })
    }

    /// The policy of the kernel `scan_single_pass` for `count` values of these leaves, with states and results of these sizes.
    pub(crate) fn of(
        leaves: &[LoweredLeaf<'_>],
        state_bytes: usize,
        result_bytes: usize,
        plain: bool,
        count: usize,
    ) -> Self {
        let in_memory = || leaves.iter().filter(|leaf| !leaf.is_place);
        let widest = in_memory().map(|leaf| leaf.dtype.bytes()).max().unwrap_or(4).max(result_bytes);
        let words = state_bytes.div_ceil(4).max(1);
        if !plain {
            return Self::new(THREADS, 1, (8 / words).clamp(1, 8) as u32);
        }
        let width = (16 / widest).clamp(1, 16).min(REGISTERS / words.min(REGISTERS));
        let shares = words.max(in_memory().count());
        let unroll = |registers: usize| registers / (width * shares).min(registers);
        let tiles = |unroll: usize| count / (THREADS as usize * width * unroll);
        // Larger tiles have fewer slots to poll, which matters if slots have more words. With few tiles, smaller tiles finish sooner.
        let unroll = match () {
            _ if shares > 1 && tiles(unroll(2 * REGISTERS)) >= 4 * BUSY => unroll(2 * REGISTERS),
            _ if tiles(unroll(REGISTERS)) >= BUSY => unroll(REGISTERS),
            _ => (unroll(REGISTERS) / 4).max(1),
        };
        Self::new(THREADS, width as u32, unroll as u32)
    }

    /// The policy of the kernel `scan_columns`, for scans along an axis across which neighbours lie.
    pub(crate) fn across(leaves: &[LoweredLeaf<'_>], state_bytes: usize, result_bytes: usize) -> Self {
        let in_memory = || leaves.iter().filter(|leaf| !leaf.is_place);
        let widest = in_memory().map(|leaf| leaf.dtype.bytes()).max().unwrap_or(4).max(result_bytes);
        let words = state_bytes.div_ceil(4).max(1);
        let width = (16 / widest).clamp(1, 8).min(REGISTERS / words.min(REGISTERS));
        let unroll = REGISTERS / (width * words.max(in_memory().count())).min(REGISTERS);
        Self { algorithm: Algorithm::Columns, ..Self::new(THREADS, width as u32, unroll as u32) }
    }

    /// Values of a tile.
    pub(crate) fn tile(&self) -> usize {
        (self.threads * self.width * self.unroll) as usize
    }
}

/// Bytes of a state, and of a result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes {
    pub(crate) state: usize,
    pub(crate) result: usize,
}

/// Layout of tiles in shared memory.
struct Staged {
    /// Values of a pack, and of a thread in a tile.
    width: usize,
    values: usize,
    /// Bytes of a value: of the first leaf or the state that takes its place, and of the other leaves.
    main: usize,
    others: usize,
}

impl Staged {
    /// The layout; `of_thread` maps the bytes of a value to the bytes of a thread in a tile.
    /// None if packs have less than the 4 bytes of a copy, or the size of a state does not divide 16.
    fn of(leaves: &[LoweredLeaf<'_>], bytes: Bytes, of_thread: impl Fn(usize) -> usize) -> Option<Self> {
        let Bytes { state, result } = bytes;
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

    fn policy(&self, algorithm: Algorithm, threads: usize, shared_bytes: usize) -> Policy {
        let policy = Policy::new(threads as u32, self.width as u32, (self.values / self.width) as u32);
        Policy { algorithm, shared_bytes: shared_bytes as u32, ..policy }
    }
}
