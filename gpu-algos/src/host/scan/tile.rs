//! Some elements of a lane that are side by side: runs of them are scanned at the same time, so that no addition waits for the one before it.

use crate::operators::{Cumulative, Places, vector_units::with_vectors};

/// Elements of a run, which are taken one after another.
const RUN: usize = 256;
/// Runs side by side.
const RUNS: usize = 8;
/// Elements of a tile: their states stay in a first-level cache.
pub(super) const TILE: usize = RUN * RUNS;

/// The elements of a tile, or of less than one.
#[derive(Clone, Copy)]
pub(super) struct Tile<'a, V> {
    pub(super) values: &'a [V],
    /// Whether each value begins a segment; empty where the scan has no segments.
    pub(super) heads: &'a [bool],
    /// The places of the values.
    pub(super) places: Places,
}

impl<V> Tile<'_, V> {
    fn is_headed(&self) -> bool {
        self.heads.iter().fold(false, |any, &head| any | head)
    }
}

/// The state of a stretch, from its last head on.
#[derive(Clone, Copy)]
pub(super) struct Stretch<S> {
    pub(super) state: S,
    /// Whether it has a head.
    pub(super) headed: bool,
}

/// The state carried past a stretch.
#[inline(always)]
pub(super) fn carried<O: Cumulative>(op: &O, before: O::State, stretch: Stretch<O::State>) -> O::State {
    if stretch.headed { stretch.state } else { op.combine(before, stretch.state) }
}

/// The stretches of a tile: of its runs, or one where it is not full.
pub(super) fn stretches<O: Cumulative>(op: &O, tile: Tile<'_, O::Value>, stretches: &mut Vec<Stretch<O::State>>) {
    match tile.is_headed() {
        true => add_stretches::<O, true>(op, tile, stretches),
        false => add_stretches::<O, false>(op, tile, stretches),
    }
}

fn add_stretches<O: Cumulative, const SEGMENTED: bool>(
    op: &O,
    tile: Tile<'_, O::Value>,
    stretches: &mut Vec<Stretch<O::State>>,
) {
    with_vectors!(<O: [Cumulative], const SEGMENTED: bool>(op: &O, tile: Tile<'_, O::Value>, stretches: &mut Vec<Stretch<O::State>>) -> () {
        match tile.values.first_chunk::<TILE>() {
            Some(values) => {
                let runs: RunLanes<O::State, RUNS> = take_runs::<O, RUNS, SEGMENTED>(op, values, RUN, tile, |_, _| {}, |_, _| {});
                stretches.extend((0..RUNS).map(|r| runs.stretch(r, RUN)));
            }
            None => {
                let n = tile.values.len();
                stretches.push(take_runs::<O, 1, SEGMENTED>(op, tile.values, n, tile, |_, _| {}, |_, _| {}).stretch(0, n));
            }
        }
    })
}

/// Writes the results of a tile that follows `carry`; returns the next carry. `states` are as many as a tile has, of any values.
pub(super) fn write<O: Cumulative>(
    op: &O,
    exclusive: bool,
    carry: O::State,
    tile: Tile<'_, O::Value>,
    states: &mut [O::State],
    out: &mut [O::Output],
) -> O::State {
    match (tile.is_headed(), exclusive) {
        (false, false) => write_as::<O, false, false>(op, carry, tile, states, out),
        (false, true) => write_as::<O, false, true>(op, carry, tile, states, out),
        (true, false) => write_as::<O, true, false>(op, carry, tile, states, out),
        (true, true) => write_as::<O, true, true>(op, carry, tile, states, out),
    }
}

