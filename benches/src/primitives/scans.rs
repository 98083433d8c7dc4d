//! Scans on a device, into arrays that are there: of whole arrays, in segments, along either axis of a square matrix; and the cost of one to the
//! host.

use gpu_algos::{Scan, Summable, prelude::*, scan_kernel};
use gpu_array::{
    GpuArray, Number,
    expression::{Gpu, index},
};
use ndarray::{Axis, Ix1, Ix2};

use super::BY;
use crate::{
    arrays::{Input, Random, elements, rounding},
    harness::{Check, Harness, Work},
};

scan_kernel! {
    /// Sums up to each element, as a user's kernel.
    fn sums_so_far(x: &[f32], sums: &mut [f32]) {
        unsafe { state: f32; identity: "0"; scan: "a + b"; input: "x[i]"; output: "sums[i] = item" }
    }
}

/// Values of a segment.
const RUN: usize = 100;

pub(super) fn figures(harness: &mut Harness) {
    let set = harness.set();
    let lengths = |longest| set.pick(vec![1 << 12], vec![1 << 20], vec![1 << 14, 1 << 20, longest]);
    for n in lengths(1 << 28) {
        let x = Input::<f32>::new(n);
        of_all(harness, "inclusive-scan", &x, |x| x.cumsum(), |i| i == 0, false);
        of_all(harness, "exclusive-scan", &x, |x| x.cumsum().exclusive(), |i| i == 0, true);
        of_kernel(harness, &x);
        by_key(harness, &x);
        in_segments(harness, &x);
    }
    for n in lengths(1 << 27) {
        let x = Input::<f64>::new(n);
        of_all(harness, "inclusive-scan", &x, |x| x.cumsum(), |i| i == 0, false);
        of_all(harness, "exclusive-scan", &x, |x| x.cumsum().exclusive(), |i| i == 0, true);
    }
    let side = set.pick(64, 1024, 8192);
    along_axes(harness, &Input::new(side * side), side);
    overhead(harness, &Input::new(set.pick(1 << 12, 1 << 14, 1 << 14)));
}

/// A type whose sums are of it.
trait Real: Random + Number + Summable<Sum = Self> + Into<f64> {}
impl Real for f32 {}
impl Real for f64 {}

fn of_all<T: Real>(
    harness: &mut Harness,
    operation: &str,
    x: &Input<T>,
    scan: impl Fn(&GpuArray<T, Ix1>) -> Scan<'_, T, Ix1>,
    begins: impl Fn(usize) -> bool,
    exclusive: bool,
) {
    let work = Work::moves(2 * x.bytes());
    harness.figure(operation, T::NAME, x.len(), BY).work(work).on_gpu(
        |gpu| Ok((x.on(gpu)?, GpuArray::<T, Ix1>::zeros(gpu.stream(), x.len())?)),
        |(x, out)| Ok(scan(&x.device).write_into(&mut *out)?),
        |(x, out), ()| Ok(check(&x.host, 1, &elements(out)?, &begins, exclusive)),
    );
}

fn of_kernel(harness: &mut Harness, x: &Input<f32>) {
    let work = Work::moves(2 * x.bytes());
    harness.figure("inclusive-scan", "f32", x.len(), "gpu-algos-kernel").work(work).on_gpu(
        |gpu| Ok((x.on(gpu)?, GpuArray::<f32, Ix1>::zeros(gpu.stream(), x.len())?)),
        |(x, out)| Ok(sums_so_far(&x.device, &mut *out)?),
        |(x, out), ()| Ok(check(&x.host, 1, &elements(out)?, |i| i == 0, false)),
    );
}

fn by_key(harness: &mut Harness, x: &Input<f32>) {
    let n = x.len();
    harness.figure("scan-by-key", "f32", n, BY).work(Work::moves(3 * x.bytes())).on_gpu(
        |gpu| {
            let place = index::<Ix1, Gpu>(Axis(0)).broadcast(n);
            let keys = (place / RUN as i64).cast::<i32>().eval_on(gpu.stream())?;
            Ok((x.on(gpu)?, keys, GpuArray::<f32, Ix1>::zeros(gpu.stream(), n)?))
        },
        |(x, keys, out)| Ok(x.device.cumsum().by_key(&*keys).write_into(&mut *out)?),
        |(x, _, out), ()| Ok(check(&x.host, 1, &elements(out)?, |i| i % RUN == 0, false)),
    );
}

