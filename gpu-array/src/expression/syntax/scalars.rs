//! Scalars beside arrays: on their right, with the type that NumPy's scalars of Python have there, and on their left.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Rem, Shl, Shr, Sub};

use half::{bf16, f16};
use ndarray::Dimension;

use super::expr::{Backend, Expr, Gpu, IntoOperand, Operand, Operation, OwnedRhs, Rhs};
use crate::{
    Element, Float, GpuArray, GpuView, GpuViewMut, Numeric,
    element::{c64, c128},
    expression::graph::Op,
    expression::graph::Value,
};

/// The right operand of an operation as an expression, for functions of other crates that take one.
pub fn promoted<'a, T: Element, D: Dimension, P: Backend, R: Rhs<'a, T, D, P>>(
    right: R,
) -> Expr<'a, R::Promoted, R::Dim, P> {
    let (value, rank) = (right.into_promoted().0, R::Dim::NDIM.unwrap_or(0));
    // An array of fewer axes gets those that the type says.
    Expr::of(match &value {
        Value::Leaf(leaf) if leaf.shape.len() < rank => Value::leaf(leaf.with_rank(rank)),
        _ => value,
    })
}

impl<T: Element, D: Dimension, P: Backend> Rhs<'_, T, D, P> for T {
    type Promoted = T;
}

impl<'a, T: Element, D: Dimension, P: Backend> IntoOperand<'a, D, P> for T {
    type Elem = T;
    type Dim = D;
    fn into_value(self) -> Operand<'a> {
        Operand(Value::scalar(self))
    }
}

impl<T: Element, D: Dimension> OwnedRhs<T, D> for T {
    type Elem = T;
    type Expr<V: Element> = Expr<'static, V, D>;
    fn after<V: Element>(self, left: Operand<'static>, operation: Operation) -> Self::Expr<V> {
        Expr::of(Value::binary(operation.op, V::DTYPE, operation.common, left.0, Value::scalar(self)))
    }
}

/// A scalar beside elements of another type `T`.
trait Literal<T: Element>: Element {
    /// Its type there.
    type Promoted: Element;
    /// The scalar in it, rounded once.
    fn promoted(self) -> Self::Promoted;
}

impl<T: Element> Literal<T> for T {
    type Promoted = T;
    fn promoted(self) -> T {
        self
    }
}

/// One scalar type beside element types. A literal without a suffix finds its type by them: of floats and of integers one type at most may stand
/// beside each element type, besides that itself, and one of integers must be `i32`, of floats `f64`, where the element type is a literal's too.
macro_rules! literals {
    ($($scalar:ident { $($element:ty => $promoted:ty, |$value:ident| $conversion:expr;)* })*) => {$($(
        impl Literal<$element> for $scalar {
            type Promoted = $promoted;
            fn promoted(self) -> $promoted {
                let $value = self;
                $conversion
            }
        }

        impl<'a, D: Dimension, P: Backend> Rhs<'a, $element, D, P> for $scalar {
            type Promoted = $promoted;
            fn into_promoted(self) -> Operand<'a> {
                Operand(Value::scalar(Literal::<$element>::promoted(self)))
            }
        }

        impl<D: Dimension> OwnedRhs<$element, D> for $scalar {
            type Elem = $promoted;
            type Expr<V: Element> = Expr<'static, V, D>;
            fn after<V: Element>(self, left: Operand<'static>, operation: Operation) -> Self::Expr<V> {
                OwnedRhs::<$promoted, D>::after(Literal::<$element>::promoted(self), left, operation)
            }
        }
    )*)*};
}

literals! {
    i32 {
        bool => i64, |value| i64::from(value);
        f16 => f16, |value| f16::rounded_from_f64(value.into());
        bf16 => bf16, |value| bf16::rounded_from_f64(value.into());
        f32 => f32, |value| value as f32;
        f64 => f64, |value| f64::from(value);
        c64 => c64, |value| c64::new(value as f32, 0.0);
        c128 => c128, |value| c128::new(value.into(), 0.0);
    }
    f32 {
        c64 => f32, |value| value;
    }
    f64 {
        bool => f64, |value| value;
        i8 => f64, |value| value;
        i16 => f64, |value| value;
        i32 => f64, |value| value;
        i64 => f64, |value| value;
        u8 => f64, |value| value;
        u16 => f64, |value| value;
        u32 => f64, |value| value;
        u64 => f64, |value| value;
        f16 => f16, |value| f16::rounded_from_f64(value);
        bf16 => bf16, |value| bf16::rounded_from_f64(value);
        c128 => f64, |value| value;
    }
    c64 {
        f16 => c64, |value| value;
        bf16 => c64, |value| value;
        f32 => c64, |value| value;
    }
    c128 {
        i32 => c128, |value| value;
        i64 => c128, |value| value;
        f64 => c128, |value| value;
    }
}

