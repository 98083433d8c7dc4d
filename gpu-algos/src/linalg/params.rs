//! Parameters of the kernels of linear algebra.

use std::mem::offset_of;

use gpu_array::{
    expression::{AxisEntry, MAX_AXES},
    gpu_driver::{Header, LaunchConfig, joined_text, kernel_params},
};

use super::{
    constants::{CONSTANTS, PIVOT_BITS},
    plan::LinalgPlan,
    problem::{LinalgProblem, MOST_ROWS},
};
use crate::common::launch::{Launch, ScratchNeed, Words};

const _: () = assert!(MOST_ROWS <= 1 << PIVOT_BITS, "the numbers of pivots");

kernel_params! {
    /// The parameters of a function of a stack of matrices with at most `AXES` axes.
    pub(super) struct LinalgParams<"int AXES">, LinalgHead {
        /// The address of the first element of a.
        a: u64,
        /// The address of the first element of b; 0 where there is none.
        b: u64,
        /// The address of the first element of the result.
        c: u64,
        /// The address of the second result, in C order.
        d: u64,
        /// The address of the status of each matrix; 0 where none is asked for.
        info: u64,
        /// The address of the complement of the first failure's matrix and pivot; 0 where none is asked for.
        first_failure: u64,
        /// Matrices of the stack.
        matrices: u64,
        /// Columns of the right-hand sides; of `qr` columns of a.
        columns: u64,
        /// From one row of a to the next.
        a_row: i64,
        /// From one column of a to the next.
        a_column: i64,
        /// From one row of b to the next.
        b_row: i64,
        /// From one column of b to the next.
        b_column: i64,
        /// From one row of the result to the next.
        c_row: i64,
        /// From one column of the result to the next.
        c_column: i64,
        /// Rows of a.
        rows: u32,
        /// Flags of `solve_triangular`, or a mode of `lu`.
        mode: u32,
        /// Threads of a team.
        team: u32,
        /// Elements of shared memory of a team.
        team_elements: u32,
        /// Elements from one row of a to the next in shared memory.
        a_pitch: u32,
        /// Elements from one row of b to the next in shared memory.
        b_pitch: u32,
        /// The place of b in a team's shared memory, in elements.
        b_offset: u32,
        /// The place of the order of rows, or of the factors of reflections.
        order_offset: u32,
        /// Right-hand sides that are in shared memory at once.
        chunk: u32,
        /// Axes of the stack.
        batch_rank: u32,
        /// The address of scratch memory, of which the kernels have none.
        scratch: u64;
        /// The axes of the stack, the innermost first; strides are those of the result, a and b.
        batch: ["AxisParams<3>"; "AXES"],
    }
}

/// The header of the parameters.
pub(super) const PARAMS: Header = Header {
    name: "linalg_params.cuh",
    text: joined_text![
        "#pragma once\n#include \"expression_params.cuh\"\nnamespace gpu::algos::linalg {\n",
        CONSTANTS,
        LinalgHead::DEFINITION,
        "} // namespace gpu::algos::linalg\n",
    ],
};

/// Index in [`Launch::params`] of the address of the scratch memory.
const SCRATCH_WORD: usize = offset_of!(LinalgHead, scratch) / size_of::<u64>();

/// The launch of a plan.
pub(super) fn launch(problem: &LinalgProblem, plan: &LinalgPlan) -> Launch {
    let LinalgPlan { policy, blocks, .. } = plan;
    let [c, a, b] = &problem.operands;
    let mut params = Words::new();
    LinalgParams {
        head: LinalgHead {
            a: a.address,
            b: b.address,
            c: c.address,
            d: problem.second,
            info: problem.info,
            first_failure: problem.first_failure,
            matrices: problem.matrices() as u64,
            columns: problem.columns as u64,
            a_row: a.row as i64,
            a_column: a.column as i64,
            b_row: b.row as i64,
            b_column: b.column as i64,
            c_row: c.row as i64,
            c_column: c.column as i64,
            rows: problem.rows as u32,
            mode: problem.function.mode(),
            team: policy.team as u32,
            team_elements: policy.team_elements as u32,
            a_pitch: policy.a_pitch as u32,
            b_pitch: policy.b_pitch as u32,
            b_offset: policy.b_offset as u32,
            order_offset: policy.order_offset as u32,
            chunk: policy.chunk as u32,
            batch_rank: problem.batch.len() as u32,
            scratch: 0,
        },
        batch: AxisEntry::list(problem.batch.iter().map(|axis| AxisEntry::new(axis.length, &axis.steps)), 3),
    }
    .write(&mut params);
    let config = LaunchConfig {
        grid: (*blocks as u32).into(),
        block: policy.threads().into(),
        shared_bytes: policy.shared_bytes(problem.dtype) as u32,
    };
    Launch { params, scratch_word: SCRATCH_WORD, scratch: ScratchNeed::None, config }
}

/// Text for a kernel's program that compares its parameters with those that are passed.
pub(super) fn check_text() -> String {
    LinalgHead::check("gpu::algos::linalg::LinalgParams<gpu::MAX_AXES>", [MAX_AXES * AxisEntry::words(3)])
}
