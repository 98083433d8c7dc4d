//! Arrays of more than 2^32 elements and bytes: on a GPU alone, since they need its memory.

use gpu_array::{
    Element, GpuArray,
    expression::{Gpu, index},
};
use gpu_driver::Device;
use ndarray::{Array1, Axis, Ix1, Ix2, s};
use testkit::{Outcome, Test, ensure, rng, tests};

pub const TESTS: &[Test<Device>] = tests![
    bytes_that_lie_behind_one_another,
    doubles_that_lie_behind_one_another,
    short_rows_of_a_wide_array,
    a_transposed_matrix,
];

/// The value that the element with this number is to have.
fn byte(i: usize) -> u8 {
    (i ^ i >> 8 ^ i >> 17 ^ i >> 29) as u8
}

/// An array of `n` bytes, each [`byte`] of its number.
fn bytes(device: &Device, n: usize) -> gpu_array::Result<GpuArray<u8, Ix1>> {
    let i = index::<Ix1, Gpu>(Axis(0));
    (&i ^ (&i >> 8) ^ (&i >> 17) ^ (&i >> 29)).cast::<u8>().broadcast(n).eval_on(device)
}

/// Compares pieces at both ends, around powers of two, and at 200 other places.
fn compare<T: Element>(x: &GpuArray<T, Ix1>, want: impl Fn(usize) -> T) -> Outcome {
    let mut rng = rng(32);
    let around = (20..40).map(|power| 1usize << power).filter(|&at| at < x.len());
    let others = (0..200).map(|_| rng.below(x.len()));
    for at in around.chain(others).chain([0, x.len()]) {
        let (start, end) = (at.saturating_sub(150), (at + 150).min(x.len()));
        let want = Array1::from_iter((start..end).map(&want));
        ensure!(x.slice(s![start..end])?.to_ndarray()? == want, "{} from {start} of {}", T::DTYPE, x.len());
    }
    Ok(())
}

fn bytes_that_lie_behind_one_another(device: &Device) -> Outcome {
    let n = (1usize << 32) + 7;
    let mut x = bytes(device, n)?;
    compare(&x, byte)?;
    // Behind 3 bytes, so that no pack is aligned with those of the other array.
    let moved = (x.slice(s![3..])? ^ x.slice(s![..-3])?).eval()?;
    compare(&moved, |i| byte(i + 3) ^ byte(i))?;
    x.slice_mut(s![5..])?.update(|x| x + 1)?;
    compare(&x, |i| if i < 5 { byte(i) } else { byte(i).wrapping_add(1) })
}

fn doubles_that_lie_behind_one_another(device: &Device) -> Outcome {
    let n = (1usize << 29) + 7;
    let x = index::<Ix1, Gpu>(Axis(0)).cast::<f64>().broadcast(n).eval_on(device)?;
    compare(&x, |i| i as f64)?;
    let y = (&x * 0.5 + x.slice(s![..;-1])?).eval()?;
    compare(&y, |i| i as f64 * 0.5 + (n - 1 - i) as f64)
}

fn short_rows_of_a_wide_array(device: &Device) -> Outcome {
    // More than 2^31 rows of three: indices of 64 bits.
    let rows = (1usize << 31) + 5;
    let x = bytes(device, rows * 4)?.into_shape((rows, 4))?;
    let row = GpuArray::from_ndarray(device, &ndarray::array![1u8, 2, 3])?;
    let y = (x.slice(s![.., 1..])? ^ &row).eval()?;
    drop(x);
    compare(&y.into_shape(rows * 3)?, |i| byte(i / 3 * 4 + 1 + i % 3) ^ (i % 3 + 1) as u8)
}

fn a_transposed_matrix(device: &Device) -> Outcome {
    let (rows, columns) = (24_001, 23_999);
    let i = index::<Ix2, Gpu>(Axis(0)) * columns as i64 + index::<Ix2, Gpu>(Axis(1));
    let x = i.cast::<f64>().broadcast((rows, columns)).eval_on(device)?;
    let mut y = GpuArray::zeros(device, (columns, rows))?;
    y.assign(x.t() + 1.0)?;
    drop(x);
    compare(&y.into_shape(rows * columns)?, |i| (i % rows * columns + i / rows) as f64 + 1.0)
}
