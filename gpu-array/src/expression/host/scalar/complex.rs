//! The operations on complex numbers: the definitions of [`crate::Numeric`], in Rust.

pub(in crate::expression::host) mod functions;
mod power;

use num_complex::Complex;

use super::{CastTo, RealScalar};
use crate::{
    element::{c64, c128},
    expression::host::lane::Lane,
};

/// The operations of complex numbers.
pub(in crate::expression::host) trait ComplexScalar: Lane {
    type Part: RealScalar + Lane;
    fn part(self, imaginary: bool) -> Self::Part;
    fn negate(self) -> Self;
    fn conj(self) -> Self;
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    fn divide(self, other: Self) -> Self;
    fn power(self, exponent: Self) -> Self;
    /// A function of [`functions`].
    fn apply(self, function: impl Fn(Complex<Self::Part>) -> Complex<Self::Part>) -> Self;
}

impl<T: RealScalar + Lane + num_traits::Num> ComplexScalar for Complex<T>
where
    Self: Lane,
{
    type Part = T;
    fn part(self, imaginary: bool) -> T {
        if imaginary { self.im } else { self.re }
    }
    fn negate(self) -> Self {
        Self { re: -self.re, im: -self.im }
    }
    fn conj(self) -> Self {
        Self { re: self.re, im: -self.im }
    }
    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
    fn subtract(self, other: Self) -> Self {
        Self { re: self.re - other.re, im: self.im - other.im }
    }
    fn multiply(self, other: Self) -> Self {
        let (a, b) = (self, other);
        Self { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
    }
    fn divide(self, other: Self) -> Self {
        let (a, b) = (self, other);
        let (re, im) = (b.re.abs(), b.im.abs());
        if re.is_zero() && im.is_zero() {
            return Self { re: a.re / re, im: a.im / re };
        }
        if re >= im {
            let ratio = b.im / b.re;
            let scale = T::one() / (b.re + b.im * ratio);
            Self { re: (a.re + a.im * ratio) * scale, im: (a.im - a.re * ratio) * scale }
        } else {
            let ratio = b.re / b.im;
            let scale = T::one() / (b.im + b.re * ratio);
            Self { re: (a.re * ratio + a.im) * scale, im: (a.im * ratio - a.re) * scale }
        }
    }
    fn power(self, exponent: Self) -> Self {
        power::power(self, exponent, Self::multiply, Self::divide)
    }
    fn apply(self, function: impl Fn(Self) -> Self) -> Self {
        function(self)
    }
}

/// Casts between a type and the two complex ones.
macro_rules! casts {
    ($($real:ident)*) => {$(casts!(@to $real); casts!(@from $real c64 c128);)*};
    (@to $from:ident) => {
        impl CastTo<c64> for $from {
            fn cast(self) -> c64 {
                c64 { re: self.cast(), im: 0.0 }
            }
        }
        impl CastTo<c128> for $from {
            fn cast(self) -> c128 {
                c128 { re: self.cast(), im: 0.0 }
            }
        }
    };
    (@from $to:ident $($complex:ident)*) => {
        $(impl CastTo<$to> for $complex {
            fn cast(self) -> $to {
                self.re.cast()
            }
        })*
    };
    (@parts $($from:ident $to:ident)*) => {
        $(impl CastTo<$to> for $from {
            fn cast(self) -> $to {
                $to { re: self.re.cast(), im: self.im.cast() }
            }
        })*
    };
    (@bool $($complex:ident)*) => {
        $(impl CastTo<bool> for $complex {
            fn cast(self) -> bool {
                self.re != 0.0 || self.im != 0.0
            }
        })*
    };
}

casts! { i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 }
casts!(@to bool);
casts!(@bool c64 c128);
casts!(@parts c64 c64 c64 c128 c128 c64 c128 c128);
