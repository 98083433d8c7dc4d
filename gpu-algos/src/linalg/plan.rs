//! The one decision of a function: the kernel, the division of its threads and of shared memory, and the grid.

use super::{
    policy::LinalgPolicy,
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
}

impl LinalgKernel {
    pub(super) const ALL: [Self; 4] = [Self::SolveTriangular, Self::Cholesky, Self::Lu, Self::Qr];

    fn of(function: LinalgFunction) -> Self {
        match function {
            LinalgFunction::SolveTriangular(_) => Self::SolveTriangular,
            LinalgFunction::Cholesky => Self::Cholesky,
            LinalgFunction::LuFactor
            | LinalgFunction::Solve
            | LinalgFunction::Inverse
            | LinalgFunction::Determinant
            | LinalgFunction::LogDeterminant => Self::Lu,
            LinalgFunction::Qr => Self::Qr,
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
    LinalgPlan { kernel: LinalgKernel::of(problem.function), policy, blocks: policy.blocks(problem, device) }
}
