//! Reductions of axes that are slower in memory than one that is outer: a row of states takes row after row.

use ndarray::{ArrayView2, ArrayViewD, Axis};

use super::{
    parallel::{self, REDUCED_AT_ONCE},
    walk::{Part, Walk},
};
use crate::operators::{LANES, Operator, Places, vector_units::with_vectors};

/// States side by side: those of f64 leave room in a first-level cache for the rows that pass by.
const TILE: usize = 4096;

/// Rows whose values a state takes before it is written again.
const TOGETHER: usize = 16;

/// Blocks of rows, unless these have too few values for a task, or more than are needed: making and combining a row of states costs as much as
/// reading two or three rows of values.
const BLOCKS: usize = 16;

/// The outer axis that is the fastest of all in memory, as its index in `outer`, where it is long enough to be worth a row of states.
#[inline(never)]
pub(super) fn fastest_outer<T>(view: &ArrayViewD<'_, T>, outer: &[usize], reduced: &[usize]) -> Option<usize> {
    let stride = |axis: usize| view.stride_of(Axis(axis)).unsigned_abs();
    let long = |axis: &&usize| view.shape()[**axis] > 1;
    let slower = reduced.iter().filter(long).map(|&axis| stride(axis)).min()?;
    let fastest = (0..outer.len()).filter(|&at| long(&&outer[at])).min_by_key(|&at| stride(outer[at]))?;
    (stride(outer[fastest]) < slower && view.shape()[outer[fastest]] >= LANES).then_some(fastest)
}

/// The states of all results, the columns being the fastest. No axis is empty.
pub(super) fn states<O: Operator>(op: &O, walk: &Walk<'_, O::Value>) -> Vec<O::State> {
    parallel::collect(walk.outer(), &|result| row_of_states(op, &walk.part(result), walk.fastest())).concat()
}

/// The states of all columns of a part: of blocks of rows, by tiles, combined in order.
fn row_of_states<O: Operator>(op: &O, part: &Part<'_, O::Value>, columns: usize) -> Vec<O::State> {
    let rows = part.len() / columns;
    let width = columns.div_ceil(columns.div_ceil(TILE)).next_multiple_of(LANES);
    let at_once = rows.div_ceil(BLOCKS).clamp(2 * REDUCED_AT_ONCE / width, 64 * REDUCED_AT_ONCE / width);
    let block = |block: usize| {
        let mut states = vec![op.identity(); columns];
        parallel::fill(&mut states, width, &|first, states| {
            part.planes(block * at_once, rows.min((block + 1) * at_once), |_, plane, places| {
                let plane = plane.slice_move(ndarray::s![.., first..first + states.len()]);
                take_plane(op, states, plane, places);
            });
        });
        states
    };
    parallel::tree(0..rows.div_ceil(at_once), &block, &|mut earlier, later| {
        parallel::fill(&mut earlier, width, &|first, states| {
            states.iter_mut().zip(&later[first..]).for_each(|(state, &later)| *state = op.combine(*state, later));
        });
        earlier
    })
}

/// The states with all rows; `places` are those of the rows.
fn take_plane<O: Operator>(op: &O, states: &mut [O::State], plane: ArrayView2<'_, O::Value>, places: Places) {
    let slices: Option<Vec<_>> = plane.outer_iter().map(|row| row.to_slice()).collect();
    let Some(slices) = slices else {
        return plane.outer_iter().enumerate().for_each(|(i, row)| take_row(op, states, row.iter(), places.at(i)));
    };
    take_slices(op, states, &slices, places);
}

/// [`take_plane`] for rows that are slices: by sixteen, so that a state is read and written once for all.
fn take_slices<O: Operator>(op: &O, states: &mut [O::State], rows: &[&[O::Value]], places: Places) {
    with_vectors!(<O: [Operator]>(op: &O, states: &mut [O::State], rows: &[&[O::Value]], places: Places) -> () {
        let (groups, rest) = rows.as_chunks::<TOGETHER>();
        for (i, group) in groups.iter().enumerate() {
            let places = places.from(TOGETHER * i);
            let n = group.iter().fold(states.len(), |n, row| n.min(row.len()));
            let (states, rows) = (&mut states[..n], group.map(|row| &row[..n]));
            for i in 0..n {
                for (k, row) in rows.iter().enumerate() {
                    states[i] = op.take(states[i], row[i], places.at(k));
                }
            }
        }
        for (i, row) in rest.iter().enumerate() {
            for (state, &value) in states.iter_mut().zip(*row) {
                *state = op.take(*state, value, places.at(TOGETHER * groups.len() + i));
            }
        }
    })
}

fn take_row<'v, O: Operator<Value: 'v>>(
    op: &O,
    states: &mut [O::State],
    values: impl Iterator<Item = &'v O::Value>,
    place: i64,
) {
    for (state, &value) in states.iter_mut().zip(values) {
        *state = op.take(*state, value, place);
    }
}
