//! Scans (cumulative reductions) along an axis: whole, of segments, and of runs of equal keys.

mod backwards;
mod columns;
mod lanes;
mod split;
#[cfg(test)]
mod tests;
mod tile;

use ndarray::{Array, ArrayView, ArrayViewD, ArrayViewMut, ArrayViewMutD, Axis, Dimension, Slice};

use backwards::Backwards;

use super::parallel::{self, REDUCED_AT_ONCE};
use crate::{
    AlgoError, Result,
    operators::{
        Cumulative, Places, ScanKind,
        checks::{check_axis, check_axis_and_shape},
        named::named_scans,
    },
};

/// The scan along an axis, on all threads: for each lane the results of [`reference::scan`](crate::reference::scan()).
///
/// Shapes: the result has that of the array, in C order; arrays of any layout.
/// Determinism: bitwise the same for any number of threads, since lanes are cut into blocks of a fixed size. Results that do not round are those
/// of the definition; sums of floats may differ from it within rounding, and between layouts. Sums of values that are not negative never fall.
/// Cost: a lane of more than 32768 elements is read twice, with a state of scratch per 256 elements; all else once.
///
/// # Errors
/// `Axis` for an axis that the array does not have.
///
/// ```
/// use gpu_algos::host::{Max, ScanKind, Sum, scan};
/// use ndarray::{Axis, array};
///
/// let x = array![[1_i32, 2, 3], [4, 5, 6]];
/// assert_eq!(scan(&Sum::new(), &x, Axis(1), ScanKind::EXCLUSIVE)?, array![[0_i64, 1, 3], [0, 4, 9]]);
/// assert_eq!(scan(&Sum::new(), &x, Axis(0), ScanKind::INCLUSIVE.reversed())?, array![[5, 7, 9], [4, 5, 6]]);
/// assert_eq!(scan(&Max::new(), &[2.0, 1.0, 3.0], Axis(0), ScanKind::EXCLUSIVE)?.to_vec(), [f64::NEG_INFINITY, 2.0, 2.0]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn scan<'a, O: Cumulative<Value: 'a, Output: Default>, D: Dimension>(
    op: &O,
    view: impl Into<ArrayView<'a, O::Value, D>>,
    axis: Axis,
    scan: ScanKind,
) -> Result<Array<O::Output, D>> {
    allocated(op, view.into(), None, axis, scan)
}

/// [`scan()`] into an array that is there, of any layout.
///
/// # Errors
/// `Axis` for an axis that the array does not have, `OutShape` for a target of another shape.
///
/// ```
/// use gpu_algos::host::{ScanKind, Sum, scan_into};
/// let mut out = ndarray::Array1::zeros(3);
/// scan_into(&Sum::new(), &[1.0_f32, 2.0, 3.0], ndarray::Axis(0), ScanKind::INCLUSIVE, out.view_mut())?;
/// assert_eq!(out.to_vec(), [1.0, 3.0, 6.0]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn scan_into<'a, O: Cumulative<Value: 'a>, D: Dimension>(
    op: &O,
    view: impl Into<ArrayView<'a, O::Value, D>>,
    axis: Axis,
    scan: ScanKind,
    out: ArrayViewMut<'_, O::Output, D>,
) -> Result<()> {
    let view = view.into();
    check_axis(O::NAME, axis, view.ndim())?;
    if view.shape() != out.shape() {
        return Err(AlgoError::OutShape { expected: view.shape().to_vec(), got: out.shape().to_vec() });
    }
    run(op, view.into_dyn(), None, axis, scan, out.into_dyn());
    Ok(())
}

/// A scan that begins anew at each flag: `flags[i]` says that element `i` begins a segment. The first of a lane always does.
///
/// Everything else is as for [`scan()`]; a reversed scan begins anew at the last element of each segment.
/// Cost: lane by lane, also along a slow axis.
///
/// # Errors
/// `Axis` for an axis that the array does not have, `Shape` for flags of another shape.
///
/// ```
/// use gpu_algos::host::{ScanKind, Sum, segmented_scan};
/// let (x, flags) = ([1_i64, 2, 3, 4, 5], [false, false, true, false, true]);
/// let got = segmented_scan(&Sum::new(), &x, &flags, ndarray::Axis(0), ScanKind::INCLUSIVE)?;
/// assert_eq!(got.to_vec(), [1, 3, 3, 7, 5]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn segmented_scan<'a, 'f, O: Cumulative<Value: 'a, Output: Default>, D: Dimension>(
    op: &O,
    view: impl Into<ArrayView<'a, O::Value, D>>,
    flags: impl Into<ArrayView<'f, bool, D>>,
    axis: Axis,
    scan: ScanKind,
) -> Result<Array<O::Output, D>> {
    let (view, flags) = (view.into(), flags.into().into_dyn());
    check_axis_and_shape(O::NAME, axis, view.shape(), flags.shape())?;
    let borders = from_second(flags, axis);
    allocated(op, view, Some(borders), axis, scan)
}

