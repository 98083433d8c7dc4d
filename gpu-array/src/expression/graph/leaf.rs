//! The operands that an expression reads.

use gpu_driver::Stream;

use crate::{
    DType, Result,
    element::HostView,
    pending::Pending,
    shape::{Shape, Strides},
};

/// The memory that has the elements of a leaf.
#[derive(Clone, Debug)]
pub(crate) enum LeafMemory<'a> {
    /// A buffer in device memory.
    Device { address: u64, home: &'a Stream, pending: Option<&'a Pending> },
    /// An array in host memory; its first element (by index, not by address) is element 0.
    Host(HostView<'a>),
    /// Nowhere: the values are the offsets themselves ([`Op::Index`](super::Op::Index)).
    Nowhere,
}

/// The elements that an expression reads: at the place with the coordinates `c` that at `offset + sum(strides * c)` in `memory`.
#[derive(Clone, Debug)]
pub(crate) struct Leaf<'a> {
    pub(crate) memory: LeafMemory<'a>,
    pub(crate) dtype: DType,
    pub(crate) offset: isize,
    pub(crate) shape: Shape,
    pub(crate) strides: Strides,
}

/// Elements that an expression reads at computed offsets from the first.
#[derive(Clone, Debug)]
pub(crate) struct TakeTable<'a> {
    pub(crate) memory: LeafMemory<'a>,
    pub(crate) dtype: DType,
    /// The offset of the first element.
    pub(crate) offset: isize,
}

impl<'a> LeafMemory<'a> {
    /// The stream that orders it.
    pub(crate) fn home(&self) -> Option<&'a Stream> {
        match self {
            Self::Device { home, .. } => Some(home),
            _ => None,
        }
    }

    /// Reports the error that an operator on the array could not return.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Device { pending: Some(pending), .. } => pending.check(),
            _ => Ok(()),
        }
    }

    /// The address in device memory of the element at an offset; outside device memory the offset itself.
    pub(crate) fn address(&self, offset: isize, dtype: DType) -> u64 {
        match self {
            Self::Device { address, .. } => address.wrapping_add_signed((offset * dtype.bytes() as isize) as i64),
            _ => offset as u64,
        }
    }

    /// Whether both begin at one place of one memory.
    pub(crate) fn same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Device { address: a, .. }, Self::Device { address: b, .. }) => a == b,
            (Self::Host(a), Self::Host(b)) => a.address() == b.address(),
            _ => false,
        }
    }
}

impl Leaf<'_> {
    /// The address in device memory of the element at an offset; outside device memory the offset itself.
    pub(crate) fn address(&self, offset: isize) -> u64 {
        self.memory.address(offset, self.dtype)
    }

    /// Whether both are the same elements in the same shape.
    pub(crate) fn same_as(&self, other: &Self) -> bool {
        self.dtype == other.dtype
            && self.offset == other.offset
            && self.memory.same_as(&other.memory)
            && self.shape == other.shape
            && self.strides == other.strides
    }
}
