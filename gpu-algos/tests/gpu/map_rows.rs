//! Expressions of rows and of reductions of these rows: values against the same lines with each reduction computed first, launches, aliasing.

use approx::abs_diff_eq;
use gpu_algos::{
    gpu_array::{
        Complex, GpuArray, GpuView,
        expression::{Expr, Gpu, IntoExpr, index},
        gpu_driver::Device,
    },
    prelude::*,
    reference,
};
use gpu_array::{bf16, f16};
use gpu_driver::emulated::Emulated;
use ndarray::{Array, Array1, Array2, Axis, Ix2, Ix3, IxDyn, array, s};
use testkit::{Layout, Outcome, Rng, Test, ensure, ensure_eq, rng, tests};

use crate::{
    launches::launches,
    layouts::{base, of_gpu},
    matmul_epilogues::bits,
};

pub const TESTS: &[Test<Device>] = tests![
    softmax_of_awkward_rows,
    softmax_of_every_layout,
    softmax_of_every_float,
    layer_norms_have_broadcast_operands,
    reductions_of_any_kind_have_the_same_values,
    nan_and_infinities_are_those_of_reductions_apart,
    rows_of_several_axes,
    rows_know_their_places,
    an_array_may_be_updated_by_its_rows,
    results_that_are_broadcast_otherwise_are_computed_first,
];

pub const COUNTS: &[Test<()>] = tests![rows_are_one_launch];

const ROWS: Axis = Axis(1);

fn float(rng: &mut Rng) -> f32 {
    (6.0 * rng.uniform() - 3.0) as f32
}

fn softmax<'a, D: ndarray::Dimension + ndarray::RemoveAxis>(x: Expr<'a, f32, D>, axis: Axis) -> Expr<'a, f32, D> {
    let e = (x.clone() - x.max().axis(axis).keep_dims()).exp();
    &e / e.sum().axis(axis).keep_dims()
}

/// Softmax of the last axis, in f64.
fn softmax_on_host(x: &Array<f32, IxDyn>) -> Array<f64, IxDyn> {
    let mut values = x.mapv(f64::from);
    let last = Axis(x.ndim() - 1);
    for mut row in values.lanes_mut(last) {
        let top = reference::max(row.view()).unwrap_or(f64::NAN);
        row.mapv_inplace(|x| (x - top).exp());
        let sum = reference::sum(row.view());
        row.mapv_inplace(|x| x / sum);
    }
    values
}

fn near(got: &Array<f32, IxDyn>, want: &Array<f64, IxDyn>, bound: f64, case: &str) -> Outcome {
    ensure_eq!((case, got.shape()), (case, want.shape()));
    for ((place, &got), &want) in got.indexed_iter().zip(want) {
        ensure!(
            (f64::from(got) - want).abs() <= bound * want.abs().max(1e-30),
            "{case} {place:?}: {got} in place of {want}"
        );
    }
    Ok(())
}

fn softmax_of_awkward_rows(device: &Device) -> Outcome {
    let mut rng = rng(301);
    let mut shapes = vec![
        [2, 2],
        [3, 5],
        [1000, 3],
        [257, 4],
        [70, 31],
        [33, 64],
        [9, 127],
        [5, 1000],
        [4, 1028],
        [3, 4097],
        [2, 9000],
    ];
    if !device.is_emulated() {
        shapes.extend([[8192, 8192], [4000, 33_000], [100_000, 8], [140, 200_001], [2, 1 << 20]]);
    }
    for shape in shapes {
        let h = Array2::from_shape_simple_fn(shape, || float(&mut rng));
        let x = GpuArray::from_ndarray(device, &h)?;
        let got = softmax((&x).into_expr(), ROWS).eval()?.to_ndarray()?;
        near(&got.into_dyn(), &softmax_on_host(&h.into_dyn()), 2e-6, &format!("{shape:?}"))?;
    }
    Ok(())
}

