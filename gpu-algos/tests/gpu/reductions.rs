//! Reductions against the reference.

use approx::{abs_diff_eq, relative_eq};
use gpu_algos::gpu_array::{
    ArrayError, Element, GpuArray, GpuView,
    expression::{Gpu, Outside, index, take},
    gpu_driver::{Device, Stream},
};
use gpu_algos::{
    AlgoError, Reduction, Results, host,
    operators::{ArgMax, Min, Operator, Sum},
    prelude::*,
    reference,
};
use ndarray::{Array, Array1, Array2, ArrayView2, ArrayViewD, Axis, Ix2, IxDyn, array, s};
use testkit::{Layout, Outcome, Test, ensure, ensure_eq, lengths_around, rng, tests};

use crate::layouts::{base, of_gpu};

pub const TESTS: &[Test<Device>] = tests![
    whole_arrays_of_awkward_lengths,
    any_axes_of_any_layout,
    places_and_nan,
    means_and_deviations,
    means_and_deviations_of_any_values,
    sums_of_f32_keep_their_bound,
    norms_and_products,
    reduced_indices_beside_values,
    columns_times_factors_of_their_rows,
    float_literals_need_no_type,
];

/// No line tells a type: where the compiler cannot find one, this does not compile.
fn float_literals_need_no_type(device: &Device) -> Outcome {
    let x = GpuArray::from_ndarray(device, &array![[1.0, 2.0], [3.0, 6.0]])?;
    let (sum, mean, deviation, variance) = (x.sum().get()?, x.mean().get()?, x.std(0).get()?, x.var(1).get()?);
    ensure_eq!(format!("{sum} {mean} {deviation:.3} {variance:.3}"), "12 3 1.871 4.667");
    let columns = x.mean().axis(Axis(0)).eval()?;
    ensure_eq!(format!("{}", columns.to_ndarray()?), "[2, 4]");
    let steps = GpuArray::arange(device, 0.0, 3.0, 0.5)?;
    let (sum, norm, sizes) = (steps.sum().get()?, steps.dot(&steps).get()?, steps.norm_l1().get()?);
    ensure_eq!(format!("{sum} {norm} {sizes} {:.3}", steps.norm_l2().get()?), "7.5 13.75 7.5 3.708");
    let ones = GpuArray::full(device, (2, 2), 1.0)?;
    let (mean, product) = (ones.mean().get()?, ones.prod().axis(Axis(1)).eval()?.to_ndarray()?);
    ensure_eq!(format!("{mean} {product}"), "1 [1, 1]");
    // Through operators and functions.
    let spread = (&x - 3.0).square().mean().get()?;
    let (root, half) = (ones.sqrt().mean().get()?, (&ones / 2.0).mean().get()?);
    let sums = x.cumsum().eval()?;
    let last = sums.sum().get()?;
    ensure_eq!(format!("{spread} {root} {half} {last}"), "3.5 1 0.5 22");
    Ok(())
}

pub fn whole_arrays_of_awkward_lengths(device: &Device) -> Outcome {
    let mut rng = rng(1);
    let tile = 512 * 4;
    let mut lengths = lengths_around(tile);
    lengths.extend([4, 8 * tile - 1, 8 * tile + 1]);
    if !device.is_emulated() {
        lengths.extend([1 << 20, (1 << 20) + 1, 12_345_677, 1 << 24]);
    }
    for n in lengths {
        let x = Array1::from(rng.whole_numbers(n + 3));
        let dx = GpuArray::from_ndarray(device, &x)?;
        for start in 0..4 {
            let (part, on_device) = (x.slice(s![start..]), dx.slice(s![start..])?);
            // Sums of whole numbers are exact in any order.
            ensure_eq!((n, start, on_device.sum().get()?), (n, start, reference::sum(part)));
            ensure_eq!(on_device.count().get()?, reference::count(part));
            if part.is_empty() {
                continue;
            }
            ensure_eq!((n, on_device.argmin().get()?), (n, reference::argmin(part)?));
            ensure_eq!(on_device.max().get()?, reference::max(part)?);
        }
        let back: f32 = dx.slice(s![..;-1])?.sum().get()?;
        ensure_eq!(back, reference::sum(x.slice(s![..;-1])));
        ensure_eq!(dx.slice(s![..;-2])?.argmax().get()?, reference::argmax(x.slice(s![..;-2]))?);
        let twice = (&dx + dx.slice(s![..;-1])?).sum().get()?;
        ensure_eq!(twice, reference::sum(&(&x + &x.slice(s![..;-1]))));
    }
    let none = GpuArray::<f32, _>::zeros(device, 0)?;
    ensure_eq!((none.sum().get()?, none.prod().get()?, none.any().get()?, none.all().get()?), (0.0, 1.0, false, true));
    ensure!(none.mean().get()?.is_nan() && matches!(none.max().get(), Err(AlgoError::Empty { op: "max" })));
    ensure!(matches!(none.argmin().eval(), Err(AlgoError::Empty { op: "argmin" })));
    Ok(())
}

