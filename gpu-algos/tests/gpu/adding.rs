//! Sums at computed places, compared with their definition on the host.

use gpu_algos::{
    AlgoError,
    gpu_array::{
        ArrayError, DType, GpuArray, Integer, Number,
        expression::{Gpu, constant, index},
        gpu_driver::{Device, DriverError, Stream},
    },
    prelude::*,
    reduce::Summable,
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

fn floats_are_near_their_exact_sum_with_the_same_bits_each_time(device: &Device) -> Outcome {
    let mut rng = testkit::rng(10);
    let (n, len) = (20_011, 37);
    let at = indices(n, len, len, &mut rng);
    let values: Vec<f32> = (0..n).map(|_| rng.below(1 << 24) as f32 / 4096.0 - 2048.0).collect();
    let mut want = Array1::<f64>::ones(len);
    let wide: Vec<f64> = values.iter().map(|&value| value.into()).collect();
    reference::add_at(want.view_mut(), &at, &wide, |x, y| x + y)?;
    let (at, values) = (GpuArray::from_vec(device, at)?, GpuArray::from_vec(device, values)?);
    let mut results = Vec::new();
    for _ in 0..3 {
        let mut x = GpuArray::<f32, _>::ones(device, len)?;
        x.add_at(&at, &values)?;
        results.push(x.to_ndarray()?.mapv(f32::to_bits));
    }
    ensure!(results[0] == results[1] && results[1] == results[2]);
    for (got, want) in results[0].iter().map(|&bits| f64::from(f32::from_bits(bits))).zip(want) {
        // The sum is rounded, and so is its sum with the element.
        let bound = 2.0 * f64::from(f32::EPSILON) * (want.abs() + 1.0);
        ensure!((got - want).abs() <= bound, "{got} in place of {want}");
    }
    Ok(())
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
