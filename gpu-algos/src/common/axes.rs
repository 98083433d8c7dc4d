//! Axes as kernels walk them: a length, and a stride of each operand.

use gpu_array::expression::{CONSTANT, LoweredLeaf, PACKED, STRIDED, pack_bytes};
use smallvec::SmallVec;

/// The leaves of an expression.
pub(crate) type Leaves<'l> = SmallVec<[LoweredLeaf<'l>; 4]>;

/// Distances of neighbours along an axis, in elements: that of the operation itself, then that of each leaf.
/// The first is of indices along a reduced axis, of results along an outer axis and in a scan.
pub(crate) type Steps = SmallVec<[isize; 5]>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    pub(crate) length: usize,
    pub(crate) outer: bool,
    pub(crate) steps: Steps,
}

/// How an operand whose elements have `bytes` lies along the axis that threads go along in packs of `width` elements, the first at `start`. Along the
/// `others` packs stay aligned where steps are whole packs.
pub(crate) fn kind_along<'x>(
    along: &Axis,
    mut others: impl Iterator<Item = &'x Axis>,
    operand: usize,
    (start, bytes): (u64, usize),
    width: usize,
) -> u64 {
    let pack = pack_bytes(width, bytes);
    let is_whole = |axis: &Axis| (axis.steps[operand] * bytes as isize) % pack as isize == 0;
    match along.steps[operand] {
        0 => CONSTANT,
        1 if start.is_multiple_of(pack) && others.all(is_whole) => PACKED,
        _ => STRIDED,
    }
}

/// Joins axes that are contiguous for every operand.
pub(crate) fn join(axes: &mut SmallVec<[Axis; 4]>) {
    let mut joined: SmallVec<[Axis; 4]> = SmallVec::new();
    for axis in axes.drain(..) {
        match joined.last_mut() {
            Some(inner) if follows(&axis, inner) => inner.length *= axis.length,
            _ => joined.push(axis),
        }
    }
    *axes = joined;
}

/// Whether `axis` continues where `inner` ends, for every operand.
pub(crate) fn follows(axis: &Axis, inner: &Axis) -> bool {
    axis.steps
        .iter()
        .zip(&inner.steps)
        .all(|(&outer, &inner_step)| Some(outer) == inner_step.checked_mul(inner.length as isize))
}
