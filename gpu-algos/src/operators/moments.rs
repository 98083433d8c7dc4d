//! Variances.

use std::marker::PhantomData;

use gpu_array::Complex;

use super::{
    operand::{Operand, Summand},
    operator::{Operator, Places, RUN, sum_of},
};

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

/// The mean and the variance of some values, as distances from one of them: far from 0 the difference of the means of two parts
/// would lose its leading digits. Halves of distances, since that between two finite values may be infinite: values
/// below 2^-1021 lose their last bit. The sum of many distances may still be infinite, where the mean of finite values then is, as NumPy's.
///
/// Sources: B. P. Welford, Technometrics 4 (1962) 419, for one value; T. F. Chan, G. H. Golub, R. J. LeVeque, The American Statistician 37 (1983)
/// 242, for two sets. The kernels have the same structure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// The number of values.
    pub count: f64,
    /// Half of one of them, or 0 where that is not finite.
    pub origin: f64,
    /// Half of the mean, less the origin. Infinite, or NaN, where the mean is.
    pub offset: f64,
    /// `sum (x - mean)^2 / 4`.
    pub squares: f64,
}

/// Half of a value, or 0 for one that is not finite.
#[inline(always)]
fn origin_at(value: f64) -> f64 {
    if value.is_finite() { 0.5 * value } else { 0.0 }
}

impl Moments {
    /// The mean; NaN of no values.
    #[inline(always)]
    pub fn mean(self) -> f64 {
        if self.count > 0.0 { 2.0 * (self.origin + self.offset) } else { f64::NAN }
    }

    /// `sum (x - mean)^2 / (n - ddof)`; NaN unless n > ddof.
    pub fn variance(self, ddof: u64) -> f64 {
        let freedom = self.count - ddof as f64;
        if freedom > 0.0 { 4.0 * (self.squares / freedom) } else { f64::NAN }
    }

    #[inline(always)]
    fn with(self, value: f64) -> Self {
        let origin = if self.count == 0.0 { origin_at(value) } else { self.origin };
        let (count, place) = (self.count + 1.0, 0.5 * value - origin);
        let distance = place - self.offset;
        // A mean that is infinite stays so, unless the other infinity comes, or NaN.
        let offset = if distance.is_finite() { self.offset + distance / count } else { self.offset + place };
        Self { count, origin, offset, squares: self.squares + distance * (place - offset) }
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        if self.count == 0.0 || other.count == 0.0 {
            return if self.count == 0.0 { other } else { self };
        }
        let count = self.count + other.count;
        let share = other.count / count;
        let distance = (other.origin - self.origin) + (other.offset - self.offset);
        let squares = self.squares + other.squares + distance * distance * self.count * share;
        if !(self.offset.is_finite() && other.offset.is_finite()) {
            return Self { count, origin: self.origin, offset: self.offset + other.offset, squares };
        }
        // The mean stays a distance from the nearer origin.
        let from_self = self.offset + distance * share;
        let from_other = other.offset - distance * (self.count / count);
        let (origin, offset) = match from_self.abs() <= from_other.abs() {
            true => (self.origin, from_self),
            false => (other.origin, from_other),
        };
        Self { count, origin, offset, squares }
    }

    /// The moments of a part of each value of a run that is short enough to be read twice.
    #[inline(always)]
    fn of_parts<T: Copy>(run: &[T], part: impl Fn(T) -> f64) -> Self {
        let count = run.len() as f64;
        let origin = run.first().map_or(0.0, |&first| origin_at(part(first)));
        let offset = sum_of(run, |x: T| 0.5 * part(x) - origin) / count;
        let squares = sum_of(run, |x: T| {
            let distance = (0.5 * part(x) - origin) - offset;
            distance * distance
        });
        Self { count, origin, offset, squares }
    }
}

