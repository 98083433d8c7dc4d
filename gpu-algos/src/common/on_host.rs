//! Code that reductions, scans and selections on the host share: the values of expressions as arrays, and results in another shape or array.

use gpu_array::{ArrayError, Element, expression::Lowered};
use ndarray::{Array, ArrayD, ArrayView1, ArrayViewD, ArrayViewMut, Dimension};

use crate::{AlgoError, Result};

/// Gives the values of a host expression to a function: the array that it is, or a new one.
pub(crate) fn with_values<T: Element, R>(lowered: &Lowered<'_>, of: impl FnOnce(ArrayViewD<'_, T>) -> R) -> Result<R> {
    Ok(match lowered.host_array::<T>() {
        Some(view) => of(view),
        None => of(lowered.eval_on_host::<T>()?.view()),
    })
}

/// Gives the values of an array in C order to a function.
pub(crate) fn in_c_order<T: Element, R>(view: &ArrayViewD<'_, T>, of: impl FnOnce(ArrayView1<'_, T>) -> R) -> R {
    let view = view.as_standard_layout();
    of(ArrayView1::from(view.as_slice().unwrap_or_default()))
}

/// The values in C order, in another shape.
pub(crate) fn shaped<T: Element, K: Dimension>(values: ArrayD<T>, dim: K) -> Result<Array<T, K>> {
    let shape = dim.slice().to_vec();
    let (expected, got) = (dim.size(), values.len());
    values.into_shape_with_order(dim).map_err(|_| ArrayError::Length { shape, expected, got }.into())
}

/// Overwrites an array with results, which must have its shape.
pub(crate) fn write<T: Element, K: Dimension>(mut target: ArrayViewMut<'_, T, K>, results: &Array<T, K>) -> Result<()> {
    check_shape(results.shape(), target.shape())?;
    target.assign(results);
    Ok(())
}

/// Checks that an array to write has the shape of the results.
pub(crate) fn check_shape(results: &[usize], target: &[usize]) -> Result<()> {
    if results == target {
        return Ok(());
    }
    Err(AlgoError::OutShape { expected: results.to_vec(), got: target.to_vec() })
}