fn in_segments(harness: &mut Harness, x: &Input<f32>) {
    let n = x.len();
    harness.figure("segmented-scan", "f32", n, BY).work(Work::moves(2 * x.bytes() + n as u64)).on_gpu(
        |gpu| {
            let place = index::<Ix1, Gpu>(Axis(0)).broadcast(n) % RUN as i64;
            let flags = place.eq(0i64).eval_on(gpu.stream())?;
            Ok((x.on(gpu)?, flags, GpuArray::<f32, Ix1>::zeros(gpu.stream(), n)?))
        },
        |(x, flags, out)| Ok(x.device.cumsum().segments(&*flags).write_into(&mut *out)?),
        |(x, _, out), ()| Ok(check(&x.host, 1, &elements(out)?, |i| i % RUN == 0, false)),
    );
}

fn along_axes(harness: &mut Harness, x: &Input<f32>, side: usize) {
    for (axis, name) in ["scan-axis0", "scan-axis1"].into_iter().enumerate() {
        harness.figure(name, "f32", side, BY).work(Work::moves(2 * x.bytes())).on_gpu(
            |gpu| Ok((x.on(gpu)?, GpuArray::<f32, Ix2>::zeros(gpu.stream(), (side, side))?)),
            |(x, out)| Ok(x.device.reshape((side, side))?.cumsum().axis(Axis(axis)).write_into(&mut *out)?),
            |(x, out), ()| {
                let (step, got) = (if axis == 0 { side } else { 1 }, elements(out)?);
                let begins = |i| if axis == 0 { i < side } else { i % side == 0 };
                Ok(check(&x.host, step, &got, begins, false))
            },
        );
    }
}

/// A scan again and again, of an array so short that the device is done first.
fn overhead(harness: &mut Harness, x: &Input<f32>) {
    let n = x.len();
    harness.figure("scan-overhead", "f32", format!("{n}-write"), BY).enqueue_only().on_gpu(
        |gpu| Ok((x.on(gpu)?, GpuArray::<f32, Ix1>::zeros(gpu.stream(), n)?)),
        |(x, out)| Ok(x.device.cumsum().write_into(&mut *out)?),
        |(x, out), ()| Ok(check(&x.host, 1, &elements(out)?, |i| i == 0, false)),
    );
}

/// Sums up to each element, or without it, of those in steps of `step` since one for which `begins` holds: relative to the sums of magnitudes.
fn check<T: Copy + Into<f64>>(
    x: &[T],
    step: usize,
    got: &[T],
    begins: impl Fn(usize) -> bool,
    exclusive: bool,
) -> Check {
    if got.len() != x.len() {
        return Check::holds(false);
    }
    let bound = 4.0 * rounding::<T>();
    // A line of sums for each of the elements between two steps.
    let mut sums = vec![(0.0, 0.0); step];
    let mut largest = 0.0;
    for (i, (&x, &got)) in x.iter().zip(got).enumerate() {
        let (sum, size) = &mut sums[i % step];
        if begins(i) {
            (*sum, *size) = (0.0, 0.0);
        }
        let (before, before_size) = (*sum, *size);
        let x: f64 = x.into();
        (*sum, *size) = (*sum + x, *size + x.abs());
        let (want, size) = if exclusive { (before, before_size) } else { (*sum, *size) };
        largest = Check::larger(largest, Check::close(got.into(), want, size, bound).error);
    }
    Check::within(largest, bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_scans_are_seen() {
        let x = [0.5_f32, -0.25, 0.75, 0.5];
        let whole = |got: &[f32]| check(&x, 1, got, |i| i == 0, false).is_right();
        assert!(whole(&[0.5, 0.25, 1.0, 1.5]) && !whole(&[0.5, 0.25, 1.0, 1.501]) && !whole(&[0.5, 0.25, 1.0]));
        assert!(check(&x, 1, &[0.0, 0.5, 0.25, 1.0], |i| i == 0, true).is_right());
        assert!(check(&x, 2, &[0.5, -0.25, 1.25, 0.25], |i| i < 2, false).is_right());
        assert!(check(&x, 1, &[0.5, 0.25, 0.75, 1.25], |i| i % 2 == 0, false).is_right());
        assert!(!check(&x, 1, &[0.5, 0.25, 1.0, 1.25], |i| i % 2 == 0, false).is_right());
    }
}
