//! `faer`: sparse products, and its matrix-free conjugate gradients.

use faer::{
    Accum, ColMut, ColRef, Par,
    dyn_stack::{MemBuffer, MemStack},
    matrix_free::{
        IdentityPrecond, InitialGuessStatus,
        conjugate_gradient::{CgError, CgParams, conjugate_gradient, conjugate_gradient_scratch},
    },
    sparse::{SparseRowMat, SymbolicSparseRowMat, linalg::matmul::sparse_dense_matmul},
};
use gpu_sparse::{CsrMatrix, Scalar, linalg};

use super::Real;
use crate::{
    data,
    harness::{Check, Harness, Outcome, Work},
    sparse::{ITERATIONS, Input, Operation, check_product, check_solve},
};

/// The matrix is also stored by rows, with 32-bit indices.
fn matrix<T: Real>(a: &CsrMatrix<T>) -> Outcome<SparseRowMat<u32, T>> {
    let starts = a.row_starts().iter().map(|&start| u32::try_from(start)).collect::<Result<Vec<_>, _>>()?;
    let pattern = SymbolicSparseRowMat::new_checked(a.rows(), a.cols(), starts, None, a.columns().to_vec());
    Ok(SparseRowMat::new(pattern, a.values().to_vec()))
}

fn work<T: Real>(input: &Input<'_, T>, operation: Operation) -> Outcome<Work> {
    let a = input.matrix()?;
    input.work_of(operation, (a.nnz() * (size_of::<T>() + 4) + 4 * (a.rows() + 1)) as u64)
}

/// The most entries of a matrix to solve with.
const MOST_ENTRIES: usize = 500_000;

/// With all threads, as far as it uses them.
fn threads() -> Par {
    Par::rayon(0)
}

pub(super) fn figures<T: Real>(harness: &mut Harness, input: &Input<'_, T>) {
    let (name, operations) = (&input.case().name, input.case().operations);
    if operations.contains(&Operation::Spmv) {
        harness.figure("spmv", data::dtype::<T>(), name, "faer").work_of(|| work(input, Operation::Spmv)).on_cpu(
            || Ok((matrix(input.matrix()?)?, input.x()?, input.b()?)),
            |(a, x, y)| {
                let (x, y) = (ColRef::from_slice(x).as_mat(), ColMut::from_slice_mut(y).as_mat_mut());
                sparse_dense_matmul(y, Accum::Replace, a.as_ref(), x, T::from_f64(1.0), threads());
                Ok(())
            },
            |(_, x, y), ()| Ok(check_product(input.matrix()?, x, y)),
        );
    }
    if operations.contains(&Operation::Cg) {
        harness.figure("cg200", data::dtype::<T>(), name, "faer").work_of(|| work(input, Operation::Cg)).on_cpu(
            || {
                if input.matrix()?.nnz() > MOST_ENTRIES {
                    return Err(format!("left out: beyond {MOST_ENTRIES} entries a solve takes seconds").into());
                }
                let a = matrix(input.matrix()?)?;
                let identity = IdentityPrecond { dim: a.nrows() };
                let scratch = MemBuffer::new(conjugate_gradient_scratch(identity, a.as_ref(), 1, threads()));
                Ok((a, input.b()?, vec![<T as Scalar>::from_f64(0.0); input.matrix()?.rows()], scratch))
            },
            |(a, b, x, scratch)| solve(a, b, x, MemStack::new(scratch)),
            |(_, b, x, _), ()| {
                // It tells no residual. After as many iterations ours is about the same; roundings make paths part.
                let ours = linalg::cg(input.matrix()?, &*b).rtol(0.0).maxiter(ITERATIONS).solve()?;
                Ok(Check::within(check_solve(input.matrix()?, x, b, ours.relative_residual).error, 0.5))
            },
        );
    }
}

fn solve<T: Real>(a: &SparseRowMat<u32, T>, b: &[T], x: &mut [T], scratch: &mut MemStack) -> Outcome {
    x.fill(<T as Scalar>::from_f64(0.0));
    let params = CgParams {
        // With `Zero` faer 0.24 never sets the first residual. This way costs it one product of 201.
        initial_guess: InitialGuessStatus::MaybeNonZero,
        abs_tolerance: <T as Scalar>::from_f64(0.0),
        rel_tolerance: <T as Scalar>::from_f64(0.0),
        max_iters: ITERATIONS,
        ..CgParams::default()
    };
    let (identity, b) = (IdentityPrecond { dim: x.len() }, ColRef::from_slice(b).as_mat());
    let x = ColMut::from_slice_mut(x).as_mat_mut();
    match conjugate_gradient(x, identity, a.as_ref(), b, params, |_| {}, threads(), scratch) {
        // It says so whenever it has made all that it may.
        Err(CgError::NoConvergence { .. }) => Ok(()),
        Ok(info) => Err(format!("it ended after {} iterations", info.iter_count).into()),
        Err(error) => Err(format!("{error:?}").into()),
    }
}
