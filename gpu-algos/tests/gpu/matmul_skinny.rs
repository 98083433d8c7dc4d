//! Products with few columns or few rows, whose blocks' warps divide k (`matmul_skinny.cuh`). That they have this kernel is a test of gpu-algos' choices.

use gpu_algos::{
    gpu_array::{GpuArray, gpu_driver::Device},
    matmul::gemm,
    prelude::*,
    reference,
};
use ndarray::{Array1, Array2, Array3, ArrayView2, Axis, Zip, s};
use testkit::{Outcome, Rng, Test, ensure, rng, tests};

use crate::{layouts::is_under_slow_tool, matmul::near};

pub const TESTS: &[Test<Device>] = tests![
    products_of_few_columns,
    products_of_few_columns_of_integers,
    products_of_few_columns_into_views,
    stacks_of_products_of_few_columns,
    products_of_few_columns_propagate_nan,
];

/// Rows, terms and columns.
fn shapes(device: &Device) -> Vec<[usize; 3]> {
    match device.is_emulated() || is_under_slow_tool() {
        true => vec![[300, 516, 32], [256, 1000, 21], [132, 2048, 16], [64, 1540, 9], [500, 512, 8], [68, 4096, 2]],
        false => {
            vec![[8500, 516, 32], [4100, 1000, 21], [4096, 2048, 16], [8192, 1540, 9], [9000, 512, 8], [4000, 4096, 2]]
        }
    }
}

fn floats(rng: &mut Rng, shape: (usize, usize)) -> Array2<f32> {
    Array2::from_shape_simple_fn(shape, || 2.0 * rng.uniform() as f32 - 1.0)
}

fn integers(rng: &mut Rng, shape: (usize, usize)) -> Array2<i32> {
    Array2::from_shape_simple_fn(shape, || rng.next_u64() as i32)
}

/// Compares a product with the definition.
fn is_near(got: &Array2<f32>, x: ArrayView2<'_, f32>, y: ArrayView2<'_, f32>, case: &str) -> Outcome {
    near(got.view().into_dyn(), x.into_dyn(), y.into_dyn(), case)
}

pub fn products_of_few_columns(device: &Device) -> Outcome {
    let mut rng = rng(61);
    for [m, k, n] in shapes(device).into_iter().step_by(if device.is_emulated() { 2 } else { 1 }) {
        // Each factor by rows and by columns.
        let (x, y) = (floats(&mut rng, (m, k)), floats(&mut rng, (k, n)));
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let x_by_columns = x.t().as_standard_layout().into_owned();
        let y_by_columns = y.t().as_standard_layout().into_owned();
        let a_by_columns = GpuArray::from_ndarray(device, &x_by_columns)?;
        let b_by_columns = GpuArray::from_ndarray(device, &y_by_columns)?;
        let case = |name: &str| format!("{m} x {k} x {n}, {name}");
        let by_rows = a.matmul(&b).eval()?.to_ndarray()?;
        is_near(&by_rows, x.view(), y.view(), &case("both by rows"))?;
        let got = a_by_columns.t().matmul(&b).eval()?.to_ndarray()?;
        is_near(&got, x.view(), y.view(), &case("a by columns"))?;
        let got = a.matmul(b_by_columns.t()).eval()?.to_ndarray()?;
        is_near(&got, x.view(), y.view(), &case("b by columns"))?;
        // Few rows.
        let got = b_by_columns.matmul(&a_by_columns).eval()?.to_ndarray()?;
        is_near(&got, y.t(), x.t(), &case("few rows"))?;
        let got = b.t().matmul(a.t()).eval()?.to_ndarray()?;
        is_near(&got, y.t(), x.t(), &case("few rows, both by columns"))?;
        // The order of additions is the same again.
        let again = a.matmul(&b).eval()?.to_ndarray()?;
        ensure!(again == by_rows, "{}: the product has other bits", case("again"));
    }
    Ok(())
}

