//! Words themselves, coins, and Poisson's distribution.

use super::{
    Distribution, more_words,
    uniform::{half_open_f64, uniform_f64},
};
use crate::{RandomError, Result};

/// The words themselves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RandomBits;

impl Distribution for RandomBits {
    type Value = u32;
    const WORDS: usize = 1;
    const VALUES: usize = 1;
    fn cuda() -> String {
        "gpu_random::Bits".to_owned()
    }
    fn parameters(&self) -> [u64; 3] {
        [0; 3]
    }
    #[inline(always)]
    fn values(&self, [x, ..]: [u32; 4]) -> [u32; 2] {
        [x, 0]
    }
}

/// 1 with that probability, else 0: whether 53 bits are below it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bernoulli {
    probability: f64,
}

impl Bernoulli {
    pub(crate) fn new(probability: f64) -> Result<Self> {
        if (0.0..=1.0).contains(&probability) {
            return Ok(Self { probability });
        }
        let (distribution, name, range) = ("Bernoulli", "probability", "0 to 1");
        Err(RandomError::Parameter { distribution, name, value: probability, range })
    }
}

impl Distribution for Bernoulli {
    type Value = u8;
    const WORDS: usize = 2;
    const VALUES: usize = 1;
    fn cuda() -> String {
        "gpu_random::Bernoulli".to_owned()
    }
    fn parameters(&self) -> [u64; 3] {
        [self.probability.to_bits(), 0, 0]
    }
    #[inline(always)]
    fn values(&self, [x, y, ..]: [u32; 4]) -> [u8; 2] {
        [u8::from(half_open_f64(x, y) < self.probability), 0]
    }
}

/// The greatest expected value of a Poisson distribution.
pub const MOST_EXPECTED: f64 = 1e9;
/// The least expected value of the transformed rejection.
const LEAST_EXPECTED: f64 = 10.0;

/// Poisson's distribution of an expected value for which no table is made, all in f64, by transformed rejection with squeeze (PTRS). A value takes two
/// words of the stream; further ones are a function of these.
///
/// Source: W. Hörmann, "The transformed rejection method for generating Poisson random variables", Insurance: Mathematics and Economics
/// 12(1), 1993, doi:10.1016/0167-6687(93)90997-4.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LargePoisson {
    lambda: f64,
    ln_lambda: f64,
    root: f64,
}

impl LargePoisson {
    pub(crate) fn new(lambda: f64) -> Result<Self> {
        if (LEAST_EXPECTED..=MOST_EXPECTED).contains(&lambda) {
            return Ok(Self { lambda, ln_lambda: lambda.ln(), root: lambda.sqrt() });
        }
        let (distribution, name, range) = ("Poisson", "lambda", "above 0 and at most 1e9");
        Err(RandomError::Parameter { distribution, name, value: lambda, range })
    }

    fn by_rejection(&self, words: [u32; 4]) -> u32 {
        let b = 0.931 + 2.53 * self.root;
        let a = -0.059 + 0.02483 * b;
        let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
        let squeeze = 0.9277 - 3.6224 / (b - 2.0);
        for attempt in 0.. {
            let [w, x, y, z] = more_words(words, attempt);
            let (u, v) = (uniform_f64(w, x) - 0.5, uniform_f64(y, z));
            let from_edge = 0.5 - u.abs();
            let count = ((2.0 * a / from_edge + b) * u + self.lambda + 0.43).floor();
            if from_edge >= 0.07 && v <= squeeze {
                return count as u32;
            }
            if count < 0.0 || (from_edge < 0.013 && v > from_edge) {
                continue;
            }
            let height = (v * inverse_alpha / (a / (from_edge * from_edge) + b)).ln();
            if height <= count * self.ln_lambda - self.lambda - ln_factorial(count) {
                return count as u32;
            }
        }
        0
    }
}

/// The logarithm of `k!`: of the product below 10, else Stirling's series, whose error is less than 1e-12.
fn ln_factorial(k: f64) -> f64 {
    if k < 10.0 {
        let mut product = 1.0;
        let mut factor = 2.0;
        while factor <= k {
            product *= factor;
            factor += 1.0;
        }
        return product.ln();
    }
    let inverse = 1.0 / k;
    let square = inverse * inverse;
    let series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)));
    (k + 0.5) * k.ln() - k + 0.918_938_533_204_672_8 + series
}

impl Distribution for LargePoisson {
    type Value = u32;
    const WORDS: usize = 2;
    const VALUES: usize = 1;
    fn cuda() -> String {
        "gpu_random::LargePoisson".to_owned()
    }
    fn parameters(&self) -> [u64; 3] {
        [self.lambda, self.ln_lambda, self.root].map(f64::to_bits)
    }
    fn values(&self, words: [u32; 4]) -> [u32; 2] {
        [self.by_rejection(words), 0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_of_factorials() {
        let mut want = 0.0;
        for k in 1..200 {
            want += f64::from(k).ln();
            let got = ln_factorial(k.into());
            assert!((got - want).abs() < 1e-11, "{k}: {got}, {want}");
        }
        assert_eq!(ln_factorial(0.0), 0.0);
    }

    #[test]
    fn certain_coins() {
        let never = Bernoulli::new(0.0).unwrap();
        let always = Bernoulli::new(1.0).unwrap();
        assert_eq!([never.values([0; 4])[0], always.values([!0; 4])[0]], [0, 1]);
    }

    #[test]
    fn parameters_outside_their_range_are_errors() {
        for p in [-0.1, 1.1, f64::NAN] {
            assert!(matches!(Bernoulli::new(p), Err(RandomError::Parameter { .. })));
        }
        for lambda in [0.0, -1.0, f64::NAN, f64::INFINITY, 2e9] {
            assert!(matches!(LargePoisson::new(lambda), Err(RandomError::Parameter { .. })));
        }
    }
}
