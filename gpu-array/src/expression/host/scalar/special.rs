//! The special functions of floats, and those of their parts.

use super::RealScalar;

/// The operations of [`Op::is_special`](crate::expression::graph::Op::is_special).
pub(in super::super) trait SpecialScalar: RealScalar {
    fn asinh(self) -> Self;
    fn acosh(self) -> Self;
    fn atanh(self) -> Self;
    fn erf(self) -> Self;
    fn erfc(self) -> Self;
    fn log_gamma(self) -> Self;
    fn gamma(self) -> Self;
    fn j0(self) -> Self;
    fn j1(self) -> Self;
    fn y0(self) -> Self;
    fn y1(self) -> Self;
    fn jn(self, order: Self) -> Self;
    fn yn(self, order: Self) -> Self;
    fn mantissa(self) -> Self;
    fn exponent(self) -> i32;
    fn fraction(self) -> Self;
    fn ldexp(self, exponent: Self) -> Self;
    fn next_after(self, other: Self) -> Self;
}

/// Functions of libm: those of f64, whose results round to f32.
macro_rules! of_libm {
    ($type:ty: $($name:ident $function:ident),*) => {$(
        fn $name(self) -> Self {
            libm::$function(self.into()) as $type
        }
    )*};
}

macro_rules! floats {
    ($($type:ident),*) => {$(
        impl SpecialScalar for $type {
            of_libm!($type: asinh asinh, atanh atanh, erf erf, erfc erfc, log_gamma lgamma, gamma tgamma);
            of_libm!($type: j0 j0, j1 j1, y0 y0, y1 y1);
            fn acosh(self) -> Self {
                // libm's gives numbers for large negative arguments.
                if self < 1.0 { Self::NAN } else { libm::acosh(self.into()) as $type }
            }
            fn jn(self, order: Self) -> Self {
                libm::jn(order as i32, self.into()) as $type
            }
            fn yn(self, order: Self) -> Self {
                libm::yn(order as i32, self.into()) as $type
            }
            fn mantissa(self) -> Self {
                if self.is_finite() { libm::frexp(self.into()).0 as $type } else { self }
            }
            fn exponent(self) -> i32 {
                if self.is_finite() { libm::frexp(self.into()).1 } else { 0 }
            }
            fn fraction(self) -> Self {
                let fraction = if self.is_infinite() { 0.0 } else { self - self.trunc() };
                fraction.copysign(self)
            }
            fn ldexp(self, exponent: Self) -> Self {
                // Of f32 the product is exact as an f64, so it rounds once.
                libm::ldexp(self.into(), exponent as i32) as $type
            }
            fn next_after(self, other: Self) -> Self {
                if self < other {
                    self.next_up()
                } else if self > other {
                    self.next_down()
                } else if self == other {
                    other
                } else {
                    Self::NAN
                }
            }
        }
    )*};
}

floats!(f32, f64);
