//! How random words become numbers: pure functions, the same on the host and in `device/distributions.cuh`.
//!
//! Integers and uniform numbers have the same bits everywhere, but for Poisson numbers of a mean above 80,000: a candidate
//! for these is accepted by logarithms, so that one in very many may be another one on another machine. Numbers that take
//! logarithms, sines or exponentials have the bits of the machine's functions. The host and an H200 differ at most by these units of the last place
//! (ulp; in parentheses the largest difference among 2^24 numbers of each):
//!
//! | | f32 | f64 |
//! |---|---|---|
//! | standard normal `z`, of `max(1, abs(z))` | 32 (25) | 8 (2.3) |
//! | log-normal `x` of deviation `s`, of `x * max(1, s * abs(z))` | 34 (25) | 10 (4.7) |
//! | exponential, of the number | 2 (1) | 2 (1) |
//!
//! They are not the same bits because the device's are cuRAND's, which come from CUDA's `logf` and `log`, from `sincospi`, and in f32 from the
//! multiprocessor's own sine and cosine (`__sincosf`). For these NVIDIA publishes bounds of the error and no algorithm that a host could repeat.
//! Functions that both sides can repeat would give other numbers than cuRAND. The 25 ulp are the absolute error of `__sincosf`, multiplied by
//! the radius. A program that needs the same bits on both sides makes uniform numbers or [`Discrete`] ones, or fills on one side and copies.

mod discrete;
pub(crate) mod integers;
mod normal;
mod table;
mod uniform;

use gpu_driver::DevicePod;

use crate::philox::philox4x32;

pub use discrete::MOST_EXPECTED;
pub use integers::Ranged;
pub use normal::{normal_f32, normal_f64};
pub use table::Discrete;
pub use uniform::{half_open_f32, half_open_f64, uniform_f32, uniform_f64};

pub(crate) use discrete::{Bernoulli, LargePoisson, RandomBits};
pub(crate) use normal::{LogNormal, Normal};
pub(crate) use table::MOST_VARIANCE;
pub(crate) use uniform::{Exponential, HalfOpen, Uniform};

/// How the words of a turn become values. The kernels have a structure of the same name, made of the same parameters.
pub(crate) trait Distribution: Clone + Send + Sync + 'static {
    /// The type of a value.
    type Value: DevicePod + Default;
    /// Words that a turn takes: 1, 2 or 4.
    const WORDS: usize;
    /// Values that it gives: 1 or 2.
    const VALUES: usize;

    /// The structure in C++, such as `gpu_random::Uniform<float>`.
    fn cuda() -> String;

    /// The parameters, as the kernels take them. If there is a table, the first one stands for its address.
    fn parameters(&self) -> [u64; 3];

    /// The table that goes with the parameters; most distributions have none.
    fn table(&self) -> &[u32] {
        &[]
    }

    /// The values of a turn, of which the first [`Distribution::VALUES`] count; likewise the first [`Distribution::WORDS`] words, the
    /// others are 0.
    fn values(&self, words: [u32; 4]) -> [Self::Value; 2];
}

/// A type of random real numbers: f32 or f64.
pub trait Real: gpu_array::Float + DevicePod + Default + sealed::Real {}
impl Real for f32 {}
impl Real for f64 {}

pub(crate) mod sealed {
    /// The operations on a float type that the distributions need.
    pub trait Real: Sized {
        /// Words of a uniform number.
        const WORDS: usize;
        fn uniform(words: [u32; 4]) -> Self;
        fn half_open(words: [u32; 4]) -> Self;
        fn normal(words: [u32; 4]) -> [Self; 2];
        fn wide(self) -> f64;
        fn narrow(value: f64) -> Self;
        /// The greatest value below this one, which is finite.
        fn below(self) -> Self;
    }
}

macro_rules! real {
    ($type:ident, $words:literal, $uniform:expr, $half_open:expr, $normal:expr) => {
        impl sealed::Real for $type {
            const WORDS: usize = $words;
            #[inline(always)]
            fn uniform(words: [u32; 4]) -> Self {
                $uniform(words)
            }
            #[inline(always)]
            fn half_open(words: [u32; 4]) -> Self {
                $half_open(words)
            }
            #[inline(always)]
            fn normal(words: [u32; 4]) -> [Self; 2] {
                $normal(words)
            }
            fn wide(self) -> f64 {
                self.into()
            }
            fn narrow(value: f64) -> Self {
                value as $type
            }
            fn below(self) -> Self {
                self.next_down()
            }
        }
    };
}
real!(f32, 1, |[x, ..]: [u32; 4]| uniform_f32(x), |[x, ..]: [u32; 4]| half_open_f32(x), |[x, y, ..]: [u32; 4]| {
    normal_f32(x, y)
});
real!(f64, 2, |[x, y, ..]: [u32; 4]| uniform_f64(x, y), |[x, y, ..]: [u32; 4]| half_open_f64(x, y), normal_f64);

/// Further words for a value whose own were not enough: a function of these and of how many times it asked.
fn more_words(words: [u32; 4], attempt: u32) -> [u32; 4] {
    philox4x32([words[2], words[3], attempt, 0x5eed], [words[0], words[1]])
}

/// The words of a value as one number.
fn wide([low, high, ..]: [u32; 4]) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}
