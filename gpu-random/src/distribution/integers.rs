//! Numbers of a range.

use std::{fmt::Debug, marker::PhantomData, ops::Range};

use gpu_driver::DevicePod;

use super::{Distribution, HalfOpen, more_words, sealed, wide};
use crate::{RandomError, Result};

/// A type whose ranges can be filled from: u32, i32, u64, i64, f32 and f64.
#[expect(private_bounds, reason = "sealed")]
pub trait Ranged: DevicePod + Default + Debug + PartialOrd + InRange {}

pub(crate) trait InRange: Sized {
    type Distribution: Distribution<Value = Self>;
    /// The distribution over a range that holds something.
    fn over(range: &Range<Self>) -> Option<Self::Distribution>;
}

/// The distribution over a range.
pub(crate) fn over<T: Ranged>(range: &Range<T>) -> Result<T::Distribution> {
    let empty = || RandomError::EmptyRange { distribution: "uniform over a range", range: format!("{range:?}") };
    T::over(range).ok_or_else(empty)
}

/// Integers `base + k` for `k` below `span`, of 2 words for types of 32 bits, and of 4 for those of 64.
///
/// The high word of `span` times 64 random bits; where the low word is less than `2^64 mod span`, other bits are drawn, so that no value is
/// more likely than another. Source: D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019,
/// doi:10.1145/3230636.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Integers<T> {
    base: u64,
    span: u64,
    _value: PhantomData<T>,
}

impl<T> Integers<T> {
    fn draw(&self, words: [u32; 4]) -> u64 {
        let mut bits = wide(words);
        let threshold = self.span.wrapping_neg() % self.span;
        for attempt in 0.. {
            let product = u128::from(bits) * u128::from(self.span);
            if product as u64 >= threshold {
                return self.base.wrapping_add((product >> 64) as u64);
            }
            bits = wide(more_words(words, attempt));
        }
        self.base
    }
}

macro_rules! integers {
    ($($type:ident, $words:literal;)*) => {$(
        impl Distribution for Integers<$type> {
            type Value = $type;
            const WORDS: usize = $words;
            const VALUES: usize = 1;
            fn cuda() -> String {
                format!("gpu_random::Integers<{}>", <$type as DevicePod>::CUDA_NAME)
            }
            fn parameters(&self) -> [u64; 3] {
                [self.base, self.span, self.span.wrapping_neg() % self.span]
            }
            #[inline]
            fn values(&self, words: [u32; 4]) -> [$type; 2] {
                [self.draw(words) as $type, 0]
            }
        }
        impl InRange for $type {
            type Distribution = Integers<$type>;
            fn over(range: &Range<Self>) -> Option<Integers<$type>> {
                let (base, end) = (range.start as u64, range.end as u64);
                (range.start < range.end).then(|| Integers { base, span: end.wrapping_sub(base), _value: PhantomData })
            }
        }
        impl Ranged for $type {}
    )*};
}
integers! { u32, 2; i32, 2; u64, 4; i64, 4; }

macro_rules! floats {
    ($($type:ident)*) => {$(
        impl InRange for $type {
            type Distribution = HalfOpen<$type>;
            fn over(range: &Range<Self>) -> Option<HalfOpen<$type>> {
                let (low, width) = (range.start, range.end - range.start);
                let most = sealed::Real::below(range.end);
                (range.start < range.end && width.is_finite()).then_some(HalfOpen { low, width, most })
            }
        }
        impl Ranged for $type {}
    )*};
}
floats! { f32 f64 }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_range_are_reached_and_not_passed() {
        let dice = over(&(1..7_u32)).unwrap();
        assert_eq!(
            dice.values([0, 0, 0, 0])[0],
            dice.values(more_words([0; 4], 0))[0],
            "0 of 2^64 mod 6 = 4 is drawn again"
        );
        assert_eq!([dice.values([4, 0, 0, 0])[0], dice.values([!0; 4])[0]], [1, 6]);
        let all = over(&(i64::MIN..i64::MAX)).unwrap();
        assert_eq!(all.values([!0; 4])[0], i64::MAX - 1);
        assert_eq!(over(&(-3..-2_i32)).unwrap().values([77; 4])[0], -3);
        assert_eq!(over(&(-1.0..0.5_f64)).unwrap().values([0; 4])[0], -1.0);
    }

    #[test]
    fn rejected_bits_are_drawn_again() {
        // 2^63 + 1 values: every second draw is rejected.
        let half = over(&(0..(1_u64 << 63) + 1)).unwrap();
        let mut again = 0;
        for low in 0..200_u32 {
            let words = [low.wrapping_mul(0x9e37_79b9), low.wrapping_mul(0x85eb_ca6b), low, 7];
            let first = ((u128::from(wide(words)) * ((1 << 63) + 1)) >> 64) as u64;
            again += u32::from(half.values(words)[0] != first);
        }
        assert!((60..140).contains(&again), "{again}");
    }

    #[test]
    fn ranges_without_a_value_are_errors() {
        for (start, end) in [(5, 5), (5, 4)] {
            let range = Range { start, end };
            assert!(matches!(over(&range).map(drop), Err(RandomError::EmptyRange { .. })), "{range:?}");
        }
        for range in [(0.0..f64::NAN), (f64::NAN..1.0), (0.0..f64::INFINITY), (-f64::MAX..f64::MAX), (1.0..1.0)] {
            assert!(matches!(over(&range).map(drop), Err(RandomError::EmptyRange { .. })), "{range:?}");
        }
    }
}
