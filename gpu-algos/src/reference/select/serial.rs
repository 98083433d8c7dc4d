//! The definitions of selections, on one thread.

use ndarray::{Array, Array1, ArrayView, ArrayView1, Axis, Dimension};

use super::{
    super::operand::Operand,
    Runs,
    places::{check_has_axes, check_mask_of_axis},
};
use crate::{Result, common::shape::same_shape};

/// The definition of [`select`](super::select).
///
/// # Errors
/// `Shape` for a mask of another shape.
pub fn select_serial<'a, 'm, T: Copy + 'a, D: Dimension>(
    view: impl Into<ArrayView<'a, T, D>>,
    mask: impl Into<ArrayView<'m, bool, D>>,
) -> Result<Array1<T>> {
    let (view, mask) = (view.into(), mask.into());
    same_shape("select", view.shape(), mask.shape())?;
    Ok(view.iter().zip(mask.iter()).filter(|(_, keep)| **keep).map(|(&x, _)| x).collect())
}

/// The definition of [`copy_if`](super::copy_if).
pub fn copy_if_serial<'a, T: Copy + 'a, D: Dimension>(
    view: impl Into<ArrayView<'a, T, D>>,
    keep: impl Fn(&T) -> bool,
) -> Array1<T> {
    view.into().iter().filter(|&x| keep(x)).copied().collect()
}

/// The definition of [`partition`](super::partition).
pub fn partition_serial<'a, T: Copy + 'a, D: Dimension>(
    view: impl Into<ArrayView<'a, T, D>>,
    keep: impl Fn(&T) -> bool,
) -> (Array1<T>, usize) {
    let (mut selected, others): (Vec<T>, Vec<T>) = view.into().iter().partition(|&x| keep(x));
    let count = selected.len();
    selected.extend(others);
    (selected.into(), count)
}

/// The definition of [`partition_by_mask`](super::partition_by_mask).
///
/// # Errors
/// `Shape` for a mask of another shape.
pub fn partition_by_mask_serial<'a, 'm, T: Copy + 'a, D: Dimension>(
    view: impl Into<ArrayView<'a, T, D>>,
    mask: impl Into<ArrayView<'m, bool, D>>,
) -> Result<(Array1<T>, usize)> {
    let (view, mask) = (view.into(), mask.into());
    same_shape("partition_by_mask", view.shape(), mask.shape())?;
    let (selected, others): (Vec<_>, Vec<_>) = view.iter().zip(mask.iter()).partition(|(_, keep)| **keep);
    Ok((selected.iter().chain(&others).map(|&(&x, _)| x).collect(), selected.len()))
}

/// The definition of [`unique`](super::unique).
pub fn unique_serial<'a, T: Copy + PartialEq + 'a>(view: impl Into<ArrayView1<'a, T>>) -> Array1<T> {
    run_length_encode_serial(view).values
}

/// The definition of [`run_length_encode`](super::run_length_encode).
pub fn run_length_encode_serial<'a, T: Copy + PartialEq + 'a>(view: impl Into<ArrayView1<'a, T>>) -> Runs<T> {
    let (mut values, mut offsets, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    let mut before = None;
    for (x, place) in view.into().iter().zip(0..) {
        if before != Some(x) {
            values.push(*x);
            offsets.push(place);
            lengths.push(0);
        }
        lengths.iter_mut().next_back().into_iter().for_each(|length| *length += 1);
        before = Some(x);
    }
    Runs { values: values.into(), offsets: offsets.into(), lengths: lengths.into() }
}

/// The definition of [`nonzero`](super::nonzero).
///
/// # Errors
/// `Axis` for an array without axes.
pub fn nonzero_serial<'a, T: Operand, D: Dimension>(view: impl Into<ArrayView<'a, T, D>>) -> Result<Vec<Array1<i64>>> {
    let view = view.into().into_dyn();
    check_has_axes(view.ndim())?;
    let mut places = vec![Vec::new(); view.ndim()];
    for (at, x) in view.indexed_iter() {
        if x.is_true() {
            places.iter_mut().zip(at.slice()).for_each(|(along, &i)| along.push(i as i64));
        }
    }
    Ok(places.into_iter().map(Array1::from).collect())
}

/// The definition of [`compress`](super::compress).
///
/// # Errors
/// `Axis` for an axis that the array does not have, `Length` for a mask that is not as long as the axis.
pub fn compress_serial<'a, 'm, T: Copy + 'a, D: Dimension>(
    view: impl Into<ArrayView<'a, T, D>>,
    mask: impl Into<ArrayView1<'m, bool>>,
    axis: Axis,
) -> Result<Array<T, D>> {
    let (view, mask) = (view.into(), mask.into());
    check_mask_of_axis(view.shape(), mask.len(), axis)?;
    let mut shape = view.raw_dim();
    shape[axis.index()] = mask.iter().filter(|keep| **keep).count();
    let selected = view.into_dyn().indexed_iter().filter(|(at, _)| mask[at[axis.index()]]).map(|(_, &x)| x).collect();
    Ok(Array::from_shape_vec(shape, selected).expect("one for each position"))
}
