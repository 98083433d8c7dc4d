//! Which maps of rows one launch evaluates, and how its threads go along them.

use gpu_array::gpu_driver::Arch;

use super::problem::RowProblem;

/// The template arguments of `map_rows`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowPolicy {
    /// Threads of a block.
    pub(super) threads: u32,
    /// Threads of a row, as a power of 2.
    pub(super) log_threads: u32,
    /// Neighbours that a thread takes at once, as one pack.
    pub(super) vector_size: u32,
    /// Packs of a thread whose loads are in flight at once.
    pub(super) vectors_per_thread: u32,
    /// Whether rows have whole packs alone.
    pub(super) is_whole: bool,
}

/// Numbers that depend on the architecture.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowTuning {
    /// Packs of a row that a thread takes, while a row has threads enough.
    packs: usize,
    /// The most threads of a row.
    most_threads: usize,
    /// Packs of a thread in flight, of at most two leaves.
    vectors_per_thread: u32,
}

/// Measured on an H200, softmax of 2^26 f32, us. Rows of 8192 take 167 with 8 packs a thread, 182 with 4 and 288 with 2; rows of 1024 take 162, 170 and 178;
/// rows of 32,768 take 215 with 8. Eight in flight take 174, 192 and 229. PyTorch's softmax of rows of 8192 takes 280, a copy 129.
const SM_90: RowTuning = RowTuning {
    packs: 8,              // tune gpu-algos.map_rows_packs: 4 8 16; softmax/.*/gpu-algos/device
    most_threads: 1024,    // tune gpu-algos.map_rows_threads: 256 512 1024; softmax/.*/gpu-algos/device
    vectors_per_thread: 4, // tune gpu-algos.map_rows_vectors: 2 4; softmax/.*/gpu-algos/device
};

/// By architecture, the oldest first.
static TUNING: [(Arch, RowTuning); 1] = [(Arch::new(9, 0), SM_90)];

impl RowTuning {
    pub(super) fn of(arch: Arch) -> &'static Self {
        arch.tuned(&TUNING)
    }
}

/// Threads of a block of rows with fewer.
const BLOCK_THREADS: usize = 256;

/// The most leaves of all expressions: each is loaded by its own code.
const MOST_LEAVES: usize = 16;

/// The most places of a row of which there are fewer than multiprocessors. Longer ones are reduced by several blocks each, in launches of their own.
const MOST_OF_FEW: usize = 1 << 14;

impl RowPolicy {
    /// The policy; None where launches apart are better, or the expressions are too long for one kernel.
    pub(super) fn of(problem: &RowProblem<'_, '_>, multiprocessors: usize, tuning: &RowTuning) -> Option<Self> {
        let (rows, length, leaves) = (problem.rows(), problem.row.length, problem.leaves.len());
        let is_better_apart = !problem.goes_along_rows() || (rows < multiprocessors && length > MOST_OF_FEW);
        if leaves > MOST_LEAVES || is_better_apart {
            return None;
        }
        let width = (16 / problem.most_bytes()).clamp(1, 8);
        let packs = length.div_ceil(width);
        // Short rows have as many threads as make a sector of memory or two.
        let least = packs.next_power_of_two().min(4);
        let of_row = packs.div_ceil(tuning.packs).next_power_of_two().clamp(least, tuning.most_threads);
        let arrays = leaves.div_ceil(problem.expressions.len());
        let vectors_per_thread = tuning.vectors_per_thread / if arrays > 2 { 2 } else { 1 };
        Some(Self {
            threads: of_row.max(BLOCK_THREADS) as u32,
            log_threads: of_row.trailing_zeros(),
            vector_size: width as u32,
            vectors_per_thread,
            is_whole: length.is_multiple_of(width),
        })
    }

    /// A policy of rows with many packs, of elements of so many bytes.
    pub(super) fn sample(bytes: usize) -> Self {
        let vector_size = (16 / bytes).clamp(1, 8) as u32;
        Self { threads: 256, log_threads: 8, vector_size, vectors_per_thread: SM_90.vectors_per_thread, is_whole: true }
    }

    /// The grid for so many rows.
    pub(super) fn blocks(&self, rows: usize) -> usize {
        rows.div_ceil((self.threads >> self.log_threads) as usize)
    }

    /// The C++ type.
    pub(super) fn tile(&self) -> String {
        let Self { threads, log_threads, vector_size, vectors_per_thread, is_whole } = self;
        format!(
            "gpu::algos::reduce::RowTile<{threads}, {log_threads}, {vector_size}, {vectors_per_thread}, {is_whole}>"
        )
    }

    /// The words that tell it from other policies.
    pub(super) fn key(&self) -> u64 {
        let Self { threads, log_threads, vector_size, vectors_per_thread, is_whole } = *self;
        let parts =
            [threads.into(), log_threads.into(), vector_size.into(), vectors_per_thread.into(), is_whole.into()];
        parts.into_iter().fold(0, |key: u64, part: u64| key << 12 | part)
    }
}
