//! What arrays and mutable views have for writing.

use ndarray::{ArrayBase, Axis, Data, Dimension, IntoDimension, Ix1, IxDyn, Order, RemoveAxis, SliceArg};

use crate::{ChunksMut, Element, GpuArray, GpuViewMut, Result, expression::job, transfer};

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
