//! Norms of all elements.

use super::{
    extremes::best_or_nan,
    operand::{Operand, Summand},
    operator::{Operator, Places, RUN, sum_of},
    sums::{commutative, unit_operators},
};

unit_operators! {
    /// `sum |x|`, of no values 0; added in f64. A float gives its own type, a complex number that of its parts, all other types f64.
    NormL1;
    /// `sqrt(sum x^2)`, of no values 0; in f64, where neither overflow nor underflow of a square reaches the result. f32 gives f32, all other
    /// types f64.
    NormL2;
    /// `max |x|`, of no values 0; NaN where there is one. A float gives its own type, a complex number that of its parts, all other types f64.
    NormMax;
}

commutative!(NormL1, "l1 norm", f64, T::Real, 0.0, |s, x| s + x.size(), |a, b| a + b, |s, _count| Some(T::real(s)));
impl<T: Summand> Operator for NormMax<T> {
    type Value = T;
    type State = T::Real;
    type Output = T::Real;
    const NAME: &'static str = "max norm";
    const COMMUTATIVE: bool = true;
    #[inline(always)]
    fn identity(&self) -> T::Real {
        T::real(0.0)
    }
    #[inline(always)]
    fn take(&self, state: T::Real, value: T, _: i64) -> T::Real {
        state.larger(value.magnitude())
    }
    #[inline(always)]
    fn combine(&self, earlier: T::Real, later: T::Real) -> T::Real {
        earlier.larger(later)
    }
    fn finalize(&self, state: T::Real, _: u64) -> Option<T::Real> {
        Some(state)
    }
    #[inline(always)]
    fn take_run(&self, state: T::Real, values: &[T], _: Places) -> T::Real {
        let mut state = state;
        for run in values.chunks(RUN) {
            let largest = best_or_nan(run, |x: T| x.magnitude(), |a, b| a > b);
            state = state.larger(largest);
        }
        state
    }
}

/// Sums of squares in three units, each for the elements whose squares are well within range in it.
///
/// Source: J. L. Blue, ACM TOMS 4 (1978) 15. The bounds here leave room for 2^60 terms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Squares {
    /// The sum over elements below 2^-480, in the unit 2^-1200.
    pub small: f64,
    /// The sum over all other elements, and over NaN.
    pub medium: f64,
    /// The sum over elements above 2^480, in the unit 2^1200.
    pub large: f64,
}

const fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}
const LARGE: f64 = power_of_two(480);
const SMALL: f64 = power_of_two(-480);
const UNIT: f64 = power_of_two(600);
const UNIT_INVERSE: f64 = power_of_two(-600);
/// A sum of squares above this is as exact as f64 can have it.
const EXACT: f64 = power_of_two(-800);

impl Squares {
    #[inline(always)]
    fn with(mut self, value: f64) -> Self {
        let size = value.abs();
        let (into, scaled) = if size > LARGE {
            (&mut self.large, size * UNIT_INVERSE)
        } else if size < SMALL {
            (&mut self.small, size * UNIT)
        } else {
            (&mut self.medium, size)
        };
        *into += scaled * scaled;
        self
    }

    #[inline(always)]
    fn with_run<T: Summand>(self, run: &[T]) -> Self {
        let sum = sum_of(run, |x| x.size() * x.size());
        if (EXACT..LARGE * LARGE).contains(&sum) || sum.is_nan() {
            return Self { medium: self.medium + sum, ..self };
        }
        run.iter().fold(self, |squares, &x| squares.with(x.size()))
    }

    fn root(self) -> f64 {
        if self.medium.is_nan() || self.large > 0.0 {
            (self.large + self.medium * UNIT_INVERSE * UNIT_INVERSE).sqrt() * UNIT
        } else if self.medium > 0.0 {
            (self.medium + self.small * UNIT_INVERSE * UNIT_INVERSE).sqrt()
        } else {
            self.small.sqrt() * UNIT_INVERSE
        }
    }
}

impl<T: Summand> Operator for NormL2<T> {
    type Value = T;
    type State = Squares;
    type Output = T::Real;
    const NAME: &'static str = "l2 norm";
    const COMMUTATIVE: bool = true;
    #[inline(always)]
    fn identity(&self) -> Squares {
        Squares::default()
    }
    #[inline(always)]
    fn take(&self, state: Squares, value: T, _: i64) -> Squares {
        state.with(value.size())
    }
    #[inline(always)]
    fn combine(&self, a: Squares, b: Squares) -> Squares {
        Squares { small: a.small + b.small, medium: a.medium + b.medium, large: a.large + b.large }
    }
    fn finalize(&self, state: Squares, _: u64) -> Option<T::Real> {
        Some(T::real(state.root()))
    }
    #[inline(always)]
    fn take_run(&self, state: Squares, values: &[T], _: Places) -> Squares {
        let mut state = state;
        for run in values.chunks(RUN) {
            state = state.with_run(run);
        }
        state
    }
}
