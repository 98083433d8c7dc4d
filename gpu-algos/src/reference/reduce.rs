//! The definitions of reductions.

use ndarray::{ArrayD, ArrayView, Axis, Dimension, IxDyn};

use crate::{
    Result,
    operators::{
        Operator,
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
