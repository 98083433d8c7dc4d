//! Products of random, badly scaled and cancelling elements of each float type against the definition, within the documented bounds; and targets that no
//! kernel reads.

use gpu_algos::{
    gpu_array::{Complex, GpuArray, bf16, f16, gpu_driver::Device},
    matmul::{MatmulElement, Precision, gemm, gemm_with_precision},
    prelude::*,
    reference,
};
use ndarray::{Array2, Array3, Dim, Dimension, s};
use testkit::{Outcome, Rng, Test, ensure, rng, tests};

use crate::{layouts::is_under_slow_tool, matmul_precisions::bound as bound_of_precision};

pub const TESTS: &[Test<Device>] = tests![
    floats_of_any_size_keep_the_bound,
    halves_of_any_size_keep_the_bound,
    complex_numbers_of_any_size_keep_the_bound,
    precisions_of_any_size_keep_the_bound,
    no_product_reads_c_for_beta_0,
];

/// On a device with tensor cores.
pub const OF_TENSOR_CORES: &[Test<Device>] = tests![emulated_sums_have_bits_of_their_own];

/// Factors with a name.
type Factors = (&'static str, Array2<f64>, Array2<f64>);

/// Elements of one size; of sizes from 2^-`exponent` to 2^`exponent`; and such whose products cancel, each but for its last bits.
fn factors(rng: &mut Rng, [m, k, n]: [usize; 3], exponent: i32) -> [Factors; 3] {
    let mut of = |rows, columns, exponent: i32| {
        Array2::from_shape_simple_fn((rows, columns), || {
            let scale = 2f64.powi((rng.uniform() * f64::from(2 * exponent + 1)) as i32 - exponent);
            (2.0 * rng.uniform() - 1.0) * scale
        })
    };
    let (uniform, scaled) = ((of(m, k, 0), of(k, n, 0)), (of(m, k, exponent), of(k, n, exponent)));
    let (mut x, mut y) = uniform.clone();
    let half = k / 2;
    let (first, mut second) = x.multi_slice_mut((s![.., ..half], s![.., half..2 * half]));
    second.assign(&(&first * -(1.0 + 2f64.powi(-20))));
    let (first, mut second) = y.multi_slice_mut((s![..half, ..], s![half..2 * half, ..]));
    second.assign(&first);
    [("random", uniform.0, uniform.1), ("badly scaled", scaled.0, scaled.1), ("cancelling", x, y)]
}

/// Rows, terms and columns: each length up to 300 on a GPU.
fn shapes(device: &Device) -> Vec<[usize; 3]> {
    if device.is_emulated() || is_under_slow_tool() {
        return vec![[1, 9, 5], [17, 16, 18], [33, 300, 40], [66, 65, 63]];
    }
    (1..=300).map(|m| [m, m * 7 % 301 + usize::from(m == 43), m * 11 % 299 + 1]).collect()
}

/// A number of f64 in another type, and back.
type Conversions<T> = (fn(f64) -> T, fn(T) -> f64);

/// Checks the products `multiply` of each factor in its type: |error| <= `relative(k)` |a| |b| + `rounding` |result| + `smallest`.
fn check<T: Copy>(
    device: &Device,
    [seed, exponent]: [i32; 2],
    (of, wide): Conversions<T>,
    (relative, rounding, smallest): (&dyn Fn(usize) -> f64, f64, f64),
    multiply: impl Fn(&Array2<T>, &Array2<T>) -> gpu_algos::Result<Array2<T>>,
) -> Outcome {
    let mut rng = rng(seed as u64);
    for shape in shapes(device) {
        for (kind, x, y) in factors(&mut rng, shape, exponent) {
            let (x, y) = (x.mapv(of), y.mapv(of));
            let got = multiply(&x, &y)?;
            let (x, y) = (x.mapv(wide), y.mapv(wide));
            let want = reference::matmul(&x, &y)?;
            let sizes = reference::matmul(&x.mapv(f64::abs), &y.mapv(f64::abs))?;
            for ((at, &got), (&want, &size)) in got.indexed_iter().zip(want.iter().zip(&sizes)) {
                let bound = relative(shape[1]) * size + rounding * want.abs() + smallest;
                let got = wide(got);
                ensure!((got - want).abs() <= bound, "{shape:?}, {kind}: {at:?} is {got}, want {want} within {bound}");
            }
        }
    }
    Ok(())
}

/// The product of arrays of a device.
fn product<T: MatmulElement>(device: &Device, x: &Array2<T>, y: &Array2<T>) -> gpu_algos::Result<Array2<T>> {
    let (a, b) = (GpuArray::from_ndarray(device, x)?, GpuArray::from_ndarray(device, y)?);
    Ok(a.matmul(&b).eval()?.to_ndarray()?)
}

/// The classical bound of a sum of `terms` products, each operation rounded by `unit`.
fn gamma(terms: usize, unit: f64) -> f64 {
    let sum = terms.max(1) as f64 * unit;
    sum / (1.0 - sum)
}

/// The rounding of f64, in which the definition is computed.
const UNIT_F64: f64 = f64::EPSILON / 2.0;

pub fn floats_of_any_size_keep_the_bound(device: &Device) -> Outcome {
    let of_f32 = |k| gamma(k, 2f64.powi(-24)) + gamma(k, UNIT_F64);
    check(device, [101, 30], (|x| x as f32, f64::from), (&of_f32, 0.0, 0.0), |x, y| product(device, x, y))?;
    // The definition has the same error.
    let of_f64 = |k| 2.0 * gamma(k, UNIT_F64);
    check::<f64>(device, [102, 300], (|x| x, |x| x), (&of_f64, 0.0, 0.0), |x, y| product(device, x, y))
}

pub fn halves_of_any_size_keep_the_bound(device: &Device) -> Outcome {
    let relative = |k| gamma(k, 2f64.powi(-23)) * (1.0 + 2f64.powi(-8));
    let conversions: Conversions<f16> = (f16::from_f64, f16::to_f64);
    // Results are rounded to the subnormal numbers of f16, too.
    let bounds = (&relative as &dyn Fn(usize) -> f64, 2f64.powi(-11), 2f64.powi(-25));
    check(device, [103, 3], conversions, bounds, |x, y| product(device, x, y))?;
    let conversions: Conversions<bf16> = (bf16::from_f64, bf16::to_f64);
    let bounds = (&relative as &dyn Fn(usize) -> f64, 2f64.powi(-8), 0.0);
    check(device, [104, 20], conversions, bounds, |x, y| product(device, x, y))
}

pub fn complex_numbers_of_any_size_keep_the_bound(device: &Device) -> Outcome {
    // (1 + i / 2) x times (2 - i) y is (2.5 x y, 0 i): both parts are sums of twice as many terms.
    let relative = |k: usize| 3.75 * (gamma(2 * k, 2f64.powi(-24)) + gamma(2 * k, UNIT_F64)) / 2.5;
    let of_c64 = |x: &Array2<f64>, y: &Array2<f64>| {
        let turned = |x: &Array2<f64>, by: Complex<f32>| x.mapv(|x| by * x as f32);
        let got = product(device, &turned(x, Complex::new(1.0, 0.5)), &turned(y, Complex::new(2.0, -1.0)))?;
        Ok(got.mapv(|z| f64::from(z.re) / 2.5))
    };
    let of = |x: f64| f64::from(x as f32);
    check(device, [105, 20], (of, |x| x), (&relative, 0.0, 0.0), of_c64)
}

pub fn precisions_of_any_size_keep_the_bound(device: &Device) -> Outcome {
    for precision in [Precision::Tf32, Precision::Emulated] {
        let relative = |k| bound_of_precision(precision, k) + gamma(k, UNIT_F64);
        let multiply = |x: &Array2<f32>, y: &Array2<f32>| {
            let (a, b) = (GpuArray::from_ndarray(device, x)?, GpuArray::from_ndarray(device, y)?);
            Ok(a.matmul(&b).precision(precision.forced()).eval()?.to_ndarray()?)
        };
        check(device, [106, 30], (|x| x as f32, f64::from), (&relative, 0.0, 0.0), multiply)?;
    }
    Ok(())
}

/// Shapes of a, b and c for each kernel: tiles with and without blocks that share one, few columns, products of warps, and stacks.
pub fn no_product_reads_c_for_beta_0(device: &Device) -> Outcome {
    fn of<T: MatmulElement, D: Dimension<Larger: Dimension> + Copy>(
        device: &Device,
        number: fn(f64) -> T,
        shapes: [D; 3],
        multiply: impl Fn(&GpuArray<T, D>, &GpuArray<T, D>, T, &mut GpuArray<T, D>) -> gpu_algos::Result<()>,
    ) -> Outcome {
        let [a, b, c] = shapes;
        let (of, nan) = (|shape: D, value: f64| GpuArray::full(device, shape, number(value)), f64::NAN);
        let (a, b) = (of(a, 0.5)?, of(b, 0.25)?);
        let (mut fresh, mut zero) = (of(c, nan)?, of(c, 0.0)?);
        multiply(&a, &b, T::ZERO, &mut fresh)?;
        multiply(&a, &b, T::ZERO, &mut zero)?;
        ensure!(fresh.to_ndarray()? == zero.to_ndarray()?, "{:?} by {:?}", a.shape(), b.shape());
        // It is read where it counts.
        let mut read = of(c, nan)?;
        multiply(&a, &b, number(1.0), &mut read)?;
        let got = read.to_ndarray()?;
        let equal = |(one, other): (&T, &T)| one == other;
        // NaN is not equal to itself.
        ensure!(!got.iter().zip(&got).any(equal), "{:?} by {:?}: NaN is lost", a.shape(), b.shape());
        Ok(())
    }
    let many = 4 * device.multiprocessors()? as usize * 8 + 3;
    let shapes = match device.is_emulated() {
        true => [[33, 17, 21], [64, 516, 9], [9, 516, 64], [49, 513, 130]],
        false => [[33, 17, 21], [8192, 1540, 9], [9, 1540, 8192], [257, 1031, 4093]],
    };
    for [m, k, n] in shapes {
        let shapes = [Dim([m, k]), Dim([k, n]), Dim([m, n])];
        of::<f32, _>(device, |x| x as f32, shapes, |a, b, beta, c| gemm(2.0, a, b, beta, c))?;
        // Tensor cores take the emulated device long.
        if !device.is_emulated() || m == 33 {
            of::<f64, _>(device, |x| x, shapes, |a, b, beta, c| gemm(2.0, a, b, beta, c))?;
            of::<f16, _>(device, f16::from_f64, shapes, |a, b, beta, c| gemm(f16::from_f64(2.0), a, b, beta, c))?;
            for precision in [Precision::Tf32, Precision::Emulated] {
                of::<f32, _>(
                    device,
                    |x| x as f32,
                    shapes,
                    |a, b, beta, c| gemm_with_precision(precision.forced(), 2.0, a, b, beta, c),
                )?;
            }
        }
    }
    for [m, k, n] in [[8, 8, 8], [13, 5, 11], [30, 40, 33]] {
        let shapes = [Dim([many, m, k]), Dim([many, k, n]), Dim([many, m, n])];
        of::<f32, _>(device, |x| x as f32, shapes, |a, b, beta, c| gemm(2.0, a, b, beta, c))?;
        if !device.is_emulated() {
            of::<f64, _>(device, |x| x, shapes, |a, b, beta, c| gemm(2.0, a, b, beta, c))?;
        }
    }
    Ok(())
}

/// Products in `Precision::Emulated` come from tensor cores: rounded otherwise than those of `Strict`, whose bound they keep too.
pub fn emulated_sums_have_bits_of_their_own(device: &Device) -> Outcome {
    let mut rng = rng(107);
    let x = Array3::from_shape_simple_fn((2, 96, 96), || 2.0 * rng.uniform() as f32 - 1.0);
    let x = GpuArray::from_ndarray(device, &x)?;
    let product = |precision: Precision| -> gpu_algos::Result<_> {
        Ok(x.matmul(&x).precision(precision.forced()).eval()?.to_ndarray()?)
    };
    let (strict, emulated) = (product(Precision::Strict)?, product(Precision::Emulated)?);
    let others = strict.iter().zip(&emulated).filter(|(strict, emulated)| strict != emulated).count();
    ensure!(others > strict.len() / 10, "{others} of {} sums differ", strict.len());
    Ok(())
}
