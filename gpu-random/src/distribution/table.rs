//! Discrete distributions by a table: a word chooses a column, and one comparison the value.

use std::sync::{Arc, Mutex, PoisonError};

use super::Distribution;
use crate::{RandomError, Result};

/// Most values of a table, as a power of two.
const MOST_BITS: u32 = 16;
/// The greatest variance of a Poisson or binomial distribution that has a table: 4096 columns, which kernels keep in shared memory.
pub(crate) const MOST_VARIANCE: f64 = 80_000.0;
/// Values with less than this share of the most likely one's probability are left out of a Poisson or binomial distribution: 2^-33.
const NEGLIGIBLE: f64 = 1.16e-10;

/// A distribution of integers by their probabilities, for [`Generator::fill_discrete`](crate::Generator::fill_discrete): NumPy's `choice` with `p`,
/// cuRAND's `curandDiscreteDistribution_t`.
///
/// # Formula
/// Each value has a whole number of the 2^32 words, those that its probability gives, rounded by the largest remainder: its probability is met within
/// 2^-32, and one below 2^-33 is 0. A word of the stream makes a value, on the host and on a GPU the same one.
///
/// # Cost
/// The table has 4 bytes for each value, rounded up to a power of two. A fill of device memory copies it there first. Tables of at most 4096 columns
/// are read from shared memory.
///
/// Source: A. J. Walker, "An efficient method for generating discrete random variables with general distributions", ACM TOMS 3(3), 1977,
/// doi:10.1145/355744.355749; the table is made in linear time as by M. D. Vose (1991), here in whole numbers.
///
/// ```
/// use gpu_random::{Discrete, Philox};
/// let loaded_die = Discrete::new(&[0.1, 0.1, 0.1, 0.1, 0.1, 0.5])?;
/// let mut throws = [0; 1000];
/// Philox::new(1).fill_discrete(&mut throws[..], &loaded_die)?;
/// let sixes = throws.iter().filter(|&&throw| throw == 5).count();
/// assert!((400..600).contains(&sixes));
/// # Ok::<(), gpu_random::RandomError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "choice")]
#[doc(alias = "multinomial")]
pub struct Discrete {
    /// The value of the first column.
    base: u32,
    /// There are 2^bits columns.
    bits: u32,
    /// Above the lowest `bits` bits how many words of a column are its own; in these the column whose words the others are.
    columns: Arc<[u32]>,
}

impl Discrete {
    /// The values 0, 1, … with probabilities in the proportion of the weights.
    ///
    /// # Errors
    /// `Weights` for a weight that is negative or not finite, where none is above 0, and for more than 65536 weights.
    pub fn new(weights: &[f64]) -> Result<Self> {
        Self::from(0, weights)
    }

    /// Poisson's distribution.
    ///
    /// # Errors
    /// `Parameter` unless `lambda` is above 0 and at most 80,000.
    pub fn poisson(lambda: f64) -> Result<Self> {
        if !(lambda > 0.0 && lambda <= MOST_VARIANCE) {
            let (distribution, name, range) = ("Poisson, by a table", "lambda", "above 0 and at most 80000");
            return Err(RandomError::Parameter { distribution, name, value: lambda, range });
        }
        made_once((None, lambda.to_bits()), || Self::around(lambda as u32, u32::MAX, |k| lambda / f64::from(k)))
    }

    /// The binomial distribution: successes among `n` trials of probability `p`.
    ///
    /// # Errors
    /// `Parameter` unless `p` is 0 to 1, and the variance `n p (1 - p)` is at most 80,000.
    pub fn binomial(n: u32, p: f64) -> Result<Self> {
        let refuse = |name, value, range| Err(RandomError::Parameter { distribution: "binomial", name, value, range });
        if !(0.0..=1.0).contains(&p) {
            return refuse("p", p, "0 to 1");
        }
        let variance = f64::from(n) * p * (1.0 - p);
        if variance > MOST_VARIANCE {
            return refuse("n p (1 - p)", variance, "at most 80000");
        }
        if p == 1.0 {
            return Self::from(n, &[1.0]);
        }
        let most_likely = ((f64::from(n) + 1.0) * p).floor().min(n.into()) as u32;
        let ratio = |k| f64::from(n - k + 1) / f64::from(k) * (p / (1.0 - p));
        made_once((Some(n), p.to_bits()), || Self::around(most_likely, n, ratio))
    }

    /// The values around the most likely one, up to `last`; `ratio` gives the probability of a value by that of the one before it.
    fn around(most_likely: u32, last: u32, ratio: impl Fn(u32) -> f64) -> Result<Self> {
        let enough = |&(_, probability): &(u32, f64)| probability >= NEGLIGIBLE;
        let next = |&(k, probability): &(u32, f64)| (k < last).then(|| (k + 1, probability * ratio(k + 1)));
        let before = |&(k, probability): &(u32, f64)| (k > 0).then(|| (k - 1, probability / ratio(k)));
        let above = std::iter::successors(Some((most_likely, 1.0)), next).take_while(enough);
        let below = std::iter::successors(Some((most_likely, 1.0)), before).take_while(enough).skip(1);
        let mut weights: Vec<f64> = below.map(|(_, probability)| probability).collect();
        let base = most_likely - weights.len() as u32;
        weights.reverse();
        weights.extend(above.map(|(_, probability)| probability));
        Self::from(base, &weights)
    }

