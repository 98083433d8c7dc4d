//! Complex numbers in reductions and scans, against the definitions on the host.

use approx::{abs_diff_eq, relative_eq};
use gpu_algos::{
    einsum::EinsumElement,
    gpu_array::{Complex, ComplexNumber, GpuArray, expression, expression::complex, gpu_driver::Device},
    host,
    operators::Summand,
    prelude::*,
    reduce::Summable,
    reference,
};
use ndarray::{Array, Array1, Array2, Axis, Dimension, array, s};
use testkit::{Outcome, Test, ensure, ensure_eq, lengths_around, rng, tests};

pub const TESTS: &[Test<Device>] = tests![
    complex_reductions,
    complex_reductions_over_axes,
    complex_means_and_norms_of_any_values,
    complex_variances,
    complex_variances_over_axes,
    complex_variances_of_nan_infinity_and_nothing,
    complex_products_of_vectors,
    complex_scans,
    complex_scans_in_place_and_with_a_map,
    complex_sums_at_indices,
];

/// Both types; results of small whole numbers are exact in each.
trait Number: ComplexNumber + EinsumElement + Summand<Sum = Self, Mean = Self> + Summable<Sum = Self, Mean = Self> {
    fn of(re: f64, im: f64) -> Self;
    fn wide(self) -> Complex<f64>;
}
impl Number for Complex<f32> {
    fn of(re: f64, im: f64) -> Self {
        Self::new(re as f32, im as f32)
    }
    fn wide(self) -> Complex<f64> {
        Complex::new(self.re.into(), self.im.into())
    }
}
impl Number for Complex<f64> {
    fn of(re: f64, im: f64) -> Self {
        Self::new(re, im)
    }
    fn wide(self) -> Complex<f64> {
        self
    }
}

fn whole<T: Number, D: Dimension>(shape: impl ndarray::ShapeBuilder<Dim = D>, seed: u64) -> Array<T, D> {
    let mut rng = rng(seed);
    Array::from_shape_simple_fn(shape, || T::of(rng.below(9) as f64 - 4.0, rng.below(9) as f64 - 4.0))
}

/// Powers of i, whose products are exact.
fn units<T: Number>(n: usize, seed: u64) -> Array1<T> {
    let mut rng = rng(seed);
    Array1::from_shape_simple_fn(n, || {
        let (re, im) = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][rng.below(4)];
        T::of(re, im)
    })
}

fn complex_reductions(device: &Device) -> Outcome {
    fn check<T: Number>(device: &Device) -> Outcome {
        for n in lengths_around(2048) {
            let (x, unit) = (whole::<T, _>(n + 2, n as u64), units::<T>(n + 2, 7));
            let (dx, du) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &unit)?);
            for start in [0, 1] {
                let (x, unit, part) = (x.slice(s![start..]), unit.slice(s![start..]), s![start..]);
                let (dx, du) = (dx.slice(part)?, du.slice(part)?);
                ensure_eq!((n, dx.sum().get()?, host::sum(x)), (n, reference::sum(x), reference::sum(x)));
                ensure_eq!((n, du.prod().get()?, host::prod(unit)), (n, reference::prod(unit), reference::prod(unit)));
                let truths = (reference::count_nonzero(x), reference::any(x), reference::all(x));
                ensure_eq!((dx.count().get()?, dx.any().get()?, dx.all().get()?), truths);
                ensure_eq!((host::count_nonzero(x), host::any(x), host::all(x)), truths);
                let mean = dx.mean().get()?;
                ensure_eq!((mean, host::mean(x)), (reference::mean(x), reference::mean(x)));
            }
        }
        let none = GpuArray::<T, _>::zeros(device, 0)?;
        ensure_eq!((none.sum().get()?, none.prod().get()?), (T::of(0.0, 0.0), T::of(1.0, 0.0)));
        let mean = none.mean().get()?.wide();
        ensure!(mean.re.is_nan() && mean.im.is_nan());
        // A NaN in either part.
        let nan = Array1::from(vec![T::of(1.0, f64::NAN), T::of(2.0, 3.0), T::of(f64::NAN, 0.0), T::of(4.0, 5.0)]);
        let nan = GpuArray::from_ndarray(device, &nan)?;
        ensure!(nan.sum().get()?.wide().re.is_nan());
        ensure_eq!((nan.nansum().get()?, nan.nanmean().get()?), (T::of(6.0, 8.0), T::of(3.0, 4.0)));
        ensure_eq!(nan.nanprod().get()?, T::of(-7.0, 22.0));
        Ok(())
    }
    check::<Complex<f32>>(device)?;
    check::<Complex<f64>>(device)
}

