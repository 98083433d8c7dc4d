//! The one decision of a function: the kernel, the division of its threads and of shared memory, and the grid.

use std::iter;

use super::{
    constants::{COLUMNS, FACTORS_ALONE, ONE_COLUMN},
    policy::{Algorithm, LinalgPolicy},
    problem::{LinalgFunction, LinalgProblem},
};
use crate::common::launch::DeviceLimits;

/// A use of the factors that an elimination in registers finds. Each is a kernel of its own: the unrolled loops of all take NVRTC several times as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LuUse {
    Factors,
    OneColumn,
    Columns,
}

impl LuUse {
    fn of(function: LinalgFunction, algorithm: Algorithm, columns: usize) -> Self {
        match (function, algorithm) {
            (LinalgFunction::Solve, Algorithm::Rows(_)) if columns == 1 => Self::OneColumn,
            (LinalgFunction::Solve | LinalgFunction::Inverse, _) => Self::Columns,
            _ => Self::Factors,
        }
    }

    /// The kernel's template argument.
    pub(super) fn argument(self) -> u32 {
        match self {
            Self::Factors => FACTORS_ALONE,
            Self::OneColumn => ONE_COLUMN,
            Self::Columns => COLUMNS,
        }
    }
}

/// A kernel: the file, and the use that it is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinalgKernel {
    SolveTriangular,
    Cholesky,
    Lu,
    Qr,
    CholeskyByThreads,
    CholeskyByRows,
    LuByThreads(LuUse),
    LuByRows(LuUse),
}

impl LinalgKernel {
    /// The kernels of matrices in shared memory, and the algorithms of their teams.
    const OF_TEAMS: [(Self, &[Algorithm]); 4] = [
        (Self::SolveTriangular, &[Algorithm::Teams(1), Algorithm::Teams(LinalgPolicy::LARGE)]),
        (Self::Cholesky, &[Algorithm::Teams(LinalgPolicy::LARGE)]),
        (Self::Lu, &[Algorithm::Teams(LinalgPolicy::LARGE)]),
        (Self::Qr, &[Algorithm::Teams(1), Algorithm::Teams(LinalgPolicy::LARGE)]),
    ];

    /// Every kernel in each algorithm that `choose` may give.
    pub(super) fn all() -> impl Iterator<Item = (Self, Algorithm)> {
        let of_teams = Self::OF_TEAMS
            .into_iter()
            .flat_map(|(kernel, algorithms)| algorithms.iter().map(move |&algorithm| (kernel, algorithm)));
        of_teams.chain(Algorithm::IN_REGISTERS.into_iter().flat_map(|algorithm| {
            let uses = [LuUse::Factors, LuUse::OneColumn, LuUse::Columns].into_iter();
            let kernels: Vec<_> = match algorithm {
                Algorithm::Threads(_) => {
                    let uses = uses.filter(|lu| *lu != LuUse::OneColumn);
                    iter::once(Self::CholeskyByThreads).chain(uses.map(Self::LuByThreads)).collect()
                }
                _ => iter::once(Self::CholeskyByRows).chain(uses.map(Self::LuByRows)).collect(),
            };
            kernels.into_iter().map(move |kernel| (kernel, algorithm))
        }))
    }

    /// The number in the kernel's key.
    pub(super) fn number(self) -> u64 {
        match self {
            Self::SolveTriangular => 0,
            Self::Cholesky => 1,
            Self::Lu => 2,
            Self::Qr => 3,
            Self::CholeskyByThreads => 4,
            Self::CholeskyByRows => 5,
            Self::LuByThreads(lu) => 6 | u64::from(lu.argument()) << 8,
            Self::LuByRows(lu) => 7 | u64::from(lu.argument()) << 8,
        }
    }

    fn of(function: LinalgFunction, algorithm: Algorithm, columns: usize) -> Self {
        let is_lu = match function {
            LinalgFunction::SolveTriangular(_) => return Self::SolveTriangular,
            LinalgFunction::Qr => return Self::Qr,
            LinalgFunction::Cholesky => false,
            LinalgFunction::LuFactor
            | LinalgFunction::Solve
            | LinalgFunction::Inverse
            | LinalgFunction::Determinant
            | LinalgFunction::LogDeterminant => true,
        };
        let lu = LuUse::of(function, algorithm, columns);
        match (algorithm, is_lu) {
            (Algorithm::Teams(_), false) => Self::Cholesky,
            (Algorithm::Teams(_), true) => Self::Lu,
            (Algorithm::Threads(_), false) => Self::CholeskyByThreads,
            (Algorithm::Threads(_), true) => Self::LuByThreads(lu),
            (Algorithm::Rows(_), false) => Self::CholeskyByRows,
            (Algorithm::Rows(_), true) => Self::LuByRows(lu),
        }
    }
}

/// The chosen kernel and its grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinalgPlan {
    pub(super) kernel: LinalgKernel,
    pub(super) policy: LinalgPolicy,
    pub(super) blocks: usize,
}

/// Chooses the kernel, its template argument and the grid.
pub(super) fn choose(problem: &LinalgProblem, device: &DeviceLimits) -> LinalgPlan {
    let policy = LinalgPolicy::of(problem, device.arch);
    LinalgPlan {
        kernel: LinalgKernel::of(problem.function, policy.algorithm, problem.columns),
        policy,
        blocks: policy.blocks(problem, device),
    }
}
