//! The element types that reductions take: the accumulators of their sums, and the types of results.

use gpu_array::{Complex, Element, Float, bf16, f16};

use super::moments_state::{Moments, PartMoments};

/// A type that a sum or a product is accumulated in: integers wrap, floats are f64, complex numbers have such parts.
pub trait Accumulator: Copy + Send + Sync + 'static {
    /// The sum of nothing.
    const ZERO: Self;
    /// The product of nothing.
    const ONE: Self;
    /// The sum.
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// The product.
    #[must_use]
    fn times(self, other: Self) -> Self;
}

macro_rules! accumulators {
    ($($T:ty: $zero:expr, $one:expr, $plus:path, $times:path;)*) => {$(
        impl Accumulator for $T {
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                $plus(self, other)
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                $times(self, other)
            }
        }
    )*};
}
accumulators! {
    i64: 0, 1, i64::wrapping_add, i64::wrapping_mul;
    u64: 0, 1, u64::wrapping_add, u64::wrapping_mul;
    f64: 0.0, 1.0, std::ops::Add::add, std::ops::Mul::mul;
    Complex<f64>: Self::new(0.0, 0.0), Self::new(1.0, 0.0), std::ops::Add::add, std::ops::Mul::mul;
}

/// The moments of values `T`: [`Moments`] of real numbers, [`PartMoments`] of complex ones.
pub trait MomentsOf<T: Summand>: Copy + Default + Send + Sync + 'static {
    /// The moments with one value more.
    #[must_use]
    fn with(self, value: T) -> Self;
    /// The moments of the values of both.
    #[must_use]
    fn and(self, other: Self) -> Self;
    /// The moments of values that are few enough to be read twice.
    fn of(run: &[T]) -> Self;
    /// The mean; NaN of no values.
    fn mean(self) -> T::MeanAccumulator;
    /// `sum |x - mean|^2 / (n - ddof)`; NaN unless n > ddof.
    fn variance(self, ddof: u64) -> f64;
}

/// An element type that can be added up: each [`Element`].
///
/// | element | [`Sum`](Self::Sum) | [`Accumulator`](Self::Accumulator) | [`Mean`](Self::Mean) | [`Real`](Self::Real) |
/// |---|---|---|---|---|
/// | `bool`, `i8` to `i64` | `i64` | `i64` | `f64` | `f64` |
/// | `u8` to `u64` | `u64` | `u64` | `f64` | `f64` |
/// | `f16`, `bf16`, `f32`, `f64` | itself | `f64` | itself | itself |
/// | `Complex<f32>`, `Complex<f64>` | itself | `Complex<f64>` | itself | its parts' |
pub trait Summand: Element + Default {
    /// The type of sums and products.
    type Sum: Element + Default;
    /// The type that sums and products are accumulated in.
    type Accumulator: Accumulator;
    /// The type of means.
    type Mean: Element + Default;
    /// The type that means are accumulated in.
    type MeanAccumulator: Accumulator;
    /// The type of variances and norms.
    type Real: Operand;
    /// The state of variances.
    type Moments: MomentsOf<Self>;

    /// The value, ready to be added up.
    fn accumulated(self) -> Self::Accumulator;
    /// The accumulated sum or product, rounded once.
    fn rounded(sum: Self::Accumulator) -> Self::Sum;
    /// The value, ready to be added up for a mean.
    fn of_mean(self) -> Self::MeanAccumulator;
    /// The mean of `count` values with that sum.
    fn mean(sum: Self::MeanAccumulator, count: u64) -> Self::Mean;
    /// The nearest result.
    fn real(value: f64) -> Self::Real;
    /// `|x|`.
    fn magnitude(self) -> Self::Real;
    /// `|x|` in f64; integers beyond 2^53 are rounded.
    fn size(self) -> f64;

    /// Whether it is NaN; of a complex number whether a part is.
    fn is_nan(self) -> bool;

    /// Other than 0; NaN is.
    #[inline(always)]
    fn is_true(self) -> bool {
        self != Self::ZERO
    }
}

/// An element type with an order: each [`Element`] but complex numbers.
pub trait Operand: Summand + PartialOrd {
    /// Not above any other number.
    const LOWEST: Self;
    /// Not below any other number.
    const HIGHEST: Self;
    /// The extreme of nothing but NaN: NaN. 0 for types without it, where nothing needs it.
    const NAN: Self;

    /// The value as f64; integers beyond 2^53 are rounded.
    fn to_f64(self) -> f64;
    /// Whether there are values of the type that are NaN, and zeros of two signs.
    const FLOAT: bool;

    /// The larger, NaN where one is, and 0.0 of 0.0 and -0.0 (IEEE 754-2019, `maximum`).
    #[must_use]
    fn larger(self, other: Self) -> Self;
    /// The smaller, NaN where one is, and -0.0 of 0.0 and -0.0 (IEEE 754-2019, `minimum`).
    #[must_use]
    fn smaller(self, other: Self) -> Self;

    /// Whether arg-max prefers it to `other`, wherever they are: it is above, or the only NaN of both.
    #[inline(always)]
    fn above(self, other: Self) -> bool {
        self > other || (self.is_nan() & !other.is_nan())
    }
    /// Whether arg-min prefers it to `other`.
    #[inline(always)]
    fn below(self, other: Self) -> bool {
        self < other || (self.is_nan() & !other.is_nan())
    }
}

