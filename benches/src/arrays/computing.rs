//! Expressions that compute.

use std::error::Error;

use gpu_algos::elementwise_kernel;
use gpu_array::{Complex, GpuArray, expression::where_, f16};
use ndarray::{Dimension, Ix1, Ix2};

use super::{
    answers::{check_complex_lincomb, check_lincomb, check_wave, near, rounding, same},
    input::{Input, Pair, Random},
};
use crate::harness::{Check, Figure, Harness, Work};

elementwise_kernel! {
    /// `z = a x + b y`, as a user's kernel.
    fn lin_comb(a: f32, x: &[f32], b: f32, y: &[f32], z: &mut [f32]) {
        unsafe { "z[i] = a * x[i] + b * y[i]" }
    }
}

const BY: &str = "gpu-array";

/// All of them, over lengths. `longest` serves every one that is of its length.
pub(super) fn figures(harness: &mut Harness, longest: &Input<f32>) {
    let set = harness.set();
    for &n in set.pick(&[][..], &[], &[1 << 14, 1 << 20]) {
        of_length(harness, &Input::new(n));
    }
    of_length(harness, longest);
    let x = Input::<f64>::new(longest.len() / 2);
    lincomb_f64(harness, &x, &Input::behind(&x));
    let x = Input::<f16>::new(2 * longest.len());
    lincomb_f16(harness, &x, &Input::behind(&x));
    let x = Input::<Complex<f32>>::new(longest.len() / 2);
    lincomb_c64(harness, &x, &Input::behind(&x));
    evaluated(harness, set.pick(1 << 12, 1 << 14, 1 << 14));
    chosen(harness, longest);
    fused8(harness, longest);
    broadcast(harness, set.pick(64, 1024, 8192));
}

fn of_length(harness: &mut Harness, x: &Input<f32>) {
    let y = Input::behind(x);
    lincomb_f32(harness, x, &y);
    wave(harness, x, &y);
}

/// Two inputs and an output of one length and type, filled by `assign`.
fn into_existing<T: Random, E: Error + 'static>(
    figure: Figure<'_>,
    x: &Input<T>,
    y: &Input<T>,
    assign: impl Fn(&mut GpuArray<T, Ix1>, &GpuArray<T, Ix1>, &GpuArray<T, Ix1>) -> Result<(), E>,
    check: impl FnOnce(&[T], &[T], &[T]) -> Check,
) {
    figure.work(Work::copies(3 * x.bytes())).on_gpu(
        |gpu| Ok((x.on(gpu)?, y.on(gpu)?, GpuArray::zeros(gpu.stream(), x.len())?)),
        |(x, y, out)| Ok(assign(out, &x.device, &y.device)?),
        |(x, y, out), ()| Ok(check(&x.host, &y.host, &elements(out)?)),
    );
}

/// In C order.
pub(crate) fn elements<T: Random, D: Dimension>(array: &GpuArray<T, D>) -> gpu_array::Result<Vec<T>> {
    Ok(array.to_ndarray()?.into_raw_vec_and_offset().0)
}

fn lincomb_f32(harness: &mut Harness, x: &Input<f32>, y: &Input<f32>) {
    let figure = harness.figure("lincomb", "f32", x.len(), BY);
    into_existing(figure, x, y, |out, x, y| out.assign(5.0 * x + 6.0 * y), check_lincomb);
    let figure = harness.figure("lincomb", "f32", x.len(), "gpu-algos-kernel");
    into_existing(figure, x, y, |out, x, y| lin_comb(5.0, x, 6.0, y, out), check_lincomb);
}

fn lincomb_f64(harness: &mut Harness, x: &Input<f64>, y: &Input<f64>) {
    let figure = harness.figure("lincomb", "f64", x.len(), BY);
    into_existing(figure, x, y, |out, x, y| out.assign(5.0 * x + 6.0 * y), check_lincomb);
}

fn lincomb_f16(harness: &mut Harness, x: &Input<f16>, y: &Input<f16>) {
    let figure = harness.figure("lincomb", "f16", x.len(), BY);
    let [five, six] = [5.0, 6.0].map(f16::from_f32);
    into_existing(figure, x, y, |out, x, y| out.assign(five * x + six * y), check_lincomb);
}

fn lincomb_c64(harness: &mut Harness, x: &Input<Complex<f32>>, y: &Input<Complex<f32>>) {
    let figure = harness.figure("lincomb", "c64", x.len(), BY);
    into_existing(figure, x, y, |out, x, y| out.assign(5.0 * x + 6.0 * y), check_complex_lincomb);
}

