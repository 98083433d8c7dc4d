//! What arrays and views have in common.

use std::fmt;

use gpu_driver::{Device, Stream};
use ndarray::{
    Array, ArrayBase, Axis, Data, DataMut, Dimension, IntoDimension, Ix1, IxDyn, Order, RemoveAxis, SliceArg,
};

use crate::{ArrayError, Element, GpuArray, GpuView, GpuViewMut, Result, create, dense, transfer};

/// What `$type` has for reading; views of it live for `$life`. It has `layout()` and `data()`.
macro_rules! read_only {
    ([$($generics:tt)*] $type:ty, $name:literal, $life:lifetime) => {
        impl<$($generics)*> $type {
            /// The lengths of the axes.
            pub fn shape(&self) -> &[usize] {
                self.layout().shape()
            }

            /// The shape as ndarray's dimension type.
            pub fn raw_dim(&self) -> D {
                self.layout().dim().clone()
            }

            /// The distance in elements of neighbours along each axis; negative where an axis is reversed.
            pub fn strides(&self) -> &[isize] {
                self.layout().strides()
            }

            /// Number of axes.
            pub fn ndim(&self) -> usize {
                self.layout().ndim()
            }

            /// Number of elements.
            pub fn len(&self) -> usize {
                self.layout().len()
            }

            /// The length of an axis.
            ///
            /// # Errors
            /// `Axis` where there is no such axis.
            pub fn len_of(&self, axis: Axis) -> Result<usize> {
                let missing = ArrayError::Axis { op: "len_of", axis: axis.0, ndim: self.ndim() };
                self.shape().get(axis.0).copied().ok_or(missing)
            }

            /// Whether it has no element.
            pub fn is_empty(&self) -> bool {
                self.layout().is_empty()
            }

            /// Whether the elements lie in C order without gaps.
            pub fn is_standard_layout(&self) -> bool {
                self.layout().is_c_contiguous()
            }

            /// Whether the elements lie in C or Fortran order without gaps.
            pub fn is_contiguous(&self) -> bool {
                self.layout().is_c_contiguous() || self.layout().is_f_contiguous()
            }

            /// The stream that orders the work on the array.
            pub fn stream(&self) -> &Stream {
                self.data().home()
            }

            /// The device that holds it.
            pub fn device(&self) -> &Device {
                self.stream().device()
            }

            /// All of it, to read.
            pub fn view(&self) -> GpuView<$life, T, D> {
                GpuView::new(self.data(), self.layout().clone())
            }

            /// What `s![…]` selects, by ndarray's rules: indices and ends below 0 count from the end of their axis, and a negative step
            /// takes the range backwards.
            ///
            /// # Errors
            /// `Index` or `Slice` where an axis does not reach so far, or for a step of 0; `Ndim` unless there is one index or range
            /// for each axis.
            ///
            /// ```no_run
            /// # let device = gpu_driver::Device::first()?;
            /// use ndarray::{array, s};
            /// let x = gpu_array::GpuArray::from_ndarray(&device, &array![[1, 2, 3], [4, 5, 6]])?;
            /// assert_eq!(x.slice(s![-1, ..;2])?.to_ndarray()?, array![4, 6]);
            /// assert!(x.slice(s![2, ..]).is_err());
            /// # Ok::<(), gpu_array::ArrayError>(())
            /// ```
            pub fn slice<I: SliceArg<D>>(&self, info: I) -> Result<GpuView<$life, T, I::OutDim>> {
                Ok(self.view().with(self.layout().slice(&info)?))
            }

            /// The axes in reverse order: the transpose of a matrix.
            pub fn t(&self) -> GpuView<$life, T, D> {
                self.view().with(self.layout().t())
            }

            /// The axes in another order: axis `i` of the result is axis `axes[i]`.
            ///
            /// # Errors
            /// `Permutation` unless each axis is named once.
            pub fn permuted_axes(&self, axes: impl IntoDimension<Dim = D>) -> Result<GpuView<$life, T, D>> {
                Ok(self.view().with(self.layout().permuted_axes(&axes.into_dimension())?))
            }

            /// Two axes exchanged.
            ///
            /// # Errors
            /// `Axis` where there is no such axis.
            pub fn swap_axes(&self, a: Axis, b: Axis) -> Result<GpuView<$life, T, D>> {
                Ok(self.view().with(self.layout().swap_axes(a, b)?))
            }

            /// An axis backwards.
            ///
            /// # Errors
            /// `Axis` where there is no such axis.
            pub fn invert_axis(&self, axis: Axis) -> Result<GpuView<$life, T, D>> {
                Ok(self.view().with(self.layout().invert_axis(axis)?))
            }

            /// The elements, counted in C order, in another shape, of which one length may be [`INFER`](crate::INFER).
            ///
            /// # Errors
            /// `Reshape` for another number of elements; `Infer` where no length fits; `ReshapeNeedsCopy` where the strides of the array do
            /// not allow it without moving elements (`to_owned` makes a copy that does).
            pub fn reshape<E: IntoDimension>(&self, shape: E) -> Result<GpuView<$life, T, E::Dim>> {
                self.reshape_with_order(shape, Order::RowMajor)
            }

            /// As `reshape`, with the elements counted in that order in both shapes.
            ///
            /// # Errors
            /// As `reshape`.
            pub fn reshape_with_order<E: IntoDimension>(
                &self,
                shape: E,
                order: Order,
            ) -> Result<GpuView<$life, T, E::Dim>> {
                Ok(self.view().with(self.layout().reshape(shape.into_dimension(), order)?))
            }

            /// Without the axes of length 1.
            pub fn squeeze(&self) -> GpuView<$life, T, IxDyn> {
                self.view().with(self.layout().squeeze())
            }

            /// With a new axis of length 1 that becomes axis number `axis`.
            ///
            /// # Errors
            /// `Axis` beyond the number of axes.
            pub fn insert_axis(&self, axis: Axis) -> Result<GpuView<$life, T, D::Larger>> {
                Ok(self.view().with(self.layout().insert_axis(axis)?))
            }

            /// The elements with one index of an axis, without that axis.
            ///
            /// # Errors
            /// `Axis` where there is no such axis, `Index` where it does not reach so far.
            pub fn index_axis(&self, axis: Axis, index: usize) -> Result<GpuView<$life, T, D::Smaller>>
            where
                D: RemoveAxis,
            {
                Ok(self.view().with(self.layout().index_axis(axis, index)?))
            }

            /// The elements repeated to fill a shape, by NumPy's rules: axes are compared from the last, and one of length 1, or one
            /// that is missing, takes any length. Nothing is copied.
            ///
            /// # Errors
            /// `Broadcast` where a length is neither the wanted one nor 1; `TooLarge`.
            pub fn broadcast<E: IntoDimension>(&self, shape: E) -> Result<GpuView<$life, T, E::Dim>> {
                Ok(self.view().with(self.layout().broadcast(shape.into_dimension())?))
            }

            /// The elements whose indices are all the same.
            pub fn diagonal(&self) -> GpuView<$life, T, Ix1> {
                self.view().with(self.layout().diagonal())
            }

            /// The elements before an index of an axis, and those from it on.
            ///
            /// # Errors
            /// `Axis` where there is no such axis, `Index` beyond its length.
            pub fn split_at(&self, axis: Axis, index: usize) -> Result<(GpuView<$life, T, D>, GpuView<$life, T, D>)> {
                let (before, after) = self.layout().split_at(axis, index)?;
                Ok((self.view().with(before), self.view().with(after)))
            }

            /// Parts of `size` indices of an axis each, the last one maybe of fewer.
            ///
            /// # Errors
            /// `Axis` where there is no such axis, `Chunk` for a size of 0.
            pub fn chunks(&self, axis: Axis, size: usize) -> Result<Vec<GpuView<$life, T, D>>> {
                Ok(self.layout().chunks(axis, size)?.map(|part| self.view().with(part)).collect())
            }

            /// The value of an array that has one element.
            ///
            /// # Cost
            /// A copy of one element; waits for the home stream.
            ///
            /// # Errors
            /// `NotOneElement`; `DeviceLost`.
            pub fn get(&self) -> Result<T> {
                let missing = || ArrayError::NotOneElement { shape: self.shape().to_vec() };
                if self.len() != 1 {
                    return Err(missing());
                }
                let place = self.layout().offset();
                let stored = self.data().slice(place..place + 1)?.to_vec()?;
                stored.first().copied().map(T::from_storage).ok_or_else(missing)
            }

            /// A new array on the same stream with the same elements, in Fortran order where these are, else in C order.
            ///
            /// # Errors
            /// `OutOfMemory`, `DeviceLost`.
            pub fn to_owned(&self) -> Result<GpuArray<T, D>> {
                dense::to_dense(&self.view())
            }

            /// The array on the host, after waiting for the home stream; in Fortran order where it is so on the device, else in
            /// C order.
            ///
            /// # Cost
            /// One copy from the device; of a view that is not contiguous a copy on the device before it.
            ///
            /// # Errors
            /// `DeviceLost` when a kernel faulted.
            pub fn to_ndarray(&self) -> Result<Array<T, D>> {
                transfer::to_ndarray(&self.view())
            }

            /// Overwrites an ndarray array or view of any layout, after waiting for the home stream.
            ///
            /// # Cost
            /// As [`to_ndarray`](Self::to_ndarray); a target that is not in the order of this array, or of `bool`, takes another
            /// copy on the host.
            ///
            /// # Errors
            /// `Shape` unless both have the same; `DeviceLost`.
            pub fn copy_to_ndarray<S: DataMut<Elem = T>>(&self, target: &mut ArrayBase<S, D>) -> Result<()> {
                transfer::copy_to_ndarray(&self.view(), target.view_mut())
            }
        }

        impl<$($generics)*> fmt::Display for $type {
            /// As ndarray prints it; a device error prints as its text.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.to_ndarray() {
                    Ok(host) => host.fmt(f),
                    Err(error) => write!(f, "<{self:?}: {error}>"),
                }
            }
        }

        impl<$($generics)*> fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}<{}>(shape {:?}", $name, T::DTYPE, self.shape())?;
                if !self.is_standard_layout() {
                    write!(f, ", strides {:?}", self.strides())?;
                }
                write!(f, ", device {})", self.device().ordinal())
            }
        }
    };
}

