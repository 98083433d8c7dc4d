//! Products of f64, whose sums are chains of fused multiply-adds along k on every device.

use gpu_algos::{
    gpu_array::{GpuArray, gpu_driver::Device},
    matmul::gemm,
    prelude::*,
};
use ndarray::{Array2, Array3, Axis};
use testkit::{Outcome, Rng, Test, ensure, rng, tests};

use crate::layouts::is_under_slow_tool;

pub const TESTS: &[Test<Device>] =
    tests![sums_of_f64_are_chains_along_k, stacks_of_f64_are_chains_along_k, chains_of_f64_are_scaled_and_added];

/// Numbers of many sizes and both signs, so that the order of additions tells.
fn element(rng: &mut Rng) -> f64 {
    (rng.uniform() - 0.5) * 10f64.powi(rng.below(9) as i32)
}

fn random(rng: &mut Rng, rows: usize, columns: usize) -> Array2<f64> {
    Array2::from_shape_simple_fn((rows, columns), || element(rng))
}

/// The sums, each from the first to the last k. Not the reference, whose products and sums are rounded each: these are the bits of fused multiply-adds,
/// which the kernels of f64 promise and other tests hold to the reference's bound.
fn chains(x: &Array2<f64>, y: &Array2<f64>) -> Array2<f64> {
    let mut sums = Array2::zeros((x.nrows(), y.ncols()));
    for (x, mut sums) in x.rows().into_iter().zip(sums.rows_mut()) {
        for (&left, y) in x.iter().zip(y.rows()) {
            sums.zip_mut_with(&y, |sum, &right| *sum = left.mul_add(right, *sum));
        }
    }
    sums
}

fn same_bits(got: &Array2<f64>, want: &Array2<f64>, case: &str) -> Outcome {
    ensure!(got.dim() == want.dim(), "{case}: shape {:?}, want {:?}", got.dim(), want.dim());
    for ((at, got), want) in got.indexed_iter().zip(want) {
        ensure!(got.to_bits() == want.to_bits(), "{case}, {at:?}: got {got:e}, want {want:e}");
    }
    Ok(())
}

/// Shapes of matrices with fewer terms than those of which several blocks sum a part; products of vectors are reductions. On the emulated device each tile has its turn.
fn shapes(device: &Device) -> Vec<[usize; 3]> {
    let mut shapes = vec![
        [256, 18, 512],
        [250, 34, 250],
        [128, 66, 256],
        [126, 30, 254],
        [128, 50, 126],
        [40, 100, 38],
        [20, 6, 14],
    ];
    shapes.extend([[33, 17, 41], [70, 3, 46]]); // Rows are not whole packs.
    if !device.is_emulated() {
        let (step, whole) = if is_under_slow_tool() { (23, 1) } else { (1, 4) };
        shapes.extend((2..=300).step_by(step).map(|m| [m, 2 * (m * 7 % 127) + 2, m * 11 % 300 + 2]));
        shapes.extend(&[[512, 254, 768], [1024, 128, 1024], [300, 200, 4096], [2050, 34, 4098]][..whole]);
    }
    shapes
}

pub fn sums_of_f64_are_chains_along_k(device: &Device) -> Outcome {
    let mut rng = rng(61);
    for (number, [m, k, n]) in shapes(device).into_iter().enumerate() {
        let (x, y) = (random(&mut rng, m, k), random(&mut rng, k, n));
        let want = chains(&x, &y);
        for (left, right) in [(false, false), (true, false), (false, true), (true, true)] {
            // Large ones take one layout each there.
            if device.is_emulated() && m * n > 16_384 && (left, right) != (number % 2 == 1, number / 2 % 2 == 1) {
                continue;
            }
            // A transposed factor has its columns as neighbours.
            let by_columns = |x: &Array2<f64>| GpuArray::from_ndarray(device, &x.t().as_standard_layout().into_owned());
            let (a, b) = (
                if left { by_columns(&x)? } else { GpuArray::from_ndarray(device, &x)? },
                if right { by_columns(&y)? } else { GpuArray::from_ndarray(device, &y)? },
            );
            let product = if left { a.t() } else { a.view() }.matmul(if right { b.t() } else { b.view() }).eval()?;
            same_bits(&product.to_ndarray()?, &want, &format!("{m} x {k} x {n}, transposed {left} {right}"))?;
        }
    }
    Ok(())
}

pub fn stacks_of_f64_are_chains_along_k(device: &Device) -> Outcome {
    let mut rng = rng(62);
    for [matrices, m, k, n] in [[3, 70, 12, 66], [2, 128, 6, 130], [5, 66, 40, 10]] {
        let x = Array3::from_shape_simple_fn((matrices, m, k), || element(&mut rng));
        let y = Array3::from_shape_simple_fn((matrices, k, n), || element(&mut rng));
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let products = a.matmul(&b).eval()?.to_ndarray()?;
        let of_first = a.matmul(b.index_axis(Axis(0), 0)?).eval()?.to_ndarray()?;
        let first_of_all = a.index_axis(Axis(0), 0)?.matmul(&b).eval()?.to_ndarray()?;
        for matrix in 0..matrices {
            let at = |stack: &Array3<f64>, index: usize| stack.index_axis(Axis(0), index).to_owned();
            let case = |name: &str| format!("{matrices} x {m} x {k} x {n}, matrix {matrix}, {name}");
            same_bits(&at(&products, matrix), &chains(&at(&x, matrix), &at(&y, matrix)), &case("both"))?;
            same_bits(&at(&of_first, matrix), &chains(&at(&x, matrix), &at(&y, 0)), &case("first b"))?;
            same_bits(&at(&first_of_all, matrix), &chains(&at(&x, 0), &at(&y, matrix)), &case("first a"))?;
        }
    }
    Ok(())
}

pub fn chains_of_f64_are_scaled_and_added(device: &Device) -> Outcome {
    let mut rng = rng(63);
    for [m, k, n] in [[130, 20, 128], [250, 18, 246], [66, 30, 35]] {
        let (x, y, z) = (random(&mut rng, m, k), random(&mut rng, k, n), random(&mut rng, m, n));
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        for by_columns in [false, true] {
            // c' = b' a' is computed where c has its columns as neighbours.
            let mut c = if by_columns {
                GpuArray::from_ndarray(device, &z.t().as_standard_layout().into_owned())?.reversed_axes()
            } else {
                GpuArray::from_ndarray(device, &z)?
            };
            gemm(2.5, &a, &b, -1.5, &mut c)?;
            let mut want = chains(&x, &y);
            want.zip_mut_with(&z, |sum, &c| *sum = (-1.5f64).mul_add(c, 2.5 * *sum));
            same_bits(&c.to_ndarray()?, &want, &format!("{m} x {k} x {n}, by columns {by_columns}"))?;
        }
    }
    Ok(())
}
