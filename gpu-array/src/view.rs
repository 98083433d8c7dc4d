//! Borrowed arrays of any layout.

use std::marker::PhantomData;

use gpu_driver::{DeviceSlice, DeviceSliceMut};
use ndarray::{Dimension, IxDyn};

use crate::{ArrayError, Element, Numeric, Result, layout::Layout, pending::Pending};

/// A borrowed array: any part of a [`GpuArray`](crate::GpuArray), with any strides, to read.
///
/// Made by [`GpuArray::view`](crate::GpuArray::view), [`GpuArray::slice`](crate::GpuArray::slice) and the methods beside them; they copy nothing
/// and start no work on the device.
/// A view can be copied, as `&` can.
///
/// ```no_run
/// # let device = gpu_driver::Device::first()?;
/// use ndarray::{array, s};
/// let x = gpu_array::GpuArray::from_ndarray(&device, &array![[1, 2, 3], [4, 5, 6]])?;
/// let backwards = x.slice(s![.., ..;-1])?.t();
/// assert_eq!(backwards.to_ndarray()?, array![[3, 6], [2, 5], [1, 4]]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
///
/// It cannot outlive its array:
/// ```compile_fail,E0505
/// # fn test(x: gpu_array::GpuArray<f32, ndarray::Ix2>) {
/// let view = x.t();
/// drop(x);
/// println!("{view}");
/// # }
/// ```
///
/// Nor can the array be written to while it lives:
/// ```compile_fail,E0502
/// # fn test(mut x: gpu_array::GpuArray<f32, ndarray::Ix2>) -> gpu_array::Result<()> {
/// let view = x.t();
/// x.fill(1.0)?;
/// println!("{view}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct GpuView<'a, T: Element, D: Dimension> {
    /// The whole buffer.
    data: DeviceSlice<'a, T::Storage>,
    layout: Layout<D>,
    /// The pending error of the array, if the view is of one.
    pending: Option<&'a Pending>,
}

/// A borrowed array: any part of a [`GpuArray`](crate::GpuArray), with any strides, to write.
///
/// Made by [`GpuArray::view_mut`](crate::GpuArray::view_mut), [`GpuArray::slice_mut`](crate::GpuArray::slice_mut) and the methods beside them.
/// No two of its elements have the same place, and no other view that can be used at the same time leads to them.
///
/// ```no_run
/// # let device = gpu_driver::Device::first()?;
/// use ndarray::{Axis, array};
/// let mut x = gpu_array::GpuArray::from_ndarray(&device, &array![[1, 2, 3], [4, 5, 6]])?;
/// let (mut left, mut right) = x.split_at_mut(Axis(1), 1)?;
/// left.fill(0)?;
/// right.fill(9)?;
/// assert_eq!(x.to_ndarray()?, array![[0, 9, 9], [0, 9, 9]]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
///
/// Two of them cannot lead to the same elements:
/// ```compile_fail,E0499
/// # fn test(mut x: gpu_array::GpuArray<f32, ndarray::Ix2>) -> gpu_array::Result<()> {
/// let mut first = x.t_mut();
/// let mut second = x.view_mut();
/// first.fill(1.0)?;
/// # Ok(())
/// # }
/// ```
///
/// Nor can one be copied:
/// ```compile_fail,E0382
/// # fn test(mut x: gpu_array::GpuArray<f32, ndarray::Ix2>) {
/// let first = x.view_mut();
/// let second = first;
/// println!("{first}");
/// # }
/// ```
///
/// Nor does a broadcast array have places of its own to write to:
/// ```compile_fail,E0599
/// # fn test(mut x: gpu_array::GpuArray<f32, ndarray::Ix2>) -> gpu_array::Result<()> {
/// x.broadcast((3, 4))?.fill(1.0)?;
/// # Ok(())
/// # }
/// ```
pub struct GpuViewMut<'a, T: Element, D: Dimension> {
    /// The whole buffer, of which the view may use the elements that the layout leads to, and nobody else may.
    data: DeviceSlice<'a, T::Storage>,
    layout: Layout<D>,
    pending: Option<&'a Pending>,
    /// Number of elements of this type that the array has; None where the array's bytes are no whole number of them.
    of_array: Option<usize>,
    _exclusive: PhantomData<&'a mut T>,
}