/// What `$type` has for writing. It has `layout()` and `view_mut()`.
macro_rules! read_write {
    ([$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> $type {
            /// As `slice`, to write.
            ///
            /// # Errors
            /// As `slice`.
            pub fn slice_mut<I: SliceArg<D>>(&mut self, info: I) -> Result<GpuViewMut<'_, T, I::OutDim>> {
                let layout = self.layout().slice(&info)?;
                Ok(self.view_mut().with(layout))
            }

            /// As `t`, to write.
            pub fn t_mut(&mut self) -> GpuViewMut<'_, T, D> {
                let layout = self.layout().t();
                self.view_mut().with(layout)
            }

            /// As `permuted_axes`, to write.
            ///
            /// # Errors
            /// As `permuted_axes`.
            pub fn permuted_axes_mut(&mut self, axes: impl IntoDimension<Dim = D>) -> Result<GpuViewMut<'_, T, D>> {
                let layout = self.layout().permuted_axes(&axes.into_dimension())?;
                Ok(self.view_mut().with(layout))
            }

            /// As `swap_axes`, to write.
            ///
            /// # Errors
            /// As `swap_axes`.
            pub fn swap_axes_mut(&mut self, a: Axis, b: Axis) -> Result<GpuViewMut<'_, T, D>> {
                let layout = self.layout().swap_axes(a, b)?;
                Ok(self.view_mut().with(layout))
            }

            /// As `invert_axis`, to write.
            ///
            /// # Errors
            /// As `invert_axis`.
            pub fn invert_axis_mut(&mut self, axis: Axis) -> Result<GpuViewMut<'_, T, D>> {
                let layout = self.layout().invert_axis(axis)?;
                Ok(self.view_mut().with(layout))
            }

            /// As `reshape`, to write.
            ///
            /// # Errors
            /// As `reshape`.
            pub fn reshape_mut<E: IntoDimension>(&mut self, shape: E) -> Result<GpuViewMut<'_, T, E::Dim>> {
                let layout = self.layout().reshape(shape.into_dimension(), Order::RowMajor)?;
                Ok(self.view_mut().with(layout))
            }

            /// As `squeeze`, to write.
            pub fn squeeze_mut(&mut self) -> GpuViewMut<'_, T, IxDyn> {
                let layout = self.layout().squeeze();
                self.view_mut().with(layout)
            }

            /// As `insert_axis`, to write.
            ///
            /// # Errors
            /// As `insert_axis`.
            pub fn insert_axis_mut(&mut self, axis: Axis) -> Result<GpuViewMut<'_, T, D::Larger>> {
                let layout = self.layout().insert_axis(axis)?;
                Ok(self.view_mut().with(layout))
            }

            /// As `index_axis`, to write.
            ///
            /// # Errors
            /// As `index_axis`.
            pub fn index_axis_mut(&mut self, axis: Axis, index: usize) -> Result<GpuViewMut<'_, T, D::Smaller>>
            where
                D: RemoveAxis,
            {
                let layout = self.layout().index_axis(axis, index)?;
                Ok(self.view_mut().with(layout))
            }

            /// As `diagonal`, to write.
            pub fn diagonal_mut(&mut self) -> GpuViewMut<'_, T, Ix1> {
                let layout = self.layout().diagonal();
                self.view_mut().with(layout)
            }

            /// As `split_at`, to write; the two can be used side by side.
            ///
            /// # Errors
            /// As `split_at`.
            pub fn split_at_mut(
                &mut self,
                axis: Axis,
                index: usize,
            ) -> Result<(GpuViewMut<'_, T, D>, GpuViewMut<'_, T, D>)> {
                let (before, after) = self.layout().split_at(axis, index)?;
                Ok(self.view_mut().with_both(before, after))
            }

            /// As `chunks`, to write; they can be used side by side.
            ///
            /// # Errors
            /// As `chunks`.
            pub fn chunks_mut(&mut self, axis: Axis, size: usize) -> Result<Vec<GpuViewMut<'_, T, D>>> {
                let parts = self.layout().chunks(axis, size)?;
                Ok(self.view_mut().with_each(parts).collect())
            }

            /// Writes `value` to each place.
            ///
            /// # Cost
            /// One kernel at the speed of memory writes; does not wait. Of a view with gaps, one for each part without gaps.
            ///
            /// # Errors
            /// `NoNvrtc` where the kernel cannot be compiled; the driver's.
            pub fn fill(&mut self, value: T) -> Result<()> {
                self.view_mut().for_each_run(|run| create::fill(run, value.to_storage()))
            }

            /// Overwrites the elements with those of an ndarray array or view of any layout, and returns when it has been read.
            ///
            /// # Cost
            /// One copy to the device, after one on the host when the source is in another order. For a view with gaps also
            /// as much device memory as the elements take, and a copy on the device for each part without gaps.
            ///
            /// # Errors
            /// `Shape` unless both have the same; the driver's. Where the driver fails on a view with gaps, part of it may have
            /// been written.
            pub fn copy_from_ndarray<S: Data<Elem = T>>(&mut self, source: &ArrayBase<S, D>) -> Result<()> {
                transfer::copy_from_ndarray(self.view_mut(), source.view())
            }
        }
    };
}

read_only!([T: Element, D: Dimension] GpuArray<T, D>, "GpuArray", '_);
read_only!(['a, T: Element, D: Dimension] GpuView<'a, T, D>, "GpuView", 'a);
read_only!([T: Element, D: Dimension] GpuViewMut<'_, T, D>, "GpuViewMut", '_);
read_write!([T: Element, D: Dimension] GpuArray<T, D>);
read_write!([T: Element, D: Dimension] GpuViewMut<'_, T, D>);
