//! Functions of lazy values, as methods: those of the expression that a reduction, a scan or a product becomes.

/// Methods of a type with a method `into_expr`: its generics with the lifetime `'a` first, the type, its element type, rank and place. The bounds and the
/// results are those of [`Expr`](gpu_array::expression::Expr)'s methods, which `rustc` compares.
macro_rules! functions {
    ([$($generics:tt)*] $type:ty, $element:ty, $rank:ty, $place:ty) => {
        $crate::common::functions::functions! { @each unary ([$($generics)*] ($type) ($element) ($rank) ($place))
            (Numeric, <$element as gpu_array::Numeric>::Real) abs;
            (Number, $element) sign, floor, ceil, round, trunc;
            (Numeric, $element) square, conj;
            (Inexact, bool) is_nan, is_finite;
            (ComplexNumber, <$element as gpu_array::Numeric>::Real) real, imag, arg;
            (Numeric, <$element as gpu_array::Numeric>::Inexact)
                recip, sqrt, exp, log, log10, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh;
            (Number, <$element as gpu_array::Number>::Float) exp2, expm1, log2, log1p, cbrt, erf, erfc, log_gamma, gamma;
        }
        $crate::common::functions::functions! { @each binary ([$($generics)*] ($type) ($element) ($rank) ($place))
            (Number, <$element as gpu_array::Promote<R::Promoted>>::Output) minimum, maximum;
            (Numeric, <$element as gpu_array::Promote<R::Promoted>>::Output) pow;
            (Element, bool) eq, ne;
            (Number, bool) lt, le, gt, ge;
        }

        impl<$($generics)*> $type {
            /// [`Expr::cast`](gpu_array::expression::Expr::cast) of the result.
            #[doc(alias = "astype")]
            #[must_use = "it is computed by `eval`"]
            pub fn cast<U: gpu_array::Element>(self) -> gpu_array::expression::Expr<'a, U, $rank, $place> {
                self.into_expr().cast()
            }

            /// [`Expr::powi`](gpu_array::expression::Expr::powi) of the result.
            #[must_use = "it is computed by `eval`"]
            pub fn powi(self, n: i32) -> gpu_array::expression::Expr<'a, $element, $rank, $place>
            where
                $element: gpu_array::Numeric,
            {
                self.into_expr().powi(n)
            }

            /// [`Expr::clamp`](gpu_array::expression::Expr::clamp) of the result.
            #[doc(alias = "clip")]
            #[must_use = "it is computed by `eval`"]
            pub fn clamp<L, H>(self, low: L, high: H) -> gpu_array::expression::Expr<'a, $element, H::Dim, $place>
            where
                $element: gpu_array::Number,
                L: gpu_array::expression::Rhs<'a, $element, $rank, $place, Promoted = $element>,
                H: gpu_array::expression::Rhs<'a, $element, L::Dim, $place, Promoted = $element>,
            {
                self.into_expr().clamp(low, high)
            }
        }
    };

    (@each $operands:ident $of:tt $($bound_and_value:tt $($name:ident),+;)*) => {
        $($($crate::common::functions::functions! { @$operands $of $bound_and_value $name })+)*
    };
    (@unary ([$($generics:tt)*] ($type:ty) ($element:ty) ($rank:ty) ($place:ty)) ($bound:ident, $value:ty) $name:ident) => {
        impl<$($generics)*> $type {
            #[doc = concat!("[`Expr::", stringify!($name), "`](gpu_array::expression::Expr::", stringify!($name), ") of the result.")]
            #[must_use = "it is computed by `eval`"]
            pub fn $name(self) -> gpu_array::expression::Expr<'a, $value, $rank, $place>
            where
                $element: gpu_array::$bound,
            {
                self.into_expr().$name()
            }
        }
    };

    (@binary ([$($generics:tt)*] ($type:ty) ($element:ty) ($rank:ty) ($place:ty)) ($bound:ident, $value:ty) $name:ident) => {
        impl<$($generics)*> $type {
            #[doc = concat!("[`Expr::", stringify!($name), "`](gpu_array::expression::Expr::", stringify!($name), ") of the result and `other`.")]
            #[must_use = "it is computed by `eval`"]
            pub fn $name<R>(self, other: R) -> gpu_array::expression::Expr<'a, $value, R::Dim, $place>
            where
                R: gpu_array::expression::Rhs<'a, $element, $rank, $place>,
                $element: gpu_array::Promote<R::Promoted, Output: gpu_array::$bound>,
            {
                self.into_expr().$name(other)
            }
        }
    };
}
pub(crate) use functions;