impl<'a, T: Element, D: Dimension> GpuView<'a, T, D> {
    /// A view of the elements that `layout` leads to; it was made for this buffer.
    pub(crate) fn new(data: DeviceSlice<'a, T::Storage>, layout: Layout<D>, pending: Option<&'a Pending>) -> Self {
        Self { data, layout, pending }
    }

    pub(crate) fn pending(&self) -> Option<&'a Pending> {
        self.pending
    }

    pub(crate) fn layout(&self) -> &Layout<D> {
        &self.layout
    }

    /// The whole buffer.
    pub(crate) fn data(&self) -> DeviceSlice<'a, T::Storage> {
        self.data
    }

    /// The part of the buffer between the first and the last element in memory.
    ///
    /// # Errors
    /// That of an operator such as `+=` on the array.
    pub(crate) fn covering(&self) -> Result<DeviceSlice<'a, T::Storage>> {
        self.pending.map_or(Ok(()), Pending::check)?;
        Ok(self.data.slice(self.layout.span())?)
    }

    /// The elements as the part of device memory that they are, where they lie in C order without gaps: for kernels of one's own. `bool` stands
    /// there as a byte that is 0 or not.
    ///
    /// # Errors
    /// `NotInCOrder`; the error that an operator such as `+=` on the array could not return.
    pub fn as_device_slice(&self) -> Result<DeviceSlice<'a, T::Storage>> {
        in_c_order("as_device_slice", &self.layout)?;
        self.covering()
    }

    pub(crate) fn with<E: Dimension>(self, layout: Layout<E>) -> GpuView<'a, T, E> {
        GpuView { data: self.data, layout, pending: self.pending }
    }

    /// The bytes of the elements as elements of another type.
    pub(crate) fn cast_bytes<U: Numeric>(self) -> Result<GpuView<'a, U, D>> {
        let (data, layout) = cast_bytes::<T, U, D>(self.data, &self.layout)?;
        Ok(GpuView { data, layout, pending: self.pending })
    }

    /// Two layouts of elements of this view.
    pub(crate) fn with_both(self, a: Layout<D>, b: Layout<D>) -> (Self, Self) {
        (Self { layout: a, ..self.clone() }, Self { layout: b, ..self })
    }

    /// Some layouts of elements of this view.
    pub(crate) fn with_each(self, layouts: Vec<Layout<D>>) -> Vec<Self> {
        layouts.into_iter().map(|layout| self.clone().with(layout)).collect()
    }

    /// A view of the same elements with a dynamic number of axes.
    pub fn into_dyn(self) -> GpuView<'a, T, IxDyn> {
        let layout = self.layout.clone().into_dyn();
        self.with(layout)
    }

    /// A view of the same elements with another dimension type of this number of axes.
    ///
    /// # Errors
    /// `Ndim` where the type has another number of axes.
    pub fn into_dimensionality<E: Dimension>(self) -> Result<GpuView<'a, T, E>> {
        let layout = self.layout.clone().into_dimensionality()?;
        Ok(self.with(layout))
    }
}

impl<'a, T: Element, D: Dimension> GpuViewMut<'a, T, D> {
    /// A view of all elements of an array, which `layout` leads to, each place once; it was made for this buffer.
    pub(crate) fn new(data: DeviceSliceMut<'a, T::Storage>, layout: Layout<D>, pending: &'a Pending) -> Self {
        let of_array = Some(layout.len());
        Self { data: data.into_slice(), layout, pending: Some(pending), of_array, _exclusive: PhantomData }
    }

    pub(crate) fn pending(&self) -> Option<&Pending> {
        self.pending
    }

    /// Whether it has all elements of the array, each once.
    fn is_whole(&self) -> bool {
        self.of_array == Some(self.layout.len())
    }

