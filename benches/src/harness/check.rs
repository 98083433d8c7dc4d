//! Whether an answer is right.

/// The largest error of an answer, and the most that it may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Check {
    /// Largest relative error; NaN is wrong whatever the bound.
    pub error: f64,
    /// The largest error that is right.
    pub bound: f64,
}

impl Check {
    /// An error that may be at most `bound`.
    pub fn within(error: f64, bound: f64) -> Self {
        Self { error, bound }
    }

    /// An answer that has to be exact: the error is the share of elements that differ, 1 where the lengths do.
    pub fn equal<T: PartialEq>(got: &[T], want: &[T]) -> Self {
        let differ = got.iter().zip(want).filter(|(got, want)| got != want).count();
        let error = if got.len() == want.len() { differ as f64 / want.len().max(1) as f64 } else { 1.0 };
        Self { error, bound: 0.0 }
    }

    /// A yes or no.
    pub fn holds(right: bool) -> Self {
        Self { error: if right { 0.0 } else { 1.0 }, bound: 0.0 }
    }

    /// `got` against `want`, relative to `scale`.
    pub fn close(got: f64, want: f64, scale: f64, bound: f64) -> Self {
        let difference = (got - want).abs();
        Self { error: if difference == 0.0 { 0.0 } else { difference / scale.abs() }, bound }
    }

    /// The larger of two errors; NaN where either is, which `f64::max` would drop.
    pub fn larger(a: f64, b: f64) -> f64 {
        if a.is_nan() || a > b { a } else { b }
    }

    /// Whether the answer is right.
    pub fn is_right(self) -> bool {
        self.error <= self.bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_answers_are_seen() {
        assert!(Check::equal(&[1, 2], &[1, 2]).is_right());
        assert!(!Check::equal(&[1, 2], &[1, 3]).is_right() && !Check::equal(&[1], &[1, 3]).is_right());
        assert!(Check::close(1.0, 1.0, 0.0, 0.0).is_right() && !Check::close(1.1, 1.0, 1.0, 0.05).is_right());
        assert!(
            !Check::close(f64::NAN, 1.0, 1.0, 1.0).is_right() && !Check::within(f64::NAN, f64::INFINITY).is_right()
        );
        assert!(Check::larger(f64::NAN, 1.0).is_nan() && Check::larger(1.0, f64::NAN).is_nan());
        assert!(Check::holds(true).is_right() && !Check::holds(false).is_right());
    }
}
