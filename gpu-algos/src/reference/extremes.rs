//! The smallest and the largest element, and where they are.

use super::{
    operand::Operand,
    operator::{Operator, Places, RUN},
    sums::{commutative, unit_operators},
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

commutative!(Min, "min", T, T, T::HIGHEST, |s, x| s.smaller(x), |a, b| a.smaller(b), |s, count| (count > 0)
    .then_some(s));
commutative!(Max, "max", T, T, T::LOWEST, |s, x| s.larger(x), |a, b| a.larger(b), |s, count| (count > 0).then_some(s));

/// An element and its place, which is -1 before the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found<T> {
    /// The element.
    pub value: T,
    /// Where it is.
    pub place: i64,
}

impl<T: Operand> Found<T> {
    const NOTHING: Self = Self { value: T::ZERO, place: -1 };

    /// The one that `better` prefers; of those that it does not tell apart, the one that comes first.
    #[inline]
    fn or(self, other: Self, better: impl Fn(T, T) -> bool) -> Self {
        let earlier = other.place < self.place && !better(self.value, other.value);
        let other_wins = other.place >= 0 && (self.place < 0 || better(other.value, self.value) || earlier);
        if other_wins { other } else { self }
    }

    /// `self` and all of a run. The places are not carried along: the best value of some is found first, then where it is if it is good enough.
    fn or_in_run(self, values: &[T], places: Places, better: impl Fn(T, T) -> bool + Copy) -> Self {
        values.chunks(RUN).enumerate().fold(self, |best, (i, run)| {
            let places = places.from(i * RUN);
            let value = best_of(run, better);
            let first = if places.step < 0 { places.at(run.len() - 1) } else { places.first };
            // As good as what is there, and at the smallest place that it can have not before it: there is nothing to look for.
            if best.or(Self { value, place: first }, better).place == best.place {
                return best;
            }
            let is_it = |&x: &T| !better(value, x);
            let at = if places.step < 0 { run.iter().rposition(is_it) } else { run.iter().position(is_it) };
            at.map_or(best, |at| best.or(Self { value, place: places.at(at) }, better))
        })
    }
}

/// The value of a run that is not empty which `better` prefers, wherever it is.
#[inline]
fn best_of<T: Operand>(run: &[T], better: impl Fn(T, T) -> bool) -> T {
    const WIDTH: usize = 32;
    let pick = |a: T, b: T| if better(b, a) { b } else { a };
    let mut best = [run[0]; WIDTH];
    let (chunks, rest) = run.as_chunks::<WIDTH>();
    for chunk in chunks {
        for lane in 0..WIDTH {
            best[lane] = pick(best[lane], chunk[lane]);
        }
    }
    best.iter().chain(rest).copied().fold(run[0], pick)
}

macro_rules! arg {
    ($Name:ident, $name:literal, $better:path) => {
        impl<T: Operand> Operator for $Name<T> {
            type Value = T;
            type State = Found<T>;
            type Output = i64;
            const NAME: &'static str = $name;
            const COMMUTATIVE: bool = true;
            #[inline]
            fn neutral(&self) -> Found<T> {
                Found::NOTHING
            }
            #[inline]
            fn take(&self, state: Found<T>, value: T, place: i64) -> Found<T> {
                state.or(Found { value, place }, $better)
            }
            #[inline]
            fn join(&self, earlier: Found<T>, later: Found<T>) -> Found<T> {
                earlier.or(later, $better)
            }
            fn finish(&self, state: Found<T>, count: u64) -> Option<i64> {
                (count > 0).then_some(state.place)
            }
            fn take_run(&self, state: Found<T>, values: &[T], places: Places) -> Found<T> {
                state.or_in_run(values, places, $better)
            }
        }
    };
}
arg!(ArgMin, "argmin", T::below);
arg!(ArgMax, "argmax", T::above);
