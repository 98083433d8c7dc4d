//! Matrix products of complex numbers against the reference.

use std::iter;

use gpu_algos::{
    gpu_array::{Complex, ComplexNumber, GpuArray, gpu_driver::Device},
    host,
    matmul::{MatmulElement, gemm, tensordot},
    prelude::*,
    reference,
};
use ndarray::{Array2, ArrayD, Axis, IxDyn, array};
use testkit::{Layout, Outcome, Rng, Test, ensure, ensure_eq, rng, tests};

use crate::layouts::{Factors, base, factors_of_every_layout};

pub const TESTS: &[Test<Device>] = tests![
    complex_products_of_every_layout,
    complex_products_of_several_tiles,
    complex_products_of_stacks_and_vectors,
    complex_products_are_rounded_within_their_bound,
    complex_products_are_scaled_and_added,
    sums_of_complex_f64_are_chains_of_fours,
    complex_products_propagate_nan_and_infinities,
    complex_products_on_the_host,
];

type C64 = Complex<f32>;
type C128 = Complex<f64>;

/// A complex type of either precision.
trait Parts: MatmulElement + ComplexNumber {
    /// The rounding of a part.
    const ROUNDING: f64;
    fn of(re: f64, im: f64) -> Self;
    fn wide(self) -> C128;
}
impl Parts for C64 {
    const ROUNDING: f64 = f32::EPSILON as f64 / 2.0;
    fn of(re: f64, im: f64) -> Self {
        Self::new(re as f32, im as f32)
    }
    fn wide(self) -> C128 {
        C128::new(self.re.into(), self.im.into())
    }
}
impl Parts for C128 {
    const ROUNDING: f64 = f64::EPSILON / 2.0;
    fn of(re: f64, im: f64) -> Self {
        Self::new(re, im)
    }
    fn wide(self) -> C128 {
        self
    }
}

/// A number whose products and sums are exact.
fn whole<T: Parts>(rng: &mut Rng) -> T {
    let mut part = || rng.below(17) as f64 - 8.0;
    T::of(part(), part())
}

fn any<T: Parts>(rng: &mut Rng) -> T {
    let mut part = || 2.0 * rng.uniform() - 1.0;
    T::of(part(), part())
}

/// Whether a product of exact terms is that of the definition.
fn is_exact<T: Parts>(device: &Device, rng: &mut Rng, [a, b]: [&[usize]; 2]) -> Outcome {
    let [x, y] = [a, b].map(|shape| base(&Layout::whole(shape), rng, whole::<T>));
    let got = GpuArray::from_ndarray(device, &x)?.matmul(&GpuArray::from_ndarray(device, &y)?).eval()?.to_ndarray()?;
    ensure!(got == reference::matmul(&x, &y)?, "{} {a:?} by {b:?}", T::DTYPE);
    Ok(())
}

pub fn complex_products_of_every_layout(device: &Device) -> Outcome {
    of_every_layout::<C64>(device)?;
    of_every_layout::<C128>(device)
}

fn of_every_layout<T: Parts>(device: &Device) -> Outcome {
    let mut rng = rng(91);
    for [m, k, n] in [[36, 24, 44], [37, 19, 41]] {
        // A quarter of the pairs, each layout on either side.
        let takes = |i, j| (i + j) % 4 == m % 4;
        factors_of_every_layout(
            device,
            &mut rng,
            [m, k, n],
            whole::<T>,
            takes,
            |Factors { a, b, x, y, name, .. }| {
                let got = a.matmul(b).eval()?.to_ndarray()?;
                ensure!(got == reference::matmul(x, y)?, "{} {name}, k = {k}", T::DTYPE);
                Ok(())
            },
        )?;
    }
    Ok(())
}

pub fn complex_products_of_several_tiles(device: &Device) -> Outcome {
    let mut rng = rng(92);
    for (m, k, n) in [(2, 1, 3), (17, 33, 16), (65, 9, 130), (257, 20, 70), (20, 700, 33), (129, 0, 5)] {
        is_exact::<C64>(device, &mut rng, [&[m, k], &[k, n]])?;
        is_exact::<C128>(device, &mut rng, [&[m, k], &[k, n]])?;
    }
    if !device.is_emulated() {
        for (m, k, n) in [(1000, 300, 700), (1031, 257, 515)] {
            is_exact::<C64>(device, &mut rng, [&[m, k], &[k, n]])?;
            is_exact::<C128>(device, &mut rng, [&[m, k], &[k, n]])?;
        }
    }
    Ok(())
}

