//! Checks of arguments, and results of states, which the definitions and the fast code share.

use gpu_array::ArrayError;
use ndarray::Axis;

use super::operator::Operator;
use crate::{AlgoError, Result, common::shape::same_shape};

pub(crate) fn check_axis(op: &'static str, axis: Axis, rank: usize) -> Result<()> {
    if axis.index() < rank { Ok(()) } else { Err(ArrayError::Axis { op, axis: axis.index(), ndim: rank }.into()) }
}

/// The axes that are not reduced.
pub(crate) fn outer_axes(op: &'static str, rank: usize, axes: &[Axis]) -> Result<Vec<usize>> {
    for (i, axis) in axes.iter().enumerate() {
        check_axis(op, *axis, rank)?;
        if axes[..i].contains(axis) {
            return Err(AlgoError::RepeatedAxis { op, axis: axis.index() });
        }
    }
    Ok((0..rank).filter(|&axis| !axes.contains(&Axis(axis))).collect())
}

/// Whether an array has the axis, and another one its shape.
pub(crate) fn check_axis_and_shape(op: &'static str, axis: Axis, left: &[usize], right: &[usize]) -> Result<()> {
    check_axis(op, axis, left.len())?;
    same_shape(op, left, right)
}

pub(crate) fn check_lengths(op: &'static str, left: usize, right: usize) -> Result<()> {
    if left == right { Ok(()) } else { Err(AlgoError::Length { op, left, right }) }
}

/// Whether there is a first axis, so that `nonzero` has a result.
pub(crate) fn check_has_axes(rank: usize) -> Result<()> {
    check_axis("nonzero", Axis(0), rank)
}

/// Whether a mask of `compress` is as long as the axis.
pub(crate) fn check_mask_of_axis(shape: &[usize], mask: usize, axis: Axis) -> Result<()> {
    check_axis("compress", axis, shape.len())?;
    check_lengths("compress", shape[axis.index()], mask)
}

/// The result of a state of `count` values.
pub(crate) fn finalize<O: Operator>(op: &O, state: O::State, count: usize) -> Result<O::Output> {
    op.finalize(state, count as u64).ok_or(AlgoError::Empty { op: O::NAME })
}
