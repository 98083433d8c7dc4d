//! Parameters of the kernels of reductions.

use gpu_array::gpu_driver::{Header, joined_text, kernel_constants, kernel_params};

kernel_constants! {
    const CONSTANTS: &str;
    /// Bytes of the counters at the head of `Stream::with_scratch`, behind which the states begin.
    pub(super) const COUNTER_BYTES: usize = 16384;
}
const _: () =
    assert!(COUNTER_BYTES == gpu_array::gpu_driver::SCRATCH_COUNTERS, "the counters of a stream's scratch memory");

kernel_params! {
    /// The parameters of a reduction of the expression `E` by the operator `O`.
    pub(super) struct ReduceParams<"class E, class O">, ReduceHead {
        /// Results.
        results: u64,
        /// Places of a result.
        count: u64,
        /// The address of the scratch memory.
        scratch: u64,
        /// Along a reduced axis: packs of a result. Along an outer one: packs of outer places.
        packs: u64,
        /// Packs along axis 0.
        row_packs: u64,
        /// The divisor of `row_packs`.
        row_divisor: u64,
        /// Places before the first pack's first.
        peel: u64,
        /// Blocks of a result. As 32 bits it makes NVRTC 13.0 spill registers of `rows` on sm_90.
        blocks_per_result: u64,
        /// Threads of a result, or of a row of packs of outer places, as a power of 2.
        log_threads: u32,
        /// Reduced axes.
        reduced_rank: u32,
        /// Kept axes.
        outer_rank: u32,
        /// Whether there is one reduced axis, and all leaves in memory are `PACKED`.
        is_plain: u32,
        /// Whether some number of places has more than 31 bits.
        is_wide: u64;
        /// The address of each result of the operator.
        targets: ["uint64_t"; "decltype(O::finalize(O::to_partial(O::identity()), 0))::SIZE"],
        /// The leaves.
        leaves: ["LeafParams"; "E::Leaves::SIZE"],
        /// The reduced axes, in the order in which they are walked; their own strides are those of places.
        reduced: ["AxisParams<1 + E::Leaves::SIZE>"; "MAX_AXES"],
        /// The outer axes; their own strides are those of results.
        outer: ["AxisParams<1 + E::Leaves::SIZE>"; "MAX_AXES"],
        /// The scalars of the expression.
        scalars: ["uint64_t"; "E::SCALARS"],
        /// Addresses of tables, and words of sources.
        extra: ["uint64_t"; "E::EXTRA"],
    }
}

/// The header of the parameters.
pub(super) const PARAMS: Header = Header {
    name: "reduce_params.cuh",
    text: joined_text![
        "#pragma once\n#include \"expression_params.cuh\"\nnamespace gpu {\nnamespace reduce {\n",
        CONSTANTS,
        ReduceHead::DEFINITION,
        "} // namespace reduce\n} // namespace gpu\n",
    ],
};
