//! Matrix products of i8 and u8 with results of i32, against the reference: equal, whatever the kernel.

use gpu_algos::{
    AlgoError, as_for,
    gpu_array::{
        GpuArray,
        gpu_driver::{Arch, Device},
    },
    host,
    matmul::{ByteElement, matmul_i32, matmul_i32_into},
    reference,
};
use ndarray::{Array1, Array2, ArrayD, ArrayViewD, IxDyn, s};
use testkit::{Outcome, Rng, Test, ensure, ensure_eq, rng, same, tests};

use crate::layouts::{Factors, factors_of_every_layout};

pub const TESTS: &[Test<Device>] = tests![
    bytes_at_edges_of_tiles,
    bytes_of_every_layout,
    bytes_of_stacks_and_vectors,
    sums_of_the_greatest_bytes_are_exact,
    sums_beyond_i32_wrap,
    bytes_into_views,
    bytes_of_expressions,
    wrong_shapes_of_bytes_are_errors,
    bytes_of_small_stacks,
];

/// i8 or u8.
trait Byte: ByteElement {
    const EXTREMES: [Self; 2];
    fn of(bits: u64) -> Self;
}
impl Byte for i8 {
    const EXTREMES: [Self; 2] = [i8::MIN, i8::MAX];
    fn of(bits: u64) -> Self {
        bits as i8
    }
}
impl Byte for u8 {
    const EXTREMES: [Self; 2] = [u8::MIN, u8::MAX];
    fn of(bits: u64) -> Self {
        bits as u8
    }
}

/// Half of them extreme.
fn element<T: Byte>(rng: &mut Rng) -> T {
    match rng.below(4) {
        at @ 0..2 => T::EXTREMES[at],
        _ => T::of(rng.next_u64()),
    }
}

fn random<T: Byte>(rng: &mut Rng, shape: &[usize]) -> ArrayD<T> {
    ArrayD::from_shape_simple_fn(IxDyn(shape), || element(rng))
}

fn equal<T: Byte>(got: ArrayViewD<'_, i32>, [a, b]: [ArrayViewD<'_, T>; 2], case: &str) -> Outcome {
    let want = reference::matmul_i32(a, b)?;
    ensure_eq!((case, got.shape()), (case, want.shape()));
    same(&got.iter().copied().collect::<Vec<_>>(), &want.into_iter().collect::<Vec<_>>(), case)
}

fn each(test: fn(&Device) -> Outcome, other: fn(&Device) -> Outcome, device: &Device) -> Outcome {
    test(device)?;
    other(device)
}

pub fn bytes_at_edges_of_tiles(device: &Device) -> Outcome {
    fn of<T: Byte>(device: &Device) -> Outcome {
        let mut rng = rng(91);
        let mut shapes = vec![[2, 1, 2], [3, 5, 7], [64, 128, 64], [65, 129, 130], [130, 16, 65], [129, 517, 205]];
        let length = |rng: &mut Rng| 1 + rng.below(300);
        shapes.extend((0..4).map(|_| [length(&mut rng), length(&mut rng), length(&mut rng)]));
        if !device.is_emulated() {
            shapes.extend((0..60).map(|_| [length(&mut rng), length(&mut rng), length(&mut rng)]));
            shapes.extend([[257, 1031, 409], [1000, 512, 1500], [513, 4096, 136], [1024, 1024, 1024]]);
        }
        for [m, k, n] in shapes {
            let (x, y) = (random::<T>(&mut rng, &[m, k]), random::<T>(&mut rng, &[k, n]));
            let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
            equal(matmul_i32(&a, &b)?.to_ndarray()?.view(), [x.view(), y.view()], &format!("{m} {k} {n}"))?;
        }
        Ok(())
    }
    each(of::<i8>, of::<u8>, device)
}

pub fn bytes_of_every_layout(device: &Device) -> Outcome {
    fn of<T: Byte>(device: &Device) -> Outcome {
        let mut rng = rng(92);
        for [m, k, n] in [[40, 32, 48], [19, 37, 23]] {
            // A quarter of the pairs; each layout of a in one of the two sizes.
            let takes = |i, j| (i + 2 * j + m) % 4 == 0;
            factors_of_every_layout(
                device,
                &mut rng,
                [m, k, n],
                element::<T>,
                takes,
                |Factors { a, b, x, y, name, .. }| equal(matmul_i32(a, b)?.to_ndarray()?.view(), [x, y], &name),
            )?;
        }
        Ok(())
    }
    each(of::<i8>, of::<u8>, device)
}

