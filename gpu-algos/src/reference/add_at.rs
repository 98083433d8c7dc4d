//! The definition of sums at computed places.

use gpu_array::{ArrayError, reference::place};
use ndarray::{ArrayViewMut, Dimension};

use crate::Result;

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
    mut x: ArrayViewMut<'_, T, D>,
    indices: &[i64],
    values: &[T],
    add: impl Fn(T, T) -> T,
) -> Result<()> {
    let (expected, got, len) = (indices.len(), values.len(), x.len());
    if expected != got {
        return Err(ArrayError::Length { shape: vec![expected], expected, got }.into());
    }
    let places = indices.iter().enumerate().map(|(number, &index)| place("add_at", index, number, len));
    let places: Vec<usize> = places.collect::<Result<_, _>>()?;
    let mut elements: Vec<&mut T> = x.iter_mut().collect();
    for (place, &value) in places.into_iter().zip(values) {
        *elements[place] = add(*elements[place], value);
    }
    Ok(())
}
