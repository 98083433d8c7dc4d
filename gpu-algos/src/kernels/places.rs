//! The places that a kernel runs for.

use std::fmt;

/// The values that `i` takes in a kernel's operation.
///
/// ```
/// use gpu_algos::kernels::IndexRange;
/// assert_eq!(IndexRange::all(), IndexRange::default());
/// assert_eq!(IndexRange::slice(None, -2, 3).to_string(), "[:-2:3]");
/// assert_eq!(IndexRange::range(10, 0, -2).to_string(), "10 to 0 by -2");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexRange(RangeKind);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RangeKind {
    #[default]
    All,
    Range(i64, i64, i64),
    Slice(Option<i64>, Option<i64>, i64),
}

/// The `count` numbers `start`, `start + step` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progression {
    pub(crate) count: u64,
    pub(crate) start: i64,
    pub(crate) step: i64,
}

impl IndexRange {
    /// Each element, from 0 on.
    pub fn all() -> Self {
        Self::default()
    }

    /// The numbers of Python's `range`: `start`, `start + step`, `start + 2 step` and so on, before `stop`.
    /// None is negative, and each array has an element for each. The arrays may have different lengths.
    pub fn range(start: i64, stop: i64, step: i64) -> Self {
        Self(RangeKind::Range(start, stop, step))
    }

    /// The indices of Python's slice `[start:stop:step]` of arrays of one length.
    /// A negative bound counts from the end, None stands for a bound that is left out, and a bound beyond an end is clamped to that end.
    pub fn slice(start: impl Into<Option<i64>>, stop: impl Into<Option<i64>>, step: i64) -> Self {
        Self(RangeKind::Slice(start.into(), stop.into(), step))
    }

    /// Whether the places are all elements in order.
    pub(crate) fn is_all(self) -> bool {
        self.0 == RangeKind::All
    }

    /// Whether the arrays may have different lengths.
    pub(crate) fn is_range(self) -> bool {
        matches!(self.0, RangeKind::Range(..))
    }

    /// The places in arrays of length `len`, or the reason why they are invalid.
    pub(crate) fn of(self, len: usize) -> Result<Progression, &'static str> {
        let n = len as i64;
        match self.0 {
            RangeKind::All => Ok(Progression { count: len as u64, start: 0, step: 1 }),
            RangeKind::Slice(_, _, 0) | RangeKind::Range(_, _, 0) => Err("the step is 0"),
            RangeKind::Slice(start, stop, step) => {
                let (first, last) = if step > 0 { (0, n) } else { (-1, n - 1) };
                let bound = |at: i64| if at < 0 { at.saturating_add(n) } else { at }.clamp(first, last);
                let (begin, end) = if step > 0 { (first, last) } else { (last, first) };
                Ok(progression(start.map_or(begin, bound), stop.map_or(end, bound), step))
            }
            RangeKind::Range(start, stop, step) => {
                let all = progression(start, stop, step);
                let inside = |at: i128| (0..i128::from(n)).contains(&at);
                let last = i128::from(start) + (i128::from(all.count) - 1) * i128::from(step);
                let fits = all.count == 0 || inside(start.into()) && inside(last);
                if fits { Ok(all) } else { Err("not every array has all of them") }
            }
        }
    }
}

fn progression(start: i64, stop: i64, step: i64) -> Progression {
    let distance = if step > 0 { i128::from(stop) - i128::from(start) } else { i128::from(start) - i128::from(stop) };
    let count = distance.max(0).cast_unsigned().div_ceil(step.unsigned_abs().into());
    Progression { count: count as u64, start, step }
}

impl fmt::Display for IndexRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bound: Option<i64>| bound.map(|bound| bound.to_string()).unwrap_or_default();
        match self.0 {
            RangeKind::All => f.write_str("[:]"),
            RangeKind::Range(start, stop, step) => write!(f, "{start} to {stop} by {step}"),
            RangeKind::Slice(start, stop, step) => write!(f, "[{}:{}:{step}]", text(start), text(stop)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indices(places: IndexRange, len: usize) -> Result<Vec<i64>, &'static str> {
        let Progression { count, start, step } = places.of(len)?;
        Ok((0..count as i64).map(|k| start + k * step).collect())
    }

    /// Python's rule as a search, which visits the indices of the slice one by one.
    fn by_steps(start: Option<i64>, stop: Option<i64>, step: i64, n: i64) -> Vec<i64> {
        let from_end = |at: i64| if at < 0 { at + n } else { at };
        let up = step > 0;
        let mut at = match start.map(from_end) {
            None => {
                if up {
                    0
                } else {
                    n - 1
                }
            }
            Some(start) if up => start.max(0),
            Some(start) => start.min(n - 1),
        };
        let stop = stop.map(|stop| from_end(stop).max(-1));
        let mut all = Vec::new();
        while (0..n).contains(&at) && stop.is_none_or(|stop| if up { at < stop } else { at > stop }) {
            all.push(at);
            at += step;
        }
        all
    }

    #[test]
    fn slices_are_those_of_python() {
        let bounds = || (-9..=9).map(Some).chain([None, Some(i64::MIN), Some(i64::MAX)]);
        for n in [0, 1, 5, 7] {
            for (start, stop) in bounds().flat_map(|start| bounds().map(move |stop| (start, stop))) {
                for step in [1, 2, 3, 8, -1, -2, -5, -9] {
                    let extreme = |at: Option<i64>| at.map(|at| at.clamp(-100, 100));
                    let want = by_steps(extreme(start), extreme(stop), step, n);
                    let got = indices(IndexRange::slice(start, stop, step), n as usize);
                    assert_eq!(got.as_deref(), Ok(&want[..]), "[{start:?}:{stop:?}:{step}] of {n}");
                }
            }
        }
        // Results of Python: list(range(20))[-8:-1:3], list(range(20))[17:-10:-2] and list(range(3))[::-1].
        assert_eq!(indices(IndexRange::slice(-8, -1, 3), 20), Ok(vec![12, 15, 18]));
        assert_eq!(indices(IndexRange::slice(17, -10, -2), 20), Ok(vec![17, 15, 13, 11]));
        assert_eq!(indices(IndexRange::slice(None, None, -1), 3), Ok(vec![2, 1, 0]));
        assert_eq!(indices(IndexRange::slice(None, None, i64::MIN), 3), Ok(vec![2]));
    }

    #[test]
    fn ranges_are_inside_or_an_error() {
        assert_eq!(indices(IndexRange::range(2, 9, 3), 9), Ok(vec![2, 5, 8]));
        assert_eq!(indices(IndexRange::range(8, -1, -4), 9), Ok(vec![8, 4, 0]));
        assert_eq!(indices(IndexRange::range(5, 5, 1), 0), Ok(vec![]));
        assert_eq!(indices(IndexRange::all(), 3), Ok(vec![0, 1, 2]));
        for (start, stop, step) in [(0, 10, 1), (-1, 3, 1), (9, 0, -1), (3, -2, -1), (i64::MIN, i64::MAX, 1), (0, 5, 0)]
        {
            assert!(indices(IndexRange::range(start, stop, step), 9).is_err(), "{start} {stop} {step}");
        }
        assert!(indices(IndexRange::slice(None, None, 0), 9).is_err());
    }
}
