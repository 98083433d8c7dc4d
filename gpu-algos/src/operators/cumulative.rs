//! The operators that can be scanned, and the kinds of scans.

use super::{
    extremes::{Max, Min},
    operand::{Operand, Summand},
    operator::Operator,
    sums::{All, Any, Count, Product, Sum},
    without_nan::WithoutNan,
};

/// The values that make each result of a scan: `[x0, x1, x2]` gives
///
/// | | |
/// |---|---|
/// | [`INCLUSIVE`](Self::INCLUSIVE) | `[x0, x0 + x1, x0 + x1 + x2]` |
/// | [`EXCLUSIVE`](Self::EXCLUSIVE) | `[identity, x0, x0 + x1]` |
/// | `INCLUSIVE.reversed()` | `[x0 + x1 + x2, x1 + x2, x2]` |
/// | `EXCLUSIVE.reversed()` | `[x1 + x2, x2, identity]` |
///
/// Values are combined in their order, also in reversed scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanKind {
    pub(crate) exclusive: bool,
    pub(crate) reversed: bool,
}

impl ScanKind {
    /// All elements up to that of the result, and this one.
    pub const INCLUSIVE: Self = Self { exclusive: false, reversed: false };
    /// All elements before that of the result.
    pub const EXCLUSIVE: Self = Self { exclusive: true, reversed: false };

    /// From the other end: all elements from that of the result on, or behind it.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self { reversed: !self.reversed, ..self }
    }
}

/// An operator that has a result after any number of values, also after none, as a scan needs. Its `place` is the index along the axis.
///
/// The operator need not commute. [`Sum`], [`Product`], [`Max`], [`Min`], [`Any`], [`All`] and [`Count`] are such operators, [`Associative`]
/// makes one of a closure.
pub trait Cumulative: Operator {
    /// The result of a state; of no values that of the identity state.
    fn output(&self, state: Self::State) -> Self::Output;
}

macro_rules! cumulative {
    ($($Name:ident of $Value:ident, |$state:ident| $output:expr;)*) => {$(
        impl<T: $Value> Cumulative for $Name<T> {
            #[inline(always)]
            fn output(&self, $state: Self::State) -> Self::Output {
                $output
            }
        }
    )*};
}
cumulative! {
    Sum of Summand, |state| T::rounded(state);
    Product of Summand, |state| T::rounded(state);
    Max of Operand, |state| state;
    Min of Operand, |state| state;
    Any of Summand, |state| state;
    All of Summand, |state| state;
    Count of Summand, |state| state;
}

impl<T: Summand> Cumulative for WithoutNan<Sum<T>> {
    #[inline(always)]
    fn output(&self, state: Self::State) -> Self::Output {
        self.0.output(state.state)
    }
}

impl<T: Summand> Cumulative for WithoutNan<Product<T>> {
    #[inline(always)]
    fn output(&self, state: Self::State) -> Self::Output {
        self.0.output(state.state)
    }
}

/// An associative function with its identity element, as an operator: `f(f(a, b), c) = f(a, f(b, c))` and `f(identity, a) = f(a, identity) = a`.
/// It need not commute.
///
/// ```
/// use gpu_algos::{operators::{Associative, ScanKind}, reference::{reduce, scan}};
/// use ndarray::Axis;
///
/// // The last value that is not 0.
/// let last = Associative::new(0, |earlier: i32, later: i32| if later == 0 { earlier } else { later });
/// assert_eq!(scan(&last, &[0, 3, 0, 0, 5, 0], Axis(0), ScanKind::INCLUSIVE)?.to_vec(), [0, 3, 3, 3, 5, 5]);
/// assert_eq!(reduce(&last, &[0, 3, 0])?, 3);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Associative<T, F> {
    identity: T,
    function: F,
}

impl<T: Copy + Send + Sync, F: Fn(T, T) -> T + Sync> Associative<T, F> {
    /// An operator of `function(earlier, later)`.
    pub const fn new(identity: T, function: F) -> Self {
        Self { identity, function }
    }
}

impl<T: Copy + Send + Sync, F: Fn(T, T) -> T + Sync> Operator for Associative<T, F> {
    type Value = T;
    type State = T;
    type Output = T;
    const NAME: &'static str = "associative function";
    #[inline(always)]
    fn identity(&self) -> T {
        self.identity
    }
    #[inline(always)]
    fn take(&self, state: T, value: T, _: i64) -> T {
        (self.function)(state, value)
    }
    #[inline(always)]
    fn combine(&self, earlier: T, later: T) -> T {
        (self.function)(earlier, later)
    }
    fn finalize(&self, state: T, _: u64) -> Option<T> {
        Some(state)
    }
}

impl<T: Copy + Send + Sync, F: Fn(T, T) -> T + Sync> Cumulative for Associative<T, F> {
    #[inline(always)]
    fn output(&self, state: T) -> T {
        state
    }
}
