//! Leaves along the axes of a reduction: their first elements, and the packs that they are read in.

use gpu_array::expression::{CONSTANT, LoweredLeaf, PACKED, pack_bytes};
use smallvec::SmallVec;

use super::axes::Axes;
use crate::common::axes::{Axis, kind_along};

/// Leaves with their addresses.
pub(super) struct Located<'a> {
    leaves: &'a [LoweredLeaf<'a>],
    axes: &'a Axes,
    /// The address of each leaf's first element, or the first index of a leaf without memory.
    pub(super) bases: SmallVec<[u64; 4]>,
}

impl<'a> Located<'a> {
    pub(super) fn of(leaves: &'a [LoweredLeaf<'a>], axes: &'a Axes) -> Self {
        let each = leaves.iter().zip(&axes.leaf_offsets).map(|(leaf, &offset)| {
            let step = if leaf.is_place { 1 } else { leaf.dtype.bytes() as i64 };
            leaf.address.wrapping_add_signed(offset as i64 * step)
        });
        Self { leaves, axes, bases: each.collect() }
    }

    /// Whether all packs can be loaded as they lie: there is one reduced axis, and leaves are contiguous and aligned along the axis that threads go
    /// along, or repeated beside others where that is an outer one. Only packs of one result may be cut.
    pub(super) fn is_contiguous(&self, width: usize) -> bool {
        let axes = self.axes;
        let has_one = axes.outer.is_empty();
        let along = if axes.along_outer { &axes.outer[0] } else { &axes.reduced[0] };
        if axes.reduced.len() != 1 || !(has_one || along.length.is_multiple_of(width)) {
            return false;
        }
        let peel = if has_one { self.peel(width) } else { 0 };
        (0..self.leaves.len()).all(|leaf| match self.kind(leaf, peel, width) {
            PACKED => true,
            CONSTANT => axes.along_outer && self.leaves.len() > 1,
            _ => false,
        })
    }

    /// Elements before the first one that align the packs of the first leaf in memory, along the one reduced axis.
    pub(super) fn peel(&self, width: usize) -> usize {
        let axis = &self.axes.reduced[0];
        let first = (self.leaves.iter().zip(&self.bases).zip(&axis.steps[1..]))
            .find(|((leaf, _), step)| !leaf.is_place && **step == 1);
        first.map_or(0, |((leaf, base), _)| {
            let bytes = leaf.dtype.bytes();
            (base % pack_bytes(width, bytes)) as usize / bytes
        })
    }

    /// The kind of a leaf along the axis that threads go along.
    pub(super) fn kind(&self, leaf: usize, peel: usize, width: usize) -> u64 {
        let LoweredLeaf { dtype, is_place, .. } = self.leaves[leaf];
        if is_place {
            return PACKED;
        }
        let axes = self.axes;
        let (along, others): (&Axis, _) = match axes.along_outer {
            true => (&axes.outer[0], axes.outer[1..].iter().chain(&axes.reduced[..])),
            false => (&axes.reduced[0], axes.reduced[1..].iter().chain(&axes.outer[..])),
        };
        let start = self.bases[leaf].wrapping_sub((peel * dtype.bytes()) as u64);
        kind_along(along, others, leaf + 1, (start, dtype.bytes()), width)
    }
}
