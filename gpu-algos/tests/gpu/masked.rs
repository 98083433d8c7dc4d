//! Reductions of the values that a mask selects, against the reference of the selected values.

use gpu_algos::{
    AlgoError,
    gpu_array::{
        ArrayError, Complex, GpuArray,
        expression::{Gpu, Host, host, index, where_},
        f16,
        gpu_driver::{Device, Stream},
    },
    host as on_host,
    operators::Operand,
    prelude::*,
    reduce::{Ordered, Reduces, Summable},
    reference,
};
use gpu_driver::emulated::Emulated;
use ndarray::{Array1, Array2, Array3, Axis, Ix1, IxDyn, array, s};
use testkit::{Layout, Outcome, Rng, Test, ensure, ensure_eq, lengths_around, rng, tests};

use crate::{
    launches::launches,
    layouts::{base, of_gpu},
};

pub const TESTS: &[Test<Device>] = tests![
    selected_values_of_any_number_are_reduced,
    integers_and_extremes_are_exact,
    any_layout_of_values_and_mask_is_reduced,
    a_selected_nan_counts_and_another_does_not,
    nothing_selected_has_the_documented_result,
    selected_halves_and_complex_numbers_are_reduced,
    reductions_of_selected_values_are_operands,
    selected_values_have_one_axis,
    results_go_to_existing_memory_and_to_given_streams,
    wrong_masks_and_axes_are_errors,
    the_host_has_the_bits_of_the_selected_array,
    the_host_selects_too,
];

pub const COUNTS: &[Test<()>] = tests![a_reduction_of_selected_values_is_one_launch];

fn flags(rng: &mut Rng, n: usize, percent: usize) -> Array1<bool> {
    (0..n).map(|_| rng.below(100) < percent).collect()
}

fn near(got: f64, want: f64, bound: f64) -> bool {
    (got - want).abs() <= bound * want.abs().max(1e-300) || (got.is_nan() && want.is_nan())
}

fn selected_values_of_any_number_are_reduced(device: &Device) -> Outcome {
    let mut rng = rng(31);
    let many = if device.is_emulated() { 60_013 } else { 300_007 };
    for n in lengths_around(2048).into_iter().chain([many]) {
        let x = Array1::from_shape_simple_fn(n + 3, || (rng.uniform() - 0.25) as f32);
        for percent in [0, 1, 50, 100] {
            let m = flags(&mut rng, n + 3, percent);
            let (dx, dm) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &m)?);
            // Packs of both are aligned alike, or are not.
            for (first, other) in [(0, 0), (1, 1), (3, 2)] {
                let (x, m) = (x.slice(s![first..n + first]), m.slice(s![other..n + other]));
                let chosen = reference::select(x, m)?;
                let selected = dx.slice(s![first..n + first])?.select(dm.slice(s![other..n + other])?);
                let (mean, variance) = selected.mean_var(1).get()?;
                let size: f64 = chosen.iter().map(|x| f64::from(x.abs())).sum();
                let got: f64 = selected.sum().get()?.into();
                let about = format!("{n} {percent} {first}");
                ensure!((got - f64::from(reference::sum(&chosen))).abs() <= 4e-6 * size, "{about}: {got}");
                let got = selected.sum().accumulate_f64().get()?.into();
                ensure!(near(got, reference::sum(&chosen).into(), 1.2e-7), "{about}: {got}");
                for (got, want) in [
                    (selected.mean().get()?, reference::mean(&chosen)),
                    (mean, reference::mean(&chosen)),
                    (selected.var(1).get()?, reference::var(&chosen, 1)),
                    (variance, reference::var(&chosen, 1)),
                    (selected.std(0).get()?, reference::std(&chosen, 0)),
                ] {
                    ensure!(near(got.into(), want.into(), 1e-6), "{about}: {got}, want {want}");
                }
                let greatest = reference::max(&chosen).unwrap_or(f32::NAN);
                let got = selected.max().get()?;
                ensure!(got == greatest || (got.is_nan() && greatest.is_nan()), "{about}: {got}, want {greatest}");
            }
        }
    }
    Ok(())
}

