//! Sums and the like at computed places, compared with their definition on the host.

use gpu_algos::{
    AlgoError,
    gpu_array::{
        ArrayError, Complex, DType, GpuArray, Integer, Number, concatenate,
        expression::{Backend, Expr, Gpu, constant, host, index},
        f16,
        gpu_driver::{Device, DriverError, Stream},
    },
    host::Operand,
    prelude::*,
    reduce::{Reduces, Summable},
    reference,
};
use ndarray::{Array1, ArrayD, Axis, Ix1, IxDyn, array, s};
use testkit::{AWKWARD_LENGTHS, Layout, Outcome, Rng, Test, ensure, ensure_eq, tests};

pub const TESTS: &[Test<Device>] = tests![
    sums_of_every_type_are_added,
    views_of_every_layout_are_added_to,
    indices_of_every_type_are_taken,
    floats_are_near_their_exact_sum_with_the_same_bits_each_time,
    values_of_one_place_leave_others_as_they_are,
    values_are_arrays_expressions_or_scalars,
    a_wrong_index_adds_nothing,
    sums_that_cannot_be_added_are_told,
    each_operation_is_that_of_the_definition_at_either_place,
    sums_of_floats_on_the_host_keep_the_bound,
    extremes_keep_nan,
    selected_elements_take_values_in_order,
];

/// `n` indices of an array of `len` elements, from the start or from the end, of `distinct` places at most.
fn indices(n: usize, len: usize, distinct: usize, rng: &mut Rng) -> Vec<i64> {
    let distinct = distinct.clamp(1, len);
    let one = |_| {
        let place = (rng.below(distinct) * (len / distinct)) as i64;
        if rng.below(3) == 0 { place - len as i64 } else { place }
    };
    (0..n).map(one).collect()
}

/// Types whose sums of small numbers are exact, or wrap.
trait Exact: Summable + Number {
    fn small(k: usize) -> Self;
    fn plus(self, other: Self) -> Self;
}

macro_rules! exact {
    ($($type:ident, |$a:ident, $b:ident| $sum:expr);* $(;)?) => {$(
        impl Exact for $type {
            fn small(k: usize) -> Self {
                (k * 37 % 101) as Self
            }
            fn plus(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $sum
            }
        }
    )*};
}
exact! {
    i8, |a, b| a.wrapping_add(b); i16, |a, b| a.wrapping_add(b); i32, |a, b| a.wrapping_add(b); i64, |a, b| a.wrapping_add(b);
    u8, |a, b| a.wrapping_add(b); u16, |a, b| a.wrapping_add(b); u32, |a, b| a.wrapping_add(b); u64, |a, b| a.wrapping_add(b);
    f32, |a, b| a + b; f64, |a, b| a + b;
}

fn check<T: Exact>(device: &Device, n: usize, len: usize, distinct: usize, rng: &mut Rng) -> Outcome {
    let at = indices(n, len, distinct, rng);
    let values: Vec<T> = (0..n).map(T::small).collect();
    let mut want: Array1<T> = (0..len).map(|place| T::small(place + 5)).collect();
    let mut x = GpuArray::from_ndarray(device, &want)?;
    reference::add_at(want.view_mut(), &at, &values, T::plus)?;
    x.add_at(&GpuArray::from_vec(device, at)?, &GpuArray::from_vec(device, values)?)?;
    ensure!(x.to_ndarray()? == want, "{}: {n} indices of {distinct} places of {len}", T::DTYPE);
    Ok(())
}

fn sums_of_every_type_are_added(device: &Device) -> Outcome {
    let mut rng = testkit::rng(8);
    for n in AWKWARD_LENGTHS {
        for (len, distinct) in [(1, 1), (2, 2), (100, 3)] {
            check::<f32>(device, n, len, distinct, &mut rng)?;
        }
        if n < 3000 {
            check::<f32>(device, n, 70_000, 70_000, &mut rng)?;
        }
    }
    for (n, len) in [(1, 1), (1, 1000), (777, 1), (1000, 33), (500, 1024), (500, 1025)] {
        check::<i8>(device, n, len, len, &mut rng)?;
        check::<i16>(device, n, len, len, &mut rng)?;
        check::<i32>(device, n, len, len, &mut rng)?;
        check::<i64>(device, n, len, len, &mut rng)?;
        check::<u8>(device, n, len, len, &mut rng)?;
        check::<u16>(device, n, len, len, &mut rng)?;
        check::<u32>(device, n, len, len, &mut rng)?;
        check::<u64>(device, n, len, len, &mut rng)?;
        check::<f64>(device, n, len, len, &mut rng)?;
    }
    Ok(())
}

