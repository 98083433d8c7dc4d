//! Parameters of the kernels that write at computed places.

use gpu_driver::{Header, joined_text, kernel_params};

kernel_params! {
    /// The parameters of `put.cuh`.
    pub(super) struct PutParams<"int RANK">, PutHead {
        /// Number of indices.
        count: u64,
        /// Number of elements of the target: an index counts from 0, or from the end where it is negative.
        length: u64,
        /// The address of the two words of the report, behind which the slots lie. All of it is zero before the first kernel.
        report: u64,
        /// Number of slots: `length`, if each place has the slot of its number, else a power of two that is greater than `count`.
        slots: u64,
        /// The address of the indices, 64-bit integers that lie side by side.
        indices: u64,
        /// The address of the values.
        values: u64,
        /// Distance of neighbouring values: 1, or 0 for one value.
        value_step: u64,
        /// The address of the target's first element.
        target: u64,
        /// Number of its axes, at least one.
        rank: u64;
        /// Lengths of the axes, from the innermost in C order outwards.
        lengths: ["uint64_t"; "RANK"],
        /// Their strides, in elements.
        strides: ["int64_t"; "RANK"],
    }
}

/// The header of the kernels' parameters.
pub(super) const PARAMS: Header = Header {
    name: "put_params.cuh",
    text: joined_text![
        "#pragma once\n#include \"list.cuh\"\nnamespace gpu {\n",
        PutHead::DEFINITION,
        "} // namespace gpu\n",
    ],
};
