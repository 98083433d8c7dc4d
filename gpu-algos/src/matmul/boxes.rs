//! Products of f64 and of complex f64 whose operands bulk copies bring into shared memory box by box, on Hopper.

use gpu_array::{
    DType,
    gpu_driver::{Arch, Stream, TensorMap},
};

use super::{
    problem::MatmulProblem,
    tensor_cores::{BoxOrder, FactorLayout, HOPPER, MappedOperand},
    tile::MatmulTile,
};
use crate::Result;

/// The operands of a problem, as tensor maps describe them.
#[derive(Clone, Debug)]
pub(super) struct BoxedOperands {
    operands: [MappedOperand; 2],
    element_bytes: usize,
}

impl BoxedOperands {
    /// None if no kernel copies boxes of these operands: each has neighbours along one of its axes, and strides of whole packs along the others.
    pub(super) fn of(problem: &MatmulProblem, arch: Arch) -> Option<Self> {
        if !matches!(problem.dtype, DType::F64 | DType::C128) || arch.number() != HOPPER || problem.k == 0 {
            return None;
        }
        let [a, b] = [1, 2].map(|operand| FactorLayout::of(problem, operand).in_place());
        Some(Self { operands: [a?, b?], element_bytes: problem.dtype.bytes() })
    }

    /// The orders of their elements.
    pub(super) fn orders(&self) -> [BoxOrder; 2] {
        self.operands.each_ref().map(|operand| operand.order)
    }

    /// Their maps, for the boxes of a tile.
    ///
    /// # Errors
    /// Those of [`TensorMap::new`].
    pub(super) fn maps(&self, tile: &MatmulTile, stream: &Stream) -> Result<[TensorMap; 2]> {
        let [a, b] = &self.operands;
        let (elements, [block_m, block_n]) = ([self.element_bytes, 1], tile.area());
        let along = tile.block_k;
        Ok([a.map(stream.device(), elements, [block_m, along])?, b.map(stream.device(), elements, [block_n, along])?])
    }

    /// The problem with matrices of the maps in place of elements along the axes of the stack.
    pub(super) fn stacked(&self, problem: &MatmulProblem) -> MatmulProblem {
        let mut stacked = problem.clone();
        for (axis, of) in stacked.batch.iter_mut().enumerate() {
            for (operand, steps) in self.operands.iter().zip(&mut of.steps[1..3]) {
                *steps = operand.matrix_steps[axis];
            }
        }
        stacked
    }
}
