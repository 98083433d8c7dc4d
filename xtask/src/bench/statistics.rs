//! Medians, and intervals that assume nothing of how times are distributed.

/// Confidence that an interval must have before anything is judged by it.
pub(super) const CONFIDENCE: f64 = 0.95;

/// A relative change as a factor (1.2: 20 % more time), and the interval in which it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change {
    pub(crate) estimate: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Probability with which such an interval holds the true change.
    pub(crate) confidence: f64,
}

impl Change {
    /// Half the interval's width, as a part of one.
    pub(crate) fn half_width(&self) -> f64 {
        ((self.high / self.low).ln() / 2.0).exp_m1()
    }
}

/// NaN of nothing.
pub(crate) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// `(largest - smallest) / median`; 0 for fewer than two numbers.
pub(crate) fn spread(numbers: &[f64]) -> f64 {
    let (low, high) = numbers.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &x| (l.min(x), h.max(x)));
    if numbers.len() < 2 { 0.0 } else { (high - low) / median(numbers) }
}

/// The change from `base` to `this` over rounds in which both were measured: the median of the rounds' ratios, with the interval of
/// the sign test (order statistics of the ratios; Conover, Practical Nonparametric Statistics, 1999, section 3.2). A disturbance that slows a whole
/// round down cancels. `None` for no rounds, and when a time is not positive.
pub(crate) fn paired(this: &[f64], base: &[f64]) -> Option<Change> {
    let ratios = this.iter().zip(base).map(|(this, base)| (this / base).ln()).collect();
    let n = this.len().min(base.len());
    from_sorted(ratios, &sign_counts(n))
}

/// The change from `base` to `this` where the rounds of the two have nothing to do with each other: the median of all ratios, with the
/// interval of the Mann-Whitney test (Hodges & Lehmann 1963).
pub(crate) fn unpaired(this: &[f64], base: &[f64]) -> Option<Change> {
    let ratios = this.iter().flat_map(|this| base.iter().map(move |base| (this / base).ln())).collect();
    from_sorted(ratios, &mann_whitney_counts(this.len(), base.len()))
}

/// The narrowest interval between two order statistics with the confidence wanted, or the widest there is. `counts[k]`: in how
/// many equally likely cases, were there no change, exactly k of the ratios lie below one.
fn from_sorted(mut ratios: Vec<f64>, counts: &[f64]) -> Option<Change> {
    if ratios.is_empty() || ratios.iter().any(|ratio| !ratio.is_finite()) {
        return None;
    }
    ratios.sort_by(f64::total_cmp);
    let total: f64 = counts.iter().sum();
    let (mut cut, mut tail) = (0, counts[0] / total);
    while cut + 1 < ratios.len() / 2 {
        let next = tail + counts[cut + 1] / total;
        if 1.0 - 2.0 * next < CONFIDENCE {
            break;
        }
        (cut, tail) = (cut + 1, next);
    }
    Some(Change {
        estimate: median(&ratios).exp(),
        low: ratios[cut].exp(),
        high: ratios[ratios.len() - 1 - cut].exp(),
        confidence: 1.0 - 2.0 * tail,
    })
}

/// The binomial coefficients of n.
fn sign_counts(n: usize) -> Vec<f64> {
    let mut row = vec![1.0];
    for k in 0..n {
        row.push(row[k] * (n - k) as f64 / (k + 1) as f64);
    }
    row
}

/// In how many orders of m + n different numbers exactly u of the m n pairs have the first below the second.
fn mann_whitney_counts(m: usize, n: usize) -> Vec<f64> {
    // The Gaussian binomial coefficient: the product of (1 - q^(n+i)) / (1 - q^i) for i from 1 to m.
    let mut counts = vec![0.0; m * n + 1];
    counts[0] = 1.0;
    for i in 1..=m {
        for u in (n + i..counts.len()).rev() {
            counts[u] -= counts[u - n - i];
        }
        for u in i..counts.len() {
            counts[u] += counts[u - i];
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_spreads() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0])), (2.0, 2.5));
        assert!(median(&[]).is_nan());
        assert_eq!((spread(&[2.0]), spread(&[1.0, 2.0, 3.0])), (0.0, 1.0));
    }

    #[test]
    fn counts_are_those_of_the_textbooks() {
        assert_eq!(sign_counts(4), [1.0, 4.0, 6.0, 4.0, 1.0]);
        // Of the 6 orders of 2 + 2 numbers; of the 20 of 3 + 3.
        assert_eq!(mann_whitney_counts(2, 2), [1.0, 1.0, 2.0, 1.0, 1.0]);
        assert_eq!(mann_whitney_counts(3, 3), [1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 2.0, 1.0, 1.0]);
        assert_eq!(mann_whitney_counts(5, 9).iter().sum::<f64>(), 2002.0);
    }

    #[test]
    fn nine_rounds_forgive_one_outlier_on_either_side() {
        let base = [1.0; 9];
        let this = [1.2, 1.21, 9.0, 1.19, 1.22, 0.1, 1.2, 1.18, 1.23];
        let change = paired(&this, &base).unwrap();
        assert!((change.estimate - 1.2).abs() < 1e-12, "{change:?}");
        assert!((change.low - 1.18).abs() < 1e-12 && (change.high - 1.23).abs() < 1e-12, "{change:?}");
        // 1 - 2 (1 + 9) / 512
        assert!((change.confidence - 0.9609375).abs() < 1e-12, "{change:?}");
    }

    #[test]
    fn few_rounds_say_how_little_they_know() {
        let change = paired(&[1.0, 1.1, 1.2], &[1.0; 3]).unwrap();
        assert_eq!((change.low, change.confidence), (1.0, 0.75));
        assert!(paired(&[1.0; 6], &[1.0; 6]).unwrap().confidence > CONFIDENCE);
        assert!(unpaired(&[1.0; 4], &[1.0; 4]).unwrap().confidence > CONFIDENCE);
        assert!(unpaired(&[1.0; 3], &[1.0; 3]).unwrap().confidence < CONFIDENCE);
        assert_eq!((paired(&[], &[]), paired(&[1.0], &[0.0])), (None, None));
    }

    /// How often intervals of rounds without any change hold the truth.
    #[test]
    fn intervals_hold_what_they_promise() {
        let mut state = 1_u64;
        let mut noise = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Skewed, as times are.
            1.0 + ((state >> 11) as f64 / (1_u64 << 53) as f64).powi(3)
        };
        for interval in [paired, unpaired] {
            let mut held = 0;
            for _ in 0..2000 {
                let sides: Vec<f64> = (0..18).map(|_| noise()).collect();
                let change = interval(&sides[..9], &sides[9..]).unwrap();
                held += usize::from(change.low <= 1.0 && 1.0 <= change.high);
            }
            assert!(held >= 1880, "{held} of 2000");
        }
    }
}
