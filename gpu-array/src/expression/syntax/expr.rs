//! Expressions as the compiler sees them: element type, rank, place; the types that become one; where they are evaluated.

use std::{
    fmt::{self, Debug},
    marker::PhantomData,
};

use ndarray::{Axis, Dimension};
use smallvec::SmallVec;

use super::array_mut::ArrayMut;
use crate::{
    DType, Element, Result,
    expression::{
        graph::{Code, Op, Value, assemble},
        job::{Job, Target},
    },
};

/// A value at each place of an array that does not exist yet: operators and functions on arrays, views, scalars and other expressions build
/// it, and [`Expr::eval`] computes it, in one kernel on a GPU or one pass over the CPU's threads.
///
/// `T` is the element type of the value, `D` its rank, `P` where its arrays are: the compiler checks that all three fit. The operations
/// themselves are not in the type, so expressions can be built in loops and be of any depth.
///
/// Building one costs some 100 ns and cannot fail; `eval` reports shapes that do not fit. A clone refers to the same value: a value that is used
/// twice, by a clone or a reference, is computed once.
///
/// An expression borrows the arrays that it is given as `&x`, until its last use. It owns those that it is given as `x`: they live for as long as an
/// expression reads them, and go in the order of their streams.
///
/// ```no_run
/// # let device = gpu_array::gpu_driver::Device::first()?;
/// # let x = gpu_array::GpuArray::<f32, _>::zeros(&device, 100)?;
/// # let y = gpu_array::GpuArray::<f32, _>::zeros(&device, 100)?;
/// let z = (5.0 * &x + y.sin() * 6.0).eval()?;
///
/// let mut horner = &x * 0.5; // x/2, then ((x/2 + 1) x + 1) x + 1 ...: one kernel in the end
/// for _ in 0..8 {
///     horner = (horner + 1.0) * &x;
/// }
/// let w = horner.eval()?;
/// let y = y + w * 0.5; // gives up y and w
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
/// Arrays on the host and on a GPU do not mix:
/// ```compile_fail,E0277
/// # use gpu_array::{GpuArray, expression::host};
/// # fn test(x: GpuArray<f32, ndarray::Ix1>, y: ndarray::Array1<f32>) {
/// let sum = &x + host(&y);
/// # }
/// ```
///
/// A scalar has the element type of the array that it stands beside, or is a literal of another kind of number, as NumPy's `2 * x` ([`Rhs`]):
/// ```compile_fail,E0277
/// # fn test(x: gpu_array::GpuArray<i32, ndarray::Ix1>) {
/// let scaled = &x * 2.5f32; // &x * 2.5 for f64, x.cast::<f32>() * 2.5
/// # }
/// ```
///
/// An expression that reads an array cannot be assigned to it:
/// ```compile_fail,E0502
/// # fn test(mut x: gpu_array::GpuArray<f32, ndarray::Ix1>) -> gpu_array::Result<()> {
/// x.assign(&x * 2.0)?; // x.update(|x| x * 2.0)?
/// # Ok(())
/// # }
/// ```
///
/// Nor can it be written to while an expression of it lives:
/// ```compile_fail,E0502
/// # fn test(mut x: gpu_array::GpuArray<f32, ndarray::Ix1>) -> gpu_array::Result<()> {
/// let twice = &x * 2.0;
/// x.fill(0.0)?;
/// twice.eval()?;
/// # Ok(())
/// # }
/// ```
/// # Semantics
/// Those of NumPy, with types known at compile time; the crate's page has the table of them.
pub struct Expr<'a, T: Element, D: Dimension, P: Backend = Gpu> {
    pub(crate) value: Value<'a>,
    _value: PhantomData<Types<T, D, P>>,
}

/// The types that an expression has no value of; a function type, so that any thread may have the expression.
type Types<T, D, P> = fn() -> (T, D, P);

impl<'a, T: Element, D: Dimension, P: Backend> Expr<'a, T, D, P> {
    pub(crate) fn of(value: Value<'a>) -> Self {
        Self { value, _value: PhantomData }
    }

    /// The shape of the value.
    ///
    /// # Errors
    /// The errors of [`Expr::eval`] for shapes.
    pub fn shape(&self) -> Result<Vec<usize>> {
        let mut code = Code::default();
        assemble(&mut code, &[&self.value], D::NDIM.unwrap_or(0))?;
        Ok(code.shape.to_vec())
    }

    /// The value in at least this shape: axes of length 1 and axes in front are added by repetition.
    ///
    /// `eval` reports a shape that it does not fit.
    #[must_use]
    pub fn broadcast<E: ndarray::IntoDimension>(&self, shape: E) -> Expr<'a, T, E::Dim, P> {
        Expr::of(self.value.clone().broadcast(shape.into_dimension().slice()))
    }

    pub(crate) fn to_expr(&self) -> Self {
        self.clone()
    }
}

impl<T: Element, D: Dimension, P: Backend> Clone for Expr<'_, T, D, P> {
    /// Another reference to the same value.
    fn clone(&self) -> Self {
        Self::of(self.value.clone())
    }
}

impl<T: Element, D: Dimension, P: Backend> fmt::Debug for Expr<'_, T, D, P> {
    /// Writes the value as a formula, cut off where it gets long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expr<{}>({})", T::DTYPE, self.value)
    }
}

/// Types that are an expression or can be read as one: `&GpuArray`, views, and expressions themselves.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no array and no expression",
    note = "arrays on a GPU are taken as `&x`, views and expressions as they are or by reference, arrays on the host as `host(&x)`"
)]
pub trait IntoExpr<'a> {
    /// Its element type.
    type Elem: Element;
    /// Its rank.
    type Dim: Dimension;
    /// The place of its arrays.
    type Backend: Backend;

    /// The expression.
    fn into_expr(self) -> Expr<'a, Self::Elem, Self::Dim, Self::Backend>;
}