fn integers_and_extremes_are_exact(device: &Device) -> Outcome {
    fn check<T: Operand + Ordered + Summable<Sum = <T as gpu_algos::operators::Summand>::Sum>>(
        device: &Device,
        element: impl Fn(usize) -> T,
    ) -> Outcome
    where
        Host: Reduces<T>,
    {
        let mut rng = rng(32);
        for n in [1, 5, 1021, 20_011, 150_001] {
            let x = Array1::from_shape_simple_fn(n, || element(rng.below(256)));
            let m = flags(&mut rng, n, 40);
            let chosen = reference::select(&x, &m)?;
            let (dx, dm) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &m)?);
            let (selected, hx, hm) = (dx.select(&dm), host(&x), host(&m));
            let on_host = hx.select(&hm);
            let want = (reference::sum(&chosen), reference::prod(&chosen), reference::count_nonzero(&chosen));
            ensure_eq!((selected.sum().get()?, selected.prod().get()?, selected.count().get()?), want);
            ensure_eq!((on_host.sum().get()?, on_host.prod().get()?, on_host.count().get()?), want);
            let want = (reference::any(&chosen), reference::all(&chosen));
            ensure_eq!((selected.any().get()?, selected.all().get()?), want);
            ensure_eq!((on_host.any().get()?, on_host.all().get()?), want);
            if !chosen.is_empty() {
                let want = (reference::min(&chosen)?, reference::max(&chosen)?);
                ensure_eq!((selected.min().get()?, selected.max().get()?), want);
                ensure_eq!((selected.min_max().get()?, on_host.min_max().get()?), (want, want));
            }
        }
        Ok(())
    }
    check(device, |x| x as i32 - 100)?;
    check(device, |x| x as u8)?;
    check(device, |x| x > 3)
}

fn any_layout_of_values_and_mask_is_reduced(device: &Device) -> Outcome {
    let mut rng = rng(33);
    for _ in 0..40 {
        let layout = Layout::random_of_any_shape(&mut rng);
        let (x, m) =
            (base(&layout, &mut rng, |rng| rng.below(100) as i32), base(&layout, &mut rng, |rng| rng.below(3) > 0));
        let (dx, dm) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &m)?);
        let chosen = reference::select(layout.of_host(x.view()), layout.of_host(m.view()))?;
        let (vx, vm, want) = (&of_gpu(&layout, &dx)?, of_gpu(&layout, &dm)?, reference::sum(&chosen));
        ensure_eq!(vx.select(&vm).sum().get()?, want);
        // A mask in C order beside values in any.
        let dense = vm.to_owned()?;
        ensure_eq!(vx.select(&dense).sum().get()?, want);
    }
    // Values along another axis than the mask, reversed, and repeated.
    let x = Array3::from_shape_fn((7, 12, 33), |(i, j, k)| (i * 500 + j * 40 + k) as i64);
    let m = Array3::from_shape_fn((33, 12, 7), |(i, j, k)| (i * 5 + j * 3 + k) % 4 == 0);
    let (dx, dm) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &m)?);
    let part = s![..;-1, 1..;2, ..];
    let want = reference::sum(&reference::select(x.t().slice(part), m.slice(part))?);
    ensure_eq!(dx.t().slice(part)?.select(dm.slice(part)?).sum().get()?, want);
    let row = GpuArray::from_ndarray(device, &array![true, false, true])?;
    let wide = GpuArray::from_ndarray(device, &Array2::from_shape_fn((500, 3), |(i, j)| (i * 3 + j) as i64))?;
    let want = reference::sum(&reference::copy_if(&Array1::from_iter(0..1500i64), |x| x % 3 != 1));
    ensure_eq!(wide.select(row.broadcast((500, 3))?).sum().get()?, want);
    // A mask that is no array, and values that are none.
    let places = index::<Ix1, Gpu>(Axis(0)).broadcast(1000);
    ensure_eq!(places.select((&places % 7).eq(0)).sum().on(device).get()?, (0..1000).step_by(7).sum::<i64>());
    Ok(())
}

