//! The smallest and the largest element, and where they are.

use super::{
    operand::{Operand, Summand},
    operator::{LANES, Operator, Places, RUN, one_by_one},
    sums::unit_operators,
};

unit_operators! {
    /// The smallest element. NaN where there is one; of zeros -0.0 is the smaller (IEEE 754-2019, `minimum`), so that the order of the elements
    /// does not matter. No values are an error.
    Min;
    /// The largest element. NaN where there is one; of zeros 0.0 is the larger (IEEE 754-2019, `maximum`). No values are an error.
    Max;
    /// The place of the smallest element, in i64: the first of those that are equal (-0.0 and 0.0 are), or that of the first NaN where there is
    /// one. Places count in C order of the reduced axes. No values are an error.
    ArgMin;
    /// The place of the largest element; all else as in [`ArgMin`].
    ArgMax;
}

macro_rules! extreme {
    ($Name:ident, $name:literal, $worst:ident, $pick:ident, $beats:expr) => {
        impl<T: Operand> Operator for $Name<T> {
            type Value = T;
            type State = T;
            type Output = T;
            const NAME: &'static str = $name;
            const COMMUTATIVE: bool = true;
            #[inline(always)]
            fn identity(&self) -> T {
                T::$worst
            }
            #[inline(always)]
            fn take(&self, state: T, value: T, _: i64) -> T {
                state.$pick(value)
            }
            #[inline(always)]
            fn combine(&self, earlier: T, later: T) -> T {
                earlier.$pick(later)
            }
            fn finalize(&self, state: T, count: u64) -> Option<T> {
                (count > 0).then_some(state)
            }
            #[inline(always)]
            fn take_run(&self, state: T, values: &[T], places: Places) -> T {
                let mut state = state;
                for run in values.chunks(RUN) {
                    let best = best_or_nan(run, |x| x, $beats);
                    // A comparison alone does not tell the zeros apart.
                    state = match T::FLOAT && best == T::ZERO {
                        true => one_by_one(self, state, run, places),
                        false => state.$pick(best),
                    };
                }
                state
            }
        }
    };
}
extreme!(Min, "min", HIGHEST, smaller, |a, b| a < b);
extreme!(Max, "max", LOWEST, larger, |a, b| a > b);

/// Whether a value is NaN.
#[inline(always)]
pub(super) fn has_nan<T: Summand>(run: &[T]) -> bool {
    let mut any = false;
    if T::DTYPE.is_float() || T::DTYPE.is_complex() {
        for x in run {
            any |= x.is_nan();
        }
    }
    any
}

/// The best of the values that `of` gives for a run that is not empty: NaN beats all, and nothing beats it. It takes one pass: to ask for NaN ahead
/// takes longer than the comparison.
#[inline(always)]
pub(super) fn best_or_nan<T: Copy, R: Operand>(run: &[T], of: impl Fn(T) -> R, beats: impl Fn(R, R) -> bool) -> R {
    best_of(run, of, |other, best| beats(other, best) | other.is_nan())
}

/// The best of the values that `of` gives for a run that is not empty, by a comparison that need not know NaN.
#[inline(always)]
pub(super) fn best_of<T: Copy, R: Copy>(run: &[T], of: impl Fn(T) -> R, beats: impl Fn(R, R) -> bool) -> R {
    let pick = |best: R, other: R| if beats(other, best) { other } else { best };
    let mut best = [of(run[0]); LANES];
    let (chunks, rest) = run.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            best[lane] = pick(best[lane], of(chunk[lane]));
        }
    }
    for (lane, &value) in rest.iter().enumerate() {
        best[lane] = pick(best[lane], of(value));
    }
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            best[lane] = pick(best[lane], best[lane + width]);
        }
    }
    best[0]
}

/// An element and its place; before the first, one that every other beats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found<T> {
    /// The element.
    pub value: T,
    /// Its place.
    pub place: i64,
}

impl<T: Operand> Found<T> {
    /// The one that `better` prefers; of those that it does not tell apart, the one that comes first.
    #[inline(always)]
    fn or(self, other: Self, better: impl Fn(T, T) -> bool) -> Self {
        let earlier = (other.place < self.place) & !better(self.value, other.value);
        if better(other.value, self.value) | earlier { other } else { self }
    }

    /// `self` and all of a run. The places are not carried along: the best value of some is found first, then where it is if it is good enough.
    #[inline(always)]
    fn or_in_run(
        self,
        values: &[T],
        places: Places,
        better: impl Fn(T, T) -> bool + Copy,
        beats: impl Fn(T, T) -> bool + Copy,
    ) -> Self {
        let mut best = self;
        for (i, run) in values.chunks(RUN).enumerate() {
            let places = places.from(i * RUN);
            let value = best_or_nan(run, |x| x, beats);
            let first = if places.step < 0 { places.at(run.len() - 1) } else { places.first };
            // Not good enough at the smallest place that it can have: there is nothing to look for.
            if best.or(Self { value, place: first }, better).place == best.place {
                continue;
            }
            let is_it = |&x: &T| !better(value, x);
            let at = if places.step < 0 { run.iter().rposition(is_it) } else { run.iter().position(is_it) };
            best = at.map_or(best, |at| best.or(Self { value, place: places.at(at) }, better));
        }
        best
    }
}

macro_rules! arg {
    ($Name:ident, $name:literal, $worst:ident, $better:path, $beats:expr) => {
        impl<T: Operand> Operator for $Name<T> {
            type Value = T;
            type State = Found<T>;
            type Output = i64;
            const NAME: &'static str = $name;
            const COMMUTATIVE: bool = true;
            #[inline(always)]
            fn identity(&self) -> Found<T> {
                Found { value: T::$worst, place: i64::MAX }
            }
            #[inline(always)]
            fn take(&self, state: Found<T>, value: T, place: i64) -> Found<T> {
                state.or(Found { value, place }, $better)
            }
            #[inline(always)]
            fn combine(&self, earlier: Found<T>, later: Found<T>) -> Found<T> {
                earlier.or(later, $better)
            }
            fn finalize(&self, state: Found<T>, count: u64) -> Option<i64> {
                (count > 0).then_some(state.place)
            }
            #[inline(always)]
            fn take_run(&self, state: Found<T>, values: &[T], places: Places) -> Found<T> {
                state.or_in_run(values, places, $better, $beats)
            }
        }
    };
}
arg!(ArgMin, "argmin", HIGHEST, T::below, |a, b| a < b);
arg!(ArgMax, "argmax", LOWEST, T::above, |a, b| a > b);