fn views_of_every_layout_are_added_to(device: &Device) -> Outcome {
    fn of<T: Exact>(device: &Device, shape: &[usize]) -> Outcome {
        let mut rng = testkit::rng(9);
        for (name, layout) in Layout::each(shape) {
            let all: usize = layout.base.iter().product();
            let mut want = ArrayD::from_shape_vec(IxDyn(&layout.base), (0..all).map(T::small).collect())?;
            let mut x = GpuArray::from_ndarray(device, &want)?;
            let len: usize = shape.iter().product();
            let at = indices(2 * len, len, len, &mut rng);
            let values: Vec<T> = (0..2 * len).map(|k| T::small(k + 1)).collect();
            reference::add_at(layout.of_host_mut(want.view_mut()), &at, &values, T::plus)?;
            let (at, values) = (GpuArray::from_vec(device, at)?, GpuArray::from_vec(device, values)?);
            let mut permuted = x.permuted_axes_mut(layout.axes())?;
            permuted.slice_mut(&layout.slices()[..])?.add_at(&at, &values)?;
            ensure!(x.to_ndarray()? == want, "{name}, {} of {shape:?}", T::DTYPE);
        }
        Ok(())
    }
    of::<f64>(device, &[7])?;
    of::<u8>(device, &[5, 9])?;
    of::<f32>(device, &[3, 4, 5])?;
    of::<u32>(device, &[2, 3, 4])
}

fn indices_of_every_type_are_taken(device: &Device) -> Outcome {
    fn of<I: Integer>(device: &Device, at: Vec<I>) -> Outcome {
        let mut x = GpuArray::full(device, 100, 1.0f64)?;
        x.add_at(&GpuArray::from_vec(device, at)?, 2.0)?;
        let got = [x.slice(s![5])?.get()?, x.slice(s![99])?.get()?, x.slice(s![0])?.get()?, x.sum().get()?];
        ensure!(got == [5.0, 3.0, 1.0, 106.0], "{}: {got:?}", I::DTYPE);
        Ok(())
    }
    of::<i8>(device, vec![5, -1, 5])?;
    of::<i16>(device, vec![5, 99, -95])?;
    of::<i32>(device, vec![5, -1, 5])?;
    of::<i64>(device, vec![-95, -1, 5])?;
    of::<u8>(device, vec![5, 99, 5])?;
    of::<u16>(device, vec![5, 99, 5])?;
    of::<u32>(device, vec![5, 99, 5])?;
    of::<u64>(device, vec![5, 99, 5])
}

/// Indices of 37 places, values for them, and the exact sums with 1.
struct FloatSums {
    at: Vec<i64>,
    values: Vec<f32>,
    want: Array1<f64>,
}

fn float_sums() -> Result<FloatSums, AlgoError> {
    let mut rng = testkit::rng(10);
    let (n, len) = (20_011, 37);
    let at = indices(n, len, len, &mut rng);
    let values: Vec<f32> = (0..n).map(|_| rng.below(1 << 24) as f32 / 4096.0 - 2048.0).collect();
    let mut want = Array1::<f64>::ones(len);
    let wide: Vec<f64> = values.iter().map(|&value| value.into()).collect();
    reference::add_at(want.view_mut(), &at, &wide, |x, y| x + y)?;
    Ok(FloatSums { at, values, want })
}

/// The sum is rounded, and so is its sum with the element.
fn near_sums(got: &Array1<f32>, want: &Array1<f64>) -> Outcome {
    for (got, want) in got.iter().map(|&got| f64::from(got)).zip(want) {
        let bound = 2.0 * f64::from(f32::EPSILON) * (want.abs() + 1.0);
        ensure!((got - want).abs() <= bound, "{got} in place of {want}");
    }
    Ok(())
}

fn floats_are_near_their_exact_sum_with_the_same_bits_each_time(device: &Device) -> Outcome {
    let FloatSums { at, values, want } = float_sums()?;
    let (at, values) = (GpuArray::from_vec(device, at)?, GpuArray::from_vec(device, values)?);
    let mut results = Vec::new();
    for _ in 0..3 {
        let mut x = GpuArray::<f32, _>::ones(device, want.len())?;
        x.add_at(&at, &values)?;
        results.push(x.to_ndarray()?);
    }
    let bits = |x: &Array1<f32>| x.mapv(f32::to_bits);
    ensure!(bits(&results[0]) == bits(&results[1]) && bits(&results[1]) == bits(&results[2]));
    near_sums(&results[0], &want)
}