fn a_selected_nan_counts_and_another_does_not(device: &Device) -> Outcome {
    let x = array![1.0, f64::NAN, 5.0, f64::NAN, f64::INFINITY];
    let dx = GpuArray::from_ndarray(device, &x)?;
    let without = array![true, false, true, false, false];
    let (dm, none, hx) = (GpuArray::from_ndarray(device, &without)?, x.mapv(|_| true), host(&x));
    let (selected, on_host) = (dx.select(&dm), hx.select(host(&without)));
    ensure_eq!((selected.mean().get()?, selected.sum().get()?, selected.var(0).get()?), (3.0, 6.0, 4.0));
    ensure_eq!((selected.min().get()?, selected.max().get()?, selected.count().get()?), (1.0, 5.0, 2));
    ensure_eq!((on_host.min().get()?, on_host.max().get()?, on_host.mean().get()?), (1.0, 5.0, 3.0));
    let with = array![true, true, true, false, false];
    let dm = GpuArray::from_ndarray(device, &with)?;
    let (selected, on_host) = (dx.select(&dm), hx.select(host(&with)));
    for value in [
        selected.mean().get()?,
        selected.sum().get()?,
        selected.prod().get()?,
        selected.var(0).get()?,
        selected.min().get()?,
        selected.max().get()?,
        on_host.mean().get()?,
        on_host.max().get()?,
    ] {
        ensure!(value.is_nan());
    }
    // NaN is not 0, and those that leave it out are of the values that remain.
    ensure_eq!((selected.count().get()?, selected.nanmean().get()?, selected.nanmax().get()?), (3, 3.0, 5.0));
    ensure_eq!((on_host.count().get()?, on_host.nanmean().get()?, on_host.nanmax().get()?), (3, 3.0, 5.0));
    let all = GpuArray::from_ndarray(device, &none)?;
    ensure_eq!(dx.select(&all).nansum().get()?, f64::INFINITY);
    let only = GpuArray::from_ndarray(device, &array![false, true, false, true, false])?;
    ensure!(dx.select(&only).nanmean().get()?.is_nan() && dx.select(&only).nanmax().get()?.is_nan());
    ensure_eq!(dx.select(&only).nansum().get()?, 0.0);
    Ok(())
}

fn nothing_selected_has_the_documented_result(device: &Device) -> Outcome {
    for n in [0, 1, 5000, 200_000] {
        let (x, i, m) = (Array1::from_elem(n, 2.0f64), Array1::from_elem(n, 2i32), Array1::from_elem(n, false));
        let (dx, di, dm) = (
            GpuArray::from_ndarray(device, &x)?,
            GpuArray::from_ndarray(device, &i)?,
            GpuArray::from_ndarray(device, &m)?,
        );
        let (hx, hi, hm) = (host(&x), host(&i), host(&m));
        let (of_x, of_i, on_host) = (dx.select(&dm), di.select(&dm), hx.select(&hm));
        ensure_eq!((of_x.sum().get()?, of_x.prod().get()?, of_i.sum().get()?), (0.0, 1.0, 0));
        ensure_eq!((of_x.any().get()?, of_x.all().get()?, of_x.count().get()?), (false, true, 0));
        ensure_eq!((on_host.any().get()?, on_host.all().get()?, on_host.count().get()?), (false, true, 0));
        for nan in [
            of_x.mean().get()?,
            of_x.var(0).get()?,
            of_x.std(1).get()?,
            of_x.min().get()?,
            of_x.max().get()?,
            of_x.nanmax().get()?,
            of_x.min_max().get()?.0,
            of_x.min_max().get()?.1,
            of_i.mean().get()?,
            on_host.mean().get()?,
            on_host.max().get()?,
            on_host.nanmin().get()?,
            on_host.min_max().get()?.1,
        ] {
            ensure!(nan.is_nan(), "{n}");
        }
        for error in [
            of_i.max().get(),
            of_i.min_max().get().map(|(least, _)| least),
            (&di + of_i.min()).eval().map(|_| 0).map_err(AlgoError::from),
            hi.select(&hm).max().get(),
        ] {
            let error = error.err().ok_or("no error")?;
            let is_empty = |error: &AlgoError| matches!(error, AlgoError::Empty { .. });
            let inside = match &error {
                AlgoError::Array(ArrayError::Deferred { source, .. }) => source.downcast_ref().is_some_and(is_empty),
                error => is_empty(error),
            };
            ensure!(inside, "{n}: {error}");
        }
    }
    Ok(())
}

