//! The bits of one case or two of each family of primitives: reductions, scans, selections, writes at indices, products, linear algebra, and reductions
//! within expressions. `result_hashes.rs` compares them with its record.

use gpu_algos::{
    einsum,
    gpu_array::{
        Complex, Element, GpuArray, bf16,
        expression::{Outside, complex, take},
        f16,
        gpu_driver::Device,
    },
    linalg::{self, LinalgElement, Triangle},
    matmul::{MatmulElement, Precision, gemm, matmul_i32, tensordot},
    prelude::*,
};
use ndarray::{Array, Array1, Axis, Dimension, IntoDimension, Ix3};

use crate::{matmul_epilogues::bits, result_hashes::element};

type Failure = Box<dyn std::error::Error>;
type Lines<'l> = &'l mut Vec<String>;

/// Lines of all families.
pub fn lines(device: &Device) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    reductions(device, &mut lines)?;
    scans(device, &mut lines)?;
    selections(device, &mut lines)?;
    writes(device, &mut lines)?;
    products(device, &mut lines)?;
    products_of_other_types(device, &mut lines)?;
    linear_algebra::<f32>(device, &mut lines)?;
    linear_algebra::<f64>(device, &mut lines)?;
    expressions(device, &mut lines)?;
    Ok(lines)
}

/// Adds a line: name, type and shape of a result, and FNV-1a of the bits of all elements.
fn add<T: Element, D: Dimension>(lines: Lines<'_>, name: &str, result: &GpuArray<T, D>) -> Result<(), Failure> {
    let words = bits(result)?.into_iter().flatten();
    let hash = words.fold(0xcbf2_9ce4_8422_2325, |hash: u64, bits| (hash ^ bits).wrapping_mul(0x0100_0000_01b3));
    lines.push(format!("{name}: {} {:?} {hash:016x}", T::DTYPE, result.shape()));
    Ok(())
}

/// An array of `of` numbers between -0.5 and 0.5, in C order.
fn array<T: Element, S: IntoDimension>(
    device: &Device,
    shape: S,
    of: impl Fn(f64) -> T,
) -> Result<GpuArray<T, S::Dim>, Failure> {
    let dim = shape.into_dimension();
    let values = (0..dim.size()).map(|i| of(element(i))).collect();
    Ok(GpuArray::from_ndarray(device, &Array::from_shape_vec(dim, values)?)?)
}

fn single(x: f64) -> f32 {
    x as f32
}

fn double(x: f64) -> f64 {
    x
}

/// Whole numbers from -50 to 50.
fn whole(x: f64) -> i32 {
    (100.0 * x).round() as i32
}

fn reductions(device: &Device, lines: Lines<'_>) -> Result<(), Failure> {
    for n in [1000, 20_011].into_iter().chain((!device.is_emulated()).then_some(3_000_017)) {
        let (x, whole) = (array(device, n, single)?, array(device, n, whole)?);
        let (least, greatest) = x.min_max().eval()?;
        add(lines, &format!("min of {n}"), &least)?;
        add(lines, &format!("max of {n}"), &greatest)?;
        add(lines, &format!("argmin of {n}"), &x.argmin().eval()?)?;
        add(lines, &format!("argmax of {n}"), &x.argmax().eval()?)?;
        let (mean, variance) = x.mean_var(1).eval()?;
        add(lines, &format!("mean of mean_var of {n}"), &mean)?;
        add(lines, &format!("var of mean_var of {n}"), &variance)?;
        add(lines, &format!("nansum of {n}"), &x.nansum().eval()?)?;
        add(lines, &format!("norm_l1 of {n}"), &x.norm_l1().eval()?)?;
        add(lines, &format!("norm_inf of {n}"), &x.norm_inf().eval()?)?;
        add(lines, &format!("count of {n}"), &x.count().eval()?)?;
        add(lines, &format!("sum of integers of {n}"), &whole.sum().eval()?)?;
    }
    let x = array(device, (70, 45), single)?;
    for axis in [Axis(0), Axis(1)] {
        add(lines, &format!("max of axis {}", axis.0), &x.max().axis(axis).eval()?)?;
        add(lines, &format!("argmax of axis {}", axis.0), &x.argmax().axis(axis).eval()?)?;
    }
    add(lines, "sum of bf16", &array(device, 4097, bf16::from_f64)?.sum().eval()?)?;
    let z = array(device, 2049, |x| Complex::new(x, 0.5 - x))?;
    add(lines, "sum of complex numbers", &z.sum().eval()?)?;
    add(lines, "sum of selected", &x.select(x.gt(0.1)).sum().eval()?)
}

