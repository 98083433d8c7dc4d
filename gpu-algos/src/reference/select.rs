//! The definitions of selections. All of them count in C order.

use ndarray::{Array, Array1, ArrayView, ArrayView1, Axis, Dimension};

use crate::{
    Result,
    common::shape::same_shape,
    operators::{
        Summand,
        checks::{check_has_axes, check_mask_of_axis},
    },
};

/// The elements where `mask` is true: NumPy's `x[mask]`.
///
/// # Errors
/// `Shape` for a mask of another shape.
pub fn select<'a, 'm, T: Copy + 'a, D: Dimension>(
    view: impl Into<ArrayView<'a, T, D>>,
    mask: impl Into<ArrayView<'m, bool, D>>,
) -> Result<Array1<T>> {
    let (view, mask) = (view.into(), mask.into());
    same_shape("select", view.shape(), mask.shape())?;
    Ok(view.iter().zip(&mask).filter(|(_, keep)| **keep).map(|(&x, _)| x).collect())
}

/// The elements that `keep` accepts.
pub fn copy_if<'a, T: Copy + 'a, D: Dimension>(
    view: impl Into<ArrayView<'a, T, D>>,
    keep: impl Fn(&T) -> bool,
) -> Array1<T> {
    view.into().iter().filter(|&x| keep(x)).copied().collect()
}

/// The elements that `keep` accepts, then the others; and the number of elements that it accepts.
pub fn partition<'a, T: Copy + 'a, D: Dimension>(
    view: impl Into<ArrayView<'a, T, D>>,
    keep: impl Fn(&T) -> bool,
) -> (Array1<T>, usize) {
    let (mut selected, others): (Vec<T>, Vec<T>) = view.into().iter().partition(|&x| keep(x));
    let count = selected.len();
    selected.extend(others);
    (selected.into(), count)
}

/// The elements where `mask` is true, then the others; and the number of true values.
///
/// # Errors
/// `Shape` for a mask of another shape.
pub fn partition_by_mask<'a, 'm, T: Copy + 'a, D: Dimension>(
    view: impl Into<ArrayView<'a, T, D>>,
    mask: impl Into<ArrayView<'m, bool, D>>,
) -> Result<(Array1<T>, usize)> {
    let (view, mask) = (view.into(), mask.into());
    same_shape("partition_by_mask", view.shape(), mask.shape())?;
    let (selected, others): (Vec<_>, Vec<_>) = view.iter().zip(&mask).partition(|(_, keep)| **keep);
    Ok((selected.iter().chain(&others).map(|&(&x, _)| x).collect(), selected.len()))
}

/// The indices of the elements other than 0 (NaN is one) along each axis, as NumPy's `nonzero`.
///
/// # Errors
/// `Axis` for an array without axes.
pub fn nonzero<'a, T: Summand, D: Dimension>(view: impl Into<ArrayView<'a, T, D>>) -> Result<Vec<Array1<i64>>> {
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

/// The positions of the elements other than 0 (NaN is one), as NumPy's `flatnonzero`.
pub fn flat_nonzero<'a, T: Summand, D: Dimension>(view: impl Into<ArrayView<'a, T, D>>) -> Array1<i64> {
    view.into().iter().zip(0..).filter(|(x, _)| x.is_true()).map(|(_, position)| position).collect()
}

/// The parts of an array at those indices of an axis where `mask` is true, as NumPy's `compress`.
///
/// # Errors
/// `Axis` for an axis that the array does not have, `Length` for a mask that is not as long as the axis.
pub fn compress<'a, 'm, T: Copy + 'a, D: Dimension>(
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

/// Runs of equal neighbours, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Runs<T> {
    /// The first element of each run.
    pub values: Array1<T>,
    /// The place of each run's first element.
    pub offsets: Array1<i64>,
    /// The number of elements of each run.
    pub lengths: Array1<i64>,
}

/// The first element of each run of equal neighbours. NaN is not equal to NaN, so each is a run of its own.
pub fn unique<'a, T: Copy + PartialEq + 'a>(view: impl Into<ArrayView1<'a, T>>) -> Array1<T> {
    run_length_encode(view).values
}

/// The runs of equal neighbours: value, offset and length of each. NaN as in [`unique`].
pub fn run_length_encode<'a, T: Copy + PartialEq + 'a>(view: impl Into<ArrayView1<'a, T>>) -> Runs<T> {
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