/// Compares a reduction over every set of axes.
fn over_all_axes<T: Element, O: Results<Arrays<IxDyn, Gpu> = GpuArray<O, IxDyn>> + Element, R>(
    host: &ArrayViewD<'_, T>,
    view: &GpuView<'_, T, IxDyn>,
    reduction: R,
    op: &impl Operator<Value = T, Output = O>,
) -> Outcome
where
    R: for<'v> Fn(&GpuView<'v, T, IxDyn>) -> Reduction<'v, O, IxDyn>,
{
    for set in 0..1usize << host.ndim() {
        let axes: Vec<Axis> = (0..host.ndim()).filter(|axis| set >> axis & 1 == 1).map(Axis).collect();
        let got = reduction(view).axes(&axes).eval();
        let context = format!("shape {:?}, strides {:?}, axes {axes:?}", host.shape(), host.strides());
        let got = got.map_err(|error| format!("{context}: {error}"))?.to_ndarray()?;
        let want = reference::reduce_axes(op, host, &axes)?;
        ensure!(got == want, "{context}: got {got:?}, want {want:?}");
    }
    Ok(())
}

pub fn any_axes_of_any_layout(device: &Device) -> Outcome {
    let mut rng = rng(2);
    let shapes = [[2, 3, 5], [1, 40, 33], [64, 7, 4], [3, 1, 130], [9, 70, 1], [5, 4, 64]];
    for shape in shapes {
        let n = shape.iter().product();
        let x = Array::from_shape_vec(IxDyn(&shape), rng.whole_numbers(n))?;
        let dx = GpuArray::from_ndarray(device, &x)?;
        for (_, layout) in Layout::each(&shape) {
            let values = base(&layout, &mut rng, |rng| rng.below(17) as f32 - 8.0);
            let on_device = GpuArray::from_ndarray(device, &values)?;
            let (host, view) = (layout.of_host(values.view()), of_gpu(&layout, &on_device)?);
            over_all_axes(&host, &view, |x| x.sum(), &Sum::new())?;
            over_all_axes(&host, &view, |x| x.argmax(), &ArgMax::new())?;
        }
        let wide = x.view().insert_axis(Axis(1));
        let wide = wide.broadcast(IxDyn(&[shape[0], 3, shape[1], shape[2]])).ok_or("broadcast")?;
        let view = dx.insert_axis(Axis(1))?;
        let view = view.broadcast(IxDyn(&[shape[0], 3, shape[1], shape[2]]))?;
        over_all_axes(&wide, &view, |x| x.sum(), &Sum::new())?;
    }
    Ok(())
}

