//! Parameters of the loops over an expression's places, and the constants that host and kernels share.

use gpu_driver::{Header, ListElement, ParamWords, joined_text, kernel_constants, kernel_params, kernel_struct};

kernel_constants! {
    const CONSTANTS: &str;
    /// Most axes of a launch, after joining.
    pub const MAX_AXES: usize = 8;
    /// A leaf of neighbours along the axis that threads go along, aligned to packs.
    pub const PACKED: u64 = 0;
    /// A leaf whose elements are at a distance along that axis.
    pub const STRIDED: u64 = 1;
    /// A leaf with one element for all places of that axis.
    pub const CONSTANT: u64 = 2;
    /// A leaf of neighbours along another axis: it comes through shared memory (`tiled.cuh`).
    pub const TRANSPOSED: u64 = 3;
}

kernel_struct! {
    /// A leaf in memory; for a leaf of places, the first place.
    pub struct LeafParams {
        /// The address of the first element, or the first place itself.
        address: u64,
        /// How it lies along the axis that threads go along: [`PACKED`] or one of the constants beside it.
        kind: u64,
    }
}

kernel_struct! {
    /// The tile of a crossed leaf in shared memory.
    pub(super) struct SharedTile {
        /// The tile's first byte.
        offset: u32,
        /// Whether packs of the leaf are aligned along the axis that its neighbours lie along.
        is_packed: u32,
    }
}

kernel_params! {
    /// An axis, an element of a list of them.
    struct AxisParams<"int OPERANDS">, AxisHead {
        /// Its length.
        length: u64,
        /// The divisor of its length.
        divisor: u64;
        /// Strides of the loop's own operand, then of each leaf.
        strides: ["int64_t"; "OPERANDS"],
    }
}

/// An axis as kernels have it, `AxisParams` in their text: its length, its divisor, and the stride of each operand along it.
#[derive(Clone, Copy, Debug)]
pub struct AxisEntry<'a> {
    length: usize,
    /// Strides of the loop's own operand, then of each leaf.
    strides: &'a [isize],
    /// Words of the axes that are not there, which follow the others as one element; 0 for an axis.
    missing_words: usize,
}

impl<'a> AxisEntry<'a> {
    /// An axis of these strides.
    pub fn new(length: usize, strides: &'a [isize]) -> Self {
        Self { length, strides, missing_words: 0 }
    }

    /// The words of `MAX_AXES` axes of `operands` operands: these axes, then zeros.
    pub fn list(axes: impl ExactSizeIterator<Item = Self>, operands: usize) -> impl Iterator<Item = Self> {
        debug_assert!(axes.len() <= MAX_AXES, "callers refuse more axes");
        let missing_words = MAX_AXES.saturating_sub(axes.len()) * Self::words(operands);
        let missing = (missing_words > 0).then_some(Self { length: 0, strides: &[], missing_words });
        axes.chain(missing)
    }

    /// Words of an axis of so many operands.
    pub const fn words(operands: usize) -> usize {
        size_of::<AxisHead>() / size_of::<u64>() + operands
    }
}

impl ListElement for AxisEntry<'_> {
    const CUDA_NAME: &'static str = "AxisParams";
    const WORDS: usize = 0;

    #[inline]
    fn write(self, words: &mut impl ParamWords) {
        if self.missing_words > 0 {
            return words.push_zeros(self.missing_words);
        }
        let head = AxisHead { length: self.length as u64, divisor: divisor(self.length.max(1)) };
        AxisParams { head, strides: self.strides.iter().map(|&stride| stride as i64) }.write(words);
    }
}

/// The word by which `quotient` in `loop.cuh` divides by a length of at least 1.
///
/// It serves dividends of at most 31 bits (Granlund and Montgomery, Division by Invariant Integers using Multiplication, 1994).
pub fn divisor(length: usize) -> u64 {
    let d = length as u64;
    if d > i32::MAX as u64 {
        return 0; // then the items are not counted in 31 bits either
    }
    let shift = u64::from(d.next_power_of_two().trailing_zeros());
    let multiplier = ((1u64 << 32) * ((1u64 << shift) - d)) / d + 1;
    multiplier | shift << 32
}