fn selected_halves_and_complex_numbers_are_reduced(device: &Device) -> Outcome {
    let n = 10_001;
    let mut rng = rng(34);
    let m = flags(&mut rng, n, 30);
    let dm = GpuArray::from_ndarray(device, &m)?;
    let x = Array1::from_shape_fn(n, |i| f16::from_f32((i % 64) as f32 - 20.0));
    let (dx, chosen) = (GpuArray::from_ndarray(device, &x)?, reference::select(&x, &m)?);
    ensure_eq!(dx.select(&dm).max().get()?, reference::max(&chosen)?);
    ensure_eq!(dx.select(&dm).mean().get()?, reference::mean(&chosen));
    ensure_eq!(host(&x).select(host(&m)).mean().get()?, reference::mean(&chosen));
    ensure!(dx.select(&dm).max().get()?.is_finite() && dx.select(x_is_above(&dx)).max().get()?.is_nan());
    let z = Array1::from_shape_fn(n, |i| Complex::new((i % 9) as f64, (i % 7) as f64 - 3.0));
    let (dz, chosen) = (GpuArray::from_ndarray(device, &z)?, reference::select(&z, &m)?);
    ensure_eq!(
        (dz.select(&dm).sum().get()?, dz.select(&dm).mean().get()?),
        (reference::sum(&chosen), reference::mean(&chosen))
    );
    ensure_eq!(host(&z).select(host(&m)).mean().get()?, reference::mean(&chosen));
    let (got, want) = (dz.select(&dm).var(0).get()?, reference::var(&chosen, 0));
    ensure!(near(got, want, 1e-12) && near(host(&z).select(host(&m)).var(0).get()?, want, 1e-12), "{got}, want {want}");
    Ok(())
}

/// A mask of the values that selects none.
fn x_is_above(x: &GpuArray<f16, Ix1>) -> gpu_algos::gpu_array::expression::Expr<'_, bool, Ix1> {
    x.gt(f16::from_f32(1000.0))
}

