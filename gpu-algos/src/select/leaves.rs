//! The leaves of a selection, each of which its kernel reads once.

use gpu_array::expression::LoweredLeaf;
use smallvec::SmallVec;

use crate::common::axes::Leaves;

/// The leaves that a kernel reads.
pub(super) struct Read<'l> {
    /// Leaves of the values that are leaves of `heads` too, encoded as in `selected.cuh`.
    pub(super) same: u64,
    /// The leaves without those repetitions.
    pub(super) leaves: SmallVec<[LoweredLeaf<'l>; 4]>,
    /// Bytes of a value of each leaf, or 0 if the leaf is not read.
    pub(super) bytes: SmallVec<[usize; 4]>,
}

impl<'l> Read<'l> {
    /// Finds the repeated leaves; the first `of_values` leaves belong to the moved values.
    pub(super) fn of(leaves: &Leaves<'l>, of_values: usize) -> Self {
        let is_same = |one: &LoweredLeaf<'_>, other: &LoweredLeaf<'_>| {
            let layout = |leaf: &LoweredLeaf<'_>| (leaf.address, leaf.dtype, leaf.is_place);
            !one.is_place && layout(one) == layout(other) && one.strides == other.strides
        };
        // The encoding has a digit of 4 bits for each leaf.
        let seen = &leaves[..of_values.min(15)];
        let mut read = Self { same: 0, leaves: SmallVec::new(), bytes: SmallVec::new() };
        for (number, leaf) in leaves.iter().enumerate() {
            let digit = number.checked_sub(of_values).filter(|&digit| digit < 16);
            let same = digit.and_then(|digit| Some((digit, seen.iter().position(|other| is_same(leaf, other))?)));
            if let Some((digit, place)) = same {
                read.same |= (place as u64 + 1) << (4 * digit);
            } else {
                read.leaves.push(*leaf);
            }
            let is_read = same.is_none() && !leaf.is_place;
            read.bytes.push(if is_read { leaf.dtype.bytes() } else { 0 });
        }
        read
    }
}
