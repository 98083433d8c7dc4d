//! The owned array.

use std::fmt;

use gpu_driver::{Device, DeviceVec, Stream};
use ndarray::{Array, ArrayBase, Data, Dimension, IntoDimension, Ix1};

use crate::{ArrayError, Element, Number, Result, create};

/// An owned n-dimensional array in GPU memory, in C order (the last axis is contiguous).
///
/// `D` is one of ndarray's dimension types. Work on the array is ordered by one stream, its home: the device's main
/// stream, or the stream that it was made with (every constructor takes a `&Device` or a `&Stream`).
pub struct GpuArray<T: Element, D: Dimension> {
    data: DeviceVec<T::Storage>,
    dim: D,
}

impl<T: Element, D: Dimension> GpuArray<T, D> {
    /// A copy of an ndarray array or view of any layout.
    ///
    /// # Cost
    /// One copy to the device, after one on the host when the source is not in C order. Returns when it has run.
    ///
    /// # Errors
    /// Those of the driver, such as `OutOfMemory`.
    ///
    /// ```no_run
    /// # let device = gpu_driver::Device::first()?;
    /// let host = ndarray::Array2::<f64>::eye(3);
    /// let x = gpu_array::GpuArray::from_ndarray(&device, &host.t())?;
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    pub fn from_ndarray<S: Data<Elem = T>>(home: impl Into<Stream>, source: &ArrayBase<S, D>) -> Result<Self> {
        let standard = source.as_standard_layout();
        // Always Some: the layout is standard.
        let elements = standard.as_slice().unwrap_or_default();
        Ok(Self { data: DeviceVec::from_slice(&home.into(), &T::to_storage_slice(elements))?, dim: source.raw_dim() })
    }

    /// The array on the host, in C order, after waiting for the home stream.
    ///
    /// # Errors
    /// `DeviceLost` when a kernel faulted.
    pub fn to_ndarray(&self) -> Result<Array<T, D>> {
        let elements = T::from_storage_vec(self.data.to_vec()?);
        // The buffer has one element per place of the shape, so this holds.
        Array::from_shape_vec(self.dim.clone(), elements).map_err(|_| self.length_error())
    }

    /// An array of zeros.
    ///
    /// # Errors
    /// `TooLarge`, or the driver's.
    pub fn zeros(home: impl Into<Stream>, shape: impl IntoDimension<Dim = D>) -> Result<Self> {
        let dim = shape.into_dimension();
        Ok(Self { data: DeviceVec::zeros(&home.into(), size_of_shape(&dim)?)?, dim })
    }

    /// An array with `value` in each place.
    ///
    /// # Errors
    /// `TooLarge`, or the driver's; `NoNvrtc` where the fill kernel cannot be compiled.
    pub fn full(home: impl Into<Stream>, shape: impl IntoDimension<Dim = D>, value: T) -> Result<Self> {
        let dim = shape.into_dimension();
        let data = create::full(&home.into(), size_of_shape(&dim)?, value.to_storage())?;
        Ok(Self { data, dim })
    }

    /// An array over a buffer that holds its elements in C order.
    ///
    /// # Errors
    /// `Length` unless the buffer has as many elements as the shape; the buffer is dropped then.
    pub fn from_device_vec(data: DeviceVec<T::Storage>, shape: impl IntoDimension<Dim = D>) -> Result<Self> {
        let array = Self { data, dim: shape.into_dimension() };
        if size_of_shape(&array.dim)? == array.data.len() { Ok(array) } else { Err(array.length_error()) }
    }

    /// Writes `value` to each place.
    ///
    /// # Cost
    /// One kernel at the speed of memory writes; does not wait.
    ///
    /// # Errors
    /// `NoNvrtc` where the kernel cannot be compiled; the driver's.
    pub fn fill(&mut self, value: T) -> Result<()> {
        create::fill(self.data.as_mut_slice(), value.to_storage())
    }

    /// The lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.dim.slice()
    }

    /// The shape as ndarray's dimension type.
    pub fn raw_dim(&self) -> D {
        self.dim.clone()
    }

    /// Number of axes.
    pub fn ndim(&self) -> usize {
        self.dim.ndim()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The stream that orders the array's work.
    pub fn stream(&self) -> &Stream {
        self.data.home()
    }

    /// The device that holds it.
    pub fn device(&self) -> &Device {
        self.data.device()
    }

    /// The elements in C order.
    pub fn as_device_vec(&self) -> &DeviceVec<T::Storage> {
        &self.data
    }

    /// The elements in C order, to write.
    pub fn as_mut_device_vec(&mut self) -> &mut DeviceVec<T::Storage> {
        &mut self.data
    }

    /// Gives up the shape and keeps the elements.
    pub fn into_device_vec(self) -> DeviceVec<T::Storage> {
        self.data
    }

    /// A copy with the same home.
    ///
    /// # Errors
    /// `OutOfMemory`, `DeviceLost`.
    pub fn try_clone(&self) -> Result<Self> {
        Ok(Self { data: self.data.try_clone()?, dim: self.dim.clone() })
    }

    fn length_error(&self) -> ArrayError {
        let (shape, got) = (self.dim.slice().to_vec(), self.data.len());
        ArrayError::Length { shape, expected: self.dim.size(), got }
    }
}

impl<T: Number> GpuArray<T, Ix1> {
    /// The values `start + i * step` before `stop`, as NumPy's `arange`.
    ///
    /// Floats are computed in f64 and rounded once, so a long f32 range does not drift; the number of values is
    /// `ceil((stop - start) / step)`. Same bits as [`reference::arange`](crate::reference::arange).
    ///
    /// # Errors
    /// `Range` for a step of zero or a number of values that is not finite; the driver's; `NoNvrtc`.
    ///
    /// ```no_run
    /// # let device = gpu_driver::Device::first()?;
    /// let x = gpu_array::GpuArray::arange(&device, 0.0, 1.0, 0.25)?;
    /// assert_eq!(x.to_ndarray()?.to_vec(), [0.0, 0.25, 0.5, 0.75]);
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    pub fn arange(home: impl Into<Stream>, start: T, stop: T, step: T) -> Result<Self> {
        let n = T::range_len(start, stop, step)?;
        Ok(Self { data: create::arange(&home.into(), start, step, n)?, dim: Ix1(n) })
    }
}

impl<T: Element, D: Dimension> fmt::Debug for GpuArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GpuArray<{}>(shape {:?}, device {})", T::DTYPE, self.shape(), self.device().ordinal())
    }
}

impl<T: Element, D: Dimension> fmt::Display for GpuArray<T, D> {
    /// As ndarray prints it; a device error prints as its text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_ndarray() {
            Ok(host) => host.fmt(f),
            Err(error) => write!(f, "<{self:?}: {error}>"),
        }
    }
}

/// The number of elements of a shape, where it can be addressed.
fn size_of_shape<D: Dimension>(dim: &D) -> Result<usize> {
    let size = dim.size_checked().filter(|&size| isize::try_from(size).is_ok());
    size.ok_or_else(|| ArrayError::TooLarge { shape: dim.slice().to_vec() })
}

#[cfg(test)]
mod tests {
    use ndarray::Ix3;

    use super::*;

    #[test]
    fn shapes_beyond_the_address_space_are_errors() {
        assert_eq!(size_of_shape(&Ix3(2, 0, 4)).unwrap(), 0);
        assert_eq!(size_of_shape(&Ix3(2, 3, 4)).unwrap(), 24);
        assert!(matches!(size_of_shape(&Ix3(usize::MAX, 2, 1)), Err(ArrayError::TooLarge { .. })));
    }
}
