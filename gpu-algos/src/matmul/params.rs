//! Parameters of the kernel of matrix products.

use std::mem::offset_of;

use gpu_array::{
    expression::{AxisEntry, MAX_AXES},
    gpu_driver::{Header, joined_text, kernel_params},
};

use super::{constants::CONSTANTS, grid::MatmulGrid, problem::MatmulProblem};
use crate::common::launch::Words;

kernel_params! {
    /// The parameters of a product `c = alpha a b + beta c` of stacks of matrices with at most `AXES` axes.
    pub(super) struct MatmulParams<"int AXES">, MatmulHead {
        /// Rows of a and c.
        m: u64,
        /// Columns of b and c.
        n: u64,
        /// Columns of a, rows of b.
        k: u64,
        /// The address of the first element of a.
        a: u64,
        /// The address of the first element of b.
        b: u64,
        /// The address of the first element of c.
        c: u64,
        /// From one row of a to the next.
        a_outer: i64,
        /// From one column of a to the next.
        a_inner: i64,
        /// From one column of b to the next.
        b_outer: i64,
        /// From one row of b to the next.
        b_inner: i64,
        /// From one row of c to the next.
        c_row: i64,
        /// From one column of c to the next.
        c_column: i64,
        /// The bits of alpha, or of its real part.
        alpha: u64,
        /// The bits of its imaginary part.
        alpha_imaginary: u64,
        /// The bits of beta, or of its real part.
        beta: u64,
        /// The bits of its imaginary part.
        beta_imaginary: u64,
        /// The address of the scratch memory.
        scratch: u64,
        /// Values along k that a block sums.
        k_per_split: u64,
        /// Rows of tiles of a matrix.
        tiles_m: u32,
        /// Columns of tiles of a matrix.
        tiles_n: u32,
        /// Blocks that share a tile.
        splits: u32,
        /// Axes of the stack.
        batch_rank: u32,
        /// Whether packs of 16 bytes along the rows of c are whole and aligned.
        is_c_packed: u32,
        /// Matrices of the stack, as far as 32 bits hold their number.
        matrices: u32;
        /// The axes of the stack, the innermost first; strides are those of c, a and b.
        batch: ["AxisParams<3>"; "AXES"],
    }
}

/// The header of the parameters.
pub(super) const PARAMS: Header = Header {
    name: "matmul_params.cuh",
    text: joined_text![
        "#pragma once\n#include \"expression_params.cuh\"\nnamespace gpu::algos::matmul {\n",
        CONSTANTS,
        MatmulHead::DEFINITION,
        "} // namespace gpu::algos::matmul\n",
    ],
};

/// A program's part of parameters that have more than [`MatmulParams`] or those of another kernel.
pub(super) struct ExtendedParams {
    /// Includes, and the structures that the type names.
    pub(super) text: String,
    pub(super) headers: Vec<Header>,
    /// The C++ type of the kernel's parameters.
    pub(super) params: String,
}

/// The type of the parameters.
pub(super) const TYPE: &str = "gpu::algos::matmul::MatmulParams<gpu::MAX_AXES>";

/// Index in [`Launch::params`](crate::common::launch::Launch::params) of the address of the scratch memory.
pub(super) const SCRATCH_WORD: usize = offset_of!(MatmulHead, scratch) / size_of::<u64>();

/// The parameters of a problem, and of a grid of tiles where the kernel has one.
pub(super) fn params_of(problem: &MatmulProblem, grid: Option<&MatmulGrid>, is_c_packed: bool) -> Words {
    let (a, b, c) = (&problem.a, &problem.b, &problem.c);
    let of_grid = |number: fn(&MatmulGrid) -> usize| grid.map_or(0, number);
    let mut params = Words::new();
    MatmulParams {
        head: MatmulHead {
            m: problem.m as u64,
            n: problem.n as u64,
            k: problem.k as u64,
            a: a.address,
            b: b.address,
            c: c.address,
            a_outer: a.row as i64,
            a_inner: a.column as i64,
            b_outer: b.column as i64,
            b_inner: b.row as i64,
            c_row: c.row as i64,
            c_column: c.column as i64,
            alpha: problem.alpha[0],
            alpha_imaginary: problem.alpha[1],
            beta: problem.beta[0],
            beta_imaginary: problem.beta[1],
            scratch: 0,
            k_per_split: of_grid(|grid| grid.k_per_split) as u64,
            tiles_m: of_grid(|grid| grid.tiles_m) as u32,
            tiles_n: of_grid(|grid| grid.tiles_n) as u32,
            splits: of_grid(|grid| grid.splits) as u32,
            batch_rank: problem.batch.len() as u32,
            is_c_packed: is_c_packed.into(),
            matrices: u32::try_from(problem.matrices()).unwrap_or(u32::MAX),
        },
        batch: AxisEntry::list(problem.batch.iter().map(|axis| AxisEntry::new(axis.length, &axis.steps[..3])), 3),
    }
    .write(&mut params);
    params
}

/// Text for a kernel's program that compares its parameters with those that are passed.
pub(super) fn check_text() -> String {
    MatmulHead::check(TYPE, [MAX_AXES * AxisEntry::words(3)])
}
