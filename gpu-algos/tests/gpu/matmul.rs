//! Matrix products against the reference.

use gpu_algos::{
    AlgoError, MatrixProduct,
    gpu_array::{
        ArrayError, GpuArray, bf16,
        expression::{Expr, eye},
        f16,
        gpu_driver::{Device, Stream},
    },
    host,
    matmul::{MatmulElement, gemm},
    prelude::*,
    reference,
};
use ndarray::{
    Array, Array1, Array2, ArrayD, ArrayViewD, Axis, Dimension, Ix1, Ix2, Ix3, IxDyn, SliceInfoElem, Zip, arr0, array,
    s,
};
use testkit::{Layout, Outcome, Rng, Test, ensure, ensure_eq, rng, same, tests};

use crate::layouts::{Factors, base, factors_of_every_layout, is_under_slow_tool, of_gpu};

pub const TESTS: &[Test<Device>] = tests![
    products_of_awkward_sizes,
    products_at_edges_of_tiles,
    products_of_several_tiles,
    products_of_a_line_more_than_whole_tiles,
    products_of_equal_shares,
    products_of_every_layout,
    ranks_of_products_follow_numpy,
    products_of_stacks_are_broadcast,
    products_of_many_small_matrices,
    products_of_many_tiles,
    products_of_many_tiles_are_scaled_and_added,
    products_with_vectors,
    products_go_into_views,
    products_are_scaled_and_added,
    stacks_of_products_are_added_to_views,
    products_for_beta_0_do_not_read_c,
    products_of_nothing,
    products_propagate_nan_and_infinities,
    products_of_integers_wrap,
    products_of_many_terms,
    products_have_the_same_bits_again,
    products_of_expressions,
    products_are_operands_of_expressions,
    wrong_products_within_expressions_are_errors,
    products_on_two_streams,
    captured_products_are_replayed,
    wrong_products_are_errors,
];

type Failure = Box<dyn std::error::Error>;

/// A float type and the rounding of its sums.
pub trait Real: MatmulElement + Into<f64> {
    const ROUNDING: f64;
    fn of(x: f64) -> Self;
}
impl Real for f32 {
    const ROUNDING: f64 = f32::EPSILON as f64 / 2.0;
    fn of(x: f64) -> Self {
        x as f32
    }
}
impl Real for f64 {
    const ROUNDING: f64 = f64::EPSILON / 2.0;
    fn of(x: f64) -> Self {
        x
    }
}

fn element<T: Real>(rng: &mut Rng) -> T {
    T::of(2.0 * rng.uniform() - 1.0)
}

/// Compares a product with the definition: each sum of k terms is within gamma_k of the sum of their sizes.
pub fn near<T: Real>(got: ArrayViewD<'_, T>, a: ArrayViewD<'_, T>, b: ArrayViewD<'_, T>, case: &str) -> Outcome {
    let wide = |x: &ArrayViewD<'_, T>| x.mapv(Into::<f64>::into);
    let (a, b) = (wide(&a), wide(&b));
    let want = reference::matmul(&a, &b)?;
    let sizes = reference::matmul(&a.mapv(f64::abs), &b.mapv(f64::abs))?;
    ensure_eq!((case, got.shape()), (case, want.shape()));
    let terms = a.shape().last().copied().unwrap_or(1).max(1) as f64;
    // The definition has an error too.
    let gamma = |unit: f64| terms * unit / (1.0 - terms * unit);
    let bound = gamma(T::ROUNDING) + gamma(f64::ROUNDING);
    for (at, ((&got, &want), &size)) in got.iter().zip(&want).zip(&sizes).enumerate() {
        let got: f64 = got.into();
        ensure!((got - want).abs() <= bound * size, "{case}: value {at} is {got}, want {want} within {bound} {size}");
    }
    Ok(())
}

/// Multiplies arrays of these shapes in C order.
fn of_shapes<T: Real>(device: &Device, rng: &mut Rng, a: &[usize], b: &[usize]) -> Outcome {
    let (x, y) = (base(&Layout::whole(a), rng, element::<T>), base(&Layout::whole(b), rng, element::<T>));
    let (on_x, on_y) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    let got = on_x.matmul(&on_y).eval()?.to_ndarray()?;
    near(got.view(), x.view(), y.view(), &format!("{a:?} by {b:?}"))
}

pub fn products_of_awkward_sizes(device: &Device) -> Outcome {
    let mut rng = rng(41);
    let lengths = [2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 64, 65, 70];
    for (i, &m) in lengths.iter().enumerate() {
        for (j, &n) in lengths.iter().enumerate() {
            // The emulated device takes a third, each length on either side.
            if device.is_emulated() && (i + j) % 3 != 0 {
                continue;
            }
            let k = if (i + j) % 5 == 0 { 1 } else { lengths[(3 * i + 5 * j) % lengths.len()] };
            of_shapes::<f32>(device, &mut rng, &[m, k], &[k, n])?;
            if (i + j) % 4 == 0 {
                of_shapes::<f64>(device, &mut rng, &[m, k], &[k, n])?;
            }
        }
    }
    Ok(())
}

pub fn products_at_edges_of_tiles(device: &Device) -> Outcome {
    let mut rng = rng(40);
    // Packs of 16 bytes along k, along rows and along columns are whole in some.
    for m in 1..=40 {
        let (k, n) = ((7 * m) % 40 + 1, if m % 3 == 0 { (4 * m) % 41 + 3 } else { 41 - m });
        of_shapes::<f32>(device, &mut rng, &[m, k], &[k, n])?;
        of_shapes::<f64>(device, &mut rng, &[m, k], &[k, n])?;
        if m % 4 == 0 {
            of_shapes::<f64>(device, &mut rng, &[m, 2 * m], &[2 * m, 64 - m])?;
        }
    }
    Ok(())
}

