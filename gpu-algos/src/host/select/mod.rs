//! Selections: the selected elements, side by side and in their order.
//!
//! All of these take arrays of any layout and count in C order. Determinism: results are exact, so they are the same for any number of threads.
//! Cost, unless an item says otherwise: two passes over a flag per element, which is a byte of scratch where it is not given, and one over the
//! elements; a copy first of an array whose elements are not side by side in C order.

mod gather;
mod places;
mod runs;
#[cfg(test)]
mod tests;

use ndarray::{Array1, ArrayView, Dimension};

use gather::elements;
pub use places::{compress, flat_nonzero, nonzero};
pub use runs::{run_length_encode, unique};

use crate::{Result, common::shape::same_shape};

/// The elements where `mask` is true, in C order: NumPy's `x[mask]`.
///
/// # Errors
/// `Shape` for a mask of another shape.
///
/// ```
/// use ndarray::array;
/// let x = array![[1, 2], [3, 4]];
/// let selected = gpu_algos::host::select(&x, &array![[true, false], [false, true]])?;
/// assert_eq!(selected, array![1, 4]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn select<'a, 'm, T: Copy + Send + Sync + 'a, D: Dimension>(
    view: impl Into<ArrayView<'a, T, D>>,
    mask: impl Into<ArrayView<'m, bool, D>>,
) -> Result<Array1<T>> {
    let (view, mask) = (view.into(), mask.into());
    same_shape("select", view.shape(), mask.shape())?;
    let (view, mask) = (view.as_standard_layout(), mask.as_standard_layout());
    let x = elements(&view);
    Ok(gather::selected(elements(&mask), |i| x[i]))
}

/// The elements that `keep` accepts, in C order. Each is shown to it once, in any order and by any thread.
///
/// ```
/// let even = gpu_algos::host::copy_if(&[1, 2, 3, 4], |&x| x % 2 == 0);
/// assert_eq!(even.to_vec(), [2, 4]);
/// ```
pub fn copy_if<'a, T: Copy + Send + Sync + 'a, D: Dimension>(
    view: impl Into<ArrayView<'a, T, D>>,
    keep: impl Fn(&T) -> bool + Sync,
) -> Array1<T> {
    let view = view.into();
    let view = view.as_standard_layout();
    let x = elements(&view);
    gather::selected(&gather::flags(x.len(), |i| keep(&x[i])), |i| x[i])
}

/// The elements that `keep` accepts, then those that it does not, both in C order; and how many it accepts. Each is shown to it once.
///
/// Cost: a pass over the elements more than [`copy_if`].
///
/// ```
/// let (x, selected) = gpu_algos::host::partition(&[1, 2, 3, 4], |&x| x > 2);
/// assert_eq!((x.to_vec(), selected), (vec![3, 4, 1, 2], 2));
/// ```
pub fn partition<'a, T: Copy + Send + Sync + 'a, D: Dimension>(
    view: impl Into<ArrayView<'a, T, D>>,
    keep: impl Fn(&T) -> bool + Sync,
) -> (Array1<T>, usize) {
    let view = view.into();
    let view = view.as_standard_layout();
    let x = elements(&view);
    gather::parted(&gather::flags(x.len(), |i| keep(&x[i])), |i| x[i])
}

/// The elements where `mask` is true, then the others, both in C order; and how many it has.
///
/// # Errors
/// `Shape` for a mask of another shape.
pub fn partition_by_mask<'a, 'm, T: Copy + Send + Sync + 'a, D: Dimension>(
    view: impl Into<ArrayView<'a, T, D>>,
    mask: impl Into<ArrayView<'m, bool, D>>,
) -> Result<(Array1<T>, usize)> {
    let (view, mask) = (view.into(), mask.into());
    same_shape("partition_by_mask", view.shape(), mask.shape())?;
    let (view, mask) = (view.as_standard_layout(), mask.as_standard_layout());
    let x = elements(&view);
    Ok(gather::parted(elements(&mask), |i| x[i]))
}
