//! Means that grow more certain.

use std::fmt;

/// Mean and variance.
pub(crate) fn moments(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        n += 1.0;
        sum += value;
        squares += value * value;
    }
    (sum / n, squares / n - (sum / n).powi(2))
}

/// The sums of a mean and its variance so far.
#[derive(Default)]
pub(crate) struct Running {
    count: usize,
    sum: f64,
    squares: f64,
}

/// An estimate at some time.
#[derive(Clone, Copy)]
pub(crate) struct Snapshot {
    pub(crate) count: usize,
    pub(crate) mean: f64,
    /// The mean is that near in 95 of 100 cases.
    pub(crate) half_width: f64,
    pub(crate) truth: f64,
}

impl Running {
    pub(crate) fn add(&mut self, n: usize, mean: f64, variance: f64) {
        self.count += n;
        self.sum += n as f64 * mean;
        self.squares += n as f64 * (variance + mean * mean);
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn now(&self, truth: f64) -> Snapshot {
        let n = self.count as f64;
        let mean = self.sum / n;
        let half_width = 1.959_964 * ((self.squares / n - mean * mean).max(0.0) / n).sqrt();
        Snapshot { count: self.count, mean, half_width, truth }
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let off = (self.mean - self.truth).abs();
        write!(f, "{:>10} numbers: {:.6} +- {:.6}, {off:.6} from the truth", self.count, self.mean, self.half_width)
    }
}

/// The normal distribution function, by its series: for arguments of moderate size.
pub(crate) fn normal_below(x: f64) -> f64 {
    let (mut term, mut sum, mut k) = (x, x, 1.0);
    while term.abs() > 1e-17 {
        k += 2.0;
        term *= x * x / k;
        sum += term;
    }
    0.5 + sum * (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()
}
