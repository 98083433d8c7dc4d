//! The one decision of a product: the kernel's template arguments and the grid.

use super::{
    policy::{MatmulPolicy, MatmulTuning},
    problem::MatmulProblem,
};
use crate::{
    AlgoError, Result,
    common::launch::{DeviceLimits, ScratchNeed},
};

/// The chosen kernel and its grid.
#[derive(Clone, Debug)]
pub(super) struct MatmulPlan {
    pub(super) policy: MatmulPolicy,
    pub(super) grid: MatmulGrid,
    /// The estimated time, in multiplications of a multiprocessor.
    pub(super) time: u128,
}

/// The division of results, and of the terms of each, among blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatmulGrid {
    /// Rows and columns of tiles of a matrix.
    pub(super) tiles_m: usize,
    pub(super) tiles_n: usize,
    /// Blocks that share a tile.
    pub(super) splits: usize,
    /// Values along k that each of these sums.
    pub(super) k_per_split: usize,
    pub(super) blocks: usize,
    pub(super) scratch: ScratchNeed,
}

/// Chooses the kernel's template arguments and the grid.
///
/// # Errors
/// `TooLarge`.
pub(super) fn choose(op: &'static str, problem: &MatmulProblem, device: &DeviceLimits) -> Result<MatmulPlan> {
    let fastest = MatmulTuning::of(device.arch).fastest(problem, device);
    let shape = || vec![problem.matrices(), problem.m, problem.n];
    let (time, tile, grid) = fastest.ok_or_else(|| AlgoError::TooLarge { op, shape: shape() })?;
    Ok(MatmulPlan { policy: MatmulPolicy::new(problem, tile), grid, time })
}
