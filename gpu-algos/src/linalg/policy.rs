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

/// The most rows of matrices of which each thread has one in its registers. An H200 solves 2^20 systems of 8 rows of f32 so in 161 us, with 8 lanes for each
/// in 414, and in shared memory in 1157; of f64 in 334, 665 and 1299.
const MOST_ROWS_OF_THREADS: usize = 8;

/// The most rows of matrices of which each lane of a warp has one row in its registers: 2^16 systems of 32 rows of f32 in 500 us, in shared memory in 1947;
/// of f64 in 782 and 2483.
const MOST_ROWS_OF_LANES: usize = 32;

/// The place of a matrix while a kernel works on it, with the kernel's template argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// A team of so many warps has it in shared memory; one warp, or a part of it, counts as 1.
    Teams(usize),
    /// A thread has it in registers, padded to so many rows.
    Threads(usize),
    /// So many lanes of a warp have a row each in registers.
    Rows(usize),
}

impl Algorithm {
    /// The algorithms of matrices in registers, whose loops are unrolled.
    pub(super) const IN_REGISTERS: [Self; 4] = [Self::Threads(4), Self::Threads(8), Self::Rows(16), Self::Rows(32)];

    fn of(problem: &LinalgProblem) -> Self {
        let LinalgProblem { rows, columns, function, .. } = *problem;
        let has_registers = !matches!(function, LinalgFunction::SolveTriangular(_) | LinalgFunction::Qr);
        let width = if function == LinalgFunction::Qr { columns } else { rows };
        match rows.max(width) {
            n if has_registers && n <= MOST_ROWS_OF_THREADS => Self::Threads(n.next_power_of_two().max(4)),
            n if has_registers && n <= MOST_ROWS_OF_LANES => Self::Rows(n.next_power_of_two()),
            n => Self::Teams(if n > 32 { LinalgPolicy::LARGE } else { 1 }),
        }
    }

    /// The second argument of the kernel's template.
    pub(super) fn argument(self) -> usize {
        let (Self::Teams(argument) | Self::Threads(argument) | Self::Rows(argument)) = self;
        argument
    }

    /// Elements of shared memory of a row or a matrix of a lane, with 16 bytes between two of them.
    fn pitch(elements: usize, dtype: DType) -> usize {
        elements + 16 / dtype.bytes()
    }
}

/// The kernel's template argument, and the division of threads and shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinalgPolicy {
    pub(super) algorithm: Algorithm,
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
    /// Small matrices stand in registers. A team has a thread for each row or column, as far as a warp has; larger matrices have a block.
    pub(super) fn of(problem: &LinalgProblem, arch: Arch) -> Self {
        match Algorithm::of(problem) {
            algorithm @ Algorithm::Teams(_) => Self::in_shared_memory(problem, algorithm, arch),
            algorithm @ Algorithm::Threads(size) => {
                Self::in_registers(problem, algorithm, 1, Algorithm::pitch(size * size, problem.dtype))
            }
            algorithm @ Algorithm::Rows(size) => {
                Self::in_registers(problem, algorithm, size, size * Algorithm::pitch(size, problem.dtype))
            }
        }
    }

    /// The policy of lanes that have their matrices in registers: the shared memory through which these pass.
    fn in_registers(problem: &LinalgProblem, algorithm: Algorithm, team: usize, team_elements: usize) -> Self {
        let teams = Self::teams(team, team_elements, problem.dtype);
        Self { algorithm, team, teams, team_elements, chunk: 0, a_pitch: 0, b_pitch: 0, b_offset: 0, order_offset: 0 }
    }

    /// The policy of teams that have their matrices in shared memory.
    fn in_shared_memory(problem: &LinalgProblem, algorithm: Algorithm, arch: Arch) -> Self {
        let LinalgProblem { rows, columns, function, dtype, .. } = *problem;
        let width = if function == LinalgFunction::Qr { columns } else { rows };
        let team = Self::team(rows.max(width));
        let has_sides =
            matches!(function, LinalgFunction::SolveTriangular(_) | LinalgFunction::Solve | LinalgFunction::Inverse);
        let chunk = if has_sides { columns.clamp(1, team.min(arch.tuned(&TUNING).most_chunk)) } else { 0 };
        let (a_pitch, b_pitch) = (width | 1, chunk | 1);
        let b_offset = rows * a_pitch;
        let order_offset = b_offset + if has_sides { rows * b_pitch } else { 0 };
        // Places of rows have 4 bytes, factors of reflections are elements. Teams begin at multiples of 8 bytes.
        let team_elements = (order_offset + rows).next_multiple_of(2);
        let teams = Self::teams(team, team_elements, dtype);
        Self { algorithm, team, teams, chunk, a_pitch, b_pitch, b_offset, order_offset, team_elements }
    }

    /// Teams of a block, of whole warps, whose shared memory needs no opt-in.
    fn teams(team: usize, team_elements: usize, dtype: DType) -> usize {
        let fitting = SHARED_BYTES / (team_elements * dtype.bytes()).max(1);
        let mut teams = (MOST_THREADS / team).max(1);
        while teams > fitting && teams * team > 32 && teams > 1 {
            teams /= 2;
        }
        teams
    }

    /// Threads for matrices of so many rows or columns.
    fn team(n: usize) -> usize {
        if n > 32 { MOST_THREADS } else { n.next_power_of_two().max(4) }
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
