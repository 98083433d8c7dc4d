//! Reductions of rows that a launch evaluates together with the expression of their results.

use std::sync::Arc;

use gpu_driver::Stream;
use smallvec::SmallVec;

use crate::{
    Result,
    expression::graph::{Chain, Code, DeferredValue, Leaf, LeafMemory, Links, Lowered, LoweredTarget, Stage},
    layout::dense_strides,
    shape::Shape,
};

/// The most reductions of a chain.
const MOST_STAGES: usize = 4;

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
        let Some(value) = self.stages.last().map(|stage| &stage.value) else { return Ok(false) };
        code.check_kernel(stream)?;
        self.stages.iter().try_for_each(|stage| stage.operand.code().check_kernel(stream))?;
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
        if let LeafMemory::Deferred(value) = &leaf.memory {
            is_of_rows(leaf, shape).then_some(())?;
            links.push((number, stage(stages, value, shape)?));
        }
    }
    Some(links)
}

/// The number of a deferred value among the stages, which it joins.
fn stage<'a>(stages: &mut SmallVec<[Stage<'a>; 2]>, value: &Arc<DeferredValue<'a>>, shape: &Shape) -> Option<usize> {
    if let Some(known) = stages.iter().position(|stage| stage.value.same_as(value)) {
        return Some(known);
    }
    let [operand] = value.operands() else { return None };
    value.operation.of_rows(shape.len())?;
    let links = link(stages, operand.code(), shape)?;
    if stages.len() == MOST_STAGES {
        return None;
    }
    stages.push(Stage { value: value.clone(), operand: Lowered::resolved(operand.code().clone()), links });
    Some(stages.len() - 1)
}

/// Whether a leaf, in C order without gaps, has one element for each row, in the order of the rows.
fn is_of_rows(leaf: &Leaf<'_>, shape: &[usize]) -> bool {
    let Some((_, outer)) = shape.split_last() else { return false };
    let wanted = dense_strides(outer, false);
    let mut axes = outer.iter().zip(&leaf.strides).zip(&wanted);
    leaf.strides.last() == Some(&0) && axes.all(|((&length, stride), wanted)| length == 1 || stride == wanted)
}
