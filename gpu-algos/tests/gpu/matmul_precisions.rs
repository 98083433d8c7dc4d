//! Matrix products on Hopper's tensor cores against the reference.

use approx::relative_eq;
use gpu_algos::{
    gpu_array::{
        GpuArray,
        gpu_driver::{Device, Stream},
    },
    matmul::{Precision, gemm_with_precision},
    prelude::*,
    reference,
};
use ndarray::{Array2, Array3, ArrayViewD, Axis, array, s};
use testkit::{Outcome, Rng, Test, ensure, ensure_eq, rng, tests};

use crate::layouts::{Factors, factors_of_every_layout, is_under_slow_tool};

pub const TESTS: &[Test<Device>] = tests![
    precisions_at_edges_of_tiles,
    precisions_of_clusters,
    precisions_of_every_layout,
    precisions_are_exact_where_their_bits_suffice,
    precisions_of_stacks,
    precisions_into_views,
    precisions_with_alpha_and_beta,
    precisions_of_badly_scaled_elements,
    precisions_of_nan_and_infinities,
    precisions_have_the_same_bits_again,
    precisions_on_two_streams,
    captured_precisions_are_replayed,
    small_products_of_each_precision_are_strict,
];

const EACH: [Precision; 2] = [Precision::Tf32, Precision::Emulated];

fn element(rng: &mut Rng) -> f32 {
    (2.0 * rng.uniform() - 1.0) as f32
}

/// The documented bound, of the sum of the sizes of k products.
pub fn bound(precision: Precision, k: usize) -> f64 {
    let k = k as f64;
    match precision {
        Precision::Tf32 => 2f64.powi(-9) + k * 2f64.powi(-23),
        _ => 2f64.powi(-22) + (k / 64.0 + 16.0) * 2f64.powi(-24),
    }
}

fn near(
    precision: Precision,
    got: ArrayViewD<'_, f32>,
    a: ArrayViewD<'_, f32>,
    b: ArrayViewD<'_, f32>,
    case: &str,
) -> Outcome {
    let (a, b) = (a.mapv(f64::from), b.mapv(f64::from));
    let want = reference::matmul(&a, &b)?;
    let sizes = reference::matmul(&a.mapv(f64::abs), &b.mapv(f64::abs))?;
    ensure_eq!((case, got.shape()), (case, want.shape()));
    let bound = bound(precision, a.shape().last().copied().unwrap_or(1));
    for (at, ((&got, &want), &size)) in got.iter().zip(&want).zip(&sizes).enumerate() {
        let got = f64::from(got);
        let is_near = (got - want).abs() <= bound * size;
        ensure!(is_near, "{precision:?} {case}: value {at} is {got}, want {want} within {bound} {size}");
    }
    Ok(())
}

fn random(rng: &mut Rng, rows: usize, columns: usize) -> Array2<f32> {
    Array2::from_shape_simple_fn((rows, columns), || element(rng))
}

fn of_shapes(device: &Device, rng: &mut Rng, [m, k, n]: [usize; 3]) -> Outcome {
    let (x, y) = (random(rng, m, k), random(rng, k, n));
    let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    for precision in EACH {
        let got = a.matmul(&b).precision(precision.forced()).eval()?.to_ndarray()?;
        near(precision, got.view().into_dyn(), x.view().into_dyn(), y.view().into_dyn(), &format!("{m} {k} {n}"))?;
    }
    Ok(())
}