impl<T: Operand<MeanAccumulator = f64>> MomentsOf<T> for Moments {
    #[inline(always)]
    fn with(self, value: T) -> Self {
        self.with(value.to_f64())
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self.and(other)
    }
    #[inline(always)]
    fn of(run: &[T]) -> Self {
        Self::of_parts(run, T::to_f64)
    }
    fn mean(self) -> f64 {
        self.mean()
    }
    fn variance(self, ddof: u64) -> f64 {
        self.variance(ddof)
    }
}

/// The moments of the real and of the imaginary parts of some complex numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartMoments {
    /// Moments of the real parts.
    pub re: Moments,
    /// Moments of the imaginary parts.
    pub im: Moments,
}

impl<T: Summand<MeanAccumulator = Complex<f64>>> MomentsOf<T> for PartMoments {
    #[inline(always)]
    fn with(self, value: T) -> Self {
        let Complex { re, im } = value.of_mean();
        Self { re: self.re.with(re), im: self.im.with(im) }
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self { re: self.re.and(other.re), im: self.im.and(other.im) }
    }
    #[inline(always)]
    fn of(run: &[T]) -> Self {
        let (re, im) = (Moments::of_parts(run, |x| x.of_mean().re), Moments::of_parts(run, |x| x.of_mean().im));
        Self { re, im }
    }
    fn mean(self) -> Complex<f64> {
        Complex { re: self.re.mean(), im: self.im.mean() }
    }
    fn variance(self, ddof: u64) -> f64 {
        let squares = self.re.squares + self.im.squares;
        Moments { squares, ..self.re }.variance(ddof)
    }
}

macro_rules! spreads {
    ($($(#[$doc:meta])* $Name:ident -> $Output:ty, $name:literal, |$moments:ident, $ddof:ident| $finish:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $Name<T> {
            /// The number that is taken from `n` in the divisor.
            pub ddof: u64,
            element: PhantomData<fn() -> T>,
        }

        impl<T> $Name<T> {
            /// With the divisor `n - ddof`.
            pub const fn new(ddof: u64) -> Self {
                Self { ddof, element: PhantomData }
            }
        }
        impl<T> Clone for $Name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $Name<T> {}

        impl<T: Summand> Operator for $Name<T> {
            type Value = T;
            type State = T::Moments;
            type Output = $Output;
            const NAME: &'static str = $name;
            const COMMUTATIVE: bool = true;
            #[inline(always)]
            fn identity(&self) -> T::Moments {
                T::Moments::default()
            }
            #[inline(always)]
            fn take(&self, state: T::Moments, value: T, _: i64) -> T::Moments {
                state.with(value)
            }
            #[inline(always)]
            fn combine(&self, earlier: T::Moments, later: T::Moments) -> T::Moments {
                earlier.and(later)
            }
            fn finalize(&self, $moments: T::Moments, _: u64) -> Option<$Output> {
                let $ddof = self.ddof;
                Some($finish)
            }
            #[inline(always)]
            fn take_run(&self, state: T::Moments, values: &[T], _: Places) -> T::Moments {
                values.chunks(RUN).fold(state, |moments, run| moments.and(T::Moments::of(run)))
            }
        }
    )*};
}
spreads! {
    /// `sum |x - mean|^2 / (n - ddof)`; NaN where `n <= ddof`, or where a value is not finite; infinite where a square of a distance is. In f64 and
    /// in one pass over memory, around values of the array, so that nothing cancels: the relative error is that of rounding, some `sqrt(n)` times
    /// 1e-16, wherever the values lie. A float gives its own type, a complex number that of its parts, all other types f64.
    Variance -> T::Real, "variance", |moments, ddof| T::real(moments.variance(ddof));
    /// The root of the [`Variance`].
    StandardDeviation -> T::Real, "standard deviation", |moments, ddof| T::real(moments.variance(ddof).sqrt());
    /// The mean (NaN of no values; NumPy's infinity or NaN where values are not finite) and the [`Variance`], in one pass over memory. The error of
    /// the mean is about 1e-15 times the greatest absolute value.
    MeanVariance -> (T::Mean, T::Real), "mean and variance", |moments, ddof| {
        (T::mean(moments.mean(), 1), T::real(moments.variance(ddof)))
    };
}
