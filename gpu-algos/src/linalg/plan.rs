//! The one decision of a function: the kernel, the division of its threads and of shared memory, and the grid.

use super::{
    policy::{Algorithm, LinalgPolicy},
    problem::{LinalgFunction, LinalgProblem},
};
use crate::common::launch::DeviceLimits;

/// A kernel: the file and the number in its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinalgKernel {
    SolveTriangular,
    Cholesky,
    Lu,
    Qr,
    CholeskyByThreads,
    CholeskyByRows,
    LuByThreads,
    LuByRows,
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
        let functions = [LinalgFunction::Cholesky, LinalgFunction::LuFactor].into_iter();
        of_teams.chain(
            functions.flat_map(|function| {
                Algorithm::IN_REGISTERS.map(|algorithm| (Self::of(function, algorithm), algorithm))
            }),
        )
    }

    fn of(function: LinalgFunction, algorithm: Algorithm) -> Self {
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
        match (algorithm, is_lu) {
            (Algorithm::Teams(_), false) => Self::Cholesky,
            (Algorithm::Teams(_), true) => Self::Lu,
            (Algorithm::Threads(_), false) => Self::CholeskyByThreads,
            (Algorithm::Threads(_), true) => Self::LuByThreads,
            (Algorithm::Rows(_), false) => Self::CholeskyByRows,
            (Algorithm::Rows(_), true) => Self::LuByRows,
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
        kernel: LinalgKernel::of(problem.function, policy.algorithm),
        policy,
        blocks: policy.blocks(problem, device),
    }
}
