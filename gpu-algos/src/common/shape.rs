//! Shapes as lists of lengths.

use gpu_array::{ArrayError, Element};
use ndarray::Dimension;
use smallvec::SmallVec;

use crate::{AlgoError, Result};

/// Converts a list of lengths to a dimension.
pub(crate) fn dim_of<K: Dimension>(op: &'static str, lengths: &[usize]) -> Result<K, ArrayError> {
    let mut dim = K::zeros(K::NDIM.unwrap_or(lengths.len()));
    if dim.ndim() != lengths.len() {
        return Err(ArrayError::Ndim { op, expected: dim.ndim(), got: lengths.len() });
    }
    dim.slice_mut().copy_from_slice(lengths);
    Ok(dim)
}

/// Memory for the results of a shape on the host, as many zeros.
///
/// # Errors
/// `TooLarge` where the host has not as much, or no array can have the shape.
pub(crate) fn zeros_on_host<T: Element>(op: &'static str, shape: &[usize]) -> Result<Vec<T>> {
    let too_large = || AlgoError::TooLarge { op, shape: shape.to_vec() };
    // ndarray takes no shape whose lengths multiply beyond isize, be one of them 0.
    let mut lengths = shape.iter().filter(|&&length| length > 0);
    let elements = lengths.try_fold(1_usize, |all, &length| all.checked_mul(length));
    let elements = elements.filter(|&elements| isize::try_from(elements).is_ok()).ok_or_else(too_large)?;
    let elements = if shape.contains(&0) { 0 } else { elements };
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(elements).map_err(|_| too_large())?;
    zeros.resize(elements, T::ZERO);
    Ok(zeros)
}

pub(crate) fn same_shape(op: &'static str, left: &[usize], right: &[usize]) -> Result<()> {
    if left == right {
        return Ok(());
    }
    Err(AlgoError::Shape { op, left: left.to_vec(), right: right.to_vec() })
}

/// Strides along the axes of `shape` for values in C order, with `step` from one value to the next.
pub(crate) fn in_order(shape: &[usize], mut step: isize) -> SmallVec<[isize; 4]> {
    let mut strides = SmallVec::from_elem(0, shape.len());
    for (stride, &length) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.wrapping_mul(length as isize);
    }
    strides
}