fn values_of_one_place_leave_others_as_they_are(device: &Device) -> Outcome {
    let mut x = GpuArray::from_ndarray(device, &array![1.0f32, f32::NAN, 2.0, 3.0, -0.0, -0.0, f32::MAX])?;
    let at = GpuArray::from_vec(device, vec![2, 0, 3, 2, 0, 4, 6, 3, 6])?;
    let inf = f32::INFINITY;
    let values = [inf, 1.0, f32::NAN, -inf, 4.0, -0.0, 1.0, 5.0, -f32::MAX];
    x.add_at(&at, &GpuArray::from_vec(device, values)?)?;
    let got = x.to_ndarray()?;
    ensure!(got[1].is_nan() && got[2].is_nan() && got[3].is_nan(), "{got}");
    ensure_eq!([got[0], got[4], got[5]].map(f32::to_bits), [6.0f32, -0.0, -0.0].map(f32::to_bits));
    ensure_eq!(got[6], 0.0);
    Ok(())
}

fn values_are_arrays_expressions_or_scalars(device: &Device) -> Outcome {
    let mut x = GpuArray::<f64, _>::zeros(device, (2, 3))?;
    let at = GpuArray::from_ndarray(device, &array![[0, 5], [5, -2], [1, 5]])?;
    x.add_at(&at, 0.5)?;
    ensure_eq!(x.to_ndarray()?, array![[0.5, 0.5, 0.0], [0.0, 0.5, 1.5]]);
    let row = GpuArray::from_vec(device, vec![1.0, 10.0])?;
    x.add_at(&at, &row * 2.0)?;
    ensure_eq!(x.to_ndarray()?, array![[2.5, 2.5, 0.0], [0.0, 20.5, 43.5]]);
    x.add_at(at.t(), index::<Ix1, Gpu>(Axis(0)).cast::<f64>())?;
    ensure_eq!(x.to_ndarray()?, array![[2.5, 4.5, 0.0], [0.0, 21.5, 46.5]]);
    x.t_mut().add_at(constant::<i32, Gpu>(-1).broadcast(1000), 1.0)?;
    ensure_eq!(x.slice(s![1, 2])?.get()?, 1046.5);
    let mut counts = GpuArray::<u64, _>::zeros(device, 4)?;
    counts.add_at(index::<Ix1, Gpu>(Axis(0)).broadcast(10_001) % 4, 1)?;
    ensure_eq!(counts.to_ndarray()?, array![2501, 2500, 2500, 2500]);
    // Arrays of other streams.
    let (first, second) = (Stream::new(device)?, Stream::new(device)?);
    let mut x = GpuArray::<f32, _>::zeros(device, 100)?;
    for round in 1..4 {
        let at = GpuArray::arange(&first, 0, 1000, 1)? % 100;
        let values = GpuArray::full(&second, 1000, 0.5)?;
        x.add_at(at, &values)?;
        drop(values);
        ensure!(x.to_ndarray()?.iter().all(|&x| x == 5.0 * round as f32), "round {round}");
    }
    Ok(())
}

fn a_wrong_index_adds_nothing(device: &Device) -> Outcome {
    fn of<T: Exact>(device: &Device) -> Outcome {
        for (at, bad, position) in [
            (vec![0, 1, 6, 9], 6, 2),
            (vec![0, -7, 9, 2], -7, 1),
            (vec![i64::MIN], i64::MIN, 0),
            (vec![2, i64::MAX, i64::MIN], i64::MAX, 1),
        ] {
            let host = Array1::from_iter((0..6).map(T::small));
            let mut x = GpuArray::from_ndarray(device, &host)?;
            let got = x.add_at(&GpuArray::from_vec(device, at)?, T::small(3));
            let told = matches!(got, Err(AlgoError::Array(ArrayError::OutOfBounds { op: "add_at", index, number, len: 6 }))
                if (index, number) == (bad, position));
            ensure!(told, "{}: {got:?}", T::DTYPE);
            ensure!(x.to_ndarray()? == host);
            let huge = x.add_at(&GpuArray::from_vec(device, vec![1, u64::MAX])?, T::small(3));
            let told =
                matches!(huge, Err(AlgoError::Array(ArrayError::OutOfBounds { index: i64::MAX, number: 1, .. })));
            ensure!(told, "{huge:?}");
        }
        let mut none = GpuArray::<T, _>::zeros(device, (0, 3))?;
        none.add_at(&GpuArray::<i32, Ix1>::zeros(device, 0)?, T::small(1))?;
        ensure!(none.add_at(&GpuArray::from_vec(device, vec![0])?, T::small(1)).is_err());
        Ok(())
    }
    of::<f32>(device)?;
    of::<u8>(device)?;
    of::<i32>(device)
}

