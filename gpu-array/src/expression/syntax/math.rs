//! Mathematical functions of arrays, views and expressions, as methods.
//!
//! Errors of mathematical functions are in ulp (units in the last place of the exact result). On the device they are those that the CUDA C++
//! Programming Guide gives for its standard functions or, where an H200 with CUDA 13.0 has larger ones, these, rounded up. On the host and the
//! emulated device most are the platform's C library's, with glibc at most 2 ulp, but 3 for `tanh` and for `log10` of f32, and 4 for `cbrt` of f64. The
//! special functions (`asinh` to `yn`) are those of the crate `libm` on the host: of f32 they are computed in f64 and rounded, so within 1 ulp, and of f64
//! within the bounds of the device; where zeros make errors absolute, the method gives the bound. The emulated device has the C library's, within the bounds
//! of the device, but 8 ulp for `gamma` of f32.
//!
//! The test `precise` holds each bound against a million values of functions of higher precision, on the device and on the host.
//!
//! Each part of a function of complex numbers is within 16 units in the last place of the larger finite part, on the host within 4. At infinities, NaN and
//! zeros of either sign, and on either side of branch cuts, both parts have the values of NumPy and of C99's annex G. Where the annex leaves a sign open, as
//! that of the infinity in sinh(inf + i inf), NumPy's is that of its C library and may be another; here it is the same on device and host, and the sign of
//! a NaN never counts.
//! The cuts are NumPy's: along the negative real axis for `log` and `sqrt`, beyond -1 and 1 for `asin`, `acos` and `atanh`, beyond -i and i for `atan` and
//! `asinh`, below 1 for `acosh`.

use ndarray::Dimension;

use super::{
    expr::{Backend, Expr, Gpu, Rhs},
    functions::of_same,
};
use crate::{
    DType, Element, GpuArray, GpuView, GpuViewMut, Number, Numeric,
    expression::graph::{Op, Value},
};

/// A function of one operand that is brought to the type of its value.
fn unary<'a, T: Element, V: Element, D: Dimension, P: Backend>(op: Op, x: Expr<'a, T, D, P>) -> Expr<'a, V, D, P> {
    Expr::of(Value::unary(op, V::DTYPE, x.value.cast(V::DTYPE)))
}

/// The type to compute in where one operand is an integer that f16 and bf16 may not hold.
fn holding_integers(dtype: DType) -> DType {
    if dtype.is_half() { DType::F32 } else { dtype }
}

/// A function of a float and of an order, which is the same at each place.
fn of_order<'a, T: Number, D: Dimension, P: Backend>(op: Op, x: Expr<'a, T, D, P>, n: i32) -> Expr<'a, T::Float, D, P> {
    let dtype = T::Float::DTYPE;
    let computed = holding_integers(dtype);
    // Devices know no negative orders.
    let value = Value::binary(op, computed, computed, x.value, Value::scalar(n.unsigned_abs()));
    let value = if n < 0 && n % 2 != 0 { Value::unary(Op::Negate, computed, value) } else { value };
    Expr::of(value.cast(dtype))
}