pub fn places_and_nan(device: &Device) -> Outcome {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let cases: [&[f32]; 6] = [
        &[1.0, nan, 3.0, nan],
        &[nan, nan],
        &[inf, -inf, 2.0],
        &[-inf; 3],
        &[0.0, -0.0, 0.0],
        &[nan, 5.0, 5.0, -1.0, -1.0],
    ];
    for values in cases {
        let x = GpuArray::from_ndarray(device, &Array1::from(values.to_vec()))?;
        let same = |got: f32, want: f32| got == want || (got.is_nan() && want.is_nan());
        let both = |got: (f32, f32), want: (f32, f32)| same(got.0, want.0) && same(got.1, want.1);
        ensure!(both((x.min().get()?, x.max().get()?), (reference::min(values)?, reference::max(values)?)));
        ensure!(both((x.nanmin().get()?, x.nanmax().get()?), (reference::nanmin(values)?, reference::nanmax(values)?)));
        ensure!(both(x.nanmin_max().get()?, reference::nanmin_max(values)?));
        ensure!(both(x.min_max().get()?, reference::min_max(values)?));
        ensure_eq!(x.argmin().get()?, reference::argmin(values)?);
        let places = (reference::nanargmin(values)?, reference::nanargmax(values)?);
        ensure_eq!((x.nanargmin().get()?, x.nanargmax().get()?), places);
        ensure!(both((x.nansum().get()?, x.sum().get()?), (reference::nansum(values), reference::sum(values))));
        ensure!(same(x.nanmean().get()?, reference::nanmean(values)));
        ensure_eq!((x.any().get()?, x.all().get()?), (reference::any(values), reference::all(values)));
    }
    let masks = Array2::from_shape_fn((5, 70), |(i, j)| (i * 70 + j) % 3 == 0);
    let on_device = GpuArray::from_ndarray(device, &masks)?;
    ensure_eq!(on_device.sum().get()?, 117);
    ensure_eq!((on_device.max().get()?, on_device.argmin().get()?, on_device.count().get()?), (true, 1, 117));
    let rows = on_device.all().axis(Axis(1)).eval()?.to_ndarray()?;
    ensure_eq!(rows, masks.map_axis(Axis(1), reference::all));
    let bytes = Array1::from_shape_fn(1000, |i| (i * 7 % 256) as u8);
    let on_device = GpuArray::from_ndarray(device, &bytes)?;
    ensure_eq!(on_device.sum().get()?, reference::sum(&bytes));
    ensure_eq!((on_device.max().get()?, on_device.argmax().get()?), (255, 73));
    Ok(())
}