fn softmax_of_every_layout(device: &Device) -> Outcome {
    let mut rng = rng(302);
    for shape in [[6, 32], [5, 37]] {
        for (name, layout) in Layout::each(&shape) {
            let h = base(&layout, &mut rng, float);
            let x = GpuArray::from_ndarray(device, &h)?;
            let view = of_gpu(&layout, &x)?;
            let matrix: GpuView<'_, f32, Ix2> = view.into_dimensionality()?;
            let want = softmax_on_host(&layout.of_host(h.view()).to_owned());
            let got = softmax((&matrix).into_expr(), ROWS).eval()?.to_ndarray()?;
            near(&got.into_dyn(), &want, 2e-6, name)?;
            // Into every other column, of which the rest stays.
            let mut out = GpuArray::<f32, _>::full(device, (shape[0], 2 * shape[1]), 7.0)?;
            out.slice_mut(s![..;-1, ..;2])?.assign(softmax((&matrix).into_expr(), ROWS))?;
            let out = out.to_ndarray()?;
            near(&out.slice(s![..;-1, ..;2]).to_owned().into_dyn(), &want, 2e-6, name)?;
            ensure!(out.slice(s![.., 1..;2]).iter().all(|&value| value == 7.0), "{name}: an element beside the view");
        }
    }
    Ok(())
}

fn softmax_of_every_float(device: &Device) -> Outcome {
    let mut rng = rng(303);
    for length in [24, 45] {
        let h = Array2::from_shape_simple_fn((7, length), || float(&mut rng));
        let want = softmax_on_host(&h.clone().into_dyn());
        macro_rules! same {
            ($($float:ident $bound:expr;)*) => {$({
                let x = GpuArray::from_ndarray(device, &h)?.cast::<$float>().eval()?;
                let e = (&x - x.max().axis(ROWS).keep_dims()).exp();
                let got = (&e / e.sum().axis(ROWS).keep_dims()).eval()?.cast::<f32>().eval()?.to_ndarray()?;
                near(&got.into_dyn(), &want, $bound, stringify!($float))?;
            })*};
        }
        // The numbers of 16 bits are rounded themselves, and each step of the expression.
        same! { f64 2e-7; f16 8e-3; bf16 6e-2; }
    }
    Ok(())
}

fn layer_norms_have_broadcast_operands(device: &Device) -> Outcome {
    let mut rng = rng(304);
    for length in [16, 61, 300] {
        let h = Array2::from_shape_simple_fn((11, length), || float(&mut rng));
        let (gain, shift) = (
            Array1::from_shape_simple_fn(length, || float(&mut rng)),
            Array2::from_shape_simple_fn((11, 1), || float(&mut rng)),
        );
        let x = GpuArray::from_ndarray(device, &h)?;
        let (of_columns, of_rows) = (GpuArray::from_ndarray(device, &gain)?, GpuArray::from_ndarray(device, &shift)?);
        let centred = &x - x.mean().axis(ROWS).keep_dims();
        let scaled = centred / (x.var(0).axis(ROWS).keep_dims().into_expr() + 1e-5f32).sqrt();
        let got = (scaled * &of_columns + &of_rows).eval()?.to_ndarray()?;
        let mut want = h.mapv(f64::from);
        for (mut row, &shift) in want.rows_mut().into_iter().zip(&shift) {
            let (mean, variance) = (reference::mean(row.view()), reference::var(row.view(), 0));
            for (value, &gain) in row.iter_mut().zip(&gain) {
                *value = (*value - mean) / (variance + 1e-5).sqrt() * f64::from(gain) + f64::from(shift);
            }
        }
        for (got, want) in got.iter().zip(&want) {
            ensure!(abs_diff_eq!(f64::from(*got), want, epsilon = 1e-5), "{length}: {got} in place of {want}");
        }
    }
    Ok(())
}

/// Compares a line with the same line of the computed reductions, to the bit.
macro_rules! same_bits {
    ($x:expr, |$array:ident, $reduced:ident| $line:expr, $reduction:expr) => {{
        let $array = &$x;
        let got = {
            let $reduced = $reduction.into_expr();
            ($line).eval()?
        };
        let computed = $reduction.eval()?;
        let $reduced = (&computed).into_expr();
        ensure_eq!(bits(&got)?, bits(&($line).eval()?)?);
    }};
}