    /// Returns the error of an operator such as `+=` on the array, before all elements of the view are overwritten. Where these are all of the
    /// array's, an error that a call has returned before is past.
    pub(crate) fn check_overwrite(&self) -> Result<()> {
        let check = if self.is_whole() { Pending::check_untold } else { Pending::check };
        self.pending.map_or(Ok(()), check)
    }

    /// Notes that all elements of the view have been overwritten.
    pub(crate) fn note_overwritten(&self) {
        if let Some(pending) = self.pending.filter(|pending| pending.is_set() && self.is_whole()) {
            pending.clear();
        }
    }

    pub(crate) fn layout(&self) -> &Layout<D> {
        &self.layout
    }

    /// The whole buffer. Only the elements that the layout leads to are this view's.
    pub(crate) fn data(&self) -> DeviceSlice<'_, T::Storage> {
        self.data
    }

    /// The elements to read where they are written, and nowhere else.
    pub(crate) fn own(&self) -> (DeviceSlice<'a, T::Storage>, Option<&'a Pending>) {
        (self.data, self.pending)
    }

    /// Another layout of elements of this view, each once.
    pub(crate) fn with<E: Dimension>(self, layout: Layout<E>) -> GpuViewMut<'a, T, E> {
        let Self { data, pending, of_array, .. } = self;
        GpuViewMut { data, layout, pending, of_array, _exclusive: PhantomData }
    }

    /// The bytes of the elements as elements of another type.
    pub(crate) fn cast_bytes<U: Numeric>(self) -> Result<GpuViewMut<'a, U, D>> {
        let (data, layout) = cast_bytes::<T, U, D>(self.data, &self.layout)?;
        let bytes = self.of_array.map(|elements| elements * size_of::<T::Storage>());
        let of_array = bytes.filter(|bytes| bytes.is_multiple_of(size_of::<U>())).map(|bytes| bytes / size_of::<U>());
        Ok(GpuViewMut { data, layout, pending: self.pending, of_array, _exclusive: PhantomData })
    }

    /// Two layouts of elements of this view that have none in common.
    pub(crate) fn with_both(self, a: Layout<D>, b: Layout<D>) -> (Self, Self) {
        let Self { data, pending, of_array, .. } = self;
        let with = |layout| Self { data, layout, pending, of_array, _exclusive: PhantomData };
        (with(a), with(b))
    }

    /// All of it, to write, while the view itself is not used.
    pub fn view_mut(&mut self) -> GpuViewMut<'_, T, D> {
        let &mut Self { data, pending, of_array, .. } = self;
        GpuViewMut { data, layout: self.layout.clone(), pending, of_array, _exclusive: PhantomData }
    }

    /// The part of the buffer that a contiguous view has alone, to overwrite.
    ///
    /// # Errors
    /// The errors of [`GpuViewMut::check_overwrite`].
    pub(crate) fn covering_mut(&mut self) -> Result<DeviceSliceMut<'_, T::Storage>> {
        debug_assert!(
            self.layout.is_c_contiguous() || self.layout.is_f_contiguous(),
            "others have gaps that are not theirs"
        );
        self.check_overwrite()?;
        self.view_mut().into_part_mut()
    }

    /// The part of the buffer for as long as the elements were borrowed, to read and write.
    ///
    /// # Errors
    /// That of an operator such as `+=` on the array.
    fn into_covering_mut(self) -> Result<DeviceSliceMut<'a, T::Storage>> {
        self.pending.map_or(Ok(()), Pending::check)?;
        self.into_part_mut()
    }

    fn into_part_mut(self) -> Result<DeviceSliceMut<'a, T::Storage>> {
        let part = self.data.slice(self.layout.span())?;
        #[expect(unsafe_code, reason = "which elements are whose is known to the layouts")]
        // SAFETY: `data` came from `into_slice`. This view has its elements alone and is given up, and without gaps they are all
        // that is between the first and the last.
        Ok(unsafe { part.into_mut() })
    }

    /// The elements as a mutable part of device memory, where they lie in C order without gaps, as by [`GpuView::as_device_slice`].
    ///
    /// # Errors
    /// The errors of [`GpuView::as_device_slice`].
    pub fn into_device_slice_mut(self) -> Result<DeviceSliceMut<'a, T::Storage>> {
        in_c_order("into_device_slice_mut", &self.layout)?;
        self.into_covering_mut()
    }

    /// Whether the elements are all that lies between the first and the last in memory, in any order of axes and directions.
    pub fn is_dense(&self) -> bool {
        self.layout.span().len() == self.layout.len()
    }

    /// The elements as a mutable part of device memory in the order of that memory, as ndarray's `as_slice_memory_order_mut`.
    ///
    /// # Errors
    /// `Gaps` unless [`GpuViewMut::is_dense`]; that of an operator such as `+=` on the array.
    pub fn into_memory_order_slice_mut(self) -> Result<DeviceSliceMut<'a, T::Storage>> {
        if self.is_dense() {
            return self.into_covering_mut();
        }
        let (shape, strides) = (self.layout.shape().to_vec(), self.layout.strides().to_vec());
        Err(ArrayError::Gaps { op: "into_memory_order_slice_mut", shape, strides })
    }

    /// A view of the same elements with a dynamic number of axes.
    pub fn into_dyn(self) -> GpuViewMut<'a, T, IxDyn> {
        let layout = self.layout.clone().into_dyn();
        self.with(layout)
    }

    /// A view of the same elements with another dimension type of this number of axes.
    ///
    /// # Errors
    /// `Ndim` where the type has another number of axes.
    pub fn into_dimensionality<E: Dimension>(self) -> Result<GpuViewMut<'a, T, E>> {
        let layout = self.layout.clone().into_dimensionality()?;
        Ok(self.with(layout))
    }

    /// The elements, for as long as they were borrowed to write.
    pub fn into_view(self) -> GpuView<'a, T, D> {
        GpuView { data: self.data, layout: self.layout, pending: self.pending }
    }
}

