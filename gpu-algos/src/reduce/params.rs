//! Parameters of the kernels of reductions.

use std::mem::offset_of;

use gpu_array::{
    DType,
    expression::{AxisEntry, LeafParams, MAX_AXES, divisor},
    gpu_driver::{Header, LaunchConfig, joined_text, kernel_params},
};
use smallvec::SmallVec;

use super::{
    constants::CONSTANTS,
    leaves::Located,
    plan::{ReducePlan, ReduceProblem},
};
use crate::common::{
    axes::Axis,
    launch::{Launch, Words},
    operator::DeviceOperator,
    source::ValueSource,
};

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
        /// Whether some number of places has more than 31 bits.
        is_wide: u32;
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
        "#pragma once\n#include \"expression_params.cuh\"\nnamespace gpu::algos::reduce {\n",
        CONSTANTS,
        ReduceHead::DEFINITION,
        "} // namespace gpu::algos::reduce\n",
    ],
};

/// Index in [`Launch::params`] of the address of the scratch memory.
const SCRATCH_WORD: usize = offset_of!(ReduceHead, scratch) / size_of::<u64>();

/// The launch of a plan, with the first result of each output at `targets`.
pub(super) fn launch<K>(
    source: &impl ValueSource,
    problem: &ReduceProblem<'_>,
    plan: &ReducePlan<K>,
    targets: &[u64],
) -> Launch {
    let ReduceProblem { leaves, axes, .. } = *problem;
    let ReducePlan { operator, policy, grid, .. } = plan;
    let (count, results, limit) = (axes.count(), axes.results(), i32::MAX as usize);
    let located = Located::of(leaves, axes);
    let leaf_params: SmallVec<[LeafParams; 4]> = (0..leaves.len())
        .map(|leaf| LeafParams {
            address: located.bases[leaf],
            kind: located.kind(leaf, grid.peel, policy.vector_size as usize),
        })
        .collect();
    let target =
        |(&target, dtype): (&u64, DType)| target.wrapping_add_signed(axes.result_offset as i64 * dtype.bytes() as i64);
    let mut params = Words::new();
    ReduceParams {
        head: ReduceHead {
            results: results as u64,
            count: count as u64,
            scratch: 0,
            packs: grid.packs as u64,
            row_packs: grid.row_packs as u64,
            row_divisor: divisor(grid.row_packs.max(1)),
            peel: grid.peel as u64,
            blocks_per_result: grid.blocks_per_result as u64,
            log_threads: grid.log_threads,
            reduced_rank: axes.reduced.len() as u32,
            outer_rank: axes.outer.len() as u32,
            is_wide: (grid.packs > limit || count > limit || results > limit).into(),
        },
        targets: targets.iter().zip(operator.results()).map(target),
        leaves: leaf_params.iter().copied(),
        reduced: axis_params(&axes.reduced, leaves.len()),
        outer: axis_params(&axes.outer, leaves.len()),
        scalars: source.scalars().iter().copied(),
        extra: source.extra(),
    }
    .write(&mut params);
    let config = LaunchConfig { grid: (grid.blocks as u32).into(), block: policy.block().into(), shared_bytes: 0 };
    Launch { params, scratch_word: SCRATCH_WORD, scratch: grid.scratch, config }
}

fn axis_params(axes: &[Axis], leaves: usize) -> impl Iterator<Item = AxisEntry<'_>> {
    AxisEntry::list(axes.iter().map(|axis| AxisEntry::new(axis.length, &axis.steps)), 1 + leaves)
}

/// Text for a kernel's program that compares its parameters with those that are passed; `value` is the structure of the source.
pub(super) fn check_text(source: &impl ValueSource, operator: &DeviceOperator, value: &str) -> String {
    let leaves = source.leaves().len();
    let axes = MAX_AXES * AxisEntry::words(1 + leaves);
    let (scalars, extra) = (source.scalars().len().max(1), source.extra().len().max(1));
    let lists = [operator.results().len(), 2 * leaves.max(1), axes, axes, scalars, extra];
    ReduceHead::check(&format!("gpu::algos::reduce::ReduceParams<{value}, {}>", operator.text()), lists)
}
