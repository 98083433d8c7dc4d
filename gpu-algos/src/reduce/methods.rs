//! Reductions as methods of arrays, views and expressions.

use gpu_array::{
    ArrayError, DType, Element, Inexact, Numeric, Promote,
    expression::{Assembled, Backend, Expr, IntoExpr},
};
use ndarray::{Dimension, Ix0, Ix1};

use super::{
    families::{self, OnHost},
    place::Reduces,
    reduction::Reduction,
    results::{Pair, Results},
    table::{for_each_reduction, in_f64, mean, spread},
};
use crate::common::{
    operand::Receiver,
    operator::{DeviceOperator, OperatorKind},
    source::lowered,
    summable::{Ordered, Summable, carried, product_of, sum},
};

/// The reduction of a value by an operator on a GPU, or by a family on the host.
fn of<'a, F: OnHost, E: IntoExpr<'a>, O: Results>(
    value: E,
    kind: OperatorKind,
    ignores_nan: bool,
) -> Reduction<'a, O, E::Dim, Ix0, E::Backend>
where
    E::Backend: Reduces<E::Elem>,
{
    let host = <E::Backend as Reduces<E::Elem>>::on_host::<F, O::Values>().map(|reduce| (reduce, kind.ddof()));
    let value = value.into_expr();
    // The host's operators take each type as it is.
    let assembled = if host.is_some() { value.lower_deferred() } else { lowered(value) };
    Reduction::new(assembled, DeviceOperator::new(kind, E::Elem::DTYPE, ignores_nan), host)
}

macro_rules! reductions {
    ($Elem:ty; values { $($rows:tt)* } indices { $($more:tt)* }) => {
        reductions! { $($rows)* $($more)* }
    };
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty)?) -> $output:ty where $bound:path, $kind:expr, $nan:literal, $family:ident;)*) => {
        /// Reductions of arrays, views and expressions, on a GPU or of [`host`](gpu_array::expression::host()): over all axes, or over some by
        /// [`Reduction::axis`] and [`Reduction::axes`].
        ///
        /// The kernel computes the expression too: `(&x - &y).abs().max()` reads x and y once and writes one value.
        ///
        /// Arrays of float literals, such as `array![1.0, 2.0]`, are of f64. Integer literals need a type, `array![1i64, 2]`: with `1` alone rustc does
        /// not know the type of the sum in time, and says "expected `i64`, found `!`". A result with a type, `let s: i64 = x.sum().get()?`, helps too.
        ///
        /// A subset given by indices is an expression: `take(&x, &indices, Outside::Wrap).sum()`.
        ///
        /// # Semantics
        /// NumPy's. Sums, products, means, variances and norms are those of complex numbers too, whose parts are carried as floats are; they have no
        /// least or greatest value. A NaN among the values makes the result NaN, or is the value that `argmin` and `argmax` find. Methods whose names begin
        /// with `nan` leave NaN out, and equal the others for types without NaN. Integer sums wrap. For no values the sum is 0, the product 1, `any`
        /// false, `all` true, the mean NaN, and the least or greatest an error. Sums, products, means and norms of f16 and bf16 are carried in f32 or f64 and
        /// rounded once, to that type.
        ///
        /// # Determinism
        /// Bitwise the same from run to run on one device, for one shape and layout, since these alone decide the order of additions. Another device
        /// may add floats in another order. Integers, `min`, `max` and indices do not depend on the order, except for the choice between 0.0 and
        /// -0.0.
        /// # Cost
        /// Each value is read once, in one launch. Only the result is allocated, and the host does not wait. See [`Reduction::eval`].
        pub trait Reductions<'a>: Receiver<'a> + Sized {
            $(
                $(#[$attribute])*
                fn $name(self $(, $argument: $type)?) -> Reduction<'a, $output, Self::Dim, Ix0, Self::Backend>
                where
                    Self::Elem: $bound,
                    Self::Backend: Reduces<Self::Elem>,
                {
                    of::<families::$family, _, _>(self, $kind, $nan)
                }
            )*

            /// The sum of |x|, the 1-norm of a vector, carried in f64. That of complex numbers is of the type of their parts, as the other norms.
            #[doc(alias = "asum")]
            fn norm_l1(self) -> Reduction<'a, <Self::Elem as Numeric>::Real, Self::Dim, Ix0, Self::Backend>
            where
                Self::Elem: Inexact,
                Self::Backend: Reduces<<Self::Elem as Numeric>::Real>,
            {
                let (result, carried) = (<Self::Elem as Numeric>::Real::DTYPE, DType::F64);
                of::<families::NormL1, _, _>(self.into_expr().abs(), OperatorKind::Sum { carried, result }, false)
            }

            /// The greatest |x|, the maximum norm of a vector; NaN if there is a NaN, 0 for no values.
            fn norm_inf(self) -> Reduction<'a, <Self::Elem as Numeric>::Real, Self::Dim, Ix0, Self::Backend>
            where
                Self::Elem: Inexact,
                Self::Backend: Reduces<<Self::Elem as Numeric>::Real>,
            {
                of::<families::NormMax, _, _>(self.into_expr().abs(), OperatorKind::NormMax, false)
            }

            /// The root of the sum of |x|^2, the 2-norm of a vector, carried in f64. For f64 no square overflows or underflows; of complex numbers
            /// |x| is rounded first, as by `abs`.
            #[doc(alias("norm", "nrm2"))]
            fn norm_l2(self) -> Reduction<'a, <Self::Elem as Numeric>::Real, Self::Dim, Ix0, Self::Backend>
            where
                Self::Elem: Inexact,
                Self::Backend: Reduces<<Self::Elem as Numeric>::Real>,
            {
                let values = self.into_expr();
                // Of real numbers the squares are those of the values themselves, whose type that is.
                let is_complex = Self::Elem::DTYPE.is_complex();
                let sizes = if is_complex { values.abs() } else { values.cast::<<Self::Elem as Numeric>::Real>() };
                of::<families::NormL2, _, _>(sizes, OperatorKind::NormL2, false)
            }

            /// `sum x[i] * y[i]` of two vectors of one length, in their common type. [`Matmul::matmul`](crate::Matmul::matmul) multiplies matrices.
            ///
            /// Products wrap or round in that type, and are exact for f16 and bf16; the sum of floats has the error of `sum`. On the host the products are
            /// an array first.
            ///
            /// `eval` reports `Operands` for vectors of different lengths.
            #[doc(alias("inner", "dotu"))]
            fn dot<R>(self, other: R) -> Reduction<'a, Common<Self::Elem, R::Elem>, Ix1, Ix0, Self::Backend>
            where
                Self: IntoExpr<'a, Dim = Ix1>,
                R: IntoExpr<'a, Dim = Ix1, Backend = Self::Backend>,
                Self::Elem: Promote<R::Elem, Output: Numeric>,
                Self::Backend: Reduces<Common<Self::Elem, R::Elem>>,
            {
                dot(self.into_expr(), other.into_expr(), false)
            }

            /// `sum conj(x[i]) * y[i]` over all indices of two arrays of one shape, in their common type: NumPy's `vdot`. Of real numbers it is `dot` for
            /// any shape.
            ///
            /// Shapes are not broadcast.
            ///
            /// `eval` reports `Operands` for arrays of different shapes.
            #[doc(alias("dotc", "vecdot"))]
            fn vdot<R>(self, other: R) -> Reduction<'a, Common<Self::Elem, R::Elem>, Self::Dim, Ix0, Self::Backend>
            where
                R: IntoExpr<'a, Dim = Self::Dim, Backend = Self::Backend>,
                Self::Elem: Promote<R::Elem, Output: Numeric>,
                Self::Backend: Reduces<Common<Self::Elem, R::Elem>>,
            {
                dot(self.into_expr(), other.into_expr(), true)
            }
        }
    };
}

