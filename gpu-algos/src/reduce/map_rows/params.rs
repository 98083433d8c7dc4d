//! Parameters of the kernel `map_rows`.

use gpu_array::{
    expression::{AxisEntry, CONSTANT, LeafParams, MAX_AXES, STRIDED},
    gpu_driver::{Header, joined_text, kernel_params},
};

use super::{
    constants::CONSTANTS,
    problem::{RowLeaf, RowProblem},
};
use crate::common::launch::Words;

kernel_params! {
    /// The parameters of a map of rows. `R` is the structure of its expressions.
    pub(super) struct RowParams<"class R">, RowHead {
        /// Rows.
        rows: u64,
        /// Places of a row.
        length: u64,
        /// The address of the target.
        target: u64,
        /// Whether packs of the target are whole and aligned.
        is_packed: u64,
        /// Axes of rows.
        rank: u32,
        /// Whether the number of rows has more than 31 bits.
        is_wide: u32;
        /// The leaves of all expressions, those of the stages before those of the map. Results of stages have no address.
        leaves: ["LeafParams"; "R::LEAVES"],
        /// The axis of a row; the strides are those of the target, then of each leaf.
        row: ["AxisParams<1 + R::LEAVES>"; "1"],
        /// The other axes, the innermost first.
        outer: ["AxisParams<1 + R::LEAVES>"; "MAX_AXES"],
        /// The scalars of all expressions.
        scalars: ["uint64_t"; "R::SCALARS"],
    }
}

/// The header of the parameters.
pub(super) const PARAMS: Header = Header {
    name: "map_rows_params.cuh",
    text: joined_text![
        "#pragma once\n#include \"expression_params.cuh\"\nnamespace gpu::algos::reduce {\n",
        CONSTANTS,
        RowHead::DEFINITION,
        "} // namespace gpu::algos::reduce\n",
    ],
};

/// The parameters, for packs of `width` elements.
pub(super) fn params(problem: &RowProblem<'_, '_>, width: usize) -> Words {
    let leaf = |leaf: &RowLeaf<'_>| match leaf {
        RowLeaf::Operand(leaf) => LeafParams { address: leaf.address, kind: STRIDED },
        RowLeaf::Result(_) => LeafParams { address: 0, kind: CONSTANT },
    };
    let mut params = Words::new();
    RowParams {
        head: RowHead {
            rows: problem.rows() as u64,
            length: problem.row.length as u64,
            target: problem.target,
            is_packed: problem.is_target_packed(width).into(),
            rank: problem.outer.len() as u32,
            is_wide: (problem.rows() > i32::MAX as usize).into(),
        },
        leaves: problem.leaves.iter().map(leaf),
        row: [AxisEntry::new(problem.row.length, &problem.row.steps)],
        outer: AxisEntry::list(
            problem.outer.iter().map(|axis| AxisEntry::new(axis.length, &axis.steps)),
            1 + problem.leaves.len(),
        ),
        scalars: problem.scalars(),
    }
    .write(&mut params);
    params
}

/// Text that compares the parameters of the structure `rows` with those that are passed.
pub(super) fn check_text(rows: &str, leaves: usize, scalars: usize) -> String {
    let axis = AxisEntry::words(1 + leaves);
    RowHead::check(
        &format!("gpu::algos::reduce::RowParams<{rows}>"),
        [2 * leaves, axis, MAX_AXES * axis, scalars.max(1)],
    )
}
