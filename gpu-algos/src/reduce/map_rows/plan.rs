//! The one decision of a map of rows: whether one launch evaluates it, the kernel's template arguments, and the grid.

use gpu_array::expression::MAX_AXES;

use super::{
    policy::{RowPolicy, RowTuning},
    problem::RowProblem,
};
use crate::common::launch::{DeviceLimits, MOST_BLOCKS};

/// The template arguments and the grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowPlan {
    pub(super) policy: RowPolicy,
    pub(super) blocks: usize,
}

/// Chooses the template arguments and the grid; None where launches apart are better, or one is not possible.
pub(super) fn choose(problem: &RowProblem<'_, '_>, device: &DeviceLimits) -> Option<RowPlan> {
    let policy = RowPolicy::of(problem, device.multiprocessors, RowTuning::of(device.arch))?;
    let blocks = policy.blocks(problem.rows());
    (problem.outer.len() <= MAX_AXES && blocks <= MOST_BLOCKS).then_some(RowPlan { policy, blocks })
}