pub fn products_of_several_tiles(device: &Device) -> Outcome {
    let mut rng = rng(42);
    let mut shapes = vec![[130, 19, 60], [257, 43, 131], [90, 7, 300], [250, 20, 500], [256, 16, 512], [300, 9, 1030]];
    if is_under_slow_tool() {
        shapes.push([513, 200, 600]);
    } else if !device.is_emulated() {
        shapes.extend([[1000, 500, 3000], [2048, 64, 4096], [4099, 257, 1031], [1024, 1024, 1024]]);
    }
    for [m, k, n] in shapes {
        of_shapes::<f32>(device, &mut rng, &[m, k], &[k, n])?;
        of_shapes::<f64>(device, &mut rng, &[m, k], &[k, n])?;
    }
    Ok(())
}

/// Rows and columns that are one more than whole tiles have: several types, a stack of one matrix, transposed factors into a view.
pub fn products_of_a_line_more_than_whole_tiles(device: &Device) -> Outcome {
    let mut rng = rng(47);
    let mut shapes = vec![[129, 70, 512], [512, 33, 129], [129, 9, 129], [65, 33, 65], [385, 0, 70]];
    if !device.is_emulated() {
        shapes.extend([[257, 300, 1031], [2049, 57, 129]]);
    }
    for [m, k, n] in shapes {
        of_shapes::<f32>(device, &mut rng, &[m, k], &[k, n])?;
        of_shapes::<f64>(device, &mut rng, &[m, k], &[k, n])?;
        let case = format!("{m} x {k} x {n}");
        let mut matrix = |rows, columns| {
            base(&Layout::whole(&[rows, columns]), &mut rng, element::<f32>).into_dimensionality::<Ix2>()
        };
        let (x, y) = (matrix(k, m)?, matrix(n, k)?);
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let mut whole = GpuArray::<f32, _>::full(device, (n + 1, m + 2), -7.0)?;
        a.t().matmul(b.t()).write_into(whole.slice_mut(s![1.., ..m])?.permuted_axes_mut([1, 0])?)?;
        let whole = whole.to_ndarray()?;
        near(whole.slice(s![1.., ..m]).reversed_axes().into_dyn(), x.t().into_dyn(), y.t().into_dyn(), &case)?;
        let beside = whole.slice(s![0, ..]).iter().chain(whole.slice(s![.., m..])).all(|&x| x == -7.0);
        ensure!(beside, "{case}: an element beside the view has changed");
        let (x, y) = (x.mapv(|x| (x * 1e9) as i64), y.mapv(|y| (y * 1e9) as i64));
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let got = a.t().matmul(b.t()).eval()?.to_ndarray()?;
        let want = reference::matmul(&x.t(), &y.t())?;
        ensure!(got == want, "{case}: a product of i64 differs");
    }
    Ok(())
}

/// Shapes for which blocks have equal shares of all steps along k (`matmul_shares.cuh`): which they are is a test of gpu-algos' choices. Integers tell a
/// step that is left out or taken twice, also one of small values.
pub fn products_of_equal_shares(device: &Device) -> Outcome {
    let mut rng = rng(48);
    // Rows of f64 that are no whole packs.
    let doubles = match device.is_emulated() {
        true => vec![[257, 1031, 33], [257, 1031, 127]],
        false if is_under_slow_tool() => vec![[257, 1031, 4093]],
        false => vec![[257, 1031, 4093], [129, 999, 5001]],
    };
    for [m, k, n] in doubles {
        of_shapes::<f64>(device, &mut rng, &[m, k], &[k, n])?;
        let mut value =
            |rows, columns| Array2::from_shape_simple_fn((rows, columns), || rng.below(2001) as f64 - 1000.0);
        let (x, y, c) = (value(m, k), value(k, n), value(m, n));
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let mut sums = GpuArray::from_ndarray(device, &c)?;
        gemm(2.0, &a, &b, -3.0, &mut sums)?;
        let products = reference::matmul(&x, &y)?;
        ensure!(sums.to_ndarray()? == 2.0 * &products - 3.0 * &c, "{m} x {k} x {n}: 2 a b - 3 c differs");
        let applied = (a.matmul(&b) + 1.0).maximum(0.0).eval()?.to_ndarray()?;
        ensure!(applied == (products + 1.0).mapv(|x| x.max(0.0)), "{m} x {k} x {n}: the expression differs");
    }
    let shapes = match device.is_emulated() {
        true => vec![[257, 1031, 33], [49, 513, 515]],
        false if is_under_slow_tool() => vec![[257, 1031, 4093]],
        // In the last one a tile's first step begins a share that is rounded.
        false => vec![[257, 1031, 4093], [257, 1024, 4096], [160, 1031, 7400]],
    };
    for [m, k, n] in shapes {
        of_shapes::<f32>(device, &mut rng, &[m, k], &[k, n])?;
        let case = format!("{m} x {k} x {n}");
        let mut integers = |rows, columns| Array2::from_shape_simple_fn((rows, columns), || rng.next_u64() as i32);
        let (x, y, c) = (integers(k, m), integers(n, k), integers(m, n));
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let mut sums = GpuArray::from_ndarray(device, &c)?;
        gemm(3, a.t(), b.t(), -5, &mut sums)?;
        let products = reference::matmul(&x.t(), &y.t())?;
        // As reference::gemm, whose product of so many terms would be a second one.
        let want = Zip::from(&products).and(&c).map_collect(|p, c| p.wrapping_mul(3).wrapping_sub(c.wrapping_mul(5)));
        ensure!(sums.to_ndarray()? == want, "{case}: 3 a b - 5 c differs");
        // The counters of tiles are 0 again.
        let again = a.t().matmul(b.t()).eval()?.to_ndarray()?;
        ensure!(again == products, "{case}: the next product differs");
        let bias = Array1::from_iter((0..n as i32).map(|j| j % 7));
        let on_bias = GpuArray::from_ndarray(device, &bias)?;
        let applied = (a.t().matmul(b.t()) + &on_bias).maximum(0).eval()?.to_ndarray()?;
        let want = Array2::from_shape_fn((m, n), |(i, j)| products[[i, j]].wrapping_add(bias[j]).max(0));
        ensure!(applied == want, "{case}: the expression around the product differs");
    }
    Ok(())
}

