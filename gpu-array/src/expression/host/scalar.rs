//! The operations on single values: the definitions of [`super`], in Rust.

mod complex;
mod special;

use num_complex::Complex;

pub(super) use complex::{ComplexScalar, functions};
pub(super) use special::SpecialScalar;

use crate::element::Float;

/// The operations of all numbers.
pub(super) trait Arithmetic: super::lane::Lane + PartialOrd {
    fn negate(self) -> Self;
    fn absolute(self) -> Self;
    fn sign(self) -> Self;
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    fn floor_divide(self, other: Self) -> Self;
    fn remainder(self, other: Self) -> Self;
    fn fmod(self, other: Self) -> Self;
    fn power(self, other: Self) -> Self;
}

/// The further operations of integers.
pub(super) trait Integral: Arithmetic {
    fn shift_left(self, other: Self) -> Self;
    fn shift_right(self, other: Self) -> Self;
}

/// The further operations of floats, beside those of [`num_traits::Float`].
pub(super) trait RealScalar: Arithmetic + Float {
    type Pair: super::lane::Lane;
    fn complex(self, im: Self) -> Self::Pair;
    fn divide(self, other: Self) -> Self;
    fn round_even(self) -> Self;
}

macro_rules! integers {
    ($($type:ident $absolute:expr, $sign:expr);*) => {$(
        #[allow(unused_comparisons, reason = "unsigned integers are never negative: half of the macro's types")]
        impl Arithmetic for $type {
            fn negate(self) -> Self {
                self.wrapping_neg()
            }
            fn absolute(self) -> Self {
                $absolute(self)
            }
            fn sign(self) -> Self {
                $sign(self)
            }
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn subtract(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn multiply(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn floor_divide(self, other: Self) -> Self {
                if other == 0 {
                    return 0;
                }
                // Cut towards zero; one less where the remainder has the other sign than the divisor.
                let cut = self.wrapping_div(other);
                let inexact = self.wrapping_rem(other) != 0;
                if inexact && (self < 0) != (other < 0) { cut.wrapping_sub(1) } else { cut }
            }
            fn remainder(self, other: Self) -> Self {
                let cut = self.fmod(other);
                if cut != 0 && (cut < 0) != (other < 0) { cut.wrapping_add(other) } else { cut }
            }
            fn fmod(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_rem(other) }
            }
            fn power(self, other: Self) -> Self {
                if other < 0 {
                    // Negative, so a signed type: 1 / self^|other|, cut towards zero. The parity of a number is that of its negative.
                    return match self {
                        1 => 1,
                        _ if self.wrapping_add(1) == 0 => if other % 2 == 0 { 1 } else { self },
                        _ => 0,
                    };
                }
                let (mut result, mut square, mut exponent): (Self, Self, Self) = (1, self, other);
                while exponent != 0 {
                    if exponent % 2 != 0 {
                        result = result.wrapping_mul(square);
                    }
                    square = square.wrapping_mul(square);
                    exponent /= 2;
                }
                result
            }
        }
        impl Integral for $type {
            fn shift_left(self, other: Self) -> Self {
                if (0..Self::BITS as Self).contains(&other) { self.wrapping_shl(other as u32) } else { 0 }
            }
            fn shift_right(self, other: Self) -> Self {
                if (0..Self::BITS as Self).contains(&other) { self.wrapping_shr(other as u32) } else { 0 }
            }
        }
    )*};
}

integers! {
    i8 i8::wrapping_abs, i8::signum; i16 i16::wrapping_abs, i16::signum;
    i32 i32::wrapping_abs, i32::signum; i64 i64::wrapping_abs, i64::signum;
    u8 same, |x| u8::from(x != 0); u16 same, |x| u16::from(x != 0);
    u32 same, |x| u32::from(x != 0); u64 same, |x| u64::from(x != 0)
}

/// The value itself.
pub(super) fn same<T>(value: T) -> T {
    value
}

macro_rules! floats {
    ($($type:ident),*) => {$(
        impl Arithmetic for $type {
            fn negate(self) -> Self {
                -self
            }
            fn absolute(self) -> Self {
                self.abs()
            }
            fn sign(self) -> Self {
                if self > 0.0 {
                    1.0
                } else if self < 0.0 {
                    -1.0
                } else if self == 0.0 {
                    0.0
                } else {
                    self
                }
            }
            fn add(self, other: Self) -> Self {
                self + other
            }
            fn subtract(self, other: Self) -> Self {
                self - other
            }
            fn multiply(self, other: Self) -> Self {
                self * other
            }
            fn floor_divide(self, other: Self) -> Self {
                if other == 0.0 {
                    return self / other;
                }
                let fmod = self % other;
                let mut quotient = (self - fmod) / other;
                if fmod != 0.0 && (other < 0.0) != (fmod < 0.0) {
                    quotient -= 1.0;
                }
                if quotient == 0.0 {
                    return Self::copysign(0.0, self / other);
                }
                // The quotient is an integer up to the rounding of the division.
                let floor = quotient.floor();
                if quotient - floor > 0.5 { floor + 1.0 } else { floor }
            }
            fn remainder(self, other: Self) -> Self {
                let fmod = self % other;
                if other == 0.0 {
                    fmod
                } else if fmod == 0.0 {
                    Self::copysign(0.0, other)
                } else if (other < 0.0) != (fmod < 0.0) {
                    fmod + other
                } else {
                    fmod
                }
            }
            fn fmod(self, other: Self) -> Self {
                self % other
            }
            fn power(self, other: Self) -> Self {
                self.powf(other)
            }
        }
        impl RealScalar for $type {
            type Pair = Complex<Self>;
            fn complex(self, im: Self) -> Complex<Self> {
                Complex { re: self, im }
            }
            fn divide(self, other: Self) -> Self {
                self / other
            }
            fn round_even(self) -> Self {
                self.round_ties_even()
            }
        }
    )*};
}

floats!(f32, f64);

/// Conversion to another element type.
pub(super) trait CastTo<U> {
    fn cast(self) -> U;
}

macro_rules! casts {
    ($($from:ident)* => $to:tt) => {$(casts!(@from $from $to);)*};
    (@from bool ($($to:ident)*)) => {
        $(impl CastTo<$to> for bool {
            fn cast(self) -> $to {
                u8::from(self) as $to
            }
        })*
        casts!(@bool bool |x| x);
    };
    (@from $from:ident ($($to:ident)*)) => {
        $(impl CastTo<$to> for $from {
            fn cast(self) -> $to {
                self as $to
            }
        })*
        casts!(@bool $from |x| x != 0 as $from);
    };
    (@bool $from:ident |$x:ident| $holds:expr) => {
        impl CastTo<bool> for $from {
            fn cast(self) -> bool {
                let $x = self;
                $holds
            }
        }
    };
}

casts!(bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 => (i8 i16 i32 i64 u8 u16 u32 u64 f32 f64));

pub(super) fn minimum<T: PartialOrd + Copy>(a: T, b: T) -> T {
    if a <= b || is_nan(a) { a } else { b }
}

pub(super) fn maximum<T: PartialOrd + Copy>(a: T, b: T) -> T {
    if a >= b || is_nan(a) { a } else { b }
}

pub(super) fn fmin<T: PartialOrd + Copy>(a: T, b: T) -> T {
    if a <= b || is_nan(b) { a } else { b }
}

pub(super) fn fmax<T: PartialOrd + Copy>(a: T, b: T) -> T {
    if a >= b || is_nan(b) { a } else { b }
}

/// Whether a value of any type is NaN: it does not equal itself.
#[expect(clippy::eq_op, reason = "that is the definition")]
fn is_nan<T: PartialOrd>(value: T) -> bool {
    value != value
}

/// [`crate::expression::Op::Wrap`].
pub(super) fn wrap(index: i64, len: i64) -> i64 {
    if len <= 0 { 0 } else { index.rem_euclid(len) }
}

/// [`crate::expression::Op::Clip`].
pub(super) fn clip(index: i64, len: i64) -> i64 {
    if len <= 0 { 0 } else { index.clamp(0, len - 1) }
}

/// [`crate::expression::Op::Inside`].
pub(super) fn inside(index: i64, len: i64) -> bool {
    (0..len).contains(&index)
}
