//! The owned array.

use gpu_driver::{DeviceSlice, DeviceVec, Stream};
use ndarray::{ArrayBase, Data, Dimension, IntoDimension, Ix1, IxDyn, Order, ShapeBuilder};

use crate::{
    ArrayError, Element, GpuViewMut, Number, Result,
    expression::{self, Pending, device},
    layout::Layout,
    transfer,
};

/// An owned n-dimensional array in GPU memory.
///
/// `D` is one of ndarray's dimension types. The elements fill their buffer without gaps: in C order (the last axis is contiguous), or
/// in another order of the axes, such as Fortran order, where it was made so. Work on the array is ordered by one stream, its
/// home: the device's main stream, or the stream that it was made with (every constructor takes a `&Device` or a `&Stream`).
///
/// A shape is given as ndarray takes it: `(3, 4)`, `[3, 4]`, `IxDyn(&[3, 4])`, and `(3, 4).f()` (with `ndarray::ShapeBuilder`) for
/// Fortran order.
///
/// Slices, transposes and other parts are [`GpuView`](crate::GpuView)s, or [`GpuViewMut`]s to write.
pub struct GpuArray<T: Element, D: Dimension> {
    data: DeviceVec<T::Storage>,
    /// Dense, from offset 0.
    layout: Layout<D>,
    /// The error of an operator such as `+=`, which could not return it.
    pending: Pending,
}

impl<T: Element, D: Dimension> GpuArray<T, D> {
    /// An array over a buffer that the layout fills without gaps.
    pub(crate) fn from_parts(data: DeviceVec<T::Storage>, layout: Layout<D>) -> Self {
        Self { data, layout, pending: Pending::default() }
    }

    /// A copy of an ndarray array or view of any layout; in Fortran order where the source is, else in C order.
    ///
    /// # Cost
    /// One copy to the device, after one on the host when the source is in neither order. Returns when it has run.
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
        transfer::from_ndarray(&home.into(), source.view())
    }

    /// An array of zeros.
    ///
    /// # Errors
    /// `TooLarge`, or the driver's.
    ///
    /// ```no_run
    /// # let device = gpu_driver::Device::first()?;
    /// use ndarray::ShapeBuilder;
    /// let x = gpu_array::GpuArray::<f32, _>::zeros(&device, (3, 4).f())?;
    /// assert_eq!(x.strides(), [1, 3]);
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    pub fn zeros(home: impl Into<Stream>, shape: impl ShapeBuilder<Dim = D>) -> Result<Self> {
        let layout = Layout::of(shape)?;
        Ok(Self::from_parts(DeviceVec::zeros(&home.into(), layout.len())?, layout))
    }

    /// An array with `value` in each place.
    ///
    /// # Errors
    /// `TooLarge`, or the driver's; `NoNvrtc` where the fill kernel cannot be compiled.
    pub fn full(home: impl Into<Stream>, shape: impl ShapeBuilder<Dim = D>, value: T) -> Result<Self> {
        let layout = Layout::of(shape)?;
        let mut array = Self::from_parts(device::allocate(&home.into(), layout.len())?, layout);
        array.fill(value)?;
        Ok(array)
    }

    /// An array over a buffer that holds its elements in C order, or in Fortran order for a shape such as `(3, 4).f()`.
    ///
    /// # Errors
    /// `Length` unless the buffer has as many elements as the shape; the buffer is dropped then.
    pub fn from_device_vec(data: DeviceVec<T::Storage>, shape: impl ShapeBuilder<Dim = D>) -> Result<Self> {
        let layout = Layout::of(shape)?;
        let (expected, got) = (layout.len(), data.len());
        if expected == got {
            return Ok(Self { data, layout, pending: Pending::default() });
        }
        Err(ArrayError::Length { shape: layout.shape().to_vec(), expected, got })
    }

    pub(crate) fn layout(&self) -> &Layout<D> {
        &self.layout
    }

    pub(crate) fn data(&self) -> DeviceSlice<'_, T::Storage> {
        self.data.as_slice()
    }

    pub(crate) fn pending(&self) -> Option<&Pending> {
        Some(&self.pending)
    }

    /// All of it, to write.
    pub fn view_mut(&mut self) -> GpuViewMut<'_, T, D> {
        GpuViewMut::new(self.data.as_mut_slice(), self.layout.clone(), &self.pending)
    }

    /// The elements in memory order: C order, unless the array was made in another one.
    pub fn as_device_vec(&self) -> &DeviceVec<T::Storage> {
        &self.data
    }

    /// The elements in memory order, to write.
    pub fn as_mut_device_vec(&mut self) -> &mut DeviceVec<T::Storage> {
        &mut self.data
    }

    /// Gives up the shape and keeps the elements, in memory order.
    pub fn into_device_vec(self) -> DeviceVec<T::Storage> {
        self.data
    }

    /// A copy on the same device, stream and in the same order.
    ///
    /// # Errors
    /// `OutOfMemory`, `DeviceLost`.
    pub fn try_clone(&self) -> Result<Self> {
        self.pending.check()?;
        Ok(Self::from_parts(self.data.try_clone()?, self.layout.clone()))
    }

    /// The elements, counted in C order, in another shape, of which one length may be [`INFER`](crate::INFER). No element moves.
    ///
    /// # Errors
    /// The errors of [`GpuArray::reshape`]; the array is dropped then.
    ///
    /// ```no_run
    /// # let device = gpu_driver::Device::first()?;
    /// let x = gpu_array::GpuArray::arange(&device, 0, 12, 1)?.into_shape((3, gpu_array::INFER))?;
    /// assert_eq!(x.shape(), [3, 4]);
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    pub fn into_shape<E: IntoDimension>(self, shape: E) -> Result<GpuArray<T, E::Dim>> {
        let layout = self.layout.reshape(shape.into_dimension(), Order::RowMajor)?;
        Ok(GpuArray { data: self.data, layout, pending: self.pending })
    }

    /// The array with a dynamic number of axes.
    pub fn into_dyn(self) -> GpuArray<T, IxDyn> {
        GpuArray { data: self.data, layout: self.layout.into_dyn(), pending: self.pending }
    }

    /// The array under another dimension type with this number of axes.
    ///
    /// # Errors
    /// `Ndim` where the type has another number of axes; the array is dropped then.
    pub fn into_dimensionality<E: Dimension>(self) -> Result<GpuArray<T, E>> {
        Ok(GpuArray { data: self.data, layout: self.layout.into_dimensionality()?, pending: self.pending })
    }

    /// The array with its axes in reverse order: the transpose. No element moves.
    pub fn reversed_axes(self) -> Self {
        Self { layout: self.layout.t(), ..self }
    }

    /// The array with its axes in another order: axis `i` of the result is axis `axes[i]`. No element moves.
    ///
    /// # Errors
    /// `Permutation` unless each axis is named once; the array is dropped then.
    pub fn into_permuted_axes(self, axes: impl IntoDimension<Dim = D>) -> Result<Self> {
        Ok(Self { layout: self.layout.permuted_axes(&axes.into_dimension())?, ..self })
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
        expression::arange(start, stop, step)?.eval_on(home)
    }
}
