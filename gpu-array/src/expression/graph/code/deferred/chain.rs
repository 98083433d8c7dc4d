//! Reductions of rows that a launch evaluates together with the expression of their results: the seam for softmax and its kin.

use std::{any::Any, sync::Arc};

use smallvec::SmallVec;

use super::DeferredValue;
use crate::expression::graph::code::lowered::{Lowered, LoweredTarget};

/// Leaves that are results of stages: the number of the leaf, and that of the stage.
pub(crate) type Links = SmallVec<[(usize, usize); 2]>;

/// A reduction of a [`Chain`].
#[derive(Debug)]
pub struct Stage<'a> {
    pub(crate) value: Arc<DeferredValue<'a>>,
    pub(crate) operand: Lowered<'a>,
    pub(crate) links: Links,
}

impl<'a> Stage<'a> {
    /// The expression that is reduced along the last axis. It has the shape of the chain.
    pub fn operand(&self) -> &Lowered<'a> {
        &self.operand
    }

    /// The leaves of the operand that are results of earlier stages; they have no memory.
    pub fn links(&self) -> &[(usize, usize)] {
        &self.links
    }

    /// The reduction, as [`Deferred::of_rows`](super::Deferred::of_rows) gives it.
    pub fn reduction(&self) -> Option<&dyn Any> {
        self.value.operation.of_rows(self.operand.shape().len())
    }
}

/// Reductions of rows, each of an expression of arrays and of results of those before it, and the expression of their results that is to be written.
///
/// All expressions have one shape, whose last axis is that of the rows. A value of a row depends on elements of that row, of other arrays, and on places.
/// The elements that the target and a leaf have in common are those that [`GpuArray::update`](crate::GpuArray::update) lends: each stands at the same
/// place of both. So a row of the target may be written once that row has been reduced, each element by the thread that has read it last.
#[derive(Clone, Copy, Debug)]
pub struct Chain<'l, 'a> {
    /// The reductions, each after those whose results it reads.
    pub stages: &'l [Stage<'a>],
    /// The expression, with one output.
    pub expression: &'l Lowered<'a>,
    /// The leaves of the expression that are results of stages.
    pub links: &'l [(usize, usize)],
    /// The array that the values go to, of the type of the output.
    pub target: LoweredTarget<'l>,
}
