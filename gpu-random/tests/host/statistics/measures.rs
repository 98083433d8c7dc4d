//! Statistics of streams, each as the probability of one at least as extreme from a fair source. Both ends are suspicious: near 0 the numbers
//! are not of the distribution, near 1 they are too even.

use super::special::{beyond, chi_square_above, kolmogorov_above};

/// The fit of counts to expected counts. Bins that expect few are joined from the end.
pub fn fit(counts: &[u64], expected: &[f64]) -> f64 {
    let mut bins: Vec<(f64, f64)> = Vec::new();
    for (&count, &want) in counts.iter().zip(expected) {
        match bins.last_mut() {
            Some(last) if last.1 < 8.0 => *last = (last.0 + count as f64, last.1 + want),
            _ => bins.push((count as f64, want)),
        }
    }
    if let [.., before, last] = &mut bins[..]
        && last.1 < 8.0
    {
        *before = (before.0 + last.0, before.1 + last.1);
        bins.pop();
    }
    let statistic: f64 = bins.iter().map(|(got, want)| (got - want).powi(2) / want).sum();
    chi_square_above(statistic, bins.len() as f64 - 1.0)
}

fn even(counts: &[u64]) -> f64 {
    let all: u64 = counts.iter().sum();
    fit(counts, &vec![all as f64 / counts.len() as f64; counts.len()])
}

/// Chi-square of the highest `bits` bits.
pub fn high_bits(words: &[u32], bits: u32) -> f64 {
    let mut counts = vec![0; 1 << bits];
    words.iter().for_each(|word| counts[(word >> (32 - bits)) as usize] += 1);
    even(&counts)
}

/// Chi-square of pairs of neighbours, 8 bits of each.
pub fn serial_pairs(words: &[u32]) -> f64 {
    let mut counts = vec![0; 1 << 16];
    for pair in words.chunks_exact(2) {
        counts[(pair[0] >> 24 << 8 | pair[1] >> 24) as usize] += 1;
    }
    even(&counts)
}

/// Runs above and below the middle (Wald and Wolfowitz).
pub fn runs(words: &[u32]) -> f64 {
    let above = |word: &u32| word >> 31 == 1;
    let high = words.iter().filter(|word| above(word)).count() as f64;
    let n = words.len() as f64;
    let low = n - high;
    let runs = 1.0 + words.windows(2).filter(|pair| above(&pair[0]) != above(&pair[1])).count() as f64;
    let mean = 2.0 * high * low / n + 1.0;
    beyond((runs - mean) / ((mean - 1.0) * (mean - 2.0) / (n - 1.0)).sqrt())
}

/// Gaps between words below an eighth of the range.
pub fn gaps(words: &[u32]) -> f64 {
    const LONGEST: usize = 60;
    let mut counts = vec![0; LONGEST + 1];
    let mut gap = 0;
    for word in words {
        if word >> 29 == 0 {
            counts[gap.min(LONGEST)] += 1;
            gap = 0;
        } else {
            gap += 1;
        }
    }
    let all = counts.iter().sum::<u64>() as f64;
    let of = |gap: usize| if gap < LONGEST { 0.125 * 0.875_f64.powi(gap as i32) } else { 0.875_f64.powi(gap as i32) };
    let expected: Vec<f64> = (0..=LONGEST).map(|gap| all * of(gap)).collect();
    fit(&counts, &expected)
}

/// Marsaglia's birthday spacings: 512 birthdays in 2^24 days, whose spacings repeat as often as Poisson's distribution of mean 2 has it.
pub fn birthday_spacings(words: &[u32]) -> f64 {
    let mut counts = vec![0; 12];
    for year in words.chunks_exact(512) {
        let mut days: Vec<u32> = year.iter().map(|word| word >> 8).collect();
        days.sort_unstable();
        let mut spacings: Vec<u32> = days.windows(2).map(|pair| pair[1] - pair[0]).collect();
        spacings.push(days[0]);
        spacings.sort_unstable();
        let repeated = spacings.windows(2).filter(|pair| pair[0] == pair[1]).count();
        counts[repeated.min(11)] += 1;
    }
    let all = counts.iter().sum::<u64>() as f64;
    fit(&counts, &poisson(2.0, 12, all))
}