fn reductions_of_any_kind_have_the_same_values(device: &Device) -> Outcome {
    let mut rng = rng(305);
    for length in [8, 29, 1030] {
        let x =
            GpuArray::from_ndarray(device, &Array2::from_shape_simple_fn((6, length), || rng.below(100) as i32 - 50))?;
        same_bits!(x, |x, r| x + r, x.sum().axis(ROWS).keep_dims());
        same_bits!(x, |x, r| x - r, x.min().axis(ROWS).keep_dims());
        same_bits!(x, |x, r| x + r, x.argmax().axis(ROWS).keep_dims());
        same_bits!(x, |x, r| x + r, x.count().axis(ROWS).keep_dims());
        let flags = x.gt(48).eval()?;
        same_bits!(flags, |flags, r| flags ^ r, flags.any().axis(ROWS).keep_dims());
        let y = x.cast::<f32>().eval()?;
        same_bits!(y, |y, r| y - r, y.max().axis(ROWS).keep_dims());
        same_bits!(y, |y, r| y + r.cast::<f32>(), y.argmin().axis(ROWS).keep_dims());
        same_bits!(y, |y, r| y / r, y.norm_inf().axis(ROWS).keep_dims());
        // Sums of small whole numbers are exact in any order.
        let z = GpuArray::from_ndarray(device, &y.to_ndarray()?.mapv(|x| Complex::new(x, 1.0 - x)))?;
        same_bits!(z, |z, r| z - r, z.sum().axis(ROWS).keep_dims());
    }
    Ok(())
}

fn nan_and_infinities_are_those_of_reductions_apart(device: &Device) -> Outcome {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let h = array![
        [1.0, nan, 3.0, -2.0],
        [inf, 1.0, 2.0, 0.0],
        [-inf, 1.0, inf, 2.0],
        [-0.0, 0.0, 0.0, -0.0],
        [nan, nan, nan, nan]
    ];
    let x = GpuArray::from_ndarray(device, &h)?;
    same_bits!(x, |x, r| x - r, x.max().axis(ROWS).keep_dims());
    same_bits!(x, |x, r| x - r, x.nanmax().axis(ROWS).keep_dims());
    same_bits!(x, |x, r| x * r, x.sum().axis(ROWS).keep_dims());
    same_bits!(x, |x, r| x * r, x.nansum().axis(ROWS).keep_dims());
    same_bits!(x, |x, r| x - r, x.mean().axis(ROWS).keep_dims());
    same_bits!(x, |x, r| x - r, x.std(0).axis(ROWS).keep_dims());
    Ok(())
}

fn rows_of_several_axes(device: &Device) -> Outcome {
    let mut rng = rng(306);
    let h = Array::from_shape_simple_fn((3, 4, 20), || float(&mut rng));
    let x = GpuArray::from_ndarray(device, &h)?;
    let got = softmax((&x).into_expr(), Axis(2)).eval()?.to_ndarray()?;
    near(&got.into_dyn(), &softmax_on_host(&h.clone().into_dyn()), 2e-6, "in C order")?;
    let view = x.view().permuted_axes([1, 2, 0])?;
    let got = softmax((&view).into_expr(), Axis(2)).eval()?.to_ndarray()?;
    let turned = h.view().permuted_axes([1, 2, 0]).to_owned();
    near(&got.into_dyn(), &softmax_on_host(&turned.into_dyn()), 2e-6, "permuted")?;
    // One matrix of rows for all of a stack, with a row of a matrix each.
    let one: GpuView<'_, f32, Ix3> = x.view().slice(s![..1, .., ..])?.broadcast((5, 4, 20))?;
    let got = softmax((&one).into_expr(), Axis(2)).eval()?.to_ndarray()?;
    let want = h.slice(s![..1, .., ..]).broadcast((5, 4, 20)).ok_or("broadcast")?.to_owned();
    near(&got.into_dyn(), &softmax_on_host(&want.into_dyn()), 2e-6, "broadcast")
}

fn rows_know_their_places(device: &Device) -> Outcome {
    let h = Array2::from_shape_fn((5, 13), |(i, j)| ((i * 7 + j * 5) % 17) as i64);
    let x = GpuArray::from_ndarray(device, &h)?;
    let columns = index::<Ix2, Gpu>(Axis(1)).broadcast((5, 13));
    let got = (&x * 100 + columns.clone() - (&x + columns).max().axis(ROWS).keep_dims()).eval()?.to_ndarray()?;
    let greatest: Vec<i64> =
        h.rows().into_iter().map(|row| row.iter().zip(0..).map(|(x, j)| x + j).max().unwrap_or(0)).collect();
    let want = Array2::from_shape_fn((5, 13), |(i, j)| h[[i, j]] * 100 + j as i64 - greatest[i]);
    ensure_eq!(got, want);
    Ok(())
}

