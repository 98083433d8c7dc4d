//! The threads and the shared memory of a matrix, chosen from its size.

use gpu_array::{DType, gpu_driver::Arch};

use super::{
    constants,
    problem::{LinalgFunction, LinalgProblem},
};
use crate::common::launch::DeviceLimits;

/// The most threads of a block.
const MOST_THREADS: usize = constants::MOST_THREADS as usize;

/// Shared memory that each device has without being asked.
const SHARED_BYTES: usize = 48 << 10;

/// Numbers that depend on the architecture.
#[derive(Clone, Copy, Debug)]
struct LinalgTuning {
    /// The most right-hand sides in shared memory at once. With 16 a matrix of 64 rows of f64 and its right-hand sides fit in `SHARED_BYTES`, with 32 not.
    most_chunk: usize,
    /// Blocks for each multiprocessor: the number that runs at once, twice.
    blocks_per_multiprocessor: usize,
}

const SM_90: LinalgTuning = LinalgTuning {
    most_chunk: 16,                // tune gpu-algos.linalg_chunk: 8 16; solve-batched/.*/gpu-algos/device
    blocks_per_multiprocessor: 32, // tune gpu-algos.linalg_blocks: 16 32 64; (solve|cholesky|qr)-batched/.*/gpu-algos/device
};

/// By architecture, the oldest first.
static TUNING: [(Arch, LinalgTuning); 1] = [(Arch::new(9, 0), SM_90)];

/// The kernel's template argument, and the division of threads and shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinalgPolicy {
    /// Warps of a team: 1 also for a part of a warp.
    pub(super) warps: usize,
    /// Threads of a team.
    pub(super) team: usize,
    /// Teams of a block.
    pub(super) teams: usize,
    pub(super) chunk: usize,
    pub(super) a_pitch: usize,
    pub(super) b_pitch: usize,
    pub(super) b_offset: usize,
    pub(super) order_offset: usize,
    /// Elements of shared memory of a team.
    pub(super) team_elements: usize,
}

impl LinalgPolicy {
    /// A team has a thread for each row or column, as far as a warp has; larger matrices have a block.
    pub(super) fn of(problem: &LinalgProblem, arch: Arch) -> Self {
        let LinalgProblem { rows, columns, function, dtype, .. } = *problem;
        let width = if function == LinalgFunction::Qr { columns } else { rows };
        let (warps, team) = Self::team(rows.max(width));
        let has_sides =
            matches!(function, LinalgFunction::SolveTriangular(_) | LinalgFunction::Solve | LinalgFunction::Inverse);
        let chunk = if has_sides { columns.clamp(1, team.min(arch.tuned(&TUNING).most_chunk)) } else { 0 };
        let (a_pitch, b_pitch) = (width | 1, chunk | 1);
        let b_offset = rows * a_pitch;
        let order_offset = b_offset + if has_sides { rows * b_pitch } else { 0 };
        // Places of rows have 4 bytes, factors of reflections are elements. Teams begin at multiples of 8 bytes.
        let team_elements = (order_offset + rows).next_multiple_of(2);
        let fitting = SHARED_BYTES / (team_elements * dtype.bytes()).max(1);
        let mut teams = if warps > 1 { 1 } else { MOST_THREADS / team };
        while teams > fitting && teams * team > 32 {
            teams /= 2;
        }
        Self { warps, team, teams, chunk, a_pitch, b_pitch, b_offset, order_offset, team_elements }
    }

    /// Warps and threads for matrices of so many rows or columns.
    fn team(n: usize) -> (usize, usize) {
        if n > 32 { (MOST_THREADS / 32, MOST_THREADS) } else { (1, n.next_power_of_two().max(4)) }
    }

    /// The number of warps of teams of more than one.
    pub(super) const LARGE: usize = MOST_THREADS / 32;

    /// Threads of a block.
    pub(super) fn threads(&self) -> u32 {
        (self.team * self.teams) as u32
    }

    /// Dynamic shared memory of a block.
    pub(super) fn shared_bytes(&self, dtype: DType) -> usize {
        self.teams * self.team_elements * dtype.bytes()
    }

    /// Blocks of the grid, which strides over the stack.
    pub(super) fn blocks(&self, problem: &LinalgProblem, device: &DeviceLimits) -> usize {
        let most = device.arch.tuned(&TUNING).blocks_per_multiprocessor * device.multiprocessors;
        problem.matrices().div_ceil(self.teams).min(most).max(1)
    }
}
