//! Reductions, scans, selections and products of large arrays on the host, by all threads of rayon's pool and with vector instructions.
//!
//! [`reduce`](fn@reduce) reduces an array by an [`Operator`], [`reduce_axes`] some axes of it, and functions such as [`sum`], [`mean`], [`var`] and
//! [`argmax`] have the operator in their name. [`scan()`] goes along an axis, [`segmented_scan`] and [`scan_by_key`] along parts of it. [`select`],
//! [`copy_if`], [`compress`] and [`partition`] copy the selected elements side by side, [`nonzero`] gives their places, and [`unique`] and
//! [`run_length_encode`] find runs of equal neighbours. [`dot`] and [`norm2`] are for vectors,
//! [`matmul()`] for matrices, [`matmul_i32`] for those of integers of 8 bits, [`tensordot`] for sums of products over pairs of axes, [`einsum`] for
//! those by labels of axes.
//!
//! Each function has a twin in [`reference`](mod@crate::reference), its definition as a loop. Results that do not round are equal to those of the
//! definition. Sums of floats are added in another order, and may differ from it within rounding. The same input gives the same bits on one thread
//! and on sixty-four.

mod columns;
mod einsum;
mod functions;
pub mod linalg;
mod matmul;
mod parallel;
mod reduce;
mod scan;
mod select;
#[cfg(test)]
mod tests;
mod vectors;
mod walk;

#[doc(no_inline)]
pub use crate::operators::*;
#[doc(no_inline)]
pub use crate::reference::Runs;
pub use einsum::{einsum, inner, kron};
pub use functions::*;
pub use matmul::{matmul, matmul_i32, tensordot};
pub use reduce::{reduce, reduce_axes};
pub use scan::*;
pub use select::*;
pub use vectors::*;
