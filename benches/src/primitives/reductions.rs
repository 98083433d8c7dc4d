//! Reductions on a device: over whole arrays, of expressions, along an axis; and the cost of one to the host.
//!
//! A case is a length, or the side of a square matrix. Results go into arrays that are there, but for `mean-var`, which has two, and cases
//! that end in `-eval`.

use gpu_algos::{Reduction, Summable, prelude::*};
use gpu_array::{Element, GpuArray, Number, Promote, f16};
use ndarray::{Axis, Ix0, Ix1, Ix2, IxDyn};
use rayon::prelude::*;

use super::BY;
use crate::{
    arrays::{Input, Pair, Random, elements, near, rounding},
    harness::{Check, Harness, Work},
};

/// The side of the blocks of a matrix of which two axes are summed over.
const BLOCK: usize = 32;

pub(super) fn figures(harness: &mut Harness) {
    let set = harness.set();
    let lengths = |longest| set.pick(vec![1 << 12], vec![1 << 20], vec![1 << 14, 1 << 20, longest]);
    for n in lengths(1 << 28) {
        of_length(harness, n);
    }
    // As many bytes as the longest of f32.
    for n in lengths(1 << 27) {
        let x = Input::<f64>::new(n);
        sum(harness, &x);
        dot(harness, &x, &Input::behind(&x));
    }
    sum(harness, &Input::<f16>::new(set.pick(1 << 13, 1 << 21, 1 << 29)));
    let side = set.pick(64, 1024, 8192);
    let matrix = Input::new(side * side);
    along_axes(harness, &matrix, side);
    over_two_axes(harness, &matrix, side);
    lines(harness, &matrix, side);
    overhead(harness, &Input::new(set.pick(1 << 12, 1 << 14, 1 << 14)));
}

fn of_length(harness: &mut Harness, n: usize) {
    let x = Input::<f32>::new(n);
    let y = Input::behind(&x);
    sum(harness, &x);
    max(harness, &x);
    argmax(harness, &x);
    dot(harness, &x, &y);
    if n == harness.set().pick(1 << 12, 1 << 20, 1 << 28) {
        mean_var(harness, &x);
        expression_sum(harness, &x, &y);
    }
}

/// A type whose sums are of it.
trait Real: Random + Number + Summable<Sum = Self> + Promote<Self, Output = Self> + Into<f64> {}
impl Real for f16 {}
impl Real for f32 {}
impl Real for f64 {}

/// One value of all that is read, by `reduce`.
fn of_all<T: Random, O: Element>(
    harness: &mut Harness,
    operation: &str,
    x: &Input<T>,
    reduce: impl Fn(&GpuArray<T, Ix1>) -> Reduction<'_, O, Ix1>,
    check: impl FnOnce(&[T], O) -> Check,
) {
    harness.figure(operation, T::NAME, x.len(), BY).work(Work::reads(x.bytes())).on_gpu(
        |gpu| Ok((x.on(gpu)?, GpuArray::<O, Ix0>::zeros(gpu.stream(), ())?)),
        |(x, out)| Ok(reduce(&x.device).write_into(&mut *out)?),
        |(x, out), ()| Ok(check(&x.host, out.get()?)),
    );
}

fn sum<T: Real>(harness: &mut Harness, x: &Input<T>) {
    of_all(harness, "sum", x, |x| x.sum(), |x, got| near_sum::<T>(x.len(), got, |i| x[i].into()));
}

fn max(harness: &mut Harness, x: &Input<f32>) {
    of_all(harness, "max", x, |x| x.max(), |x, got| Check::holds(greatest(x).is_some_and(|(_, want)| got == want)));
}

fn argmax(harness: &mut Harness, x: &Input<f32>) {
    let check = |x: &[f32], got: i64| Check::holds(greatest(x).is_some_and(|(want, _)| i64::try_from(want) == Ok(got)));
    of_all(harness, "argmax", x, |x| x.argmax(), check);
}

fn dot<T: Real>(harness: &mut Harness, x: &Input<T>, y: &Input<T>) {
    let work = Work::reads(2 * x.bytes()).with_flops(2 * x.len() as u64);
    harness.figure("dot", T::NAME, x.len(), BY).work(work).on_gpu(
        |gpu| Ok((x.on(gpu)?, y.on(gpu)?, GpuArray::<T, Ix0>::zeros(gpu.stream(), ())?)),
        |(x, y, out)| Ok(x.device.dot(&y.device).write_into(&mut *out)?),
        |(x, y, out), ()| Ok(near_sum::<T>(x.host.len(), out.get()?, |i| x.host[i].into() * y.host[i].into())),
    );
}

