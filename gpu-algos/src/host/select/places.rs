//! Places of elements, and elements at such places of an axis.

use gpu_array::Element;
use ndarray::{Array, Array1, ArrayView, ArrayView1, Axis, Dimension};

use super::{
    super::parallel::{self, REDUCED_AT_ONCE},
    gather::{self, elements},
};
use crate::{
    Result,
    operators::checks::{check_has_axes, check_mask_of_axis},
};

/// The places of the elements other than 0 (NaN is one): for each axis the indices along it, in C order of the elements, as NumPy's `nonzero`.
///
/// # Errors
/// `Axis` for an array without axes.
///
/// ```
/// use ndarray::array;
/// let places = gpu_algos::host::nonzero(&array![[0.0, 2.0], [3.0, 4.0]])?;
/// assert_eq!(places, [array![0_i64, 1, 1], array![1, 0, 1]]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn nonzero<'a, T: Element, D: Dimension>(view: impl Into<ArrayView<'a, T, D>>) -> Result<Vec<Array1<i64>>> {
    let view = view.into();
    check_has_axes(view.ndim())?;
    let flat = flat_nonzero(view.view());
    let mut places = Vec::new();
    // How far one step along the axis goes in C order.
    let mut distance = view.len() as i64;
    for &length in view.shape() {
        let length = length.max(1) as i64;
        distance /= length;
        let distance = distance.max(1);
        let mut along = flat.clone();
        if let Some(along) = along.as_slice_mut() {
            parallel::fill(along, REDUCED_AT_ONCE, &|_, along| {
                along.iter_mut().for_each(|at| *at = *at / distance % length);
            });
        }
        places.push(along);
    }
    Ok(places)
}

/// The positions in C order of the elements other than 0 (NaN is one), as NumPy's `flatnonzero`.
///
/// ```
/// assert_eq!(gpu_algos::host::flat_nonzero(&[0, 7, 0, -1]).to_vec(), [1, 3]);
/// ```
pub fn flat_nonzero<'a, T: Element, D: Dimension>(view: impl Into<ArrayView<'a, T, D>>) -> Array1<i64> {
    let view = view.into();
    let view = view.as_standard_layout();
    let x = elements(&view);
    gather::selected(&gather::flags(x.len(), |i| x[i] != T::ZERO), |i| i as i64)
}

/// The parts of an array at those places of an axis where `mask` is true, as NumPy's `compress`.
///
/// Shapes: that of the array, but for the axis, whose length is the number of true values.
///
/// # Errors
/// `Axis` for an axis that the array does not have, `Length` for a mask that is not as long as the axis.
///
/// ```
/// use ndarray::{Axis, array};
/// let x = array![[1, 2, 3], [4, 5, 6]];
/// assert_eq!(gpu_algos::host::compress(&x, &[true, false, true], Axis(1))?, array![[1, 3], [4, 6]]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn compress<'a, 'm, T: Copy + Send + Sync + 'a, D: Dimension>(
    view: impl Into<ArrayView<'a, T, D>>,
    mask: impl Into<ArrayView1<'m, bool>>,
    axis: Axis,
) -> Result<Array<T, D>> {
    let (view, mask) = (view.into(), mask.into());
    check_mask_of_axis(view.shape(), mask.len(), axis)?;
    let (view, mask) = (view.as_standard_layout(), mask.as_standard_layout());
    let places: Array1<usize> = gather::selected(elements(&mask), |i| i);
    let mut shape = view.raw_dim();
    shape[axis.index()] = places.len();
    let x = elements(&view);
    // The length of the axis, and the number of elements at one of its places.
    let (length, width) = (mask.len(), view.shape()[axis.index() + 1..].iter().product::<usize>());
    let mut out = gather::room(shape.size(), &|_| x[0]);
    if !out.is_empty() {
        let at_once = (REDUCED_AT_ONCE / width).max(1) * width;
        parallel::fill(&mut out, at_once, &|first, out| {
            for (i, out) in out.chunks_mut(width).enumerate() {
                let part = first / width + i;
                let from = (part / places.len() * length + places[part % places.len()]) * width;
                out.copy_from_slice(&x[from..from + width]);
            }
        });
    }
    Ok(Array::from_shape_vec(shape, out).expect("one for each position"))
}
