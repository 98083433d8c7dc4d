//! Constants that the host and the kernels of maps of rows share.

use gpu_array::gpu_driver::kernel_constants;

kernel_constants! {
    pub(super) const CONSTANTS: &str;
    /// In place of a stage: a leaf of neighbours along the rows, aligned to packs.
    pub(super) const PACKED_LEAF: i32 = -1;
    /// In place of a stage: a leaf with one element for all places of a row.
    pub(super) const CONSTANT_LEAF: i32 = -2;
    /// In place of a stage: any other leaf.
    pub(super) const ANY_LEAF: i32 = -3;
    /// The most bytes of an operator's state.
    pub(super) const MOST_STATE_BYTES: usize = 64;
}
