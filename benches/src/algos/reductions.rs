//! Reductions of an array on the CPU's threads: ours, and whoever has them.

use gpu_algos::host::{self, Operand, Sum, reduce_axes};
use gpu_sparse::Scalar;
use ndarray::{Array1, Array2, Axis};
use rayon::prelude::*;

use crate::{
    data,
    harness::{Check, Harness, Outcome, Work},
};

/// Sums over an axis.
pub(crate) type OfAxis<T> = fn(&Array2<T>) -> Outcome<Vec<T>>;
/// A result of a whole array.
pub(crate) type Whole<T> = fn(&Array1<T>) -> Outcome<f64>;

/// A way to reduce; each gives results in f64, in order.
pub(crate) struct Reduced<T> {
    pub(crate) by: &'static str,
    pub(crate) sum: Whole<T>,
    pub(crate) max: Whole<T>,
    /// A place.
    pub(crate) argmax: Whole<T>,
    pub(crate) mean_var: fn(&Array1<T>) -> Outcome<(f64, f64)>,
    /// Sums over each axis of a matrix.
    pub(crate) axis: [OfAxis<T>; 2],
}

/// Ours.
pub(super) fn figures(harness: &mut Harness) {
    reductions_by(harness, &ours::<f32>());
    reductions_by(harness, &ours::<f64>());
}

fn ours<T: Scalar + Operand<Sum = T, Mean = T, Real = T>>() -> Reduced<T> {
    fn axis<T: Operand<Sum = T>>(x: &Array2<T>, axis: usize) -> Outcome<Vec<T>> {
        Ok(reduce_axes(&Sum::new(), x, &[Axis(axis)])?.into_raw_vec_and_offset().0)
    }
    Reduced {
        by: "gpu-algos-rayon",
        sum: |x| Ok(Operand::to_f64(host::sum(x))),
        max: |x| Ok(Operand::to_f64(host::max(x)?)),
        argmax: |x| Ok(host::argmax(x)? as f64),
        mean_var: |x| {
            let (mean, variance) = host::mean_var(x, 0);
            Ok((Operand::to_f64(mean), Operand::to_f64(variance)))
        },
        axis: [|x| axis(x, 0), |x| axis(x, 1)],
    }
}

/// The figures of one who reduces.
pub(crate) fn reductions_by<T: Scalar>(harness: &mut Harness, who: &Reduced<T>) {
    let n = harness.set().pick(1 << 12, 1_000_000, 10_000_000);
    let wholes = [
        ("reduce-sum", who.sum, check_sum as fn(&[T], f64) -> Check),
        ("reduce-max", who.max, check_max),
        ("reduce-argmax", who.argmax, check_argmax),
    ];
    let work = Work::reads((n * size_of::<T>()) as u64);
    let x = move || Ok(Array1::from_vec(data::uniform::<T>(n)));
    for (name, call, check) in wholes {
        let figure = harness.figure(name, data::dtype::<T>(), n, who.by).work(work);
        figure.on_cpu(x, |x| call(x), |x, got| Ok(check(elements(x), got)));
    }
    let figure = harness.figure("reduce-mean-var", data::dtype::<T>(), n, who.by).work(work);
    figure.on_cpu(x, |x| (who.mean_var)(x), |x, got| Ok(check_mean_var(elements(x), got)));
    // 2500 rows of 4000 in the full set.
    let columns = harness.set().pick(64, 1000, 4000);
    for (axis, call) in who.axis.iter().enumerate() {
        let figure = harness.figure(
            &format!("reduce-axis{axis}"),
            data::dtype::<T>(),
            format!("{}x{columns}", n / columns),
            who.by,
        );
        figure.work(work).on_cpu(
            || Ok(Array2::from_shape_vec((n / columns, columns), data::uniform::<T>(n))?),
            |x| call(x),
            |x, got| Ok(check_axis(x, axis, &got)),
        );
    }
}

fn elements<T>(x: &Array1<T>) -> &[T] {
    x.as_slice().unwrap_or_default()
}

/// The sum of some terms and that of their magnitudes.
fn sums<T: Scalar>(x: &[T], term: impl Fn(f64) -> f64 + Sync) -> (f64, f64) {
    let terms = || x.par_iter().map(|&x| term(Scalar::to_f64(x)));
    (terms().sum(), terms().map(f64::abs).sum())
}

fn check_sum<T: Scalar>(x: &[T], got: f64) -> Check {
    let (want, size) = sums(x, |x| x);
    Check::close(got, want, size, super::bound::<T>())
}

fn largest<T: Scalar>(x: &[T]) -> f64 {
    x.iter().map(|&x| Scalar::to_f64(x)).fold(f64::NEG_INFINITY, f64::max)
}

fn check_max<T: Scalar>(x: &[T], got: f64) -> Check {
    Check::holds(got == largest(x))
}

fn check_argmax<T: Scalar>(x: &[T], got: f64) -> Check {
    let largest = largest(x);
    Check::holds(x.iter().position(|&x| Scalar::to_f64(x) == largest) == Some(got as usize))
}

fn check_mean_var<T: Scalar>(x: &[T], (mean, var): (f64, f64)) -> Check {
    let n = x.len() as f64;
    let ((sum, size), bound) = (sums(x, |x| x), super::bound::<T>());
    let (squares, _) = sums(x, |x| (x - sum / n).powi(2));
    let errors = [Check::close(mean, sum / n, size / n, bound), Check::close(var, squares / n, squares / n, bound)];
    Check::within(Check::larger(errors[0].error, errors[1].error), bound)
}

fn check_axis<T: Scalar>(x: &Array2<T>, axis: usize, got: &[T]) -> Check {
    let lanes = x.lanes(Axis(axis)).into_iter();
    let errors = lanes.zip(got).map(|(lane, &got)| {
        let lane = lane.to_vec();
        check_sum(&lane, Scalar::to_f64(got)).error
    });
    let error = errors.fold(0.0, Check::larger);
    if got.len() == x.len_of(Axis(1 - axis)) { Check::within(error, super::bound::<T>()) } else { Check::holds(false) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_results_are_seen() {
        let x = data::uniform::<f64>(1200);
        let (sum, _) = sums(&x, |x| x);
        let who = ours::<f64>();
        let array = Array1::from_vec(x.clone());
        assert!(check_sum(&x, (who.sum)(&array).unwrap()).is_right() && !check_sum(&x, sum + 1e-3).is_right());
        assert!(check_max(&x, (who.max)(&array).unwrap()).is_right() && !check_max(&x, 1.0).is_right());
        let place = (who.argmax)(&array).unwrap();
        assert!(check_argmax(&x, place).is_right() && !check_argmax(&x, place + 1.0).is_right());
        let (mean, var) = (who.mean_var)(&array).unwrap();
        assert!(check_mean_var(&x, (mean, var)).is_right() && !check_mean_var(&x, (mean, var * 1.001)).is_right());
        let matrix = Array2::from_shape_vec((30, 40), x).unwrap();
        for axis in [0, 1] {
            let mut got = (who.axis[axis])(&matrix).unwrap();
            assert!(check_axis(&matrix, axis, &got).is_right());
            got[7] += 1e-3;
            assert!(!check_axis(&matrix, axis, &got).is_right() && !check_axis(&matrix, axis, &got[..7]).is_right());
        }
    }
}
