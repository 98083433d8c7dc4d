//! The definitions of scans.

use ndarray::{Array, ArrayView, Axis, Dimension};

use crate::{
    Result,
    operators::{
        Associative, Cumulative, NanProduct, NanSum, Operand, ScanKind,
        checks::{check_axis, check_axis_and_shape},
        named::{inclusive, named_scans},
    },
};

/// `out[i] = x[0] op ... op x[i]` of each lane along an axis, and its variants by [`ScanKind`]. A reversed scan begins at the end and puts each value
/// before those that it has: `out[i] = x[i] op ... op x[n - 1]`.
///
/// # Errors
/// `Axis` for an axis that the array does not have.
pub fn scan<'a, O: Cumulative<Value: 'a, Output: Default>, D: Dimension>(
    op: &O,
    view: impl Into<ArrayView<'a, O::Value, D>>,
    axis: Axis,
    scan: ScanKind,
) -> Result<Array<O::Output, D>> {
    let view = view.into();
    check_axis(O::NAME, axis, view.ndim())?;
    let flags = Array::from_elem(view.raw_dim(), false);
    segmented_scan(op, view, &flags, axis, scan)
}

/// [`scan()`] that begins anew at each element `i` with `flags[i]`, and at the first of a lane. A reversed scan begins anew at the last element of
/// each segment.
///
/// # Errors
/// `Axis` for an axis that the array does not have, `Shape` for flags of another shape.
pub fn segmented_scan<'a, 'f, O: Cumulative<Value: 'a, Output: Default>, D: Dimension>(
    op: &O,
    view: impl Into<ArrayView<'a, O::Value, D>>,
    flags: impl Into<ArrayView<'f, bool, D>>,
    axis: Axis,
    scan: ScanKind,
) -> Result<Array<O::Output, D>> {
    scan_of_segments(op, view.into(), flags.into(), axis, scan, |_, flag| *flag)
}

/// [`segmented_scan`] whose segments begin where `keys[i] != keys[i - 1]` along the axis. NaN differs from NaN.
///
/// # Errors
/// `Axis` for an axis that the array does not have, `Shape` for keys of another shape.
pub fn scan_by_key<'a, 'k, O: Cumulative<Value: 'a, Output: Default>, K: PartialEq + 'k, D: Dimension>(
    op: &O,
    view: impl Into<ArrayView<'a, O::Value, D>>,
    keys: impl Into<ArrayView<'k, K, D>>,
    axis: Axis,
    scan: ScanKind,
) -> Result<Array<O::Output, D>> {
    scan_of_segments(op, view.into(), keys.into(), axis, scan, |before, key| key != before)
}

named_scans!(reference);

inclusive! { Summand:
    /// [`NanSum`] of all elements up to each; types as in [`cumsum`].
    ///
    /// ```
    /// let sums = gpu_algos::reference::nancumsum(&[f64::NAN, 1.0, f64::NAN, 2.0], ndarray::Axis(0))?;
    /// assert_eq!(sums.to_vec(), [0.0, 1.0, 1.0, 3.0]);
    /// # Ok::<(), gpu_algos::AlgoError>(())
    /// ```
    nancumsum -> T::Sum = NanSum;
    /// [`NanProduct`] of all elements up to each, whose order is not NumPy's; types as in [`cumsum`].
    nancumprod -> T::Sum = NanProduct;
}

/// The largest element up to each that is not NaN; NaN until there is one.
///
/// # Errors
/// `Axis` for an axis that the array does not have.
///
/// ```
/// let most = gpu_algos::reference::nancummax(&[f32::NAN, 2.0, f32::NAN, 1.0], ndarray::Axis(0))?;
/// assert!(most[0].is_nan() && most.to_vec()[1..] == [2.0; 3]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn nancummax<'a, T: Operand, D: Dimension>(
    view: impl Into<ArrayView<'a, T, D>>,
    axis: Axis,
) -> Result<Array<T, D>> {
    let identity = if T::FLOAT { T::NAN } else { T::LOWEST };
    scan(&Associative::new(identity, without_nan(T::larger)), view, axis, ScanKind::INCLUSIVE)
}

/// The smallest element up to each that is not NaN; NaN until there is one.
///
/// # Errors
/// `Axis` for an axis that the array does not have.
pub fn nancummin<'a, T: Operand, D: Dimension>(
    view: impl Into<ArrayView<'a, T, D>>,
    axis: Axis,
) -> Result<Array<T, D>> {
    let identity = if T::FLOAT { T::NAN } else { T::HIGHEST };
    scan(&Associative::new(identity, without_nan(T::smaller)), view, axis, ScanKind::INCLUSIVE)
}

/// `better` of two values that are not NaN, or the one that is not.
fn without_nan<T: Operand>(better: impl Fn(T, T) -> T) -> impl Fn(T, T) -> T {
    move |earlier, later| match (earlier.is_nan(), later.is_nan()) {
        (true, _) => later,
        (false, true) => earlier,
        (false, false) => better(earlier, later),
    }
}

/// A segment begins at an element where `begins(mark before it, its mark)`.
fn scan_of_segments<O: Cumulative<Output: Default>, M, D: Dimension>(
    op: &O,
    view: ArrayView<'_, O::Value, D>,
    marks: ArrayView<'_, M, D>,
    axis: Axis,
    scan: ScanKind,
    begins: impl Fn(&M, &M) -> bool,
) -> Result<Array<O::Output, D>> {
    check_axis_and_shape(O::NAME, axis, view.shape(), marks.shape())?;
    let mut out = Array::from_elem(view.raw_dim(), O::Output::default());
    for ((x, marks), mut out) in view.lanes(axis).into_iter().zip(marks.lanes(axis)).zip(out.lanes_mut(axis)) {
        let n = x.len();
        let mut state = op.identity();
        for step in 0..n {
            let i = if scan.reversed { n - 1 - step } else { step };
            // Between this element and the one that was taken before it.
            let border = if scan.reversed { i + 1 } else { i };
            if step > 0 && begins(&marks[border - 1], &marks[border]) {
                state = op.identity();
            }
            let before = state;
            state = match scan.reversed {
                true => op.combine(op.take(op.identity(), x[i], i as i64), state),
                false => op.take(state, x[i], i as i64),
            };
            out[i] = op.output(if scan.exclusive { before } else { state });
        }
    }
    Ok(out)
}
