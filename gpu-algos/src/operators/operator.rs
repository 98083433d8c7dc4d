//! The parts of a reduction: an identity state, how it takes a value, how two states combine, and the result of the last.

use super::vector_units::with_vectors;

/// A reduction: the one definition for the host, which a structure of the same members mirrors on a device.
///
/// `identity` is the state before any value, `take` brings a value into a state, `combine` makes one state of two, where all values of `earlier`
/// come before all of `later`. `combine` is associative with `identity` as its identity element, and `take(s, v, p)` is
/// `combine(s, take(identity, v, p))`; for floats all that within rounding. Then the result does not depend on how the values were grouped.
///
/// ```
/// use gpu_algos::{operators::Operator, reference::reduce};
/// use ndarray::array;
///
/// /// The last value: associative, but not commutative.
/// struct Last;
/// impl Operator for Last {
///     type Value = i32;
///     type State = Option<i32>;
///     type Output = i32;
///     const NAME: &'static str = "last";
///     fn identity(&self) -> Option<i32> {
///         None
///     }
///     fn take(&self, _: Option<i32>, value: i32, _place: i64) -> Option<i32> {
///         Some(value)
///     }
///     fn combine(&self, earlier: Option<i32>, later: Option<i32>) -> Option<i32> {
///         later.or(earlier)
///     }
///     fn finalize(&self, state: Option<i32>, _count: u64) -> Option<i32> {
///         state
///     }
/// }
/// assert_eq!(reduce(&Last, &array![[1, 2], [3, 4]])?, 4);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub trait Operator: Sync {
    /// The elements of the array.
    type Value: Copy + Send + Sync;
    /// The state of the reduction after some of the values.
    type State: Copy + Send + Sync;
    /// The result.
    type Output: Clone + Send;

    /// The name of the operator in errors.
    const NAME: &'static str;

    /// Whether values may be taken, and states combined, in any order. Then arrays are read in the order in which they are in memory and by many
    /// states side by side; otherwise in the logical (C) order of the reduced axes.
    const COMMUTATIVE: bool = false;

    /// The state of no values.
    fn identity(&self) -> Self::State;

    /// The state with one value more. `place` is its position among the values of the result, counted in C order of the reduced axes.
    #[must_use]
    fn take(&self, state: Self::State, value: Self::Value, place: i64) -> Self::State;

    /// The state of the values of both.
    #[must_use]
    fn combine(&self, earlier: Self::State, later: Self::State) -> Self::State;

    /// The result of the state of `count` values. None where no values have none, and only then: an error of the caller.
    fn finalize(&self, state: Self::State, count: u64) -> Option<Self::Output>;

    /// The state with all of `values`: the one that a loop over `take` gives (floats: within rounding), by whatever is fastest.
    #[must_use]
    #[inline(always)]
    fn take_run(&self, state: Self::State, values: &[Self::Value], places: Places) -> Self::State {
        if Self::COMMUTATIVE && values.len() >= 2 * LANES {
            return self.combine(state, in_lanes(self, values, places));
        }
        one_by_one(self, state, values, places)
    }
}

/// The places of a run of values: `first`, `first + step` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// The place of the first value.
    pub first: i64,
    /// The distance from one to the next; negative in a run that goes backwards.
    pub step: i64,
}

impl Places {
    /// The place of the value with index `i`.
    #[inline(always)]
    pub fn at(self, i: usize) -> i64 {
        self.first + i as i64 * self.step
    }

    /// The places of the values from the one with index `i` on.
    #[inline(always)]
    #[must_use]
    pub fn from(self, i: usize) -> Self {
        Self { first: self.at(i), ..self }
    }
}

/// States side by side: enough to keep the vector units busy.
pub(crate) const LANES: usize = 16;

/// Values that an operator may look at twice, since they stay in the first-level cache.
pub(super) const RUN: usize = 1024;

/// [`Operator::take_run`], for the vector units that are there.
pub(crate) fn take_run<O: Operator>(op: &O, state: O::State, values: &[O::Value], places: Places) -> O::State {
    with_vectors!(<O: [Operator]>(op: &O, state: O::State, values: &[O::Value], places: Places) -> O::State {
        op.take_run(state, values, places)
    })
}

/// `take`, value by value.
#[inline(always)]
pub(super) fn one_by_one<O: Operator + ?Sized>(
    op: &O,
    state: O::State,
    values: &[O::Value],
    places: Places,
) -> O::State {
    let mut state = state;
    for (i, &value) in values.iter().enumerate() {
        state = op.take(state, value, places.at(i));
    }
    state
}

/// The state of `values`, the value of index `i` taken by state `i % LANES`.
#[inline(always)]
fn in_lanes<O: Operator + ?Sized>(op: &O, values: &[O::Value], places: Places) -> O::State {
    let mut states = [op.identity(); LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for (i, chunk) in chunks.iter().enumerate() {
        for lane in 0..LANES {
            states[lane] = op.take(states[lane], chunk[lane], places.at(i * LANES + lane));
        }
    }
    for (lane, &value) in rest.iter().enumerate() {
        states[lane] = op.take(states[lane], value, places.at(chunks.len() * LANES + lane));
    }
    halved(&mut states, |a, b| op.combine(a, b))
}

/// All lanes combined, the lower half with the upper one again and again. Not inlined: the compiler would lay out the loop before it for these few
/// steps, in pairs of lanes, and not for whole vectors.
#[inline(never)]
fn halved<S: Copy>(lanes: &mut [S; LANES], combine: impl Fn(S, S) -> S) -> S {
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            lanes[lane] = combine(lanes[lane], lanes[lane + width]);
        }
    }
    lanes[0]
}

/// The sum of `term(value)` in f64, in a fixed order with [`LANES`] sums side by side.
#[inline(always)]
pub(super) fn sum_of<T: Copy>(values: &[T], term: impl Fn(T) -> f64) -> f64 {
    let mut sums = [0.0; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            sums[lane] += term(chunk[lane]);
        }
    }
    for (lane, &value) in rest.iter().enumerate() {
        sums[lane] += term(value);
    }
    halved(&mut sums, |a, b| a + b)
}
