//! Our products and solves on a device.

use gpu_array::GpuArray;
use gpu_sparse::{
    DeviceMatrix, Format, Scalar,
    linalg::{self, Jacobi, Status},
};
use ndarray::{Ix1, aview1};

use super::{
    Input, Operation,
    answers::{check_product, check_solve, largest_error, product_bound},
    input::ITERATIONS,
};
use crate::{
    data,
    harness::{Check, Gpu, Harness, Outcome},
};

/// Products and solves on a device with one matrix, in both formats.
pub(super) fn figures<T: Scalar>(harness: &mut Harness, input: &Input<'_, T>) {
    let case = input.case();
    for (format, by) in [(Format::Csr, "gpu-sparse-csr"), (Format::Packets, "gpu-sparse-packets")] {
        for &operation in case.operations {
            let figure = harness
                .figure(operation.name(), data::dtype::<T>(), &case.name, by)
                .work_of(|| input.work(operation, format));
            match operation {
                Operation::Spmv => figure.on_gpu(
                    |gpu| Product::new(input, format, gpu),
                    |product| Ok(product.a.matvec_into(&product.x, &mut product.y)?),
                    |product, ()| Ok(check_product(input.matrix()?, &input.x()?, &product.y.to_ndarray()?.to_vec())),
                ),
                Operation::Axpby => figure.on_gpu(
                    |gpu| Product::new(input, format, gpu),
                    |product| Ok(product.a.axpby_into(half(), &product.x, -half::<T>() * half(), &mut product.y)?),
                    |product, ()| {
                        let (a, y) = (input.matrix()?, product.y.to_ndarray()?);
                        let (terms, old) = ((half(), &input.x()?[..]), (-half::<T>() * half(), &input.b()?[..]));
                        Ok(Check::within(largest_error(a, terms, old, &y.to_vec()), product_bound(a)))
                    },
                ),
                Operation::Cg | Operation::CgJacobi => figure.wall_only().on_gpu(
                    |gpu| {
                        let a = uploaded(input, format, gpu)?;
                        let b = GpuArray::from_ndarray(gpu.stream(), &aview1(&input.b()?))?;
                        Ok((a, b))
                    },
                    |(a, b)| {
                        let cg = linalg::cg(&*a, &*b).rtol(0.0).maxiter(ITERATIONS);
                        let jacobi = operation == Operation::CgJacobi;
                        Ok(if jacobi { cg.preconditioner(Jacobi).solve()? } else { cg.solve()? })
                    },
                    |_, solution| {
                        let x = solution.x.to_ndarray()?.to_vec();
                        cut_off(&solution.status, solution.iterations)?;
                        Ok(check_solve(input.matrix()?, &x, &input.b()?, solution.relative_residual))
                    },
                ),
                Operation::Convert => {}
            }
        }
    }
}

/// Checks that a solve made all its iterations: a shorter one would look fast.
pub(super) fn cut_off(status: &Status, iterations: usize) -> Outcome {
    let all = *status == Status::MaxIterations && iterations == ITERATIONS;
    if all { Ok(()) } else { Err(format!("{status} after {iterations} of {ITERATIONS} iterations").into()) }
}

pub(super) fn half<T: Scalar>() -> T {
    T::from_f64(0.5)
}

/// The matrix on the device, its kernels loaded.
fn uploaded<T: Scalar>(input: &Input<'_, T>, format: Format, gpu: &Gpu) -> Outcome<DeviceMatrix<T>> {
    let a = match format {
        Format::Packets => input.packets()?.to_device(gpu.stream())?,
        _ => input.matrix()?.to_device(gpu.stream())?,
    };
    gpu.prepare(|| Ok(a.load_kernels()?))?;
    Ok(a)
}

struct Product<T: Scalar> {
    a: DeviceMatrix<T>,
    x: GpuArray<T, Ix1>,
    y: GpuArray<T, Ix1>,
}

impl<T: Scalar> Product<T> {
    /// `y` is the right-hand side, which a product has to overwrite.
    fn new(input: &Input<'_, T>, format: Format, gpu: &Gpu) -> Outcome<Self> {
        let a = uploaded(input, format, gpu)?;
        let x = GpuArray::from_ndarray(gpu.stream(), &aview1(&input.x()?))?;
        let y = GpuArray::from_ndarray(gpu.stream(), &aview1(&input.b()?))?;
        Ok(Self { a, x, y })
    }
}