fn wave(harness: &mut Harness, x: &Input<f32>, y: &Input<f32>) {
    let figure = harness.figure("wave", "f32", x.len(), BY);
    into_existing(figure, x, y, |out, x, y| out.assign(x.exp() * y.sin() + x.abs().sqrt()), check_wave);
}

/// `lincomb` as users write it: into a new array.
fn evaluated(harness: &mut Harness, n: usize) {
    let x = Input::<f32>::new(n);
    let y = Input::behind(&x);
    let figure = harness.figure("lincomb", "f32", format!("{n}-eval"), BY);
    figure.work(Work::copies(3 * x.bytes())).whole_calls().on_gpu(
        |gpu| Ok((x.on(gpu)?, y.on(gpu)?)),
        |(x, y)| Ok((5.0 * &x.device + 6.0 * &y.device).eval()?),
        |(x, y), got| Ok(check_lincomb(&x.host, &y.host, &elements(&got)?)),
    );
}

/// A choice between elements and a constant, and the mask alone.
fn chosen(harness: &mut Harness, x: &Input<f32>) {
    let n = x.len();
    harness.figure("where", "f32", n, BY).work(Work::copies(2 * x.bytes())).on_gpu(
        |gpu| Ok((x.on(gpu)?, GpuArray::<f32, _>::zeros(gpu.stream(), n)?)),
        |(x, out)| Ok(out.assign(where_(x.device.lt(0.0), 0.0, &x.device))?),
        |(x, out), ()| Ok(same(&elements(out)?, n, |i| if x.host[i] < 0.0 { 0.0 } else { x.host[i] })),
    );
    harness.figure("less", "f32", n, BY).work(Work::copies(x.bytes() + n as u64)).on_gpu(
        |gpu| Ok((x.on(gpu)?, GpuArray::<bool, _>::full(gpu.stream(), n, true)?)),
        |(x, out)| Ok(out.assign(x.device.lt(0.0))?),
        |(x, out), ()| Ok(same(&out.to_ndarray()?.to_vec(), n, |i| x.host[i] < 0.0)),
    );
}

/// Eight parts of one array: `((a + b)(c + d) + (e + f)(g + h)) / 2`.
fn fused8(harness: &mut Harness, x: &Input<f32>) {
    let n = x.len() / 8;
    harness.figure("fused8", "f32", n, BY).work(Work::copies(9 * x.bytes() / 8)).on_gpu(
        |gpu| Ok((x.on(gpu)?, GpuArray::<f32, _>::zeros(gpu.stream(), n)?)),
        |(x, out)| {
            let parts = x.device.chunks(ndarray::Axis(0), n)?.collect::<Vec<_>>();
            let [a, b, c, d, e, f, g, h] = parts[..] else { return Err("these are not eight parts".into()) };
            Ok(out.assign(((a + b) * (c + d) + (e + f) * (g + h)) * 0.5)?)
        },
        |(x, out), ()| Ok(check_fused8(x, n, &elements(out)?)),
    );
}

fn check_fused8(x: &Pair<f32>, n: usize, got: &[f32]) -> Check {
    near(got, n, rounding::<f32>(), |i| {
        let part = |k: usize| f64::from(x.host[k * n + i]);
        let sum = |k: usize| (part(k) + part(k + 1), part(k).abs() + part(k + 1).abs());
        let [(a, b), (c, d), (e, f), (g, h)] = [sum(0), sum(2), sum(4), sum(6)];
        (0.5 * (a * c + e * g), 0.5 * (b * d + f * h))
    })
}

/// A square matrix and a row, or a column, that is added to each of its own.
fn broadcast(harness: &mut Harness, side: usize) {
    let (m, v) = (Input::<f32>::new(side * side), Input::<f32>::new(side));
    let work = Work::copies(2 * m.bytes() + v.bytes());
    for (name, shape) in [("row", (1, side)), ("column", (side, 1))] {
        harness.figure("broadcast-add", "f32", format!("{side}-{name}"), BY).work(work).on_gpu(
            |gpu| {
                let v = v.on(gpu)?;
                Ok((m.on(gpu)?, v, GpuArray::<f32, Ix2>::zeros(gpu.stream(), (side, side))?))
            },
            |(m, v, out)| Ok(out.assign(m.device.reshape((side, side))? + v.device.reshape(shape)?)?),
            |(m, v, out), ()| {
                let at = |i: usize| if name == "row" { i % side } else { i / side };
                Ok(same(&elements(out)?, side * side, |i| m.host[i] + v.host[at(i)]))
            },
        );
    }
}