/// Integers tell a term that is left out or taken twice.
pub fn products_of_few_columns_of_integers(device: &Device) -> Outcome {
    let mut rng = rng(62);
    for [m, k, n] in shapes(device) {
        let (x, y, c) = (integers(&mut rng, (m, k)), integers(&mut rng, (k, n)), integers(&mut rng, (m, n)));
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let products = reference::matmul(&x, &y)?;
        let mut sums = GpuArray::from_ndarray(device, &c)?;
        gemm(3, &a, &b, -5, &mut sums)?;
        // As reference::gemm, whose product of so many terms would be a second one.
        let want = Zip::from(&products).and(&c).map_collect(|p, c| p.wrapping_mul(3).wrapping_sub(c.wrapping_mul(5)));
        ensure!(sums.to_ndarray()? == want, "{m} x {k} x {n}: 3 a b - 5 c differs");
        // The counters of tiles are 0 again. The transposed product is that of few rows.
        let transposed = b.t().matmul(a.t()).eval()?.to_ndarray()?;
        ensure!(transposed == products.t(), "{m} x {k} x {n}: the transposed product differs");
        let bias = Array1::from_iter((0..n as i32).map(|j| j % 7));
        let on_bias = GpuArray::from_ndarray(device, &bias)?;
        let want = Array2::from_shape_fn((m, n), |(i, j)| products[[i, j]].wrapping_add(bias[j]).max(0));
        let applied = (a.matmul(&b) + &on_bias).maximum(0).eval()?.to_ndarray()?;
        ensure!(applied == want, "{m} x {k} x {n}: the expression around the product differs");
        let of_rows = on_bias.broadcast((m, n))?;
        let applied = (b.t().matmul(a.t()) + of_rows.t()).maximum(0).eval()?.to_ndarray()?;
        ensure!(applied == want.t(), "{m} x {k} x {n}: the expression around the transposed product differs");
    }
    Ok(())
}

pub fn products_of_few_columns_into_views(device: &Device) -> Outcome {
    let mut rng = rng(63);
    for [m, k, n] in shapes(device).into_iter().skip(1).step_by(2) {
        let (x, y) = (integers(&mut rng, (m, k)), integers(&mut rng, (k, n)));
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let products = reference::matmul(&x, &y)?;
        let mut whole = GpuArray::full(device, (m + 1, 2 * n + 1), -7)?;
        a.matmul(&b).write_into(whole.slice_mut(s![..m;-1, 1..;2])?)?;
        let mut got = whole.to_ndarray()?;
        ensure!(got.slice(s![..m;-1, 1..;2]) == products, "{m} x {k} x {n}: the view differs");
        got.slice_mut(s![..m;-1, 1..;2]).fill(-7);
        ensure!(got.iter().all(|&x| x == -7), "{m} x {k} x {n}: an element beside the view has changed");
    }
    Ok(())
}

pub fn stacks_of_products_of_few_columns(device: &Device) -> Outcome {
    let mut rng = rng(64);
    for [m, k, n] in shapes(device).into_iter().take(3) {
        let mut stack = |rows, columns| Array3::from_shape_simple_fn((2, rows, columns), || rng.next_u64() as i32);
        let (x, y) = (stack(m, k), stack(k, n));
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let got = a.matmul(&b).eval()?.to_ndarray()?;
        for (matrix, got) in got.axis_iter(Axis(0)).enumerate() {
            let at = |stack: &Array3<i32>| stack.index_axis(Axis(0), matrix).to_owned();
            ensure!(got == reference::matmul(&at(&x), &at(&y))?, "{m} x {k} x {n}: matrix {matrix} differs");
        }
    }
    Ok(())
}

/// A NaN in a row of a or a column of b comes to that row or column alone, also where tiles have rows and columns that do not exist.
pub fn products_of_few_columns_propagate_nan(device: &Device) -> Outcome {
    let mut rng = rng(65);
    for [m, k, n] in shapes(device) {
        let (mut x, mut y) = (floats(&mut rng, (m, k)), floats(&mut rng, (k, n)));
        let (row, column) = (m - 1, n - 1);
        (x[[row, k - 1]], y[[k / 2, column]]) = (f32::NAN, f32::NAN);
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let got = a.matmul(&b).eval()?.to_ndarray()?;
        let is_right = got.indexed_iter().all(|((i, j), x)| x.is_nan() == (i == row || j == column));
        ensure!(is_right, "{m} x {k} x {n}: NaN are elsewhere");
    }
    Ok(())
}
