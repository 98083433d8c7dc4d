//! The one decision of a product: the kernel's template arguments and the grid.

use super::{
    boxes::BoxedOperands,
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
    /// The operands of a kernel that copies boxes.
    pub(super) boxed: Option<BoxedOperands>,
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
    /// Blocks of the launch, which take the others behind their first one.
    pub(super) launched: usize,
    pub(super) scratch: ScratchNeed,
}

/// Chooses the kernel's template arguments and the grid.
///
/// # Errors
/// `TooLarge`.
pub(super) fn choose(op: &'static str, problem: &MatmulProblem, device: &DeviceLimits) -> Result<MatmulPlan> {
    let boxed = BoxedOperands::of(problem, device.arch);
    let fastest = MatmulTuning::of(device.arch).fastest(problem, boxed.as_ref(), device);
    let shape = || vec![problem.matrices(), problem.m, problem.n];
    let (time, tile, grid) = fastest.ok_or_else(|| AlgoError::TooLarge { op, shape: shape() })?;
    let policy = MatmulPolicy::new(problem, tile, boxed.as_ref());
    Ok(MatmulPlan { policy, boxed: boxed.filter(|_| tile.is_of_boxes()), grid, time })
}