pub fn bytes_of_stacks_and_vectors(device: &Device) -> Outcome {
    fn of<T: Byte>(device: &Device) -> Outcome {
        let mut rng = rng(93);
        for (left, right) in [
            (&[3usize, 40, 48][..], &[3usize, 48, 33][..]),
            (&[2, 3, 40, 48], &[3, 48, 35]),
            (&[2, 1, 36, 20], &[1, 3, 20, 35]),
            (&[3, 40, 48], &[48, 33]),
            (&[40, 48], &[3, 48, 33]),
            // Small matrices, and vectors.
            (&[5, 8, 8], &[5, 8, 8]),
            (&[3, 31, 32], &[3, 32, 9]),
            (&[70], &[70, 30]),
            (&[30, 70], &[70]),
            (&[3, 30, 70], &[70]),
            (&[300], &[300]),
            // No terms, and no results.
            (&[40, 0], &[0, 50]),
            (&[0, 40], &[40, 50]),
            (&[3, 40, 0], &[0, 2]),
            (&[0], &[0]),
            (&[0, 3, 4], &[4, 5]),
        ] {
            let (x, y) = (random::<T>(&mut rng, left), random::<T>(&mut rng, right));
            let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
            let case = format!("{left:?} by {right:?}");
            equal(matmul_i32(&a, &b)?.to_ndarray()?.view(), [x.view(), y.view()], &case)?;
            equal(host::matmul_i32(&x, &y)?.view(), [x.view(), y.view()], "on the host")?;
        }
        Ok(())
    }
    each(of::<i8>, of::<u8>, device)
}

/// f32 has no integers of so many bits.
pub fn sums_of_the_greatest_bytes_are_exact(device: &Device) -> Outcome {
    fn of<T: Byte>(device: &Device, k: usize) -> Outcome {
        let mut rng = rng(94);
        let mut x = Array2::from_shape_simple_fn((6, k), || T::EXTREMES[rng.below(2)]);
        let mut y = Array2::from_shape_simple_fn((k, 5), || T::EXTREMES[rng.below(2)]);
        for (row, value) in T::EXTREMES.into_iter().enumerate() {
            x.row_mut(row).fill(value);
            y.column_mut(row).fill(value);
        }
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let got = matmul_i32(&a, &b)?.to_ndarray()?;
        equal(got.view().into_dyn(), [x.view().into_dyn(), y.view().into_dyn()], "extremes")?;
        let greatest = |value: T| Into::<i32>::into(value).pow(2) * k as i32;
        ensure_eq!((got[(0, 0)], got[(1, 1)]), (greatest(T::EXTREMES[0]), greatest(T::EXTREMES[1])));
        Ok(())
    }
    let [signed, unsigned] = if device.is_emulated() { [2049, 1031] } else { [131_071, 33_025] };
    of::<i8>(device, signed)?;
    of::<u8>(device, unsigned)
}

pub fn sums_beyond_i32_wrap(device: &Device) -> Outcome {
    let x = Array1::from_elem(131_072, i8::MIN);
    let a = GpuArray::from_ndarray(device, &x)?;
    ensure_eq!(matmul_i32(&a, &a)?.to_ndarray()?[()], i32::MIN);
    ensure_eq!(host::matmul_i32(&x, &x)?[()], i32::MIN);
    ensure_eq!(reference::matmul_i32(&x, &x)?[()], i32::MIN);
    if !device.is_emulated() {
        let (a, b) =
            (GpuArray::<u8, _>::full(device, (70, 100_000), 255)?, GpuArray::full(device, (100_000, 90), 255)?);
        let want = (255i64 * 255 * 100_000) as i32;
        ensure!(matmul_i32(&a, &b)?.to_ndarray()?.iter().all(|&sum| sum == want), "matrices wrap to {want}");
    }
    Ok(())
}