pub fn products_of_every_layout(device: &Device) -> Outcome {
    of_every_layout::<f32>(device)?;
    of_every_layout::<f64>(device)
}

fn of_every_layout<T: Real>(device: &Device) -> Outcome {
    let mut rng = rng(43);
    // Packs of 16 bytes are whole in the first.
    for [m, k, n] in [[36, 24, 44], [37, 19, 41]] {
        // Half of the pairs, each layout on either side.
        let takes = |i, j| (i + j) % 2 == m % 2;
        factors_of_every_layout(
            device,
            &mut rng,
            [m, k, n],
            element::<T>,
            takes,
            |Factors { a, b, x, y, name, .. }| {
                let got = a.matmul(b).eval()?.to_ndarray()?;
                near(got.view(), x, y, &format!("{name}, k = {k}"))
            },
        )?;
        // A row and a column that stand for all.
        let (x, y) = (base(&Layout::whole(&[k]), &mut rng, element::<T>), array![T::of(1.5)]);
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let got = a.broadcast((m, k))?.matmul(b.broadcast((k, n))?).eval()?.to_ndarray()?.into_dyn();
        let (x, y) = (x.broadcast(IxDyn(&[m, k])).ok_or("shape")?, y.broadcast(IxDyn(&[k, n])).ok_or("shape")?);
        near(got.view(), x, y, "broadcast")?;
    }
    Ok(())
}

/// The numbers 0, 1, 2, ….
fn counted<D: Dimension>(shape: D) -> Array<i64, D> {
    let mut next = -1;
    Array::from_shape_simple_fn(shape, || {
        next += 1;
        next
    })
}

pub fn ranks_of_products_follow_numpy(device: &Device) -> Outcome {
    let (row, matrix, stack) = (counted(Ix1(3)), counted(Ix2(3, 3)), counted(Ix3(2, 3, 3)));
    let [x, a] = [counted(IxDyn(&[3])), counted(IxDyn(&[3, 3]))].map(|x| GpuArray::from_ndarray(device, &x));
    let (x, a) = (x?, a?);
    let (x1, a2) = (x.view().into_dimensionality::<Ix1>()?, a.view().into_dimensionality::<Ix2>()?);
    let s3 = GpuArray::from_ndarray(device, &stack)?;
    ensure_eq!(x1.matmul(&x1).eval()?.to_ndarray()?, arr0(5));
    ensure_eq!(x1.matmul(&x1).get()?, 5);
    ensure_eq!(x1.matmul(&x1).get()?, x1.dot(&x1).get()?);
    ensure_eq!(a2.matmul(&x1).eval()?.to_ndarray()?, array![5, 14, 23]);
    ensure_eq!(x1.matmul(&a2).eval()?.to_ndarray()?, array![15, 18, 21]);
    ensure_eq!(a2.matmul(&a2).eval()?.to_ndarray()?, array![[15, 18, 21], [42, 54, 66], [69, 90, 111]]);
    ensure_eq!(s3.matmul(&x1).eval()?.to_ndarray()?, array![[5, 14, 23], [32, 41, 50]]);
    ensure_eq!(x1.matmul(&s3).eval()?.to_ndarray()?, reference::matmul(&row, &stack)?);
    ensure_eq!(s3.matmul(&a2).eval()?.to_ndarray()?, reference::matmul(&stack, &matrix)?);
    ensure_eq!(a2.matmul(&s3).eval()?.to_ndarray()?, reference::matmul(&matrix, &stack)?);
    ensure_eq!(a.matmul(&x1).eval()?.to_ndarray()?, array![5, 14, 23].into_dyn());
    ensure_eq!(x.matmul(&x).eval()?.to_ndarray()?, arr0(5).into_dyn());
    Ok(())
}

pub fn products_of_stacks_are_broadcast(device: &Device) -> Outcome {
    let mut rng = rng(44);
    let cases: [(&[usize], &[usize]); 9] = [
        (&[40, 8, 8], &[40, 8, 8]),
        (&[9, 16, 5], &[5, 16]),
        (&[16, 5], &[9, 5, 16]),
        (&[3, 1, 6, 7], &[4, 7, 5]),
        (&[2, 1, 3, 4, 9], &[5, 1, 9, 6]),
        (&[1, 33, 20], &[6, 20, 34]),
        (&[2, 3, 1, 5], &[3, 5, 4]),
        (&[70, 4, 4], &[1, 4, 4]),
        (&[5, 7], &[2, 3, 7, 1]),
    ];
    for (a, b) in cases {
        of_shapes::<f32>(device, &mut rng, a, b)?;
    }
    // Every other matrix from the last backwards, transposed.
    let x = base(&Layout::whole(&[9, 12, 10]), &mut rng, element::<f32>).into_dimensionality::<Ix3>()?;
    let a = GpuArray::from_ndarray(device, &x)?;
    let (part, on_host) = (a.slice(s![..;-2, .., ..])?, x.slice(s![..;-2, .., ..]));
    let got = part.swap_axes(Axis(1), Axis(2))?.matmul(&part).eval()?.to_ndarray()?.into_dyn();
    near(got.view(), on_host.permuted_axes([0, 2, 1]).into_dyn(), on_host.into_dyn(), "strided stacks")
}

pub fn products_of_many_small_matrices(device: &Device) -> Outcome {
    of_small_matrices::<f32>(device)?;
    of_small_matrices::<f64>(device)
}

