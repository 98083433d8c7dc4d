//! The methods of arrays and mutable views for writing.

use ndarray::{ArrayBase, Axis, Data, Dimension, IntoDimension, Ix1, IxDyn, Order, RemoveAxis, SliceArg};

use crate::{ChunksMut, Element, GpuArray, GpuViewMut, Numeric, Result, expression::job, transfer};

/// The methods of `$type` for writing. It has `layout()` and `view_mut()`.
macro_rules! read_write {
    ([$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> $type {
            /// A mutable view of the part that `s![…]` selects, as by `slice`.
            ///
            /// # Errors
            /// The errors of `slice`.
            pub fn slice_mut<I: SliceArg<D>>(&mut self, info: I) -> Result<GpuViewMut<'_, T, I::OutDim>> {
                let layout = self.layout().slice(&info)?;
                Ok(self.view_mut().with(layout))
            }

            /// A mutable view with the axes in reverse order, as by `t`.
            pub fn t_mut(&mut self) -> GpuViewMut<'_, T, D> {
                let layout = self.layout().t();
                self.view_mut().with(layout)
            }

            /// A mutable view with the axes in another order, as by `permuted_axes`.
            ///
            /// # Errors
            /// The errors of `permuted_axes`.
            pub fn permuted_axes_mut(&mut self, axes: impl IntoDimension<Dim = D>) -> Result<GpuViewMut<'_, T, D>> {
                let layout = self.layout().permuted_axes(&axes.into_dimension())?;
                Ok(self.view_mut().with(layout))
            }

            /// A mutable view with two axes exchanged, as by `swap_axes`.
            ///
            /// # Errors
            /// The errors of `swap_axes`.
            pub fn swap_axes_mut(&mut self, a: Axis, b: Axis) -> Result<GpuViewMut<'_, T, D>> {
                let layout = self.layout().swap_axes(a, b)?;
                Ok(self.view_mut().with(layout))
            }

            /// A mutable view with an axis backwards, as by `invert_axis`.
            ///
            /// # Errors
            /// The errors of `invert_axis`.
            pub fn invert_axis_mut(&mut self, axis: Axis) -> Result<GpuViewMut<'_, T, D>> {
                let layout = self.layout().invert_axis(axis)?;
                Ok(self.view_mut().with(layout))
            }

            /// A mutable view in another shape, as by `reshape`.
            ///
            /// # Errors
            /// The errors of `reshape`.
            pub fn reshape_mut<E: IntoDimension>(&mut self, shape: E) -> Result<GpuViewMut<'_, T, E::Dim>> {
                let layout = self.layout().reshape(shape.into_dimension(), Order::RowMajor)?;
                Ok(self.view_mut().with(layout))
            }

            /// A mutable view of the bytes as elements of another number type, as by `view_as`.
            ///
            /// # Errors
            /// The errors of `view_as`.
            pub fn view_as_mut<U: Numeric>(&mut self) -> Result<GpuViewMut<'_, U, D>> {
                self.view_mut().cast_bytes()
            }

            /// A mutable view without the axes of length 1, as by `squeeze`.
            pub fn squeeze_mut(&mut self) -> GpuViewMut<'_, T, IxDyn> {
                let layout = self.layout().squeeze();
                self.view_mut().with(layout)
            }

            /// A mutable view with a new axis of length 1, as by `insert_axis`.
            ///
            /// # Errors
            /// The errors of `insert_axis`.
            pub fn insert_axis_mut(&mut self, axis: Axis) -> Result<GpuViewMut<'_, T, D::Larger>> {
                let layout = self.layout().insert_axis(axis)?;
                Ok(self.view_mut().with(layout))
            }

            /// A mutable view of the elements with one index of an axis, as by `index_axis`.
            ///
            /// # Errors
            /// The errors of `index_axis`.
            pub fn index_axis_mut(&mut self, axis: Axis, index: usize) -> Result<GpuViewMut<'_, T, D::Smaller>>
            where
                D: RemoveAxis,
            {
                let layout = self.layout().index_axis(axis, index)?;
                Ok(self.view_mut().with(layout))
            }

            /// A mutable view of the elements whose indices are all the same, as by `diagonal`.
            pub fn diagonal_mut(&mut self) -> GpuViewMut<'_, T, Ix1> {
                let layout = self.layout().diagonal();
                self.view_mut().with(layout)
            }

            /// A mutable view of a diagonal of two axes, as by `diagonal_of`.
            ///
            /// # Errors
            /// The errors of `diagonal_of`.
            #[doc(alias = "fill_diagonal")]
            pub fn diagonal_of_mut(
                &mut self,
                offset: isize,
                a: Axis,
                b: Axis,
            ) -> Result<GpuViewMut<'_, T, D::Smaller>> {
                let layout = self.layout().diagonal_of(offset, a, b)?;
                Ok(self.view_mut().with(layout))
            }

            /// Mutable views of the elements before an index of an axis and from it on, as by `split_at`; the two can be used side by side.
            ///
            /// # Errors
            /// The errors of `split_at`.
            pub fn split_at_mut(
                &mut self,
                axis: Axis,
                index: usize,
            ) -> Result<(GpuViewMut<'_, T, D>, GpuViewMut<'_, T, D>)> {
                let (before, after) = self.layout().split_at(axis, index)?;
                Ok(self.view_mut().with_both(before, after))
            }

            /// Mutable views of the parts of an axis, as by `chunks`; they can be used side by side.
            ///
            /// # Errors
            /// The errors of `chunks`.
            pub fn chunks_mut(&mut self, axis: Axis, size: usize) -> Result<ChunksMut<'_, T, D>> {
                ChunksMut::new(self.view_mut(), axis, size)
            }

            /// Writes `value` to each place.
            ///
            /// # Cost
            /// At the speed of memory writes; does not wait. A kernel is compiled for views with gaps, and for elements of 8 bytes whose
            /// halves differ.
            ///
            /// # Errors
            /// `NoNvrtc` where the kernel cannot be compiled; the driver's.
            pub fn fill(&mut self, value: T) -> Result<()> {
                job::fill(self.view_mut(), value)
            }

            /// Overwrites the elements with those of an ndarray array or view of any layout, and returns when it has been read.
            ///
            /// # Cost
            /// One copy to the device, after one on the host when the source is in another order. For a view with gaps also
            /// as much device memory as the elements take, and a kernel.
            ///
            /// # Errors
            /// `Shape` unless both have the same; the driver's; `NoNvrtc` for a view with gaps where its kernel cannot be compiled.
            pub fn copy_from_ndarray<S: Data<Elem = T>>(&mut self, source: &ArrayBase<S, D>) -> Result<()> {
                transfer::copy_from_ndarray(self.view_mut(), source.view())
            }
        }
    };
}

read_write!([T: Element, D: Dimension] GpuArray<T, D>);
read_write!([T: Element, D: Dimension] GpuViewMut<'_, T, D>);