pub fn complex_products_of_stacks_and_vectors(device: &Device) -> Outcome {
    let mut rng = rng(93);
    // As many small matrices as have a kernel of their own, of which a block takes several.
    let many = if device.is_emulated() { 600 } else { 40_000 };
    for size in [7, 8, 13] {
        is_exact::<C64>(device, &mut rng, [&[many, size, size], &[many, size, size]])?;
    }
    is_exact::<C128>(device, &mut rng, [&[many, 8, 5], &[many, 5, 6]])?;
    let shapes: [[&[usize]; 2]; 6] = [
        [&[3, 20, 9], &[9, 7]],
        [&[20, 9], &[3, 9, 7]],
        [&[40], &[40]],
        [&[9, 40], &[40]],
        [&[40], &[40, 9]],
        [&[0], &[0]],
    ];
    for shapes in shapes {
        is_exact::<C64>(device, &mut rng, shapes)?;
        is_exact::<C128>(device, &mut rng, shapes)?;
    }
    let [x, y] = [[4, 5, 6], [6, 4, 3]].map(|shape| base(&Layout::whole(&shape), &mut rng, whole::<C64>));
    let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    let pairs = ([0, 2], [1, 0]);
    ensure_eq!(tensordot(&a, &b, pairs)?.to_ndarray()?, reference::tensordot(&x, &y, pairs)?);
    Ok(())
}

/// Compares with the definition: four products for each of k terms, each rounded once where it is added to its part.
fn is_near<T: Parts>(got: &ArrayD<T>, x: &ArrayD<T>, y: &ArrayD<T>, place: &str) -> Outcome {
    let (x, y) = (x.mapv(T::wide), y.mapv(T::wide));
    let size = |z: C128| C128::from(z.re.abs() + z.im.abs());
    let (want, sizes) = (reference::matmul(&x, &y)?, reference::matmul(&x.mapv(size), &y.mapv(size))?);
    let terms = 2.0 * x.shape()[x.ndim() - 1] as f64 + 2.0;
    // Of f64 the definition has the same error.
    let bound = 2.0 * terms * T::ROUNDING / (1.0 - terms * T::ROUNDING);
    ensure_eq!(got.shape(), want.shape());
    for ((got, want), size) in got.iter().zip(&want).zip(&sizes) {
        let error = got.wide() - want;
        ensure!(error.re.abs().max(error.im.abs()) <= bound * size.re, "{place}: got {got}, want {want}");
    }
    Ok(())
}

pub fn complex_products_are_rounded_within_their_bound(device: &Device) -> Outcome {
    fn check<T: Parts>(device: &Device, rng: &mut Rng) -> Outcome {
        for [m, k, n] in [[30, 200, 40], [70, 33, 65], [5, 900, 1]] {
            let x = base(&Layout::whole(&[m, k]), rng, any::<T>);
            let y = base(&Layout::whole(&[k, n]), rng, any::<T>);
            let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
            let got = [a.matmul(&b).eval()?.to_ndarray()?, a.matmul(&b).eval()?.to_ndarray()?];
            ensure!(got[0] == got[1], "other bits from one run to the next");
            is_near(&got[0], &x, &y, "on the device")?;
            is_near(&host::matmul(&x, &y)?, &x, &y, "on the host")?;
        }
        Ok(())
    }
    let mut rng = rng(94);
    check::<C64>(device, &mut rng)?;
    check::<C128>(device, &mut rng)
}

pub fn complex_products_are_scaled_and_added(device: &Device) -> Outcome {
    fn check<T: Parts>(device: &Device, rng: &mut Rng) -> Outcome {
        let factors = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (-2.0, 3.0)].map(|(re, im)| T::of(re, im));
        for ([m, k, n], alpha, beta) in [
            ([20, 9, 24], factors[3], factors[2]),
            ([21, 9, 25], factors[2], factors[3]),
            ([64, 70, 33], factors[1], factors[1]),
            ([12, 5, 1], factors[3], factors[2]),
        ] {
            let [x, y] = [[m, k], [k, n]].map(|shape| base(&Layout::whole(&shape), rng, whole::<T>));
            let old = base(&Layout::whole(&[m, n]), rng, whole::<T>);
            let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
            let mut c = GpuArray::from_ndarray(device, &old)?;
            gemm(alpha, &a, &b, beta, &mut c)?;
            let mut want = old.clone();
            reference::gemm(alpha, &x, &y, beta, &mut want)?;
            ensure!(c.to_ndarray()? == want, "{} {m} {k} {n}", T::DTYPE);
            // c is not read for beta = 0, and a result by columns is the transposed product.
            let mut c = GpuArray::full(device, IxDyn(&[n, m]), T::of(f64::NAN, 0.0))?;
            gemm(alpha, &a, &b, factors[0], c.t_mut())?;
            let mut want = old.mapv(|_| T::of(f64::NAN, 0.0));
            reference::gemm(alpha, &x, &y, factors[0], &mut want)?;
            ensure!(c.to_ndarray()?.t() == want, "{} {m} {k} {n}, beta = 0", T::DTYPE);
        }
        Ok(())
    }
    let mut rng = rng(95);
    check::<C64>(device, &mut rng)?;
    check::<C128>(device, &mut rng)
}