pub fn means_and_deviations(device: &Device) -> Outcome {
    let mut rng = rng(3);
    // Far from 0, so that a difference of large squares would lose all digits; and one far away, in front.
    for (offset, first) in [(0.0, 0.0), (1e7, 0.0), (-3e9, 1e12)] {
        let mut x = Array2::from_shape_fn((37, 301), |_| offset + rng.below(1000) as f64 / 500.0);
        x[(0, 0)] += first;
        let dx = GpuArray::from_ndarray(device, &x)?;
        // Not the reference, whose mean of large values is rounded at each of them: values less the offset keep all digits.
        let want = |values: &[f64], ddof: f64| {
            let mean = values.iter().map(|x| x - offset).sum::<f64>() / values.len() as f64;
            let squares: f64 = values.iter().map(|x| (x - offset - mean).powi(2)).sum();
            (mean + offset, squares / (values.len() as f64 - ddof))
        };
        let close = |got: f64, want: f64, bound: f64| (got - want).abs() <= bound * want.abs().max(1e-300);
        let (mean, var) = dx.mean_var(1).get()?;
        let all = want(&x.iter().copied().collect::<Vec<_>>(), 1.0);
        ensure!(close(mean, all.0, 1e-14) && close(var, all.1, 1e-12), "{mean} {var} {all:?}");
        for axis in 0..2 {
            let (mean, var) = dx.mean_var(0).axis(Axis(axis)).eval()?;
            let (mean, var) = (mean.to_ndarray()?, var.to_ndarray()?);
            let std = dx.std(0).axis(Axis(axis)).eval()?.to_ndarray()?;
            for (i, lane) in x.lanes(Axis(axis)).into_iter().enumerate() {
                let want = want(&lane.to_vec(), 0.0);
                ensure!(
                    close(mean[i], want.0, 1e-14) && close(var[i], want.1, 1e-12),
                    "{i}: {} {} {want:?}",
                    mean[i],
                    var[i]
                );
                ensure!(close(std[i], want.1.sqrt(), 1e-12));
            }
        }
    }
    let one = GpuArray::from_ndarray(device, &Array1::from(vec![3i32]))?;
    ensure_eq!((one.mean().get()?, one.var(0).get()?), (3.0, 0.0));
    ensure!(one.var(1).get()?.is_nan());
    let x = GpuArray::from_ndarray(device, &Array1::from(vec![1f32, f32::NAN, 3.0]))?;
    ensure_eq!((x.nanvar(0).get()?, x.nanstd(1).get()?), (1.0, 2f32.sqrt()));
    ensure!(x.var(0).get()?.is_nan());
    let apart = GpuArray::from_ndarray(device, &Array1::from(vec![1e200f64, -1e200]))?;
    let (mean, var) = apart.mean_var(0).get()?;
    ensure!(mean.abs() < 1e185 && var == f64::INFINITY, "{mean} {var}");
    // Into arrays and parts of arrays that are there, of one layout.
    let table = Array2::from_shape_fn((50, 4), |(i, j)| (i * (j + 1)) as f64);
    let dx = GpuArray::from_ndarray(device, &table)?;
    let (mut means, mut vars) = (GpuArray::full(device, 8, -1f64)?, GpuArray::full(device, 8, -1f64)?);
    dx.mean_var(0).axis(Axis(0)).write_into(means.slice_mut(s![..;2])?, vars.slice_mut(s![..;2])?)?;
    let (mean, var) = dx.mean_var(0).axis(Axis(0)).eval()?;
    for (got, want) in [(&means, mean), (&vars, var)] {
        ensure_eq!(got.slice(s![..;2])?.to_ndarray()?, want.to_ndarray()?);
        ensure_eq!(got.slice(s![1..;2])?.to_ndarray()?, Array1::from_elem(4, -1.0));
    }
    let (mut least, mut greatest) = (GpuArray::<f64, _>::zeros(device, ())?, GpuArray::<f64, _>::zeros(device, ())?);
    dx.min_max().write_into(&mut least, &mut greatest)?;
    ensure_eq!((least.get()?, greatest.get()?), (0.0, 196.0));
    let refused = dx.mean_var(0).axis(Axis(0)).write_into(means.slice_mut(s![..4])?, vars.slice_mut(s![..;2])?);
    ensure!(matches!(refused, Err(AlgoError::OutStrides { .. })), "{refused:?}");
    let refused = dx.mean_var(0).axis(Axis(0)).write_into(means.slice_mut(s![..4])?, vars.slice_mut(s![..3])?);
    ensure!(matches!(refused, Err(AlgoError::OutShape { .. })), "{refused:?}");
    let infinite = GpuArray::from_ndarray(device, &Array1::from(vec![1.0, f64::INFINITY]))?;
    ensure!(infinite.var(0).get()?.is_nan());
    Ok(())
}

