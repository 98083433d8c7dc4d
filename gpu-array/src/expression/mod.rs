//! Fused elementwise expressions: whole formulas as one kernel on a GPU, or as one pass of the CPU's threads.
//!
//! Operators and functions on `&GpuArray`, views, scalars and other expressions build an [`Expr`]; [`Expr::eval`] computes it, [`eval_all`] several
//! together, [`GpuArray::assign`](crate::GpuArray::assign) and [`GpuArray::update`](crate::GpuArray::update) write in place, and so do `+=`
//! and its like. Arrays on the host are taken by [`host`](host()), and the same expression is evaluated by rayon.
//!
//! # Semantics
//! | | |
//! |---|---|
//! | types | known to the compiler: [`Promote`](crate::Promote) is NumPy's table (i32 with f32 gives f64). A scalar has the array's element type |
//! | shapes | broadcast as in NumPy; shapes that do not fit are an error of `eval` |
//! | `+ - *` | integers wrap; floats round once and are never contracted to a fused multiply-add ([`Expr::fma`] is one) |
//! | `/` | of integers gives f64 |
//! | `%`, `floor_divide` | NumPy's: the remainder has the divisor's sign; integers by 0 give 0. `fmod` is C's and Rust's |
//! | `& \| ^ !` | of integers bit by bit, of `bool` logic |
//! | `<< >>` | by the width or more, or by less than 0, gives 0, for a negative left side too |
//! | comparisons | methods `eq ne lt le gt ge`, which give `bool` |
//! | `cast` | float to integer cuts and saturates, NaN gives 0; integers wrap |
//! | `minimum`, `maximum` | give NaN where one of both is; `fmin`, `fmax` the other |
//! | sharing | a value that is used twice, by a clone or a reference, is computed once |
//! | | an array that is used twice in one shape is read once, among the first 64 of an expression |
//!
//! # Determinism
//! Everything has the same bits on the CPU, on every GPU and on the emulated device, but for which NaN it is, and for the mathematical functions,
//! which keep to the bounds that their documentation gives. On one device the same call gives the same bits.
//!
//! # Cost
//! Each array is read once and each value written once, in accesses of 16 bytes where elements lie behind one another. Of an expression at most three
//! kernels are compiled, each when it is first needed: for elements that all lie behind one another, for any strides, and for arrays that lie
//! along another axis than the result (a transposed matrix comes through shared memory). Neither shapes nor scalars nor strides are compiled
//! in. Compiling takes some 100 ms, loading from the cache on disk well under one; [`precompile`] does it ahead, for many at once.
//!
//! # Limits
//! A kernel has at most 4096 operations, and its arrays and scalars fit into 4096 bytes of parameters; beyond, `eval` is an error. The CPU has no
//! limit.

mod assign;
mod backend;
mod code;
pub(crate) mod device;
mod expr;
mod functions;
mod graph;
pub(crate) mod host;
pub(crate) mod job;
mod lower;
mod make;
mod node;
mod op;
mod operators;
mod source;

use gpu_driver::Stream;
use smallvec::SmallVec;

pub use backend::{Backend, Gpu, Host};
pub use device::{
    AxisParams, CONSTANT, HEADERS, KERNELS, LeafParams, MAX_AXES, PACKED, PACKS, Precompile, STRIDED, divisor,
    pack_bytes, precompile,
};
pub use expr::{Expr, IntoExpr, Operand, Rhs, constant, host};
pub use functions::where_;
pub(crate) use job::Job;
pub use job::{Values, eval_all};
pub use lower::{Lowered, LoweredLeaf, LoweredTarget};
pub use make::{
    Outside, arange, diff, eye, flip, gather, index, linspace, pad, repeat, roll, source, take, tile, tril, triu,
};
pub use source::Source;

pub(crate) use assign::Pending;
pub(crate) use code::{Code, Shape, Step};
pub(crate) use op::Op;
pub(crate) use source::AnySource;

use crate::{DType, Result};
use host::HostView;

/// Distances of neighbours along each axis, in elements.
pub(crate) type Strides = SmallVec<[isize; 4]>;

/// The memory that has the elements of a leaf.
#[derive(Clone, Debug)]
pub(crate) enum LeafMemory<'a> {
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
    fn home(&self) -> Option<&'a Stream> {
        match self {
            Self::Device { home, .. } => Some(home),
            _ => None,
        }
    }

    /// Reports the error that an operator on the array could not return.
    fn check(&self) -> Result<()> {
        match self {
            Self::Device { pending: Some(pending), .. } => pending.check(),
            _ => Ok(()),
        }
    }

    /// The address in device memory of the element at an offset; outside device memory the offset itself.
    fn address(&self, offset: isize, dtype: DType) -> u64 {
        match self {
            Self::Device { address, .. } => address.wrapping_add_signed((offset * dtype.bytes() as isize) as i64),
            _ => offset as u64,
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
    /// The address in device memory of the element at an offset; outside device memory the offset itself.
    fn address(&self, offset: isize) -> u64 {
        self.memory.address(offset, self.dtype)
    }

    /// Whether both are the same elements in the same shape.
    fn same_as(&self, other: &Self) -> bool {
        self.dtype == other.dtype
            && self.offset == other.offset
            && self.memory.same_as(&other.memory)
            && self.shape == other.shape
            && self.strides == other.strides
    }
}
