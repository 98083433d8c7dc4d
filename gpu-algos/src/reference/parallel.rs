//! Loops on all threads, compiled once for a type of states and not for each operator: those are many, and rayon's part is large.

use rayon::prelude::*;

/// `state(i)` for each `i` below `n`, in order.
pub(super) fn collect<S: Send>(n: usize, state: &(dyn Fn(usize) -> S + Sync)) -> Vec<S> {
    (0..n).into_par_iter().map(state).collect()
}

/// Calls `fill` with parts of `states`, each of `at_once` or, the last, of fewer, and the number of the first state in it.
pub(super) fn fill<S: Send>(states: &mut [S], at_once: usize, fill: &(dyn Fn(usize, &mut [S]) + Sync)) {
    states.par_chunks_mut(at_once).enumerate().for_each(|(part, states)| fill(part * at_once, states));
}
