//! Definitions of reductions, scans, selections, writes at indices and products: serial loops of few lines, with which all fast code is compared.
//!
//! Each has the name of the operation on a device; functions of [`host`](crate::host) with the same name compute the same on all threads. Arrays have
//! any layout; elements are taken in C order, one after another, so sums of floats are rounded once per element. The types of results, and their
//! rounding, are those of the [operators](crate::operators). Softmax and the like are expressions of reductions and have no definition of their own.

mod einsum;
pub mod linalg;
pub(crate) mod matmul;
mod reduce;
mod scan;
mod select;
mod vectors;
mod write_at;

#[doc(no_inline)]
pub use crate::operators::*;
pub use einsum::{einsum, inner, kron};
pub use matmul::{gemm, matmul, matmul_i32, tensordot};
pub use reduce::*;
pub use scan::*;
pub use select::*;
pub use vectors::*;
pub use write_at::*;
