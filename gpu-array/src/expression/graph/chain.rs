//! Reductions of rows that a launch evaluates together with the expression of their results: the seam for softmax and its kin.

use std::any::Any;

use gpu_driver::Stream;
use smallvec::SmallVec;

use super::{
    code::Code,
    deferred::DeferredValue,
    leaf::{Leaf, LeafMemory},
    node::NodeRef,
};
use crate::{
    Result,
    expression::device::{self, Lowered, LoweredTarget},
    layout::dense_strides,
    shape::Shape,
};

/// The most reductions of a chain.
const MOST_STAGES: usize = 4;

/// Leaves that are results of stages: the number of the leaf, and that of the stage.
pub(super) type Links = SmallVec<[(usize, usize); 2]>;

/// A reduction of a [`Chain`].
#[derive(Debug)]
pub struct Stage<'a> {
    node: NodeRef<'a>,
    operand: Lowered<'a>,
    links: Links,
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
        self.value()?.operation.of_rows(self.operand.shape().len())
    }

    fn value(&self) -> Option<&DeferredValue<'a>> {
        self.node.deferred()
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

/// The reductions of an expression, where all of its deferred values are reductions of rows.
#[derive(Debug)]
pub(crate) struct Stages<'a> {
    stages: SmallVec<[Stage<'a>; 2]>,
    links: Links,
}

impl<'a> Stages<'a> {
    /// The stages of an expression; None where one of its deferred values is something else, or has another shape.
    pub(super) fn of(code: &Code<'a>) -> Option<Self> {
        let (&length, outer) = code.shape.split_last()?;
        let rows: usize = outer.iter().product();
        if length < 2 || rows < 2 {
            return None;
        }
        let mut stages = SmallVec::new();
        let links = link(&mut stages, code, &code.shape)?;
        (!stages.is_empty()).then_some(Self { stages, links })
    }

    /// Writes the values of `code` into the elements of `target` by one launch. Returns false, and has done nothing, where there is no such launch.
    pub(super) fn run(&self, code: &Code<'a>, target: LoweredTarget<'_>, stream: &Stream) -> Result<bool> {
        let Some(value) = self.stages.last().and_then(Stage::value) else { return Ok(false) };
        device::check(code, stream)?;
        self.stages.iter().try_for_each(|stage| device::check(stage.operand.code(), stream))?;
        let expression = Lowered::resolved(code.clone());
        let chain = Chain { stages: &self.stages, expression: &expression, links: &self.links, target };
        value.operation.evaluate_chain(&chain, stream).map_err(|error| value.failed(error))
    }
}

/// Adds the stages that a code of the shape of the chain reads, and returns its links.
fn link<'a>(stages: &mut SmallVec<[Stage<'a>; 2]>, code: &Code<'a>, shape: &Shape) -> Option<Links> {
    if code.outputs.len() != 1 || !code.tables.is_empty() || !code.sources.is_empty() || code.shape != *shape {
        return None;
    }
    let mut links = Links::new();
    for (number, leaf) in code.leaves.iter().enumerate() {
        if let LeafMemory::Deferred(node) = &leaf.memory {
            is_of_rows(leaf, shape).then_some(())?;
            links.push((number, stage(stages, node, shape)?));
        }
    }
    Some(links)
}

/// The number of a deferred value among the stages, which it joins.
fn stage<'a>(stages: &mut SmallVec<[Stage<'a>; 2]>, node: &NodeRef<'a>, shape: &Shape) -> Option<usize> {
    if let Some(known) = stages.iter().position(|stage| stage.node.same_as(node)) {
        return Some(known);
    }
    let value = node.deferred()?;
    let [operand] = value.operands.get() else { return None };
    value.operation.of_rows(shape.len())?;
    let links = link(stages, operand.code(), shape)?;
    if stages.len() == MOST_STAGES {
        return None;
    }
    stages.push(Stage { node: node.clone(), operand: Lowered::resolved(operand.code().clone()), links });
    Some(stages.len() - 1)
}

/// Whether a leaf, in C order without gaps, has one element for each row, in the order of the rows.
fn is_of_rows(leaf: &Leaf<'_>, shape: &[usize]) -> bool {
    let Some((_, outer)) = shape.split_last() else { return false };
    let wanted = dense_strides(outer, false);
    let mut axes = outer.iter().zip(&leaf.strides).zip(&wanted);
    leaf.strides.last() == Some(&0) && axes.all(|((&length, stride), wanted)| length == 1 || stride == wanted)
}