fn scans(device: &Device, lines: Lines<'_>) -> Result<(), Failure> {
    let (x, whole) = (array(device, 7001, single)?, array(device, 9001, whole)?);
    let keys = GpuArray::from_ndarray(device, &Array1::from_shape_fn(7001, |i| (i / 77) as i32))?;
    let (bytes, doubles) = (array(device, 3000, |x| (255.0 * x) as u8)?, array(device, 3000, double)?);
    add(lines, "cummax", &bytes.cummax().eval()?)?;
    add(lines, "cummin", &doubles.cummin().eval()?)?;
    add(lines, "nancumsum", &doubles.nancumsum().eval()?)?;
    add(lines, "cumsum of integers", &whole.cumsum().eval()?)?;
    add(lines, "cumsum by key", &x.cumsum().by_key(&keys).exclusive().eval()?)?;
    let table = array(device, (60, 77), single)?;
    let squares = table.cumsum().axis(Axis(1)).map(|sum| sum.clone() * sum).map(|square| square + 1.0);
    add(lines, "cumsum with a map", &squares.eval()?)?;
    let mut in_place = array(device, 9001, single)?;
    in_place.cumsum_in_place().run()?;
    add(lines, "cumsum in place", &in_place)
}

fn selections(device: &Device, lines: Lines<'_>) -> Result<(), Failure> {
    for n in [9001].into_iter().chain((!device.is_emulated()).then_some(3_000_017)) {
        let (x, runs) = (array(device, n, single)?, array(device, n, |x| (2.0 * x).round() as i32)?);
        let mask = x.gt(0.2).eval()?;
        add(lines, "select", &x.select(&mask).eval()?.into_array()?)?;
        add(lines, "partition", x.partition(&mask).eval()?.values())?;
        add(lines, "nonzero", &mask.nonzero().eval()?.into_array()?)?;
        add(lines, "unique", &runs.unique().eval()?.into_array()?)?;
        let (values, offsets, lengths) = runs.run_length_encode().eval()?.into_arrays()?;
        add(lines, "values of run_length_encode", &values)?;
        add(lines, "offsets of run_length_encode", &offsets)?;
        add(lines, "lengths of run_length_encode", &lengths)?;
    }
    let x = array(device, (33, 40, 5), |x| (2.0 * x).round() as f32)?;
    let mask = array(device, 40, |x| x > 0.0)?;
    add(lines, "compress", &x.compress(&mask, Axis(1))?)?;
    for (axis, places) in x.nonzero_axes()?.iter().enumerate() {
        add(lines, &format!("nonzero along axis {axis}"), places)?;
    }
    Ok(())
}

fn writes(device: &Device, lines: Lines<'_>) -> Result<(), Failure> {
    let at = GpuArray::from_ndarray(device, &Array1::from_shape_fn(777, |i| (i * i % 100) as i64 - 50))?;
    let (values, factors) = (array(device, 777, single)?, array(device, 777, |x| 1.0 + x / 8.0)?);
    let mut x = array(device, 100, single)?;
    x.add_at(&at, &values)?;
    add(lines, "add_at", &x)?;
    x.subtract_at(&at, &values * 0.3)?;
    add(lines, "subtract_at", &x)?;
    let mut y = array(device, 100, double)?;
    y.multiply_at(&at, &factors)?;
    add(lines, "multiply_at", &y)?;
    let mut z = array(device, 100, whole)?;
    z.add_at(&at, array(device, 777, whole)?)?;
    add(lines, "add_at of integers", &z)?;
    z.minimum_at(&at, array(device, 777, whole)?)?;
    add(lines, "minimum_at of integers", &z)?;
    let mask = array(device, 100, |x| x < -0.2)?;
    let count = usize::try_from(mask.count().get()?)?;
    z.assign_selected(&mask, &array(device, count, whole)?)?;
    add(lines, "assign_selected", &z)
}