fn sums_that_cannot_be_added_are_told(device: &Device) -> Outcome {
    fn of<T: Exact>(device: &Device) -> Outcome {
        let mut x = GpuArray::<T, _>::zeros(device, 6)?;
        let (at, wrong) = (GpuArray::from_vec(device, vec![0, 1])?, GpuArray::<T, _>::zeros(device, 3)?);
        let told = |got: &Result<(), AlgoError>| matches!(got, Err(AlgoError::Array(ArrayError::Operands { .. })));
        ensure!(told(&x.add_at(&at, &wrong)) && told(&x.add_at(at.slice(s![..0])?, &wrong)), "{}", T::DTYPE);
        let wide = GpuArray::<T, _>::zeros(device, (3, 2))?;
        ensure!(told(&x.add_at(&at, &wide)));
        let stream = Stream::new(device)?;
        let mut on_stream = GpuArray::<T, _>::zeros(&stream, 6)?;
        let (graph, ()) = stream.capture(|| {
            let got = on_stream.add_at(&at, T::small(1));
            let refused = matches!(got, Err(AlgoError::Array(ArrayError::Driver(DriverError::InCapture { .. }))))
                || matches!(got, Err(AlgoError::Driver(DriverError::InCapture { op: "add_at" })));
            if refused { Ok(()) } else { Err(AlgoError::Empty { op: "no refusal" }) }
        })?;
        drop(graph);
        let mut failed = at.try_clone()?;
        failed += &GpuArray::from_vec(device, vec![1, 2, 3])?;
        let told = |got: &Result<(), AlgoError>| matches!(got, Err(AlgoError::Array(ArrayError::Operator { .. })));
        ensure!(told(&x.add_at(&failed, T::small(1))), "{}", DType::I32);
        ensure!(x.to_ndarray()?.iter().all(|&x| x == T::small(0)));
        x += &wrong;
        ensure!(told(&x.add_at(&at, T::small(1))));
        Ok(())
    }
    of::<f32>(device)?;
    of::<i32>(device)
}

/// The operations, by their numbers, on an array of any place.
fn combine<T: Exact, A: WriteAt<T, IxDyn>>(
    operation: usize,
    x: &mut A,
    at: &Expr<'_, i64, Ix1, A::Backend>,
    values: &Expr<'_, T, Ix1, A::Backend>,
) -> Result<(), AlgoError>
where
    A::Backend: Reduces<T>,
{
    match operation {
        0 => x.add_at(at, values),
        1 => x.subtract_at(at, values),
        2 => x.multiply_at(at, values),
        3 => x.minimum_at(at, values),
        _ => x.maximum_at(at, values),
    }
}