/// Mean and variance in one pass, into new arrays.
fn mean_var(harness: &mut Harness, x: &Input<f32>) {
    harness.figure("mean-var", "f32", x.len(), BY).work(Work::reads(x.bytes())).whole_calls().on_gpu(
        |gpu| x.on(gpu),
        |x| Ok(x.device.mean_var(0).eval()?),
        |x, (mean, variance)| Ok(check_mean_var(&x.host, mean.get()?, variance.get()?)),
    );
}

/// `sum(a b + c / d)`; d is kept away from 0, so that no term outweighs all others.
fn expression_sum(harness: &mut Harness, a: &Input<f32>, b: &Input<f32>) {
    const AWAY: f32 = 1.5;
    let c = Input::behind(b);
    let d = Input::behind(&c);
    harness.figure("expression-sum", "f32", a.len(), BY).work(Work::reads(4 * a.bytes())).on_gpu(
        |gpu| {
            let (d, out) = (d.on(gpu)?, GpuArray::<f32, Ix0>::zeros(gpu.stream(), ())?);
            Ok((a.on(gpu)?, b.on(gpu)?, c.on(gpu)?, d, (&d.device + AWAY).eval()?, out))
        },
        |(a, b, c, _, away, out)| {
            let terms = &a.device * &b.device + &c.device / &*away;
            Ok(terms.sum().write_into(&mut *out)?)
        },
        |(a, b, c, d, _, out), ()| {
            let at = |x: &Pair<f32>, i: usize| f64::from(x.host[i]);
            let term = |i: usize| at(a, i) * at(b, i) + at(c, i) / f64::from(d.host[i] + AWAY);
            Ok(near_sum::<f32>(a.host.len(), out.get()?, term))
        },
    );
}

/// Sums of the columns and of the rows of a square matrix.
fn along_axes(harness: &mut Harness, x: &Input<f32>, side: usize) {
    for (axis, name) in ["reduce-axis0", "reduce-axis1"].into_iter().enumerate() {
        harness.figure(name, "f32", side, BY).work(Work::reads(x.bytes() + 4 * side as u64)).on_gpu(
            |gpu| Ok((x.on(gpu)?, GpuArray::<f32, Ix1>::zeros(gpu.stream(), side)?)),
            |(x, out)| Ok(x.device.reshape((side, side))?.sum().axis(Axis(axis)).write_into(&mut *out)?),
            |(x, out), ()| Ok(check_axis(&x.host, side, axis, &elements(out)?)),
        );
    }
}

/// Sums of a square matrix that is taken as four axes, over two that are not neighbours: places along them are found by division.
fn over_two_axes(harness: &mut Harness, x: &Input<f32>, side: usize) {
    let shape = [side / BLOCK, BLOCK, side / BLOCK, BLOCK];
    for (axis, name) in ["reduce-axes02", "reduce-axes13"].into_iter().enumerate() {
        let (axes, results) = ([Axis(axis), Axis(axis + 2)], [shape[1 - axis], shape[3 - axis]]);
        harness.figure(name, "f32", side, BY).work(Work::reads(x.bytes())).on_gpu(
            |gpu| Ok((x.on(gpu)?, GpuArray::<f32, IxDyn>::zeros(gpu.stream(), &results[..])?)),
            |(x, out)| Ok(x.device.reshape(shape)?.sum().axes(&axes).write_into(&mut *out)?),
            |(x, out), ()| Ok(check_blocks(&x.host, side, axis, &out.to_ndarray()?.into_iter().collect::<Vec<_>>())),
        );
    }
}

