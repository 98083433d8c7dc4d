//! Jumps of XORWOW's states to the chunks of a fill.
#![expect(unsafe_code, reason = "one block per kernel launch, and memory that one writes whole")]

use std::sync::Arc;

use gpu_driver::DeviceVec;

use super::{
    constants::JUMP_TABLE_WORDS,
    entries::{KERNELS, Tables},
    table::{DeviceTable, FillContext},
};
use crate::{Result, xorwow::jump::Polynomial};

/// Jumps to chunks.
#[derive(Clone)]
pub(super) struct Jumps {
    /// Draws between two chunks.
    pub(super) draws: u128,
    /// Chunks that can be jumped to.
    pub(super) chunks: u32,
    /// Tables, or polynomials in any order.
    pub(super) data: Arc<DeviceTable<u32>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JumpKind {
    /// A table for each chunk but the first.
    Tables,
    /// Polynomials of 8 words: 256 for the chunk modulo 256, and one for each 256 chunks.
    Polynomials,
}

impl JumpKind {
    pub(super) fn make(self, context: &FillContext<'_>, draws: u128, chunks: u32) -> Result<Arc<DeviceTable<u32>>> {
        let queue = context.maker();
        let powers = |base: Polynomial, count: u32| {
            let all = std::iter::successors(Some(Polynomial::ONE), move |power| Some(power.times(base)));
            all.take(count as usize).flat_map(Polynomial::digits).collect::<Vec<u32>>()
        };
        let one = Polynomial::steps(draws);
        if self == Self::Polynomials {
            let many = powers(Polynomial::steps(256 * draws), chunks.div_ceil(256));
            return context.table(&[powers(one, 256), many].concat());
        }
        let count = chunks as usize - 1;
        let jumps = DeviceVec::from_slice(queue, &powers(one, chunks)[8..])?;
        // SAFETY: the kernel writes every word.
        let mut tables = unsafe { DeviceVec::uninitialized(queue, count * JUMP_TABLE_WORDS)? };
        if count > 0 {
            let kernel = KERNELS.kernel::<Tables>(queue.device(), &())?;
            // SAFETY: a block for each jump, of which each has 8 words in `jumps` and a table.
            unsafe { kernel.launch(count as u32, (jumps.input(), tables.output()), queue)? };
        }
        context.written(tables)
    }
}