fn each_operation_is_that_of_the_definition_at_either_place(device: &Device) -> Outcome {
    fn of<T: Exact + Operand>(
        device: &Device,
        shape: &[usize],
        [add, subtract, multiply]: [fn(T, T) -> T; 3],
    ) -> Outcome {
        let mut rng = testkit::rng(11);
        for (name, layout) in Layout::each(shape) {
            let all: usize = layout.base.iter().product();
            let len: usize = shape.iter().product();
            let before = ArrayD::from_shape_vec(IxDyn(&layout.base), (0..all).map(T::small).collect())?;
            if layout.broadcast().is_some() {
                continue;
            }
            let at = indices(len, len, len.div_ceil(2), &mut rng);
            // Products of some of them are exact.
            let values: Vec<T> = (0..len).map(|k| if k % 3 == 0 { T::small(k % 7) } else { T::small(66) }).collect();
            let (hat, hvalues) = (Array1::from(at.clone()), Array1::from(values.clone()));
            let (dat, dvalues) = (GpuArray::from_ndarray(device, &hat)?, GpuArray::from_ndarray(device, &hvalues)?);
            for number in 0..5 {
                let (mut want, mut on_host) = (before.clone(), before.clone());
                let target = layout.of_host_mut(want.view_mut());
                match number {
                    0 => reference::add_at(target, &at, &values, add),
                    1 => reference::subtract_at(target, &at, &values, subtract),
                    2 => reference::multiply_at(target, &at, &values, multiply),
                    3 => reference::minimum_at(target, &at, &values),
                    _ => reference::maximum_at(target, &at, &values),
                }?;
                combine(number, &mut layout.of_host_mut(on_host.view_mut()), &host(&hat), &host(&hvalues))?;
                ensure!(on_host == want, "{name}, {} of {shape:?}: operation {number} on the host", T::DTYPE);
                let mut x = GpuArray::from_ndarray(device, &before)?;
                let mut permuted = x.permuted_axes_mut(layout.axes())?;
                let mut view = permuted.slice_mut(&layout.slices()[..])?;
                combine(number, &mut view, &Gpu::expr(&dat), &Gpu::expr(&dvalues))?;
                ensure!(x.to_ndarray()? == want, "{name}, {} of {shape:?}: operation {number}", T::DTYPE);
            }
        }
        Ok(())
    }
    macro_rules! wrapping {
        ($type:ident) => {
            [$type::wrapping_add, $type::wrapping_sub, $type::wrapping_mul]
        };
    }
    of::<i8>(device, &[7], wrapping!(i8))?;
    of::<u8>(device, &[2, 7], wrapping!(u8))?;
    of::<i16>(device, &[5], wrapping!(i16))?;
    of::<u16>(device, &[3, 4], wrapping!(u16))?;
    of::<i32>(device, &[3, 4], wrapping!(i32))?;
    of::<u64>(device, &[2, 3, 4], wrapping!(u64))?;
    of::<f64>(device, &[3, 4], [|a, b| a + b, |a, b| a - b, |a, b| a * b])
}

fn sums_of_floats_on_the_host_keep_the_bound(device: &Device) -> Outcome {
    let FloatSums { at, values, want } = float_sums()?;
    let mut x = Array1::<f32>::ones(want.len());
    x.add_at(host(&Array1::from(at)), host(&Array1::from(values)))?;
    near_sums(&x, &want)?;
    // Halves and complex numbers at either place.
    let (at, ones) = (Array1::from_elem(3000, -1i8), Array1::from_elem(3000, f16::ONE));
    let z = array![Complex::new(1.0, 2.0), Complex::new(-3.0, 0.5), Complex::new(0.25, 1.0)];
    let mut sums = (Array1::<f16>::zeros(2), Array1::<Complex<f64>>::zeros(2));
    sums.0.add_at(host(&at), host(&ones))?;
    sums.1.multiply_at(host(&array![0, 0, 1]), host(&z))?;
    sums.1.subtract_at(host(&array![1, 1, 1]), host(&z))?;
    let (dat, dones, dz) = (
        GpuArray::from_ndarray(device, &at)?,
        GpuArray::from_ndarray(device, &ones)?,
        GpuArray::from_ndarray(device, &z)?,
    );
    let (mut halves, mut complex) =
        (GpuArray::<f16, _>::zeros(device, 2)?, GpuArray::<Complex<f64>, _>::zeros(device, 2)?);
    halves.add_at(&dat, &dones)?;
    complex.multiply_at(&GpuArray::from_vec(device, vec![0, 0, 1])?, &dz)?;
    complex.subtract_at(&GpuArray::from_vec(device, vec![1, 1, 1])?, &dz)?;
    ensure_eq!((halves.to_ndarray()?, complex.to_ndarray()?), sums);
    ensure_eq!(sums.0.to_vec(), [f16::ZERO, f16::from_f32(3000.0)]);
    ensure_eq!(sums.1.to_vec(), [Complex::new(0.0, 0.0), Complex::new(1.75, -3.5)]);
    Ok(())
}

