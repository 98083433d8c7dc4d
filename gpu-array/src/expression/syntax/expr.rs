//! Expressions as the compiler sees them: element type, rank, place; the types that become one. `expr/backend.rs` has the places.

mod backend;

use std::{fmt, marker::PhantomData};

use ndarray::Dimension;

pub use self::backend::{ArrayMut, Backend, Gpu, Host};
pub(crate) use self::backend::{INTERNAL, Internal};
use crate::{
    DType, Element, Result,
    expression::graph::{Code, Op, Value, assemble},
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
