//! Fused elementwise expressions.

mod assign;
mod code;
pub(crate) mod device;
mod expr;
mod functions;
mod graph;
pub(crate) mod host;
pub(crate) mod job;
mod make;
mod node;
mod op;
mod operators;
mod place;
mod source;

use gpu_driver::Stream;
use smallvec::SmallVec;

pub use device::{KERNELS, Precompile, precompile};
pub use expr::{Expr, IntoExpr, Operand, Rhs, constant, host};
pub use functions::where_;
pub use job::{Job, Target, Values, eval_all};
pub use make::{
    Outside, arange, diff, eye, flip, gather, index, linspace, pad, repeat, roll, source, take, tile, tril, triu,
};
pub use place::{Gpu, Host, Place};
pub use source::Source;

pub(crate) use assign::Pending;
pub(crate) use code::{Code, Shape, Step};
pub(crate) use op::Op;
pub(crate) use source::AnySource;

use crate::{DType, Result};
use host::HostView;

/// Distances of neighbours along each axis, in elements.
pub(crate) type Strides = SmallVec<[isize; 4]>;

/// Where the elements of a leaf are.
#[derive(Clone, Debug)]
pub(crate) enum Memory<'a> {
    /// A buffer in device memory.
    Device { address: u64, home: &'a Stream, pending: Option<&'a Pending> },
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

impl<'a> Memory<'a> {
    /// The stream that orders it.
    fn home(&self) -> Option<&'a Stream> {
        match self {
            Self::Device { home, .. } => Some(home),
            _ => None,
        }
    }

    /// What an operator on the array could not return.
    fn check(&self) -> Result<()> {
        match self {
            Self::Device { pending: Some(pending), .. } => pending.check(),
            _ => Ok(()),
        }
    }

    /// Whether both begin at one place of one memory.
    fn same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Device { address: a, .. }, Self::Device { address: b, .. }) => a == b,
            (Self::Host(a), Self::Host(b)) => a.address() == b.address(),
            _ => false,
        }
    }
}

impl Leaf<'_> {
    /// Whether both are the same elements in the same shape.
    fn same_as(&self, other: &Self) -> bool {
        self.dtype == other.dtype
            && self.offset == other.offset
            && self.memory.same_as(&other.memory)
            && self.shape == other.shape
            && self.strides == other.strides
    }
}