pub fn precisions_at_edges_of_tiles(device: &Device) -> Outcome {
    let mut rng = rng(71);
    let mut shapes = vec![
        [2, 1, 2],
        [3, 5, 7],
        [63, 31, 65],
        [64, 64, 64],
        [65, 33, 130],
        [129, 65, 257],
        [128, 8, 300],
        [70, 24, 132],
    ];
    if !device.is_emulated() {
        let edges = [1, 63, 64, 65, 127, 128, 129, 191, 255, 256, 257, 300];
        shapes.extend(edges.map(|k| [edges[(k * 5) % 12].max(2), k, edges[(k * 7) % 12].max(2)]));
        let large = [[513, 4097, 130], [1000, 500, 3000], [2048, 64, 4096], [4099, 257, 1031], [1024, 1024, 1024]];
        shapes.extend(large.into_iter().take(if is_under_slow_tool() { 1 } else { 5 }));
    }
    shapes.into_iter().try_for_each(|shape| of_shapes(device, &mut rng, shape))
}

/// Tiles of clusters, which two blocks share, in so many that clusters are chosen: the last block has no row, and the last columns and values along k end
/// within a box.
pub fn precisions_of_clusters(device: &Device) -> Outcome {
    let mut rng = rng(70);
    let (long, k, short) = if device.is_emulated() { (3960, 20, 130) } else { (8200, 40, 4200) };
    let (x, y) = (random(&mut rng, long, k), random(&mut rng, k, short));
    let (across, along) = (x.t().as_standard_layout().to_owned(), y.t().as_standard_layout().to_owned());
    let (a, b) = (GpuArray::from_ndarray(device, &across)?, GpuArray::from_ndarray(device, &along)?);
    let got = a.t().matmul(b.t()).precision(Precision::Tf32.forced()).eval()?.to_ndarray()?;
    near(Precision::Tf32, got.view().into_dyn(), x.view().into_dyn(), y.view().into_dyn(), "other orders")?;
    // The emulated device would take as long again, and has C order in the other tests.
    if device.is_emulated() {
        return Ok(());
    }
    let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    let got = a.matmul(&b).precision(Precision::Tf32.forced()).eval()?.to_ndarray()?;
    near(Precision::Tf32, got.view().into_dyn(), x.view().into_dyn(), y.view().into_dyn(), "C order")
}

pub fn precisions_of_every_layout(device: &Device) -> Outcome {
    let mut rng = rng(72);
    // Rows of whole packs of 16 bytes, and others.
    for [m, k, n] in [[36, 24, 44], [19, 37, 23]] {
        // The emulated device takes long: it has each layout of either operand, in one precision for a pair.
        let takes = |i, j| (i + j) % 4 == usize::from(m == 19);
        factors_of_every_layout(
            device,
            &mut rng,
            [m, k, n],
            element,
            takes,
            |Factors { numbers: (i, j), a, b, x, y, name }| {
                let precisions = if device.is_emulated() { &EACH[(i + j) / 4 % 2..][..1] } else { &EACH[..] };
                precisions.iter().try_for_each(|&precision| {
                    let got = a.matmul(b).precision(precision.forced()).eval()?.to_ndarray()?;
                    near(precision, got.view(), x.view(), y.view(), &name)
                })
            },
        )?;
    }
    Ok(())
}

