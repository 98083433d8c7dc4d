//! Tuning of reductions: plain data, chosen from element types, passed as template arguments.

use super::{
    axes::Leaves,
    operator::{Operator, OperatorKind},
};

/// The kernel that reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// All values, contiguous in memory, go to one result: `all`.
    All,
    /// Threads go along a reduced axis: `rows`.
    Rows,
    /// Threads go along an outer axis: `columns`.
    Columns,
}

/// The template arguments of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) algorithm: Algorithm,
    /// Threads of a block that read values.
    pub(crate) threads: u32,
    /// Most blocks per multiprocessor; so many keep its memory busy.
    pub(crate) most_blocks: u32,
    /// Neighbours that a thread takes at once, as one pack.
    pub(crate) width: u32,
    /// Packs of a thread whose loads are in flight at once.
    pub(crate) unroll: u32,
}

impl Policy {
    /// The policy for an operator over these leaves.
    ///
    /// Measured on an H200, f32, 2^28: a sum at 0.987 of the bandwidth of reads, the place of the greatest at 0.97, variance at 0.96, a dot product
    /// at 1.00. More blocks than are there at once cost 3 to 10 %, 128 bytes under way for each thread and leaf are better than 64 and 256, so few
    /// registers that four blocks of `rows` fit make it slower by a fifth; cache hints change nothing.
    pub(crate) fn of(leaves: &Leaves<'_>, operator: &Operator, along_outer: bool) -> Self {
        let bytes = leaves.iter().filter(|leaf| !leaf.is_place).map(|leaf| leaf.dtype.bytes()).max().unwrap_or(4);
        let leaves = leaves.len();
        let width = (16 / bytes).min(match leaves {
            0..=8 => 16,
            9..=16 => 4,
            17..=32 => 2,
            _ => 1,
        });
        // A user's text reads no leaf but indices: neighbouring threads take neighbouring indices, unless each combines some in order.
        let width =
            if matches!(&operator.kind, OperatorKind::Custom(custom) if custom.commutative) { 1 } else { width };
        let unroll = match leaves {
            0..=2 => 8, // tune gpu-algos.reduce_unroll: 4 8 16; (reduce-)?(sum|dot)/.*/gpu-algos/device
            3..=4 => 4,
            5..=8 => 2,
            _ => 1,
        };
        // A value of one byte occupies a register of its own once it is read.
        let unroll = if bytes == 1 { unroll.min(4) } else { unroll };
        if along_outer {
            let threads = 256; // tune gpu-algos.columns_threads: 128 256 512; reduce-axis0/.*/gpu-algos/device
            // A thread has a state for each element of a pack.
            let (most_width, most_unroll) = if operator.is_large() { (2, 4) } else { (8, 8) };
            let (width, unroll) = (width.min(most_width) as u32, unroll.min(most_unroll));
            return Self { algorithm: Algorithm::Columns, threads, most_blocks: 512 / threads, width, unroll };
        }
        let threads = 256; // tune gpu-algos.rows_threads: 256 512 1024; (reduce-)?(sum|argmax)/.*/gpu-algos/device
        let most_blocks = 1024 / threads;
        Self { algorithm: Algorithm::Rows, threads, most_blocks, width: width as u32, unroll }
    }

    /// Threads of a block; `all` has the collecting warp besides.
    pub(crate) fn block(&self) -> u32 {
        self.threads + if self.algorithm == Algorithm::All { 32 } else { 0 }
    }

    /// The kernel with its template arguments.
    pub(crate) fn template(&self, expression: &str, operator: &str) -> String {
        let Self { algorithm, threads, width, unroll, .. } = self;
        let kernel = match algorithm {
            Algorithm::All => "reduce_all",
            Algorithm::Rows => "reduce_rows",
            Algorithm::Columns => "reduce_columns",
        };
        format!("gpu::reduce::{kernel}<{expression}, {operator}, {threads}, {width}, {unroll}>")
    }
}
