//! Lazy values of this crate as operands of gpu-array's expressions: both traits of operands, the operators with a lazy value on the left or a
//! scalar on the left of one, and functions as methods.

use gpu_array::{
    Element, GpuArray, GpuView, GpuViewMut,
    expression::{Backend, Expr, IntoExpr},
};
use ndarray::Dimension;

/// Types whose methods are reductions, scans and selections: arrays and expressions by reference, views, and lazy values of this crate.
///
/// Expressions themselves are none, so that `e.sum()` reads `e` by reference and leaves it.
pub trait Receiver<'a>: IntoExpr<'a> {}

impl<'a, T: Element, D: Dimension> Receiver<'a> for &'a GpuArray<T, D> {}
impl<'a, T: Element, D: Dimension> Receiver<'a> for GpuView<'a, T, D> {}
impl<'a, T: Element, D: Dimension> Receiver<'a> for &GpuView<'a, T, D> {}
impl<'a, 'r, T: Element, D: Dimension> Receiver<'a> for &'a GpuViewMut<'r, T, D> {}
impl<'a, T: Element, D: Dimension, P: Backend> Receiver<'a> for &Expr<'a, T, D, P> {}

/// Makes a type with a method `into_expr` an operand: its generics with the lifetime `'a` first, the type, its element type, rank and place.
macro_rules! operand {
    ([$($generics:tt)*] $type:ty, $element:ty, $rank:ty, $place:ty) => {
        impl<$($generics)*> gpu_array::expression::IntoExpr<'a> for $type {
            type Elem = $element;
            type Dim = $rank;
            type Backend = $place;
            fn into_expr(self) -> gpu_array::expression::Expr<'a, $element, $rank, $place> {
                self.into_expr()
            }
        }

        impl<$($generics)*> $crate::common::operand::Receiver<'a> for $type {}

        impl<$($generics)*, L: gpu_array::Element, M: ndarray::DimMax<$rank> + ndarray::Dimension>
            gpu_array::expression::Rhs<'a, L, M, $place> for $type
        {
            type Promoted = $element;
        }

        impl<$($generics)*, M: ndarray::DimMax<$rank> + ndarray::Dimension> gpu_array::expression::IntoOperand<'a, M, $place>
            for $type
        {
            type Elem = $element;
            type Dim = <M as ndarray::DimMax<$rank>>::Output;
            fn into_value(self) -> gpu_array::expression::Operand<'a> {
                gpu_array::expression::IntoOperand::<'a, M, $place>::into_value(self.into_expr())
            }
        }

        $crate::common::operand::operators!([$($generics)*] $type, $element, $rank, $place;
            Add add, Sub sub, Mul mul, Div div, Rem rem, BitAnd bitand, BitOr bitor, BitXor bitxor);
        $crate::common::functions::functions! { [$($generics)*] $type, $element, $rank, $place }
    };
}
pub(crate) use operand;

/// Makes a type with a method `into_expr` the right operand of an operator whose left one is an owned array on a GPU.
macro_rules! owned_right {
    ([$($generics:tt)*] $type:ty, $element:ty, $rank:ty) => {
        impl<$($generics)*, L: gpu_array::Element, M: ndarray::DimMax<$rank> + ndarray::Dimension>
            gpu_array::expression::OwnedRhs<L, M> for $type
        {
            type Elem = $element;
            type Expr<V: gpu_array::Element> = gpu_array::expression::Expr<'a, V, <M as ndarray::DimMax<$rank>>::Output>;
            fn after<V: gpu_array::Element>(
                self,
                left: gpu_array::expression::Operand<'static>,
                operation: gpu_array::expression::Operation,
            ) -> Self::Expr<V> {
                gpu_array::expression::OwnedRhs::<L, M>::after(self.into_expr(), left, operation)
            }
        }
    };
}
pub(crate) use owned_right;

/// Binary operators with the lazy value on the left, and its negative.
macro_rules! operators {
    ([$($generics:tt)*] $type:ty, $element:ty, $rank:ty, $place:ty; $($trait:ident $method:ident),*) => {
        $crate::common::operand::operators!(@each [$($generics)*] ($type) ($element) ($rank) ($place) $($trait $method)*);

        impl<$($generics)*> std::ops::Neg for $type
        where
            gpu_array::expression::Expr<'a, $element, $rank, $place>: std::ops::Neg,
        {
            type Output = <gpu_array::expression::Expr<'a, $element, $rank, $place> as std::ops::Neg>::Output;
            fn neg(self) -> Self::Output {
                -self.into_expr()
            }
        }
    };
    (@each $generics:tt $type:tt $element:tt $rank:tt $place:tt) => {};
    (@each [$($generics:tt)*] ($type:ty) ($element:ty) ($rank:ty) ($place:ty) $trait:ident $method:ident $($more:tt)*) => {
        impl<$($generics)*, R> std::ops::$trait<R> for $type
        where
            gpu_array::expression::Expr<'a, $element, $rank, $place>: std::ops::$trait<R>,
        {
            type Output = <gpu_array::expression::Expr<'a, $element, $rank, $place> as std::ops::$trait<R>>::Output;
            fn $method(self, right: R) -> Self::Output {
                std::ops::$trait::$method(self.into_expr(), right)
            }
        }
        $crate::common::operand::operators!(@each [$($generics)*] ($type) ($element) ($rank) ($place) $($more)*);
    };
}
pub(crate) use operators;

/// `scalar op lazy value` for the scalars of its element type, and for those that a literal without a suffix has beside it
/// ([`Rhs`](gpu_array::expression::Rhs)). The type is given as a macro of scalar and element type.
macro_rules! scalars {
    ($lazy:ident; $($element:ty)*; $($scalar:ident beside $($other:ty)*),*) => {
        $($crate::common::operand::scalars!(@one $lazy, $element, $element; Add add, Sub sub, Mul mul, Div div, Rem rem);)*
        $($($crate::common::operand::scalars!(@one $lazy, $scalar, $other; Add add, Sub sub, Mul mul, Div div, Rem rem);)*)*
        // Complex numbers have no remainder.
        $crate::common::operand::scalars! { @complex $lazy;
            gpu_array::Complex<f32>: gpu_array::Complex<f32>, f16, bf16, f32; gpu_array::Complex<f64>: gpu_array::Complex<f64>, i32, i64, f64;
            f32: gpu_array::Complex<f32>; f64: gpu_array::Complex<f64>; i32: gpu_array::Complex<f32>, gpu_array::Complex<f64>
        }
    };
    (@complex $lazy:ident; $($scalar:ty: $($other:ty),*);*) => {
        $($($crate::common::operand::scalars!(@one $lazy, $scalar, $other; Add add, Sub sub, Mul mul, Div div);)*)*
    };
    (@one $lazy:ident, $scalar:ty, $element:ty; $($trait:ident $method:ident),*) => {
        $($lazy!($scalar, $element, $trait, $method);)*
    };
}
pub(crate) use scalars;
