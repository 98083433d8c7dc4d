//! Calls that only move elements: transposes, strided and reversed copies, casts, a rotation, rows in another order, writes at indices, joined
//! arrays.

use gpu_array::{
    GpuArray, Result,
    expression::{Outside, roll, take_axis},
};
use ndarray::{Axis, Dimension, Ix1, Ix2, Ix3, aview1, s};

use super::{
    answers::same,
    computing::elements,
    input::{Input, Random},
};
use crate::harness::{Figure, Harness, Work};

const BY: &str = "gpu-array";

/// All of them. `longest` is a vector, and a square matrix of sides `large`.
pub(super) fn figures(harness: &mut Harness, large: usize, longest: &Input<f32>) {
    transpose(harness, large, longest);
    strided(harness, large, longest);
    flip(harness, longest);
    rotate(harness, longest);
    take_rows(harness, large / 2);
    put(harness, longest);

    let set = harness.set();
    let side = large / 2;
    transpose(harness, side, &Input::<f32>::new(side * side));
    transpose(harness, side, &Input::<f64>::new(side * side));
    permute(harness, set.pick(16, 64, 256));
    concatenate(harness, set.pick(4000, 1_000_000, 100_000_000));

    let bytes = Input::<u8>::new(large * large);
    transpose(harness, large, &bytes);
    cast(harness, &bytes, f32::from);
    cast(harness, &Input::<f32>::new(large * large / 2), f64::from);
}

/// Moves elements into an array of that shape; in its place i, in C order, is to be element `from(i)` of the input.
fn moved<T: Random, D: Dimension>(
    figure: Figure<'_>,
    x: &Input<T>,
    shape: D,
    assign: impl Fn(&mut GpuArray<T, D>, &GpuArray<T, Ix1>) -> Result<()>,
    from: impl Fn(usize) -> usize + Sync,
) {
    let n = shape.size();
    figure.work(Work::copies(2 * (n * size_of::<T>()) as u64)).on_gpu(
        |gpu| Ok((x.on(gpu)?, GpuArray::zeros(gpu.stream(), shape)?)),
        |(x, out)| Ok(assign(out, &x.device)?),
        |(x, out), ()| Ok(same(&elements(out)?, n, |i| x.host[from(i)])),
    );
}

/// A square matrix into its transpose.
fn transpose<T: Random>(harness: &mut Harness, side: usize, x: &Input<T>) {
    let figure = harness.figure("transpose", T::NAME, side, BY);
    let assign = |out: &mut GpuArray<T, Ix2>, x: &GpuArray<T, Ix1>| out.assign(x.reshape((side, side))?.t());
    moved(figure, x, Ix2(side, side), assign, |i| i % side * side + i / side);
}

/// A cube with its axes in the order 2, 0, 1.
fn permute(harness: &mut Harness, side: usize) {
    let x = Input::<f32>::new(side * side * side);
    let figure = harness.figure("permute", "f32", format!("{side}-201"), BY);
    let assign = |out: &mut GpuArray<f32, Ix3>, x: &GpuArray<f32, Ix1>| {
        out.assign(x.reshape((side, side, side))?.permuted_axes((2, 0, 1))?)
    };
    // Element (a, b, c) of the result is (b, c, a) of the cube.
    moved(figure, &x, Ix3(side, side, side), assign, |i| i % (side * side) * side + i / (side * side));
}

/// Every other element of every other row. The elements between are in the same sectors of memory, and are read with them.
fn strided(harness: &mut Harness, side: usize, x: &Input<f32>) {
    let (half, figure) = (side / 2, harness.figure("strided-copy", "f32", side, BY));
    let assign = |out: &mut GpuArray<f32, Ix2>, x: &GpuArray<f32, Ix1>| {
        out.assign(x.reshape((side, side))?.slice(s![..;2, ..;2])?)
    };
    moved(figure, x, Ix2(half, half), assign, |i| 2 * (i / half) * side + 2 * (i % half));
}

/// A vector backwards.
fn flip(harness: &mut Harness, x: &Input<f32>) {
    let (n, figure) = (x.len(), harness.figure("flip", "f32", x.len(), BY));
    moved(figure, x, Ix1(n), |out, x| out.assign(x.slice(s![..;-1])?), |i| n - 1 - i);
}

