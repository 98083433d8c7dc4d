//! Expressions as a list of steps, which both evaluators run.

use smallvec::SmallVec;

use super::{Leaf, Op, TakeTable};
use crate::{DType, expression::source::AnySource};

/// Lengths of axes.
pub(crate) type Shape = SmallVec<[usize; 4]>;

/// One operation on the values of earlier steps. [`Op`] tells the meaning of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Step {
    pub(crate) op: Op,
    /// The type of its value.
    pub(crate) dtype: DType,
    /// Numbers of earlier steps, or of entries in a list of [`Code`]; 0 where there is none.
    pub(crate) args: [u32; 3],
}

/// Expressions in single assignment: each value is computed once. All of it is evaluated at each place of `shape`.
#[derive(Debug, Default)]
pub(crate) struct Code<'a> {
    /// Each refers to earlier ones only.
    pub(crate) steps: SmallVec<[Step; 16]>,
    /// The steps whose values are wanted.
    pub(crate) outputs: SmallVec<[u32; 2]>,
    /// The leaves, by the numbers in [`Op::Leaf`] and [`Op::Index`]; their strides are those for `shape`, 0 along axes that they are broadcast over.
    pub(crate) leaves: SmallVec<[Leaf<'a>; 4]>,
    /// The scalars, by the numbers in [`Op::Scalar`], as [`crate::Element::to_word`] gives them.
    pub(crate) scalars: SmallVec<[u64; 8]>,
    /// The tables, by the numbers in [`Op::Gather`].
    pub(crate) tables: SmallVec<[TakeTable<'a>; 1]>,
    /// The sources, by the numbers in [`Op::Source`].
    pub(crate) sources: SmallVec<[AnySource; 1]>,
    /// The places.
    pub(crate) shape: Shape,
}