/// A scan of each run of equal keys: a segment begins where a key differs from the one before it. NaN differs from NaN.
///
/// Everything else is as for [`segmented_scan`].
/// Cost: one pass over the keys more, and a byte of scratch for each; a copy first of keys that are not in C order.
///
/// # Errors
/// `Axis` for an axis that the array does not have, `Shape` for keys of another shape.
///
/// ```
/// use gpu_algos::host::{ScanKind, Sum, scan_by_key};
/// let (x, keys) = ([1_i64, 2, 3, 4, 5], [7_u8, 7, 4, 4, 7]);
/// let got = scan_by_key(&Sum::new(), &x, &keys, ndarray::Axis(0), ScanKind::INCLUSIVE.reversed())?;
/// assert_eq!(got.to_vec(), [3, 2, 7, 4, 5]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn scan_by_key<'a, 'k, O: Cumulative<Value: 'a, Output: Default>, K: Copy + PartialEq + Sync + 'k, D: Dimension>(
    op: &O,
    view: impl Into<ArrayView<'a, O::Value, D>>,
    keys: impl Into<ArrayView<'k, K, D>>,
    axis: Axis,
    scan: ScanKind,
) -> Result<Array<O::Output, D>> {
    let (view, keys) = (view.into(), keys.into());
    check_axis_and_shape(O::NAME, axis, view.shape(), keys.shape())?;
    let flags = changes(&keys, axis);
    allocated(op, view, Some(from_second(flags.view().into_dyn(), axis)), axis, scan)
}

named_scans!(host);

/// Whether each element but the first along the axis begins a segment; so it is a border from both sides.
fn from_second(mut flags: ArrayViewD<'_, bool>, axis: Axis) -> ArrayViewD<'_, bool> {
    let from = flags.len_of(axis).min(1);
    flags.slice_axis_inplace(axis, Slice::from(from..));
    flags
}

/// Whether each key differs from the one before it along the axis.
pub(crate) fn changes<K: Copy + PartialEq + Sync, D: Dimension>(
    keys: &ArrayView<'_, K, D>,
    axis: Axis,
) -> Array<bool, D> {
    let keys = keys.as_standard_layout();
    let mut flags = Array::from_elem(keys.raw_dim(), false);
    // From one to the next along the axis.
    let distance = keys.shape()[axis.index() + 1..].iter().product::<usize>();
    if let (Some(keys), Some(flags)) = (keys.as_slice(), flags.as_slice_mut()) {
        parallel::fill(flags, REDUCED_AT_ONCE, &|first, flags| {
            // The first of a lane is compared with another lane: it begins a segment in any case.
            let skipped = distance.saturating_sub(first).min(flags.len());
            let from = first + skipped;
            let pairs = keys[from..].iter().zip(&keys[from.saturating_sub(distance)..]);
            flags[skipped..].iter_mut().zip(pairs).for_each(|(flag, (key, before))| *flag = key != before);
        });
    }
    flags
}

fn allocated<O: Cumulative<Output: Default>, D: Dimension>(
    op: &O,
    view: ArrayView<'_, O::Value, D>,
    borders: Option<ArrayViewD<'_, bool>>,
    axis: Axis,
    scan: ScanKind,
) -> Result<Array<O::Output, D>> {
    check_axis(O::NAME, axis, view.ndim())?;
    // Of a type whose default is zero this is memory that the threads are the first to touch.
    let mut out = Array::from_elem(view.raw_dim(), O::Output::default());
    run(op, view.into_dyn(), borders, axis, scan, out.view_mut().into_dyn());
    Ok(out)
}

/// All checked; `borders` are one less along the axis.
fn run<O: Cumulative>(
    op: &O,
    mut view: ArrayViewD<'_, O::Value>,
    mut borders: Option<ArrayViewD<'_, bool>>,
    axis: Axis,
    scan: ScanKind,
    mut out: ArrayViewMutD<'_, O::Output>,
) {
    if view.is_empty() {
        return;
    }
    let places = match scan.reversed {
        true => Places { first: view.len_of(axis) as i64 - 1, step: -1 },
        false => Places { first: 0, step: 1 },
    };
    if scan.reversed {
        view.invert_axis(axis);
        out.invert_axis(axis);
        borders.iter_mut().for_each(|borders| borders.invert_axis(axis));
        return along_last(&Backwards(op), view, borders, axis, (scan.exclusive, places), out);
    }
    along_last(op, view, borders, axis, (scan.exclusive, places), out);
}

fn along_last<O: Cumulative>(
    op: &O,
    view: ArrayViewD<'_, O::Value>,
    borders: Option<ArrayViewD<'_, bool>>,
    axis: Axis,
    (exclusive, places): (bool, Places),
    out: ArrayViewMutD<'_, O::Output>,
) {
    let mut order: Vec<usize> = (0..view.ndim()).filter(|&other| other != axis.index()).collect();
    order.push(axis.index());
    let (view, out) = (view.permuted_axes(order.clone()), out.permuted_axes(order.clone()));
    let borders = borders.map(|borders| borders.permuted_axes(order.clone()));
    match columns::fastest(&view).filter(|_| borders.is_none()) {
        None => lanes::scan(op, view, borders, (exclusive, places), out),
        Some(fastest) => {
            let mut order: Vec<usize> = (0..view.ndim()).collect();
            let before_last = order.len() - 2;
            order[fastest..=before_last].rotate_left(1);
            let (view, out) = (view.permuted_axes(order.clone()), out.permuted_axes(order));
            columns::scan(op, view, exclusive, places, out);
        }
    }
}
