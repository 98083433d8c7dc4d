//! The expressions of a map of rows with their operands, and the axes that they have in common.

use gpu_array::expression::{CONSTANT, Chain, Lowered, LoweredLeaf, PACKED};
use smallvec::SmallVec;

use super::constants::{ANY_LEAF, CONSTANT_LEAF, PACKED_LEAF};
use crate::common::{
    axes::{Axis, Steps, join, kind_along},
    operator::DeviceOperator,
};

/// A map of rows: the stages, the map, and how their operands lie.
#[derive(Debug)]
pub(super) struct RowProblem<'l, 'a> {
    /// The expressions: those of the stages, then the map.
    pub(super) expressions: SmallVec<[&'l Lowered<'a>; 4]>,
    /// The leaves of all expressions, in their order.
    pub(super) leaves: SmallVec<[RowLeaf<'l>; 8]>,
    /// The operators of the stages.
    pub(super) operators: SmallVec<[DeviceOperator; 4]>,
    /// The axis of a row; the first step is that of the target.
    pub(super) row: Axis,
    /// The other axes, the innermost first.
    pub(super) outer: SmallVec<[Axis; 4]>,
    /// The address of the target, and the bytes of an element.
    pub(super) target: u64,
    pub(super) target_bytes: usize,
}

/// A leaf of an expression.
#[derive(Clone, Copy, Debug)]
pub(super) enum RowLeaf<'l> {
    /// The result of a stage for the row.
    Result(usize),
    /// An array, or places.
    Operand(LoweredLeaf<'l>),
}

/// The leaves of an expression, of which those in `links` are results of stages.
fn leaves_of<'l>(expression: &'l Lowered<'_>, links: &'l [(usize, usize)]) -> impl Iterator<Item = RowLeaf<'l>> {
    expression.leaves().enumerate().map(|(number, leaf)| match links.iter().find(|(of, _)| *of == number) {
        Some(&(_, stage)) => RowLeaf::Result(stage),
        None => RowLeaf::Operand(leaf),
    })
}

impl<'l, 'a> RowProblem<'l, 'a> {
    /// The problem of a chain whose stages have these operators. The chain has at least one axis.
    pub(super) fn new(chain: &Chain<'l, 'a>, operators: SmallVec<[DeviceOperator; 4]>) -> Self {
        let stages = chain.stages.iter().map(|stage| (stage.operand(), stage.links()));
        let all = stages.chain([(chain.expression, chain.links)]);
        let leaves: SmallVec<[RowLeaf<'l>; 8]> =
            all.clone().flat_map(|(expression, links)| leaves_of(expression, links)).collect();
        let steps = |axis: usize| -> Steps {
            let of_leaves = leaves.iter().map(|leaf| match leaf {
                RowLeaf::Result(_) => 0,
                RowLeaf::Operand(leaf) => leaf.strides[axis],
            });
            [chain.target.strides[axis]].into_iter().chain(of_leaves).collect()
        };
        let axis = |(number, &length)| Axis { length, outer: true, steps: steps(number) };
        let mut outer: SmallVec<[Axis; 4]> = chain.expression.shape().iter().enumerate().map(axis).collect();
        let row = outer.pop().unwrap_or_else(|| Axis { length: 1, outer: false, steps: Steps::new() });
        outer.retain(|axis| axis.length != 1);
        outer.reverse();
        join(&mut outer);
        let (target, target_bytes) = (chain.target.address, chain.target.dtype.bytes());
        let expressions = all.map(|(expression, _)| expression).collect();
        Self { expressions, leaves, operators, row, outer, target, target_bytes }
    }

    /// Rows.
    pub(super) fn rows(&self) -> usize {
        self.outer.iter().map(|axis| axis.length).product()
    }

    /// The scalars of all expressions, in that order.
    pub(super) fn scalars(&self) -> impl Iterator<Item = u64> + '_ {
        self.expressions.iter().flat_map(|expression| expression.scalars().iter().copied())
    }

    /// The most bytes of an element of the target and of the arrays.
    pub(super) fn most_bytes(&self) -> usize {
        let of_arrays = self.leaves.iter().filter_map(|leaf| match leaf {
            RowLeaf::Operand(leaf) if !leaf.is_place => Some(leaf.dtype.bytes()),
            _ => None,
        });
        of_arrays.fold(self.target_bytes, usize::max)
    }

    /// Whether neighbours along rows are the nearest ones that the target and each array have: else threads along another axis read whole sectors.
    pub(super) fn goes_along_rows(&self) -> bool {
        let is_nearest = |operand: usize| {
            let step = self.row.steps[operand].unsigned_abs();
            self.outer.iter().map(|axis| axis.steps[operand].unsigned_abs()).all(|other| other == 0 || other >= step)
        };
        let is_place = |leaf: &RowLeaf<'_>| matches!(leaf, RowLeaf::Operand(leaf) if leaf.is_place);
        is_nearest(0) && self.leaves.iter().enumerate().all(|(number, leaf)| is_place(leaf) || is_nearest(1 + number))
    }

    /// Whether packs of `width` elements of the target are whole and aligned along rows.
    pub(super) fn is_target_packed(&self, width: usize) -> bool {
        self.row.length.is_multiple_of(width) && self.kind(0, (self.target, self.target_bytes), width) == PACKED
    }

    /// The kernel's parameter for leaf `number`, in packs of `width` elements: its stage, or how an operand lies in place of one.
    pub(super) fn stage_or_kind(&self, number: usize, width: usize) -> i32 {
        let leaf = match self.leaves[number] {
            RowLeaf::Result(stage) => return stage as i32,
            RowLeaf::Operand(leaf) if leaf.is_place => return ANY_LEAF,
            RowLeaf::Operand(leaf) => leaf,
        };
        match self.kind(1 + number, (leaf.address, leaf.dtype.bytes()), width) {
            PACKED if self.row.length.is_multiple_of(width) => PACKED_LEAF,
            CONSTANT => CONSTANT_LEAF,
            _ => ANY_LEAF,
        }
    }

    /// How an operand lies along rows.
    fn kind(&self, operand: usize, element: (u64, usize), width: usize) -> u64 {
        kind_along(&self.row, self.outer.iter(), operand, element, width)
    }
}
