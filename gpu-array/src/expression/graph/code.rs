//! Expressions as a list of steps, which both evaluators run.

use gpu_driver::Stream;
use smallvec::SmallVec;

use super::{
    leaf::{Leaf, LeafMemory, TakeTable},
    op::Op,
    source::AnySource,
};
use crate::{ArrayError, DType, Result, shape::Shape};

/// The most operations of a kernel. Beyond it, compiling takes seconds.
pub(crate) const MOST_OPERATIONS: usize = 4096;
/// An operation takes three arrays or scalars at most, each a step of its own.
const MOST_STEPS: usize = 4 * MOST_OPERATIONS;

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
#[derive(Clone, Debug, Default)]
pub(crate) struct Code<'a> {
    /// Each refers to earlier ones only.
    pub(crate) steps: SmallVec<[Step; 16]>,
    /// The steps whose values are wanted.
    pub(crate) outputs: SmallVec<[u32; 2]>,
    /// The leaves, by the numbers in [`Op::Leaf`] and [`Op::Index`]; their strides are those for `shape`, 0 along axes that they are broadcast over.
    pub(crate) leaves: SmallVec<[Leaf<'a>; 4]>,
    /// The scalars, by the numbers in [`Op::Scalar`], as the first of [`crate::Element::to_words`].
    pub(crate) scalars: SmallVec<[u64; 8]>,
    /// The tables, by the numbers in [`Op::Gather`].
    pub(crate) tables: SmallVec<[TakeTable<'a>; 1]>,
    /// The sources, by the numbers in [`Op::Source`].
    pub(crate) sources: SmallVec<[AnySource; 1]>,
    /// The places.
    pub(crate) shape: Shape,
}

impl Code<'_> {
    /// The streams of the arrays in device memory, in order and with repetitions.
    pub(crate) fn homes(&self) -> impl Iterator<Item = &Stream> {
        self.memories().filter_map(LeafMemory::home)
    }

    /// Returns the error that an operator such as `+=` on an array could not return. It counts as told then, so the caller must return it too:
    /// lazy values, which may never be evaluated, wait with this call.
    pub(crate) fn check_pending(&self) -> Result<()> {
        self.memories().try_for_each(LeafMemory::check)
    }

    fn memories(&self) -> impl Iterator<Item = &LeafMemory<'_>> {
        self.leaves.iter().map(|leaf| &leaf.memory).chain(self.tables.iter().map(|table| &table.memory))
    }

    /// Checks that there are few enough operations for a kernel, without arrays and scalars. Only such codes get keys and texts.
    pub(crate) fn check_steps(&self) -> Result<()> {
        let steps = self.steps.len();
        let got = if steps > MOST_OPERATIONS { self.operations() } else { steps };
        // So many arrays fit into no kernel's parameters: they are counted as operations on their values.
        let got = if steps > MOST_STEPS { got.max(steps / 4 + 1) } else { got };
        if got > MOST_OPERATIONS {
            return Err(ArrayError::TooManyOperations { limit: MOST_OPERATIONS, got });
        }
        Ok(())
    }

    fn operations(&self) -> usize {
        self.steps.iter().filter(|step| !step.op.operands().is_empty()).count()
    }

    /// The key of the steps: words for everything that their C++ text depends on.
    pub(crate) fn key(&self) -> SmallVec<[u64; 32]> {
        let mut key = SmallVec::new();
        self.write_key(&mut key);
        key
    }

    /// Appends the words of [`Code::key`]. Every launch does, so each list is appended as one, not word by word as of a chain of iterators.
    pub(crate) fn write_key(&self, key: &mut impl Extend<u64>) {
        let counts = self.leaves.len() as u64 | (self.outputs.len() as u64) << 16 | (self.steps.len() as u64) << 32;
        key.extend([counts]);
        key.extend(self.outputs.iter().map(|&step| u64::from(step)));
        key.extend(self.steps.iter().map(|step| {
            let [a, b, c] = step.args.map(u64::from);
            // Arguments are less than `MOST_STEPS`, so all of it fits into one word.
            step.op as u64 | (step.dtype as u64) << 8 | a << 16 | b << 32 | c << 48
        }));
        for source in &self.sources {
            let header = source.header();
            for text in [source.function(), header.name, header.text] {
                // The address and the length identify a static text.
                key.extend([text.as_ptr() as u64, text.len() as u64]);
            }
            key.extend([source.words().len() as u64]);
        }
    }
}
