//! Parts of arrays as expressions: the views of [`GpuArray`](crate::GpuArray) for arrays of either place.

use ndarray::{Axis, Dimension, IntoDimension, Ix1, IxDyn, Order, RemoveAxis, SliceArg};

use super::{
    evaluate::evaluate,
    expr::{Backend, Expr},
};
use crate::{
    ArrayError, Element, Numeric, Result,
    expression::graph::{Code, Value, assemble},
    layout::Layout,
};

/// Parts of an array as expressions, for code that is generic over the place: the methods of [`GpuArray`](crate::GpuArray) with these names, for
/// `host(&x)` too. Nothing is copied.
///
/// # Errors
/// Those of the methods of `GpuArray`; `NotAnArray` where the expression is no array or view but a value that is still to be computed: `eval` it first.
///
/// ```
/// use gpu_array::{ArrayError, expression::host};
/// use ndarray::{Axis, array, s};
/// let x = array![[1, 2, 3], [4, 5, 6]];
/// let x = host(&x); // or `let x = &x;` of a GpuArray
/// assert_eq!((x.slice(s![-1, ..;2])? * 10).eval()?, array![40, 60]);
/// assert!(matches!(x.t().reshape((2, 3)), Err(ArrayError::ReshapeNeedsCopy { .. })));
/// assert_eq!(x.split(Axis(1), 3)?[1].eval()?, array![[2], [5]]);
/// # Ok::<(), ArrayError>(())
/// ```
impl<'a, T: Element, D: Dimension, P: Backend> Expr<'a, T, D, P> {
    /// The part that `s![…]` selects: [`GpuArray::slice`](crate::GpuArray::slice).
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray); `NotAnArray`.
    #[doc(alias = "x[1:, ::2]")]
    pub fn slice<I: SliceArg<D>>(&self, info: I) -> Result<Expr<'a, T, I::OutDim, P>> {
        self.laid("slice", |layout| layout.slice(&info))
    }

    /// The axes in another order: axis `i` of the result is axis `axes[i]`.
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray); `NotAnArray`.
    #[doc(alias = "transpose")]
    pub fn permuted_axes(&self, axes: impl IntoDimension<Dim = D>) -> Result<Expr<'a, T, D, P>> {
        self.laid("permuted_axes", |layout| layout.permuted_axes(&axes.into_dimension()))
    }

    /// Two axes exchanged.
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray); `NotAnArray`.
    #[doc(alias = "swapaxes")]
    pub fn swap_axes(&self, a: Axis, b: Axis) -> Result<Expr<'a, T, D, P>> {
        self.laid("swap_axes", |layout| layout.swap_axes(a, b))
    }

    /// An axis backwards.
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray); `NotAnArray`.
    pub fn invert_axis(&self, axis: Axis) -> Result<Expr<'a, T, D, P>> {
        self.laid("invert_axis", |layout| layout.invert_axis(axis))
    }

    /// The elements, counted in C order, in another shape, of which one length may be [`INFER`](crate::INFER).
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray); `NotAnArray`.
    pub fn reshape<E: IntoDimension>(&self, shape: E) -> Result<Expr<'a, T, E::Dim, P>> {
        self.laid("reshape", |layout| layout.reshape(shape.into_dimension(), Order::RowMajor))
    }

    /// The elements at any distances, checked: [`GpuArray::as_strided`](crate::GpuArray::as_strided).
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray); `NotAnArray`.
    #[doc(alias = "sliding_window_view")]
    pub fn as_strided<E: IntoDimension>(&self, shape: E, strides: &[isize]) -> Result<Expr<'a, T, E::Dim, P>> {
        self.laid("as_strided", |layout| layout.as_strided(shape.into_dimension(), strides))
    }

    /// The bytes of the elements as elements of another number type: [`GpuArray::view_as`](crate::GpuArray::view_as).
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray), on the host also for an array whose address is not aligned to the type; `NotAnArray`.
    ///
    /// ```
    /// use gpu_array::expression::host;
    /// let x = ndarray::array![1.0f32, -0.0];
    /// assert_eq!(host(&x).view_as::<u32>()?.eval()?, ndarray::array![0x3f80_0000, 0x8000_0000]);
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    #[doc(alias("view", "bitcast", "transmute", "to_bits", "from_bits"))]
    pub fn view_as<U: Numeric>(&self) -> Result<Expr<'a, U, D, P>> {
        let op = "view_as";
        let leaf = self.value.as_array(op)?.of_bytes::<T, U, D>()?;
        let leaf = leaf.ok_or_else(|| ArrayError::NotAnArray { op, expression: self.value.to_string() })?;
        Ok(Expr::of(Value::leaf(leaf)))
    }

    /// With a new axis of length 1 that becomes axis number `axis`.
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray); `NotAnArray`.
    #[doc(alias = "expand_dims")]
    pub fn insert_axis(&self, axis: Axis) -> Result<Expr<'a, T, D::Larger, P>> {
        self.laid("insert_axis", |layout| layout.insert_axis(axis))
    }

    /// The elements with one index of an axis, without that axis.
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray); `NotAnArray`.
    pub fn index_axis(&self, axis: Axis, index: usize) -> Result<Expr<'a, T, D::Smaller, P>>
    where
        D: RemoveAxis,
    {
        self.laid("index_axis", |layout| layout.index_axis(axis, index))
    }

    /// A diagonal of two axes: [`GpuArray::diagonal_of`](crate::GpuArray::diagonal_of).
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray); `NotAnArray`.
    pub fn diagonal_of(&self, offset: isize, a: Axis, b: Axis) -> Result<Expr<'a, T, D::Smaller, P>> {
        self.laid("diagonal_of", |layout| layout.diagonal_of(offset, a, b))
    }

    /// The axes in reverse order: the transpose of a matrix. `eval` reports `NotAnArray`.
    #[must_use]
    pub fn t(&self) -> Self {
        self.laid("t", |layout| Ok(layout.t())).unwrap_or_else(Expr::failed)
    }

    /// The value with a dynamic number of axes.
    #[must_use]
    pub fn into_dyn(self) -> Expr<'a, T, IxDyn, P> {
        Expr::of(self.value)
    }

    /// Without the axes of length 1. `eval` reports `NotAnArray`.
    #[must_use]
    pub fn squeeze(&self) -> Expr<'a, T, IxDyn, P> {
        self.laid("squeeze", |layout| Ok(layout.squeeze())).unwrap_or_else(Expr::failed)
    }

    /// The elements whose indices are all the same. `eval` reports `NotAnArray`.
    #[must_use]
    pub fn diagonal(&self) -> Expr<'a, T, Ix1, P> {
        self.laid("diagonal", |layout| Ok(layout.diagonal())).unwrap_or_else(Expr::failed)
    }

    /// Equal parts of an axis: [`GpuArray::split`](crate::GpuArray::split).
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray); `NotAnArray`.
    pub fn split(&self, axis: Axis, parts: usize) -> Result<Vec<Self>> {
        self.laid_each("split", |layout| layout.split(axis, parts))
    }

    /// Parts of an axis, of which the first ones may have an index more: [`GpuArray::array_split`](crate::GpuArray::array_split).
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray); `NotAnArray`.
    pub fn array_split(&self, axis: Axis, parts: usize) -> Result<Vec<Self>> {
        self.laid_each("array_split", |layout| layout.array_split(axis, parts))
    }

    /// The parts of an axis before, between and behind some indices: [`GpuArray::split_at_indices`](crate::GpuArray::split_at_indices).
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray); `NotAnArray`.
    pub fn split_at_indices(&self, axis: Axis, indices: &[usize]) -> Result<Vec<Self>> {
        self.laid_each("split_at_indices", |layout| layout.split_at_indices(axis, indices))
    }

    /// The elements before an index of an axis, and those from it on.
    ///
    /// # Errors
    /// Those of the method of [`GpuArray`](crate::GpuArray); `NotAnArray`.
    pub fn split_at(&self, axis: Axis, index: usize) -> Result<(Self, Self)> {
        let leaf = self.value.as_array("split_at")?;
        let (layout, first) = leaf.layout();
        let (before, after) = layout.split_at(axis, index)?;
        let of = |part: &Layout<D>| Expr::of(Value::leaf(leaf.with_layout(part, first)));
        Ok((of(&before), of(&after)))
    }

    /// A new array with the value at its place: [`Expr::eval`], under the name that arrays have for it.
    ///
    /// # Errors
    /// Those of [`Expr::eval`].
    #[doc(alias = "copy")]
    #[track_caller]
    pub fn to_owned(&self) -> Result<P::Owned<T, D>> {
        self.eval()
    }

    /// A new array of zeros in the shape of the value, at its place; [`ones_like`](Self::ones_like) and [`full_like`](Self::full_like) have other values.
    ///
    /// # Errors
    /// The errors of [`Expr::eval`] but those of elements.
    #[doc(alias = "empty_like")]
    #[track_caller]
    pub fn zeros_like(&self) -> Result<P::Owned<T, D>> {
        self.full_like(T::ZERO)
    }

    /// A new array of ones, as by [`zeros_like`](Self::zeros_like).
    ///
    /// # Errors
    /// Those of [`zeros_like`](Self::zeros_like).
    #[track_caller]
    pub fn ones_like(&self) -> Result<P::Owned<T, D>>
    where
        T: Numeric,
    {
        self.full_like(T::one())
    }

    /// A new array with `value` in each place, as by [`zeros_like`](Self::zeros_like).
    ///
    /// # Errors
    /// Those of [`zeros_like`](Self::zeros_like).
    #[track_caller]
    pub fn full_like(&self, value: T) -> Result<P::Owned<T, D>> {
        let mut code = Code::default();
        assemble(&mut code, &[&self.value], D::NDIM.unwrap_or(0))?;
        let home = code.homes().next().cloned();
        let full: Expr<'_, T, D, P> = Expr::of(Value::scalar(value).broadcast(&code.shape));
        evaluate(&full, home.as_ref())
    }

    /// The array with other places of its elements.
    fn laid<E: Dimension>(
        &self,
        op: &'static str,
        of: impl FnOnce(&Layout<D>) -> Result<Layout<E>>,
    ) -> Result<Expr<'a, T, E, P>> {
        let leaf = self.value.as_array(op)?;
        let (layout, first) = leaf.layout();
        Ok(Expr::of(Value::leaf(leaf.with_layout(&of(&layout)?, first))))
    }

    /// The array in several parts.
    fn laid_each(&self, op: &'static str, of: impl FnOnce(&Layout<D>) -> Result<Vec<Layout<D>>>) -> Result<Vec<Self>> {
        let leaf = self.value.as_array(op)?;
        let (layout, first) = leaf.layout();
        Ok(of(&layout)?.iter().map(|part| Expr::of(Value::leaf(leaf.with_layout(part, first)))).collect())
    }
}