fn an_array_may_be_updated_by_its_rows(device: &Device) -> Outcome {
    let mut rng = rng(307);
    let shapes = if device.is_emulated() { vec![[9, 33], [3, 1500]] } else { vec![[9, 33], [3, 1500], [5000, 8192]] };
    for shape in shapes {
        let h = Array2::from_shape_simple_fn(shape, || float(&mut rng));
        let want = softmax_on_host(&h.clone().into_dyn());
        let mut x = GpuArray::from_ndarray(device, &h)?;
        x.update(|x| softmax(x, ROWS))?;
        near(&x.to_ndarray()?.into_dyn(), &want, 2e-6, &format!("{shape:?}"))?;
        let y = GpuArray::from_ndarray(device, &h)?;
        let mut x = GpuArray::from_ndarray(device, &h)?;
        x -= y.max().axis(ROWS).keep_dims();
        let tops = h.map_axis(ROWS, |row| reference::max(row).unwrap_or(f32::NAN));
        ensure_eq!(x.to_ndarray()?, &h - &tops.insert_axis(ROWS));
    }
    Ok(())
}

fn results_that_are_broadcast_otherwise_are_computed_first(device: &Device) -> Outcome {
    // Without kept axes a result stands along the columns of a square.
    let h = array![[1, 5, 2], [8, 0, 3], [4, 4, 9]];
    let x = GpuArray::from_ndarray(device, &h)?;
    ensure_eq!((&x - x.max().axis(ROWS)).eval()?.to_ndarray()?, &h - &array![5, 8, 9]);
    // Rows of another expression than the one that is written.
    let y = GpuArray::from_ndarray(device, &array![[1, 2], [3, 4], [5, 6]])?;
    let got = (&x - y.sum().axis(ROWS).keep_dims()).eval()?.to_ndarray()?;
    ensure_eq!(got, h.mapv(i64::from) - &array![[3i64], [7], [11]]);
    // Both at once, and rows beside columns.
    let got = (&x - x.max().axis(ROWS).keep_dims() - x.max().axis(Axis(0)).keep_dims()).eval()?.to_ndarray()?;
    ensure_eq!(got, &h - &array![[5], [8], [9]] - &array![[8, 5, 9]]);
    Ok(())
}

fn rows_are_one_launch(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let launches = |work: &dyn Fn() -> gpu_array::Result<()>| launches(&device, work);
    let x = GpuArray::<f32, _>::full(&device, (4, 40), 1.0)?;
    ensure_eq!(launches(&|| softmax((&x).into_expr(), ROWS).eval().map(drop))?, 1);
    let norm = || ((&x - x.mean().axis(ROWS).keep_dims()) / x.std(0).axis(ROWS).keep_dims()).eval().map(drop);
    ensure_eq!(launches(&norm)?, 1);
    let range = || {
        let (least, greatest) = (x.min().axis(ROWS).keep_dims(), x.max().axis(ROWS).keep_dims());
        ((&x - x.min().axis(ROWS).keep_dims()) / (greatest - least)).eval().map(drop)
    };
    ensure_eq!(launches(&range)?, 1);
    // Rows whose neighbours lie far apart are reduced by threads that go along columns.
    let turned = x.t();
    ensure_eq!(launches(&|| softmax((&turned).into_expr(), ROWS).eval().map(drop))?, 3);
    let strided = GpuArray::<f32, _>::full(&device, (4, 80), 1.0)?;
    let strided = strided.view().slice(s![.., ..;-2])?;
    ensure_eq!(launches(&|| softmax((&strided).into_expr(), ROWS).eval().map(drop))?, 1);
    // Few long rows are reduced by several blocks each.
    let x = GpuArray::<f32, _>::full(&device, (2, 40_000), 1.0)?;
    ensure_eq!(launches(&|| (&x - x.max().axis(ROWS).keep_dims()).eval().map(drop))?, 2);
    Ok(())
}
