//! Shapes as lists of lengths.

use gpu_array::ArrayError;
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
