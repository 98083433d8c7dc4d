//! Expressions that a deferred computation may evaluate around its result, in its own launch: the seam for epilogues of matrix products.

use super::Evaluated;
use crate::{
    DType,
    expression::graph::{
        code::lowered::{Lowered, LoweredTarget},
        op::Op,
    },
};

/// The expression around the result of a [`Deferred`](super::Deferred) computation, and the array that its values go to.
///
/// The result is a leaf of the expression, without memory; all other leaves are arrays of the device, or places. The elements that the target and a
/// leaf have in common are those that [`GpuArray::update`](crate::GpuArray::update) lends: each stands at the same place of both. So a thread
/// may write an element that it has read itself, and no other one.
#[derive(Clone, Copy, Debug)]
pub struct Around<'l, 'a> {
    expression: &'l Lowered<'a>,
    leaf: usize,
    target: LoweredTarget<'l>,
}

/// The outcome of [`Deferred::evaluate_around`](super::Deferred::evaluate_around).
#[derive(Debug)]
pub enum Within {
    /// Its values are written.
    Whole,
    /// The results of the computation alone, as [`Deferred::evaluate`](super::Deferred::evaluate) gives them.
    Alone(Vec<Evaluated>),
}

impl<'l, 'a> Around<'l, 'a> {
    pub(crate) fn new(expression: &'l Lowered<'a>, leaf: usize, target: LoweredTarget<'l>) -> Self {
        Self { expression, leaf, target }
    }

    /// The expression, of the shape of the result. It has one output.
    pub fn expression(&self) -> &'l Lowered<'a> {
        self.expression
    }

    /// The number of the result among the leaves of the expression.
    pub fn leaf(&self) -> usize {
        self.leaf
    }

    /// The array that the values go to, of the type of the output.
    pub fn target(&self) -> LoweredTarget<'l> {
        self.target
    }

    /// The type of the result.
    pub fn dtype(&self) -> DType {
        self.expression.code().leaves[self.leaf].dtype
    }

    /// Whether the expression is the result itself.
    pub fn is_empty(&self) -> bool {
        self.expression.array().is_some()
    }

    /// The length of the expression's text in instructions, roughly: a loop that is unrolled around it repeats them.
    pub fn instructions(&self) -> usize {
        self.expression.code().steps.iter().map(|step| instructions(step.op, step.dtype)).sum()
    }
}

/// Instructions of an operation, roughly.
fn instructions(op: Op, dtype: DType) -> usize {
    use Op::*;
    let parts = if dtype.is_complex() { 4 } else { 1 };
    let of_part = match op {
        Leaf | Scalar | Copy => 0,
        Index | Cast | Select | Complex | Real | Imag | Conj | Negate | Not | Add | Subtract | Multiply | Fma => 1,
        Absolute | Minimum | Maximum | Fmin | Fmax | And | Or | Xor | IsNan | IsFinite | Floor | Ceil | Round => 2,
        Truncate | Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual | ShiftLeft | ShiftRight => 2,
        Sign | CopySign => 4,
        Divide | Sqrt | Exp | Exp2 => 16,
        _ => 64,
    };
    of_part * parts
}