pub fn bytes_into_views(device: &Device) -> Outcome {
    let mut rng = rng(95);
    let (x, y) = (random::<i8>(&mut rng, &[70, 33]), random::<i8>(&mut rng, &[33, 80]));
    let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    let (a, b) = (a.into_shape((70, 33))?, b.into_shape((33, 80))?);
    let want = reference::matmul_i32(&x, &y)?.into_dimensionality::<ndarray::Ix2>()?;
    let mut shifted = GpuArray::full(device, (71, 81), 3)?;
    matmul_i32_into(&a, &b, shifted.slice_mut(s![1.., 1..])?)?;
    let got = shifted.to_ndarray()?;
    ensure!(got.slice(s![1.., 1..]) == want, "no packs");
    ensure!(got.row(0).iter().chain(got.column(0)).all(|&value| value == 3), "the rest stays");
    let mut by_columns = GpuArray::full(device, (80, 70), 3)?;
    matmul_i32_into(&a, &b, by_columns.t_mut())?;
    ensure!(by_columns.to_ndarray()?.t() == want, "by columns");
    let mut gaps = GpuArray::full(device, (140, 160), 3)?;
    matmul_i32_into(&a, &b, gaps.slice_mut(s![..;-2, ..;2])?)?;
    let got = gaps.to_ndarray()?;
    ensure!(got.slice(s![..;-2, ..;2]) == want, "gaps");
    ensure!(got.slice(s![.., 1..;2]).iter().all(|&value| value == 3), "gaps stay");
    Ok(())
}

pub fn bytes_of_expressions(device: &Device) -> Outcome {
    let mut rng = rng(96);
    let (x, y) = (random::<i8>(&mut rng, &[40, 33]), random::<i8>(&mut rng, &[33, 50]));
    let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    let (p, q) = (x.mapv(|x| x.wrapping_add(3)), y.mapv(|y| y.wrapping_mul(5)));
    let got = matmul_i32(&a + 3, &b * 5)?.to_ndarray()?;
    equal(got.view(), [p.view(), q.view()], "both expressions")?;
    let got = matmul_i32(&a, &b * 5)?.to_ndarray()?;
    equal(got.view(), [x.view(), q.view()], "one expression")?;
    // Stacks of small matrices are widened after they are computed.
    let x = random::<i8>(&mut rng, &[4, 8, 8]);
    let a = GpuArray::from_ndarray(device, &x)?;
    let p = x.mapv(|x| x.wrapping_add(3));
    equal(matmul_i32(&a + 3, &a)?.to_ndarray()?.view(), [p.view(), x.view()], "a stack")
}

pub fn wrong_shapes_of_bytes_are_errors(device: &Device) -> Outcome {
    let (a, b) = (GpuArray::<i8, _>::full(device, (3, 4), 1)?, GpuArray::<i8, _>::full(device, (5, 6), 1)?);
    let error = matmul_i32(&a, &b).map(drop).unwrap_err();
    ensure_eq!(error.to_string(), "matmul_i32: a has 4 columns, b has 5 rows");
    let mut c = GpuArray::zeros(device, (3, 4))?;
    let error = matmul_i32_into(&a, a.t(), &mut c);
    ensure!(matches!(error, Err(AlgoError::OutShape { .. })), "{error:?}");
    Ok(())
}

/// Stacks whose kernel widens elements by itself.
pub fn bytes_of_small_stacks(device: &Device) -> Outcome {
    fn of<T: Byte>(device: &Device) -> Outcome {
        let mut rng = rng(97);
        for [matrices, m, k, n] in [
            [3, 8, 8, 8],
            [40, 4, 4, 4],
            [9, 16, 16, 16],
            [2, 32, 32, 32],
            [5, 7, 0, 5],
            [4, 9, 1, 12],
            [3, 17, 17, 31],
            [2, 2, 3, 24],
        ] {
            let case = format!("{matrices} of {m} {k} {n}");
            let (x, y) = (random::<T>(&mut rng, &[matrices, m, k]), random::<T>(&mut rng, &[matrices, k, n]));
            let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
            equal(matmul_i32(&a, &b)?.to_ndarray()?.view(), [x.view(), y.view()], &case)?;
            // Rows that begin beside packs, and matrices of steps that are none.
            let part = s![..;-1, .., ..k.saturating_sub(1)];
            let (x, y) = (x.slice(part).into_dyn(), y.slice(s![.., ..k.saturating_sub(1), ..]).into_dyn());
            let (a, b) = (a.slice(part)?, b.slice(s![.., ..k.saturating_sub(1), ..])?);
            equal(matmul_i32(&a, &b)?.to_ndarray()?.into_dyn().view(), [x, y], &case)?;
        }
        // 64 terms of the least elements, of as many as the largest tile has.
        for k in [32, 64] {
            let least = ArrayD::from_elem(IxDyn(&[150, k, k]), T::EXTREMES[0]);
            let a = GpuArray::from_ndarray(device, &least)?;
            equal(matmul_i32(&a, &a)?.to_ndarray()?.view(), [least.view(), least.view()], "the least")?;
        }
        Ok(())
    }
    each(of::<i8>, of::<u8>, device)?;
    as_for(Arch::new(7, 0), || each(of::<i8>, of::<u8>, device))
}
