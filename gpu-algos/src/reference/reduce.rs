//! The definitions of reductions.

use ndarray::{ArrayD, ArrayView, Axis, Dimension, IxDyn};

use crate::{
    Result,
    operators::{
        Operand, Operator, Summand,
        checks::{finalize, outer_axes},
        named::named_reductions,
    },
};

/// `finalize(take(... take(take(identity, x[0], 0), x[1], 1) ...))`, the elements in C order.
///
/// # Errors
/// `Empty` where the operator has no result of no values.
///
/// ```
/// use gpu_algos::reference::{Sum, reduce};
/// assert_eq!(reduce(&Sum::new(), &ndarray::array![[1_u8, 255], [3, 4]])?, 263);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn reduce<'a, O: Operator<Value: 'a>, D: Dimension>(
    op: &O,
    view: impl Into<ArrayView<'a, O::Value, D>>,
) -> Result<O::Output> {
    let view = view.into();
    let state = view.iter().zip(0..).fold(op.identity(), |state, (&value, place)| op.take(state, value, place));
    finalize(op, state, view.len())
}

/// For each position of the axes that are not in `axes`, in C order, [`reduce`](fn@reduce) of the elements there.
///
/// Shapes: the result has the axes that are not in `axes`, as they stand in `view`.
///
/// # Errors
/// `Array` for an axis that the array does not have, `RepeatedAxis` for one that is given twice, `Empty` where there are results, all of no
/// values, and the operator has none for that.
pub fn reduce_axes<'a, O: Operator<Value: 'a>, D: Dimension>(
    op: &O,
    view: impl Into<ArrayView<'a, O::Value, D>>,
    axes: &[Axis],
) -> Result<ArrayD<O::Output>> {
    let view = view.into().into_dyn();
    let outer = outer_axes(O::NAME, view.ndim(), axes)?;
    let shape: Vec<usize> = outer.iter().map(|&axis| view.len_of(Axis(axis))).collect();
    let results = ndarray::indices(IxDyn(&shape)).into_iter().map(|position| {
        let mut part = view.view();
        for (&axis, &index) in outer.iter().zip(position.slice()) {
            part.collapse_axis(Axis(axis), index);
        }
        reduce(op, part)
    });
    let results = results.collect::<Result<Vec<_>>>()?;
    Ok(ArrayD::from_shape_vec(IxDyn(&shape), results).expect("a result for each position"))
}

named_reductions!(reference);

/// [`Count`] of the elements other than 0, by its name on a device; NumPy's is [`count_nonzero`].
///
/// ```
/// assert_eq!(gpu_algos::reference::count(&[0.0, -1.0, f64::NAN]), 2);
/// ```
pub fn count<'a, T: Summand, D: Dimension>(view: impl Into<ArrayView<'a, T, D>>) -> i64 {
    count_nonzero(view)
}

/// [`NanMean`] and [`NanVariance`] of all elements.
///
/// ```
/// assert_eq!(gpu_algos::reference::nanmean_var(&[1.0, f64::NAN, 3.0], 0), (2.0, 1.0));
/// ```
pub fn nanmean_var<'a, T: Summand, D: Dimension>(
    view: impl Into<ArrayView<'a, T, D>>,
    ddof: u64,
) -> (T::Mean, T::Real) {
    let view = view.into();
    (nanmean(view.view()), nanvar(view.view(), ddof))
}

/// [`Min`] and [`Max`] of all elements.
///
/// # Errors
/// `Empty` for an array without elements.
///
/// ```
/// assert_eq!(gpu_algos::reference::min_max(&[3, 1, 2])?, (1, 3));
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn min_max<'a, T: Operand, D: Dimension>(view: impl Into<ArrayView<'a, T, D>>) -> Result<(T, T)> {
    let view = view.into();
    Ok((min(view.view())?, max(view.view())?))
}

/// [`NanMin`] and [`NanMax`] of all elements.
///
/// # Errors
/// `Empty` for an array without elements.
///
/// ```
/// assert_eq!(gpu_algos::reference::nanmin_max(&[3.0, f64::NAN, 2.0])?, (2.0, 3.0));
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn nanmin_max<'a, T: Operand, D: Dimension>(view: impl Into<ArrayView<'a, T, D>>) -> Result<(T, T)> {
    let view = view.into();
    Ok((nanmin(view.view())?, nanmax(view.view())?))
}