/// Integers of up to 11 bits in TF32, and of 17 bits, which have three parts of bf16: no sum of them is rounded.
pub fn precisions_are_exact_where_their_bits_suffice(device: &Device) -> Outcome {
    let mut rng = rng(73);
    let (m, k, n) = (70, 90, 140);
    let mut integers = |rows, columns, most: f64| {
        Array2::from_shape_simple_fn((rows, columns), || ((2.0 * rng.uniform() - 1.0) * most).round() as f32)
    };
    for (precision, left, right) in [(Precision::Tf32, 2047.0, 3.0), (Precision::Emulated, 120_000.0, 1.0)] {
        let (x, y) = (integers(m, k, left), integers(k, n, right));
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let want = reference::matmul(&x, &y)?;
        let got = a.matmul(&b).precision(precision.forced()).eval()?.to_ndarray()?;
        ensure!(got == want, "{precision:?}");
        // In each order of both operands.
        let (a_t, b_t) = (a.t().to_standard_layout()?, b.t().to_standard_layout()?);
        ensure!(a_t.t().matmul(&b).precision(precision.forced()).eval()?.to_ndarray()? == want, "{precision:?} a'");
        ensure!(a.matmul(b_t.t()).precision(precision.forced()).eval()?.to_ndarray()? == want, "{precision:?} b'");
        ensure!(
            a_t.t().matmul(b_t.t()).precision(precision.forced()).eval()?.to_ndarray()? == want,
            "{precision:?} ''"
        );
    }
    // Elements of 24 bits are the sum of their parts: a product with 1 is the element.
    let x =
        Array2::from_shape_simple_fn((64, 64), || element(&mut rng) * 2f32.powi((rng.uniform() * 160.0) as i32 - 80));
    let a = GpuArray::from_ndarray(device, &x)?;
    let one = GpuArray::from_ndarray(device, &Array2::<f32>::eye(64))?;
    let got = a.matmul(&one).precision(Precision::Emulated.forced()).eval()?.to_ndarray()?;
    ensure!(got == x, "the parts of an element are the element");
    Ok(())
}

pub fn precisions_of_stacks(device: &Device) -> Outcome {
    let mut rng = rng(74);
    let stack = |rng: &mut Rng, shape: (usize, usize, usize)| Array3::from_shape_simple_fn(shape, || element(rng));
    let (x, y, z) = (stack(&mut rng, (3, 20, 24)), stack(&mut rng, (3, 24, 28)), random(&mut rng, 24, 28));
    let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    let c = GpuArray::from_ndarray(device, &z)?;
    for precision in EACH {
        let got = a.matmul(&b).precision(precision.forced()).eval()?.to_ndarray()?;
        near(precision, got.view().into_dyn(), x.view().into_dyn(), y.view().into_dyn(), "a stack")?;
        let got = c.t().matmul(a.slice(s![..;-1, .., ..])?.permuted_axes([0, 2, 1])?).precision(precision.forced());
        let got = got.eval()?.to_ndarray()?;
        let reversed = x.slice(s![..;-1, .., ..]).permuted_axes([0, 2, 1]);
        near(precision, got.view().into_dyn(), z.t().into_dyn(), reversed.into_dyn(), "one matrix by a stack")?;
        // Two axes of the stack that are not neighbours.
        let x = Array3::from_shape_fn((2, 20, 24), |(i, j, k)| x[(i, j, k)]).insert_axis(Axis(1));
        let x = x.broadcast((2, 3, 20, 24)).ok_or("shape")?;
        let (wide, narrow) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let got = wide.permuted_axes([1, 0, 2, 3])?.matmul(narrow.insert_axis(Axis(1))?).precision(precision.forced());
        let got = got.eval()?.to_ndarray()?;
        let (x, y) = (x.permuted_axes([1, 0, 2, 3]), y.view().insert_axis(Axis(1)));
        near(precision, got.view().into_dyn(), x.into_dyn(), y.into_dyn(), "two axes of a stack")?;
    }
    Ok(())
}

pub fn precisions_into_views(device: &Device) -> Outcome {
    let mut rng = rng(75);
    let (x, y, z) = (random(&mut rng, 50, 40), random(&mut rng, 40, 70), random(&mut rng, 150, 71));
    let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    for precision in EACH {
        // Rows of c apart and not aligned, and a transposed c.
        let mut c = GpuArray::from_ndarray(device, &z)?;
        a.matmul(&b).precision(precision.forced()).write_into(c.slice_mut(s![2..;3, 1..])?)?;
        let got = c.to_ndarray()?;
        near(precision, got.slice(s![2..;3, 1..]).into_dyn(), x.view().into_dyn(), y.view().into_dyn(), "a view")?;
        ensure!(got.slice(s![..;3, ..]) == z.slice(s![..;3, ..]), "other rows stay");
        let mut c = GpuArray::<f32, _>::zeros(device, (70, 50))?;
        a.matmul(&b).precision(precision.forced()).write_into(c.swap_axes_mut(Axis(0), Axis(1))?)?;
        near(precision, c.to_ndarray()?.t().into_dyn(), x.view().into_dyn(), y.view().into_dyn(), "transposed")?;
    }
    Ok(())
}

