//! Scans along an axis that is slower in memory than another one: a row of states takes row after row.

use ndarray::{ArrayViewD, ArrayViewMutD, Axis, Ix2};

use super::split::{self, LanePiece};
use crate::operators::{Cumulative, LANES, Places, vector_units::with_vectors};

/// Columns of a piece, at least, where there are as many: rows of these are long enough to be read well.
const STRIP_WIDTH: usize = 512;

/// The axis, of all but the last, that is the fastest of all in memory, where it is long enough to be worth a row of states.
pub(super) fn fastest<T>(view: &ArrayViewD<'_, T>) -> Option<usize> {
    let stride = |axis: usize| view.stride_of(Axis(axis)).unsigned_abs();
    let last = view.ndim() - 1;
    let there = (0..last).filter(|&axis| view.len_of(Axis(axis)) >= LANES && stride(axis) > 0);
    there.min_by_key(|&axis| stride(axis)).filter(|&axis| stride(axis) < stride(last) && view.len_of(Axis(last)) > 1)
}

/// Scans along the last axis; the one before it is that of the columns.
pub(super) fn scan<O: Cumulative>(
    op: &O,
    view: ArrayViewD<'_, O::Value>,
    exclusive: bool,
    places: Places,
    out: ArrayViewMutD<'_, O::Output>,
) {
    split::pieces(LanePiece { view, borders: None, out }, STRIP_WIDTH, &|LanePiece { view, out, .. }| {
        each_plane(view, out, &mut |view, out| scan_plane(op, view, (exclusive, places), out));
    });
}

/// Calls with the last two axes at each position of the others.
fn each_plane<V, R>(
    view: ArrayViewD<'_, V>,
    mut out: ArrayViewMutD<'_, R>,
    call: &mut dyn FnMut(ArrayViewD<'_, V>, ArrayViewMutD<'_, R>),
) {
    if view.ndim() == 2 {
        return call(view, out);
    }
    for (view, out) in view.outer_iter().zip(out.outer_iter_mut()) {
        each_plane(view, out, call);
    }
}

fn scan_plane<O: Cumulative>(
    op: &O,
    view: ArrayViewD<'_, O::Value>,
    (exclusive, places): (bool, Places),
    out: ArrayViewMutD<'_, O::Output>,
) {
    let mut states = vec![op.identity(); view.len_of(Axis(0))];
    let (Ok(view), Ok(mut out)) = (view.into_dimensionality::<Ix2>(), out.into_dimensionality::<Ix2>()) else { return };
    for (i, (row, mut out)) in view.columns().into_iter().zip(out.columns_mut()).enumerate() {
        let place = places.at(i);
        match (row.to_slice(), out.as_slice_mut()) {
            (Some(row), Some(out)) if exclusive => take_row::<O, true>(op, &mut states, row, place, out),
            (Some(row), Some(out)) => take_row::<O, false>(op, &mut states, row, place, out),
            _ => {
                for ((state, &value), out) in states.iter_mut().zip(row).zip(out) {
                    let before = *state;
                    *state = op.take(before, value, place);
                    *out = op.output(if exclusive { before } else { *state });
                }
            }
        }
    }
}

fn take_row<O: Cumulative, const EXCLUSIVE: bool>(
    op: &O,
    states: &mut [O::State],
    row: &[O::Value],
    place: i64,
    out: &mut [O::Output],
) {
    with_vectors!(<O: [Cumulative], const EXCLUSIVE: bool>(
        op: &O, states: &mut [O::State], row: &[O::Value], place: i64, out: &mut [O::Output]
    ) -> () {
        for ((state, &value), out) in states.iter_mut().zip(row).zip(out) {
            let before = *state;
            *state = op.take(before, value, place);
            *out = op.output(if EXCLUSIVE { before } else { *state });
        }
    })
}