/// Expected counts of Poisson's distribution; the last one is of all that is more.
pub fn poisson(lambda: f64, bins: usize, all: f64) -> Vec<f64> {
    // The logarithm, since the probability of 0 may be too small for a number.
    let mut logarithm = -lambda;
    let mut left = 1.0;
    let mut expected = Vec::with_capacity(bins);
    for k in 0..bins - 1 {
        expected.push(all * logarithm.exp());
        left -= logarithm.exp();
        logarithm += (lambda / (k + 1) as f64).ln();
    }
    expected.push(all * f64::max(left, 0.0));
    expected
}

/// Ranks of 64 x 64 matrices of bits.
pub fn ranks(words: &[u32]) -> f64 {
    let mut counts = [0; 4];
    for matrix in words.chunks_exact(128) {
        let mut rows: Vec<u64> =
            matrix.chunks_exact(2).map(|pair| u64::from(pair[0]) << 32 | u64::from(pair[1])).collect();
        counts[(64 - rank(&mut rows)).min(3)] += 1;
    }
    let all = counts.iter().sum::<u64>() as f64;
    // 64 and below, from the product of 1 - 2^-k; larger matrices change the tenth digit.
    let [full, one, two] = [0.288_788_095_1, 0.577_576_190_2, 0.128_350_264_5];
    fit(&counts, &[full, one, two, 1.0 - full - one - two].map(|probability| all * probability))
}

fn rank(rows: &mut [u64]) -> usize {
    let mut rank = 0;
    for bit in 0..64 {
        let Some(pivot) = (rank..rows.len()).find(|&row| rows[row] >> bit & 1 == 1) else { continue };
        rows.swap(rank, pivot);
        for row in rank + 1..rows.len() {
            if rows[row] >> bit & 1 == 1 {
                rows[row] ^= rows[rank];
            }
        }
        rank += 1;
    }
    rank
}

/// Kolmogorov and Smirnov: the distance of values from a distribution function.
pub fn distance(values: &[f64], below: impl Fn(f64) -> f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let farthest = sorted.iter().enumerate().map(|(at, &value)| {
        let p = below(value);
        ((at as f64 + 1.0) / n - p).max(p - at as f64 / n)
    });
    kolmogorov_above(farthest.fold(0.0, f64::max), n)
}

/// The first four moments about `mean`, each as a probability from what it is expected to be and its deviation for one value.
pub fn moments(values: &[f64], mean: f64, want: [(f64, f64); 4]) -> f64 {
    let n = values.len() as f64;
    let each = want.into_iter().enumerate().map(|(power, (expected, deviation))| {
        let got = values.iter().map(|value| (value - mean).powi(power as i32 + 1)).sum::<f64>() / n;
        beyond((got - expected) / deviation * n.sqrt())
    });
    each.fold(1.0, f64::min)
}

/// The largest correlation of two streams of words, side by side and one place apart either way.
pub fn correlation(a: &[u32], b: &[u32]) -> f64 {
    let n = a.len().min(b.len()) - 1;
    let shifts = [(&a[..n], &b[..n]), (&a[1..=n], &b[..n]), (&a[..n], &b[1..=n])];
    let each = shifts.into_iter().map(|(a, b)| {
        let centred = |word: u32| f64::from(word) / 4_294_967_296.0 - 0.5;
        let sum: f64 = a.iter().zip(b).map(|(&a, &b)| centred(a) * centred(b)).sum();
        beyond(12.0 * sum / (n as f64).sqrt())
    });
    each.fold(1.0, f64::min)
}