fn of_small_matrices<T: Real>(device: &Device) -> Outcome {
    let mut rng = rng(52);
    let multiprocessors = device.multiprocessors()? as usize;
    // As many as fill the blocks of a few waves, and a part of one. The last have the size of their tile, or are smaller in one direction.
    for [length, per_block, m, k, n] in [
        [8, 32, 8, 8, 8],
        [8, 32, 5, 7, 6],
        [8, 32, 4, 0, 4],
        [16, 8, 16, 16, 16],
        [16, 8, 9, 12, 8],
        [16, 8, 13, 1, 11],
        [32, 2, 32, 32, 32],
        [32, 2, 29, 17, 31],
        [64, 1, 64, 64, 64],
        [64, 1, 33, 50, 40],
    ] {
        ensure!(m.max(k).max(n) <= length && m.max(k).max(n) > length / 2 || k == 0, "{length}: another tile");
        let matrices = 4 * multiprocessors * per_block + 3;
        let (a, b) = ([matrices, m, k], [matrices, k, n]);
        of_shapes::<T>(device, &mut rng, &a, &b)?;
    }
    // One factor for all, transposed factors and a transposed result with gaps, scaled and added.
    let (matrices, m, k, n) = (32 * 4 * multiprocessors + 1, 6, 8, 7);
    let whole =
        |shape: &[usize], rng: &mut Rng| base(&Layout::whole(shape), rng, |rng| T::of(rng.below(9) as f64 - 4.0));
    let (x, y) = (whole(&[matrices, k, m], &mut rng), whole(&[n, k], &mut rng));
    let mut want = whole(&[matrices, n, m + 1], &mut rng);
    let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    let mut target = GpuArray::from_ndarray(device, &want)?;
    let left = a.view().into_dimensionality::<Ix3>()?.permuted_axes([0, 2, 1])?;
    let right = b.view().into_dimensionality::<Ix2>()?;
    let mut part = target.slice_mut(s![.., .., 1..])?;
    gemm(T::of(2.0), left, right.t(), T::of(-3.0), part.permuted_axes_mut([0, 2, 1])?)?;
    // Whole numbers are exact.
    let part = want.slice_mut(s![.., .., 1..]).permuted_axes([0, 2, 1]).into_dyn();
    reference::gemm(T::of(2.0), &x.view().permuted_axes(IxDyn(&[0, 2, 1])), &y.t(), T::of(-3.0), part)?;
    ensure!(target.to_ndarray()? == want, "scaled and added");
    Ok(())
}

/// Matrices of a stack that give each warp a tile of 32 x 64 results, and some a second one.
fn many(device: &Device, m: usize, n: usize) -> std::result::Result<usize, Failure> {
    let warps = 8 * device.multiprocessors()? as usize;
    Ok((warps + warps / 3).div_ceil(m.div_ceil(32) * n.div_ceil(64)) + 1)
}

/// Rows of a and b are whole packs, so that a warp computes a tile.
pub fn products_of_many_tiles(device: &Device) -> Outcome {
    let mut rng = rng(53);
    for [m, k, n] in
        [[64, 64, 64], [33, 16, 64], [40, 20, 68], [100, 36, 132], [32, 4, 192], [31, 52, 36], [2, 100, 128]]
    {
        let matrices = many(device, m, n)?;
        of_shapes::<f32>(device, &mut rng, &[matrices, m, k], &[matrices, k, n])?;
        // One tall matrix.
        of_shapes::<f32>(device, &mut rng, &[matrices * m + 5, k], &[k, n])?;
    }
    // One factor for all, and rows in an order of their own.
    let [m, k, n] = [40, 24, 64];
    let matrices = many(device, m, n)?;
    let x = base(&Layout::whole(&[matrices, 2 * m, k]), &mut rng, element::<f32>);
    let y = base(&Layout::whole(&[k, n]), &mut rng, element::<f32>);
    let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    let (a, b) = (a.view().into_dimensionality::<Ix3>()?, b.view().into_dimensionality::<Ix2>()?);
    let got = a.slice(s![..;-1, ..;-2, ..])?.matmul(b.slice(s![..;-1, ..])?).eval()?.to_ndarray()?;
    let rows = x.slice(s![..;-1, ..;-2, ..]);
    near(got.into_dyn().view(), rows.into_dyn(), y.slice(s![..;-1, ..]).into_dyn(), "reversed rows")
}

pub fn products_of_many_tiles_are_scaled_and_added(device: &Device) -> Outcome {
    let mut rng = rng(54);
    let [m, k, n] = [37, 24, 68];
    let matrices = many(device, m, n)?;
    let whole = |shape: &[usize], rng: &mut Rng| base(&Layout::whole(shape), rng, |rng| small(rng) as i32);
    let (x, y) = (whole(&[matrices, m, k], &mut rng), whole(&[matrices, k, n], &mut rng));
    // Whole numbers, which are exact in f32 too.
    let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    let real = |x: &ArrayD<i32>| x.mapv(|x| x as f32);
    let (c, d) = (GpuArray::from_ndarray(device, &real(&x))?, GpuArray::from_ndarray(device, &real(&y))?);
    for (name, layout) in Layout::each(&[matrices, m, n]) {
        let mut want = base(&layout, &mut rng, |rng| small(rng) as i32);
        let mut target = GpuArray::from_ndarray(device, &want)?;
        let mut of_reals = GpuArray::from_ndarray(device, &real(&want))?;
        gemm(-2, &a, &b, 3, target.permuted_axes_mut(layout.axes())?.slice_mut(&layout.slices()[..])?)?;
        gemm(-2.0, &c, &d, 3.0, of_reals.permuted_axes_mut(layout.axes())?.slice_mut(&layout.slices()[..])?)?;
        reference::gemm(-2, &x, &y, 3, layout.of_host_mut(want.view_mut()))?;
        ensure!(target.to_ndarray()? == want, "i32, {name}");
        ensure!(of_reals.to_ndarray()? == real(&want), "f32, {name}");
    }
    Ok(())
}

