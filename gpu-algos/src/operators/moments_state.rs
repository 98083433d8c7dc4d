//! The state of variances: the number, the mean and the squares of distances of some values.

use super::operator::sum_of;

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
    pub(super) fn with(self, value: f64) -> Self {
        let origin = if self.count == 0.0 { origin_at(value) } else { self.origin };
        let (count, place) = (self.count + 1.0, 0.5 * value - origin);
        let distance = place - self.offset;
        // A mean that is infinite stays so, unless the other infinity comes, or NaN.
        let offset = if distance.is_finite() { self.offset + distance / count } else { self.offset + place };
        Self { count, origin, offset, squares: self.squares + distance * (place - offset) }
    }

    #[inline(always)]
    pub(super) fn and(self, other: Self) -> Self {
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
    pub(super) fn of_parts<T: Copy>(run: &[T], part: impl Fn(T) -> f64) -> Self {
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

/// The moments of the real and of the imaginary parts of some complex numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartMoments {
    /// Moments of the real parts.
    pub re: Moments,
    /// Moments of the imaginary parts.
    pub im: Moments,
}
