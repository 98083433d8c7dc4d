//! Fused elementwise expressions.

mod code;
pub(crate) mod host;
mod op;
mod source;

pub(crate) use code::{Code, Shape, Step};
pub(crate) use op::Op;
pub use source::Source;

use gpu_driver::Stream;
use smallvec::SmallVec;

use crate::DType;
use host::HostView;

/// Distances of neighbours along each axis, in elements.
pub(crate) type Strides = SmallVec<[isize; 4]>;

/// Where the elements of a leaf are.
#[derive(Clone, Debug)]
pub(crate) enum Memory<'a> {
    /// A buffer in device memory.
    Device { address: u64, home: &'a Stream },
    /// An array in host memory; its first element (by index, not by address) is element 0.
    Host(HostView<'a>),
    /// Nowhere: the values are the offsets themselves ([`Op::Index`]).
    Nowhere,
}

/// The elements that an expression reads: at the place with the coordinates `c` that at `offset + sum(strides * c)` in `memory`.
#[derive(Clone, Debug)]
pub(crate) struct Leaf<'a> {
    pub(crate) memory: Memory<'a>,
    pub(crate) dtype: DType,
    pub(crate) offset: isize,
    pub(crate) shape: Shape,
    pub(crate) strides: Strides,
}

/// Elements that an expression reads at computed offsets from the first.
#[derive(Clone, Debug)]
pub(crate) struct Table<'a> {
    pub(crate) memory: Memory<'a>,
    pub(crate) dtype: DType,
    /// Of the first element.
    pub(crate) offset: isize,
}