fn complex_reductions_over_axes(device: &Device) -> Outcome {
    fn check<T: Number>(device: &Device) -> Outcome {
        let x: Array2<T> = whole((70, 45), 3);
        let on_device = GpuArray::from_ndarray(device, &x)?;
        for axis in [Axis(0), Axis(1)] {
            for (part, view) in [
                (x.view(), on_device.view()),
                (x.slice(s![..;2, ..;-1]), on_device.slice(s![..;2, ..;-1])?),
                (x.t(), on_device.t()),
            ] {
                let sums = part.map_axis(axis, |x| reference::sum(x));
                ensure_eq!(view.sum().axis(axis).eval()?.to_ndarray()?, sums);
                let on_host = host::reduce_axes(&host::Sum::new(), part, &[axis])?;
                ensure_eq!(on_host, sums.into_dyn());
                let means = part.map_axis(axis, |x| reference::mean(x));
                ensure_eq!(view.mean().axis(axis).eval()?.to_ndarray()?, means);
            }
        }
        Ok(())
    }
    check::<Complex<f32>>(device)?;
    check::<Complex<f64>>(device)
}

fn complex_means_and_norms_of_any_values(device: &Device) -> Outcome {
    let mut rng = rng(5);
    for n in [1, 100, 5000] {
        let wide = Array1::from_shape_simple_fn(n, || Complex::new(rng.uniform() - 0.3, 1e3 * rng.uniform()));
        let x = wide.mapv(|z| Complex::new(z.re as f32, z.im as f32));
        let (dw, dx) = (GpuArray::from_ndarray(device, &wide)?, GpuArray::from_ndarray(device, &x)?);
        let near = |got: f64, want: f64, bound: f64| (got - want).abs() <= bound * want.abs();
        let (got, want) = (dw.mean().get()?, reference::mean(&wide));
        ensure!((got - want).l1_norm() <= 1e-12 * want.l1_norm(), "{got}, want {want}");
        let (got, want) = (dx.sum().get()?, reference::sum(&x));
        ensure!((got - want).l1_norm() <= 4e-6 * want.l1_norm(), "{got}, want {want}");
        ensure!((dx.sum().accumulate_f64().get()? - want).l1_norm() <= 1.2e-7 * want.l1_norm());
        for (got, want) in [
            (dw.norm_l1().get()?, reference::norm_l1(&wide)),
            (dw.norm_l2().get()?, reference::norm_l2(&wide)),
            (dw.norm_inf().get()?, reference::norm_inf(&wide)),
            (host::norm_l2(&wide), reference::norm_l2(&wide)),
            (expression::host(&wide).norm_l2().get()?, reference::norm_l2(&wide)),
        ] {
            ensure!(near(got, want, 1e-12), "{n}: {got}, want {want}");
        }
        let (got, want): (f32, f32) = (dx.norm_l2().get()?, reference::norm_l2(&x));
        ensure!(near(got.into(), want.into(), 1e-6), "{n}: {got}, want {want}");
    }
    // Parts whose squares leave the range of f64.
    let x = GpuArray::from_ndarray(device, &array![Complex::new(3e200f64, 4e200), Complex::new(0.0, 0.0)])?;
    ensure!(relative_eq!(x.norm_l2().get()?, 5e200, epsilon = 0.0, max_relative = 1e-15));
    Ok(())
}