/// The product of matrices of m x k and k x n.
fn product<T: MatmulElement>(
    device: &Device,
    lines: Lines<'_>,
    [m, k, n]: [usize; 3],
    of: fn(f64) -> T,
) -> Result<(), Failure> {
    let (a, b) = (array(device, (m, k), of)?, array(device, (k, n), of)?);
    add(lines, &format!("matmul {m} x {k} x {n}"), &a.matmul(&b).eval()?)
}

/// Products of f32 and f64: of tiles, of warps that divide k, of equal shares, of small matrices, with vectors, and in other precisions.
fn products(device: &Device, lines: Lines<'_>) -> Result<(), Failure> {
    for shape in [[70, 33, 64], [130, 19, 60], [64, 1540, 9], [68, 4096, 2], [257, 1031, 33]] {
        product(device, lines, shape, single)?;
    }
    for shape in [[70, 33, 64], [130, 19, 60], [33, 47, 17]] {
        product(device, lines, shape, double)?;
    }
    if !device.is_emulated() {
        for shape in [[8500, 516, 32], [257, 1031, 4093], [1000, 500, 3000], [16_384, 64, 64]] {
            product(device, lines, shape, single)?;
        }
        product(device, lines, [1000, 500, 3000], double)?;
    }
    let many = 4 * device.multiprocessors()? as usize * 32 + 3;
    let (a, b) = (array(device, (many, 8, 8), single)?, array(device, (many, 8, 8), single)?);
    add(lines, "matmul of small matrices", &a.matmul(&b).eval()?)?;
    let (a, x) = (array(device, (65, 130), single)?, array(device, 130, single)?);
    add(lines, "matmul with a vector", &a.matmul(&x).eval()?)?;
    let (b, mut c) = (array(device, (130, 70), single)?, array(device, (65, 70), single)?);
    add(lines, "matmul with a bias", &(a.matmul(&b) + array(device, 70, single)?).maximum(0.0).eval()?)?;
    gemm(1.25, &a, &b, -0.75, &mut c)?;
    add(lines, "gemm", &c)?;
    let (a, b) = (array(device, (65, 33), single)?, array(device, (33, 130), single)?);
    for precision in [Precision::Tf32, Precision::Emulated] {
        let product = a.matmul(&b).precision(precision.forced());
        add(lines, &format!("matmul in {precision:?}"), &product.eval()?)?;
    }
    Ok(())
}

fn products_of_other_types(device: &Device, lines: Lines<'_>) -> Result<(), Failure> {
    let large = (!device.is_emulated()).then_some([1000, 512, 3000]);
    for shape in [[130, 64, 72], [65, 33, 67]].into_iter().chain(large) {
        product(device, lines, shape, f16::from_f64)?;
        product(device, lines, shape, bf16::from_f64)?;
        product(device, lines, shape, whole)?;
        product(device, lines, shape, |x| Complex::new(x as f32, 0.5 - x as f32))?;
        let [m, k, n] = shape;
        let byte = |x: f64| (255.0 * x).floor() as i8;
        let (a, b) = (array(device, (m, k), byte)?, array(device, (k, n), byte)?);
        add(lines, &format!("matmul_i32 {m} x {k} x {n}"), &matmul_i32(&a, &b)?)?;
    }
    product(device, lines, [65, 33, 67], |x| Complex::new(x, 0.5 - x))?;
    let (a, b, c) = (array(device, [11, 13], single)?, array(device, [13, 7, 10], single)?, array(device, 7, single)?);
    let operands = [a.view().into_dyn(), b.view().into_dyn(), c.view().into_dyn()];
    add(lines, "einsum", &einsum("ij,jkl,k->li", operands)?)?;
    add(lines, "tensordot", &tensordot(&a, &b, 1)?)
}