    fn from(base: u32, weights: &[f64]) -> Result<Self> {
        let refuse = |index: Option<usize>, why| Err(RandomError::Weights { index, count: weights.len(), why });
        if let Some(index) = weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0)) {
            return refuse(Some(index), "it is negative or not finite");
        }
        if weights.len() > 1 << MOST_BITS {
            return refuse(None, "there are more than 65536");
        }
        // A sum of finite weights may be infinite.
        let most = weights.iter().copied().fold(0.0, f64::max);
        if most == 0.0 {
            return refuse(None, "none is above 0");
        }
        let weights: Vec<f64> = weights.iter().map(|weight| weight / most).collect();
        let bits = weights.len().next_power_of_two().ilog2().max(1);
        Ok(Self { base, bits, columns: columns(words_of(&weights), bits).into() })
    }
}

/// Trials, and the bits of the probability; or no trials, and the bits of a mean.
type Key = (Option<u32>, u64);

/// Tables that are kept: programs fill with the same parameters again and again, and the table of a mean of 10,000 takes 0.2 ms.
const KEPT: usize = 8;

/// The table of these parameters, which is made unless it is among the last ones.
fn made_once(key: Key, make: impl FnOnce() -> Result<Discrete>) -> Result<Discrete> {
    static LAST: Mutex<Vec<(Key, Discrete)>> = Mutex::new(Vec::new());
    let known = |last: &[(Key, Discrete)]| last.iter().find(|(known, _)| *known == key).map(|(_, table)| table.clone());
    let lock = || LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(table) = known(&lock()) {
        return Ok(table);
    }
    let table = make()?;
    let mut last = lock();
    if last.len() >= KEPT {
        last.remove(0);
    }
    last.push((key, table.clone()));
    Ok(table)
}

/// How many of the 2^32 words each value has.
fn words_of(weights: &[f64]) -> Vec<u64> {
    const ALL: u64 = 1 << 32;
    let sum: f64 = weights.iter().sum();
    let exact = |weight: &f64| weight / sum * ALL as f64;
    let mut words: Vec<u64> = weights.iter().map(|weight| exact(weight) as u64).collect();
    let mut by_rest: Vec<usize> = (0..weights.len()).collect();
    by_rest.sort_by(|&a, &b| exact(&weights[b]).fract().total_cmp(&exact(&weights[a]).fract()).then(a.cmp(&b)));
    // Rounding of the sum may leave a few words too many, too.
    let given: u64 = words.iter().sum();
    for &value in by_rest.iter().cycle().take(ALL.saturating_sub(given) as usize) {
        words[value] += 1;
    }
    let most = (0..words.len()).max_by_key(|&value| words[value]).unwrap_or(0);
    words[most] -= given.saturating_sub(ALL);
    words
}

/// The table of 2^bits columns, in which value i has `words[i]` words.
fn columns(mut words: Vec<u64>, bits: u32) -> Vec<u32> {
    let each = 1u64 << (32 - bits);
    words.resize(1 << bits, 0);
    // A whole column is the other's of itself, so that its own number fits.
    let mut columns: Vec<u32> = (0..1u32 << bits).collect();
    let (mut few, mut many): (Vec<_>, Vec<_>) =
        (0..words.len()).filter(|&i| words[i] != each).partition(|&i| words[i] < each);
    while let (Some(i), Some(&j)) = (few.pop(), many.last()) {
        columns[i] = (words[i] as u32) << bits | j as u32;
        words[j] -= each - words[i];
        if words[j] <= each {
            many.pop();
        }
        if words[j] < each {
            few.push(j);
        }
    }
    columns
}

