//! Numbers of 16 bits in reductions, scans, selections and kernels of users' texts, against the definitions on the host.

use gpu_algos::{
    elementwise_kernel,
    gpu_array::{Complex, Element, Float, GpuArray, Number, Promote, bf16, expression, f16, gpu_driver::Device},
    host,
    kernels::{ElementwiseKernel, KernelArg, ReductionKernel},
    operators::Operand,
    prelude::*,
    reduce::Summable,
    reduction_kernel, reference, scan_kernel,
};
use ndarray::{Array1, Array2, Axis, array, s};
use testkit::{Outcome, Test, ensure, ensure_eq, lengths_around, rng, tests};

pub const TESTS: &[Test<Device>] = tests![
    reductions_of_numbers_of_16_bits,
    sums_of_many_numbers_of_16_bits,
    reductions_of_nan_and_infinities_of_16_bits,
    products_of_vectors_of_16_bits,
    scans_of_numbers_of_16_bits,
    scans_of_16_bits_in_place_and_with_a_map,
    selections_of_numbers_of_16_bits,
    sums_at_indices_of_16_bits,
    numbers_of_16_bits_in_texts,
    complex_numbers_in_texts,
];

/// Both types, and what tests ask of them.
trait Half:
    Float
    + Operand<Sum = Self, Mean = Self, Real = Self>
    + Summable<Sum = Self, Mean = Self, Spread = Self>
    + Element<Storage = Self>
    + Into<f64>
    + Promote<Self, Output = Self>
{
}
impl Half for f16 {}
impl Half for bf16 {}

fn of<T: Half>(value: f64) -> T {
    T::rounded_from_f64(value)
}

fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

/// Equal, or neighbours: device and host add in other orders, and each rounds once.
fn near<T: Half>(got: T, want: T) -> bool {
    let (a, b): (f64, f64) = (got.into(), want.into());
    let step: f64 = T::epsilon().into();
    same(a, b) || (a - b).abs() <= step * a.abs().max(b.abs())
}

/// Whole numbers, of which some are equal, and fractions; their sums stay far below the greatest number.
fn values<T: Half>(n: usize, seed: u64) -> Array1<T> {
    let mut rng = rng(seed);
    Array1::from_shape_simple_fn(n, || of(rng.below(64) as f64 / 8.0 - 3.0))
}

