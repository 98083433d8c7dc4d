//! Matrix products of f16 and bf16 against the reference.

use gpu_algos::{
    AlgoError, as_for,
    gpu_array::{
        Float, GpuArray, bf16, f16,
        gpu_driver::{
            Arch, Device,
            emulated::{Call::Launch, Emulated},
        },
    },
    host,
    matmul::{MatmulElement, gemm, matmul_i32},
    prelude::*,
    reference,
};
use ndarray::{Array2, Array3, ArrayD, ArrayView3, ArrayViewD, Axis, IxDyn, s};
use testkit::{Outcome, Rng, Test, ensure, ensure_eq, rng, tests};

use crate::{
    launches::launches,
    layouts::{Factors, factors_of_every_layout},
};

pub const TESTS: &[Test<Device>] = tests![
    halves_at_edges_of_tiles,
    halves_of_clusters,
    halves_of_every_layout,
    halves_are_exact_where_their_bits_suffice,
    halves_of_stacks_and_vectors,
    halves_are_scaled_and_added,
    halves_overflow_and_propagate_nan,
    halves_of_small_stacks_are_chains_of_f32,
    halves_of_small_stacks_of_every_layout,
    halves_of_small_stacks_for_older_devices,
];

/// Tests without a device, but for the emulated one that counts launches.
pub const COUNTS: &[Test<()>] = tests![a_small_stack_of_narrow_elements_is_one_launch];