/// Numbers around one that is far from 0, where the squares of all would lose the variance.
fn far_from_zero<D: Dimension>(shape: impl ndarray::ShapeBuilder<Dim = D>, seed: u64) -> Array<Complex<f64>, D> {
    let mut rng = rng(seed);
    Array::from_shape_simple_fn(shape, || Complex::new(1e7 + rng.uniform(), 3.0 * rng.uniform() - 2e7))
}

/// The definition by two real variances.
fn variance_of_parts(x: &Array1<Complex<f64>>, ddof: u64) -> f64 {
    reference::var(&x.mapv(|z| z.re), ddof) + reference::var(&x.mapv(|z| z.im), ddof)
}

fn near(got: f64, want: f64, bound: f64) -> bool {
    (got - want).abs() <= bound * want.abs() || got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan())
}

fn complex_variances(device: &Device) -> Outcome {
    for n in lengths_around(2048).into_iter().chain([1, 2, 40_001]) {
        let x = far_from_zero(n, n as u64);
        let narrow = x.mapv(|z| Complex::new((z.re - 1e7) as f32, (z.im + 2e7) as f32));
        let (dx, dn) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &narrow)?);
        for ddof in [0, 1, 2] {
            let (want, wide) = (variance_of_parts(&x, ddof.into()), narrow.mapv(|z| z.wide()));
            let (hx, hn) = (expression::host(&x), expression::host(&narrow));
            for got in [
                dx.var(ddof).get()?,
                dx.mean_var(ddof).get()?.1,
                dx.nanvar(ddof).get()?,
                dx.nanmean_var(ddof).get()?.1,
                dx.std(ddof).get()?.powi(2),
                dx.nanstd(ddof).get()?.powi(2),
                host::var(&x, ddof.into()),
                host::nanstd(&x, ddof.into()).powi(2),
                hx.var(ddof).get()?,
                hx.nanmean_var(ddof).get()?.1,
                reference::var(&x, ddof.into()),
                reference::std(&x, ddof.into()).powi(2),
            ] {
                ensure!(near(got, want, 1e-8), "{n} {ddof}: {got}, want {want}");
            }
            let want = variance_of_parts(&wide, ddof.into());
            for got in [dn.var(ddof).get()?, host::var(&narrow, ddof.into()), hn.mean_var(ddof).get()?.1] {
                ensure!(near(got.into(), want, 1e-6), "{n} {ddof}: {got}, want {want}");
            }
        }
        if n > 0 {
            let (got, want) = (dx.mean_var(1).get()?.0, reference::mean(&x));
            ensure!((got - want).l1_norm() <= 1e-12 * want.l1_norm(), "{n}: {got}, want {want}");
            let got = expression::host(&x).mean_var(1).get()?.0;
            ensure!((got - want).l1_norm() <= 1e-12 * want.l1_norm(), "{n}: {got}, want {want}");
        }
    }
    Ok(())
}

fn complex_variances_over_axes(device: &Device) -> Outcome {
    let x = far_from_zero((70, 45), 3);
    let on_device = GpuArray::from_ndarray(device, &x)?;
    for axis in [Axis(0), Axis(1)] {
        for (part, view) in [
            (x.view(), on_device.view()),
            (x.slice(s![..;2, ..;-1]), on_device.slice(s![..;2, ..;-1])?),
            (x.t(), on_device.t()),
            (x.slice(s![..1, ..]), on_device.slice(s![..1, ..])?),
        ] {
            let want = part.map_axis(axis, |x| variance_of_parts(&x.to_owned(), 1));
            let on_host = expression::host(&part);
            let kept = view.var(1).axis(axis).keep_dims().eval()?.to_ndarray()?;
            for got in [
                view.var(1).axis(axis).eval()?.to_ndarray()?,
                view.nanvar(1).axis(axis).eval()?.to_ndarray()?,
                view.mean_var(1).axis(axis).eval()?.1.to_ndarray()?,
                kept.index_axis_move(axis, 0),
                on_host.std(1).axis(axis).eval()?.mapv(|std| std * std),
            ] {
                ensure!(got.iter().zip(&want).all(|(&got, &want)| near(got, want, 1e-8)), "{got}, want {want}");
            }
            let means = view.mean_var(1).axis(axis).eval()?.0.to_ndarray()?;
            let apart = (&means - &part.map_axis(axis, reference::mean)).mapv(|z| z.l1_norm()).sum();
            ensure!(apart < 1e-6, "{means}");
        }
    }
    // Within an expression, in either place.
    let got = ((&on_device - on_device.mean()) / complex(on_device.std(0), 0.0)).eval()?.to_ndarray()?;
    let want =
        ((expression::host(&x) - expression::host(&x).mean()) / complex(expression::host(&x).std(0), 0.0)).eval()?;
    ensure!((got - want).iter().all(|z| z.l1_norm() < 1e-6));
    Ok(())
}

