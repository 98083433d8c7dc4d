//! Matrix products of f16 and bf16 against the reference.

use gpu_algos::{
    gpu_array::{Float, GpuArray, bf16, f16, gpu_driver::Device},
    host,
    matmul::{MatmulElement, gemm},
    prelude::*,
    reference,
};
use ndarray::{Array2, Array3, ArrayD, ArrayViewD, Axis, IxDyn, s};
use testkit::{Outcome, Rng, Test, ensure, ensure_eq, rng, tests};

use crate::layouts::{Factors, factors_of_every_layout};

pub const TESTS: &[Test<Device>] = tests![
    halves_at_edges_of_tiles,
    halves_of_every_layout,
    halves_are_exact_where_their_bits_suffice,
    halves_of_stacks_and_vectors,
    halves_are_scaled_and_added,
    halves_overflow_and_propagate_nan,
];

/// f16 or bf16.
trait Half: MatmulElement + Float {
    /// Half a unit in the last place of 1.
    const ROUNDING: f64;
    fn of(value: f64) -> Self;
    fn wide(self) -> f64;
}
impl Half for f16 {
    const ROUNDING: f64 = 1.0 / 2048.0;
    fn of(value: f64) -> Self {
        Self::rounded_from_f64(value)
    }
    fn wide(self) -> f64 {
        self.to_f64()
    }
}
impl Half for bf16 {
    const ROUNDING: f64 = 1.0 / 256.0;
    fn of(value: f64) -> Self {
        Self::rounded_from_f64(value)
    }
    fn wide(self) -> f64 {
        self.to_f64()
    }
}

fn element<T: Half>(rng: &mut Rng) -> T {
    T::of(2.0 * rng.uniform() - 1.0)
}

fn random<T: Half>(rng: &mut Rng, shape: &[usize]) -> ArrayD<T> {
    ArrayD::from_shape_simple_fn(IxDyn(shape), || element(rng))
}

/// Sums in f32, rounded once.
fn near<T: Half>(got: ArrayViewD<'_, T>, a: ArrayViewD<'_, T>, b: ArrayViewD<'_, T>, case: &str) -> Outcome {
    let (a, b) = (a.mapv(T::wide), b.mapv(T::wide));
    let want = reference::matmul(&a, &b)?;
    let sizes = reference::matmul(&a.mapv(f64::abs), &b.mapv(f64::abs))?;
    ensure_eq!((case, got.shape()), (case, want.shape()));
    let sums = (a.shape().last().copied().unwrap_or(1) as f64 + 2.0) * 2f64.powi(-23);
    for (at, ((&got, &want), &size)) in got.iter().zip(&want).zip(&sizes).enumerate() {
        let bound = sums * size + T::ROUNDING * want.abs() + 1e-7;
        let got = got.wide();
        ensure!((got - want).abs() <= bound, "{case}: value {at} is {got}, want {want} within {bound}");
    }
    Ok(())
}

fn each(test: fn(&Device) -> Outcome, other: fn(&Device) -> Outcome, device: &Device) -> Outcome {
    test(device)?;
    other(device)
}

pub fn halves_at_edges_of_tiles(device: &Device) -> Outcome {
    fn of<T: Half>(device: &Device) -> Outcome {
        let mut rng = rng(81);
        let mut shapes = vec![
            [2, 1, 2],
            [3, 5, 7],
            [3, 20_000, 2],
            [64, 64, 64],
            [65, 33, 130],
            [130, 72, 65],
            [70, 40, 72],
            [67, 24, 264],
        ];
        if !device.is_emulated() {
            shapes.extend([[1000, 500, 3000], [4099, 257, 1031], [1024, 1024, 1024], [513, 4096, 136], [129, 65, 257]]);
        }
        for [m, k, n] in shapes {
            let (x, y) = (random::<T>(&mut rng, &[m, k]), random::<T>(&mut rng, &[k, n]));
            let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
            near(a.matmul(&b).eval()?.to_ndarray()?.view(), x.view(), y.view(), &format!("{m} {k} {n}"))?;
        }
        Ok(())
    }
    each(of::<f16>, of::<bf16>, device)
}

pub fn halves_of_every_layout(device: &Device) -> Outcome {
    fn of<T: Half>(device: &Device) -> Outcome {
        let mut rng = rng(82);
        for [m, k, n] in [[40, 24, 48], [19, 37, 23]] {
            // A quarter of the pairs; each layout of a in one of the two sizes.
            let takes = |i, j| (i + 2 * j + m) % 4 == 0;
            factors_of_every_layout(
                device,
                &mut rng,
                [m, k, n],
                element::<T>,
                takes,
                |Factors { a, b, x, y, name, .. }| near(a.matmul(b).eval()?.to_ndarray()?.view(), x, y, &name),
            )?;
        }
        Ok(())
    }
    each(of::<f16>, of::<bf16>, device)
}