/// All methods, for one type of receiver.
macro_rules! functions {
    (impl [$($generics:tt)*] $type:ty, $place:ty, fn [$($life:tt)*], [$($ref:tt)*] $self:ident) => {
        functions! { @inexact [$($generics)*] $type, $place, [$($life)*] [$($ref)*] $self;
            /// The square root, rounded once.
            sqrt Sqrt;
            /// e^x. Within 1 ulp (f32: 2 on the device).
            exp Exp;
            /// The natural logarithm. Within 1 ulp.
            #[doc(alias = "ln")]
            log Log;
            /// The logarithm of base 10. Within 2 ulp.
            log10 Log10;
            /// The sine of x in radians, of any size. Within 2 ulp.
            sin Sin;
            /// The cosine of x in radians, of any size. Within 2 ulp.
            cos Cos;
            /// The tangent of x in radians, of any size. Within 4 ulp (f64: 3).
            tan Tan;
            /// The arc sine in radians. Within 2 ulp.
            asin Asin;
            /// The arc cosine in radians. Within 2 ulp.
            acos Acos;
            /// The arc tangent in radians. Within 2 ulp.
            atan Atan;
            /// The hyperbolic sine. Within 3 ulp (f64: 2).
            sinh Sinh;
            /// The hyperbolic cosine. Within 3 ulp (f64: 2).
            cosh Cosh;
            /// The hyperbolic tangent. Within 2 ulp.
            tanh Tanh;
            /// The inverse hyperbolic sine, also near 0. Within 3 ulp.
            #[doc(alias = "arcsinh")]
            asinh Asinh;
            /// The inverse hyperbolic cosine; NaN below 1. Within 4 ulp (f64: 3).
            #[doc(alias = "arccosh")]
            acosh Acosh;
            /// The inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond. Within 4 ulp (f64: 3).
            #[doc(alias = "arctanh")]
            atanh Atanh;
        }
        functions! { @float [$($generics)*] $type, $place, [$($life)*] [$($ref)*] $self;
            /// 2^x. Within 2 ulp.
            exp2 Exp2;
            /// e^x - 1, also near 0. Within 1 ulp, on the device 2.
            #[doc(alias = "exp_m1")]
            expm1 Expm1;
            /// The logarithm of base 2. Within 1 ulp (f64: 2 on the device).
            log2 Log2;
            /// log(1 + x), also near 0. Within 1 ulp (f64: 2 on the device).
            #[doc(alias = "ln_1p")]
            log1p Log1p;
            /// The cube root. Within 1 ulp.
            cbrt Cbrt;
            /// The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x. Within 2 ulp.
            erf Erf;
            /// 1 - erf(x), also where that is tiny. Within 5 ulp where it is a normal number.
            erfc Erfc;
            /// log(|gamma(x)|), infinite at 0 and at negative integers. From -2 on within 6 ulp for f32 and 4 for f64. Below -2, where it has zeros beside
            /// each integer, within 6 units in the last place of the largest of the value, log(gamma(-x)) and 1.
            #[doc(alias("lgamma", "gammaln"))]
            log_gamma LogGamma;
            /// The gamma function, (x - 1)! for integers; NaN at negative integers, infinite at a zero, with its sign. Within 5 ulp for f32 and 10 for
            /// f64.
            #[doc(alias("tgamma", "factorial"))]
            gamma Gamma;
            /// The Bessel function of the first kind of order 0. For |x| < 8 within 9 ulp or 1e-7 (f64: 7 ulp or 2e-16), for larger ones within
            /// 2.2e-6 (f64: 5e-12); so the other three. On the host and the emulated device also within 6 units in the last place of the larger of the
            /// value and of sqrt(2 / (pi |x|)), the amplitude of its waves.
            j0 J0;
            /// The Bessel function of the first kind of order 1. Its error: see [`j0`](Self::j0).
            j1 J1;
            /// The Bessel function of the second kind of order 0: minus infinity at 0, NaN below. Its error: see [`j0`](Self::j0).
            y0 Y0;
            /// The Bessel function of the second kind of order 1: minus infinity at 0, NaN below. Its error: see [`j0`](Self::j0).
            y1 Y1;
        }

        impl<$($generics)*> $type {
            /// The Bessel function of the first kind of order `n`; for a negative `n` that of `-n`, times -1 where `n` is odd. Within
            /// 1.2e-11 for |n| up to 128, and of f32 within 1 ulp or that, as it is computed in f64. Its cost grows with |n|, as it is computed from other
            /// orders. On the host and the emulated device also within 40 + |n| ulp for |x| up to |n|, and for larger ones within as many units in the last
            /// place of the larger of the value and of sqrt(2 / (pi |x|)), the amplitude of its waves.
            #[must_use = "it is computed by `eval`"]
            pub fn jn<$($life)*>($($ref)* $self, n: i32) -> Expr<'a, T::Float, D, $place>
            where
                T: Number,
            {
                of_order(Op::Jn, $self.to_expr(), n)
            }

            /// The Bessel function of the second kind of order `n`: infinite at 0, NaN below. For a negative `n` that of `-n`, times -1 where `n` is
            /// odd. Within 2 + 2.5 |n| ulp or 1.2e-11 for |x| < 8, for larger ones within 2e-11 of the value or of 1: the errors of orders 0 and 1 grow
            /// with the orders. Of f32 it is within 1 ulp or 1.2e-11, as it is computed in f64. Its cost grows with |n|, as it is computed from the orders
            /// below. On the host and the emulated device also within 8 + |n| ulp, or units in the last place of the amplitude, as [`jn`](Self::jn).
            #[must_use = "it is computed by `eval`"]
            pub fn yn<$($life)*>($($ref)* $self, n: i32) -> Expr<'a, T::Float, D, $place>
            where
                T: Number,
            {
                of_order(Op::Yn, $self.to_expr(), n)
            }

            /// Mantissa `m` and exponent `e` of x = m * 2^e, where 1/2 <= |m| < 1; exact. For 0, infinities and NaN these and 0.
            ///
            /// ```
            /// use gpu_array::expression::host;
            /// let x = ndarray::array![1.0, -0.375, 0.0];
            /// let (mantissa, exponent) = host(&x).frexp();
            /// assert_eq!(mantissa.eval()?, ndarray::array![0.5, -0.75, 0.0]);
            /// assert_eq!(exponent.eval()?, ndarray::array![1, -1, 0]);
            /// assert_eq!(mantissa.ldexp(exponent).eval()?, x);
            /// # Ok::<(), gpu_array::ArrayError>(())
            /// ```
            #[must_use = "it is computed by `eval`"]
            pub fn frexp<$($life)*>($($ref)* $self) -> (Expr<'a, T::Float, D, $place>, Expr<'a, i32, D, $place>)
            where
                T: Number,
            {
                let x: Expr<'a, T::Float, D, $place> = $self.to_expr().cast();
                (of_same(Op::Mantissa, x.clone()), of_same(Op::Exponent, x))
            }

            /// The fraction and the integer part of x, both with its sign; exact. Of infinities a zero and that infinity.
            #[must_use = "it is computed by `eval`"]
            pub fn modf<$($life)*>($($ref)* $self) -> (Expr<'a, T::Float, D, $place>, Expr<'a, T::Float, D, $place>)
            where
                T: Number,
            {
                let x: Expr<'a, T::Float, D, $place> = $self.to_expr().cast();
                (of_same(Op::Fraction, x.clone()), of_same(Op::Truncate, x))
            }

            /// x * 2^exponent; exact, but rounded once where that is subnormal, and infinite where it is too large.
            #[must_use = "it is computed by `eval`"]
            pub fn ldexp<$($life)* R>($($ref)* $self, exponent: R) -> Expr<'a, T::Float, R::Dim, $place>
            where
                T: Number,
                R: Rhs<'a, i32, D, $place, Promoted = i32>,
            {
                // The exponents become floats: those that are rounded give 0 or infinity anyway.
                let (dtype, computed) = (T::Float::DTYPE, holding_integers(T::Float::DTYPE));
                let x = $self.to_expr().value.cast(dtype);
                Expr::of(Value::binary(Op::Ldexp, computed, computed, x, exponent.into_promoted().0).cast(dtype))
            }
        }
    };

    (@inexact $generics:tt $type:ty, $place:ty, $life:tt $ref:tt $self:ident; $($(#[$doc:meta])* $name:ident $op:ident;)*) => {
        $(functions! { @one_inexact $generics $type, $place, $life $ref $self; $(#[$doc])* $name $op })*
    };
    (@one_inexact [$($generics:tt)*] $type:ty, $place:ty, [$($life:tt)*] [$($ref:tt)*] $self:ident;
        $(#[$doc:meta])* $name:ident $op:ident) => {
        impl<$($generics)*> $type {
            $(#[$doc])*
            #[must_use = "it is computed by `eval`"]
            pub fn $name<$($life)*>($($ref)* $self) -> Expr<'a, T::Inexact, D, $place>
            where
                T: Numeric,
            {
                unary(Op::$op, $self.to_expr())
            }
        }
    };

    (@float $generics:tt $type:ty, $place:ty, $life:tt $ref:tt $self:ident; $($(#[$doc:meta])* $name:ident $op:ident;)*) => {
        $(functions! { @one_float $generics $type, $place, $life $ref $self; $(#[$doc])* $name $op })*
    };
    (@one_float [$($generics:tt)*] $type:ty, $place:ty, [$($life:tt)*] [$($ref:tt)*] $self:ident;
        $(#[$doc:meta])* $name:ident $op:ident) => {
        impl<$($generics)*> $type {
            $(#[$doc])*
            #[must_use = "it is computed by `eval`"]
            pub fn $name<$($life)*>($($ref)* $self) -> Expr<'a, T::Float, D, $place>
            where
                T: Number,
            {
                unary(Op::$op, $self.to_expr())
            }
        }
    };
}

functions! { impl ['a, T: Element, D: Dimension, P: Backend] Expr<'a, T, D, P>, P, fn [], [&] self }
functions! { impl [T: Element, D: Dimension] GpuArray<T, D>, Gpu, fn ['a,], [&'a] self }
functions! { impl ['a, T: Element, D: Dimension] GpuView<'a, T, D>, Gpu, fn [], [&] self }
functions! { impl ['v, T: Element, D: Dimension] GpuViewMut<'v, T, D>, Gpu, fn ['a,], [&'a] self }
