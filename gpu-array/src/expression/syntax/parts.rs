//! Parts of arrays of either place, to write.

use ndarray::{Axis, Dimension, IntoDimension, Ix1, IxDyn, Order, RemoveAxis, SliceArg};

use super::expr::{ArrayMut, Backend, INTERNAL};
use crate::{Element, Numeric, Result};

/// The views of arrays of either place that are written to, for code that is generic over the place: the methods of
/// [`GpuArray`](crate::GpuArray) with these names, for each array and view that is an [`ArrayMut`].
///
/// A view is an [`ArrayMut`] again, with `assign_value`, `update` and the rest. Nothing is copied. Generic code borrows the array until the view's scope
/// ends, as some place might have views that do something when they are dropped; a block of its own ends it earlier.
///
/// Arrays of ndarray have a `slice_mut` and a `fill` that return no `Result`. Where this trait is in scope its methods come before those, so a module
/// uses it for generic code; the prelude of `gpu-algos` is without it.
///
/// ```
/// use gpu_array::{ArrayMut, PartsMut, Result, expression::{Backend, Host}};
/// use ndarray::{Axis, Ix2, array, s};
/// fn bordered<P: Backend>(x: &mut P::Owned<i32, Ix2>, value: i32) -> Result<()> {
///     x.slice_mut(s![0, ..])?.fill(value)?;
///     x.index_axis_mut(Axis(1), 0)?.update(|column| column * 10)
/// }
/// let mut x = array![[1, 2, 3], [4, 5, 6]];
/// bordered::<Host>(&mut x, 7)?;
/// assert_eq!(x, array![[70, 7, 7], [40, 5, 6]]);
/// assert!(PartsMut::slice_mut(&mut x, s![2, ..]).is_err());
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub trait PartsMut<T: Element, D: Dimension>: ArrayMut<T, D> {
    /// Writes `value` to each place: [`GpuArray::fill`](crate::GpuArray::fill).
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray); none on the host.
    fn fill<'v>(&'v mut self, value: T) -> Result<()>
    where
        D: 'v,
    {
        Self::Backend::fill(self.as_view_mut(), value, INTERNAL)
    }

    /// The part that `s![…]` selects, to write: [`GpuArray::slice_mut`](crate::GpuArray::slice_mut).
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray).
    fn slice_mut<'v, I: SliceArg<D>>(&'v mut self, info: I) -> Result<ViewMut<'v, Self, T, D, I::OutDim>>
    where
        D: 'v,
        I::OutDim: 'v,
    {
        Self::Backend::laid_mut(self.as_view_mut(), |layout| layout.slice(&info), INTERNAL)
    }

    /// The axes in reverse order, to write: [`GpuArray::t_mut`](crate::GpuArray::t_mut).
    ///
    /// # Errors
    /// None; the other parts have some.
    fn t_mut<'v>(&'v mut self) -> Result<ViewMut<'v, Self, T, D, D>>
    where
        D: 'v,
    {
        Self::Backend::laid_mut(self.as_view_mut(), |layout| Ok(layout.t()), INTERNAL)
    }

    /// The axes in another order, to write: [`GpuArray::permuted_axes_mut`](crate::GpuArray::permuted_axes_mut).
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray).
    fn permuted_axes_mut<'v>(&'v mut self, axes: impl IntoDimension<Dim = D>) -> Result<ViewMut<'v, Self, T, D, D>>
    where
        D: 'v,
    {
        Self::Backend::laid_mut(self.as_view_mut(), |layout| layout.permuted_axes(&axes.into_dimension()), INTERNAL)
    }

    /// Two axes exchanged, to write: [`GpuArray::swap_axes_mut`](crate::GpuArray::swap_axes_mut).
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray).
    fn swap_axes_mut<'v>(&'v mut self, a: Axis, b: Axis) -> Result<ViewMut<'v, Self, T, D, D>>
    where
        D: 'v,
    {
        Self::Backend::laid_mut(self.as_view_mut(), |layout| layout.swap_axes(a, b), INTERNAL)
    }

    /// An axis backwards, to write: [`GpuArray::invert_axis_mut`](crate::GpuArray::invert_axis_mut).
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray).
    fn invert_axis_mut<'v>(&'v mut self, axis: Axis) -> Result<ViewMut<'v, Self, T, D, D>>
    where
        D: 'v,
    {
        Self::Backend::laid_mut(self.as_view_mut(), |layout| layout.invert_axis(axis), INTERNAL)
    }

    /// The elements, counted in C order, in another shape, to write: [`GpuArray::reshape_mut`](crate::GpuArray::reshape_mut).
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray).
    fn reshape_mut<'v, E: IntoDimension>(&'v mut self, shape: E) -> Result<ViewMut<'v, Self, T, D, E::Dim>>
    where
        D: 'v,
        E::Dim: 'v,
    {
        Self::Backend::laid_mut(
            self.as_view_mut(),
            |layout| layout.reshape(shape.into_dimension(), Order::RowMajor),
            INTERNAL,
        )
    }

    /// Without the axes of length 1, to write: [`GpuArray::squeeze_mut`](crate::GpuArray::squeeze_mut).
    ///
    /// # Errors
    /// None; the other parts have some.
    fn squeeze_mut<'v>(&'v mut self) -> Result<ViewMut<'v, Self, T, D, IxDyn>>
    where
        D: 'v,
    {
        Self::Backend::laid_mut(self.as_view_mut(), |layout| Ok(layout.squeeze()), INTERNAL)
    }

    /// With a new axis of length 1, to write: [`GpuArray::insert_axis_mut`](crate::GpuArray::insert_axis_mut).
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray).
    fn insert_axis_mut<'v>(&'v mut self, axis: Axis) -> Result<ViewMut<'v, Self, T, D, D::Larger>>
    where
        D: 'v,
        D::Larger: 'v,
    {
        Self::Backend::laid_mut(self.as_view_mut(), |layout| layout.insert_axis(axis), INTERNAL)
    }

    /// The elements with one index of an axis, to write: [`GpuArray::index_axis_mut`](crate::GpuArray::index_axis_mut).
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray).
    fn index_axis_mut<'v>(&'v mut self, axis: Axis, index: usize) -> Result<ViewMut<'v, Self, T, D, D::Smaller>>
    where
        D: RemoveAxis + 'v,
        D::Smaller: 'v,
    {
        Self::Backend::laid_mut(self.as_view_mut(), |layout| layout.index_axis(axis, index), INTERNAL)
    }

    /// The elements whose indices are all the same, to write: [`GpuArray::diagonal_mut`](crate::GpuArray::diagonal_mut).
    ///
    /// # Errors
    /// None; the other parts have some.
    fn diagonal_mut<'v>(&'v mut self) -> Result<ViewMut<'v, Self, T, D, Ix1>>
    where
        D: 'v,
    {
        Self::Backend::laid_mut(self.as_view_mut(), |layout| Ok(layout.diagonal()), INTERNAL)
    }

    /// A diagonal of two axes, to write: [`GpuArray::diagonal_of_mut`](crate::GpuArray::diagonal_of_mut).
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray).
    fn diagonal_of_mut<'v>(&'v mut self, offset: isize, a: Axis, b: Axis) -> Result<ViewMut<'v, Self, T, D, D::Smaller>>
    where
        D: 'v,
        D::Smaller: 'v,
    {
        Self::Backend::laid_mut(self.as_view_mut(), |layout| layout.diagonal_of(offset, a, b), INTERNAL)
    }

    /// The elements before an index of an axis, and those from it on, to write side by side: [`GpuArray::split_at_mut`](crate::GpuArray::split_at_mut).
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray).
    fn split_at_mut<'v>(&'v mut self, axis: Axis, index: usize) -> Result<Halves<'v, Self, T, D>>
    where
        D: 'v,
    {
        Self::Backend::laid_both_mut(self.as_view_mut(), |layout| layout.split_at(axis, index), INTERNAL)
    }

    /// The bytes of numbers as elements of another number type, to write: [`GpuArray::view_as_mut`](crate::GpuArray::view_as_mut).
    /// [`Expr::view_as`](crate::expression::Expr::view_as) reads them.
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray); `ViewAs` on the host also for an array whose address is not aligned to the type.
    fn view_as_mut<'v, U: Numeric>(&'v mut self) -> Result<ViewMut<'v, Self, T, D, D, U>>
    where
        T: Numeric,
        D: 'v,
    {
        Self::Backend::of_bytes_mut(self.as_view_mut(), INTERNAL)
    }
}

/// A mutable view with the rank `E` of an array `A` of `T` and of the rank `D`.
type ViewMut<'v, A, T, D, E, U = T> = <<A as ArrayMut<T, D>>::Backend as Backend>::ViewMut<'v, U, E>;

/// Two mutable views of an array.
type Halves<'v, A, T, D> = (ViewMut<'v, A, T, D, D>, ViewMut<'v, A, T, D, D>);

impl<T: Element, D: Dimension, A: ArrayMut<T, D> + ?Sized> PartsMut<T, D> for A {}