/// `scalar op right` for scalars of one type and a right side of another or the same, of which the operation is one of `$value`.
macro_rules! scalars {
    (@scalar $scalar:ty, $element:ty => $value:ty, ($($trait:ident $method:ident $op:ident $kind:ident),*)) => {
        $(
            scalars!(@one $scalar, $element, $value, $trait $method $op $kind, [P: Backend] Expr<'a, $element, D, P>, P);
            scalars!(@one $scalar, $element, $value, $trait $method $op $kind, ['r, P: Backend] &'r Expr<'a, $element, D, P>, P);
            scalars!(@one $scalar, $element, $value, $trait $method $op $kind, ['r] &'a GpuArray<$element, D>, Gpu);
            scalars!(@owned $scalar, $element, $value, $trait $method $op $kind);
            scalars!(@one $scalar, $element, $value, $trait $method $op $kind, ['r] GpuView<'a, $element, D>, Gpu);
            scalars!(@one $scalar, $element, $value, $trait $method $op $kind, ['r] &'r GpuView<'a, $element, D>, Gpu);
            scalars!(@one $scalar, $element, $value, $trait $method $op $kind, ['r] &'a GpuViewMut<'r, $element, D>, Gpu);
        )*
    };
    (@one $scalar:ty, $element:ty, $value:ty, $trait:ident $method:ident $op:ident Same, [$($generics:tt)*] $right:ty, $place:ty) => {
        scalars!(@impl $scalar, $element, $trait $method $op, $value, [$($generics)*] $right, $place);
    };
    (@one $scalar:ty, $element:ty, $value:ty, $trait:ident $method:ident $op:ident Float, [$($generics:tt)*] $right:ty, $place:ty) => {
        scalars!(@impl $scalar, $element, $trait $method $op, <$value as Numeric>::Inexact, [$($generics)*] $right, $place);
    };
    (@owned $scalar:ty, $element:ty, $value:ty, $trait:ident $method:ident $op:ident Same) => {
        scalars!(@owned_impl $scalar, $element, $trait $method, $value);
    };
    (@owned $scalar:ty, $element:ty, $value:ty, $trait:ident $method:ident $op:ident Float) => {
        scalars!(@owned_impl $scalar, $element, $trait $method, <$value as Numeric>::Inexact);
    };
    (@owned_impl $scalar:ty, $element:ty, $trait:ident $method:ident, $value:ty) => {
        impl<D: Dimension> $trait<GpuArray<$element, D>> for $scalar {
            type Output = Expr<'static, $value, D>;
            fn $method(self, right: GpuArray<$element, D>) -> Self::Output {
                $trait::$method(self, right.into_owned_expr())
            }
        }
    };
    (@impl $scalar:ty, $element:ty, $trait:ident $method:ident $op:ident, $value:ty, [$($generics:tt)*] $right:ty, $place:ty) => {
        impl<'a, $($generics)*, D: Dimension> $trait<$right> for $scalar {
            type Output = Expr<'a, $value, D, $place>;
            fn $method(self, right: $right) -> Self::Output {
                let left = Value::scalar(Literal::<$element>::promoted(self));
                let dtype = <$value as Element>::DTYPE;
                Expr::of(Value::binary(Op::$op, dtype, dtype, left, right.to_expr().value))
            }
        }
    };
}

/// All operators of numbers, and those of bits.
macro_rules! scalar_operators {
    ($($scalar:ty)*; $operators:tt) => {
        $(scalars!(@scalar $scalar, $scalar => $scalar, $operators);)*
    };
    ($scalar:ty: $($element:ty => $value:ty),*; $operators:tt) => {
        $(scalars!(@scalar $scalar, $element => $value, $operators);)*
    };
}

scalar_operators!(i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64; (
    Add add Add Same, Sub sub Subtract Same, Mul mul Multiply Same, Rem rem Remainder Same, Div div Divide Float
));
scalar_operators!(i32: bool => i64, f16 => f16, bf16 => bf16, f32 => f32, f64 => f64; (
    Add add Add Same, Sub sub Subtract Same, Mul mul Multiply Same, Rem rem Remainder Same, Div div Divide Float
));
scalar_operators!(
    f64: bool => f64, i8 => f64, i16 => f64, i32 => f64, i64 => f64, u8 => f64, u16 => f64, u32 => f64, u64 => f64,
    f16 => f16, bf16 => bf16;
    (Add add Add Same, Sub sub Subtract Same, Mul mul Multiply Same, Rem rem Remainder Same, Div div Divide Float)
);
scalar_operators!(c64 c128; (Add add Add Same, Sub sub Subtract Same, Mul mul Multiply Same, Div div Divide Float));
scalar_operators!(i32: c64 => c64, c128 => c128; (
    Add add Add Same, Sub sub Subtract Same, Mul mul Multiply Same, Div div Divide Float
));
scalar_operators!(f32: c64 => c64; (Add add Add Same, Sub sub Subtract Same, Mul mul Multiply Same, Div div Divide Float));
scalar_operators!(f64: c128 => c128; (Add add Add Same, Sub sub Subtract Same, Mul mul Multiply Same, Div div Divide Float));
scalar_operators!(c64: f16 => c64, bf16 => c64, f32 => c64; (
    Add add Add Same, Sub sub Subtract Same, Mul mul Multiply Same, Div div Divide Float
));
scalar_operators!(c128: i32 => c128, i64 => c128, f64 => c128; (
    Add add Add Same, Sub sub Subtract Same, Mul mul Multiply Same, Div div Divide Float
));
scalar_operators!(bool i8 i16 i32 i64 u8 u16 u32 u64; (
    BitAnd bitand And Same, BitOr bitor Or Same, BitXor bitxor Xor Same
));
scalar_operators!(i8 i16 i32 i64 u8 u16 u32 u64; (Shl shl ShiftLeft Same, Shr shr ShiftRight Same));
