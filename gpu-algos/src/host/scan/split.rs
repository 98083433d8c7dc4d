//! Arrays cut into pieces for all threads, never across the axis of a scan.

use ndarray::{ArrayViewD, ArrayViewMutD, Axis};

use super::super::parallel::{REDUCED_AT_ONCE, ready};

/// The arrays that are read and the one that is written, all with the same axes.
pub(super) struct LanePiece<'a, V, R> {
    pub(super) view: ArrayViewD<'a, V>,
    pub(super) borders: Option<ArrayViewD<'a, bool>>,
    pub(super) out: ArrayViewMutD<'a, R>,
}

impl<'a, V, R> LanePiece<'a, V, R> {
    fn at(self, axis: Axis, index: usize) -> (Self, Self) {
        let (view, view_behind) = self.view.split_at(axis, index);
        let (out, out_behind) = self.out.split_at(axis, index);
        let (borders, borders_behind) = self.borders.map(|borders| borders.split_at(axis, index)).unzip();
        (Self { view, borders, out }, Self { view: view_behind, borders: borders_behind, out: out_behind })
    }

    /// The axis to cut, and where: the longest but the last, unless the pieces are small enough. The one before the last keeps `width`.
    fn cut(&self, width: usize) -> Option<(Axis, usize)> {
        let shape = self.view.shape();
        let rank = shape.len();
        if self.view.len() <= REDUCED_AT_ONCE {
            return None;
        }
        let halves = |axis: usize| shape[axis] / if axis + 2 == rank { 2 * width } else { 2 };
        let axis = (0..rank.saturating_sub(1)).filter(|&axis| halves(axis) > 0).max_by_key(|&axis| halves(axis))?;
        let half = shape[axis] / 2;
        Some((Axis(axis), if axis + 2 == rank { half - half % width } else { half }))
    }
}

/// Calls with pieces of at most some elements, where the axes but the last allow it.
pub(super) fn pieces<V: Sync, R: Send>(
    piece: LanePiece<'_, V, R>,
    width: usize,
    call: &(dyn Fn(LanePiece<'_, V, R>) + Sync),
) {
    match piece.cut(width) {
        None => call(piece),
        Some((axis, index)) => {
            let (piece, behind) = piece.at(axis, index);
            ready();
            rayon::join(|| pieces(piece, width, call), || pieces(behind, width, call));
        }
    }
}