fn write_as<O: Cumulative, const SEGMENTED: bool, const EXCLUSIVE: bool>(
    op: &O,
    carry: O::State,
    tile: Tile<'_, O::Value>,
    states: &mut [O::State],
    out: &mut [O::Output],
) -> O::State {
    with_vectors!(<O: [Cumulative], const SEGMENTED: bool, const EXCLUSIVE: bool>(
        op: &O, carry: O::State, tile: Tile<'_, O::Value>, states: &mut [O::State], out: &mut [O::Output]
    ) -> O::State {
        match (tile.values.first_chunk::<TILE>(), states.first_chunk_mut::<TILE>()) {
            (Some(values), Some(states)) => {
                let runs = kept_runs::<O, RUNS, SEGMENTED, EXCLUSIVE>(op, values, RUN, tile, states);
                joined_to::<O, RUNS>(op, carry, &runs, tile.values.len() / RUNS, states, out)
            }
            _ => {
                let n = tile.values.len();
                let runs = kept_runs::<O, 1, SEGMENTED, EXCLUSIVE>(op, tile.values, n, tile, states);
                joined_to::<O, 1>(op, carry, &runs, n, states, out)
            }
        }
    })
}

/// `N` runs of `run` elements after they were taken.
struct RunLanes<S, const N: usize> {
    states: [S; N],
    /// The index of the first head of each run; `run` where there is none.
    heads: [usize; N],
}

impl<S: Copy, const N: usize> RunLanes<S, N> {
    #[inline(always)]
    fn stretch(&self, r: usize, run: usize) -> Stretch<S> {
        Stretch { state: self.states[r], headed: self.heads[r] < run }
    }
}

/// Takes `N` runs at the same time, each from the identity state, and calls before and after each element.
#[inline(always)]
fn take_runs<O: Cumulative, const N: usize, const SEGMENTED: bool>(
    op: &O,
    values: &[O::Value],
    run: usize,
    tile: Tile<'_, O::Value>,
    mut before: impl FnMut(usize, O::State),
    mut after: impl FnMut(usize, O::State),
) -> RunLanes<O::State, N> {
    let mut runs = RunLanes { states: [op.identity(); N], heads: [run; N] };
    let heads = if SEGMENTED { &tile.heads[..N * run] } else { &[] };
    let values = &values[..N * run];
    for i in 0..run {
        for r in 0..N {
            let at = r * run + i;
            if SEGMENTED && heads[at] {
                runs.states[r] = op.identity();
                runs.heads[r] = runs.heads[r].min(i);
            }
            before(at, runs.states[r]);
            runs.states[r] = op.take(runs.states[r], values[at], tile.places.at(at));
            after(at, runs.states[r]);
        }
    }
    runs
}

/// [`take_runs`] that keeps the state at each element.
#[inline(always)]
fn kept_runs<O: Cumulative, const N: usize, const SEGMENTED: bool, const EXCLUSIVE: bool>(
    op: &O,
    values: &[O::Value],
    run: usize,
    tile: Tile<'_, O::Value>,
    states: &mut [O::State],
) -> RunLanes<O::State, N> {
    let states = &mut states[..N * run];
    match EXCLUSIVE {
        true => take_runs::<O, N, SEGMENTED>(op, values, run, tile, |at, state| states[at] = state, |_, _| {}),
        false => take_runs::<O, N, SEGMENTED>(op, values, run, tile, |_, _| {}, |at, state| states[at] = state),
    }
}

/// Writes the results: those before the first head of a run follow the state before the run.
#[inline(always)]
fn joined_to<O: Cumulative, const N: usize>(
    op: &O,
    mut carry: O::State,
    runs: &RunLanes<O::State, N>,
    run: usize,
    states: &[O::State],
    out: &mut [O::Output],
) -> O::State {
    for r in 0..N {
        let (states, out) = (&states[r * run..(r + 1) * run], &mut out[r * run..(r + 1) * run]);
        let head = runs.heads[r].min(run);
        let ((states, own), (out, own_out)) = (states.split_at(head), out.split_at_mut(head));
        for (out, &state) in out.iter_mut().zip(states) {
            *out = op.output(op.combine(carry, state));
        }
        for (out, &state) in own_out.iter_mut().zip(own) {
            *out = op.output(state);
        }
        carry = carried(op, carry, runs.stretch(r, run));
    }
    carry
}
