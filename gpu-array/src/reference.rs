//! The definitions on the host, which the tests compare the device with.

use ndarray::{Array1, ArrayViewMut, Dimension};
use num_traits::ToPrimitive;

use crate::{ArrayError, Integer, Number, Result};

/// `start + i * step` for each i with a value before `stop`; see [`GpuArray::arange`](crate::GpuArray::arange).
///
/// # Errors
/// `Range` as there.
///
/// ```
/// assert_eq!(gpu_array::reference::arange(0, 7, 3)?.to_vec(), [0, 3, 6]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub fn arange<T: Number>(start: T, stop: T, step: T) -> Result<Array1<T>> {
    Ok((0..T::range_len(start, stop, step)?).map(|i| T::range_value(start, step, i)).collect())
}

/// The place of a flat index in an array of `len` elements; a negative one counts from the end.
///
/// # Errors
/// `OutOfBounds`, with the `number` of the index.
pub fn place<I: Integer + ToPrimitive>(op: &'static str, index: I, number: usize, len: usize) -> Result<usize> {
    let index = index.to_i64().unwrap_or(i64::MAX);
    let from_start = if index < 0 { i128::from(index) + len as i128 } else { index.into() };
    let place = usize::try_from(from_start).ok().filter(|&place| place < len);
    place.ok_or(ArrayError::OutOfBounds { op, index, number, len })
}

/// `x[indices[k]] = values[k]` for each k in order, at flat indices in C order; see [`GpuArray::put`](crate::GpuArray::put).
///
/// # Errors
/// `OutOfBounds`, before anything is written; `Length` unless there are as many values as indices.
///
/// ```
/// let mut x = ndarray::array![[1, 2], [3, 4]];
/// gpu_array::reference::put(x.view_mut(), &[0, -1, 0], &[7, 8, 9])?;
/// assert_eq!(x, ndarray::array![[9, 2], [3, 8]]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub fn put<T: Clone, I: Integer + ToPrimitive, D: Dimension>(
    mut x: ArrayViewMut<'_, T, D>,
    indices: &[I],
    values: &[T],
) -> Result<()> {
    if indices.len() != values.len() {
        return Err(ArrayError::Length { shape: vec![indices.len()], expected: indices.len(), got: values.len() });
    }
    let len = x.len();
    let places = indices.iter().enumerate().map(|(number, &index)| place("put", index, number, len));
    let places: Vec<usize> = places.collect::<Result<_>>()?;
    let mut elements: Vec<&mut T> = x.iter_mut().collect();
    places.into_iter().zip(values).for_each(|(place, value)| *elements[place] = value.clone());
    Ok(())
}