/// Lines of NumPy with reductions in them, as one expression each: standardised columns, softmax of rows.
fn lines(harness: &mut Harness, x: &Input<f32>, side: usize) {
    let work = || Work::copies(2 * x.bytes());
    harness.figure("standardise", "f32", side, BY).work(work()).on_gpu(
        |gpu| Ok((x.on(gpu)?, GpuArray::<f32, Ix2>::zeros(gpu.stream(), (side, side))?)),
        |(x, out)| {
            let x = x.device.reshape((side, side))?;
            Ok(out.assign((x - x.mean().axis(Axis(0))) / x.std(0).axis(Axis(0)))?)
        },
        |(x, out), ()| Ok(check_standardised(&x.host, side, &elements(out)?)),
    );
    harness.figure("softmax", "f32", side, BY).work(work()).on_gpu(
        |gpu| Ok((x.on(gpu)?, GpuArray::<f32, Ix2>::zeros(gpu.stream(), (side, side))?)),
        |(x, out)| {
            let x = x.device.reshape((side, side))?;
            let e = (x - x.max().axis(Axis(1)).keep_dims()).exp();
            Ok(out.assign(&e / e.sum().axis(Axis(1)).keep_dims())?)
        },
        |(x, out), ()| Ok(check_softmax(&x.host, side, &elements(out)?)),
    );
}

/// A sum again and again, of an array so short that the device is done first.
fn overhead(harness: &mut Harness, x: &Input<f32>) {
    let n = x.len();
    let check = |x: &Pair<f32>, got: f32| near_sum::<f32>(n, got, |i| x.host[i].into());
    harness.figure("reduce-overhead", "f32", format!("{n}-eval"), BY).enqueue_only().on_gpu(
        |gpu| x.on(gpu),
        |x| Ok(x.device.sum().eval()?),
        |x, got| Ok(check(x, got.get()?)),
    );
    harness.figure("reduce-overhead", "f32", format!("{n}-write"), BY).enqueue_only().on_gpu(
        |gpu| Ok((x.on(gpu)?, GpuArray::<f32, Ix0>::zeros(gpu.stream(), ())?)),
        |(x, out)| Ok(x.device.sum().write_into(&mut *out)?),
        |(x, out), ()| Ok(check(x, out.get()?)),
    );
}

/// The first of the greatest, and its place.
fn greatest(x: &[f32]) -> Option<(usize, f32)> {
    let later = |a: (usize, f32), b: (usize, f32)| if b.1 > a.1 || (b.1 == a.1 && b.0 < a.0) { b } else { a };
    x.par_iter().copied().enumerate().reduce_with(later)
}

/// Sums of terms, and of their magnitudes.
fn totals(n: usize, term: impl Fn(usize) -> f64 + Sync) -> (f64, f64) {
    let one = |i| {
        let term = term(i);
        (term, term.abs())
    };
    (0..n).into_par_iter().map(one).reduce(|| (0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1))
}

/// A sum of n terms, relative to that of their magnitudes. Terms of both signs leave partial sums small, and so are the errors of these.
fn near_sum<T: Into<f64>>(n: usize, got: T, term: impl Fn(usize) -> f64 + Sync) -> Check {
    let (want, size) = totals(n, term);
    Check::close(got.into(), want, size, 4.0 * rounding::<T>())
}

/// The mean relative to the deviation, for it is near 0, and the variance.
fn check_mean_var(x: &[f32], mean: f32, variance: f32) -> Check {
    let n = x.len() as f64;
    let want_mean = totals(x.len(), |i| x[i].into()).0 / n;
    let want = totals(x.len(), |i| (f64::from(x[i]) - want_mean).powi(2)).0 / n;
    let bound = rounding::<f32>();
    let mean = Check::close(mean.into(), want_mean, want.sqrt(), bound);
    Check::within(Check::larger(mean.error, Check::close(variance.into(), want, want, bound).error), bound)
}

/// Sums along an axis of a square matrix in C order.
fn check_axis(x: &[f32], side: usize, axis: usize, got: &[f32]) -> Check {
    let at = |i: usize, k: usize| f64::from(if axis == 0 { x[k * side + i] } else { x[i * side + k] });
    near(got, side, 4.0 * rounding::<f32>(), |i| {
        (0..side).fold((0.0, 0.0), |(sum, size), k| (sum + at(i, k), size + at(i, k).abs()))
    })
}

