//! Uniform and exponential numbers.

use gpu_driver::DevicePod;

use super::{Distribution, Real};

const TO_MINUS_32: f32 = 1.0 / 4_294_967_296.0;
const TO_MINUS_53: f64 = 1.0 / 9_007_199_254_740_992.0;

/// A number in (0, 1], as cuRAND makes it: `x 2^-32 + 2^-33`, where `x` is rounded to an f32 first.
#[inline(always)]
pub fn uniform_f32(x: u32) -> f32 {
    x as f32 * TO_MINUS_32 + TO_MINUS_32 / 2.0
}

/// A number in (0, 1], as cuRAND makes it: `z 2^-53 + 2^-54` with the 53 bits `z = x ^ (y << 21)`.
#[inline(always)]
pub fn uniform_f64(x: u32, y: u32) -> f64 {
    (u64::from(x) ^ u64::from(y) << 21) as f64 * TO_MINUS_53 + TO_MINUS_53 / 2.0
}

/// A number in [0, 1): the highest 24 bits, a multiple of 2^-24.
#[inline(always)]
pub fn half_open_f32(x: u32) -> f32 {
    (x >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// A number in [0, 1): the 53 bits `x ^ (y << 21)`, a multiple of 2^-53.
#[inline(always)]
pub fn half_open_f64(x: u32, y: u32) -> f64 {
    (u64::from(x) ^ u64::from(y) << 21) as f64 * TO_MINUS_53
}

/// Uniform in (0, 1].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Uniform<T>(pub(crate) std::marker::PhantomData<T>);

impl<T: Real> Distribution for Uniform<T> {
    type Value = T;
    const WORDS: usize = T::WORDS;
    const VALUES: usize = 1;
    fn cuda() -> String {
        format!("gpu_random::Uniform<{}>", <T as DevicePod>::CUDA_NAME)
    }
    fn parameters(&self) -> [u64; 3] {
        [0; 3]
    }
    #[inline(always)]
    fn values(&self, words: [u32; 4]) -> [T; 2] {
        [T::uniform(words), T::default()]
    }
}

/// Uniform in [low, high): `low + width u` with `u` in [0, 1), and `most`, the greatest number below `high`, where that rounds up to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HalfOpen<T> {
    pub(crate) low: T,
    pub(crate) width: T,
    pub(crate) most: T,
}

impl<T: Real> Distribution for HalfOpen<T> {
    type Value = T;
    const WORDS: usize = T::WORDS;
    const VALUES: usize = 1;
    fn cuda() -> String {
        format!("gpu_random::HalfOpen<{}>", <T as DevicePod>::CUDA_NAME)
    }
    fn parameters(&self) -> [u64; 3] {
        [self.low, self.width, self.most].map(|value| value.wide().to_bits())
    }
    #[inline(always)]
    fn values(&self, words: [u32; 4]) -> [T; 2] {
        let value = self.low + self.width * T::half_open(words);
        [if value > self.most { self.most } else { value }, T::default()]
    }
}

/// Exponential with mean `mean`: `-mean ln(u)` with `u` in (0, 1].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exponential<T> {
    pub(crate) mean: T,
}

impl<T: Real> Distribution for Exponential<T> {
    type Value = T;
    const WORDS: usize = T::WORDS;
    const VALUES: usize = 1;
    fn cuda() -> String {
        format!("gpu_random::Exponential<{}>", <T as DevicePod>::CUDA_NAME)
    }
    fn parameters(&self) -> [u64; 3] {
        [self.mean.wide().to_bits(), 0, 0]
    }
    #[inline(always)]
    fn values(&self, words: [u32; 4]) -> [T; 2] {
        // 0 - x: no negative zero for u = 1.
        [(T::zero() - T::uniform(words).ln()) * self.mean, T::default()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_ranges() {
        assert_eq!((uniform_f32(0), uniform_f32(u32::MAX)), (0.5_f32.powi(33), 1.0));
        assert_eq!(
            (uniform_f64(0, 0), uniform_f64(u32::MAX, 0)),
            (0.5_f64.powi(54), (4_294_967_295.0 + 0.5) * TO_MINUS_53)
        );
        assert_eq!(uniform_f64(0x1f_ffff, u32::MAX), 1.0);
        assert_eq!((half_open_f32(255), half_open_f32(u32::MAX)), (0.0, 1.0 - 0.5_f32.powi(24)));
        assert_eq!((half_open_f64(0, 0), half_open_f64(0x1f_ffff, u32::MAX)), (0.0, 1.0 - TO_MINUS_53));
    }

    #[test]
    fn rounding_never_leaves_a_range() {
        let (low, high) = (1.0e8_f32, 1.0e8_f32 + 8.0);
        let range = HalfOpen { low, width: high - low, most: high.next_down() };
        for x in [0, 1 << 31, u32::MAX] {
            let [got, _] = range.values([x, 0, 0, 0]);
            assert!((low..high).contains(&got), "{got}");
        }
    }
}