/// Small whole numbers, of which no result is rounded, so that the kernel of each precision has to give the same.
pub fn precisions_with_alpha_and_beta(device: &Device) -> Outcome {
    let mut rng = rng(79);
    let mut integers =
        |rows, columns| Array2::from_shape_simple_fn((rows, columns), || (rng.uniform() * 17.0).floor() as f32 - 8.0);
    for [m, k, n] in [[70, 40, 72], [67, 24, 130], [33, 9, 41]] {
        let (x, y, z) = (integers(m, k), integers(k, n), integers(m, n));
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let a_by_columns = GpuArray::from_ndarray(device, &x.t().as_standard_layout())?;
        let (mut want, product) = (z.clone(), reference::matmul(&x, &y)?);
        reference::gemm(2.0, &x, &y, -0.5, &mut want)?;
        for precision in EACH {
            for a in [a.view(), a_by_columns.t()] {
                let mut c = GpuArray::from_ndarray(device, &z)?;
                gemm_with_precision(precision.forced(), 2.0, a, &b, -0.5, &mut c)?;
                ensure_eq!((precision, c.to_ndarray()?), (precision, want.clone()));
                let mut by_columns = GpuArray::from_ndarray(device, &z.t().as_standard_layout())?;
                let c = by_columns.swap_axes_mut(Axis(0), Axis(1))?;
                gemm_with_precision(precision.forced(), 2.0, a, &b, -0.5, c)?;
                ensure_eq!((precision, by_columns.to_ndarray()?.reversed_axes()), (precision, want.clone()));
                let mut nan = GpuArray::full(device, (m, n), f32::NAN)?;
                gemm_with_precision(precision.forced(), 1.0, a, &b, 0.0, &mut nan)?;
                ensure_eq!((precision, nan.to_ndarray()?), (precision, product.clone()));
            }
        }
    }
    Ok(())
}

pub fn precisions_of_badly_scaled_elements(device: &Device) -> Outcome {
    let mut rng = rng(76);
    let mut scaled = |rows, columns| {
        Array2::from_shape_simple_fn((rows, columns), || {
            element(&mut rng) * 2f32.powi((rng.uniform() * 60.0) as i32 - 30)
        })
    };
    let (x, y) = (scaled(40, 300), scaled(300, 40));
    // Sums that cancel: the second half of the terms is the first one, negated and a little off.
    let mut cancelling = x.clone();
    let (first, mut second) = cancelling.multi_slice_mut((s![.., ..150], s![.., 150..]));
    second.assign(&(&first * -(1.0 + f32::EPSILON)));
    let mut repeated = y.clone();
    let (first, mut second) = repeated.multi_slice_mut((s![..150, ..], s![150.., ..]));
    second.assign(&first);
    for (x, y, case) in [(&x, &y, "badly scaled"), (&cancelling, &repeated, "cancelling")] {
        let (a, b) = (GpuArray::from_ndarray(device, x)?, GpuArray::from_ndarray(device, y)?);
        for precision in EACH {
            let got = a.matmul(&b).precision(precision.forced()).eval()?.to_ndarray()?;
            near(precision, got.view().into_dyn(), x.view().into_dyn(), y.view().into_dyn(), case)?;
        }
    }
    Ok(())
}