fn reductions_of_selected_values_are_operands(device: &Device) -> Outcome {
    let x = Array2::from_shape_fn((40, 31), |(i, j)| ((i * 31 + j) * 7 % 101) as f64 - 50.0);
    let dx = GpuArray::from_ndarray(device, &x)?;
    let hx = host(&x);
    let positive = reference::copy_if(&x, |&x| x > 0.0);
    let mean = reference::mean(&positive);
    // Both places by the same lines.
    macro_rules! both {
        ($x:ident => $value:expr) => {{
            let got = {
                let $x = &dx;
                ($value).eval()?.to_ndarray()?
            };
            (got, {
                let $x = &hx;
                ($value).eval()?
            })
        }};
    }
    let want = &x - mean;
    let (got, on_host) = both!(x => x - x.select(x.gt(0.0)).mean());
    ensure!((got - &want).iter().chain(&(on_host - &want)).all(|apart| apart.abs() < 1e-13));
    let want = (&x - mean) / reference::std(&positive, 0);
    let (got, on_host) = both!(x => (x - x.select(x.gt(0.0)).mean()) / x.select(x.gt(0.0)).std(0));
    ensure!((got - &want).iter().chain(&(on_host - &want)).all(|apart| apart.abs() < 1e-13));
    // The mask of a reduction is made of a reduction.
    let above = reference::copy_if(&x, |&x| x > mean);
    let (got, on_host) = both!(x => 2.0 * x.select(x.gt(x.select(x.gt(0.0)).mean())).sum() + 1.0);
    ensure!(got[()] == 2.0 * reference::sum(&above) + 1.0 && on_host == got, "{got} {on_host}");
    let (got, on_host) = both!(x => where_(x.gt(0.0), x.select(x.gt(0.0)).min(), x.select(x.lt(0.0)).max()));
    let want = x.mapv(|x| if x > 0.0 { reference::min(&positive).unwrap_or(0.0) } else { -1.0 });
    ensure!(got == want && on_host == want);
    Ok(())
}

fn selected_values_have_one_axis(device: &Device) -> Outcome {
    let x = GpuArray::from_ndarray(device, &array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
    let selected = x.select(x.gt(1.5));
    ensure_eq!(selected.sum().axis(Axis(0)).get()?, 20.0);
    ensure_eq!(selected.sum().keep_dims().eval()?.to_ndarray()?, array![20.0]);
    ensure_eq!(
        selected.sum().axes(&[Axis(0)]).eval()?.to_ndarray()?,
        array![20.0].index_axis_move(Axis(0), 0).into_dyn()
    );
    ensure_eq!((&x / selected.max().keep_dims()).eval()?.to_ndarray()?[[0, 2]], 0.5);
    let hx = array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let selected = host(&hx).select(host(&hx).gt(1.5));
    ensure_eq!(selected.sum().keep_dims().eval()?, array![20.0]);
    Ok(())
}

fn results_go_to_existing_memory_and_to_given_streams(device: &Device) -> Outcome {
    let x = GpuArray::from_ndarray(device, &array![3i32, 9, 4])?;
    let (odd, mut out) = ((&x % 2).eq(1), GpuArray::full(device, 5, -1i64)?);
    x.select(&odd).sum().keep_dims().write_into(out.slice_mut(s![2..3])?)?;
    ensure_eq!(out.to_ndarray()?, array![-1, -1, 12, -1, -1]);
    let mut extremes = GpuArray::full(device, 3, -1i32)?;
    x.select(&odd).max().keep_dims().write_into(extremes.slice_mut(s![1..;5])?)?;
    ensure_eq!(extremes.to_ndarray()?, array![-1, 9, -1]);
    let stream = Stream::new(device)?;
    let got = x.select(&odd).on(&stream).max().eval()?;
    ensure!(got.stream() == &stream && got.get()? == 9);
    let places = index::<Ix1, Gpu>(Axis(0)).broadcast(10);
    ensure_eq!(places.select(places.gt(6)).on(&stream).sum().get()?, 24);
    ensure_eq!(places.select(places.gt(6)).sum().on(&stream).get()?, 24);
    Ok(())
}

fn wrong_masks_and_axes_are_errors(device: &Device) -> Outcome {
    let (x, mask) = (GpuArray::full(device, 4, 1.0f32)?, GpuArray::full(device, 3, true)?);
    let is_shape =
        |error: &AlgoError| matches!(error, AlgoError::Shape { left, right, .. } if left == &[4] && right == &[3]);
    ensure!(x.select(&mask).sum().get().is_err_and(|error| is_shape(&error)));
    ensure!(x.select(&mask).eval().is_err_and(|error| is_shape(&error)));
    let (hx, hm) = (Array1::from_elem(4, 1.0f32), Array1::from_elem(3, true));
    ensure!(host(&hx).select(host(&hm)).mean().get().is_err_and(|error| is_shape(&error)));
    ensure!(host(&hx).select(host(&hm)).eval().is_err_and(|error| is_shape(&error)));
    ensure!((&x - x.select(&mask).sum()).eval().is_err());
    let x = GpuArray::full(device, (2, 3), 1.0f32)?;
    let sum = || x.select(x.gt(0.0)).sum();
    let axis = sum().axes(&[Axis(1)]).eval();
    ensure!(matches!(axis, Err(AlgoError::Array(ArrayError::Axis { axis: 1, ndim: 1, .. }))));
    ensure!(matches!(sum().axes(&[Axis(0); 2]).eval(), Err(AlgoError::RepeatedAxis { axis: 0, .. })));
    ensure!(matches!(sum().axes(&[]).eval(), Err(AlgoError::Array(ArrayError::Operation { .. }))));
    let mut pair = GpuArray::full(device, 2, 0.0f32)?;
    ensure!(matches!(sum().keep_dims().write_into(&mut pair), Err(AlgoError::OutShape { .. })));
    Ok(())
}

fn the_host_has_the_bits_of_the_selected_array(_: &Device) -> Outcome {
    let mut rng = rng(35);
    for n in [1, 100, 70_001] {
        let x = Array1::from_shape_simple_fn(n, || (rng.uniform() - 0.3) as f32);
        let m = flags(&mut rng, n, 60);
        let (chosen, hx) = (on_host::select(&x, &m)?, host(&x));
        let selected = hx.select(host(&m));
        for (got, want) in [
            (selected.sum().get()?, on_host::sum(&chosen)),
            (selected.mean().get()?, on_host::mean(&chosen)),
            (selected.var(1).get()?, on_host::var(&chosen, 1)),
            (selected.prod().get()?, on_host::prod(&chosen)),
        ] {
            ensure!(got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()), "{n}: {got}, want {want}");
        }
        let view = x.slice(s![..;-1]);
        let backwards = host(&view).select(host(&m.slice(s![..;-1]))).sum().get()?;
        let want = on_host::sum(&on_host::select(view, m.slice(s![..;-1]))?);
        ensure_eq!(backwards.to_bits(), want.to_bits());
    }
    Ok(())
}