kernel_params! {
    /// The parameters of `linear.cuh`.
    pub(super) struct LinearParams<"class E">, LinearHead {
        /// Places.
        count: u64,
        /// Places before the first, fewer than a pack, so that packs are aligned in the outputs.
        peel: u64;
        /// The address of each output.
        outputs: ["uint64_t"; "E::Outputs::SIZE"],
        /// The leaves.
        leaves: ["LeafParams"; "E::Leaves::SIZE"],
        /// The step of each leaf of places.
        steps: ["int64_t"; "E::Leaves::SIZE"],
        /// The scalars of the expression.
        scalars: ["uint64_t"; "E::SCALARS"],
        /// Addresses of tables, and words of sources.
        extra: ["uint64_t"; "E::EXTRA"],
    }
}

kernel_params! {
    /// The parameters of `strided.cuh`.
    pub(super) struct StridedParams<"class E">, StridedHead {
        /// Packs of all rows.
        items: u64,
        /// Places of a row.
        length: u64,
        /// Packs of a row.
        row_packs: u64,
        /// The divisor of `row_packs`.
        row_divisor: u64,
        /// Axes, the one that threads go along among them.
        rank: u32,
        /// Whether packs of all outputs are aligned.
        is_packed: u32,
        /// Whether some number of items has more than 31 bits.
        is_wide: u64;
        /// The address of each output.
        outputs: ["uint64_t"; "E::Outputs::SIZE"],
        /// The leaves.
        leaves: ["LeafParams"; "E::Leaves::SIZE"],
        /// The axes, from the one that threads go along outwards; the strides are those of the outputs and of each leaf.
        axes: ["AxisParams<1 + E::Leaves::SIZE>"; "MAX_AXES"],
        /// The scalars of the expression.
        scalars: ["uint64_t"; "E::SCALARS"],
        /// Addresses of tables, and words of sources.
        extra: ["uint64_t"; "E::EXTRA"],
    }
}

kernel_params! {
    /// The parameters of `rows.cuh`.
    pub(super) struct RowsParams<"class E">, RowsHead {
        /// Rows of all axes.
        rows: u64,
        /// The divisor of `parts`.
        parts_divisor: u64,
        /// Packs of a row.
        row_packs: u32,
        /// Blocks of a row.
        parts: u32,
        /// The binary logarithm of the threads of a row.
        log_lanes: u32,
        /// Axes, that of the rows among them.
        rank: u32,
        /// Whether packs of all outputs are aligned.
        is_packed: u32,
        /// Whether the number of rows has more than 31 bits.
        is_wide: u32;
        /// The address of each output.
        outputs: ["uint64_t"; "E::Outputs::SIZE"],
        /// The leaves.
        leaves: ["LeafParams"; "E::Leaves::SIZE"],
        /// The axes, from that of the rows outwards; the strides are those of the outputs and of each leaf.
        axes: ["AxisParams<1 + E::Leaves::SIZE>"; "MAX_AXES"],
        /// The scalars of the expression.
        scalars: ["uint64_t"; "E::SCALARS"],
        /// Addresses of tables, and words of sources.
        extra: ["uint64_t"; "E::EXTRA"],
    }
}

kernel_params! {
    /// The parameters of `tiled.cuh`.
    pub(super) struct TiledParams<"class E">, TiledHead {
        /// Axes.
        rank: u32,
        /// Whether packs of all outputs are aligned.
        is_packed: u32,
        /// Tiles along axis 0.
        tiles_0: u32,
        /// Tiles along axis 1.
        tiles_1: u32;
        /// The address of each output.
        outputs: ["uint64_t"; "E::Outputs::SIZE"],
        /// The leaves.
        leaves: ["LeafParams"; "E::Leaves::SIZE"],
        /// The tiles of crossed leaves; those of other leaves are not read.
        tiles: ["SharedTile"; "E::Leaves::SIZE"],
        /// The axes: the one that the outputs lie along, the one that crossed leaves lie along, and the others.
        axes: ["AxisParams<1 + E::Leaves::SIZE>"; "MAX_AXES"],
        /// The scalars of the expression.
        scalars: ["uint64_t"; "E::SCALARS"],
        /// Addresses of tables, and words of sources.
        extra: ["uint64_t"; "E::EXTRA"],
    }
}

/// The header that all loops over expressions include.
pub(crate) const PARAMS: Header = Header {
    name: "expression_params.cuh",
    text: joined_text![
        "#pragma once\n#include \"list.cuh\"\nnamespace gpu {\n",
        CONSTANTS,
        LeafParams::DEFINITION,
        SharedTile::DEFINITION,
        AxisHead::DEFINITION,
        LinearHead::DEFINITION,
        StridedHead::DEFINITION,
        RowsHead::DEFINITION,
        TiledHead::DEFINITION,
        "} // namespace gpu\n",
    ],
};
