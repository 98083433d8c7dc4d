//! Expressions of rows and of reductions of these rows in one launch, such as softmax and layer normalisation: the kernel `map_rows`.
//!
//! An expression whose computations are all reductions of its own rows (`gpu_array`'s [`Chain`]) needs no array for their results. A block reduces a row
//! stage by stage and writes its values, so that the row comes from the device's memory once (as in the fused softmax of Triton's tutorials).
//! `problem.rs` has the operands and their axes, `policy.rs` the threads of a row and which expressions are left to launches of their own, `plan.rs`
//! the decision with the grid, `params.rs` the parameters, `launch.rs` the program and the launch.

mod constants;
mod launch;
mod params;
mod plan;
mod policy;
mod problem;

use gpu_array::{expression::Chain, gpu_driver::Stream};
use smallvec::SmallVec;

pub(super) use launch::{MAP_ROWS, sample};
use problem::RowProblem;

use super::policy::narrowest;
use crate::{
    Result,
    common::{
        launch::DeviceLimits,
        operator::{DeviceOperator, OperatorKind},
    },
};

/// Whether a stage may have the operator.
pub(super) fn may_be_stage(operator: &DeviceOperator) -> bool {
    !operator.is_masked && !matches!(operator.kind, OperatorKind::Custom(_)) && operator.results().len() == 1
}

/// Writes the values of a chain of reductions with operators by one launch, if it is one for that. Does not wait.
///
/// # Errors
/// Those of the compiler and of the launch.
pub(super) fn run(chain: &Chain<'_, '_>, stream: &Stream) -> Result<bool> {
    let Some((&length, outer)) = chain.expression.shape().split_last() else { return Ok(false) };
    let operator = |reduction: &DeviceOperator| narrowest(reduction, length, outer.iter().product(), false);
    let reductions = chain.stages.iter().map(|stage| stage.reduction()?.downcast_ref::<DeviceOperator>());
    let Some(operators) = reductions.map(|reduction| reduction.map(operator)).collect::<Option<SmallVec<_>>>() else {
        return Ok(false);
    };
    let problem = RowProblem::new(chain, operators);
    let Some(plan) = plan::choose(&problem, &DeviceLimits::of(stream.device())?) else { return Ok(false) };
    launch::run(&problem, &plan, chain, stream)
}