/// The right operand of an operation whose left one has elements of type `T`, rank `D` and place `P`: an array, a view or an expression of that
/// place, or a scalar.
///
/// # Scalars
/// A scalar has the type `T` itself, or that of its parts where that is complex. Numbers of another kind are those of NumPy's Python scalars, so that
/// a literal needs no suffix anywhere:
///
/// | elements | `i32` beside them | `f64` beside them |
/// |---|---|---|
/// | `f16`, `bf16` | is rounded to their type | is rounded to their type |
/// | `f32`, `f64`, complex | is rounded to their type | |
/// | integers | | both become `f64` |
/// | `bool` | both become `i64` | both become `f64` |
///
/// ```
/// use gpu_array::{expression::host, f16};
/// let (x, i) = (ndarray::array![f16::ONE, f16::NEG_ONE], ndarray::array![3, 4]);
/// let (x, i) = (host(&x), host(&i));
/// assert_eq!((2.0 * &x + 1).maximum(0.0).eval()?, ndarray::array![f16::from_f64(3.0), f16::ZERO]);
/// assert_eq!((&i * 0.5).eval()?, ndarray::array![1.5, 2.0]);
/// assert_eq!((i.gt(3) + 1).eval()?, ndarray::array![1i64, 2]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be combined with an array of `{T}` on `{P}`",
    label = "neither an array or expression on `{P}` nor a scalar that goes with `{T}`",
    note = "a scalar has the array's own element type, or is a literal without a suffix (`2.0 * &x`, `2 * &x`); `.cast::<f64>()` makes another",
    note = "arrays are taken as `&x`, or as `x` to give them up; arrays on the host and on a GPU do not mix: `GpuArray::from_ndarray` and \
            `to_ndarray` copy"
)]
pub trait Rhs<'a, T: Element, D: Dimension, P: Backend>: IntoOperand<'a, D, P> + Sized {
    /// Its element type beside values of type `T`: its own, but that of a literal follows `T`.
    type Promoted: Element;

    /// The operand, of that type.
    #[doc(hidden)]
    fn into_promoted(self) -> Operand<'a> {
        Operand(self.into_value().0.cast(Self::Promoted::DTYPE))
    }
}

/// The element type of an operand.
pub(super) type ElemOf<'a, X, D, P> = <X as IntoOperand<'a, D, P>>::Elem;

/// The rank of an operation with an operand.
pub(super) type DimOf<'a, X, D, P> = <X as IntoOperand<'a, D, P>>::Dim;

/// An operand beside one of rank `D` and place `P`: an array, a view or an expression of that place, or a scalar.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no array, expression or scalar on `{P}`",
    note = "arrays on a GPU are taken as `&x`, or as `x` to give them up, arrays on the host as `host(&x)`"
)]
pub trait IntoOperand<'a, D: Dimension, P: Backend> {
    /// Its element type.
    type Elem: Element;
    /// The rank of the result.
    type Dim: Dimension;

    #[doc(hidden)]
    fn into_value(self) -> Operand<'a>;
}

/// The right operand of an operator whose left one is an owned array on a GPU: as [`Rhs`], which serves the left operands that borrow.
///
/// An owned array has no lifetime to give to the expression. So the right operand tells the expression's type: [`OwnedRhs::Expr`] has the
/// lifetime of that operand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be combined with an array of `{T}` on a GPU",
    label = "neither an array or expression on a GPU nor a scalar that goes with `{T}`",
    note = "a scalar has the array's own element type, or is a literal without a suffix (`2.0 * x`, `2 * x`); `.cast::<f64>()` makes another"
)]
pub trait OwnedRhs<T: Element, D: Dimension> {
    /// Its element type beside values of type `T` ([`Rhs::Promoted`]).
    type Elem: Element;
    /// The expression of both operands, with values of type `V`.
    type Expr<V: Element>;

    #[doc(hidden)]
    fn after<V: Element>(self, left: Operand<'static>, operation: Operation) -> Self::Expr<V>;
}

/// An operation on two operands, after both have been brought to one type.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Operation {
    pub(super) op: Op,
    pub(super) common: DType,
}

/// An operand without its types.
#[derive(Clone)]
#[doc(hidden)]
pub struct Operand<'a>(pub(crate) Value<'a>);

impl fmt::Debug for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

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
    fn run(job: &Job<'_>, targets: SmallVec<[Target<'_>; 2]>, internal: Internal) -> Result<()>;

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

pub(super) mod sealed {
    pub trait SealedBackend {}
    impl SealedBackend for super::Gpu {}
    impl SealedBackend for super::Host {}

    /// A value that only this crate can make: methods of public traits that take one cannot be called from elsewhere.
    ///
    /// ```compile_fail,E0603
    /// use gpu_array::expression::syntax::expr::Internal;
    /// ```
    #[derive(Clone, Copy, Debug)]
    pub struct Internal(pub(in crate::expression) ());
}
pub(super) use sealed::Internal;

/// The value of [`Internal`].
pub(crate) const INTERNAL: Internal = Internal(());

/// Arrays are in the memory of a GPU (or of the emulated device): [`GpuArray`](crate::GpuArray).
#[derive(Clone, Copy, Debug)]
pub struct Gpu;

/// Arrays are in the memory of the host: ndarray's [`Array`](ndarray::Array).
#[derive(Clone, Copy, Debug)]
pub struct Host;
