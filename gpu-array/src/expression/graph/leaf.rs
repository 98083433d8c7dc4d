//! The operands that an expression reads.

use std::{fmt, sync::Arc};

use gpu_driver::Stream;
use ndarray::{ArrayViewD, Dimension};

use super::{deferred::DeferredValue, node::NodeRef};
use crate::{
    DType, Element, Result,
    element::{HostView, OwnedHost},
    layout::{Layout, extent},
    pending::Pending,
    shape::{Shape, Strides},
};

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
    /// The result of a computation that comes before the kernel or pass, in C order. [`Code::resolve`](super::Code::resolve) puts it in place of this.
    Deferred(NodeRef<'a>),
    /// Nowhere: the values are the offsets themselves ([`Op::Index`](super::Op::Index)).
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
            Self::Deferred(node) => node.deferred()?.home(),
            _ => None,
        }
    }

    /// Reports the error that an operator on the array could not return.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Device { pending: Some(pending), .. } => pending.check(),
            Self::OwnedDevice(buffer) => buffer.pending().check(),
            Self::Deferred(node) => node.deferred().map_or(Ok(()), DeferredValue::check),
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
        if let Self::Deferred(node) = self
            && let LeafMemory::Deferred(other) = other
        {
            return node.same_as(other);
        }
        match (self.device_address(), other.device_address()) {
            (None, None) => self.host_address().is_some() && self.host_address() == other.host_address(),
            (a, b) => a == b,
        }
    }
}

impl Leaf<'_> {
    /// The places of the elements as a layout, and the least offset of an element, from which the layout counts.
    pub(crate) fn layout<D: Dimension>(&self) -> (Layout<D>, isize) {
        let first = extent(&self.shape, &self.strides, self.offset).map_or(self.offset, |(least, _)| least);
        let offset = (self.offset - first).cast_unsigned();
        (Layout::of_parts(offset, &self.shape, &self.strides), first)
    }

    /// Other elements of its memory, by a layout that was made of [`Leaf::layout`] and counts from `first`.
    pub(crate) fn with_layout<D: Dimension>(&self, layout: &Layout<D>, first: isize) -> Self {
        let (shape, strides) = (Shape::from_slice(layout.shape()), Strides::from_slice(layout.strides()));
        Self {
            memory: self.memory.clone(),
            dtype: self.dtype,
            offset: first + layout.offset() as isize,
            shape,
            strides,
        }
    }

    /// Its elements with axes of length 1 in front, so that there are that many at least.
    pub(crate) fn with_rank(&self, rank: usize) -> Self {
        let mut wide = self.clone();
        while wide.shape.len() < rank {
            wide.shape.insert(0, 1);
            wide.strides.insert(0, 0);
        }
        wide
    }

    /// The array in host memory that it reads, of elements of the type `T`.
    #[expect(unsafe_code, reason = "the places of a leaf lead to elements of its array")]
    pub(crate) fn host_array<T: Element>(&self) -> Option<ArrayViewD<'_, T>> {
        let view = match &self.memory {
            LeafMemory::Host(view) => view,
            LeafMemory::OwnedHost(array) => array.view(),
            _ => return None,
        };
        let part = view.part::<T>()?;
        // SAFETY: shape, strides and offset are those of a view of the array: each place is one of its elements.
        unsafe { part.array(&self.shape, &self.strides, self.offset) }
    }

    /// The address in device memory of the element at an offset; outside device memory the offset itself.
    pub(crate) fn address(&self, offset: isize) -> u64 {
        self.memory.address(offset, self.dtype)
    }

    /// Whether both have the same values at each place: those of an array, or the places themselves.
    pub(crate) fn reads_as(&self, other: &Leaf<'_>) -> bool {
        let places = matches!((&self.memory, &other.memory), (LeafMemory::Nowhere, LeafMemory::Nowhere));
        self.same_as(other)
            || places && self.offset == other.offset && self.shape == other.shape && self.strides == other.strides
    }

    /// Whether both are the same elements in the same shape.
    pub(crate) fn same_as(&self, other: &Leaf<'_>) -> bool {
        self.dtype == other.dtype
            && self.offset == other.offset
            && self.memory.same_as(&other.memory)
            && self.shape == other.shape
            && self.strides == other.strides
    }
}