/// f16 or bf16.
trait Half: MatmulElement + Float {
    /// Half a unit in the last place of 1.
    const ROUNDING: f64;
    fn of(value: f64) -> Self;
    fn wide(self) -> f64;
    fn of32(value: f32) -> Self;
    fn wide32(self) -> f32 {
        self.wide() as f32
    }
}
impl Half for f16 {
    fn of32(value: f32) -> Self {
        Self::from_f32(value)
    }
    const ROUNDING: f64 = 1.0 / 2048.0;
    fn of(value: f64) -> Self {
        Self::rounded_from_f64(value)
    }
    fn wide(self) -> f64 {
        self.to_f64()
    }
}
impl Half for bf16 {
    fn of32(value: f32) -> Self {
        Self::from_f32(value)
    }
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

/// As `precisions_of_clusters`, with b in C order, which is shared panel by panel.
pub fn halves_of_clusters(device: &Device) -> Outcome {
    let mut rng = rng(80);
    let (m, k, n) = if device.is_emulated() { (3960, 40, 136) } else { (8200, 72, 4200) };
    let (x, y) = (random::<f16>(&mut rng, &[m, k]), random::<f16>(&mut rng, &[k, n]));
    let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    near(a.matmul(&b).eval()?.to_ndarray()?.view(), x.view(), y.view(), "clusters")
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

/// Each sum in f32 in the order of k, rounded once.
fn chains<T: Half>(a: ArrayView3<'_, T>, b: ArrayView3<'_, T>) -> Array3<T> {
    Array3::from_shape_fn((a.dim().0, a.dim().1, b.dim().2), |(matrix, i, j)| {
        let terms = (0..a.dim().2).map(|k| (a[[matrix, i, k]].wide32(), b[[matrix, k, j]].wide32()));
        T::of32(terms.fold(0.0f32, |sum, (a, b)| a.mul_add(b, sum)))
    })
}

/// The same bits, but that any NaN is one.
fn same_bits<T: Half>(got: ArrayView3<'_, T>, want: ArrayView3<'_, T>, case: &str) -> Outcome {
    ensure_eq!((case, got.shape()), (case, want.shape()));
    for (at, (&got, &want)) in got.iter().zip(&want).enumerate() {
        let (got, want) = (got.wide32(), want.wide32());
        let is_same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        ensure!(is_same, "{case}: value {at} is {got}, want {want}");
    }
    Ok(())
}

fn random_stack<T: Half>(rng: &mut Rng, shape: [usize; 3]) -> Array3<T> {
    Array3::from_shape_simple_fn(shape, || element(rng))
}

/// Matrices, rows, terms, columns: tiles that are full and not, terms of no pack, more matrices than a block has.
const SMALL: [[usize; 4]; 12] = [
    [3, 8, 8, 8],
    [40, 4, 4, 4],
    [9, 16, 16, 16],
    [3, 32, 32, 32],
    [5, 7, 0, 5],
    [4, 9, 1, 12],
    [4, 8, 3, 8],
    [3, 17, 17, 31],
    [35, 2, 5, 3],
    [2, 2, 32, 2],
    [3, 12, 24, 8],
    [2, 24, 8, 20],
];

pub fn halves_of_small_stacks_are_chains_of_f32(device: &Device) -> Outcome {
    fn of<T: Half>(device: &Device) -> Outcome {
        let mut rng = rng(87);
        for [matrices, m, k, n] in SMALL {
            let (mut x, mut y) =
                (random_stack::<T>(&mut rng, [matrices, m, k]), random_stack::<T>(&mut rng, [matrices, k, n]));
            // Of others a NaN would be one too.
            for (value, at) in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].into_iter().zip(0..matrices - 1) {
                x.index_axis_mut(Axis(0), at).iter_mut().take(1).for_each(|x| *x = T::of(value));
                y.index_axis_mut(Axis(0), at + 1).iter_mut().take(1).for_each(|y| *y = T::of(value));
            }
            let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
            let case = format!("{matrices} of {m} {k} {n}");
            same_bits(a.matmul(&b).eval()?.to_ndarray()?.view(), chains(x.view(), y.view()).view(), &case)?;
            // Those of the product of copies in f32.
            let product = a.cast::<f32>().matmul(b.cast::<f32>()).eval()?;
            same_bits(product.cast::<T>().eval()?.to_ndarray()?.view(), chains(x.view(), y.view()).view(), &case)?;
            // Into every second row and column of c, of which alpha and beta take a part.
            let mut wide = GpuArray::<T, _>::full(device, (matrices, 2 * m, 2 * n), T::of(3.0))?;
            gemm(T::of(2.0), &a, &b, T::of(0.0), wide.slice_mut(s![.., ..;2, 1..;2])?)?;
            let wide = wide.to_ndarray()?;
            let want = chains(x.mapv(|x| T::of(2.0 * x.wide())).view(), y.view());
            same_bits(wide.slice(s![.., ..;2, 1..;2]), want.view(), &case)?;
            ensure!(wide.slice(s![.., 1..;2, ..]).iter().all(|value| value.wide() == 3.0), "{case}: between");
        }
        Ok(())
    }
    each(of::<f16>, of::<bf16>, device)
}

pub fn halves_of_small_stacks_of_every_layout(device: &Device) -> Outcome {
    fn of<T: Half>(device: &Device) -> Outcome {
        let mut rng = rng(88);
        for n in [8, 16, 21] {
            let (x, y) = (random_stack::<T>(&mut rng, [6, n, n + 1]), random_stack::<T>(&mut rng, [6, n + 1, n]));
            let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
            // Rows of packs that begin beside them; every second matrix, backwards; both transposed; one matrix for all.
            let got = a.slice(s![.., .., 1..])?.matmul(b.slice(s![.., 1.., ..])?).eval()?.to_ndarray()?;
            same_bits(got.view(), chains(x.slice(s![.., .., 1..]), y.slice(s![.., 1.., ..])).view(), "beside")?;
            let got = a.slice(s![..;-2, ..;-1, ..])?.matmul(b.slice(s![1..;2, .., ..])?).eval()?.to_ndarray()?;
            same_bits(got.view(), chains(x.slice(s![..;-2, ..;-1, ..]), y.slice(s![1..;2, .., ..])).view(), "steps")?;
            let (a_t, b_t) = (a.swap_axes(Axis(1), Axis(2))?, b.swap_axes(Axis(1), Axis(2))?);
            let (mut x_t, mut y_t) = (x.view(), y.view());
            x_t.swap_axes(1, 2);
            y_t.swap_axes(1, 2);
            let got = b_t.matmul(&a_t).eval()?.to_ndarray()?;
            same_bits(got.view(), chains(y_t.slice(s![.., .., ..]), x_t.view()).view(), "transposed")?;
            let got = a.slice(s![2, .., ..])?.matmul(&b).eval()?.to_ndarray()?;
            let (of_one, shape) = (x.slice(s![2..3, .., ..]), x.raw_dim());
            let one = of_one.broadcast(shape).ok_or("a stack of one")?;
            same_bits(got.view(), chains(one, y.view()).view(), "broadcast")?;
        }
        // c = alpha a b + beta c, rounded once.
        let (x, y) = (random_stack::<T>(&mut rng, [5, 11, 6]), random_stack::<T>(&mut rng, [5, 6, 9]));
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let before = random_stack::<T>(&mut rng, [5, 11, 9]);
        let mut c = GpuArray::from_ndarray(device, &before)?;
        gemm(T::of(0.5), &a, &b, T::of(-2.0), &mut c)?;
        let products = reference::matmul(&x.mapv(T::wide), &y.mapv(T::wide))?;
        for ((got, product), before) in c.to_ndarray()?.iter().zip(&products).zip(&before) {
            let want = 0.5 * product - 2.0 * before.wide();
            ensure!((got.wide() - want).abs() <= T::ROUNDING * want.abs() + 1e-5, "{got:?} {want}");
        }
        Ok(())
    }
    each(of::<f16>, of::<bf16>, device)
}

/// Without tensor cores stacks of up to 64 rows and columns have the same kernel.
pub fn halves_of_small_stacks_for_older_devices(device: &Device) -> Outcome {
    fn of<T: Half>(device: &Device) -> Outcome {
        let mut rng = rng(89);
        let limit = if device.is_emulated() { 1 } else { 4 };
        for [matrices, m, k, n] in [[600, 64, 64, 64], [600, 40, 33, 64], [4, 33, 40, 64], [5, 8, 8, 8]] {
            let matrices = if m < 33 { matrices } else { matrices.min(150 * limit) };
            let (x, y) = (random_stack::<T>(&mut rng, [matrices, m, k]), random_stack::<T>(&mut rng, [matrices, k, n]));
            let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
            let got = a.matmul(&b).eval()?.to_ndarray()?;
            same_bits(got.view(), chains(x.view(), y.view()).view(), &format!("{matrices} of {m} {k} {n}"))?;
        }
        Ok(())
    }
    as_for(Arch::new(7, 0), || each(of::<f16>, of::<bf16>, device))
}

fn a_small_stack_of_narrow_elements_is_one_launch(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    // Without terms b has no strides, and the stack is one matrix of more rows.
    for [matrices, m, k, n] in SMALL.into_iter().filter(|[.., k, _]| *k > 0) {
        let case = format!("{matrices} of {m} {k} {n}");
        let a = GpuArray::<f16, _>::full(&device, (matrices, m, k), f16::ONE)?;
        let b = GpuArray::<f16, _>::full(&device, (matrices, k, n), f16::ONE)?;
        let mut c = GpuArray::<f16, _>::full(&device, (matrices, m, n), f16::ONE)?;
        ensure_eq!((&case, launches::<AlgoError>(&device, &|| a.matmul(&b).eval().map(drop))?), (&case, 1));
        let before = device.emulation().ok_or("emulated")?.calls(Launch)?;
        gemm(f16::ONE, &a, &b, f16::ONE, &mut c)?;
        ensure_eq!((&case, device.emulation().ok_or("emulated")?.calls(Launch)? - before), (&case, 1));
        let (a, b) =
            (GpuArray::<i8, _>::full(&device, (matrices, m, k), 1)?, GpuArray::full(&device, (matrices, k, n), 1i8)?);
        ensure_eq!((&case, launches(&device, &|| matmul_i32(&a, &b).map(drop))?), (&case, 1));
    }
    Ok(())
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