fn the_host_selects_too(_: &Device) -> Outcome {
    let x = array![[1, 5], [7, 2]];
    ensure_eq!(host(&x).select(host(&x).gt(3)).eval()?, array![5, 7]);
    let x = x.into_dyn();
    ensure_eq!((host(&x) * 10).select(host(&x).lt(3)).eval()?, array![10, 20]);
    let none = ndarray::ArrayD::<f64>::zeros(IxDyn(&[0, 3]));
    ensure_eq!(host(&none).select(host(&none).gt(0.0)).eval()?.len(), 0);
    Ok(())
}

fn a_reduction_of_selected_values_is_one_launch(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let launches = |work: &dyn Fn() -> Result<(), AlgoError>| launches(&device, work);
    let x = GpuArray::from_ndarray(&device, &Array1::from_shape_fn(100_000, |i| i as f32))?;
    ensure_eq!(launches(&|| x.select(x.gt(5.0)).sum().eval().map(drop))?, 1);
    ensure_eq!(launches(&|| x.select(x.gt(5.0)).max().eval().map(drop))?, 1);
    ensure_eq!(launches(&|| x.cast::<i32>().select(x.gt(5.0)).max().eval().map(drop))?, 1);
    // The mean and the deviation of the same values come from one launch.
    let standardised = || {
        let selected = x.select(x.gt(5.0));
        (&x - selected.mean()) / selected.std(0)
    };
    ensure_eq!(launches(&|| Ok(standardised().eval().map(drop)?))?, 2);
    Ok(())
}
