//! The places where arrays are and expressions are evaluated, and the arrays of either that are written to: each trait names the other.

use std::fmt::Debug;

use ndarray::{Axis, Dimension};

use super::{Expr, IntoExpr, Rhs};
use crate::{
    Element, Integer, Numeric, Result,
    expression::job::{Job, Target},
    layout::Layout,
};

/// A place of arrays: [`Gpu`] or [`Host`]. A function that is generic over it works on either.
///
/// ```
/// use gpu_array::{Result, expression::{Expr, Host, Backend}};
/// use ndarray::{Array1, Ix1, array};
/// fn smooth_step<P: Backend>(x: &P::Owned<f64, Ix1>) -> Result<P::Owned<f64, Ix1>> {
///     let t = P::expr(x).clamp(0.0, 1.0);
///     (&t * &t * (3.0 - 2.0 * &t)).eval()
/// }
/// let x: Array1<f64> = array![-1.0, 0.5, 2.0];
/// assert_eq!(smooth_step::<Host>(&x)?, array![0.0, 0.5, 1.0]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub trait Backend: Copy + Debug + Sized + 'static + sealed::SealedBackend {
    /// An owned array there, which [`ArrayMut`] writes to.
    type Owned<T: Element, D: Dimension>: ArrayMut<T, D, Backend = Self>;
    /// A mutable view of an array there: [`GpuViewMut`](crate::GpuViewMut), or ndarray's.
    type ViewMut<'t, T: Element + 't, D: Dimension + 't>: ArrayMut<T, D, Backend = Self>;

    /// An array as an expression.
    fn expr<T: Element, D: Dimension>(array: &Self::Owned<T, D>) -> Expr<'_, T, D, Self>;

    /// An array as an expression that owns it, and keeps it for as long as an expression reads it.
    ///
    /// ```
    /// use gpu_array::{Result, expression::{Expr, Host, Backend}};
    /// use ndarray::{Array1, Ix1, array};
    /// fn centred<P: Backend>(x: P::Owned<f64, Ix1>, middle: f64) -> Expr<'static, f64, Ix1, P> {
    ///     P::owned_expr(x) - middle
    /// }
    /// let x: Array1<f64> = array![1.0, 2.0];
    /// assert_eq!(centred::<Host>(x, 1.5).eval()?, array![-0.5, 0.5]);
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    fn owned_expr<T: Element, D: Dimension>(array: Self::Owned<T, D>) -> Expr<'static, T, D, Self>;

    #[doc(hidden)]
    fn resolve(job: &mut Job<'_>, internal: Internal) -> Result<()>;

    #[doc(hidden)]
    #[track_caller]
    fn allocate<T: Element, D: Dimension>(job: &Job<'_>, internal: Internal) -> Result<Self::Owned<T, D>>;

    #[doc(hidden)]
    fn target<T: Element, D: Dimension>(array: &mut Self::Owned<T, D>, internal: Internal) -> Target<'_>;

    #[doc(hidden)]
    fn run(job: &Job<'_>, targets: &mut [Target<'_>], internal: Internal) -> Result<()>;

    /// The elements of a view in another layout, which a method of [`Layout`] makes and which has no element twice.
    #[doc(hidden)]
    fn laid_mut<'v, T: Element, D: Dimension + 'v, E: Dimension + 'v>(
        view: Self::ViewMut<'v, T, D>,
        of: impl FnOnce(&Layout<D>) -> Result<Layout<E>>,
        internal: Internal,
    ) -> Result<Self::ViewMut<'v, T, E>>;

    /// The elements of a view in two layouts, which have no element in common.
    #[doc(hidden)]
    fn laid_both_mut<'v, T: Element, D: Dimension + 'v>(
        view: Self::ViewMut<'v, T, D>,
        of: impl FnOnce(&Layout<D>) -> Result<(Layout<D>, Layout<D>)>,
        internal: Internal,
    ) -> Result<Both<Self::ViewMut<'v, T, D>>>;

    /// The bytes of a view's elements as elements of another type.
    #[doc(hidden)]
    fn of_bytes_mut<'v, T: Numeric, U: Numeric, D: Dimension + 'v>(
        view: Self::ViewMut<'v, T, D>,
        internal: Internal,
    ) -> Result<Self::ViewMut<'v, U, D>>;

    #[doc(hidden)]
    fn fill<T: Element, D: Dimension>(view: Self::ViewMut<'_, T, D>, value: T, internal: Internal) -> Result<()>;

    /// The arrays one after the other, which have one rank.
    #[doc(hidden)]
    #[track_caller]
    fn join<T: Element, D: Dimension>(
        op: &'static str,
        axis: Axis,
        arrays: &[Expr<'_, T, D, Self>],
        internal: Internal,
    ) -> Result<Self::Owned<T, D>>;
}

/// Two views side by side.
type Both<V> = (V, V);

mod sealed {
    pub trait SealedBackend {}
    impl SealedBackend for super::Gpu {}
    impl SealedBackend for super::Host {}

    /// A value that only this crate can make: methods of public traits that take one cannot be called from elsewhere.
    ///
    /// ```compile_fail,E0603
    /// use gpu_array::expression::syntax::expr::backend::Internal;
    /// ```
    #[derive(Clone, Copy, Debug)]
    pub struct Internal(pub(in crate::expression) ());
}
pub(crate) use sealed::Internal;

/// The value of [`Internal`].
pub(crate) const INTERNAL: Internal = Internal(());

/// Arrays are in the memory of a GPU (or of the emulated device): [`GpuArray`](crate::GpuArray).
#[derive(Clone, Copy, Debug)]
pub struct Gpu;

/// Arrays are in the memory of the host: ndarray's [`Array`](ndarray::Array).
#[derive(Clone, Copy, Debug)]
pub struct Host;

/// Arrays that can be written to, whole and as views, on a GPU or on the host: [`GpuArray`](crate::GpuArray),
/// [`GpuViewMut`](crate::GpuViewMut), ndarray's `Array` and `ArrayViewMut`.
///
/// An array on a GPU has these methods itself, and the first as `assign`: here it has a name of its own, as arrays of ndarray have an `assign` that takes
/// an array. The owned arrays of a [`Backend`], and their views, have the trait, for code that is generic over the place.
///
/// ```
/// use gpu_array::{ArrayMut, Result, expression::{Backend, Host, host}};
/// use ndarray::{Ix1, array};
/// fn without_negatives<P: Backend>(x: &mut P::Owned<f64, Ix1>) -> Result<()> {
///     x.update(|x| x.maximum(0.0))
/// }
/// let mut x = array![1.0, -2.0, 3.0];
/// without_negatives::<Host>(&mut x)?;
/// x.put(host(&array![-1, 0]), 7.0)?;
/// assert_eq!(x, array![7.0, 0.0, 7.0]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub trait ArrayMut<T: Element, D: Dimension> {
    /// The place of the array.
    type Backend: Backend;

    /// The array as an expression.
    fn as_expr(&self) -> Expr<'_, T, D, Self::Backend>;

    /// All of it, to write.
    fn as_view_mut<'v>(&'v mut self) -> <Self::Backend as Backend>::ViewMut<'v, T, D>
    where
        D: 'v;

    /// Overwrites the array with a value that has its shape, or is broadcast to it: [`GpuArray::assign`](crate::GpuArray::assign).
    ///
    /// # Errors
    /// The errors of [`Expr::eval`], and `Operands` for a shape that cannot be broadcast to the array's; it is as it was then.
    fn assign_value<'a, E>(&mut self, value: E) -> Result<()>
    where
        E: IntoExpr<'a, Elem = T, Backend = Self::Backend>;

    /// Overwrites the elements at which a mask is true, with a value of the array's shape or one that is broadcast to it:
    /// [`GpuArray::assign_where`](crate::GpuArray::assign_where).
    ///
    /// # Errors
    /// Those of [`ArrayMut::assign_value`].
    fn assign_where<'a, M, V>(&mut self, mask: M, value: V) -> Result<()>
    where
        M: IntoExpr<'a, Elem = bool, Backend = Self::Backend>,
        V: Rhs<'a, T, D, Self::Backend, Promoted = T>;

    /// Overwrites the array with a function of itself and others: [`GpuArray::update`](crate::GpuArray::update). Functions of
    /// arrays alone, such as `roll`, do not take the array here.
    ///
    /// It stands for `x += value` too, which arrays of the host do not have: an operator returns nothing, so its error needs a place that is there after the
    /// statement. An array on a GPU keeps it with its elements, where each later call finds it, and its drop hands it to the device. An array of
    /// ndarray has no room for it. A wrapper that borrows the array could be dropped unasked, and the array would be read on as if it had been
    /// updated; the drop could only panic. So `x.update(|x| x + value)?` returns it.
    ///
    /// # Cost
    /// On the host a copy of the array besides the value.
    ///
    /// # Errors
    /// Those of [`ArrayMut::assign_value`].
    fn update<'s, R>(&'s mut self, function: impl FnOnce(Expr<'s, T, D, Self::Backend>) -> R) -> Result<()>
    where
        R: IntoExpr<'s, Elem = T, Backend = Self::Backend>;

    /// Overwrites the elements at flat indices, which count in C order; of several values at one index the last stays: [`GpuArray::put`](crate::GpuArray::put).
    ///
    /// # Errors
    /// `OutOfBounds` with the first wrong index and its number: then nothing is written. `Operands` for values that do not fit the indices; those of
    /// [`ArrayMut::assign_value`].
    fn put<'a, I, V>(&mut self, indices: I, values: V) -> Result<()>
    where
        I: IntoExpr<'a, Elem: Integer, Backend = Self::Backend>,
        V: Rhs<'a, T, I::Dim, Self::Backend, Promoted = T>;
}
