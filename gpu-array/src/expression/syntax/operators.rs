//! Operators on arrays, views and expressions. `scalars.rs` has those with a scalar on the left.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use ndarray::Dimension;

use super::expr::{Backend, Expr, Gpu, Operand, Operation, OwnedRhs, Rhs};
use crate::{
    Bits, Element, GpuArray, GpuView, GpuViewMut, Integer, Number, Numeric, Promote,
    expression::graph::{Op, Value},
};

/// The common type of two operands.
pub(crate) type Common<A, B> = <A as Promote<B>>::Output;

/// An operation on two operands whose value has the type `V`, after both have been brought to the type `C`.
pub(crate) fn binary<'a, C: Element, V: Element, T, D, P, R>(
    op: Op,
    a: Expr<'a, T, D, P>,
    b: R,
) -> Expr<'a, V, R::Dim, P>
where
    T: Element,
    D: Dimension,
    P: Backend,
    R: Rhs<'a, T, D, P>,
{
    Expr::of(Value::binary(op, V::DTYPE, C::DTYPE, a.value, b.into_promoted().0))
}

/// The operators of one left type.
macro_rules! left {
    ([$($generics:tt)*] $left:ty, $place:ty) => {
        left!(@binary [$($generics)*] $left, $place, Add add Add, Numeric, Common<T, R::Promoted>);
        left!(@binary [$($generics)*] $left, $place, Sub sub Subtract, Numeric, Common<T, R::Promoted>);
        left!(@binary [$($generics)*] $left, $place, Mul mul Multiply, Numeric, Common<T, R::Promoted>);
        left!(@binary [$($generics)*] $left, $place, Rem rem Remainder, Number, Common<T, R::Promoted>);
        left!(@binary [$($generics)*] $left, $place, BitAnd bitand And, Bits, Common<T, R::Promoted>);
        left!(@binary [$($generics)*] $left, $place, BitOr bitor Or, Bits, Common<T, R::Promoted>);
        left!(@binary [$($generics)*] $left, $place, BitXor bitxor Xor, Bits, Common<T, R::Promoted>);
        left!(@binary [$($generics)*] $left, $place, Shl shl ShiftLeft, Integer, Common<T, R::Promoted>);
        left!(@binary [$($generics)*] $left, $place, Shr shr ShiftRight, Integer, Common<T, R::Promoted>);

        impl<'a, $($generics)*, T, D: Dimension, R: Rhs<'a, T, D, $place>> Div<R> for $left
        where
            T: Element + Promote<R::Promoted, Output: Numeric>,
        {
            type Output = Expr<'a, <Common<T, R::Promoted> as Numeric>::Inexact, R::Dim, $place>;
            fn div(self, right: R) -> Self::Output {
                binary::<<Common<T, R::Promoted> as Numeric>::Inexact, _, _, _, _, _>(Op::Divide, self.to_expr(), right)
            }
        }

        impl<'a, $($generics)*, T: Numeric, D: Dimension> Neg for $left {
            type Output = Expr<'a, T, D, $place>;
            fn neg(self) -> Self::Output {
                Expr::of(Value::unary(Op::Negate, T::DTYPE, self.to_expr().value))
            }
        }

        impl<'a, $($generics)*, T: Bits, D: Dimension> Not for $left {
            type Output = Expr<'a, T, D, $place>;
            fn not(self) -> Self::Output {
                Expr::of(Value::unary(Op::Not, T::DTYPE, self.to_expr().value))
            }
        }
    };
    (@binary [$($generics:tt)*] $left:ty, $place:ty, $trait:ident $method:ident $op:ident, $kind:ident, $output:ty) => {
        impl<'a, $($generics)*, T, D: Dimension, R: Rhs<'a, T, D, $place>> $trait<R> for $left
        where
            T: Element + Promote<R::Promoted, Output: $kind>,
        {
            type Output = Expr<'a, $output, R::Dim, $place>;
            fn $method(self, right: R) -> Self::Output {
                binary::<$output, _, _, _, _, _>(Op::$op, self.to_expr(), right)
            }
        }
    };
}

left!([P: Backend] Expr<'a, T, D, P>, P);
left!(['r, P: Backend] &'r Expr<'a, T, D, P>, P);
left!(['r] &'a GpuArray<T, D>, Gpu);
left!(['r] GpuView<'a, T, D>, Gpu);
left!(['r] &'r GpuView<'a, T, D>, Gpu);
left!(['r] &'a GpuViewMut<'r, T, D>, Gpu);

/// The operators of an owned array on the left, which the expression owns then.
macro_rules! owned_left {
    ($($trait:ident $method:ident $op:ident, $kind:ident, $output:ty;)*) => {
        $(impl<T, D: Dimension, R: OwnedRhs<T, D>> $trait<R> for GpuArray<T, D>
        where
            T: Element + Promote<R::Elem, Output: $kind>,
        {
            type Output = R::Expr<$output>;
            fn $method(self, right: R) -> Self::Output {
                let operation = Operation { op: Op::$op, common: <$output as Element>::DTYPE };
                right.after(Operand(self.into_owned_expr().value), operation)
            }
        })*
    };
}

owned_left! {
    Add add Add, Numeric, Common<T, R::Elem>;
    Sub sub Subtract, Numeric, Common<T, R::Elem>;
    Mul mul Multiply, Numeric, Common<T, R::Elem>;
    Div div Divide, Numeric, <Common<T, R::Elem> as Numeric>::Inexact;
    Rem rem Remainder, Number, Common<T, R::Elem>;
    BitAnd bitand And, Bits, Common<T, R::Elem>;
    BitOr bitor Or, Bits, Common<T, R::Elem>;
    BitXor bitxor Xor, Bits, Common<T, R::Elem>;
    Shl shl ShiftLeft, Integer, Common<T, R::Elem>;
    Shr shr ShiftRight, Integer, Common<T, R::Elem>;
}

impl<T: Numeric, D: Dimension> Neg for GpuArray<T, D> {
    type Output = Expr<'static, T, D>;
    fn neg(self) -> Self::Output {
        -self.into_owned_expr()
    }
}

impl<T: Bits, D: Dimension> Not for GpuArray<T, D> {
    type Output = Expr<'static, T, D>;
    fn not(self) -> Self::Output {
        !self.into_owned_expr()
    }
}
