//! Our products, solves and conversions on the CPU's threads.

use gpu_sparse::{
    CooMatrix, CsrMatrix, Format, Scalar, io,
    linalg::{self, Jacobi},
};

use super::{
    Input, Operation,
    answers::{check_product, check_solve, largest_error, product_bound},
    input::ITERATIONS,
    on_device::{cut_off, half},
};
use crate::{
    data,
    harness::{Check, Harness, Outcome, Work},
};

/// Products, solves and conversions with one matrix.
pub(super) fn figures<T: Scalar>(harness: &mut Harness, input: &Input<'_, T>) {
    for &operation in input.case().operations {
        match operation {
            Operation::Spmv => products(harness, input),
            Operation::Axpby => axpby(harness, input),
            Operation::Cg | Operation::CgJacobi => solves(harness, input, operation),
            Operation::Convert => conversions(harness, input),
        }
    }
}

fn products<T: Scalar>(harness: &mut Harness, input: &Input<'_, T>) {
    let (operation, name) = (Operation::Spmv, &input.case().name);
    harness
        .figure(operation.name(), data::dtype::<T>(), name, "gpu-sparse-csr")
        .work_of(|| input.work(operation, Format::Csr))
        .on_cpu(
            || Ok((input.matrix()?, input.x()?, input.b()?)),
            |(a, x, y)| Ok(a.matvec_into(&*x, &mut *y)?),
            |(a, x, y), ()| Ok(check_product(a, x, y)),
        );
    harness
        .figure(operation.name(), data::dtype::<T>(), name, "gpu-sparse-packets")
        .work_of(|| input.work(operation, Format::Packets))
        .on_cpu(
            || Ok((input.packets()?, input.x()?, input.b()?)),
            |(a, x, y)| Ok(a.matvec_into(&*x, &mut *y)?),
            |(_, x, y), ()| Ok(check_product(input.matrix()?, x, y)),
        );
}

fn axpby<T: Scalar>(harness: &mut Harness, input: &Input<'_, T>) {
    let (operation, name) = (Operation::Axpby, &input.case().name);
    let (alpha, beta) = (half::<T>(), -half::<T>() * half());
    harness
        .figure(operation.name(), data::dtype::<T>(), name, "gpu-sparse-csr")
        .work_of(|| input.work(operation, Format::Csr))
        .on_cpu(
            || Ok((input.matrix()?, input.x()?, input.b()?)),
            |(a, x, y)| Ok(a.axpby_into(alpha, &*x, beta, &mut *y)?),
            |(a, x, y), ()| Ok(Check::within(largest_error(a, (alpha, x), (beta, &input.b()?), y), product_bound(a))),
        );
}

fn solves<T: Scalar>(harness: &mut Harness, input: &Input<'_, T>, operation: Operation) {
    harness
        .figure(operation.name(), data::dtype::<T>(), &input.case().name, "gpu-sparse-csr")
        .work_of(|| input.work(operation, Format::Csr))
        .on_cpu(
            || Ok((input.matrix()?, input.b()?)),
            |(a, b)| {
                let cg = linalg::cg(*a, &*b).rtol(0.0).maxiter(ITERATIONS);
                let jacobi = operation == Operation::CgJacobi;
                Ok(if jacobi { cg.preconditioner(Jacobi).solve()? } else { cg.solve()? })
            },
            |(a, b), solution| {
                cut_off(&solution.status, solution.iterations)?;
                Ok(check_solve(a, &solution.x.to_vec(), b, solution.relative_residual))
            },
        );
}

/// Entries to compressed rows, compressed rows to packets, and Matrix Market files in memory.
fn conversions<T: Scalar>(harness: &mut Harness, input: &Input<'_, T>) {
    let (name, dtype) = (&input.case().name, data::dtype::<T>());
    let bytes = (size_of::<T>() + 8) as u64;
    let entries = || Ok(Work::moves(bytes * input.matrix()?.nnz() as u64));
    harness.figure("coo-to-csr", dtype, name, "gpu-sparse").work_of(entries).on_cpu(
        || shuffled(input.matrix()?),
        |coo| Ok(coo.to_csr()),
        |_, csr| Ok(Check::holds(csr == *input.matrix()?)),
    );
    harness.figure("packets-build", dtype, name, "gpu-sparse").work_of(entries).on_cpu(
        || input.matrix(),
        |a| Ok(a.to_packets()?),
        |a, packets| Ok(Check::holds(packets.to_csr() == **a)),
    );
    let written = || {
        let mut text = Vec::new();
        io::write_matrix_market_coo_to(&mut text, &input.matrix()?.to_coo())?;
        Ok(text)
    };
    harness
        .figure("mm-read", dtype, name, "gpu-sparse")
        .work_of(|| Ok(Work::moves(written().map_or(0, |text: Vec<u8>| text.len() as u64))))
        .on_cpu(
            written,
            |text| Ok(io::parse_matrix_market::<T>(&text[..])?),
            |_, csr| Ok(Check::holds(csr == *input.matrix()?)),
        );
    harness
        .figure("mm-write", dtype, name, "gpu-sparse")
        .work_of(|| Ok(Work::moves(written().map_or(0, |text: Vec<u8>| text.len() as u64))))
        .on_cpu(
            || Ok((input.matrix()?.to_coo(), Vec::new())),
            |(coo, text)| {
                text.clear();
                Ok(io::write_matrix_market_coo_to(&mut *text, coo)?)
            },
            |(_, text), ()| Ok(Check::holds(io::parse_matrix_market::<T>(&text[..])? == *input.matrix()?)),
        );
}

/// The entries in random order.
fn shuffled<T: Scalar>(a: &CsrMatrix<T>) -> Outcome<CooMatrix<T>> {
    let coo = a.to_coo();
    let mut order: Vec<(u32, usize)> = data::words(coo.nnz()).into_iter().zip(0..).collect();
    order.sort_unstable();
    let pick = |of: &[u32]| order.iter().map(|&(_, entry)| of[entry]).collect::<Vec<u32>>();
    let values = order.iter().map(|&(_, entry)| coo.values()[entry]).collect();
    Ok(CooMatrix::from_triplets(a.rows(), a.cols(), pick(coo.row_indices()), pick(coo.col_indices()), values)?)
}