/// Values that are all alike, far from 0, far apart, or not finite have NumPy's mean and variance on the device, on the host's threads and by the
/// definition. All three promise this answer, so `host` stands beside `reference` here.
pub fn means_and_deviations_of_any_values(device: &Device) -> Outcome {
    let (inf, nan, most) = (f64::INFINITY, f64::NAN, 1e300);
    let same = |got: f64, want: f64| got == want || (got.is_nan() && want.is_nan());
    for n in [2, 3, 1000, 40_003] {
        // Values but for one at the beginning, in the middle or at the end, with mean and variance.
        let one = 1.0 / n as f64;
        let cases = [
            (1e170, 1e170, 1e170, 0.0),
            (-3e300, -3e300, -3e300, 0.0),
            (0.1, 0.1, 0.1, 0.0),
            (1.0, inf, inf, nan),
            (1.0, -inf, -inf, nan),
            (inf, inf, inf, nan),
            (inf, -inf, nan, nan),
            (1.0, nan, nan, nan),
            (inf, nan, nan, nan),
            (1e200, -1e200, 1e200 * (1.0 - 2.0 * one), inf),
            (0.0, most, most * one, inf),
        ];
        for (value, other, want_mean, want_variance) in cases {
            for at in [0, n / 2, n - 1] {
                let mut values = vec![value; n];
                values[at] = other;
                let on_device = GpuArray::from_ndarray(device, &Array1::from(values.clone()))?;
                let column = on_device.insert_axis(Axis(1))?;
                let of_column = column.mean_var(0).axis(Axis(0)).eval()?;
                let all = [
                    on_device.mean_var(0).get()?,
                    (of_column.0.to_ndarray()?[0], of_column.1.to_ndarray()?[0]),
                    host::mean_var(&values, 0),
                    reference::mean_var(&values, 0),
                ];
                for (k, (mean, variance)) in all.into_iter().enumerate() {
                    // The definition takes one value after another, and rounds each time.
                    let share = if k == 3 { f64::EPSILON * n as f64 } else { 4e-15 };
                    let near = (mean - want_mean).abs() <= share * value.abs().max(other.abs());
                    ensure!(
                        (near || same(mean, want_mean)) && same(variance, want_variance),
                        "{n} of {value:e}, {other:e} at {at}: {all:?}"
                    );
                }
            }
        }
        // Half of the values one more than the others: everywhere as exact as f64 tells them apart.
        for offset in [0.0, 1e9, -1e12, 1e15] {
            let values: Vec<f64> = (0..2 * n).map(|i| offset + (i * 7 % (2 * n) % 2) as f64).collect();
            let on_device = GpuArray::from_ndarray(device, &Array1::from(values.clone()))?;
            for variance in [on_device.var(0).get()?, host::var(&values, 0), reference::var(&values, 0)] {
                ensure!(abs_diff_eq!(variance, 0.25, epsilon = 1e-13), "{n} around {offset:e}: {variance}");
            }
        }
    }
    Ok(())
}

/// Sums of f32 keep to one bound on a device and on the host, whatever their length and layout. Those of `accumulate_f64` and of the
/// host are rounded once, and so are products. The bound is a promise of `host::sum` too, so it stands beside the definition here.
pub fn sums_of_f32_keep_their_bound(device: &Device) -> Outcome {
    let mut rng = rng(41);
    // Around the lengths from which on they are carried in f64.
    let more = if device.is_emulated() { (1 << 21) + 1 } else { (1 << 25) + 1 };
    for n in [3, 100, 256, 257, 5000, 16_384, 16_385, 70_001, 1 << 20, more] {
        let ends = [(0.0, 1.0), (-1.0, 1.0), (1e6, 1.1e6)][n % 3];
        let values: Vec<f32> = (0..n).map(|_| (ends.0 + rng.uniform() * (ends.1 - ends.0)) as f32).collect();
        let wide: Vec<f64> = values.iter().map(|&x| f64::from(x)).collect();
        let exact = reference::sum(&wide);
        let bound = reference::norm_l1(&wide) / f64::from(1 << 18);
        let x = GpuArray::from_ndarray(device, &Array1::from(values.clone()))?;
        let ones = GpuArray::full(device, n, 1f32)?;
        let rounded = |got: f32, exact: f64| {
            let ulp = f64::from(f32::from_bits((exact as f32).to_bits() + 1)) - f64::from(exact as f32);
            (f64::from(got) - exact).abs() <= 0.500_001 * ulp.abs()
        };
        // Columns and rows of these values, beside each other.
        let (column, row) = (x.view().insert_axis(Axis(1))?, x.view().insert_axis(Axis(0))?);
        let (columns, rows) = (column.broadcast((n, 3))?, row.broadcast((3, n))?);
        let mut all = vec![
            x.sum().get()?,
            x.nansum().get()?,
            x.dot(&ones).get()?,
            x.vdot(&ones).get()?,
            column.sum().axis(Axis(0)).eval()?.to_ndarray()?[0],
            host::sum(&values),
            reference::sum(&values),
        ];
        all.extend(columns.sum().axis(Axis(0)).eval()?.to_ndarray()?);
        all.extend(rows.sum().axis(Axis(1)).eval()?.to_ndarray()?);
        // Many short columns whose sums are not shared by threads.
        let table = x.slice(s![..n / 16 * 16])?.reshape((16, n / 16))?;
        let of_table = table.sum().axis(Axis(0)).eval()?.to_ndarray()?;
        for (at, &got) in of_table.iter().enumerate() {
            let column: Vec<f64> = (0..16).map(|row| wide[row * (n / 16) + at]).collect();
            let (exact, size) = (reference::sum(&column), reference::norm_l1(&column));
            ensure!(
                (f64::from(got) - exact).abs() <= size / f64::from(1 << 18),
                "{n}, column {at}: {got}, not {exact}"
            );
        }
        ensure!(
            all.iter().all(|&got| (f64::from(got) - exact).abs() <= bound),
            "{n}: {all:?}, not {exact} within {bound:e}"
        );
        for got in [x.sum().accumulate_f64().get()?, host::sum(&values), reference::sum(&values)] {
            ensure!(rounded(got, exact), "{n}: {got}, not {exact}");
        }
        let near_one: Vec<f32> = values.iter().map(|x| 1.0 + (x / 1.1e6 - 0.5) / n as f32).collect();
        let exact = reference::prod(&near_one.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>());
        let got = GpuArray::from_ndarray(device, &Array1::from(near_one))?.prod().get()?;
        ensure!(rounded(got, exact), "{n}: {got}, not {exact}");
    }
    Ok(())
}