impl Distribution for Discrete {
    type Value = u32;
    const WORDS: usize = 1;
    const VALUES: usize = 1;
    fn cuda() -> String {
        "gpu_random::Discrete".to_owned()
    }
    fn parameters(&self) -> [u64; 3] {
        [0, self.base.into(), self.bits.into()]
    }
    fn table(&self) -> &[u32] {
        &self.columns
    }
    #[inline(always)]
    fn values(&self, [word, ..]: [u32; 4]) -> [u32; 2] {
        let (column, rest) = (word >> (32 - self.bits), word << self.bits >> self.bits);
        let entry = self.columns[column as usize];
        let is_own = rest < entry >> self.bits;
        [self.base + if is_own { column } else { entry & ((1 << self.bits) - 1) }, 0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many words give each value, counted column by column.
    fn counts(distribution: &Discrete) -> Vec<u64> {
        let mut counts = vec![0; 1 << distribution.bits];
        let each = 1u64 << (32 - distribution.bits);
        for (column, entry) in distribution.columns.iter().enumerate() {
            let own = u64::from(entry >> distribution.bits);
            counts[column] += own;
            counts[(entry & ((1 << distribution.bits) - 1)) as usize] += each - own;
        }
        counts
    }

    #[test]
    fn each_value_has_the_words_of_its_weight() {
        let many: Vec<f64> = (0..3001).map(|i| f64::from(i % 97) * 1e300).collect();
        for weights in [&[1.0][..], &[0.0, 3.0], &[1.0, 1.0], &[1.0, 2.0, 3.0], &[1e-300, 1.0, 0.0, 1e-9], &many] {
            let distribution = Discrete::new(weights).unwrap();
            let most = weights.iter().copied().fold(0.0, f64::max);
            let sum: f64 = weights.iter().map(|weight| weight / most).sum();
            let counts = counts(&distribution);
            assert_eq!(counts.iter().sum::<u64>(), 1 << 32);
            for (i, &count) in counts.iter().enumerate() {
                let want = weights.get(i).map_or(0.0, |weight| weight / most / sum * 4294967296.0);
                assert!((count as f64 - want).abs() < 1.0, "{i} of {}: {count}, {want}", weights.len());
                assert!(want > 0.0 || count == 0, "{i}");
            }
        }
    }

    #[test]
    fn a_word_gives_the_value_that_its_column_says() {
        let distribution = Discrete::new(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        // Every 2^16th word: each value within as many as there are columns.
        let mut counts = [0i64; 8];
        (0..1 << 16).for_each(|word: u32| counts[distribution.values([word << 16, 0, 0, 0])[0] as usize] += 1);
        for (i, &count) in counts.iter().enumerate() {
            let want = if i < 5 { (i as i64 + 1) * 65536 / 15 } else { 0 };
            assert!((count - want).abs() <= 8, "{i}: {count}, {want}");
        }
    }

    #[test]
    fn poisson_and_binomial_have_their_moments() {
        let check = |distribution: Discrete, mean: f64, variance: f64| {
            let counts = counts(&distribution);
            let moment = |of: &dyn Fn(f64) -> f64| -> f64 {
                let value = |i: usize| of(f64::from(distribution.base) + i as f64);
                counts.iter().enumerate().map(|(i, &count)| count as f64 / 4294967296.0 * value(i)).sum()
            };
            let deviation = variance.sqrt();
            let got = moment(&|x| x);
            assert!((got - mean).abs() < 1e-5 * (deviation + 1.0), "mean {got}, {mean}");
            let got = moment(&|x| (x - mean) * (x - mean));
            assert!((got - variance).abs() < 1e-4 * (variance + 0.1), "variance {got}, {variance}");
        };
        for lambda in [1e-3, 0.5, 1.0, 3.5, 10.0, 100.0, 1e4, MOST_VARIANCE] {
            check(Discrete::poisson(lambda).unwrap(), lambda, lambda);
        }
        for (n, p) in
            [(0, 0.5), (1, 0.25), (10, 0.0), (10, 1.0), (40, 0.3), (1000, 0.999), (100_000, 0.5), (u32::MAX, 1e-6)]
        {
            check(Discrete::binomial(n, p).unwrap(), f64::from(n) * p, f64::from(n) * p * (1.0 - p));
        }
        // Tables that are kept are those of their parameters.
        assert_eq!(Discrete::poisson(10.0).unwrap(), Discrete::poisson(10.0).unwrap());
        assert_ne!(Discrete::poisson(0.5).unwrap(), Discrete::binomial(1, 0.5).unwrap());
        assert_ne!(Discrete::binomial(2, 0.5).unwrap(), Discrete::binomial(1, 0.5).unwrap());
        let first = counts(&Discrete::poisson(2.0).unwrap())[0] as f64 / 4294967296.0;
        assert!((first - (-2.0f64).exp()).abs() < 1e-9);
        assert!(Discrete::poisson(MOST_VARIANCE).unwrap().bits <= 12);
    }

    #[test]
    fn what_is_no_distribution_is_an_error() {
        for weights in [&[][..], &[0.0, 0.0], &[1.0, -1.0], &[f64::NAN], &[f64::INFINITY], &[1.0; (1 << 16) + 1]] {
            assert!(matches!(Discrete::new(weights), Err(RandomError::Weights { .. })), "{}", weights.len());
        }
        for lambda in [0.0, -1.0, f64::NAN, 1e5] {
            assert!(matches!(Discrete::poisson(lambda), Err(RandomError::Parameter { .. })));
        }
        for (n, p) in [(10, -0.1), (10, 1.1), (10, f64::NAN), (u32::MAX, 0.5)] {
            assert!(matches!(Discrete::binomial(n, p), Err(RandomError::Parameter { .. })));
        }
    }
}