fn reductions_of_numbers_of_16_bits(device: &Device) -> Outcome {
    fn check<T: Half>(device: &Device) -> Outcome {
        for n in lengths_around(4096) {
            let x = values::<T>(n + 9, n as u64);
            let on_device = GpuArray::from_ndarray(device, &x)?;
            for start in [0, 1, 7] {
                let (x, part) = (x.slice(s![start..]), on_device.slice(s![start..])?);
                ensure_eq!(part.argmax().get()?, reference::argmax(x)?);
                ensure_eq!(part.argmin().get()?, reference::argmin(x)?);
                ensure_eq!(part.min_max().get()?, (reference::min(x)?, reference::max(x)?));
                ensure_eq!((part.count().get()?, part.any().get()?), (reference::count_nonzero(x), reference::any(x)));
                // Sums of eighths are exact, and so is the sum of their squares.
                ensure_eq!(part.sum().get()?, reference::sum(x));
                ensure_eq!((part.mean().get()?, host::mean(x)), (reference::mean(x), reference::mean(x)));
                ensure_eq!(part.norm_l1().get()?, reference::norm_l1(x));
                ensure_eq!(part.norm_inf().get()?, reference::norm_inf(x));
                ensure_eq!(host::sum(x), reference::sum(x));
                for (got, want) in [
                    (part.var(1).get()?, reference::var(x, 1)),
                    (part.std(0).get()?, reference::std(x, 0)),
                    (part.norm_l2().get()?, reference::norm_l2(x)),
                ] {
                    ensure!(near(got, want), "{n}: {got}, want {want}");
                }
            }
        }
        let x = values::<T>(60 * 45, 1).into_shape_with_order((60, 45))?;
        let on_device = GpuArray::from_ndarray(device, &x)?;
        for axis in [Axis(0), Axis(1)] {
            for (part, view) in [
                (x.view(), on_device.view()),
                (x.slice(s![..;2, ..;-1]), on_device.slice(s![..;2, ..;-1])?),
                (x.t(), on_device.t()),
            ] {
                let by = |of: fn(ndarray::ArrayView1<'_, T>) -> T| part.map_axis(axis, of);
                ensure_eq!(view.sum().axis(axis).eval()?.to_ndarray()?, by(|x| reference::sum(x)));
                ensure_eq!(view.max().axis(axis).eval()?.to_ndarray()?, by(|x| reference::max(x).expect("values")));
                ensure_eq!(view.mean().axis(axis).eval()?.to_ndarray()?, by(|x| reference::mean(x)));
                let places = part.map_axis(axis, |x| reference::argmin(x).expect("values"));
                ensure_eq!(view.argmin().axis(axis).eval()?.to_ndarray()?, places);
                let mut target = GpuArray::<T, _>::zeros(device, view.shape()[1 - axis.index()])?;
                view.min().axis(axis).write_into(&mut target)?;
                ensure_eq!(target.to_ndarray()?, by(|x| reference::min(x).expect("values")));
            }
        }
        // Within an expression, and of one on the host.
        let centred = (expression::host(&x) - expression::host(&x).mean().axis(Axis(0))).eval()?;
        ensure_eq!((&on_device - on_device.mean().axis(Axis(0))).eval()?.to_ndarray()?, centred);
        ensure_eq!((expression::host(&x) * of::<T>(2.0)).max().get()?, reference::max(&x.mapv(|x| x + x))?);
        // With an expression, which rounds at each operation, and in f64.
        let two = of::<T>(2.0);
        let got = (&on_device * two - of::<T>(0.1)).sum().accumulate_f64().get()?;
        ensure_eq!(got, reference::sum(&x.mapv(|x| of::<T>((x * two).into() - of::<T>(0.1).into()))));
        ensure_eq!(on_device.prod().axis(Axis(0)).eval()?.to_ndarray()?.len(), 45);
        ensure_eq!(GpuArray::<T, _>::zeros(device, 0)?.sum().get()?, of(0.0));
        Ok(())
    }
    check::<f16>(device)?;
    check::<bf16>(device)
}

/// More than a sum in 16 bits could count, or one of products.
fn sums_of_many_numbers_of_16_bits(device: &Device) -> Outcome {
    let n = if device.is_emulated() { 30_000 } else { 30_000_000 };
    let x = GpuArray::full(device, n, f16::from_bits(1))?;
    let each = 2f64.powi(-24);
    ensure_eq!(x.sum().get()?, of::<f16>(each * n as f64));
    let ones = GpuArray::full(device, n, bf16::ONE)?;
    ensure_eq!(ones.sum().get()?, of::<bf16>(n as f64));
    ensure_eq!((ones.mean().get()?, ones.var(0).get()?), (bf16::ONE, bf16::ZERO));
    let large = GpuArray::full(device, 3000, of::<f16>(60000.0))?;
    ensure_eq!((large.mean().get()?, large.std(0).get()?), (of(60000.0), f16::ZERO));
    ensure_eq!((large.sum().get()?, large.norm_inf().get()?), (f16::INFINITY, of(60000.0)));
    ensure_eq!((&large / of::<f16>(60000.0)).sum().get()?, of(3000.0));
    let on_host = Array1::from_elem(3000, of::<f16>(60000.0));
    ensure_eq!((host::mean(&on_host), host::norm_l2(&on_host)), (of(60000.0), f16::INFINITY));
    // Factors whose product goes beyond the numbers of 16 bits and returns.
    let factors: Array1<f16> = (0..64).map(|i| of(if i % 2 == 0 { 512.0 } else { 1.0 / 512.0 })).collect();
    ensure_eq!(GpuArray::from_ndarray(device, &factors)?.prod().get()?, f16::ONE);
    Ok(())
}

fn reductions_of_nan_and_infinities_of_16_bits(device: &Device) -> Outcome {
    fn check<T: Half>(device: &Device) -> Outcome {
        let (nan, inf) = (T::nan(), T::infinity());
        let one = of::<T>(1.0);
        let cases: [&[T]; 5] =
            [&[one, nan, -one, nan], &[nan, nan], &[inf, -inf, one], &[-inf; 3], &[nan, one, one, -one, of(0.5)]];
        for values in cases {
            let x = Array1::from(values.to_vec());
            let on_device = GpuArray::from_ndarray(device, &x)?;
            for (got, want) in [
                (on_device.min().get()?, reference::min(&x)?),
                (on_device.max().get()?, reference::max(&x)?),
                (on_device.nanmin().get()?, reference::nanmin(&x)?),
                (on_device.nanmax().get()?, reference::nanmax(&x)?),
                (on_device.sum().get()?, reference::sum(&x)),
                (on_device.nansum().get()?, reference::nansum(&x)),
                (on_device.nanmean().get()?, reference::nanmean(&x)),
                (on_device.norm_inf().get()?, reference::norm_inf(&x)),
                (host::nanmax(&x)?, reference::nanmax(&x)?),
            ] {
                ensure!(same(got.into(), want.into()), "{values:?}: {got}, want {want}");
            }
            ensure_eq!(on_device.argmax().get()?, reference::argmax(&x)?);
            ensure_eq!(on_device.nanargmin().get()?, reference::nanargmin(&x)?);
            let so_far = on_device.cummax().eval()?.to_ndarray()?;
            let want = reference::cummax(&x, Axis(0))?;
            ensure!(so_far.iter().zip(&want).all(|(&got, &want)| same(got.into(), want.into())));
        }
        Ok(())
    }
    check::<f16>(device)?;
    check::<bf16>(device)
}

fn products_of_vectors_of_16_bits(device: &Device) -> Outcome {
    fn check<T: Half>(device: &Device) -> Outcome {
        let (x, y) = (values::<T>(999, 3), values::<T>(999, 4));
        let (dx, dy) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        // Products of eighths are exact in f32, and many of them are not in 16 bits.
        let want = of::<T>(reference::dot(x.as_slice().ok_or("a slice")?, y.as_slice().ok_or("a slice")?)?);
        ensure_eq!((dx.dot(&dy).get()?, dx.vdot(&dy).get()?), (want, want));
        ensure_eq!(of::<T>(host::dot(x.as_slice().ok_or("a slice")?, y.as_slice().ok_or("a slice")?)?), want);
        Ok(())
    }
    check::<f16>(device)?;
    check::<bf16>(device)?;
    let (x, y) = (GpuArray::full(device, 10, f16::ONE)?, GpuArray::full(device, 10, bf16::ONE)?);
    let mixed: f32 = x.dot(&y).get()?;
    ensure_eq!(mixed, 10.0);
    Ok(())
}

fn scans_of_numbers_of_16_bits(device: &Device) -> Outcome {
    fn check<T: Half>(device: &Device) -> Outcome {
        for n in [0, 1, 31, 4095, 4097, 20_000] {
            let x = values::<T>(n + 3, n as u64).slice_move(s![3..]);
            let on_device = GpuArray::from_ndarray(device, &x)?;
            // Sums of eighths are exact in f32, and rounded once.
            ensure_eq!(on_device.cumsum().eval()?.to_ndarray()?, reference::cumsum(&x, Axis(0))?);
            ensure_eq!(on_device.cummin().eval()?.to_ndarray()?, reference::cummin(&x, Axis(0))?);
            ensure_eq!(host::cumsum(&x, Axis(0))?, reference::cumsum(&x, Axis(0))?);
            let backwards =
                reference::scan(&reference::Sum::new(), &x, Axis(0), reference::ScanKind::EXCLUSIVE.reversed())?;
            ensure_eq!(on_device.cumsum().exclusive().reverse().eval()?.to_ndarray()?, backwards);
            let keys = Array1::from_shape_fn(n, |i| of::<T>((i / 77 % 5) as f64));
            let keys_on_device = GpuArray::from_ndarray(device, &keys)?;
            let want =
                reference::scan_by_key(&reference::Sum::new(), &x, &keys, Axis(0), reference::ScanKind::INCLUSIVE)?;
            ensure_eq!(on_device.cumsum().by_key(&keys_on_device).eval()?.to_ndarray()?, want);
        }
        let x = values::<T>(70 * 130, 9).into_shape_with_order((70, 130))?;
        let on_device = GpuArray::from_ndarray(device, &x)?;
        for axis in [Axis(0), Axis(1)] {
            ensure_eq!(on_device.cumsum().axis(axis).eval()?.to_ndarray()?, reference::cumsum(&x, axis)?);
            let got = on_device.t().slice(s![.., ..;3])?.cummax().axis(axis).eval()?.to_ndarray()?;
            ensure_eq!(got, reference::cummax(x.t().slice(s![.., ..;3]), axis)?);
        }
        Ok(())
    }
    check::<f16>(device)?;
    check::<bf16>(device)?;
    // Beyond the numbers that 16 bits can count by ones.
    let ones = GpuArray::full(device, 5000, f16::ONE)?;
    let want: Array1<f16> = (1..=5000).map(|i| of(f64::from(i))).collect();
    ensure_eq!(ones.cumsum().eval()?.to_ndarray()?, want);
    ensure_eq!(ones.cumprod().accumulate_f64().eval()?.to_ndarray()?, Array1::from_elem(5000, f16::ONE));
    Ok(())
}

fn scans_of_16_bits_in_place_and_with_a_map(device: &Device) -> Outcome {
    fn check<T: Half + Promote<f32, Output = f32>>(device: &Device) -> Outcome {
        let x = values::<T>(9001, 6);
        let mut on_device = GpuArray::from_ndarray(device, &x)?;
        let sums = reference::cumsum(&x, Axis(0))?;
        let half = of::<T>(0.5);
        ensure_eq!(on_device.cumsum().map(|sum| sum * half).eval()?.to_ndarray()?, sums.mapv(|sum| sum * half));
        let wide = on_device.cumsum().map(|sum| sum.cast::<f32>() + 1.0).eval()?.to_ndarray()?;
        ensure_eq!(wide, sums.mapv(|sum| sum.into() as f32 + 1.0));
        on_device.slice_mut(s![1..;2])?.cumsum_in_place().run()?;
        let mut want = x.clone();
        want.slice_mut(s![1..;2]).assign(&reference::cumsum(x.slice(s![1..;2]), Axis(0))?);
        ensure_eq!(on_device.to_ndarray()?, want);
        on_device.cummax_in_place().reverse().run()?;
        let most = reference::scan(&reference::Max::new(), &want, Axis(0), reference::ScanKind::INCLUSIVE.reversed())?;
        ensure_eq!(on_device.to_ndarray()?, most);
        Ok(())
    }
    check::<f16>(device)?;
    check::<bf16>(device)
}

fn selections_of_numbers_of_16_bits(device: &Device) -> Outcome {
    fn check<T: Half>(device: &Device) -> Outcome {
        let zero = of::<T>(0.0);
        for n in [0, 1, 5000] {
            let x = values::<T>(n, 8);
            let on_device = GpuArray::from_ndarray(device, &x)?;
            let positive = reference::copy_if(&x, |&x| x > zero);
            ensure_eq!(on_device.select(on_device.gt(zero)).eval()?.to_ndarray()?, positive);
            let (parts, _) = on_device.partition(on_device.gt(zero)).eval()?.into_parts();
            ensure_eq!(parts.to_ndarray()?, reference::partition(&x, |&x| x > zero).0);
            ensure_eq!(on_device.nonzero().eval()?.to_ndarray()?, reference::flat_nonzero(&x));
            let runs = x.mapv(|x| of::<T>((x.into() / 2.0).round()));
            let on_device = GpuArray::from_ndarray(device, &runs)?;
            ensure_eq!(on_device.unique().eval()?.to_ndarray()?, reference::unique(&runs));
        }
        Ok(())
    }
    check::<f16>(device)?;
    check::<bf16>(device)
}

fn sums_at_indices_of_16_bits(device: &Device) -> Outcome {
    let mut x = GpuArray::full(device, 4, of::<f16>(0.5))?;
    let indices = GpuArray::from_ndarray(device, &Array1::from_shape_fn(9000, |i| if i % 3 == 0 { 1i32 } else { -1 }))?;
    x.add_at(&indices, f16::ONE)?;
    ensure_eq!(x.to_ndarray()?, array![0.5, 3000.5, 0.5, 6000.5].mapv(of::<f16>));
    Ok(())
}

elementwise_kernel! {
    /// z = a x + y, each operation rounded to the type.
    fn scaled(a: f16, x: &[f16], y: &[f16], z: &mut [f16]) { unsafe { "z[i] = a * x[i] + y[i]" } }
}
elementwise_kernel! {
    /// The same in f32, rounded once.
    fn scaled_in_f32(a: f32, x: &[bf16], y: &[bf16], z: &mut [bf16]) { unsafe { "z[i] = a * x[i] + y[i]" } }
}
reduction_kernel! {
    fn sum_of_squares(x: &[f16]) -> f32 {
        unsafe { identity: "0"; reduce: "a + b"; map: "float(x[i]) * float(x[i])" }
    }
}
reduction_kernel! {
    fn greatest(x: &[bf16]) -> bf16 {
        unsafe { identity: "gpu::bf16(__int_as_float(0xff800000))"; reduce: "a > b ? a : b"; map: "x[i]" }
    }
}
scan_kernel! {
    /// Sums carried in f32.
    fn running(x: &[f16], z: &mut [f16]) {
        unsafe { state: f32; identity: "0"; scan: "a + b"; input: "x[i]"; output: "z[i] = item" }
    }
}
scan_kernel! {
    /// Sums carried in the type, which round at each addition.
    fn counted(x: &[f16], z: &mut [f16]) {
        unsafe { state: f16; identity: "0"; scan: "a + b"; input: "x[i]"; output: "z[i] = item" }
    }
}

fn numbers_of_16_bits_in_texts(device: &Device) -> Outcome {
    let (x, y) = (values::<f16>(3001, 1), values::<f16>(3001, 2));
    let (dx, dy) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    let mut z = GpuArray::<f16, _>::zeros(device, 3001)?;
    scaled(of(0.3), &dx, &dy, &mut z)?;
    let want = (of::<f16>(0.3) * &dx + &dy).eval()?.to_ndarray()?;
    ensure_eq!(z.to_ndarray()?, want);
    let (bx, by) = (values::<bf16>(3001, 3), values::<bf16>(3001, 4));
    let (dbx, dby) = (GpuArray::from_ndarray(device, &bx)?, GpuArray::from_ndarray(device, &by)?);
    let mut bz = GpuArray::<bf16, _>::zeros(device, 3001)?;
    scaled_in_f32(0.3, &dbx, &dby, &mut bz)?;
    let want: Array1<bf16> = bx
        .iter()
        .zip(&by)
        .map(|(&x, &y)| {
            of(f64::from(if device.is_emulated() {
                0.3f32 * x.to_f32() + y.to_f32()
            } else {
                0.3f32.mul_add(x.to_f32(), y.to_f32())
            }))
        })
        .collect();
    ensure_eq!(bz.to_ndarray()?, want);
    let squares: f32 = x.iter().map(|x| x.to_f32() * x.to_f32()).sum();
    ensure_eq!(sum_of_squares(&dx)?.to_vec()?, [squares]);
    ensure_eq!(greatest(&dbx)?.to_vec()?, [reference::max(&bx)?]);
    running(&dx, &mut z)?;
    ensure_eq!(z.to_ndarray()?, reference::cumsum(&x, Axis(0))?);
    let ones = GpuArray::full(device, 1000, f16::ONE)?;
    let mut counts = GpuArray::<f16, _>::zeros(device, 1000)?;
    counted(&ones, &mut counts)?;
    ensure_eq!(counts.to_ndarray()?, (1..=1000).map(|i| of::<f16>(f64::from(i))).collect::<Array1<_>>());
    // Arguments in C.
    let double = ElementwiseKernel::new("const gpu::f16 *x, gpu::bf16 factor, gpu::f16 *z", "z[i] = x[i] * factor")?;
    #[expect(unsafe_code, reason = "a kernel of the test's own")]
    // SAFETY: the text reads and writes the elements of its place.
    unsafe {
        double.call(&[(&dx).into(), KernelArg::value(of::<bf16>(2.0)), (&mut z).into()])?;
    }
    ensure_eq!(z.to_ndarray()?, x.mapv(|x| x + x));
    let sum =
        ReductionKernel::<f32>::new("const gpu::f16 *x, const gpu::Complex<float> *w", "0", "a + b", "x[i] * w[i].re")?;
    let w = GpuArray::full(device, 3001, Complex::new(2.0f32, 7.0))?;
    #[expect(unsafe_code, reason = "a kernel of the test's own")]
    // SAFETY: the text reads the elements of its place.
    let sums = unsafe { sum.call(&[(&dx).into(), (&w).into()])? };
    ensure_eq!(sums.to_vec()?, [2.0 * x.iter().map(|x| x.to_f32()).sum::<f32>()]);
    Ok(())
}

elementwise_kernel! {
    fn turned(x: &[Complex<f32>], by: Complex<f32>, z: &mut [Complex<f32>]) { unsafe { "z[i] = x[i] * by" } }
}
reduction_kernel! {
    fn complex_sum(x: &[Complex<f64>]) -> Complex<f64> {
        unsafe { identity: "0.0"; reduce: "a + b"; map: "x[i]" }
    }
}
scan_kernel! {
    fn complex_products(x: &[Complex<f64>], z: &mut [Complex<f64>]) {
        unsafe { state: Complex<f64>; identity: "1.0"; scan: "a * b"; input: "x[i]"; output: "z[i] = item" }
    }
}

fn complex_numbers_in_texts(device: &Device) -> Outcome {
    let x = Array1::from_shape_fn(700, |k| Complex::new(k as f32, 1.0 - k as f32));
    let on_device = GpuArray::from_ndarray(device, &x)?;
    let mut z = GpuArray::<Complex<f32>, _>::zeros(device, 700)?;
    turned(&on_device, Complex::i(), &mut z)?;
    ensure_eq!(z.to_ndarray()?, x.mapv(|x| x * Complex::i()));
    let wide = x.mapv(|x| Complex::new(f64::from(x.re), f64::from(x.im)));
    let on_device = GpuArray::from_ndarray(device, &wide)?;
    ensure_eq!(complex_sum(&on_device)?.to_vec()?, [wide.sum()]);
    let unit = Array1::from_elem(700, Complex::<f64>::i());
    let mut powers = GpuArray::<Complex<f64>, _>::zeros(device, 700)?;
    complex_products(&GpuArray::from_ndarray(device, &unit)?, &mut powers)?;
    let want = Array1::from_shape_fn(700, |k| [Complex::i(), -Complex::ONE, -Complex::i(), Complex::ONE][k % 4]);
    ensure_eq!(powers.to_ndarray()?, want);
    Ok(())
}

#[allow(dead_code, reason = "their types are checked")]
fn types(x: &GpuArray<f16, ndarray::Ix1>, y: &Array2<bf16>) -> Result<(), Box<dyn std::error::Error>> {
    let _: f16 = x.mean().get()?;
    let _: bf16 = host::std(y, 0);
    let _: <f16 as Number>::Float = x.norm_l2().get()?;
    Ok(())
}
