//! Expressions as a list of steps: what both evaluators run.

use smallvec::SmallVec;

use super::{Leaf, Op, Table};
use crate::{DType, expression::source::AnySource};

/// Lengths of axes.
pub(crate) type Shape = SmallVec<[usize; 4]>;

/// One operation on the values of earlier steps. What the arguments mean is told by [`Op`].
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
    /// What [`Op::Leaf`] and [`Op::Index`] number; their strides are those for `shape`, 0 along axes that they are broadcast over.
    pub(crate) leaves: SmallVec<[Leaf<'a>; 4]>,
    /// What [`Op::Scalar`] numbers: [`crate::Element::to_word`].
    pub(crate) scalars: SmallVec<[u64; 8]>,
    /// What [`Op::Gather`] numbers.
    pub(crate) tables: SmallVec<[Table<'a>; 1]>,
    /// What [`Op::Source`] numbers.
    pub(crate) sources: SmallVec<[AnySource; 1]>,
    /// The places.
    pub(crate) shape: Shape,
}