/// An index as an expression's second operand, along either axis.
pub fn reduced_indices_beside_values(device: &Device) -> Outcome {
    for (rows, columns) in [(3, 4), (5, 1000), (700, 64), (2, 9001)] {
        let x = Array2::from_shape_fn((rows, columns), |(i, j)| (i * 7 + j * 3) as i64 % 11);
        let a = GpuArray::from_ndarray(device, &x)?;
        for with in [0, 1] {
            let weighted = Array2::from_shape_fn((rows, columns), |(i, j)| x[(i, j)] - [i, j][with] as i64);
            for along in [0, 1] {
                let got = (&a - index::<Ix2, Gpu>(Axis(with))).sum().axis(Axis(along)).eval()?;
                ensure_eq!(got.to_ndarray()?, weighted.map_axis(Axis(along), reference::sum));
            }
            ensure_eq!((&a - index::<Ix2, Gpu>(Axis(with))).sum().get()?, reference::sum(&weighted));
        }
    }
    Ok(())
}

/// Factors stand for all columns of a row, a plain operand of `reduce_columns` beside the matrix.
pub fn columns_times_factors_of_their_rows(device: &Device) -> Outcome {
    let shapes = [(1, 4), (3, 1), (7, 8), (33, 64), (1000, 36), (129, 1001), (4099, 20)];
    for (rows, columns) in shapes {
        let x = Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 7 + j * 3) % 11) as f32 - 5.0);
        let w = Array2::from_shape_fn((rows, 1), |(i, _)| (i % 13) as f32 - 6.0);
        let weighted = &x * &w;
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &w)?);
        let name = format!("{rows} x {columns}");
        // Sums of whole numbers are exact.
        let sums = |view: ArrayView2<'_, f32>| reference::reduce_axes(&Sum::new(), view, &[Axis(0)]);
        let got = (&a * &b).sum().axis(Axis(0)).eval()?.to_ndarray()?.into_dyn();
        ensure!(got == sums(weighted.view())?, "{name}");
        let got = (&b * &a).min().axis(Axis(0)).eval()?.to_ndarray()?.into_dyn();
        ensure!(got == reference::reduce_axes(&Min::new(), &weighted, &[Axis(0)])?, "{name}");
        let got = (&a * &b).argmax().axis(Axis(0)).eval()?.to_ndarray()?.into_dyn();
        ensure!(got == reference::reduce_axes(&ArgMax::new(), &weighted, &[Axis(0)])?, "{name}");
        // Two factors and no matrix; columns that begin at no pack.
        let got = (&b * &b).broadcast((rows, columns)).sum().axis(Axis(0)).eval()?.to_ndarray()?.into_dyn();
        ensure!(got == sums((&w * &w).broadcast((rows, columns)).ok_or("shape")?)?, "{name}");
        let got = (a.slice(s![.., 1..])? * &b).sum().axis(Axis(0)).eval()?.to_ndarray()?.into_dyn();
        ensure!(got == sums(weighted.slice(s![.., 1..]))?, "{name}, from column 1 on");
    }
    Ok(())
}

