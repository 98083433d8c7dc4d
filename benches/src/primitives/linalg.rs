//! Linear algebra of stacks of small matrices on a device, without waiting for the statuses.

use gpu_algos::linalg::{self, LinalgElement};
use gpu_array::GpuArray;
use gpu_sparse::Scalar;
use ndarray::{Array3, ArrayView2, Axis, Ix3};

use super::BY;
use crate::{
    data,
    harness::{Check, Gpu, Harness, Outcome, Work},
};

pub(super) fn figures(harness: &mut Harness) {
    of_type::<f32>(harness);
    of_type::<f64>(harness);
}

/// Symmetric matrices with a heavy diagonal, and a right-hand side for each.
struct Systems<T: LinalgElement> {
    host: Array3<T>,
    a: GpuArray<T, Ix3>,
    b: GpuArray<T, Ix3>,
}

impl<T: LinalgElement + Scalar> Systems<T> {
    fn of(gpu: &Gpu, n: usize, matrices: usize) -> Outcome<Self> {
        let random = data::uniform::<T>(matrices * n * n);
        let host = Array3::from_shape_fn((matrices, n, n), |(matrix, i, j)| {
            let at = |i: usize, j: usize| Scalar::to_f64(random[(matrix * n + i) * n + j]);
            T::from_f64(if i == j { 2.0 * n as f64 } else { (at(i, j) + at(j, i)) / 2.0 })
        });
        let b = GpuArray::full(gpu.stream(), (matrices, n, 1), T::from_f64(1.0))?;
        Ok(Self { a: GpuArray::from_ndarray(gpu.stream(), &host)?, b, host })
    }

    /// Compares products of matrices with those of the stack, or with right-hand sides, relative to the diagonal.
    fn check(&self, left: &Array3<T>, right: &Array3<T>, want: &Array3<T>) -> Check {
        let (matrices, n, _) = self.host.dim();
        let wide = |x: ArrayView2<'_, T>| x.mapv(|x| Scalar::to_f64(x));
        let looked_at = (0..matrices).step_by((matrices / 64) | 1).chain([matrices - 1]);
        let error = looked_at.fold(0.0, |most: f64, at| {
            let [left, right, want] = [left, right, want].map(|stack| wide(stack.index_axis(Axis(0), at)));
            (left.dot(&right) - want).iter().fold(most, |most, x| Check::larger(most, x.abs() / (2 * n) as f64))
        });
        Check::within(error, 4.0 * n as f64 * Scalar::to_f64(T::epsilon()))
    }
}

fn of_type<T: LinalgElement + Scalar>(harness: &mut Harness) {
    let full = vec![(4, 1 << 20), (8, 1 << 20), (16, 1 << 18), (32, 1 << 16), (64, 1 << 14)];
    for (n, matrices) in harness.set().pick(vec![(8, 20)], vec![(16, 4096)], full) {
        let (dtype, case) = (data::dtype::<T>(), format!("{n}-by-{matrices}"));
        let (bytes, cube) = ((matrices * n * n * size_of::<T>()) as u64, (matrices * n * n * n) as u64);
        let set_up = move |gpu: &Gpu| Systems::<T>::of(gpu, n, matrices);
        let sides = 2 * bytes / n as u64;
        let work = Work::copies(bytes + sides).with_flops(2 * cube / 3);
        harness.figure("solve-batched", dtype, case.clone(), BY).work(work).on_gpu(
            set_up,
            |systems| Ok(linalg::solve(&systems.a, &systems.b).eval_with_info()?),
            |systems, (x, _)| Ok(systems.check(&systems.host, &x.to_ndarray()?, &systems.b.to_ndarray()?)),
        );
        let work = Work::copies(2 * bytes).with_flops(cube / 3);
        harness.figure("cholesky-batched", dtype, case.clone(), BY).work(work).on_gpu(
            set_up,
            |systems| Ok(linalg::cholesky(&systems.a).eval_with_info()?),
            |systems, (l, _)| {
                let l = l.to_ndarray()?;
                let transposed = l.view().permuted_axes([0, 2, 1]).to_owned();
                Ok(systems.check(&l, &transposed, &systems.host))
            },
        );
        let work = Work::copies(3 * bytes).with_flops(8 * cube / 3);
        harness.figure("qr-batched", dtype, case, BY).work(work).on_gpu(
            set_up,
            |systems| Ok(linalg::qr(&systems.a).eval()?),
            |systems, (q, r)| Ok(systems.check(&q.to_ndarray()?, &r.to_ndarray()?, &systems.host)),
        );
    }
}
