//! Parameters of the kernel that joins arrays, among them the table of its parts.

use std::iter::repeat_n;

use gpu_driver::{Header, ListElement, ParamWords, joined_text, kernel_constants, kernel_params};

kernel_constants! {
    const CONSTANTS: &str;
    /// In place of a peel: the part is copied element by element.
    pub(super) const BY_ELEMENTS: u32 = 16;
}

kernel_params! {
    /// An array that is copied to its place in the result, an element of a list of them.
    pub(super) struct PartParams<"int RANK">, PartHead {
        /// The address of the first element, less the peel.
        from: u64,
        /// The address of its place, less the peel.
        to: u64,
        /// Length of the axis along which the lengths of the parts differ.
        length: u64,
        /// The first block that copies it.
        first_block: u32,
        /// Elements before the first aligned pack of 16 bytes, or [`BY_ELEMENTS`].
        peel: u32;
        /// The strides of the array.
        strides: ["int64_t"; "RANK"],
    }
}

/// An array that is copied to its place in the result, as kernels have it: `PartParams` in their text.
#[derive(Clone, Debug)]
pub(super) struct PartEntry<'a> {
    pub(super) head: PartHead,
    /// The strides of the array.
    pub(super) strides: &'a [isize],
    /// Axes that the parameters have room for.
    pub(super) room: usize,
}

impl PartEntry<'_> {
    /// Words of a part with so many axes.
    pub(super) const fn words(rank: usize) -> usize {
        size_of::<PartHead>() / size_of::<u64>() + rank
    }
}

impl ListElement for PartEntry<'_> {
    const CUDA_NAME: &'static str = "PartParams";
    const WORDS: usize = 0;

    fn write(self, words: &mut impl ParamWords) {
        let strides = self.strides.iter().map(|&stride| stride as i64);
        PartParams {
            head: self.head,
            strides: strides.chain(repeat_n(0, self.room.saturating_sub(self.strides.len()))),
        }
        .write(words);
    }
}

kernel_params! {
    /// The parameters of `concatenate.cuh`.
    pub(super) struct ConcatenateParams<"int RANK, int PARTS">, ConcatenateHead {
        /// Number of parts, at least one.
        count: u32,
        /// Number of axes.
        rank: u32,
        /// The axis along which the lengths of the parts differ.
        along: u32,
        /// Whether a part has so many items that their number does not fit 32 bits.
        is_wide: u32,
        /// The address of the parts, where the parameters have room for none.
        table: u64;
        /// The lengths of the axes, from the contiguous one outwards; that of axis `along` is not read.
        lengths: ["uint64_t"; "RANK"],
        /// The strides of the result.
        strides: ["int64_t"; "RANK"],
        /// The parts, in the order of their blocks.
        parts: ["PartParams<RANK>"; "PARTS"],
    }
}

/// The header of the kernel's parameters.
pub(super) const PARAMS: Header = Header {
    name: "concatenate_params.cuh",
    text: joined_text![
        "#pragma once\n#include \"list.cuh\"\nnamespace gpu {\n",
        CONSTANTS,
        PartHead::DEFINITION,
        ConcatenateHead::DEFINITION,
        "} // namespace gpu\n",
    ],
};