fn complex_variances_of_nan_infinity_and_nothing(device: &Device) -> Outcome {
    let (one, infinity) = (Complex::new(1.0, 2.0), f64::INFINITY);
    for bad in [(f64::NAN, 0.0), (0.0, f64::NAN), (infinity, 0.0), (0.0, -infinity), (infinity, f64::NAN)] {
        let x = array![one, Complex::new(bad.0, bad.1), Complex::new(3.0, -1.0), one];
        let on_device = GpuArray::from_ndarray(device, &x)?;
        let nan = [on_device.var(0).get()?, on_device.std(1).get()?, on_device.mean_var(0).get()?.1, host::var(&x, 0)];
        ensure!(nan.iter().all(|variance| variance.is_nan()), "{bad:?}: {nan:?}");
        let want = if bad.0.is_nan() || bad.1.is_nan() { 26.0 / 9.0 } else { f64::NAN };
        for got in [on_device.nanvar(0).get()?, host::nanvar(&x, 0), expression::host(&x).nanstd(0).get()?.powi(2)] {
            ensure!(near(got, want, 1e-14), "{bad:?}: {got}, want {want}");
        }
    }
    // Squares beyond f64, and a variance at its end.
    let x = GpuArray::from_ndarray(device, &array![Complex::new(1e200, 0.0), Complex::new(0.0, -1e200)])?;
    ensure_eq!(x.var(0).get()?, infinity);
    let x = GpuArray::from_ndarray(device, &array![Complex::new(1e154, 0.0), Complex::new(0.0, 1e154)])?;
    ensure!(near(x.var(0).get()?, 0.5e308, 1e-14));
    let none = GpuArray::<Complex<f32>, _>::zeros(device, 0)?;
    let (mean, variance) = none.mean_var(0).get()?;
    ensure!(mean.re.is_nan() && mean.im.is_nan() && variance.is_nan() && none.std(0).get()?.is_nan());
    ensure!(host::var(&Array1::<Complex<f32>>::default(0), 0).is_nan());
    Ok(())
}

fn complex_products_of_vectors(device: &Device) -> Outcome {
    fn check<T: Number>(device: &Device) -> Outcome {
        let (x, y) = (whole::<T, _>(777, 1), whole::<T, _>(777, 2));
        let (dx, dy) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let product = reference::inner(&x, &y)?[[]];
        let conjugated = x.mapv(|x| T::of(x.wide().re, -x.wide().im));
        ensure_eq!((dx.dot(&dy).get()?, dx.vdot(&dy).get()?), (product, reference::inner(&conjugated, &y)?[[]]));
        let square = dx.vdot(&dx).get()?.wide();
        ensure!(
            square.im == 0.0 && abs_diff_eq!(square.re.sqrt(), reference::norm_l2(&x.mapv(T::wide)), epsilon = 1e-4)
        );
        Ok(())
    }
    check::<Complex<f32>>(device)?;
    check::<Complex<f64>>(device)?;
    // Beside real numbers, in the common type.
    let (z, x) = (GpuArray::from_vec(device, vec![Complex::new(1.0f32, 2.0); 5])?, GpuArray::full(device, 5, 2.0f64)?);
    let got: (Complex<f64>, Complex<f64>) = (z.dot(&x).get()?, x.vdot(&z).get()?);
    ensure_eq!(got, (Complex::new(10.0, 20.0), Complex::new(10.0, 20.0)));
    ensure_eq!(z.vdot(&x).get()?, Complex::new(10.0, -20.0));
    Ok(())
}

