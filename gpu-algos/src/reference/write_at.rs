//! The definitions of writes at computed places: elements combined with values one after another, and `x[mask] = values`.
//!
//! On a device [`WriteAt`](crate::WriteAt) combines the values of each place in another order.

use gpu_array::{ArrayError, reference::place};
use ndarray::{ArrayView, ArrayViewMut, Dimension};

use crate::{Result, common::shape::same_shape, operators::Operand};

/// `x[indices[k]] = add(x[indices[k]], values[k])` for each k in order, at flat indices in C order: NumPy's `add.at`, which
/// [`WriteAt::add_at`](crate::WriteAt::add_at) computes in another order of sums.
///
/// # Errors
/// `Array` with `OutOfBounds`, before anything is written, or with `Length` unless there are as many values as indices.
///
/// ```
/// let mut x = ndarray::array![[1, 2], [3, 4]];
/// gpu_algos::reference::add_at(x.view_mut(), &[0, -1, 0], &[10, 20, 30], |x, y| x + y)?;
/// assert_eq!(x, ndarray::array![[41, 2], [3, 24]]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn add_at<T: Copy, D: Dimension>(
    x: ArrayViewMut<'_, T, D>,
    indices: &[i64],
    values: &[T],
    add: impl Fn(T, T) -> T,
) -> Result<()> {
    combine_at("add_at", x, indices, values, add)
}

/// `x[indices[k]] = subtract(x[indices[k]], values[k])` for each k in order: NumPy's `subtract.at`. [`WriteAt::subtract_at`](crate::WriteAt::subtract_at)
/// subtracts the sum of a place's values.
///
/// # Errors
/// As [`add_at`].
///
/// ```
/// let mut x = ndarray::array![1u8, 2];
/// gpu_algos::reference::subtract_at(x.view_mut(), &[0, -1, 0], &[1, 3, 1], u8::wrapping_sub)?;
/// assert_eq!(x, ndarray::array![255, 255]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn subtract_at<T: Copy, D: Dimension>(
    x: ArrayViewMut<'_, T, D>,
    indices: &[i64],
    values: &[T],
    subtract: impl Fn(T, T) -> T,
) -> Result<()> {
    combine_at("subtract_at", x, indices, values, subtract)
}

/// `x[indices[k]] = multiply(x[indices[k]], values[k])` for each k in order: NumPy's `multiply.at`. [`WriteAt::multiply_at`](crate::WriteAt::multiply_at)
/// multiplies by the product of a place's values.
///
/// # Errors
/// As [`add_at`].
///
/// ```
/// let mut x = ndarray::array![1.5, 2.0];
/// gpu_algos::reference::multiply_at(x.view_mut(), &[0, -1, 0], &[2.0, 0.5, 4.0], |x, y| x * y)?;
/// assert_eq!(x, ndarray::array![12.0, 1.0]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn multiply_at<T: Copy, D: Dimension>(
    x: ArrayViewMut<'_, T, D>,
    indices: &[i64],
    values: &[T],
    multiply: impl Fn(T, T) -> T,
) -> Result<()> {
    combine_at("multiply_at", x, indices, values, multiply)
}

/// `x[indices[k]] = min(x[indices[k]], values[k])` for each k in order, NaN where one is: NumPy's `minimum.at`,
/// [`WriteAt::minimum_at`](crate::WriteAt::minimum_at) on a device.
///
/// # Errors
/// As [`add_at`].
///
/// ```
/// let mut x = ndarray::array![5, 7];
/// gpu_algos::reference::minimum_at(x.view_mut(), &[0, -1, 0], &[6, 2, 3])?;
/// assert_eq!(x, ndarray::array![3, 2]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn minimum_at<T: Operand, D: Dimension>(x: ArrayViewMut<'_, T, D>, indices: &[i64], values: &[T]) -> Result<()> {
    combine_at("minimum_at", x, indices, values, T::smaller)
}

/// `x[indices[k]] = max(x[indices[k]], values[k])` for each k in order, NaN where one is: NumPy's `maximum.at`,
/// [`WriteAt::maximum_at`](crate::WriteAt::maximum_at) on a device.
///
/// # Errors
/// As [`add_at`].
///
/// ```
/// let mut x = ndarray::array![5.0, 7.0];
/// gpu_algos::reference::maximum_at(x.view_mut(), &[0, -1, 0], &[6.0, f64::NAN, 3.0])?;
/// assert!(x[0] == 6.0 && x[1].is_nan());
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn maximum_at<T: Operand, D: Dimension>(x: ArrayViewMut<'_, T, D>, indices: &[i64], values: &[T]) -> Result<()> {
    combine_at("maximum_at", x, indices, values, T::larger)
}

/// Overwrites the elements where `mask` is true with the values, one for each in C order: NumPy's `x[mask] = values`,
/// [`WriteAt::assign_selected`](crate::WriteAt::assign_selected) on a device.
///
/// # Errors
/// Before anything is written: `Shape` for a mask of another shape, `Array` with `Length` unless there are as many values as elements are selected.
///
/// ```
/// let mut x = ndarray::array![[1, 2], [3, 4]];
/// let mask = x.mapv(|x| x % 2 == 0);
/// gpu_algos::reference::assign_selected(x.view_mut(), &mask, &[7, 8])?;
/// assert_eq!(x, ndarray::array![[1, 7], [3, 8]]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn assign_selected<'m, T: Copy, D: Dimension>(
    mut x: ArrayViewMut<'_, T, D>,
    mask: impl Into<ArrayView<'m, bool, D>>,
    values: &[T],
) -> Result<()> {
    let mask = mask.into();
    same_shape("assign_selected", x.shape(), mask.shape())?;
    let (expected, got) = (mask.iter().filter(|&&selected| selected).count(), values.len());
    if expected != got {
        return Err(ArrayError::Length { shape: vec![expected], expected, got }.into());
    }
    let selected = x.iter_mut().zip(&mask).filter(|(_, selected)| **selected);
    selected.zip(values).for_each(|((element, _), &value)| *element = value);
    Ok(())
}

/// `x[indices[k]] = combine(x[indices[k]], values[k])` for each k in order, for the function `op`.
fn combine_at<T: Copy, D: Dimension>(
    op: &'static str,
    mut x: ArrayViewMut<'_, T, D>,
    indices: &[i64],
    values: &[T],
    combine: impl Fn(T, T) -> T,
) -> Result<()> {
    let (expected, got, len) = (indices.len(), values.len(), x.len());
    if expected != got {
        return Err(ArrayError::Length { shape: vec![expected], expected, got }.into());
    }
    let places = indices.iter().enumerate().map(|(number, &index)| place(op, index, number, len));
    let places: Vec<usize> = places.collect::<Result<_, _>>()?;
    let mut elements: Vec<&mut T> = x.iter_mut().collect();
    for (place, &value) in places.into_iter().zip(values) {
        *elements[place] = combine(*elements[place], value);
    }
    Ok(())
}
