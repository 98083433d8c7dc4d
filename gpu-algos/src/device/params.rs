//! Parameters of kernels that go through tiles of values, scans and selections, and the flags that host and kernels share.

use gpu_array::{
    expression::{AxisEntry, MAX_AXES},
    gpu_driver::{Header, joined_text, kernel_constants, kernel_params},
};

use crate::{block, common::source::ValueSource};

kernel_constants! {
    const SCAN_FLAGS: &str;
    /// A scan without the value itself.
    pub(crate) const EXCLUSIVE: u32 = 1;
    /// All leaves and the target are walked from the last element to the first.
    pub(crate) const BACKWARD: u32 = 2;
    /// All leaves are, along all lines, neighbours in memory.
    pub(crate) const CONTIGUOUS: u32 = 4;
    /// There are several lines.
    pub(crate) const LINES: u32 = 8;
    /// `F` is true where a segment begins.
    pub(crate) const FLAGS: u32 = 16;
    /// A segment begins where `F` differs from the value before.
    pub(crate) const KEYS: u32 = 32;
    /// Bytes of a `GridCounters`, at the head of a group's scratch memory.
    pub(crate) const GRID_COUNTERS_BYTES: usize = 16;
}
const _: () = assert!(GRID_COUNTERS_BYTES == block::GRID_COUNTERS_BYTES, "kernels of users have the same counters");

kernel_constants! {
    const SELECT_FLAGS: &str;
    /// Values are written: those of `E`, or of `F` where `KEYS`.
    pub(crate) const VALUES: u32 = 64;
    /// Places are written: at the target, or beside values.
    pub(crate) const INDICES: u32 = 128;
    /// Values that are not selected are written too, behind the selected ones.
    pub(crate) const REJECTED: u32 = 256;
    /// Lengths of runs are written, from one selected value to the next; beside `VALUES` and `INDICES`.
    pub(crate) const LENGTHS: u32 = 512;
}

kernel_params! {
    /// The parameters of a scan of the expression `E` in segments of `F`, passed through `M`, or of a selection of values of `E` by `F`.
    pub(crate) struct TileParams<"class E, class F, class M">, TileHead {
        /// Values of all lines; across rows: rows.
        count: u64,
        /// Values of a line.
        length: u64,
        /// The divisor of `length`.
        length_divisor: u64,
        /// Across rows: packs of all columns.
        packs: u64,
        /// Across rows: the divisor of packs of a row of columns.
        row_divisor: u64,
        /// The address of the scratch memory.
        scratch: u64,
        /// Values before the first that make the packs of the first leaf whole.
        peel: u64,
        /// The address of the target.
        target: u64,
        /// A selection: the address of the number of selected values.
        selected: u64,
        /// A selection: from one element of the target to the next, in elements.
        step: i64,
        /// A selection: the address of places beside values.
        places: u64,
        /// A selection: the address of lengths of runs.
        lengths: u64,
        /// Tiles, or tiles of a group across rows; of one line in `scan_rows`.
        tiles: u32,
        /// Scanned axes.
        scanned_rank: u32,
        /// Axes of lines.
        line_rank: u32,
        /// Across rows: threads of a row of packs as a power of 2.
        log_lanes: u32,
        /// Whether packs of the target are whole in memory.
        is_target_packed: u64,
        /// Whether packs of all leaves are whole in memory.
        are_leaves_packed: u64,
        /// Whether some number of places has more than 31 bits.
        is_wide: u64;
        /// The leaves of `E`, `F` and `M`.
        leaves: ["LeafParams"; "E::Leaves::SIZE + F::Leaves::SIZE + M::Leaves::SIZE"],
        /// The scanned axes, the innermost first; the own strides are the target's.
        scanned: ["AxisParams<1 + E::Leaves::SIZE + F::Leaves::SIZE + M::Leaves::SIZE>"; "MAX_AXES"],
        /// The axes of lines, the innermost first.
        lines: ["AxisParams<1 + E::Leaves::SIZE + F::Leaves::SIZE + M::Leaves::SIZE>"; "MAX_AXES"],
        /// The scalars of `E`, `F` and `M`.
        scalars: ["uint64_t"; "E::SCALARS + F::SCALARS + M::SCALARS"],
        /// Addresses of tables and words of sources, of `E`, `F` and `M`.
        extra: ["uint64_t"; "E::EXTRA + F::EXTRA + M::EXTRA"],
    }
}

/// The header of the parameters.
pub(crate) const TILE_PARAMS: Header = Header {
    name: "tile_params.cuh",
    text: joined_text![
        "#pragma once\n#include \"expression_params.cuh\"\nnamespace gpu {\nnamespace tiles {\n",
        SCAN_FLAGS,
        TileHead::DEFINITION,
        "} // namespace tiles\n} // namespace gpu\nnamespace gpu::algos::select {\n",
        SELECT_FLAGS,
        "} // namespace gpu::algos::select\n",
    ],
};

/// Text for a kernel's program that compares its parameters with those that are passed; the names are those of the structures of `E`, `F` and `M`.
pub(crate) fn check_text<'s>(sources: impl Iterator<Item = &'s dyn ValueSource>, [e, f, m]: [&str; 3]) -> String {
    let (mut leaves, mut scalars, mut extra) = (0, 0, 0);
    for source in sources {
        leaves += source.leaves().len();
        scalars += source.scalars().len();
        extra += source.extra().len();
    }
    let axes = MAX_AXES * AxisEntry::words(1 + leaves);
    let lists = [2 * leaves.max(1), axes, axes, scalars.max(1), extra.max(1)];
    TileHead::check(&format!("gpu::tiles::TileParams<{e}, {f}, {m}>"), lists)
}
