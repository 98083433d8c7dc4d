//! Loops on all threads, compiled once for a type of states and not for each operator: those are many, and rayon's part is large.

use std::ops::Range;

use gpu_array::start_threads;
use rayon::prelude::*;

/// Elements of a block, whose states are combined with those of other blocks: whatever the number of threads.
pub(super) const REDUCED_AT_ONCE: usize = 1 << 15;

/// Starts rayon's threads, or one where they are refused, before its first work.
pub(crate) fn ready() {
    let _ = start_threads();
}

/// `state(i)` for each `i` below `n`, in order.
pub(super) fn collect<S: Send>(n: usize, state: &(dyn Fn(usize) -> S + Sync)) -> Vec<S> {
    ready();
    (0..n).into_par_iter().map(state).collect()
}

/// Calls `fill` with parts of `states`, each of `at_once` or, the last, of fewer, and the number of the first state in it.
pub(super) fn fill<S: Send>(states: &mut [S], at_once: usize, fill: &(dyn Fn(usize, &mut [S]) + Sync)) {
    ready();
    states.par_chunks_mut(at_once).enumerate().for_each(|(part, states)| fill(part * at_once, states));
}

/// Calls with each of `parts` and its number.
pub(super) fn each<P: Send>(parts: Vec<P>, call: &(dyn Fn(usize, P) + Sync)) {
    ready();
    parts.into_par_iter().enumerate().for_each(|(i, part)| call(i, part));
}

/// `state(i)` of each `i` of a range that is not empty, combined in order by a tree that depends on the range alone. Few states exist at a time.
pub(super) fn tree<S: Send>(
    range: Range<usize>,
    state: &(dyn Fn(usize) -> S + Sync),
    combine: &(dyn Fn(S, S) -> S + Sync),
) -> S {
    if range.len() <= 1 {
        return state(range.start);
    }
    ready();
    let middle = range.start + range.len() / 2;
    let (earlier, later) =
        rayon::join(|| tree(range.start..middle, state, combine), || tree(middle..range.end, state, combine));
    combine(earlier, later)
}
