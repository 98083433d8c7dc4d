//! Scans lane by lane: short ones whole, long ones by blocks of tiles.

use std::ops::Range;

use ndarray::{ArrayView1, ArrayViewD, ArrayViewMut1, ArrayViewMutD, Axis, s};

use super::{
    super::parallel::{self, REDUCED_AT_ONCE},
    split::{self, LanePiece},
    tile::{self, Stretch, TILE, Tile},
};
use crate::operators::{Cumulative, Places};

/// Scans along the last axis. `borders` are true between elements of two segments; one less than the elements.
pub(super) fn scan<O: Cumulative>(
    op: &O,
    view: ArrayViewD<'_, O::Value>,
    borders: Option<ArrayViewD<'_, bool>>,
    (exclusive, places): (bool, Places),
    out: ArrayViewMutD<'_, O::Output>,
) {
    let last = Axis(view.ndim() - 1);
    let long = view.len_of(last) > REDUCED_AT_ONCE;
    let how = How { exclusive, places };
    split::pieces(LanePiece { view, borders, out }, 1, &|LanePiece { view, borders, mut out }| {
        let mut scratch = LaneBuffers::new(op);
        let mut borders = borders.as_ref().map(|borders| borders.lanes(last).into_iter());
        for (values, out) in view.lanes(last).into_iter().zip(out.lanes_mut(last)) {
            let lane = Lane { values, borders: borders.as_mut().and_then(Iterator::next) };
            match long {
                true => scan_long(op, how, lane, out),
                false => _ = scan_part(op, how, &lane, 0, op.identity(), out, &mut scratch),
            }
        }
    });
}

#[derive(Clone, Copy)]
struct How {
    exclusive: bool,
    /// The places of a lane.
    places: Places,
}

#[derive(Clone, Copy)]
struct Lane<'v, V> {
    values: ArrayView1<'v, V>,
    borders: Option<ArrayView1<'v, bool>>,
}

/// The buffer of a tile.
struct LaneBuffers<O: Cumulative> {
    states: Vec<O::State>,
    outputs: Vec<O::Output>,
    gathered: Gathered<O::Value>,
}

impl<O: Cumulative> LaneBuffers<O> {
    fn new(op: &O) -> Self {
        Self { states: vec![op.identity(); TILE], outputs: Vec::new(), gathered: Gathered::new() }
    }
}

/// Elements of a tile that are not side by side in memory.
struct Gathered<V> {
    values: Vec<V>,
    heads: Vec<bool>,
}

impl<V: Copy> Gathered<V> {
    fn new() -> Self {
        Self { values: Vec::new(), heads: Vec::new() }
    }
}

impl<V: Copy> Lane<'_, V> {
    /// The elements of a range.
    fn tile<'t>(&'t self, range: Range<usize>, places: Places, gathered: &'t mut Gathered<V>) -> Tile<'t, V> {
        let values = self.values.slice(s![range.clone()]);
        gathered.heads.clear();
        if let Some(borders) = self.borders {
            // The first element of all has no border before it, and needs none.
            let before = range.start.saturating_sub(1)..range.end - 1;
            gathered.heads.resize(range.len() - before.len(), false);
            match borders.to_slice() {
                Some(all) => gathered.heads.extend_from_slice(&all[before]),
                None => gather(borders.slice(s![before]), &mut gathered.heads),
            }
        }
        let values = match self.values.to_slice() {
            Some(all) => &all[range.clone()],
            None => {
                gathered.values.clear();
                gather(values, &mut gathered.values);
                &gathered.values
            }
        };
        Tile { values, heads: &gathered.heads, places: places.from(range.start) }
    }
}

/// Appends elements; those that lie backwards are side by side too.
fn gather<V: Copy>(from: ArrayView1<'_, V>, to: &mut Vec<V>) {
    match from.slice(s![..;-1]).to_slice() {
        Some(backwards) => to.extend(backwards.iter().rev()),
        None => to.extend(from),
    }
}

fn scatter<R: Clone>(from: &[R], mut to: ArrayViewMut1<'_, R>) {
    match to.slice_mut(s![..;-1]).into_slice() {
        Some(backwards) => backwards.iter_mut().rev().zip(from).for_each(|(to, from)| to.clone_from(from)),
        None => to.iter_mut().zip(from).for_each(|(to, from)| to.clone_from(from)),
    }
}

/// Scans the elements from `first` on, as many as there are results, after those of the state `carry`; returns the state after them.
fn scan_part<O: Cumulative>(
    op: &O,
    how: How,
    lane: &Lane<'_, O::Value>,
    first: usize,
    mut carry: O::State,
    mut out: ArrayViewMut1<'_, O::Output>,
    scratch: &mut LaneBuffers<O>,
) -> O::State {
    for at in (0..out.len()).step_by(TILE) {
        let n = TILE.min(out.len() - at);
        let tile = lane.tile(first + at..first + at + n, how.places, &mut scratch.gathered);
        match out.as_slice_mut() {
            Some(out) => carry = tile::write(op, how.exclusive, carry, tile, &mut scratch.states, &mut out[at..at + n]),
            None => {
                scratch.outputs.resize(n, op.output(op.identity()));
                carry = tile::write(op, how.exclusive, carry, tile, &mut scratch.states, &mut scratch.outputs);
                scatter(&scratch.outputs, out.slice_mut(s![at..at + n]));
            }
        }
    }
    carry
}

/// Scans a lane of several blocks: the stretches of all, the state carried to each block, then the results. The state carried past a run is the one
/// that its last result was made of, so sums of values that are not negative never fall.
fn scan_long<O: Cumulative>(op: &O, how: How, lane: Lane<'_, O::Value>, mut out: ArrayViewMut1<'_, O::Output>) {
    let n = lane.values.len();
    let stretches = |block: usize| {
        let mut gathered = Gathered::new();
        let mut stretches: Vec<Stretch<O::State>> = Vec::with_capacity(REDUCED_AT_ONCE / TILE * 8);
        let range = block * REDUCED_AT_ONCE..n.min((block + 1) * REDUCED_AT_ONCE);
        for at in range.clone().step_by(TILE) {
            let tile = lane.tile(at..range.end.min(at + TILE), how.places, &mut gathered);
            tile::stretches(op, tile, &mut stretches);
        }
        stretches
    };
    // Nothing follows the last block.
    let stretches: Vec<_> = parallel::collect(n.div_ceil(REDUCED_AT_ONCE) - 1, &stretches);
    let mut carries = vec![op.identity()];
    let mut carry = op.identity();
    for stretches in &stretches {
        carry = stretches.iter().fold(carry, |carry, &stretch| tile::carried(op, carry, stretch));
        carries.push(carry);
    }
    let parts: Vec<_> = out.axis_chunks_iter_mut(Axis(0), REDUCED_AT_ONCE).collect();
    parallel::each(parts, &|block, out| {
        scan_part(op, how, &lane, block * REDUCED_AT_ONCE, carries[block], out, &mut LaneBuffers::new(op));
    });
}
