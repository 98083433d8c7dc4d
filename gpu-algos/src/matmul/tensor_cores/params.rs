//! Parameters of the kernels of products on tensor cores.

use gpu_array::{
    expression::{AxisEntry, MAX_AXES},
    gpu_driver::{Header, joined_text, kernel_params, kernel_struct},
};

use super::{
    operand::{BOX_ORDERS, Copied, MappedOperand},
    plan::TensorCorePlan,
};
use crate::{common::launch::Words, matmul::problem::MatmulProblem};

kernel_params! {
    /// The parameters of a product of stacks of matrices.
    pub(super) struct TensorCoreParams<"int AXES">, TensorCoreHead {
        /// Rows of a and c.
        m: u64,
        /// Columns of b and c.
        n: u64,
        /// Columns of a, rows of b.
        k: u64,
        /// The address of the first element of c.
        c: u64,
        /// From one row of c to the next.
        c_row: i64,
        /// From one column of c to the next.
        c_column: i64,
        /// The bits of alpha.
        alpha: u64,
        /// The bits of beta.
        beta: u64,
        /// Rows of tiles of a matrix.
        tiles_m: u32,
        /// Columns of tiles of a matrix.
        tiles_n: u32,
        /// Tiles of all matrices.
        tiles: u32,
        /// Axes of the stack.
        batch_rank: u32,
        /// Elements along the rows of c whose packs are whole and aligned: 1, 2, 4 or 8.
        c_pack: u64;
        /// The axes of the stack, the innermost first; strides are those of c in elements, and of a and b in matrices of their maps.
        batch: ["AxisParams<3>"; "AXES"],
    }
}

kernel_struct! {
    /// An operand that warps copy themselves.
    pub(super) struct MmaOperand {
        /// The address of the first element.
        address: u64,
        /// Bytes from one row to the next.
        row_bytes: i64,
        /// Bytes from one matrix to the next.
        matrix_bytes: i64,
        /// Elements across k: rows of a, or columns of b.
        across: u64,
    }
}

kernel_params! {
    /// The operands of a product by warps.
    pub(super) struct MmaOperands<"int COUNT">, MmaOperandsHead {
        /// Elements of both along k.
        along: u64;
        /// a and b.
        operands: ["MmaOperand"; "COUNT"],
    }
}

kernel_params! {
    /// The parameters of a copy of an operand.
    pub(super) struct SplitParams<"int AXES">, SplitHead {
        /// The address of the first element.
        from: u64,
        /// The address of the copy.
        to: u64,
        /// Rows of a matrix.
        rows: u64,
        /// Columns of a matrix.
        columns: u64,
        /// Matrices.
        matrices: u64,
        /// From one row to the next.
        row_stride: i64,
        /// From one column to the next.
        column_stride: i64,
        /// Elements of a row of the copy.
        pitch: u64,
        /// Axes of the stack.
        batch_rank: u32,
        /// Whether packs of 16 bytes along a row are whole and aligned; of single bytes, whether packs of 4 are aligned in memory.
        is_packed: u32,
        /// Whether elements of a column are closer than those of a row.
        is_transposed: u64;
        /// The axes of the stack, the innermost first, with the strides of the operand.
        batch: ["AxisParams<1>"; "AXES"],
    }
}

/// The header of both.
pub(in crate::matmul) const PARAMS: Header = Header {
    name: "tensor_core_params.cuh",
    text: joined_text![
        "#pragma once\n#include \"expression_params.cuh\"\n#include \"packs.cuh\"\nnamespace gpu::algos::matmul {\n",
        BOX_ORDERS,
        TensorCoreHead::DEFINITION,
        MmaOperand::DEFINITION,
        MmaOperandsHead::DEFINITION,
        SplitHead::DEFINITION,
        "} // namespace gpu::algos::matmul\n",
    ],
};

/// The parameters of a product.
pub(super) fn params_of(problem: &MatmulProblem, plan: &TensorCorePlan, [a, b]: [&MappedOperand; 2]) -> Words {
    let mut params = Words::new();
    let steps: Vec<[isize; 3]> = (problem.batch.iter().enumerate())
        .map(|(axis, of)| [of.steps[0], a.matrix_steps[axis], b.matrix_steps[axis]])
        .collect();
    let axes = problem.batch.iter().zip(&steps);
    TensorCoreParams {
        head: TensorCoreHead {
            m: problem.m as u64,
            n: problem.n as u64,
            k: problem.k as u64,
            c: problem.c.address,
            c_row: problem.c.row as i64,
            c_column: problem.c.column as i64,
            alpha: problem.alpha[0],
            beta: problem.beta[0],
            tiles_m: plan.tiles_m as u32,
            tiles_n: plan.tiles_n as u32,
            tiles: plan.tiles as u32,
            batch_rank: problem.batch.len() as u32,
            c_pack: [8, 4, 2].into_iter().find(|&width| problem.is_packed(0, width)).unwrap_or(1) as u64,
        },
        batch: AxisEntry::list(axes.map(|(axis, steps)| AxisEntry::new(axis.length, steps)), 3),
    }
    .write(&mut params);
    params
}

/// The parameters of a copy to an address.
pub(super) fn split_params(copied: &Copied, to: u64) -> Words {
    let mut params = Words::new();
    let steps: Vec<[isize; 1]> = copied.axes.iter().map(|&(_, step)| [step]).collect();
    let axes = copied.axes.iter().zip(&steps);
    SplitParams {
        head: SplitHead {
            from: copied.address,
            to,
            rows: copied.rows as u64,
            columns: copied.columns as u64,
            matrices: copied.matrices as u64,
            row_stride: copied.row_stride as i64,
            column_stride: copied.column_stride as i64,
            pitch: copied.pitch() as u64,
            batch_rank: copied.axes.len() as u32,
            is_packed: copied.is_packed().into(),
            is_transposed: copied.is_transposed().into(),
        },
        batch: AxisEntry::list(axes.map(|(&(length, _), steps)| AxisEntry::new(length, steps)), 1),
    }
    .write(&mut params);
    params
}

/// Text for a product's program that compares its parameters with those that are passed.
pub(super) fn check_text() -> String {
    TensorCoreHead::check("gpu::algos::matmul::TensorCoreParams<gpu::MAX_AXES>", [MAX_AXES * AxisEntry::words(3)])
}

impl MmaOperand {
    /// An operand whose elements have so many bytes.
    fn of(operand: &MappedOperand, bytes: usize) -> Self {
        Self {
            address: operand.address,
            row_bytes: (operand.row_stride * bytes) as i64,
            matrix_bytes: (operand.matrix_stride * bytes) as i64,
            across: operand.across as u64,
        }
    }
}

/// The operands of a product by warps, whose elements have so many bytes.
pub(super) fn operands_of([a, b]: [&MappedOperand; 2], bytes: usize) -> Words {
    let mut params = Words::new();
    let head = MmaOperandsHead { along: a.along as u64 };
    MmaOperands { head, operands: [a, b].map(|operand| MmaOperand::of(operand, bytes)) }.write(&mut params);
    params
}

/// Text for the program of a product by warps that compares its operands with those that are passed.
pub(super) fn operands_check_text() -> String {
    MmaOperandsHead::check("gpu::algos::matmul::MmaOperands<2>", [2 * size_of::<MmaOperand>() / size_of::<u64>()])
}

/// Text for a copy's program that compares its parameters with those that are passed.
pub(super) fn split_check_text() -> String {
    SplitHead::check("gpu::algos::matmul::SplitParams<gpu::MAX_AXES>", [MAX_AXES * AxisEntry::words(1)])
}