pub fn precisions_of_nan_and_infinities(device: &Device) -> Outcome {
    let mut x = Array2::<f32>::ones((8, 8));
    (x[(1, 3)], x[(2, 0)], x[(3, 5)], x[(4, 4)]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX);
    let a = GpuArray::from_ndarray(device, &x)?;
    let b = GpuArray::from_ndarray(device, &Array2::from_elem((8, 8), 0.5))?;
    for precision in EACH {
        let got = a.matmul(&b).precision(precision.forced()).eval()?.to_ndarray()?;
        for (row, got) in got.rows().into_iter().enumerate() {
            let is_right: fn(f32) -> bool = match row {
                1 => f32::is_nan,
                2 => |value| value == f32::INFINITY || value.is_nan(),
                3 => |value| value == f32::NEG_INFINITY || value.is_nan(),
                4 => |value| relative_eq!(value, f32::MAX / 2.0, epsilon = 0.0, max_relative = 2e-3),
                _ => |value| value == 4.0,
            };
            ensure!(got.iter().all(|&value| is_right(value)), "{precision:?} row {row}: {got}");
        }
    }
    Ok(())
}

pub fn precisions_have_the_same_bits_again(device: &Device) -> Outcome {
    let mut rng = rng(77);
    let (n, times) = match device.is_emulated() {
        true => (100, 1),
        false if is_under_slow_tool() => (400, 3),
        false => (1111, 20),
    };
    let a = GpuArray::from_ndarray(device, &random(&mut rng, n, n))?;
    for precision in EACH {
        let product = a.matmul(&a).precision(precision.forced());
        let first = product.eval()?.to_ndarray()?;
        for _ in 0..times {
            ensure!(product.eval()?.to_ndarray()? == first, "{precision:?}");
        }
    }
    Ok(())
}

pub fn precisions_on_two_streams(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let a = GpuArray::full(device, (64, 64), 2.0f32)?;
    for precision in EACH {
        let product = a.matmul(&a).precision(precision.forced()).on(&stream).eval()?;
        let twice = product.matmul(&a).precision(precision.forced()).on(device).eval()?;
        ensure_eq!(twice.to_ndarray()?[[3, 5]], 4.0 * 64.0 * 2.0 * 64.0);
    }
    Ok(())
}

pub fn captured_precisions_are_replayed(device: &Device) -> Outcome {
    let (one, two) = (Stream::new(device)?, Stream::new(device)?);
    let mut a = GpuArray::<f32, _>::full(&one, (96, 96), 1.0)?;
    let mut c = GpuArray::<f32, _>::zeros(&one, (96, 96))?;
    for precision in EACH {
        // The copies of the factors belong to the graph.
        let (graph, ()) = one.capture(|| a.matmul(&a).precision(precision.forced()).write_into(&mut c))?;
        for value in [3.0, 1.0] {
            a.fill(value)?;
            one.synchronize()?;
            // SAFETY: the arrays are alive, and nothing else uses them.
            unsafe { graph.launch(&two)? };
            two.synchronize()?;
            ensure!(c.to_ndarray()?.iter().all(|&sum| sum == value * value * 96.0), "{precision:?} {value}");
        }
    }
    Ok(())
}

pub fn small_products_of_each_precision_are_strict(device: &Device) -> Outcome {
    let third = GpuArray::from_ndarray(device, &array![[1.0f32 / 3.0, 2.0], [0.7, -0.1]])?;
    let strict = third.matmul(&third).eval()?.to_ndarray()?;
    for precision in EACH {
        ensure_eq!(third.matmul(&third).precision(precision).eval()?.to_ndarray()?, strict);
    }
    let forced = third.matmul(&third).precision(Precision::Tf32.forced()).eval()?.to_ndarray()?;
    ensure!(forced != strict || !is_hopper(device), "TF32 has fewer bits");
    // A vector has one precision.
    let x = third.index_axis(Axis(0), 0)?;
    ensure_eq!(
        third.matmul(&x).precision(Precision::Tf32).eval()?.to_ndarray()?,
        third.matmul(&x).eval()?.to_ndarray()?
    );
    Ok(())
}

fn is_hopper(device: &Device) -> bool {
    device.arch().number() == 90
}
