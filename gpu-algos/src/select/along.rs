//! Selections along axes, made of indices and of expressions of them.

use gpu_array::{
    ArrayError, Element, GpuArray,
    expression::{Backend, Expr, Gpu, Host, IntoExpr, Outside, gather, index, take},
};
use ndarray::{Array, Array1, ArrayViewD, Axis, Dimension, Ix1};

use super::{
    launch::{FLAGS, INDICES},
    selection::Selection,
};
use crate::{
    Result,
    common::{on_host::with_values, shape::dim_of},
    host,
    operators::checks::{check_has_axes, check_mask_of_axis},
};

/// Implements [`Select::nonzero_axes`](super::Select::nonzero_axes).
pub(super) fn nonzero_axes<T: Element, D: Dimension>(x: &Expr<'_, T, D, Gpu>) -> Result<Vec<GpuArray<i64, Ix1>>> {
    let lowered = x.lower_deferred()?;
    let shape = lowered.shape().to_vec();
    check_has_axes(shape.len())?;
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
    axis: Axis,
) -> Result<GpuArray<T, D>> {
    let (values, mask) = (x.lower_deferred()?, mask.lower_deferred()?);
    check_mask_of_axis(values.shape(), mask.shape().iter().product(), axis)?;
    let places = Selection::<i64>::new(None, Ok(mask), FLAGS | INDICES).eval()?;
    let places = places.view()?;
    parts(x, values.shape(), places.len(), places.into_expr(), axis)
}

/// Implements [`Select::compress`](super::Select::compress) on the host.
pub(super) fn compress_on_host<T: Element, D: Dimension>(
    x: Expr<'_, T, D, Host>,
    mask: Expr<'_, bool, Ix1, Host>,
    axis: Axis,
) -> Result<Array<T, D>> {
    let (values, mask) = (x.lower_deferred()?, mask.lower_deferred()?);
    check_mask_of_axis(values.shape(), mask.shape().iter().product(), axis)?;
    with_values(&*mask.ready(None)?, |mask: ArrayViewD<'_, bool>| {
        let values = values.ready(None)?;
        let Some(view) = values.host_array::<T>() else {
            // An expression is an error, as on a device.
            let places = host::flat_nonzero(mask);
            return parts(x, values.shape(), places.len(), Host::expr(&places), axis);
        };
        let mask: Array1<bool> = mask.iter().copied().collect();
        let compressed = host::compress(view, &mask, axis)?;
        let (expected, got) = (D::NDIM.unwrap_or_default(), compressed.ndim());
        let other = |_| ArrayError::Ndim { op: "a selection on the host", expected, got };
        Ok(compressed.into_dimensionality().map_err(other)?)
    })?
}

/// The parts of an array at `count` places along an axis.
fn parts<T: Element, D: Dimension, P: Backend>(
    x: Expr<'_, T, D, P>,
    shape: &[usize],
    count: usize,
    places: Expr<'_, i64, Ix1, P>,
    Axis(along): Axis,
) -> Result<P::Owned<T, D>> {
    let mut dim = dim_of::<D>("compress", shape)?;
    dim.slice_mut()[along] = count;
    let indices: Vec<Expr<'_, i64, D, P>> = (0..shape.len())
        .map(|number| {
            let at = index::<D, P>(Axis(number));
            if number == along { take(places.clone(), at, Outside::Clip) } else { at }
        })
        .collect();
    Ok(gather(x, &indices, Outside::Clip).broadcast(dim).eval()?)
}