/// The columns of a square matrix in C order, less their means and over their deviations.
fn check_standardised(x: &[f32], side: usize, got: &[f32]) -> Check {
    let of_columns = |term: &(dyn Fn(usize, f64) -> f64 + Sync)| -> Vec<f64> {
        let add = |mut sums: Vec<f64>, row: &[f32]| {
            sums.iter_mut().zip(row).enumerate().for_each(|(k, (sum, &x))| *sum += term(k, f64::from(x)));
            sums
        };
        let join = |mut a: Vec<f64>, b: Vec<f64>| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        };
        let sums = x.par_chunks(side).fold(|| vec![0.0; side], add).reduce(|| vec![0.0; side], join);
        sums.into_iter().map(|sum| sum / side as f64).collect()
    };
    let means = of_columns(&|_, x| x);
    let deviations: Vec<f64> = of_columns(&|k, x| (x - means[k]).powi(2)).into_iter().map(f64::sqrt).collect();
    near(got, x.len(), rounding::<f32>(), |i| {
        let (mean, deviation) = (means[i % side], deviations[i % side]);
        ((f64::from(x[i]) - mean) / deviation, (f64::from(x[i]).abs() + mean.abs()) / deviation)
    })
}

/// The softmax of the rows of a square matrix in C order.
fn check_softmax(x: &[f32], side: usize, got: &[f32]) -> Check {
    let of_row = |row: &[f32]| {
        let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        (f64::from(top), row.iter().map(|&x| (f64::from(x) - f64::from(top)).exp()).sum::<f64>())
    };
    let rows: Vec<(f64, f64)> = x.par_chunks(side).map(of_row).collect();
    near(got, x.len(), 4.0 * rounding::<f32>(), |i| {
        let (top, sum) = rows[i / side];
        let want = (f64::from(x[i]) - top).exp() / sum;
        (want, want)
    })
}

/// Sums of a square matrix of blocks, in C order: over all blocks of each place in a block (axis 0), or of each block over its places.
fn check_blocks(x: &[f32], side: usize, axis: usize, got: &[f32]) -> Check {
    let (results, terms) = if axis == 0 { (BLOCK, side / BLOCK) } else { (side / BLOCK, BLOCK) };
    let along = |result: usize, term: usize| if axis == 0 { term * BLOCK + result } else { result * BLOCK + term };
    near(got, results * results, 4.0 * rounding::<f32>(), |i| {
        (0..terms * terms).fold((0.0, 0.0), |(sum, size), k| {
            let value = f64::from(x[along(i / results, k / terms) * side + along(i % results, k % terms)]);
            (sum + value, size + value.abs())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_answers_are_seen() {
        let x = [0.5_f32, -0.25, 0.75, 0.75];
        assert_eq!((greatest(&x), greatest(&[])), (Some((2, 0.75)), None));
        let sum = |got: f32| near_sum(4, got, |i| x[i].into());
        assert!(sum(1.75).is_right() && !sum(1.7501).is_right() && !sum(f32::NAN).is_right());
        let (mean, variance) = (0.4375, 0.167_968_75);
        assert!(check_mean_var(&x, mean, variance).is_right());
        assert!(!check_mean_var(&x, 0.4376, variance).is_right() && !check_mean_var(&x, mean, f32::NAN).is_right());
        assert!(check_axis(&x, 2, 0, &[1.25, 0.5]).is_right() && check_axis(&x, 2, 1, &[0.25, 1.5]).is_right());
        assert!(!check_axis(&x, 2, 0, &[0.25, 1.5]).is_right() && !check_axis(&x, 2, 1, &[0.25]).is_right());
        assert!(check_standardised(&x, 2, &[-1.0, -1.0, 1.0, 1.0]).is_right());
        assert!(!check_standardised(&x, 2, &[-1.0, -1.0, 1.0, 1.01]).is_right());
        let (first, second) = (1.0 / (1.0 + (-0.75_f32).exp()), 1.0 / (1.0 + 0.75_f32.exp()));
        assert!(check_softmax(&x, 2, &[first, second, 0.5, 0.5]).is_right());
        assert!(!check_softmax(&x, 2, &[second, first, 0.5, 0.5]).is_right());
        // Four blocks of which each has a value of its own.
        let side = 2 * BLOCK;
        let x: Vec<f32> = (0..side * side).map(|i| (i / side / BLOCK * 2 + i % side / BLOCK) as f32).collect();
        let (sums, blocks) = ([6.0; BLOCK * BLOCK], [0.0, 1.0, 2.0, 3.0].map(|value| value * (BLOCK * BLOCK) as f32));
        assert!(check_blocks(&x, side, 0, &sums).is_right() && check_blocks(&x, side, 1, &blocks).is_right());
        assert!(!check_blocks(&x, side, 1, &sums[..4]).is_right() && !check_blocks(&x, side, 0, &sums[1..]).is_right());
    }
}