pub fn products_with_vectors(device: &Device) -> Outcome {
    let mut rng = rng(45);
    for [m, k] in [[1, 1], [1, 50], [50, 1], [33, 64], [64, 33], [200, 1000], [1000, 200], [3, 20_000]] {
        of_shapes::<f32>(device, &mut rng, &[m, k], &[k])?;
        of_shapes::<f32>(device, &mut rng, &[k], &[k, m])?;
        of_shapes::<f64>(device, &mut rng, &[m, k], &[k, 1])?;
        of_shapes::<f32>(device, &mut rng, &[1, k], &[k, m])?;
        of_shapes::<f32>(device, &mut rng, &[k], &[k])?;
        of_shapes::<f32>(device, &mut rng, &[3, m, k], &[k])?;
        of_shapes::<f32>(device, &mut rng, &[2, 1, 1, k], &[3, k, m])?;
    }
    for (name, layout) in Layout::each(&[37, 45]) {
        let (x, y) = (base(&layout, &mut rng, element::<f64>), Array1::from_shape_simple_fn(45, || element(&mut rng)));
        let (a, v) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let a = of_gpu(&layout, &a)?;
        let got = a.matmul(v.slice(s![..;-1])?).eval()?.to_ndarray()?;
        near(got.view(), layout.of_host(x.view()), y.slice(s![..;-1]).into_dyn(), name)?;
    }
    Ok(())
}

pub fn products_go_into_views(device: &Device) -> Outcome {
    let mut rng = rng(46);
    for [m, k, n] in [[20, 12, 28], [37, 9, 21], [130, 11, 60], [1, 30, 40], [40, 30, 1]] {
        let x = base(&Layout::whole(&[m, k]), &mut rng, element::<f32>);
        let y = base(&Layout::whole(&[k, n]), &mut rng, element::<f32>);
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        for (name, layout) in Layout::each(&[m, n]) {
            let old = ArrayD::from_elem(IxDyn(&layout.base), 7.5f32);
            let mut target = GpuArray::from_ndarray(device, &old)?;
            a.matmul(&b).write_into(target.permuted_axes_mut(layout.axes())?.slice_mut(&layout.slices()[..])?)?;
            let mut got = target.to_ndarray()?;
            near(layout.of_host(got.view()), x.view(), y.view(), &format!("{m} x {n}, {name}"))?;
            layout.of_host_mut(got.view_mut()).fill(7.5);
            ensure!(got == old, "{m} x {n}, {name}: elements beside the view were written");
        }
    }
    Ok(())
}

pub fn products_are_scaled_and_added(device: &Device) -> Outcome {
    let mut rng = rng(47);
    for (m, n) in [(20, 36), (37, 21), (1, 30), (30, 1)] {
        let k = 17;
        let mut small = |shape| Array2::from_shape_simple_fn(shape, || rng.below(9) as f32 - 4.0);
        let (x, y, old) = (small((m, k)), small((k, n)), small((m, n)));
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        for (alpha, beta) in [(1.0, 0.0), (2.0, 0.0), (1.0, 1.0), (-0.5, 3.0), (0.0, 2.0)] {
            // Whole numbers are exact.
            let mut want = old.clone();
            reference::gemm(alpha, &x, &y, beta, &mut want)?;
            let mut c = GpuArray::from_ndarray(device, &old)?;
            gemm(alpha, &a, &b, beta, &mut c)?;
            ensure_eq!((m, n, alpha, beta, c.to_ndarray()?), (m, n, alpha, beta, want.clone()));
            // A view by columns, from the second element on.
            let mut padded = GpuArray::full(device, (n, m + 1), 0.0f32)?;
            let mut c = padded.slice_mut(s![.., 1..])?;
            c.t_mut().copy_from_ndarray(&old)?;
            gemm(alpha, &a, &b, beta, c.t_mut())?;
            ensure_eq!(c.t_mut().to_ndarray()?, want);
            ensure!(padded.to_ndarray()?.index_axis(Axis(1), 0).iter().all(|&x| x == 0.0));
        }
    }
    Ok(())
}

pub fn stacks_of_products_are_added_to_views(device: &Device) -> Outcome {
    let mut rng = rng(48);
    for [matrices, m, n] in [[3, 20, 28], [3, 37, 21]] {
        let k = 11;
        // One of the factors may be the same for all matrices of the stack.
        for (left, right) in
            [(&[matrices, m, k][..], &[matrices, k, n][..]), (&[matrices, m, k], &[k, n]), (&[m, k], &[matrices, k, n])]
        {
            let whole = |shape: &[usize], rng: &mut Rng| base(&Layout::whole(shape), rng, small);
            let (x, y) = (whole(left, &mut rng), whole(right, &mut rng));
            let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
            for (name, layout) in Layout::each(&[matrices, m, n]) {
                let mut want = base(&layout, &mut rng, small);
                let mut target = GpuArray::from_ndarray(device, &want)?;
                gemm(-2, &a, &b, 3, target.permuted_axes_mut(layout.axes())?.slice_mut(&layout.slices()[..])?)?;
                reference::gemm(-2, &x, &y, 3, layout.of_host_mut(want.view_mut()))?;
                ensure!(target.to_ndarray()? == want, "{left:?} by {right:?}, {name}");
            }
        }
    }
    Ok(())
}

fn small(rng: &mut Rng) -> i64 {
    rng.below(9) as i64 - 4
}

pub fn products_for_beta_0_do_not_read_c(device: &Device) -> Outcome {
    for_beta_0(device, f32::NAN)?;
    for_beta_0(device, f64::NAN)
}

