//! Reductions of axes that are slower in memory than one that is kept: a row of states takes row after row.

use ndarray::{ArrayView2, ArrayViewD, Axis};

use super::{
    operator::{LANES, Operator, Places},
    parallel,
    reduce::REDUCED_AT_ONCE,
    vector_units::with_vectors,
    walk::{Part, Walk},
};

/// States side by side: those of f64 are half of a first-level cache.
const TILE: usize = 2048;

/// Which of the kept axes is the fastest of all in memory, and long enough to be worth a row of states.
#[inline(never)]
pub(super) fn fastest_kept<T>(view: &ArrayViewD<'_, T>, kept: &[usize], reduced: &[usize]) -> Option<usize> {
    let stride = |axis: usize| view.stride_of(Axis(axis)).unsigned_abs();
    let long = |axis: &&usize| view.shape()[**axis] > 1;
    let slower = reduced.iter().filter(long).map(|&axis| stride(axis)).min()?;
    let fastest = (0..kept.len()).filter(|&at| long(&&kept[at])).min_by_key(|&at| stride(kept[at]))?;
    (stride(kept[fastest]) < slower && view.shape()[kept[fastest]] >= LANES).then_some(fastest)
}

/// The states of all results, the columns being the fastest. No axis is empty.
pub(super) fn states<O: Operator>(op: &O, walk: &Walk<'_, O::Value>) -> Vec<O::State> {
    parallel::collect(walk.outer(), &|result| row_of_states(op, &walk.part(result), walk.fastest())).concat()
}

/// The states of all columns of a part: tiles of blocks of rows, joined in order.
fn row_of_states<O: Operator>(op: &O, part: &Part<'_, O::Value>, columns: usize) -> Vec<O::State> {
    let at_once = (2 * REDUCED_AT_ONCE / columns.min(TILE)).max(1);
    let rows = part.len() / columns;
    let (blocks, tiles) = (rows.div_ceil(at_once), columns.div_ceil(TILE));
    let tile = |task: usize| {
        let (block, tile) = (task / tiles, task % tiles);
        let columns = tile * TILE..columns.min((tile + 1) * TILE);
        let mut states = vec![op.neutral(); columns.len()];
        part.planes(block * at_once, rows.min((block + 1) * at_once), |_, plane, places| {
            take_plane(op, &mut states, plane.slice_move(ndarray::s![.., columns.clone()]), places);
        });
        states
    };
    if blocks * tiles == 1 {
        return tile(0);
    }
    let tiles_of_states: Vec<Vec<O::State>> = parallel::collect(blocks * tiles, &tile);
    let mut joined = tiles_of_states[..tiles].concat();
    for later in tiles_of_states[tiles..].chunks(tiles) {
        for (state, &later) in joined.iter_mut().zip(later.iter().flatten()) {
            *state = op.join(*state, later);
        }
    }
    joined
}

/// The states with all rows; `places` are those of the rows.
fn take_plane<O: Operator>(op: &O, states: &mut [O::State], plane: ArrayView2<'_, O::Value>, places: Places) {
    let slices: Option<Vec<_>> = plane.outer_iter().map(|row| row.to_slice()).collect();
    let Some(slices) = slices else {
        return plane.outer_iter().enumerate().for_each(|(i, row)| take_row(op, states, row.iter(), places.at(i)));
    };
    take_slices(op, states, &slices, places);
}

/// The same for rows that are slices: by four, so that a state is read and written once for all.
fn take_slices<O: Operator>(op: &O, states: &mut [O::State], rows: &[&[O::Value]], places: Places) {
    with_vectors!(<O: [Operator]>(op: &O, states: &mut [O::State], rows: &[&[O::Value]], places: Places) -> () {
        let (fours, rest) = rows.as_chunks::<4>();
        for (i, four) in fours.iter().enumerate() {
            let [a, b, c, d] = four;
            let places = places.from(4 * i);
            let n = states.len().min(a.len()).min(b.len()).min(c.len()).min(d.len());
            let (states, a, b, c, d) = (&mut states[..n], &a[..n], &b[..n], &c[..n], &d[..n]);
            for i in 0..n {
                let two = op.take(op.take(states[i], a[i], places.at(0)), b[i], places.at(1));
                states[i] = op.take(op.take(two, c[i], places.at(2)), d[i], places.at(3));
            }
        }
        for (i, row) in rest.iter().enumerate() {
            for (state, &value) in states.iter_mut().zip(*row) {
                *state = op.take(*state, value, places.at(4 * fours.len() + i));
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
