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

use crate::{harness::Harness, peers};

/// Everything with the matrices of the set: on the device, or on the CPU.
pub fn figures(harness: &mut Harness) {
    for case in cases(harness.set(), harness.on_gpu()) {
        match (case.missing_file(), case.element_type) {
            (Some(reason), _) => harness.gap("gpu-sparse", None, &format!("{}: {reason}", case.name)),
            (None, ElementType::F32) => of_type::<f32>(harness, &case),
            (None, ElementType::F64) => of_type::<f64>(harness, &case),
        }
    }
}

fn of_type<T: Scalar + peers::Real>(harness: &mut Harness, case: &Case) {
    let input = Input::<T>::new(case);
    on_device::figures(harness, &input);
    host::figures(harness, &input);
    peers::sparse(harness, &input);
}

/// `f32` or `f64`.
pub fn dtype<T: Scalar>() -> &'static str {
    if size_of::<T>() == 4 { "f32" } else { "f64" }
}