fn for_beta_0<T: Real>(device: &Device, nan: T) -> Outcome {
    let of = |values: Array2<f64>| values.mapv(T::of);
    let a = GpuArray::from_ndarray(device, &of(array![[1.0, 2.0], [3.0, 4.0]]))?;
    let x = a.index_axis(Axis(0), 0)?;
    let mut c = GpuArray::full(device, (2, 2), nan)?;
    gemm(T::of(2.0), &a, &a, T::ZERO, &mut c)?;
    ensure_eq!(c.to_ndarray()?, of(array![[14.0, 20.0], [30.0, 44.0]]));
    let mut y = GpuArray::full(device, 2, nan)?;
    gemm(T::of(2.0), &a, &x, T::ZERO, &mut y)?;
    ensure_eq!(y.to_ndarray()?.mapv(Into::<f64>::into), array![10.0, 22.0]);
    gemm(T::of(1.0), &a, &a, T::of(1.0), &mut c)?;
    ensure_eq!(c.to_ndarray()?, of(array![[21.0, 30.0], [45.0, 66.0]]));
    c.fill(nan)?;
    gemm(T::of(1.0), &a, &a, T::of(1.0), &mut c)?;
    ensure!(c.to_ndarray()?.iter().all(|&x| Into::<f64>::into(x).is_nan()));
    Ok(())
}

pub fn products_of_nothing(device: &Device) -> Outcome {
    fn are_nothing<T: MatmulElement>(device: &Device, shapes: &[[&[usize]; 2]]) -> Outcome {
        for &[a, b] in shapes {
            let zeros = |shape: &[usize]| GpuArray::<T, _>::zeros(device, IxDyn(shape));
            let got = zeros(a)?.matmul(&zeros(b)?).eval()?.to_ndarray()?;
            let want = reference::matmul(&zeros(a)?.to_ndarray()?, &zeros(b)?.to_ndarray()?)?;
            ensure_eq!((a, b, got), (a, b, want));
        }
        Ok(())
    }
    let shapes: [[&[usize]; 2]; 10] = [
        [&[0, 3], &[3, 4]],
        [&[3, 4], &[4, 0]],
        [&[3, 0], &[0, 4]],
        [&[0, 2, 3], &[3, 4]],
        [&[2, 3, 0], &[2, 0, 5]],
        [&[0, 40, 40], &[0, 40, 40]],
        [&[0], &[0]],
        [&[4, 0], &[0]],
        [&[0], &[0, 4]],
        [&[0, 4], &[4]],
    ];
    are_nothing::<f64>(device, &shapes)?;
    are_nothing::<f16>(device, &shapes)?;
    are_nothing::<bf16>(device, &shapes)?;
    let zeros = |shape: &[usize]| GpuArray::<f64, _>::zeros(device, IxDyn(shape));
    let (a, b) = (zeros(&[3, 0])?, zeros(&[0, 2])?);
    let mut c = GpuArray::full(device, IxDyn(&[3, 2]), 5.0)?;
    gemm(1.0, &a, &b, 2.0, &mut c)?;
    ensure!(c.to_ndarray()?.iter().all(|&x| x == 10.0));
    a.matmul(&b).write_into(&mut c)?;
    ensure!(c.to_ndarray()?.iter().all(|&x| x == 0.0));
    Ok(())
}

pub fn products_propagate_nan_and_infinities(device: &Device) -> Outcome {
    propagate_nan_and_infinities::<f32>(device)?;
    propagate_nan_and_infinities::<f64>(device)
}

fn propagate_nan_and_infinities<T: Real>(device: &Device) -> Outcome {
    let (m, k, n) = (33, 21, 40);
    let mut x = Array2::from_elem((m, k), T::of(1.0));
    let mut y = Array2::from_elem((k, n), T::of(2.0));
    (x[[5, 20]], x[[6, 0]], x[[32, 3]]) = (T::of(f64::NAN), T::of(f64::INFINITY), T::of(f64::NEG_INFINITY));
    (y[[3, 39]], y[[7, 1]]) = (T::ZERO, T::of(f64::INFINITY));
    let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    let got = a.matmul(&b).eval()?.to_ndarray()?;
    let (got, want) = (got.mapv(Into::<f64>::into), reference::matmul(&x, &y)?.mapv(Into::<f64>::into));
    for (at, want) in want.indexed_iter() {
        let is_same = got[at] == *want || (got[at].is_nan() && want.is_nan());
        ensure!(is_same, "{at:?}: got {}, want {want}", got[at]);
    }
    ensure_eq!(got.iter().filter(|x| x.is_nan()).count(), want.iter().filter(|x| x.is_nan()).count());
    Ok(())
}

pub fn products_of_integers_wrap(device: &Device) -> Outcome {
    fn check<T: MatmulElement>(device: &Device, of: fn(u64) -> T) -> Outcome {
        let mut rng = rng(48);
        for [m, k, n] in [[33, 50, 20], [16, 8, 32], [5, 700, 6], [40, 9, 1]] {
            let x = base(&Layout::whole(&[m, k]), &mut rng, |rng| of(rng.next_u64()));
            let y = base(&Layout::whole(&[n, k]), &mut rng, |rng| of(rng.next_u64())).reversed_axes();
            let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
            let got = a.matmul(&b).eval()?.to_ndarray()?;
            let want = reference::matmul(&x, &y)?;
            ensure_eq!(got.shape(), want.shape());
            same(&got.iter().copied().collect::<Vec<T>>(), &want.into_iter().collect::<Vec<T>>(), T::DTYPE)?;
        }
        Ok(())
    }
    check(device, |bits| bits as i32)?;
    check(device, |bits| bits as u32)?;
    check(device, |bits| bits as i64)?;
    check(device, |bits| bits)
}