fn linear_algebra<T: LinalgElement>(device: &Device, lines: Lines<'_>) -> Result<(), Failure> {
    let sizes = [(3, 17), (1, 33)];
    for (batch, n) in sizes.into_iter().chain((!device.is_emulated()).then_some((5000, 33))) {
        let a = array(device, (batch, n, n), T::rounded_from_f64)?;
        let b = array(device, (batch, n, 3), T::rounded_from_f64)?;
        let of = |name: &str| format!("{name} of {n} x {n}");
        let (lu, pivots) = linalg::lu_factor(&a).eval()?;
        add(lines, &of("lu_factor"), &lu)?;
        add(lines, &of("pivots of lu_factor"), &pivots)?;
        let (q, r) = linalg::qr(&a).eval()?;
        add(lines, &of("q of qr"), &q)?;
        add(lines, &of("r of qr"), &r)?;
        add(lines, &of("solve"), &linalg::solve(&a, &b).eval()?)?;
        add(lines, &of("inv"), &linalg::inv(&a).eval()?)?;
        add(lines, &of("det"), &linalg::det(&a).eval()?)?;
        let (signs, logs) = linalg::slogdet(&a).eval()?;
        add(lines, &of("signs of slogdet"), &signs)?;
        add(lines, &of("logs of slogdet"), &logs)?;
        add(lines, &of("cholesky"), &linalg::cholesky(&definite::<T>(device, batch, n)?).eval()?)?;
        let triangle = definite::<T>(device, batch, n)?;
        add(lines, &of("solve_triangular"), &linalg::solve_triangular(&triangle, &b, Triangle::Lower).eval()?)?;
    }
    Ok(())
}

/// Symmetric matrices whose diagonals outweigh the rest of their rows.
fn definite<T: LinalgElement>(device: &Device, batch: usize, n: usize) -> Result<GpuArray<T, Ix3>, Failure> {
    let values = Array::from_shape_fn((batch, n, n), |(matrix, i, j)| {
        let part = element((matrix * n + i.max(j)) * n + i.min(j));
        T::rounded_from_f64(if i == j { n as f64 + part } else { part })
    });
    Ok(GpuArray::from_ndarray(device, &values)?)
}

/// Reductions and products within expressions.
fn expressions(device: &Device, lines: Lines<'_>) -> Result<(), Failure> {
    for shape in [(33, 64), (5, 1000)].into_iter().chain((!device.is_emulated()).then_some((4000, 3300))) {
        let x = array(device, shape, single)?;
        let e = (&x - x.max().axis(Axis(1)).keep_dims()).exp();
        add(lines, "softmax", &(&e / e.sum().axis(Axis(1)).keep_dims()).eval()?)?;
        let centred = &x - x.mean().axis(Axis(1)).keep_dims();
        let scaled = centred / (x.var(0).axis(Axis(1)).keep_dims().into_expr() + 1e-5f32).sqrt();
        add(lines, "layer norm", &scaled.eval()?)?;
        add(lines, "standardised columns", &((&x - x.mean().axis(Axis(0))) / x.std(0).axis(Axis(0))).eval()?)?;
        add(lines, "sum of an expression", &(&x * 3.0 - 1.0).abs().sum().axis(Axis(1)).eval()?)?;
    }
    let x = array(device, 20_011, single)?;
    let places = GpuArray::from_ndarray(device, &Array1::from_shape_fn(3000, |i| (i * 7 % 20_011) as i64))?;
    add(lines, "sum of a subset", &take(&x, &places, Outside::Wrap).sum().eval()?)?;
    add(lines, "norm of complex numbers", &complex(&x, -1.0f32).norm_l2().eval()?)
}