/// The sums that tensor cores make of complex f64: for four values along k the products with the real part of a, then those with the imaginary part.
fn chains_of_fours(x: &Array2<C128>, y: &Array2<C128>) -> Array2<C128> {
    Array2::from_shape_fn((x.nrows(), y.ncols()), |(i, j)| {
        let mut sum = C128::new(0.0, 0.0);
        let ks: Vec<usize> = (0..x.ncols()).collect();
        for four in ks.chunks(4) {
            for &k in four {
                let (a, b) = (x[[i, k]], y[[k, j]]);
                sum = C128::new(a.re.mul_add(b.re, sum.re), a.im.mul_add(b.re, sum.im));
            }
            for &k in four {
                let (a, b) = (x[[i, k]], y[[k, j]]);
                sum = C128::new((-a.im).mul_add(b.im, sum.re), a.re.mul_add(b.im, sum.im));
            }
        }
        sum
    })
}

pub fn sums_of_complex_f64_are_chains_of_fours(device: &Device) -> Outcome {
    let mut rng = rng(96);
    let mut shapes = vec![[120, 18, 250], [125, 9, 61], [64, 33, 128], [40, 21, 70], [20, 5, 14]];
    if !device.is_emulated() {
        shapes.extend((2..=300).step_by(7).map(|m| [m, m * 7 % 120 + 2, m * 11 % 300 + 2]));
        shapes.extend([[512, 100, 768], [1024, 64, 1030], [2050, 34, 1025]]);
    }
    for [m, k, n] in shapes {
        let mut random = |rows, columns| {
            let mut part = || (rng.uniform() - 0.5) * 10f64.powi(rng.below(9) as i32);
            Array2::from_shape_simple_fn((rows, columns), || C128::new(part(), part()))
        };
        let (x, y) = (random(m, k), random(k, n));
        let want = chains_of_fours(&x, &y);
        for (left, right) in [(false, false), (true, false), (false, true), (true, true)] {
            let by_columns =
                |x: &Array2<C128>| GpuArray::from_ndarray(device, &x.t().as_standard_layout().into_owned());
            let (a, b) = (
                if left { by_columns(&x)? } else { GpuArray::from_ndarray(device, &x)? },
                if right { by_columns(&y)? } else { GpuArray::from_ndarray(device, &y)? },
            );
            let product = if left { a.t() } else { a.view() }.matmul(if right { b.t() } else { b.view() });
            let got = [product.eval()?.to_ndarray()?, product.eval()?.to_ndarray()?];
            ensure!(got[0] == want, "{m} x {k} x {n}, transposed {left} {right}: other sums");
            ensure!(got[1] == want, "{m} x {k} x {n}, transposed {left} {right}: other bits in the second run");
        }
    }
    Ok(())
}

pub fn complex_products_propagate_nan_and_infinities(device: &Device) -> Outcome {
    fn check<T: Parts>(device: &Device) -> Outcome {
        let mut x = Array2::from_elem((20, 8), T::of(1.0, 0.0));
        let y = Array2::from_elem((8, 20), T::of(2.0, 0.5));
        // Four products are added for each term, so an infinite part makes two infinite parts, or NaN of products with 0.
        (x[[3, 7]], x[[5, 0]]) = (T::of(f64::NAN, 0.0), T::of(f64::INFINITY, 1.0));
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        for got in [a.matmul(&b).eval()?.to_ndarray()?, host::matmul(&x, &y)?] {
            ensure!(got.row(3).iter().all(|z| z.wide().re.is_nan() && z.wide().im.is_nan()));
            ensure!(got.row(5).iter().all(|z| z.wide() == C128::new(f64::INFINITY, f64::INFINITY)));
            ensure!(got.row(4).iter().all(|z| z.wide() == C128::new(16.0, 4.0)));
        }
        Ok(())
    }
    check::<C64>(device)?;
    check::<C128>(device)
}

pub fn complex_products_on_the_host(_: &Device) -> Outcome {
    let mut rng = rng(96);
    for (a, b) in [(&[70, 9][..], &[9, 20][..]), (&[3, 5, 6], &[6, 4]), (&[9], &[9]), (&[2, 0], &[0, 3])] {
        for (left, on_left) in Layout::each(a) {
            let (x, y) = (base(&on_left, &mut rng, whole::<C128>), base(&Layout::whole(b), &mut rng, whole::<C128>));
            let x = on_left.of_host(x.view());
            ensure!(host::matmul(x.view(), &y)? == reference::matmul(x.view(), &y)?, "{left} {a:?} by {b:?}");
        }
    }
    // The conjugate transpose.
    let z = array![[C64::new(1.0, 2.0), C64::new(0.0, -1.0)], [C64::new(3.0, 0.0), C64::new(1.0, 1.0)]];
    let adjoint = z.t().mapv(|z| z.conj());
    let norms: Vec<f32> = z.axis_iter(Axis(1)).map(|column| column.iter().map(|z| z.norm_sqr()).sum()).collect();
    let product = host::matmul(&adjoint, &z)?;
    ensure_eq!(iter::zip(product.diag(), norms).filter(|(z, norm)| z.re == *norm && z.im == 0.0).count(), 2);
    Ok(())
}
