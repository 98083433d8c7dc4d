//! `ndarray` with its rayon: reductions as they are written by hand for all threads, a part of the array at a time.

use gpu_sparse::Scalar;
use ndarray::{Array1, Array2, ArrayView1, Axis, LinalgScalar, Zip, linalg::Dot, parallel::prelude::*};
use num_traits::Float;

use crate::{
    algos::{self, Reduced, reductions_by},
    data,
    harness::Harness,
};

const BY: &str = "ndarray-rayon";

/// Elements of a part: enough that tasks cost nothing.
const PART: usize = 1 << 16;

/// Reductions and dot products.
pub(super) fn figures(harness: &mut Harness) {
    reductions_by(harness, &reduced::<f32>());
    reductions_by(harness, &reduced::<f64>());
    for n in algos::lengths::<f32>(harness) {
        dot::<f32>(harness, n);
    }
    for n in algos::lengths::<f64>(harness) {
        dot::<f64>(harness, n);
    }
}

fn reduced<T: Scalar + LinalgScalar + Float + std::iter::Sum>() -> Reduced<T> {
    Reduced {
        by: BY,
        sum: |x| Ok(Scalar::to_f64(sum(x))),
        max: |x| {
            let larger = |a: T, b: T| if b > a { b } else { a };
            let parts = x.axis_chunks_iter(Axis(0), PART).into_par_iter();
            let largest = parts.map(|part| part.fold(T::neg_infinity(), |a, &b| larger(a, b)));
            Ok(Scalar::to_f64(largest.reduce(T::neg_infinity, larger)))
        },
        argmax: |x| {
            let larger = |a: (usize, T), b: (usize, T)| if b.1 > a.1 || (b.1 == a.1 && b.0 < a.0) { b } else { a };
            let none = (usize::MAX, T::neg_infinity());
            let found = Zip::indexed(x).into_par_iter().fold(|| none, |best, (i, &x)| larger(best, (i, x)));
            Ok(found.reduce(|| none, larger).0 as f64)
        },
        mean_var: |x| {
            let n = T::from_f64(x.len() as f64);
            let mean = sum(x) / n;
            let parts = x.axis_chunks_iter(Axis(0), PART).into_par_iter();
            let squares = parts.map(|part| part.fold(T::zero(), |s, &x| s + (x - mean) * (x - mean))).sum::<T>();
            Ok((Scalar::to_f64(mean), Scalar::to_f64(squares / n)))
        },
        axis: [
            |x: &Array2<T>| {
                let parts = x.axis_chunks_iter(Axis(0), 64).into_par_iter().map(|rows| rows.sum_axis(Axis(0)));
                Ok(parts.reduce(|| Array1::zeros(x.ncols()), |a, b| a + b).to_vec())
            },
            |x: &Array2<T>| Ok(Zip::from(x.rows()).par_map_collect(|row| row.sum()).to_vec()),
        ],
    }
}

fn sum<T: Scalar + LinalgScalar + std::iter::Sum>(x: &Array1<T>) -> T {
    x.axis_chunks_iter(Axis(0), PART).into_par_iter().map(|part| part.sum()).sum()
}

fn dot<T: Scalar + std::iter::Sum>(harness: &mut Harness, n: usize)
where
    for<'a> ArrayView1<'a, T>: Dot<ArrayView1<'a, T>, Output = T>,
{
    harness.figure("dot", data::dtype::<T>(), n, BY).work(algos::dot_work::<T>(n)).on_cpu(
        || Ok((Array1::from_vec(data::uniform::<T>(n)), Array1::from_vec(data::uniform_from::<T>(n, n)))),
        |(x, y)| {
            let parts = x.axis_chunks_iter(Axis(0), PART).into_par_iter().zip(y.axis_chunks_iter(Axis(0), PART));
            Ok(parts.map(|(x, y)| x.dot(&y)).sum::<T>())
        },
        |(x, y), got| {
            let (x, y) = (x.as_slice().unwrap_or_default(), y.as_slice().unwrap_or_default());
            Ok(algos::check_dot(x, y, Scalar::to_f64(got)))
        },
    );
}