pub fn halves_are_exact_where_their_bits_suffice(device: &Device) -> Outcome {
    fn of<T: Half>(device: &Device) -> Outcome {
        let mut rng = rng(83);
        let mut integers = |shape: (usize, usize), most: f64| {
            Array2::from_shape_simple_fn(shape, || T::of(((2.0 * rng.uniform() - 1.0) * most).round()))
        };
        // Sums of at most 256 are integers of both types.
        let (x, y) = (integers((70, 40), 3.0), integers((40, 90), 2.0));
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let want = reference::matmul(&x, &y)?;
        ensure!(a.matmul(&b).eval()?.to_ndarray()? == want, "on the device");
        let (a_t, b_t) = (a.t().to_standard_layout()?, b.t().to_standard_layout()?);
        ensure!(a_t.t().matmul(b_t.t()).eval()?.to_ndarray()? == want, "both transposed");
        ensure!(host::matmul(&x, &y)? == want, "on the host");
        Ok(())
    }
    each(of::<f16>, of::<bf16>, device)
}

pub fn halves_of_stacks_and_vectors(device: &Device) -> Outcome {
    fn of<T: Half>(device: &Device) -> Outcome {
        let mut rng = rng(84);
        for (left, right) in [
            (&[3usize, 40, 48][..], &[3usize, 48, 33][..]),
            (&[3, 40, 48], &[48, 33]),
            // Small matrices, and vectors.
            (&[5, 8, 8], &[5, 8, 8]),
            (&[70], &[70, 30]),
            (&[30, 70], &[70]),
            (&[300], &[300]),
        ] {
            let (x, y) = (random::<T>(&mut rng, left), random::<T>(&mut rng, right));
            let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
            near(a.matmul(&b).eval()?.to_ndarray()?.view(), x.view(), y.view(), &format!("{left:?} by {right:?}"))?;
            near(host::matmul(&x, &y)?.view(), x.view(), y.view(), "on the host")?;
        }
        Ok(())
    }
    each(of::<f16>, of::<bf16>, device)
}

pub fn halves_are_scaled_and_added(device: &Device) -> Outcome {
    fn of<T: Half>(device: &Device) -> Outcome {
        let (x, y) = (Array2::from_elem((70, 16), T::of(0.5)), Array2::from_elem((16, 80), T::of(2.0)));
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let mut c = GpuArray::full(device, (71, 81), T::of(3.0))?;
        gemm(T::of(0.5), &a, &b, T::of(-2.0), c.slice_mut(s![1.., 1..])?)?;
        let got = c.to_ndarray()?;
        // 0.5 * 16 - 2 * 3
        ensure!(got.slice(s![1.., 1..]).iter().all(|&value| value == T::of(2.0)), "alpha and beta");
        ensure!(got.row(0).iter().chain(got.column(0)).all(|&value| value == T::of(3.0)), "the rest stays");
        let mut nan = GpuArray::full(device, (70, 80), T::of(f64::NAN))?;
        gemm(T::of(1.0), &a, &b, T::of(0.0), &mut nan)?;
        ensure!(nan.to_ndarray()?.iter().all(|&value| value == T::of(16.0)), "c is not read for beta = 0");
        // A stack of small matrices goes through f32.
        let small = GpuArray::from_ndarray(device, &Array3::from_elem((4, 8, 8), T::of(0.5)))?;
        let mut sums = GpuArray::full(device, (4, 8, 8), T::of(1.0))?;
        gemm(T::of(2.0), &small, &small, T::of(3.0), &mut sums)?;
        ensure!(sums.to_ndarray()?.iter().all(|&value| value == T::of(7.0)), "2 * 8 / 4 + 3");
        let column = a.index_axis(Axis(1), 0)?;
        ensure_eq!(column.matmul(&column).get()?, T::of(17.5));
        Ok(())
    }
    each(of::<f16>, of::<bf16>, device)
}

pub fn halves_overflow_and_propagate_nan(device: &Device) -> Outcome {
    fn of<T: Half>(device: &Device) -> Outcome {
        let mut x = Array2::from_elem((8, 8), T::of(1.0));
        (x[(1, 3)], x[(2, 0)], x[(3, 5)]) = (T::of(f64::NAN), T::of(f64::INFINITY), T::of(f64::NEG_INFINITY));
        x.row_mut(4).fill(T::max_value());
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::full(device, (8, 8), T::of(0.5))?);
        let got = a.matmul(&b).eval()?.to_ndarray()?.mapv(T::wide);
        for (row, got) in got.rows().into_iter().enumerate() {
            let is_right: fn(f64) -> bool = match row {
                1 => f64::is_nan,
                2 | 4 => |value| value == f64::INFINITY,
                3 => |value| value == f64::NEG_INFINITY,
                _ => |value| value == 4.0,
            };
            ensure!(got.iter().all(|&value| is_right(value)), "row {row}: {got}");
        }
        Ok(())
    }
    each(of::<f16>, of::<bf16>, device)
}