pub fn norms_and_products(device: &Device) -> Outcome {
    let x = GpuArray::from_ndarray(device, &Array1::from(vec![3f64, -4.0, 0.0]))?;
    ensure_eq!((x.norm_l1().get()?, x.norm_l2().get()?, x.norm_inf().get()?), (7.0, 5.0, 4.0));
    for scale in [1e-200, 1e-310, 1e200, 1e300] {
        let got = (&x * scale).norm_l2().get()?;
        ensure!(relative_eq!(got, 5.0 * scale, epsilon = 0.0, max_relative = 1e-9), "{got}");
    }
    // As many squares of one size as do not overflow, and their sum would.
    let one = GpuArray::full(device, 1, 2f64.powi(500))?;
    ensure_eq!(one.broadcast(1 << 24)?.norm_l2().get()?, 2f64.powi(512));
    let y = GpuArray::from_ndarray(device, &Array1::from(vec![2f32, 0.5, 7.0]))?;
    ensure_eq!((x.dot(&y).get()?, y.norm_l2().get()?), (4.0, 53.25f32.sqrt()));
    let short = GpuArray::<f32, _>::zeros(device, 2)?;
    ensure!(matches!(x.dot(&short).get(), Err(AlgoError::Array(ArrayError::Operands { .. }))));
    let matrix = GpuArray::from_ndarray(device, &Array2::from_shape_fn((4, 5), |(i, j)| (i * 5 + j) as i32))?;
    let backwards = matrix.slice(s![..;-1, ..;-1])?;
    ensure_eq!(matrix.vdot(&backwards).get()?, (0..20).map(|i| i * (19 - i)).sum::<i32>());
    // Over a subset, as PyCUDA's subset_sum, subset_dot and subset_max.
    let places = GpuArray::from_ndarray(device, &Array1::from(vec![2i64, 0, -2]))?;
    let subset = || take(&y, &places, Outside::Wrap);
    ensure_eq!((subset().sum().get()?, subset().max().get()?), (9.5, 7.0));
    ensure_eq!(subset().dot(take(&x, &places, Outside::Wrap)).get()?, 4.0);
    // Into parts of arrays, and with axes that stay.
    let mut out = GpuArray::<i64, _>::zeros(device, (2, 4))?;
    matrix.sum().axis(Axis(1)).write_into(out.index_axis_mut(Axis(0), 1)?)?;
    let mut reversed = out.slice_mut(s![0, ..;-1])?;
    matrix.sum().axis(Axis(1)).write_into(reversed.view_mut())?;
    ensure_eq!(out.to_ndarray()?, ndarray::array![[85, 60, 35, 10], [10, 35, 60, 85]]);
    let refused = matrix.sum().axis(Axis(0)).write_into(out.index_axis_mut(Axis(0), 1)?);
    ensure!(matches!(refused, Err(AlgoError::OutShape { .. })));
    let means = matrix.mean().axis(Axis(1)).keep_dims().eval()?;
    ensure_eq!(means.shape(), [4, 1]);
    ensure_eq!((&matrix - &means).sum().get()?, 0.0);
    ensure!(matches!(matrix.sum().axes(&[Axis(1), Axis(1)]).eval(), Err(AlgoError::RepeatedAxis { axis: 1, .. })));
    ensure!(matches!(matrix.sum().axis(Axis(2)).eval(), Err(AlgoError::Array(ArrayError::Axis { axis: 2, .. }))));
    // f32 that f64 alone adds up exactly.
    let many = GpuArray::from_ndarray(device, &Array1::from_elem(4000, 16_777_217f64 as f32 + 0.0))?;
    ensure_eq!(f64::from(many.sum().accumulate_f64().get()?), (4000.0 * 16_777_216.0) as f32 as f64);
    let side = Stream::new(device)?;
    let elsewhere = GpuArray::from_ndarray(&side, &Array1::from(vec![1i8; 3000]))?;
    let total = elsewhere.sum().eval()?;
    ensure_eq!(total.stream(), &side);
    ensure_eq!((elsewhere.sum().get()?, elsewhere.sum().on(device).get()?), (3000, 3000));
    Ok(())
}
