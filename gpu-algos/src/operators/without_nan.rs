//! Reductions that leave NaN out.

use super::{
    extremes::{ArgMax, ArgMin, Max, Min, has_nan},
    moments::{StandardDeviation, Variance},
    operand::{Operand, Summand},
    operator::{Operator, Places, RUN, one_by_one},
    sums::{Mean, Product, Sum},
};

/// `O` of the elements that are not NaN; places are those among all elements. For types without NaN it is `O` itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct WithoutNan<O>(pub O);

/// An operator with a form that leaves NaN out.
pub trait SkipsNan: Operator<Value: Summand> {
    /// The result of elements that are all NaN, at least one.
    fn of_nan_alone(&self) -> Option<Self::Output>;
}

/// The state of `O`, and how many were left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Skipping<S> {
    /// The state of the values that are not NaN.
    pub state: S,
    /// The number of values that are NaN.
    pub left_out: u64,
}

impl<O: SkipsNan> Operator for WithoutNan<O> {
    type Value = O::Value;
    type State = Skipping<O::State>;
    type Output = O::Output;
    const NAME: &'static str = O::NAME;
    const COMMUTATIVE: bool = O::COMMUTATIVE;

    #[inline(always)]
    fn identity(&self) -> Self::State {
        Skipping { state: self.0.identity(), left_out: 0 }
    }

    #[inline(always)]
    fn take(&self, Skipping { state, left_out }: Self::State, value: O::Value, place: i64) -> Self::State {
        if value.is_nan() {
            return Skipping { state, left_out: left_out + 1 };
        }
        Skipping { state: self.0.take(state, value, place), left_out }
    }

    #[inline(always)]
    fn combine(&self, earlier: Self::State, later: Self::State) -> Self::State {
        Skipping { state: self.0.combine(earlier.state, later.state), left_out: earlier.left_out + later.left_out }
    }

    fn finalize(&self, state: Self::State, count: u64) -> Option<O::Output> {
        if count > 0 && state.left_out == count {
            return self.0.of_nan_alone();
        }
        self.0.finalize(state.state, count - state.left_out)
    }

    /// Runs without NaN, which are most, go to `O` as they are.
    #[inline(always)]
    fn take_run(&self, state: Self::State, values: &[O::Value], places: Places) -> Self::State {
        let mut state = state;
        for (i, run) in values.chunks(RUN).enumerate() {
            let places = places.from(i * RUN);
            if has_nan(run) {
                state = one_by_one(self, state, run, places);
            } else {
                state.state = self.0.take_run(state.state, run, places);
            }
        }
        state
    }
}

macro_rules! without_nan {
    ($Value:ident: $($(#[$doc:meta])* $Nan:ident = $Name:ident($($argument:ident: $Type:ty)?), |$op:ident| $alone:expr;)*) => {
        $(without_nan! { @one $Value, $(#[$doc])* $Nan = $Name($($argument: $Type)?), |$op| $alone })*
    };
    (@one $Value:ident, $(#[$doc:meta])* $Nan:ident = $Name:ident($($argument:ident: $Type:ty)?), |$op:ident| $alone:expr) => {
        $(#[$doc])*
        pub type $Nan<T> = WithoutNan<$Name<T>>;
        impl<T> WithoutNan<$Name<T>> {
            /// The operator; the element type follows from the array.
            pub const fn new($($argument: $Type)?) -> Self {
                Self($Name::new($($argument)?))
            }
        }
        impl<T: $Value> SkipsNan for $Name<T> {
            fn of_nan_alone(&self) -> Option<Self::Output> {
                let $op = self;
                $alone
            }
        }
    };
}
without_nan! { Summand:
    /// [`Sum`] without NaN: 0 where all are.
    NanSum = Sum(), |op| op.finalize(op.identity(), 0);
    /// [`Product`] without NaN: 1 where all are.
    NanProduct = Product(), |op| op.finalize(op.identity(), 0);
    /// [`Mean`] of those that are not NaN: NaN where all are.
    NanMean = Mean(), |op| op.finalize(op.identity(), 0);
    /// [`Variance`] of those that are not NaN, whose number stands for `n`.
    NanVariance = Variance(ddof: u64), |op| op.finalize(op.identity(), 0);
    /// [`StandardDeviation`] of those that are not NaN, whose number stands for `n`.
    NanStandardDeviation = StandardDeviation(ddof: u64), |op| op.finalize(op.identity(), 0);
}
without_nan! { Operand:
    /// [`Min`] without NaN: NaN where all are.
    NanMin = Min(), |_op| Some(T::NAN);
    /// [`Max`] without NaN: NaN where all are.
    NanMax = Max(), |_op| Some(T::NAN);
    /// [`ArgMin`] without NaN: -1 where all are, where NumPy raises an error.
    NanArgMin = ArgMin(), |_op| Some(-1);
    /// [`ArgMax`] without NaN: -1 where all are, where NumPy raises an error.
    NanArgMax = ArgMax(), |_op| Some(-1);
}
