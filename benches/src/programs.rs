//! The figures of each bench program: ours by area, then the peers' with the same inputs.

use gpu_sparse::Scalar;

use crate::{
    algos as of_algos, arrays as of_arrays,
    harness::Harness,
    memory as of_memory, peers, random as of_random,
    sparse::{self as of_sparse, Case, ElementType, Input},
};

pub use crate::primitives::figures as primitives;

/// The machine's ceilings, arrays, and launches beside the driver's own.
pub fn memory(harness: &mut Harness) {
    of_memory::figures(harness);
    peers::launches(harness);
}

/// Expressions, copies between layouts, and the peers' expressions.
pub fn arrays(harness: &mut Harness) {
    of_arrays::figures(harness);
    peers::arrays(harness);
}

/// Products and solves with each matrix of the set: ours on the device or on the CPU, and the peers'.
pub fn sparse(harness: &mut Harness) {
    for case in of_sparse::cases(harness.set(), harness.on_gpu()) {
        match (case.missing_file(), case.element_type) {
            (Some(reason), _) => harness.gap("gpu-sparse", None, &format!("{}: {reason}", case.name)),
            (None, ElementType::F32) => of_matrix::<f32>(harness, &case),
            (None, ElementType::F64) => of_matrix::<f64>(harness, &case),
        }
    }
}

fn of_matrix<T: Scalar + peers::Real>(harness: &mut Harness, case: &Case) {
    let input = Input::<T>::new(case);
    of_sparse::figures(harness, &input);
    peers::sparse(harness, &input);
}

/// Dot products, norms, reductions and scans on the CPU's threads, and the peers', which multiply dense matrices too.
pub fn algos(harness: &mut Harness) {
    of_algos::figures(harness);
    peers::dense(harness);
}

/// Random numbers, and cuRAND's.
pub fn random(harness: &mut Harness) {
    of_random::figures(harness);
    peers::random(harness);
}
