//! Arrays by serde, in the form of ndarray's arrays.

use ndarray::Dimension;
use serde::{Serialize, Serializer, ser::Error};

use crate::{Element, GpuArray};

/// The host copy, in the form in which ndarray has it: version, shape, elements in C order. An array comes back as ndarray's, and from there to a device.
///
/// ```no_run
/// # #[cfg(feature = "serde")] {
/// # let device = gpu_array::gpu_driver::Device::first()?;
/// use gpu_array::GpuArray;
/// let x = GpuArray::from_ndarray(&device, &ndarray::array![[1.0f32, 2.0]])?;
/// let text = serde_json::to_string(&x)?;
/// let host: ndarray::Array2<f32> = serde_json::from_str(&text)?;
/// let x = GpuArray::from_ndarray(&device, &host)?;
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The serializer's; those of the copy, as text.
impl<T: Element + Serialize, D: Dimension + Serialize> Serialize for GpuArray<T, D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_ndarray().map_err(S::Error::custom)?.serialize(serializer)
    }
}
