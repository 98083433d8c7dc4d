//! How reductions are cut: plain data, chosen from element types, passed as template arguments.

use gpu_array::expression::Lowered;

use super::operator::Operator;

/// The template arguments of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Places that a thread takes at once.
    pub(crate) width: u32,
    /// How many of those are under way at once.
    pub(crate) unroll: u32,
}

/// Threads that a multiprocessor is given: so many keep its memory busy, and all of them are there at once.
pub(crate) const THREADS_OF_MULTIPROCESSOR: usize = 1024; // tune gpu-algos.reduce_residents: 1024 1536 2048; reduce-sum/.*/gpu-algos/device

impl Policy {
    pub(crate) fn of(lowered: &Lowered<'_>, operator: &Operator, along_kept: bool) -> Self {
        let leaves = lowered.leaves().len().max(1);
        let bytes = lowered.leaves().filter(|leaf| !leaf.is_place).map(|leaf| leaf.dtype.bytes()).max().unwrap_or(4);
        let most = match leaves {
            0..=8 => 16,
            9..=16 => 4,
            17..=32 => 2,
            _ => 1,
        };
        let width = (16 / bytes).min(most);
        // Some 128 bytes of each thread are under way.
        let unroll = (8 / leaves).max(1);
        if along_kept {
            let threads = 256; // tune gpu-algos.columns_threads: 128 256 512; reduce-axis0/.*/gpu-algos/device
            let width = if operator.is_large() { width.min(2) } else { width.min(8) };
            return Self { threads, width: width as u32, unroll: unroll as u32 };
        }
        let threads = 512; // tune gpu-algos.rows_threads: 256 512 1024; reduce-sum/.*/gpu-algos/device
        Self { threads, width: width as u32, unroll: unroll as u32 }
    }

    /// The kernel with its template arguments.
    pub(crate) fn template(&self, along_kept: bool, expression: &str, operator: &str) -> String {
        let Self { threads, width, unroll } = self;
        let kernel = if along_kept { "columns" } else { "rows" };
        format!("gpu::reduce::{kernel}<{expression}, {operator}, {threads}, {width}, {unroll}>")
    }
}