macro_rules! integers {
    ($($T:ident: $Sum:ty, $low:expr, $high:expr;)*) => {$(
        impl Summand for $T {
            type Sum = $Sum;
            type Accumulator = $Sum;
            type Mean = f64;
            type MeanAccumulator = f64;
            type Real = f64;
            type Moments = Moments;
            #[inline(always)]
            fn accumulated(self) -> $Sum {
                self.into()
            }
            #[inline(always)]
            fn rounded(sum: $Sum) -> $Sum {
                sum
            }
            #[inline(always)]
            fn of_mean(self) -> f64 {
                self.to_f64()
            }
            fn mean(sum: f64, count: u64) -> f64 {
                sum / count as f64
            }
            #[inline(always)]
            fn real(value: f64) -> f64 {
                value
            }
            #[inline(always)]
            fn magnitude(self) -> f64 {
                self.to_f64().abs()
            }
            #[inline(always)]
            fn size(self) -> f64 {
                self.to_f64().abs()
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }
        }
        impl Operand for $T {
            const FLOAT: bool = false;
            const LOWEST: Self = $low;
            const HIGHEST: Self = $high;
            const NAN: Self = <Self as Element>::ZERO;
            #[inline(always)]
            fn to_f64(self) -> f64 {
                <$Sum>::from(self) as f64
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                if other > self { other } else { self }
            }
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                if other < self { other } else { self }
            }
        }
    )*};
}
integers! {
    bool: i64, false, true;
    i8: i64, i8::MIN, i8::MAX;
    i16: i64, i16::MIN, i16::MAX;
    i32: i64, i32::MIN, i32::MAX;
    i64: i64, i64::MIN, i64::MAX;
    u8: u64, u8::MIN, u8::MAX;
    u16: u64, u16::MIN, u16::MAX;
    u32: u64, u32::MIN, u32::MAX;
    u64: u64, u64::MIN, u64::MAX;
}

macro_rules! floats {
    ($($T:ident: |$bits:ident| $absolute:expr;)*) => {$(
        impl Summand for $T {
            type Sum = Self;
            type Accumulator = f64;
            type Mean = Self;
            type MeanAccumulator = f64;
            type Real = Self;
            type Moments = Moments;
            #[inline(always)]
            fn accumulated(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn rounded(sum: f64) -> Self {
                Self::rounded_from_f64(sum)
            }
            #[inline(always)]
            fn of_mean(self) -> f64 {
                self.into()
            }
            fn mean(sum: f64, count: u64) -> Self {
                Self::rounded_from_f64(sum / count as f64)
            }
            #[inline(always)]
            fn real(value: f64) -> Self {
                Self::rounded_from_f64(value)
            }
            #[inline(always)]
            fn magnitude(self) -> Self {
                let $bits = self.to_bits();
                Self::from_bits($absolute)
            }
            #[inline(always)]
            fn size(self) -> f64 {
                f64::from(self).abs()
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                self != self
            }
        }
        impl Operand for $T {
            const FLOAT: bool = true;
            const LOWEST: Self = Self::NEG_INFINITY;
            const HIGHEST: Self = Self::INFINITY;
            const NAN: Self = Self::NAN;
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                let larger = if (other > self) | other.is_nan() { other } else { self };
                // Equal numbers have equal bits, but for zeros, of which 0.0 is without the sign.
                if other == self { Self::from_bits(self.to_bits() & other.to_bits()) } else { larger }
            }
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                let smaller = if (other < self) | other.is_nan() { other } else { self };
                if other == self { Self::from_bits(self.to_bits() | other.to_bits()) } else { smaller }
            }
        }
    )*};
}
floats! {
    f16: |bits| bits & 0x7fff;
    bf16: |bits| bits & 0x7fff;
    f32: |bits| bits & 0x7fff_ffff;
    f64: |bits| bits & (u64::MAX >> 1);
}

macro_rules! complex {
    ($($part:ident)*) => {$(
        impl Summand for Complex<$part> {
            type Sum = Self;
            type Accumulator = Complex<f64>;
            type Mean = Self;
            type MeanAccumulator = Complex<f64>;
            type Real = $part;
            type Moments = PartMoments;
            #[inline(always)]
            fn accumulated(self) -> Complex<f64> {
                Complex { re: self.re.into(), im: self.im.into() }
            }
            #[inline(always)]
            fn rounded(sum: Complex<f64>) -> Self {
                Self { re: sum.re as $part, im: sum.im as $part }
            }
            #[inline(always)]
            fn of_mean(self) -> Complex<f64> {
                self.accumulated()
            }
            fn mean(sum: Complex<f64>, count: u64) -> Self {
                Self::rounded(Complex { re: sum.re / count as f64, im: sum.im / count as f64 })
            }
            #[inline(always)]
            fn real(value: f64) -> $part {
                value as $part
            }
            #[inline(always)]
            fn magnitude(self) -> $part {
                self.re.hypot(self.im)
            }
            #[inline(always)]
            fn size(self) -> f64 {
                self.magnitude().into()
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                self != self
            }
        }
    )*};
}
complex! { f32 f64 }
