//! Sparse products and conjugate gradients: the matrices, the right answers, and the figures of our own crates.

mod answers;
mod case;
mod export;
mod host;
mod input;
mod on_device;

use gpu_sparse::Scalar;

pub use answers::{check_product, check_solve, largest_error, relative_residual};
pub use case::{Case, ElementType, Operation, cases};
pub use export::{Raw, export};
pub use input::{ITERATIONS, Input};

use crate::harness::Harness;

/// Everything with one matrix: on the device, or on the CPU.
pub fn figures<T: Scalar>(harness: &mut Harness, input: &Input<'_, T>) {
    on_device::figures(harness, input);
    host::figures(harness, input);
}