/// A vector from its end on: elements at computed places.
fn rotate(harness: &mut Harness, x: &Input<f32>) {
    let (n, shift) = (x.len(), x.len() / 3);
    let figure = harness.figure("roll", "f32", n, BY);
    let assign = |out: &mut GpuArray<f32, Ix1>, x: &GpuArray<f32, Ix1>| out.assign(roll(x, shift as i64, Axis(0)));
    moved(figure, x, Ix1(n), assign, |i| (i + n - shift) % n);
}

/// The rows of a square matrix in another order, each of them once: `x[order, :]`.
fn take_rows(harness: &mut Harness, side: usize) {
    let x = Input::<f32>::new(side * side);
    // Odd multiples of a number go through all remainders of a power of two. Neighbours in the result are far apart.
    let row = move |i: usize| (i * 3_001 + 17) % side;
    let figure = harness.figure("take-rows", "f32", side, BY);
    figure.work(Work::copies(2 * x.bytes() + 8 * side as u64)).on_gpu(
        |gpu| {
            let order: Vec<i64> = (0..side).map(|i| row(i) as i64).collect();
            let order = GpuArray::from_ndarray(gpu.stream(), &aview1(&order))?;
            Ok((x.on(gpu)?, order, GpuArray::zeros(gpu.stream(), (side, side))?))
        },
        |(x, order, out)| {
            let matrix = x.device.reshape((side, side))?;
            Ok(out.assign(take_axis(&matrix, &*order, Axis(0), Outside::Wrap))?)
        },
        |(x, _, out), ()| Ok(same(&elements(out)?, side * side, |i| x.host[row(i / side) * side + i % side])),
    );
}

/// Values to other places of a vector, each of them once: `x.flat[indices] = values`. The call waits for the check of its indices.
fn put(harness: &mut Harness, x: &Input<f32>) {
    let n = x.len();
    // As in `take_rows`; lengths are powers of two.
    let to = move |i: usize| (i * 3_001 + 17) % n;
    let figure = harness.figure("put", "f32", n, BY);
    figure.work(Work::copies(2 * x.bytes() + 8 * n as u64)).whole_calls().on_gpu(
        |gpu| {
            let indices: Vec<i64> = (0..n).map(|i| to(i) as i64).collect();
            let indices = GpuArray::from_ndarray(gpu.stream(), &aview1(&indices))?;
            Ok((x.on(gpu)?, indices, GpuArray::<f32, Ix1>::zeros(gpu.stream(), n)?))
        },
        |(x, indices, out)| Ok(out.put(&*indices, &x.device)?),
        |(x, _, out), ()| {
            let got = elements(out)?;
            Ok(same(&(0..n).map(|i| got[to(i)]).collect::<Vec<_>>(), n, |i| x.host[i]))
        },
    );
}

/// A hundred vectors, n elements together, one after the other in a new one.
fn concatenate(harness: &mut Harness, n: usize) {
    let (x, part) = (Input::<f32>::new(n), n / 100);
    let figure = harness.figure("concatenate", "f32", format!("{n}-from-100"), BY);
    figure.work(Work::copies(2 * x.bytes())).whole_calls().on_gpu(
        |gpu| {
            let x = x.on(gpu)?;
            let parts = x.device.chunks(Axis(0), part)?.map(|part| part.to_owned());
            Ok((x, parts.collect::<Result<Vec<_>>>()?))
        },
        |(_, parts)| Ok(gpu_array::concatenate(Axis(0), &*parts)?),
        |(x, _), got| Ok(same(&elements(&got)?, n, |i| x.host[i])),
    );
}

/// A vector in another element type, which has every value of the first one.
fn cast<T: Random, U: Random>(harness: &mut Harness, x: &Input<T>, same_value: fn(T) -> U) {
    let n = x.len();
    let bytes = n * (size_of::<T>() + size_of::<U>());
    let figure = harness.figure("astype", T::NAME, format!("{n}-to-{}", U::NAME), BY);
    figure.work(Work::copies(bytes as u64)).on_gpu(
        |gpu| Ok((x.on(gpu)?, GpuArray::<U, Ix1>::zeros(gpu.stream(), n)?)),
        |(x, out)| Ok(out.assign(x.device.cast::<U>())?),
        |(x, out), ()| Ok(same(&elements(out)?, n, |i| same_value(x.host[i]))),
    );
}