pub fn products_of_many_terms(device: &Device) -> Outcome {
    let mut rng = rng(49);
    // Several blocks share a tile; the last part of k is shorter.
    let stack = if device.is_emulated() { 2 } else { 3 };
    for [m, k, n] in [[2, 1000, 3], [16, 2048, 32], [33, 1537, 9], [70, 700, 40], [17, 4099, 5]] {
        of_shapes::<f32>(device, &mut rng, &[m, k], &[k, n])?;
        if m < 20 || !device.is_emulated() {
            of_shapes::<f64>(device, &mut rng, &[stack, m, k], &[stack, k, n])?;
        }
    }
    let x = Array2::from_shape_fn((4, 5000), |(i, j)| (i * j % 7) as f32);
    let a = GpuArray::from_ndarray(device, &x)?;
    let mut c = GpuArray::full(device, (4, 4), 1.0f32)?;
    gemm(1.0, &a, a.t(), 2.0, &mut c)?;
    ensure_eq!(c.to_ndarray()?, reference::matmul(&x, x.t())? + 2.0);
    Ok(())
}

pub fn products_have_the_same_bits_again(device: &Device) -> Outcome {
    let mut rng = rng(50);
    for [m, k, n] in [[70, 90, 50], [5, 3000, 6], [150, 40, 130], [1, 9000, 40]] {
        let x = base(&Layout::whole(&[m, k]), &mut rng, element::<f32>);
        let y = base(&Layout::whole(&[k, n]), &mut rng, element::<f32>);
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let product = a.matmul(&b);
        let first = product.eval()?.to_ndarray()?.mapv(f32::to_bits);
        for _ in 0..3 {
            ensure!(product.eval()?.to_ndarray()?.mapv(f32::to_bits) == first, "{m}, {k}, {n}: other bits");
        }
    }
    Ok(())
}

pub fn products_of_expressions(device: &Device) -> Outcome {
    let x = Array2::from_shape_fn((20, 30), |(i, j)| (i + 2 * j) as f32);
    let a = GpuArray::from_ndarray(device, &x)?;
    let got = (&a - 1.0).matmul(a.t() * 2.0f32).eval()?.to_ndarray()?;
    let want = reference::matmul(&(&x - 1.0), &(&x.t() * 2.0))?;
    ensure_eq!(got, want);
    let unit: Expr<'_, f32, Ix2> = eye(30);
    ensure_eq!(a.matmul(&unit).eval()?.to_ndarray()?, x);
    let error = eye::<f32, _>(3).matmul(eye(3)).eval().err();
    ensure!(matches!(error, Some(AlgoError::Array(ArrayError::NoHome))), "{error:?}");
    ensure_eq!(eye::<f32, _>(3).matmul(eye(3)).on(device).eval()?.to_ndarray()?, Array2::<f32>::eye(3));
    Ok(())
}

pub fn products_are_operands_of_expressions(device: &Device) -> Outcome {
    let mut rng = rng(47);
    let [x, y, w] = [[9, 7], [7, 12], [12, 5]].map(|shape| base(&Layout::whole(&shape), &mut rng, small));
    let [x, y, w] = [x, y, w].map(|array| array.into_dimensionality::<Ix2>());
    let (x, y, w) = (x?, y?, w?);
    let (a, b, c) =
        (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?, GpuArray::from_ndarray(device, &w)?);
    let (product, bias) = (reference::matmul(&x, &y)?, Array1::from_iter(0..12i64));
    let on_bias = GpuArray::from_ndarray(device, &bias)?;
    let got = (a.matmul(&b) + &on_bias).maximum(0).eval()?.to_ndarray()?;
    ensure_eq!(got, (&product + &bias).mapv(|x| x.max(0)));
    // On the left and on the right, with scalars, and of an owned array.
    ensure_eq!((2 * a.matmul(&b) - a.matmul(&b)).eval()?.to_ndarray()?, product.clone());
    ensure_eq!((on_bias.try_clone()? - a.matmul(&b)).eval()?.to_ndarray()?, &bias - &product);
    ensure_eq!((-a.matmul(&b)).eval()?.to_ndarray()?, -&product);
    // A factor, whose own factors may be expressions and views.
    ensure_eq!(a.matmul(&b).matmul(&c).eval()?.to_ndarray()?, reference::matmul(&product, &w)?);
    let chain = (a.matmul(&b) * 2).matmul(&c).sum().axis(Axis(1)).eval()?.to_ndarray()?;
    ensure_eq!(chain, reference::matmul(&product.mapv(|x| 2 * x), &w)?.map_axis(Axis(1), reference::sum));
    let got = ((&a + 1).matmul(&b) - b.t().matmul(a.t()).into_expr().sum()).eval()?.to_ndarray()?;
    ensure_eq!(got, reference::matmul(&x.mapv(|x| x + 1), &y)? - product.sum());
    // Vectors, and numbers of 16 bits.
    let row = a.index_axis(Axis(0), 1)?;
    let got = (row * a.matmul(&row).sum()).eval()?.to_ndarray()?;
    let sum = reference::sum(&reference::matmul(&x, &x.row(1))?);
    ensure_eq!(got, x.row(1).mapv(|value| value * sum));
    let half = |array: &Array2<i64>| GpuArray::from_ndarray(device, &array.mapv(|x| f16::from_f64(x as f64)));
    let got = (half(&x)?.matmul(&half(&y)?) + f16::ONE).eval()?.to_ndarray()?;
    ensure_eq!(got.mapv(|x| x.to_f64() as i64), product + 1);
    Ok(())
}

