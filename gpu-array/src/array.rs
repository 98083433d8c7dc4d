//! The owned array.

use gpu_driver::{DevicePod, DeviceSlice, DeviceVec, Stream};
use ndarray::{Dimension, IntoDimension, Ix1, Ix2, Ix3, IxDyn, Order, ShapeBuilder};

use crate::{ArrayError, Element, GpuView, GpuViewMut, Result, allocate::allocate, layout::Layout, pending::Pending};

/// An owned n-dimensional array in GPU memory.
///
/// `D` is one of ndarray's dimension types. The elements fill their buffer without gaps: in C order (the last axis is contiguous), or
/// in another order of the axes, such as Fortran order, where it was made so. Work on the array is ordered by one stream, its
/// home: the device's main stream, or the stream that it was made with (every constructor takes a `&Device` or a `&Stream`).
///
/// A shape is given as ndarray takes it: `(3, 4)`, `[3, 4]`, `IxDyn(&[3, 4])`, and `(3, 4).f()` (with `ndarray::ShapeBuilder`) for
/// Fortran order.
///
/// Slices, transposes and other parts are [`GpuView`]s, or [`GpuViewMut`]s to write.
#[doc(alias = "sum")]
#[doc(alias = "mean")]
#[doc(alias = "max")]
#[doc(alias = "argmax")]
#[doc(alias = "cumsum")]
#[doc(alias = "reduction")]
pub struct GpuArray<T: Element, D: Dimension> {
    data: DeviceVec<T::Storage>,
    /// Dense, from offset 0.
    layout: Layout<D>,
    /// The error of an operator such as `+=`, which could not return it.
    pending: Pending,
}

/// An array with one axis.
///
/// ```no_run
/// use gpu_array::{GpuArray1, gpu_driver::Device};
/// struct Particles {
///     mass: GpuArray1<f32>,
/// }
/// let particles = Particles { mass: GpuArray1::zeros(&Device::first()?, 100)? };
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub type GpuArray1<T> = GpuArray<T, Ix1>;
/// An array with two axes.
pub type GpuArray2<T> = GpuArray<T, Ix2>;
/// An array with three axes.
pub type GpuArray3<T> = GpuArray<T, Ix3>;
/// An array with a dynamic number of axes.
pub type GpuArrayD<T> = GpuArray<T, IxDyn>;

impl<T: Element, D: Dimension> GpuArray<T, D> {
    /// An array over a buffer that the layout fills without gaps.
    pub(crate) fn from_parts(data: DeviceVec<T::Storage>, layout: Layout<D>) -> Self {
        Self { data, layout, pending: Pending::default() }
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
    #[track_caller]
    pub fn zeros(home: impl Into<Stream>, shape: impl ShapeBuilder<Dim = D>) -> Result<Self> {
        let layout = Layout::of(shape)?;
        Ok(Self::from_parts(DeviceVec::zeros(&home.into(), layout.len())?, layout))
    }

    /// An array over a buffer that holds its elements in C order, or in Fortran order for a shape such as `(3, 4).f()`.
    ///
    /// # Errors
    /// `Length` unless the buffer has as many elements as the shape; the buffer is dropped then.
    ///
    /// ```no_run
    /// use gpu_array::{GpuArray, gpu_driver::{Device, DeviceVec}};
    /// let device = Device::first()?;
    /// let x = GpuArray::from_device_vec(DeviceVec::from_slice(&device.stream(), &[1.0, 2.0, 3.0, 4.0])?, (2, 2))?;
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    pub fn from_device_vec(data: DeviceVec<T>, shape: impl ShapeBuilder<Dim = D>) -> Result<Self>
    where
        T: Element<Storage = T> + DevicePod,
    {
        Self::from_storage(data, shape)
    }

    /// [`GpuArray::from_device_vec`] of elements as memory holds them, which are bytes where `T` is `bool`.
    ///
    /// # Errors
    /// The errors of [`GpuArray::from_device_vec`].
    pub fn from_storage(data: DeviceVec<T::Storage>, shape: impl ShapeBuilder<Dim = D>) -> Result<Self> {
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

    /// The buffer, which the layout leads into, and the error of an operator.
    pub(crate) fn into_parts(self) -> (DeviceVec<T::Storage>, Layout<D>, Pending) {
        (self.data, self.layout, self.pending)
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

    /// The elements in memory order: C order, unless the array was made in another one. The error of an operator such as `+=` stays with the
    /// array; [`GpuArray::take_error`] tells it.
    #[doc(alias("as_ptr", "data_ptr"))]
    pub fn as_device_vec(&self) -> &DeviceVec<T::Storage> {
        &self.data
    }

    /// The elements in memory order, to write. The error of an operator such as `+=` stays with the array, as it does in
    /// [`GpuArray::as_device_vec`].
    pub fn as_mut_device_vec(&mut self) -> &mut DeviceVec<T::Storage> {
        &mut self.data
    }

    /// Gives up the shape and keeps the elements, in memory order. The error of an operator such as `+=`, if no call has returned it, is the
    /// error of the next call on the device, as it is when an array is dropped.
    pub fn into_device_vec(self) -> DeviceVec<T::Storage> {
        self.data
    }

    /// A copy on the same device, stream and in the same order.
    ///
    /// # Errors
    /// `OutOfMemory`, `DeviceLost`.
    #[doc(alias("clone", "copy"))]
    #[track_caller]
    pub fn try_clone(&self) -> Result<Self> {
        self.pending.check()?;
        Ok(Self::from_parts(self.data.try_clone()?, self.layout.clone()))
    }

    /// A copy on another device, or on another stream of this one, in the same order. Returns at once.
    ///
    /// # Cost
    /// One copy over the bus between the devices where there is one, else through the host; ordered with both home streams.
    ///
    /// # Errors
    /// `OutOfMemory`, `DeviceLost`; `InCapture` where the devices are two.
    ///
    /// ```no_run
    /// use gpu_array::{GpuArray, gpu_driver::Device};
    /// let x = GpuArray::from_vec(&Device::new(0)?, vec![1.0, 2.0, 3.0])?;
    /// let y = x.to_device(&Device::new(1)?)?;
    /// assert_eq!(y.device().ordinal(), 1);
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    #[doc(alias("asarray", "copy_from_peer", "memcpy_peer"))]
    #[track_caller]
    pub fn to_device(&self, home: impl Into<Stream>) -> Result<Self> {
        self.pending.check()?;
        let mut data = allocate(&home.into(), self.data.len())?;
        data.as_mut_slice().copy_from_peer(self.data())?;
        Ok(Self::from_parts(data, self.layout.clone()))
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

impl<'a, T: Element, D: Dimension> From<&'a GpuArray<T, D>> for GpuView<'a, T, D> {
    fn from(array: &'a GpuArray<T, D>) -> Self {
        array.view()
    }
}

impl<'a, T: Element, D: Dimension> From<&'a mut GpuArray<T, D>> for GpuViewMut<'a, T, D> {
    fn from(array: &'a mut GpuArray<T, D>) -> Self {
        array.view_mut()
    }
}