fn complex_scans(device: &Device) -> Outcome {
    fn check<T: Number>(device: &Device) -> Outcome {
        for n in [0, 1, 33, 4097, 20_000] {
            let (x, unit) = (whole::<T, _>(n, n as u64), units::<T>(n, 4));
            let (dx, du) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &unit)?);
            let sums = reference::cumsum(&x, Axis(0))?;
            ensure_eq!((dx.cumsum().eval()?.to_ndarray()?, host::cumsum(&x, Axis(0))?), (sums.clone(), sums));
            ensure_eq!(du.cumprod().eval()?.to_ndarray()?, reference::cumprod(&unit, Axis(0))?);
            let keys = Array1::from_shape_fn(n, |i| (i / 77) as u8);
            let want =
                reference::scan_by_key(&reference::Sum::new(), &x, &keys, Axis(0), reference::ScanKind::EXCLUSIVE)?;
            let keys = GpuArray::from_ndarray(device, &keys)?;
            ensure_eq!(dx.cumsum().by_key(&keys).exclusive().eval()?.to_ndarray()?, want);
            let keys = GpuArray::from_ndarray(device, &unit)?;
            let want =
                reference::scan_by_key(&reference::Sum::new(), &x, &unit, Axis(0), reference::ScanKind::INCLUSIVE)?;
            ensure_eq!(dx.cumsum().by_key(&keys).accumulate_f64().eval()?.to_ndarray()?, want);
        }
        let x: Array2<T> = whole((60, 90), 6);
        let on_device = GpuArray::from_ndarray(device, &x)?;
        for axis in [Axis(0), Axis(1)] {
            ensure_eq!(on_device.cumsum().axis(axis).eval()?.to_ndarray()?, reference::cumsum(&x, axis)?);
            let got = on_device.t().cumsum().axis(axis).reverse().eval()?.to_ndarray()?;
            let want = reference::scan(&reference::Sum::new(), x.t(), axis, reference::ScanKind::INCLUSIVE.reversed())?;
            ensure_eq!(got, want);
        }
        Ok(())
    }
    check::<Complex<f32>>(device)?;
    check::<Complex<f64>>(device)
}

fn complex_scans_in_place_and_with_a_map(device: &Device) -> Outcome {
    fn check<T: Number + gpu_algos::gpu_array::Promote<T, Output = T>>(device: &Device) -> Outcome {
        let x = whole::<T, _>(5001, 8);
        let mut on_device = GpuArray::from_ndarray(device, &x)?;
        let sums = reference::cumsum(&x, Axis(0))?;
        let turned = on_device.cumsum().map(|sum| sum * T::of(0.0, 2.0) + T::of(1.0, 0.0)).eval()?.to_ndarray()?;
        let want = sums.mapv(|sum| sum.wide() * Complex::new(0.0, 2.0) + 1.0);
        ensure_eq!(turned.mapv(T::wide), want);
        let parts = on_device.cumsum().map(|sum| sum.real()).eval()?;
        ensure_eq!(parts.cast::<f64>().eval()?.to_ndarray()?, sums.mapv(|sum| sum.wide().re));
        on_device.cumsum_in_place().run()?;
        ensure_eq!(on_device.to_ndarray()?, sums);
        Ok(())
    }
    check::<Complex<f32>>(device)?;
    check::<Complex<f64>>(device)
}

fn complex_sums_at_indices(device: &Device) -> Outcome {
    let mut x = GpuArray::<Complex<f32>, _>::zeros(device, 4)?;
    let indices = GpuArray::from_vec(device, vec![1i32, -1, 1, 1])?;
    let values = [Complex::new(1.0, 2.0), Complex::new(3.0, -1.0), Complex::new(0.5, 0.0), Complex::new(0.0, -4.0)];
    x.add_at(&indices, &GpuArray::from_vec(device, values)?)?;
    let none = Complex::new(0.0, 0.0);
    ensure_eq!(x.to_ndarray()?, array![none, Complex::new(1.5, -2.0), none, values[1]]);
    Ok(())
}