fn extremes_keep_nan(device: &Device) -> Outcome {
    let before = array![1.0f32, f32::NAN, 5.0, -2.0, 7.0];
    let (at, values) = (array![0i64, 1, 2, 2, 3, 3], array![3.0f32, 9.0, f32::NAN, 1.0, -8.0, f32::NEG_INFINITY]);
    let text = |x: &Array1<f32>| format!("{x}");
    let (mut least, mut greatest) = (before.clone(), before.clone());
    reference::minimum_at(least.view_mut(), &at.to_vec(), &values.to_vec())?;
    reference::maximum_at(greatest.view_mut(), &at.to_vec(), &values.to_vec())?;
    ensure_eq!([text(&least), text(&greatest)], ["[1, NaN, NaN, -inf, 7]", "[3, NaN, NaN, -2, 7]"]);
    let (mut least, mut greatest) = (before.clone(), before.clone());
    least.minimum_at(host(&at), host(&values))?;
    greatest.maximum_at(host(&at), host(&values))?;
    ensure_eq!(text(&least), "[1, NaN, NaN, -inf, 7]");
    ensure_eq!(text(&greatest), "[3, NaN, NaN, -2, 7]");
    let (at, values) = (GpuArray::from_ndarray(device, &at)?, GpuArray::from_ndarray(device, &values)?);
    let (mut on_device, mut other) =
        (GpuArray::from_ndarray(device, &before)?, GpuArray::from_ndarray(device, &before)?);
    on_device.minimum_at(&at, &values)?;
    other.maximum_at(&at, &values)?;
    ensure_eq!([text(&on_device.to_ndarray()?), text(&other.to_ndarray()?)], [text(&least), text(&greatest)]);
    Ok(())
}

fn selected_elements_take_values_in_order(device: &Device) -> Outcome {
    for (name, layout) in Layout::each(&[5, 7]) {
        if layout.broadcast().is_some() {
            continue;
        }
        let all: usize = layout.base.iter().product();
        let before = ArrayD::from_shape_vec(IxDyn(&layout.base), (0..all as i32).collect())?;
        let mask = ArrayD::from_shape_fn(IxDyn(&[5, 7]), |at| (at[0] * 3 + at[1]) % 4 == 1);
        let count = mask.iter().filter(|&&set| set).count();
        let values: Array1<i32> = (0..count as i32).map(|k| -1 - k).collect();
        let mut want = before.clone();
        let chosen = values.as_slice().unwrap_or_default();
        reference::assign_selected(layout.of_host_mut(want.view_mut()), &mask, chosen)?;
        let mut got = before.clone();
        layout.of_host_mut(got.view_mut()).assign_selected(host(&mask), host(&values))?;
        ensure!(got == want, "{name} on the host");
        let mut x = GpuArray::from_ndarray(device, &before)?;
        let (dmask, dvalues) = (GpuArray::from_ndarray(device, &mask)?, GpuArray::from_ndarray(device, &values)?);
        let mut permuted = x.permuted_axes_mut(layout.axes())?;
        permuted.slice_mut(&layout.slices()[..])?.assign_selected(&dmask, &dvalues)?;
        ensure!(x.to_ndarray()? == want, "{name}");
        // A value too few, and one too many, write nothing.
        for other in [dvalues.slice(s![1..])?.to_owned()?, concatenate(Axis(0), [&dvalues, &dvalues])?] {
            let told = |got: Result<(), AlgoError>| {
                matches!(got, Err(AlgoError::Array(ArrayError::Length { expected, got, .. }))
                    if expected == count && got == other.len())
            };
            let on_host = other.to_ndarray()?;
            ensure!(told(layout.of_host_mut(got.view_mut()).assign_selected(host(&mask), host(&on_host))));
            let mut permuted = x.permuted_axes_mut(layout.axes())?;
            ensure!(told(permuted.slice_mut(&layout.slices()[..])?.assign_selected(&dmask, &other)));
            ensure!(got == want && x.to_ndarray()? == want);
        }
    }
    let (mut x, none) = (array![1, 2], Array1::<i32>::zeros(0));
    x.assign_selected(host(&array![false, false]), host(&none))?;
    ensure_eq!(x, array![1, 2]);
    x.assign_selected(host(&array![true]), host(&array![3, 4]))?;
    ensure_eq!(x, array![3, 4]);
    // The error of an operator comes first, also where nothing is selected; a capture goes on.
    let stream = Stream::new(device)?;
    let mut x = GpuArray::from_ndarray(&stream, &x)?;
    let (mask, none) = (GpuArray::from_vec(&stream, vec![false, false])?, GpuArray::<i32, Ix1>::zeros(&stream, 0)?);
    let (graph, ()) = stream.capture(|| match x.assign_selected(&mask, &none) {
        Err(AlgoError::Driver(DriverError::InCapture { op: "assign_selected" })) => Ok(()),
        other => other.and(Err(AlgoError::Empty { op: "no refusal" })),
    })?;
    drop(graph);
    x += &GpuArray::<i32, _>::zeros(&stream, 3)?;
    let told = x.assign_selected(&mask, &none);
    ensure!(matches!(told, Err(AlgoError::Array(ArrayError::Operator { op: "+=", .. }))), "{told:?}");
    Ok(())
}