for_each_reduction!(reductions, Self::Elem);

impl<'a, E: Receiver<'a>> Reductions<'a> for E {}

/// The common type of two operands.
pub type Common<A, B> = <A as Promote<B>>::Output;

/// The sum of x * y, or of conj(x) * y, for operands of one shape.
fn dot<'a, T, U, D, P>(
    x: Expr<'a, T, D, P>,
    y: Expr<'a, U, D, P>,
    conjugated: bool,
) -> Reduction<'a, Common<T, U>, D, Ix0, P>
where
    T: Element + Promote<U, Output: Numeric>,
    U: Element,
    D: Dimension,
    P: Reduces<Common<T, U>>,
{
    let dtype = Common::<T, U>::DTYPE;
    let operator = DeviceOperator::new(OperatorKind::Sum { carried: carried(dtype), result: dtype }, dtype, false);
    let host = P::dot_on_host().map(|sum| (sum, 0));
    Reduction::new(products(x, y, conjugated, host.is_some()), operator, host)
}

/// x * y, or conj(x) * y, for operands of one shape. Those of numbers of 16 bits are f32, on the host f64, whose sum is rounded once.
fn products<'a, T, U, D, P>(
    x: Expr<'a, T, D, P>,
    y: Expr<'a, U, D, P>,
    conjugated: bool,
    on_host: bool,
) -> Result<Assembled<'a>, ArrayError>
where
    T: Element + Promote<U, Output: Numeric>,
    U: Element,
    D: Dimension,
    P: Backend,
{
    let (left, right) = (x.shape()?, y.shape()?);
    if left != right {
        let (left_dtype, right_dtype, expression) = (T::DTYPE, U::DTYPE, "a dot product".to_owned());
        return Err(ArrayError::Operands { left, left_dtype, right, right_dtype, expression });
    }
    if Common::<T, U>::DTYPE.is_half() {
        // Exact.
        if on_host {
            return (x.cast::<f64>() * y.cast::<f64>()).lower_deferred();
        }
        return (x.cast::<f32>() * y.cast::<f32>()).lower_deferred();
    }
    if conjugated && Common::<T, U>::DTYPE.is_complex() {
        return (x.cast::<Common<T, U>>().conj() * y.cast::<Common<T, U>>()).lower_deferred();
    }
    (x * y).lower_deferred()
}

/// The sum in the type of the values: integers wrap in it, numbers of 16 bits are rounded to it once.
pub(crate) fn own_sum<'a, T: Numeric, D: Dimension>(values: &Expr<'a, T, D>) -> Reduction<'a, T, D> {
    let kind = OperatorKind::Sum { carried: carried(T::DTYPE), result: T::DTYPE };
    Reduction::new(lowered(values.clone()), DeviceOperator::new(kind, T::DTYPE, false), None)
}
