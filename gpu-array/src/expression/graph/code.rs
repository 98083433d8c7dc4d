//! Expressions as a list of steps, which both evaluators run, and the memory that they read.
//!
//! That memory may be the result of a computation whose operands are expressions again, so `code/deferred.rs` is a part of this module, and so
//! is `code/lowered.rs` with the form in which it takes them.

pub(super) mod deferred;
pub(super) mod leaf;
pub(super) mod lowered;

use std::{fmt, sync::Arc};

use gpu_driver::{Device, Stream};
use smallvec::SmallVec;

use self::{
    deferred::DeferredValue,
    leaf::{Leaf, TakeTable},
};
use super::{
    op::Op,
    source::{AnySource, Scope},
};
use crate::{
    ArrayError, DType, Result,
    element::{HostView, OwnedHost},
    pending::Pending,
    shape::Shape,
};

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
    /// The scope of which it may read values.
    pub(crate) scope: Option<Scope>,
}

/// The memory that has the elements of a leaf.
#[derive(Clone, Debug)]
pub(crate) enum LeafMemory<'a> {
    /// A buffer in device memory.
    Device { address: u64, home: &'a Stream, pending: Option<&'a Pending> },
    /// A buffer in device memory that the expressions which read it own. It goes with the last of them, in the order of its home.
    OwnedDevice(Arc<dyn OwnedBuffer>),
    /// An array in host memory; its first element (by index, not by address) is element 0.
    Host(HostView<'a>),
    /// An array in host memory that the expressions which read it own.
    OwnedHost(OwnedHost),
    /// The result of a computation that comes before the kernel or pass, in C order. [`Code::resolve`] puts it in place of this.
    Deferred(Arc<DeferredValue<'a>>),
    /// Nowhere: the values are the offsets themselves ([`Op::Index`]).
    Nowhere,
}

/// The buffer of an array that an expression owns.
pub(crate) trait OwnedBuffer: fmt::Debug + Send + Sync {
    /// Its address.
    fn address(&self) -> u64;
    /// The stream that orders it.
    fn home(&self) -> &Stream;
    /// The error that an operator on the array could not return.
    fn pending(&self) -> &Pending;
}

impl<'a> Code<'a> {
    /// The streams of the arrays in device memory, in order and with repetitions.
    pub(crate) fn homes(&self) -> impl Iterator<Item = &Stream> {
        self.memories().filter_map(LeafMemory::home)
    }

    /// Returns the error that an operator such as `+=` on an array could not return, or that of a value which is read outside its scope. The first counts
    /// as told then, so the caller must return it too: lazy values, which may never be evaluated, wait with this call.
    pub(crate) fn check_operands(&self) -> Result<()> {
        let mut scopes = self.sources.iter().filter_map(|source| source.scope());
        match scopes.find(|&scope| Some(scope) != self.scope) {
            Some(scope) => Err(scope.left()),
            None => self.memories().try_for_each(LeafMemory::check),
        }
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

    /// Checks that it can become a kernel on the stream's device.
    pub(crate) fn check_kernel(&self, stream: &Stream) -> Result<()> {
        self.check_steps()?;
        let device = stream.device();
        let other = |memory: &LeafMemory<'_>| {
            memory.home().map(Stream::device).filter(|&home| home != device).map(Device::ordinal)
        };
        let refused = |right_device, right| {
            Err(ArrayError::Devices {
                left: "the result".to_owned(),
                left_device: device.ordinal(),
                right,
                right_device,
            })
        };
        for leaf in &self.leaves {
            if let Some(ordinal) = other(&leaf.memory) {
                return refused(ordinal, format!("an array of {} with shape {:?}", leaf.dtype, leaf.shape.as_slice()));
            }
        }
        for table in &self.tables {
            if let Some(ordinal) = other(&table.memory) {
                return refused(ordinal, format!("an array of {} read at computed places", table.dtype));
            }
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

    /// Whether it reads values that have not been computed.
    pub(crate) fn has_deferred(&self) -> bool {
        self.leaves.iter().any(|leaf| matches!(leaf.memory, LeafMemory::Deferred(_)))
    }

    /// The deferred values that it reads.
    pub(crate) fn deferred(&self) -> impl Iterator<Item = &Arc<DeferredValue<'a>>> {
        self.leaves.iter().filter_map(|leaf| match &leaf.memory {
            LeafMemory::Deferred(value) => Some(value),
            _ => None,
        })
    }

    /// Whether both compute the same values from the same arrays.
    pub(crate) fn same_as(&self, other: &Code<'_>) -> bool {
        let words = |code: &Code<'_>| code.sources.iter().map(|source| source.words().to_vec()).collect::<Vec<_>>();
        self.shape == other.shape
            && self.scalars == other.scalars
            && self.key() == other.key()
            && words(self) == words(other)
            && self.leaves.len() == other.leaves.len()
            && self.tables.len() == other.tables.len()
            && self.leaves.iter().zip(&other.leaves).all(|(a, b)| a.reads_as(b))
            && self
                .tables
                .iter()
                .zip(&other.tables)
                .all(|(a, b)| (a.dtype, a.offset) == (b.dtype, b.offset) && a.memory.same_as(&b.memory))
    }
}

impl LeafMemory<'_> {
    /// The address of a buffer in device memory.
    fn device_address(&self) -> Option<u64> {
        match self {
            Self::Device { address, .. } => Some(*address),
            Self::OwnedDevice(buffer) => Some(buffer.address()),
            _ => None,
        }
    }

    /// The address of an array in host memory.
    fn host_address(&self) -> Option<usize> {
        match self {
            Self::Host(view) => Some(view.address()),
            Self::OwnedHost(array) => Some(array.view().address()),
            _ => None,
        }
    }

    /// Whether it is in device memory.
    pub(crate) fn is_on_device(&self) -> bool {
        self.device_address().is_some()
    }

    /// The stream that orders it.
    pub(crate) fn home(&self) -> Option<&Stream> {
        match self {
            Self::Device { home, .. } => Some(home),
            Self::OwnedDevice(buffer) => Some(buffer.home()),
            Self::Deferred(value) => value.home(),
            _ => None,
        }
    }

    /// Reports the error that an operator on the array could not return.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Device { pending: Some(pending), .. } => pending.check(),
            Self::OwnedDevice(buffer) => buffer.pending().check(),
            Self::Deferred(value) => value.check(),
            _ => Ok(()),
        }
    }

    /// The address in device memory of the element at an offset; outside device memory the offset itself.
    pub(crate) fn address(&self, offset: isize, dtype: DType) -> u64 {
        match self.device_address() {
            Some(address) => address.wrapping_add_signed((offset * dtype.bytes() as isize) as i64),
            None => offset as u64,
        }
    }

    /// Whether both begin at one place of one memory, or are the result of one computation.
    pub(crate) fn same_as(&self, other: &LeafMemory<'_>) -> bool {
        if let Self::Deferred(value) = self
            && let LeafMemory::Deferred(other) = other
        {
            return value.same_as(other);
        }
        match (self.device_address(), other.device_address()) {
            (None, None) => self.host_address().is_some() && self.host_address() == other.host_address(),
            (a, b) => a == b,
        }
    }
}
