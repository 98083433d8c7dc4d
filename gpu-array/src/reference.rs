//! The definitions on the host, which the tests compare the device with.

use ndarray::Array1;

use crate::{Number, Result};

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
