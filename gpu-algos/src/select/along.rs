//! Selections along axes, made of indices and of expressions of them.

use gpu_array::{
    ArrayError, Element, GpuArray,
    expression::{Expr, Gpu, Outside, gather, index, take},
};
use ndarray::{Axis, Dimension, Ix1};

use super::{
    launch::{FLAGS, INDICES},
    selection::Selection,
};
use crate::{AlgoError, Result};

/// Implements [`Select::nonzero_axes`](super::Select::nonzero_axes).
pub(super) fn nonzero_axes<T: Element, D: Dimension>(x: &Expr<'_, T, D, Gpu>) -> Result<Vec<GpuArray<i64, Ix1>>> {
    let lowered = x.lower_deferred()?;
    let shape = lowered.shape().to_vec();
    if shape.is_empty() {
        return Err(ArrayError::Axis { op: "nonzero", axis: 0, ndim: 0 }.into());
    }
    let flat = Selection::<i64>::new(None, Ok(lowered), FLAGS | INDICES).eval()?;
    let flat = flat.view()?;
    // Distance in C order of one step along the axis.
    let mut distance = shape.iter().product::<usize>() as i64;
    let along = shape.iter().map(|&length| {
        let length = length.max(1) as i64;
        distance = (distance / length).max(1);
        Ok((flat.floor_divide(distance) % length).eval()?)
    });
    along.collect()
}

/// Implements [`Select::compress`](super::Select::compress).
pub(super) fn compress<T: Element, D: Dimension>(
    x: Expr<'_, T, D, Gpu>,
    mask: Expr<'_, bool, Ix1, Gpu>,
    along: Axis,
) -> Result<GpuArray<T, D>> {
    let (op, axis) = ("compress", along.index());
    let (values, mask) = (x.lower_deferred()?, mask.lower_deferred()?);
    let ndim = values.shape().len();
    let (left, right) = (values.shape().get(axis).copied(), mask.shape().iter().product());
    let left = left.ok_or(ArrayError::Axis { op, axis, ndim })?;
    if left != right {
        return Err(AlgoError::Length { op, left, right });
    }
    let mut dim = D::zeros(ndim);
    dim.slice_mut().copy_from_slice(values.shape());
    let places = Selection::<i64>::new(None, Ok(mask), FLAGS | INDICES).eval()?;
    let places = places.view()?;
    dim.slice_mut()[axis] = places.len();
    let indices: Vec<Expr<'_, i64, D, Gpu>> = (0..ndim)
        .map(|number| {
            let at = index::<D, Gpu>(Axis(number));
            if number == axis { take(&places, at, Outside::Clip) } else { at }
        })
        .collect();
    Ok(gather(x, &indices, Outside::Clip).broadcast(dim).eval()?)
}