pub fn wrong_products_within_expressions_are_errors(device: &Device) -> Outcome {
    let (a, b) = (GpuArray::<f32, _>::zeros(device, (3, 4))?, GpuArray::<f32, _>::zeros(device, (5, 3))?);
    let error = (a.matmul(&b) + 1.0).eval().err().ok_or("no error")?;
    ensure!(error.to_string().ends_with("matmul: a has 4 columns, b has 5 rows"), "{error}");
    let error = (b.matmul(&a) + &a).eval().err().ok_or("no error")?;
    ensure!(matches!(error, ArrayError::Operands { .. }), "{error:?}");
    let none = GpuArray::<f32, _>::zeros(device, (0, 3))?;
    let nothing = (none.matmul(&a) * 2.0).eval()?;
    ensure_eq!(nothing.shape(), [0, 4]);
    Ok(())
}

pub fn products_on_two_streams(device: &Device) -> Outcome {
    let (one, two) = (Stream::new(device)?, Stream::new(device)?);
    let x = Array2::from_shape_fn((40, 600), |(i, j)| ((i + j) % 5) as f32);
    let want = reference::matmul(&x, x.t())?;
    for _ in 0..3 {
        let (a, b) = (GpuArray::from_ndarray(&one, &x)?, GpuArray::from_ndarray(&two, &x)?);
        let product = a.matmul(b.t()).eval()?;
        ensure_eq!(product.stream(), &one);
        let mut target = GpuArray::full(&two, (40, 40), -1.0f32)?;
        a.matmul(b.t()).write_into(&mut target)?;
        let third = a.matmul(b.t()).on(&two).eval()?;
        ensure_eq!(third.stream(), &two);
        for got in [product, target, third] {
            ensure!(got.to_ndarray()? == want);
        }
    }
    Ok(())
}

pub fn captured_products_are_replayed(device: &Device) -> Outcome {
    let (one, two) = (Stream::new(device)?, Stream::new(device)?);
    // Several blocks share a tile: scratch memory belongs to the graph.
    let x = Array2::from_shape_fn((10, 3000), |(i, j)| ((i + j) % 5) as f32);
    let mut a = GpuArray::from_ndarray(&one, &x)?;
    let mut c = GpuArray::full(&one, (10, 10), 0.0f32)?;
    let (graph, ()) = one.capture(|| a.matmul(a.t()).write_into(&mut c))?;
    for factor in [1.0f32, 2.0] {
        a.copy_from_ndarray(&(&x * factor))?;
        one.synchronize()?;
        // SAFETY: the arrays are alive, and nothing else uses them.
        unsafe { graph.launch(&two)? };
        two.synchronize()?;
        ensure_eq!(c.to_ndarray()?, reference::matmul(&x, x.t())? * (factor * factor));
    }
    Ok(())
}

pub fn wrong_products_are_errors(device: &Device) -> Outcome {
    let zeros = |shape: &[usize]| GpuArray::<f32, _>::zeros(device, IxDyn(shape));
    let message = |a: &[usize], b: &[usize]| -> Result<String, Failure> {
        let (a, b) = (zeros(a)?, zeros(b)?);
        Ok(a.matmul(&b).eval().err().map(|error| error.to_string()).unwrap_or_default())
    };
    ensure_eq!(message(&[2, 3], &[4, 5])?, "matmul: a has 3 columns, b has 4 rows");
    ensure_eq!(message(&[3], &[4])?, "matmul: a has 3 columns, b has 4 rows");
    ensure_eq!(message(&[], &[4])?, "matmul of a value without axes; `*` multiplies by a scalar");
    let stacks = "matmul: stacks of matrices of shapes [2, 3, 4] and [3, 4, 5] do not broadcast";
    ensure_eq!(message(&[2, 3, 4], &[3, 4, 5])?, stacks);
    // Broadcast factors, and a stack of no matrices.
    let (long, one) = (1 << 40, zeros(&[1, 1])?);
    let error = one.broadcast((long, 1))?.matmul(one.broadcast((1, long))?).eval().err();
    ensure!(matches!(error, Some(AlgoError::Array(ArrayError::TooLarge { .. }))), "{error:?}");
    let (x, y) = (ArrayD::<f32>::zeros(IxDyn(&[0, long, 1])), ArrayD::<f32>::zeros(IxDyn(&[0, 1, long])));
    for error in [host::matmul(&x, &y).err(), reference::matmul(&x, &y).err()] {
        ensure!(matches!(error, Some(AlgoError::Array(ArrayError::TooLarge { .. }))), "{error:?}");
    }
    // A stack of eight axes, none of which joins another, and rows of results.
    let stack = zeros(&[4, 4, 4, 4, 4, 4, 4, 4, 3, 5])?;
    let steps = [2, 2, 2, 2, 2, 2, 2, 2, 1, 1].map(|step| SliceInfoElem::Slice { start: 0, end: None, step });
    let error = stack.slice(&steps[..])?.matmul(&zeros(&[5])?).eval().err();
    ensure!(matches!(error, Some(AlgoError::TooManyAxes { op: "matmul", limit: 8, got: 9 })), "{error:?}");
    let (a, mut c) = (zeros(&[2, 2])?, GpuArray::full(device, IxDyn(&[2, 3]), 1.0f32)?);
    let error = a.matmul(&a).write_into(&mut c).err();
    ensure!(matches!(error, Some(AlgoError::OutShape { .. })), "{error:?}");
    let error = gemm(1.0, &a, &a, 1.0, &mut c).err();
    ensure!(matches!(error, Some(AlgoError::OutShape { .. })), "{error:?}");
    let error = gemm(1.0, &a, &zeros(&[3, 2])?, 1.0, &mut c).err();
    ensure_eq!(error.ok_or("no error")?.to_string(), "gemm: a has 2 columns, b has 3 rows");
    ensure!(c.to_ndarray()?.iter().all(|&x| x == 1.0));
    let product: MatrixProduct<'_, f32, IxDyn> = a.matmul(&c);
    ensure_eq!(format!("{product:?}"), "MatrixProduct(Ok([2, 2]) by Ok([2, 3]))");
    Ok(())
}
