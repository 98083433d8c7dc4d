//! Linear algebra of stacks of small matrices on a device, without waiting for the statuses.

use gpu_algos::linalg::{self, LinalgElement};
use gpu_array::GpuArray;
use gpu_sparse::Scalar;
use ndarray::{Array3, ArrayView2, Axis, Ix3};

use super::BY;
use crate::{
    data,
    harness::{Check, Gpu, Harness, Outcome, Set, Work},
};

pub(super) fn figures(harness: &mut Harness) {
    of_type::<f32>(harness);
    of_type::<f64>(harness);
}

/// Symmetric matrices with a heavy diagonal, and a right-hand side for each.
pub(crate) struct Systems<T: LinalgElement> {
    pub(crate) host: Array3<T>,
    pub(crate) a: GpuArray<T, Ix3>,
    pub(crate) b: GpuArray<T, Ix3>,
}

/// A stack that all libraries factor.
pub(crate) struct Case {
    pub(crate) dtype: &'static str,
    pub(crate) name: String,
    /// The rows of a matrix, and the number of matrices.
    pub(crate) lengths: (usize, usize),
    /// The work of a solution, of a Cholesky factor, and of Q with R.
    pub(crate) solve: Work,
    pub(crate) cholesky: Work,
    pub(crate) qr: Work,
}

impl<T: LinalgElement + Scalar> Systems<T> {
    /// The cases of a set.
    pub(crate) fn cases(set: Set) -> Vec<Case> {
        let full = vec![(4, 1 << 20), (8, 1 << 20), (16, 1 << 18), (32, 1 << 16), (64, 1 << 14)];
        let lengths = set.pick(vec![(8, 20)], vec![(16, 4096)], full).into_iter();
        let case = |(n, matrices): (usize, usize)| {
            let (bytes, cube) = ((matrices * n * n * size_of::<T>()) as u64, (matrices * n * n * n) as u64);
            let sides = 2 * bytes / n as u64;
            Case {
                dtype: data::dtype::<T>(),
                name: format!("{n}-by-{matrices}"),
                lengths: (n, matrices),
                solve: Work::copies(bytes + sides).with_flops(2 * cube / 3),
                cholesky: Work::copies(2 * bytes).with_flops(cube / 3),
                qr: Work::copies(3 * bytes).with_flops(8 * cube / 3),
            }
        };
        lengths.map(case).collect()
    }

    pub(crate) fn of(gpu: &Gpu, n: usize, matrices: usize) -> Outcome<Self> {
        let random = data::uniform::<T>(matrices * n * n);
        let host = Array3::from_shape_fn((matrices, n, n), |(matrix, i, j)| {
            let at = |i: usize, j: usize| Scalar::to_f64(random[(matrix * n + i) * n + j]);
            T::from_f64(if i == j { 2.0 * n as f64 } else { (at(i, j) + at(j, i)) / 2.0 })
        });
        let b = GpuArray::full(gpu.stream(), (matrices, n, 1), T::from_f64(1.0))?;
        Ok(Self { a: GpuArray::from_ndarray(gpu.stream(), &host)?, b, host })
    }

    /// Compares products of matrices with those of the stack, or with right-hand sides, relative to the diagonal.
    pub(crate) fn check(&self, left: &Array3<T>, right: &Array3<T>, want: &Array3<T>) -> Check {
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
    for Case { dtype, name, lengths: (n, matrices), solve, cholesky, qr } in Systems::<T>::cases(harness.set()) {
        let set_up = move |gpu: &Gpu| Systems::<T>::of(gpu, n, matrices);
        harness.figure("solve-batched", dtype, name.clone(), BY).work(solve).on_gpu(
            set_up,
            |systems| Ok(linalg::solve(&systems.a, &systems.b).eval_with_info()?),
            |systems, (x, _)| Ok(systems.check(&systems.host, &x.to_ndarray()?, &systems.b.to_ndarray()?)),
        );
        harness.figure("cholesky-batched", dtype, name.clone(), BY).work(cholesky).on_gpu(
            set_up,
            |systems| Ok(linalg::cholesky(&systems.a).eval_with_info()?),
            |systems, (l, _)| {
                let l = l.to_ndarray()?;
                let transposed = l.view().permuted_axes([0, 2, 1]).to_owned();
                Ok(systems.check(&l, &transposed, &systems.host))
            },
        );
        harness.figure("qr-batched", dtype, name, BY).work(qr).on_gpu(
            set_up,
            |systems| Ok(linalg::qr(&systems.a).eval()?),
            |systems, (q, r)| Ok(systems.check(&q.to_ndarray()?, &r.to_ndarray()?, &systems.host)),
        );
    }
}