/// A buffer as elements of another type, and the layout of these.
fn cast_bytes<'a, T: Element, U: Numeric, D: Dimension>(
    data: DeviceSlice<'a, T::Storage>,
    layout: &Layout<D>,
) -> Result<(DeviceSlice<'a, U>, Layout<D>)> {
    layout.lies_within(data.len())?;
    let other = layout_of_bytes::<T, U, D>(layout)?;
    Ok((data.cast()?, other))
}

/// The layout of the bytes of elements as elements of another type.
pub(crate) fn layout_of_bytes<T: Element, U: Numeric, D: Dimension>(layout: &Layout<D>) -> Result<Layout<D>> {
    let other = layout.of_other_size(size_of::<T::Storage>(), size_of::<U>());
    other.map_err(|why| refused_bytes::<T, U, D>(layout, why))
}

/// The reason for a first element whose address the other type cannot have.
pub(crate) const NOT_ALIGNED: &str = "its first element is not aligned";

/// The error for elements whose bytes are none of another type.
pub(crate) fn refused_bytes<T: Element, U: Numeric, D: Dimension>(layout: &Layout<D>, why: &'static str) -> ArrayError {
    let (shape, strides) = (layout.shape().to_vec(), layout.strides().to_vec());
    ArrayError::ViewAs { shape, strides, from: T::DTYPE, to: U::DTYPE, why }
}

fn in_c_order<D: Dimension>(op: &'static str, layout: &Layout<D>) -> Result<()> {
    if layout.is_c_contiguous() {
        return Ok(());
    }
    Err(ArrayError::NotInCOrder { op, shape: layout.shape().to_vec(), strides: layout.strides().to_vec() })
}

impl<'a, T: Element, D: Dimension> From<&GpuView<'a, T, D>> for GpuView<'a, T, D> {
    /// Another view of the same elements.
    fn from(view: &GpuView<'a, T, D>) -> Self {
        view.clone()
    }
}
