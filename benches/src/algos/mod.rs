//! Reductions: sums over vectors, extremes and their places, moments, and those of the axes of a matrix. Scans and selections.

mod products;
mod reductions;
mod scans;

pub(crate) use products::{Arithmetic, Product};
pub(crate) use reductions::{Reduced, reductions_by};
pub(crate) use scans::{Scanned, scans_by};

use gpu_algos::host;
use gpu_sparse::Scalar;
use rayon::prelude::*;

use crate::{
    data,
    harness::{Check, Harness, Work},
};

/// Lengths of vectors of that type.
pub fn lengths<T>(harness: &Harness) -> Vec<usize> {
    // The longest are of 1 GiB on a device, where nothing of them is left in a cache.
    let full = if harness.on_gpu() { [1 << 20, (1 << 30) / size_of::<T>()] } else { [1 << 20, 10_000_000] };
    harness.set().pick(vec![1 << 12], vec![1 << 20], full.to_vec())
}

/// `dot`, `norm2`, reductions and scans on the CPU's threads.
pub fn figures(harness: &mut Harness) {
    of_type::<f32>(harness);
    of_type::<f64>(harness);
    reductions::figures(harness);
    scans::figures(harness);
}

fn of_type<T: Scalar>(harness: &mut Harness) {
    for n in lengths::<T>(harness) {
        of_length::<T>(harness, n);
    }
}

fn of_length<T: Scalar>(harness: &mut Harness, n: usize) {
    let vectors = move || (data::uniform::<T>(n), data::uniform_from::<T>(n, n));
    harness.figure("dot", data::dtype::<T>(), n, "gpu-algos-rayon").work(dot_work::<T>(n)).on_cpu(
        || Ok(vectors()),
        |(x, y)| Ok(host::dot(x, y)?),
        |(x, y), got| Ok(check_dot(x, y, got)),
    );
    harness.figure("norm2", data::dtype::<T>(), n, "gpu-algos-rayon").work(norm_work::<T>(n)).on_cpu(
        || Ok(data::uniform::<T>(n)),
        |x| Ok(host::norm2(x)),
        |x, got| Ok(check_norm(x, got)),
    );
}

/// The work of a dot product.
pub(crate) fn dot_work<T>(n: usize) -> Work {
    Work::reads(2 * (n * size_of::<T>()) as u64).with_flops(2 * n as u64)
}

/// The work of a norm.
pub(crate) fn norm_work<T>(n: usize) -> Work {
    Work::reads((n * size_of::<T>()) as u64).with_flops(2 * n as u64)
}

/// `x . y`, relative to `|x| . |y|`; a sum in the element type may lose a digit or two.
pub(crate) fn check_dot<T: Scalar>(x: &[T], y: &[T], got: f64) -> Check {
    let terms = || x.par_iter().zip(y).map(|(&x, &y)| Scalar::to_f64(x) * Scalar::to_f64(y));
    let (want, size): (f64, f64) = (terms().sum(), terms().map(f64::abs).sum());
    Check::close(got, want, size, bound::<T>())
}

/// `|x|`, whose squares add up without cancelling.
pub(crate) fn check_norm<T: Scalar>(x: &[T], got: f64) -> Check {
    let want = x.par_iter().map(|&x| Scalar::to_f64(x).powi(2)).sum::<f64>().sqrt();
    Check::close(got, want, want, bound::<T>())
}

fn bound<T: Scalar>() -> f64 {
    // The sum in f64 that it is held against has errors of its own: about the root of n times its epsilon.
    Scalar::to_f64(T::epsilon()).max(1e-15) * 1e3
}
