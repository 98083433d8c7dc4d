//! Operators for scans from the end.

use crate::operators::{Cumulative, Operator};

/// `O` for values that come in the opposite order.
pub(super) struct Backwards<'a, O>(pub(super) &'a O);

impl<O: Operator> Operator for Backwards<'_, O> {
    type Value = O::Value;
    type State = O::State;
    type Output = O::Output;
    const NAME: &'static str = O::NAME;
    const COMMUTATIVE: bool = O::COMMUTATIVE;
    #[inline(always)]
    fn identity(&self) -> O::State {
        self.0.identity()
    }
    #[inline(always)]
    fn take(&self, state: O::State, value: O::Value, place: i64) -> O::State {
        match O::COMMUTATIVE {
            true => self.0.take(state, value, place),
            false => self.0.combine(self.0.take(self.0.identity(), value, place), state),
        }
    }
    #[inline(always)]
    fn combine(&self, earlier: O::State, later: O::State) -> O::State {
        self.0.combine(later, earlier)
    }
    fn finalize(&self, state: O::State, count: u64) -> Option<O::Output> {
        self.0.finalize(state, count)
    }
}

impl<O: Cumulative> Cumulative for Backwards<'_, O> {
    #[inline(always)]
    fn output(&self, state: O::State) -> O::Output {
        self.0.output(state)
    }
}
