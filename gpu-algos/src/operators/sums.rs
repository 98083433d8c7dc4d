//! Sums, products, means, counts and logic.

use super::{
    operand::{Accumulator, Summand},
    operator::Operator,
};

/// Unit structures generic over the element.
macro_rules! unit_operators {
    ($($(#[$doc:meta])* $Name:ident;)*) => {$(
        $(#[$doc])*
        pub struct $Name<T>(std::marker::PhantomData<fn() -> T>);
        impl<T> $Name<T> {
            /// The operator; the element type follows from the array.
            pub const fn new() -> Self {
                Self(std::marker::PhantomData)
            }
        }
        impl<T> Default for $Name<T> {
            fn default() -> Self {
                Self::new()
            }
        }
        impl<T> Clone for $Name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $Name<T> {}
        impl<T> std::fmt::Debug for $Name<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($Name))
            }
        }
    )*};
}
pub(super) use unit_operators;

unit_operators! {
    /// `x[0] + x[1] + ...`, of no values 0. Signed integers and bool give i64, unsigned ones u64, both of which wrap; floats and complex numbers keep
    /// their type, are added in f64 and rounded once, at the end. (On a device the error of f32 is at most `2^-18 sum |x|`, which this keeps to.)
    Sum;
    /// `x[0] * x[1] * ...`, of no values 1. Types as in [`Sum`]. The order of the factors is not NumPy's, but the same for any number of threads:
    /// where one part of them overflows and another is 0 or underflows, the result may be NaN, 0 or infinite where another order has another of
    /// these.
    Product;
    /// `sum(x) / n`, of no values NaN; added and divided in f64 (integers as well, as NumPy does). A float gives its own type, all other types f64.
    Mean;
    /// The number of elements other than 0, in i64. NaN is one, -0.0 is none.
    Count;
    /// Whether an element is other than 0; false of no values. NaN is other than 0.
    Any;
    /// Whether all elements are other than 0; true of no values.
    All;
}

/// `State`, `Output` and the methods of an operator whose states combine as they are, in any order.
macro_rules! commutative {
    ($Name:ident, $name:literal, $State:ty, $Output:ty, $identity:expr, |$s:ident, $x:ident| $take:expr, |$a:ident, $b:ident| $combine:expr,
     |$last:ident, $count:ident| $finish:expr) => {
        impl<T: Summand> Operator for $Name<T> {
            type Value = T;
            type State = $State;
            type Output = $Output;
            const NAME: &'static str = $name;
            const COMMUTATIVE: bool = true;
            #[inline(always)]
            fn identity(&self) -> $State {
                $identity
            }
            #[inline(always)]
            fn take(&self, $s: $State, $x: T, _: i64) -> $State {
                $take
            }
            #[inline(always)]
            fn combine(&self, $a: $State, $b: $State) -> $State {
                $combine
            }
            fn finalize(&self, $last: $State, $count: u64) -> Option<$Output> {
                $finish
            }
        }
    };
}
pub(super) use commutative;

commutative!(
    Sum,
    "sum",
    T::Accumulator,
    T::Sum,
    T::Accumulator::ZERO,
    |s, x| s.plus(x.accumulated()),
    |a, b| a.plus(b),
    |s, _count| Some(T::rounded(s))
);
commutative!(
    Product,
    "prod",
    T::Accumulator,
    T::Sum,
    T::Accumulator::ONE,
    |s, x| s.times(x.accumulated()),
    |a, b| a.times(b),
    |s, _count| Some(T::rounded(s))
);
commutative!(
    Mean,
    "mean",
    T::MeanAccumulator,
    T::Mean,
    T::MeanAccumulator::ZERO,
    |s, x| s.plus(x.of_mean()),
    |a, b| a.plus(b),
    |s, count| Some(T::mean(s, count))
);
commutative!(Count, "count", i64, i64, 0, |s, x| s + i64::from(x.is_true()), |a, b| a + b, |s, _count| Some(s));
commutative!(Any, "any", bool, bool, false, |s, x| s | x.is_true(), |a, b| a | b, |s, _count| Some(s));
commutative!(All, "all", bool, bool, true, |s, x| s & x.is_true(), |a, b| a & b, |s, _count| Some(s));
