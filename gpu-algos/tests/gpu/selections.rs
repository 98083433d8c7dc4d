//! Selections against the reference.

use approx::abs_diff_eq;
use gpu_algos::{
    AlgoError,
    gpu_array::{
        ArrayError, Complex, Element, GpuArray, Inexact,
        expression::{Expr, complex, index},
        gpu_driver::{Device, Stream},
    },
    operators::Summand,
    prelude::*,
    reference,
};
use ndarray::{Array0, Array1, Array3, Axis, Ix1, Ix3, arr0, array, s};
use testkit::{Layout, Outcome, Rng, Test, ensure, ensure_eq, lengths_around, rng, same, tests};

use crate::layouts::{base, of_gpu};

pub const TESTS: &[Test<Device>] = tests![
    awkward_lengths_and_shares,
    one_that_is_selected_anywhere,
    any_layout_and_expression,
    selected_types_and_nan,
    runs_of_any_length,
    runs_of_equal_values_from_any_position,
    runs_of_two_arrays,
    axes_of_places_and_parts,
    results_of_every_kind,
    into_existing_memory,
    two_streams,
    a_captured_selection_is_replayed_on_another_stream,
    what_a_selection_leaves_is_no_other_s,
    wrong_selections_are_errors,
    complex_values_are_selected,
    many_selected_around_tiles,
    many_selected_with_flags_at_every_position,
    many_selected_of_any_type,
    many_selected_that_are_not_aligned,
    many_selected_on_two_streams_and_replayed,
];

type Failure = Box<dyn std::error::Error>;

fn flags(rng: &mut Rng, n: usize, percent: usize) -> Array1<bool> {
    (0..n).map(|_| rng.below(100) < percent).collect()
}

/// All selections by a mask.
fn by_mask(device: &Device, x: &Array1<f32>, mask: &Array1<bool>, what: &str) -> Outcome {
    let (on_gpu, m) = (GpuArray::from_ndarray(device, x)?, GpuArray::from_ndarray(device, mask)?);
    let want = reference::select(x, mask)?;
    let got = on_gpu.select(&m).eval()?;
    ensure_eq!(got.len()?, want.len());
    same(&got.to_ndarray()?.to_vec(), &want.to_vec(), what)?;
    let got = m.nonzero().eval()?.into_array()?.to_ndarray()?;
    same(&got.to_vec(), &reference::flat_nonzero(mask).to_vec(), what)?;
    let (want, selected) = reference::partition_by_mask(x, mask)?;
    let (got, count) = on_gpu.partition(&m).eval()?.into_parts();
    ensure_eq!(count.get()?, selected as i64);
    same(&got.to_ndarray()?.to_vec(), &want.to_vec(), what)?;
    Ok(())
}

pub fn awkward_lengths_and_shares(device: &Device) -> Outcome {
    let mut rng = rng(21);
    // Around borders of warps, packs and the tiles of few values.
    for n in lengths_around(2048).into_iter().chain([4, 6143]) {
        for percent in [0, 50, 100] {
            let mask = flags(&mut rng, n, percent);
            by_mask(device, &Array1::from_shape_fn(n, |i| i as f32), &mask, &format!("{n}, {percent} %"))?;
        }
    }
    // More tiles than a group has, and more than there are blocks at once; the larger tiles of many values.
    let many = if device.is_emulated() { 400_003 } else { 1_000_003 };
    for (n, percent) in [(40 * 2048 + 3, 10), (many, 50)] {
        let mask = flags(&mut rng, n, percent);
        by_mask(device, &Array1::from_shape_fn(n, |i| i as f32), &mask, &format!("{n}, {percent} %"))?;
    }
    // The largest tiles.
    let n = if device.is_emulated() { 1_700_003 } else { 50_000_003 };
    let (x, mask) = (Array1::from_shape_fn(n, |i| i as f32), flags(&mut rng, n, 50));
    let (a, m) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &mask)?);
    same(&a.select(&m).eval()?.to_ndarray()?.to_vec(), &reference::select(&x, &mask)?.to_vec(), n)
}

pub fn one_that_is_selected_anywhere(device: &Device) -> Outcome {
    let n = 6500;
    let x = GpuArray::from_ndarray(device, &Array1::from_shape_fn(n, |i| i as f32))?;
    for border in [0, 4, 128, 256, 512, 1024, 2048, 3072, 4096, 6144, n] {
        for at in border.saturating_sub(1)..(border + 2).min(n) {
            let mask = Array1::from_shape_fn(n, |i| i == at);
            let m = GpuArray::from_ndarray(device, &mask)?;
            ensure_eq!(m.nonzero().eval()?.to_ndarray()?, array![at as i64]);
            ensure_eq!(x.select(&m).eval()?.to_ndarray()?, array![at as f32]);
            let parted = x.partition(!m.view()).eval()?;
            let (selected, others) = parted.views()?;
            ensure_eq!(others.to_ndarray()?, array![at as f32]);
            ensure!(selected.to_ndarray()?.iter().all(|&x| x != at as f32));
        }
    }
    Ok(())
}

pub fn any_layout_and_expression(device: &Device) -> Outcome {
    let mut rng = rng(22);
    for shape in [[3, 5, 7], [1, 40, 33], [64, 4, 16], [70, 90, 1], [5, 0, 4]] {
        for (name, layout) in Layout::each(&shape) {
            let (x, m) = (
                base(&layout, &mut rng, |rng| rng.below(9) as f32 - 4.0),
                base(&layout, &mut rng, |rng| rng.below(2) == 0),
            );
            let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &m)?);
            let device_x = of_gpu(&layout, &a)?.into_dimensionality::<Ix3>()?;
            let device_m = of_gpu(&layout, &b)?.into_dimensionality::<Ix3>()?;
            let host_x = layout.of_host(x.view()).into_dimensionality::<Ix3>()?;
            let host_m = layout.of_host(m.view()).into_dimensionality::<Ix3>()?;
            let what = format!("{shape:?} {name}");
            let want = reference::select(host_x, host_m)?;
            same(&device_x.select(&device_m).eval()?.to_ndarray()?.to_vec(), &want.to_vec(), &what)?;
            // A view beside an array.
            let dense = GpuArray::from_ndarray(device, &host_m.to_owned())?;
            same(&device_x.select(&dense).eval()?.to_ndarray()?.to_vec(), &want.to_vec(), &what)?;
            let got = device_x.nonzero().eval()?.to_ndarray()?;
            same(&got.to_vec(), &reference::flat_nonzero(host_x).to_vec(), &what)?;
            let flat: Array1<f32> = host_x.iter().copied().collect();
            let got = device_x.unique().eval()?.to_ndarray()?;
            same(&got.to_vec(), &reference::unique(&flat).to_vec(), &what)?;
            let want = reference::copy_if(&flat.mapv(|x| x * 2.0), |&x| x > 0.0);
            let got = (&device_x * 2.0).select(device_x.gt(0.0)).eval()?.to_ndarray()?;
            same(&got.to_vec(), &want.to_vec(), &what)?;
        }
    }
    // Packs that do not begin where memory is aligned, of values and masks that do not begin at the same place.
    let n = 5000;
    let (x, m) = (Array1::from_shape_fn(n, |i| i as f32), flags(&mut rng, n, 50));
    let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &m)?);
    for from in 0..5 {
        for beside in [from, 0, 3] {
            let len = n - from.max(beside);
            let (mask, values) = (s![beside..beside + len], s![from..from + len]);
            let want = reference::select(x.slice(values), m.slice(mask))?;
            let got = a.slice(values)?.select(b.slice(mask)?).eval()?.to_ndarray()?;
            same(&got.to_vec(), &want.to_vec(), format!("from {from} beside {beside}"))?;
            let runs = a.slice(values)?.unique().eval()?;
            ensure_eq!(runs.len()?, len);
            let (got, want) = (b.slice(mask)?.unique().eval()?.to_ndarray()?, reference::unique(m.slice(mask)));
            same(&got.to_vec(), &want.to_vec(), "flags that repeat")?;
        }
    }
    // Values by broadcasting, places of an expression, values that are places.
    let row = GpuArray::from_ndarray(device, &array![1.0f32, 0.0, 2.0])?;
    let wide = row.broadcast((1000, 3))?;
    ensure_eq!(wide.nonzero().eval()?.len()?, 2000);
    let got = wide.select(wide.gt(1.0)).eval()?.to_ndarray()?;
    ensure_eq!(got, Array1::from_elem(1000, 2.0));
    let places: Expr<'_, i64, Ix1> = index::<Ix1, _>(Axis(0)).broadcast(n);
    let got = places.select(&b).eval()?.to_ndarray()?;
    same(&got.to_vec(), &reference::flat_nonzero(&m).to_vec(), "places")?;
    Ok(())
}

fn of_type<T: Element + PartialEq>(device: &Device, x: &Array1<T>, mask: &Array1<bool>) -> Outcome {
    let (a, m) = (GpuArray::from_ndarray(device, x)?, GpuArray::from_ndarray(device, mask)?);
    let name = std::any::type_name::<T>();
    same(&a.select(&m).eval()?.to_ndarray()?.to_vec(), &reference::select(x, mask)?.to_vec(), name)?;
    let (want, _) = reference::partition_by_mask(x, mask)?;
    same(&a.partition(&m).eval()?.values().to_ndarray()?.to_vec(), &want.to_vec(), name)?;
    let want = reference::run_length_encode(x);
    let (values, offsets, lengths) = a.run_length_encode().eval()?.into_arrays()?;
    same(&values.to_ndarray()?.to_vec(), &want.values.to_vec(), name)?;
    same(&offsets.to_ndarray()?.to_vec(), &want.offsets.to_vec(), name)?;
    same(&lengths.to_ndarray()?.to_vec(), &want.lengths.to_vec(), name)?;
    Ok(())
}

pub fn selected_types_and_nan(device: &Device) -> Outcome {
    let mut rng = rng(23);
    let n = 9001;
    let numbers: Vec<usize> = (0..n).map(|_| rng.below(3)).collect();
    let mask = flags(&mut rng, n, 30);
    of_type(device, &numbers.iter().map(|&x| x as u8).collect(), &mask)?;
    of_type(device, &numbers.iter().map(|&x| x > 0).collect(), &mask)?;
    of_type(device, &numbers.iter().map(|&x| x as i16 - 1).collect(), &mask)?;
    of_type(device, &numbers.iter().map(|&x| x as i64 * (1 << 40)).collect(), &mask)?;
    of_type(device, &numbers.iter().map(|&x| x as f64 * 1e300).collect(), &mask)?;
    // NaN is not 0, and equal to nothing; -0.0 is 0, and equal to 0.0.
    let special = [f64::NAN, f64::NAN, 0.0, -0.0, 1.0, 1.0, f64::INFINITY, f64::NAN];
    let x: Array1<f64> = (0..n).map(|i| special[i % special.len()]).collect();
    let a = GpuArray::from_ndarray(device, &x)?;
    let got = a.nonzero().eval()?.to_ndarray()?;
    same(&got.to_vec(), &reference::flat_nonzero(&x).to_vec(), "NaN")?;
    let (runs, want) = (a.run_length_encode().eval()?, reference::run_length_encode(&x));
    let (values, offsets, _) = runs.into_arrays()?;
    same(&offsets.to_ndarray()?.to_vec(), &want.offsets.to_vec(), "NaN")?;
    let bits = |x: Array1<f64>| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    same(&bits(values.to_ndarray()?), &bits(want.values), "NaN")?;
    let small = GpuArray::from_ndarray(device, &array![0.25f32, 0.0, 1e-40])?;
    ensure_eq!(small.nonzero().eval()?.to_ndarray()?, array![0, 2]);
    Ok(())
}

pub fn runs_of_any_length(device: &Device) -> Outcome {
    let mut rng = rng(24);
    for n in [0, 1, 2, 33, 1025, 2049, 9001, 150_003] {
        for most in [1, 3, 40, 3000, 100_000] {
            let mut keys = Vec::new();
            while keys.len() < n {
                let (key, run) = (keys.len() as i32 % 1000, 1 + rng.below(most));
                keys.extend(std::iter::repeat_n(key, run));
            }
            keys.truncate(n);
            let (x, what) = (Array1::from(keys), format!("{n}, runs to {most}"));
            let want = reference::run_length_encode(&x);
            let a = GpuArray::from_ndarray(device, &x)?;
            same(&a.unique().eval()?.to_ndarray()?.to_vec(), &want.values.to_vec(), &what)?;
            let runs = a.run_length_encode().eval()?;
            ensure_eq!((runs.len()?, runs.is_empty()?), (want.values.len(), n == 0));
            ensure_eq!(runs.count().get()?, want.values.len() as i64);
            let (values, offsets, lengths) = runs.views()?;
            ensure_eq!(
                (values.len(), offsets.len(), lengths.to_ndarray()?.sum()),
                (want.values.len(), want.values.len(), n as i64)
            );
            let (values, offsets, lengths) = runs.into_arrays()?;
            same(&values.to_ndarray()?.to_vec(), &want.values.to_vec(), &what)?;
            same(&offsets.to_ndarray()?.to_vec(), &want.offsets.to_vec(), &what)?;
            same(&lengths.to_ndarray()?.to_vec(), &want.lengths.to_vec(), &what)?;
        }
    }
    runs_into_arrays(device)
}

/// The first value begins a run, whatever stands before it in memory.
pub fn runs_of_equal_values_from_any_position(device: &Device) -> Outcome {
    for n in [1, 5, 300, 20_011] {
        for value in [0i32, 7] {
            let x = GpuArray::full(device, n + 20, value)?;
            for from in 0..20 {
                let view = x.slice(s![from..from + n])?;
                ensure_eq!(view.unique().eval()?.to_ndarray()?.to_vec(), [value]);
                let (values, offsets, lengths) = view.run_length_encode().eval()?.into_arrays()?;
                ensure_eq!(values.to_ndarray()?.to_vec(), [value]);
                ensure_eq!((offsets.to_ndarray()?.to_vec(), lengths.to_ndarray()?.to_vec()), (vec![0], vec![n as i64]));
            }
        }
    }
    Ok(())
}

/// Runs of an expression with two operands of different sizes.
pub fn runs_of_two_arrays(device: &Device) -> Outcome {
    for n in [33, 2049, 20_011, 150_003, values_of_pipelined(device)? + 5] {
        let (x, y) = (Array1::from_iter((0..n).map(|i| (i / 5) as f32)), Array1::from_iter((0..n).map(|i| i % 3 == 0)));
        let sums = Array1::from_iter(x.iter().zip(&y).map(|(x, &y)| x + f32::from(u8::from(y))));
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let want = reference::run_length_encode(&sums);
        let (values, offsets, lengths) = (&a + b.cast::<f32>()).run_length_encode().eval()?.into_arrays()?;
        same(&values.to_ndarray()?.to_vec(), &want.values.to_vec(), n)?;
        same(&offsets.to_ndarray()?.to_vec(), &want.offsets.to_vec(), n)?;
        same(&lengths.to_ndarray()?.to_vec(), &want.lengths.to_vec(), n)?;
    }
    Ok(())
}

/// The arrays keep what is behind the runs; those that are too small, or apart in memory, stay as they are.
fn runs_into_arrays(device: &Device) -> Outcome {
    let other = Stream::new(device)?;
    for n in [0, 1, 700, 40_001] {
        let x: Array1<i32> = (0..n as i32).map(|i| i / 7).collect();
        let (a, want) = (GpuArray::from_ndarray(device, &x)?, reference::run_length_encode(&x));
        let mut values = GpuArray::from_ndarray(device, &Array1::from_elem(2 * n + 9, -5))?;
        let mut offsets = GpuArray::from_ndarray(&other, &Array1::from_elem(n + 3, -6i64))?;
        let mut lengths = GpuArray::from_ndarray(device, &Array1::from_elem(n + 1, -7i64))?;
        let mut count = GpuArray::from_ndarray(&other, &Array0::from_elem((), -1i64))?;
        // Every second value of the target alone.
        let target = values.slice_mut(s![1..;2])?;
        a.run_length_encode().write_into(target, offsets.slice_mut(s![1..])?, &mut lengths, &mut count)?;
        let runs = want.values.len();
        ensure_eq!((n, count.get()?), (n, runs as i64));
        let (got, at, long) = (values.to_ndarray()?, offsets.to_ndarray()?, lengths.to_ndarray()?);
        same(&got.slice(s![1..1 + 2 * runs;2]).to_vec(), &want.values.to_vec(), n)?;
        same(&at.slice(s![1..=runs]).to_vec(), &want.offsets.to_vec(), n)?;
        same(&long.slice(s![..runs]).to_vec(), &want.lengths.to_vec(), n)?;
        ensure!(got.iter().skip(2).step_by(2).chain(got.iter().skip(1 + 2 * runs)).all(|&x| x == -5));
        ensure!(at[0] == -6 && at.iter().skip(1 + runs).all(|&x| x == -6) && long.iter().skip(runs).all(|&x| x == -7));
    }
    // No values, and no room for any.
    let (x, mut values) = (GpuArray::<i32, _>::zeros(device, 0)?, GpuArray::<i32, _>::zeros(device, 0)?);
    let [mut offsets, mut lengths] = [GpuArray::<i64, _>::zeros(device, 0)?, GpuArray::zeros(device, 0)?];
    let mut count = GpuArray::<i64, _>::full(device, (), 9)?;
    x.run_length_encode().write_into(&mut values, offsets.slice_mut(s![..;-2])?, &mut lengths, &mut count)?;
    ensure_eq!(count.get()?, 0);
    let a = GpuArray::from_ndarray(device, &array![1, 1, 2])?;
    let room = |n: usize| GpuArray::<i64, _>::full(device, n, 9);
    let (mut values, mut count) = (GpuArray::<i32, _>::full(device, 3, 9)?, GpuArray::<i64, _>::full(device, (), 9)?);
    let (mut apart, mut three, mut two) = (room(6)?, room(3)?, room(2)?);
    let every_second = apart.slice_mut(s![..;2])?;
    let error = a.run_length_encode().write_into(&mut values, every_second, &mut three, &mut count).unwrap_err();
    ensure!(error.to_string().contains("run_length_encode"), "{error}");
    let error = a.run_length_encode().write_into(&mut values, &mut three, &mut two, &mut count).unwrap_err();
    ensure!(matches!(error, AlgoError::OutputTooSmall { needed: 3, got: 2 }), "{error}");
    ensure_eq!((values.to_ndarray()?, three.to_ndarray()?, count.get()?), (array![9, 9, 9], array![9, 9, 9], 9));
    Ok(())
}

pub fn axes_of_places_and_parts(device: &Device) -> Outcome {
    let mut rng = rng(29);
    for shape in [[3, 5, 7], [1, 40, 33], [5, 0, 4]] {
        let n = shape.iter().product();
        let x = Array3::from_shape_vec(shape, (0..n).map(|_| rng.below(3) as f32).collect())?;
        let a = GpuArray::from_ndarray(device, &x)?;
        let (turned, host) = (a.view().permuted_axes([2, 0, 1])?, x.view().permuted_axes([2, 0, 1]));
        let want = reference::nonzero(host)?;
        let got = turned.nonzero_axes()?;
        ensure_eq!(got.len(), 3);
        for (got, want) in got.iter().zip(&want) {
            same(&got.to_ndarray()?.to_vec(), &want.to_vec(), format!("{shape:?}"))?;
        }
        for axis in 0..3 {
            for percent in [0, 50, 100] {
                let mask = flags(&mut rng, host.shape()[axis], percent);
                let m = GpuArray::from_ndarray(device, &mask)?;
                let got = turned.compress(&m, Axis(axis))?.to_ndarray()?;
                ensure_eq!(got, reference::compress(host, &mask, Axis(axis))?);
            }
        }
    }
    let x = GpuArray::<f32, _>::full(device, (4, 5), 1.0)?;
    let mask = GpuArray::<bool, _>::full(device, 4, true)?;
    let error = x.compress(&mask, Axis(1));
    ensure!(matches!(error, Err(AlgoError::Length { left: 5, right: 4, .. })), "{error:?}");
    let error = x.compress(&mask, Axis(2));
    ensure!(matches!(error, Err(AlgoError::Array(ArrayError::Axis { axis: 2, .. }))), "{error:?}");
    let error = (&x + 1.0).compress(&mask, Axis(0));
    ensure!(matches!(error, Err(AlgoError::Array(ArrayError::NotAnArray { .. }))), "{error:?}");
    let error = GpuArray::<f32, _>::full(device, (), 1.0)?.nonzero_axes();
    ensure!(matches!(error, Err(AlgoError::Array(ArrayError::Axis { .. }))), "{error:?}");
    Ok(())
}

pub fn results_of_every_kind(device: &Device) -> Outcome {
    let x = GpuArray::from_ndarray(device, &array![3, 0, 4, 0])?;
    let some = x.select(x.gt(0)).eval()?;
    ensure_eq!((some.len()?, some.is_empty()?), (2, false));
    ensure_eq!(some.view()?.to_ndarray()?, array![3, 4]);
    ensure_eq!(some.count().to_ndarray()?, arr0(2));
    let array = some.into_array()?;
    ensure_eq!((array.as_device_vec().len(), array.to_ndarray()?), (2, array![3, 4]));
    let none = x.select(x.lt(0)).eval()?;
    ensure!(none.is_empty()? && none.into_array()?.is_empty());
    let all = x.select(x.ge(0)).eval()?;
    let address = all.view()?.as_device_slice()?.as_raw();
    let array = all.into_array()?;
    ensure_eq!((array.as_device_vec().as_raw(), array.to_ndarray()?), (address, array![3, 0, 4, 0]));
    let parted = x.partition(x.lt(4)).eval()?;
    ensure_eq!(parted.selected()?, 3);
    let (selected, others) = parted.views()?;
    ensure_eq!((selected.to_ndarray()?, others.to_ndarray()?), (array![3, 0, 0], array![4]));
    // One value, without an axis.
    let one = GpuArray::from_ndarray(device, &arr0(7u8))?;
    ensure_eq!(one.nonzero().eval()?.to_ndarray()?, array![0]);
    ensure_eq!(one.unique().eval()?.to_ndarray()?, array![7]);
    Ok(())
}

pub fn into_existing_memory(device: &Device) -> Outcome {
    let mut rng = rng(25);
    for n in [0, 5, 3000, 9001] {
        let (x, m) = (Array1::from_shape_fn(n, |i| i as i32), flags(&mut rng, n, 50));
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &m)?);
        let mut count = GpuArray::<i64, _>::full(device, (), -1)?;
        let want = reference::select(&x, &m)?;
        let mut target = GpuArray::<i32, _>::full(device, n + 9, -1)?;
        a.select(&b).write_into(target.slice_mut(s![3..])?, &mut count)?;
        ensure_eq!(count.get()?, want.len() as i64);
        let got = target.to_ndarray()?;
        same(&got.slice(s![3..3 + want.len()]).to_vec(), &want.to_vec(), n)?;
        ensure!(got.iter().take(3).chain(got.iter().skip(3 + want.len())).all(|&x| x == -1));
        // Every other one, from behind.
        let mut target = GpuArray::<i32, _>::full(device, 2 * n + 1, -1)?;
        a.partition(&b).write_into(target.slice_mut(s![..2 * n; -2])?, &mut count)?;
        let (want, selected) = reference::partition_by_mask(&x, &m)?;
        ensure_eq!(count.get()?, selected as i64);
        let got = target.to_ndarray()?;
        same(&got.slice(s![..2 * n; -2]).to_vec(), &want.to_vec(), n)?;
        ensure!(got.iter().step_by(2).all(|&x| x == -1));
        let mut places = GpuArray::<i64, _>::full(device, 2 * n, -1)?;
        b.nonzero().write_into(places.slice_mut(s![..; 2])?, &mut count)?;
        let want = reference::flat_nonzero(&m);
        same(&places.to_ndarray()?.slice(s![..2 * want.len(); 2]).to_vec(), &want.to_vec(), n)?;
    }
    Ok(())
}

pub fn two_streams(device: &Device) -> Outcome {
    let mut rng = rng(26);
    let (one, two) = (Stream::new(device)?, Stream::new(device)?);
    let n = 9001;
    for _ in 0..3 {
        let (x, m) = (Array1::from_shape_fn(n, |i| i as f32), flags(&mut rng, n, 50));
        let (a, b) = (GpuArray::from_ndarray(&one, &x)?, GpuArray::from_ndarray(&two, &m)?);
        let selected = a.select(&b).eval()?;
        let places = b.nonzero().on(&one).eval()?;
        ensure_eq!((selected.stream(), places.stream()), (&one, &one));
        let mut target = GpuArray::<f32, _>::full(&two, n, -1.0)?;
        let mut count = GpuArray::<i64, _>::full(&one, (), -1)?;
        a.partition(&b).write_into(&mut target, &mut count)?;
        same(&selected.to_ndarray()?.to_vec(), &reference::select(&x, &m)?.to_vec(), "select")?;
        same(&places.to_ndarray()?.to_vec(), &reference::flat_nonzero(&m).to_vec(), "places")?;
        let (want, selected) = reference::partition_by_mask(&x, &m)?;
        ensure_eq!(count.get()?, selected as i64);
        same(&target.to_ndarray()?.to_vec(), &want.to_vec(), "partition")?;
    }
    Ok(())
}

pub fn a_captured_selection_is_replayed_on_another_stream(device: &Device) -> Outcome {
    let mut rng = rng(27);
    let (stream, other) = (Stream::new(device)?, Stream::new(device)?);
    let n = if device.is_emulated() { 10_000 } else { 3_000_000 };
    let x = Array1::from_shape_fn(n, |i| i as f32);
    let a = GpuArray::from_ndarray(&stream, &x)?;
    let mut m = GpuArray::from_ndarray(&stream, &flags(&mut rng, n, 50))?;
    let mut selected = GpuArray::<f32, _>::full(&stream, n, -1.0)?;
    let mut count = GpuArray::<i64, _>::full(&stream, (), -1)?;
    a.select(&m).write_into(&mut selected, &mut count)?;
    let (graph, ()) = stream.capture(|| a.select(&m).write_into(&mut selected, &mut count))?;
    for percent in [1, 50, 99] {
        let mask = flags(&mut rng, n, percent);
        m.copy_from_ndarray(&mask)?;
        stream.synchronize()?;
        // SAFETY: the arrays live, and nothing else uses them until both streams have been waited for.
        unsafe { graph.launch(&other)? };
        // The stream's own selections go on beside it.
        let beside = m.nonzero().eval()?;
        other.synchronize()?;
        stream.synchronize()?;
        let want = reference::select(&x, &mask)?;
        ensure_eq!(count.get()?, want.len() as i64);
        same(&selected.to_ndarray()?.to_vec()[..want.len()], &want.to_vec(), percent)?;
        same(&beside.to_ndarray()?.to_vec(), &reference::flat_nonzero(&mask).to_vec(), percent)?;
    }
    Ok(())
}

/// Selections, scans and reductions of many sizes, one behind the other on one stream.
pub fn what_a_selection_leaves_is_no_other_s(device: &Device) -> Outcome {
    let mut rng = rng(28);
    let stream = Stream::new(device)?;
    for n in [7000, 30_000, 2500, 7001] {
        let mask = flags(&mut rng, n, 40);
        let m = GpuArray::from_ndarray(&stream, &mask)?;
        let want = reference::flat_nonzero(&mask);
        let places = m.nonzero().eval()?;
        let sums = m.cumsum().eval()?;
        let again = m.nonzero().eval()?;
        ensure_eq!(m.count().get()?, want.len() as i64);
        ensure_eq!(sums.to_ndarray()?[n - 1], want.len() as i64);
        same(&places.to_ndarray()?.to_vec(), &want.to_vec(), n)?;
        same(&again.to_ndarray()?.to_vec(), &want.to_vec(), n)?;
    }
    Ok(())
}

pub fn wrong_selections_are_errors(device: &Device) -> Outcome {
    let x = GpuArray::<f32, _>::full(device, (4, 5), 1.0)?;
    let mask = GpuArray::<bool, _>::full(device, (5, 4), true)?;
    let error = x.select(&mask).eval();
    ensure!(matches!(error, Err(AlgoError::Shape { .. })), "{error:?}");
    let error = x.partition(&mask).eval();
    ensure!(matches!(error, Err(AlgoError::Shape { .. })), "{error:?}");
    let mut target = GpuArray::<f32, _>::full(device, 19, -1.0)?;
    let mut count = GpuArray::<i64, _>::full(device, (), -1)?;
    let error = x.unique().write_into(&mut target, &mut count);
    ensure!(matches!(error, Err(AlgoError::OutputTooSmall { needed: 20, got: 19 })), "{error:?}");
    ensure!(target.to_ndarray()?.iter().all(|&x| x == -1.0) && count.get()? == -1);
    let y = GpuArray::<f32, _>::full(device, (3, 5), 1.0)?;
    let error = (&x + &y).unique().eval();
    ensure!(matches!(error, Err(AlgoError::Array(_))), "{error:?}");
    let places: Expr<'_, i64, Ix1> = index::<Ix1, _>(Axis(0)).broadcast(7);
    let error = places.clone().nonzero().eval();
    ensure!(matches!(error, Err(AlgoError::Array(ArrayError::NoHome))), "{error:?}");
    let got = places.nonzero().on(device).eval()?.to_ndarray()?;
    ensure_eq!(got, array![1, 2, 3, 4, 5, 6]);
    Ok(())
}

/// A number of values from which on `select_pipelined` selects, however large they are.
fn values_of_pipelined(device: &Device) -> Result<usize, Failure> {
    Ok(4 * device.multiprocessors()? as usize * 16384)
}

pub fn many_selected_around_tiles(device: &Device) -> Outcome {
    let mut rng = rng(31);
    // Where kernels with small tiles begin, and those with large ones.
    let (less, n) = (values_of_pipelined(device)? / 2, values_of_pipelined(device)?);
    let lengths = [less - 1, less, less + 8191, n - 1, n, n + 511, n + 16383];
    let shares = [0, 50, 100, 7, 1, 99, 30];
    for (number, len) in lengths.into_iter().enumerate() {
        // The emulated device takes a second for each.
        let others = if device.is_emulated() { None } else { Some(shares[(number + 3) % shares.len()]) };
        for percent in [shares[number]].into_iter().chain(others) {
            let mask = flags(&mut rng, len, percent);
            by_mask(device, &Array1::from_shape_fn(len, |i| i as f32), &mask, &format!("{len}, {percent} %"))?;
        }
    }
    // What says who is selected is computed of what is moved. Nothing is written but what is selected.
    let x = Array1::from_shape_fn(n + 5, |_| rng.below(1000) as f32);
    let a = GpuArray::from_ndarray(device, &x)?;
    let mut target = GpuArray::<f32, _>::full(device, n + 9, -1.0)?;
    for least in [0.0, 10.0, 500.0, 999.0, 1000.0] {
        target.fill(-1.0)?;
        let mut count = GpuArray::<i64, _>::full(device, (), -1)?;
        a.select(a.ge(least)).write_into(target.slice_mut(s![3..])?, &mut count)?;
        let want = reference::copy_if(&x, |&x| x >= least);
        ensure_eq!(count.get()?, want.len() as i64);
        let got = target.to_ndarray()?.to_vec();
        same(&got[3..3 + want.len()], &want.to_vec(), least)?;
        ensure!(got[..3].iter().chain(&got[3 + want.len()..]).all(|&x| x == -1.0));
        let got = (&a + 1.0).select(a.ge(least)).eval()?.to_ndarray()?;
        same(&got.to_vec(), &want.mapv(|x| x + 1.0).to_vec(), least)?;
        target.fill(-1.0)?;
        a.partition(a.ge(least)).write_into(target.slice_mut(s![3..])?, &mut count)?;
        let (parted, selected) = reference::partition(&x, |&x| x >= least);
        ensure_eq!(count.get()?, selected as i64);
        let got = target.to_ndarray()?.to_vec();
        same(&got[3..3 + parted.len()], &parted.to_vec(), least)?;
        ensure!(got[..3].iter().chain(&got[3 + parted.len()..]).all(|&x| x == -1.0));
    }
    // Two arrays of which one says who is selected with a third; places.
    let b = GpuArray::from_ndarray(device, &x.iter().map(|x| *x as f64 * 0.5).collect::<Array1<f64>>())?;
    let got = (&b * 2.0 + &a).select(a.gt(300.0) & b.lt(400.0)).eval()?.to_ndarray()?;
    let want = reference::copy_if(&x, |&x| x > 300.0 && x < 800.0).mapv(|x| 2.0 * f64::from(x));
    same(&got.to_vec(), &want.to_vec(), "two arrays")?;
    let places: Expr<'_, i64, Ix1> = index::<Ix1, _>(Axis(0)).broadcast(n + 5);
    let got = places.select(a.gt(300.0)).eval()?.to_ndarray()?;
    same(&got.to_vec(), &reference::flat_nonzero(&x.mapv(|x| x > 300.0)).to_vec(), "places")
}

pub fn many_selected_with_flags_at_every_position(device: &Device) -> Outcome {
    let n = values_of_pipelined(device)? + 4097;
    for tile in [6144, 8192, 12288] {
        let tiles = n / tile;
        let mask = Array1::from_shape_fn(n, |i| i % tile % tiles == i / tile % tiles);
        let x = Array1::from_shape_fn(n, |i| i as f32);
        by_mask(device, &x, &mask, &format!("{tile}"))?;
        by_mask(device, &x, &mask.mapv(|selected| !selected), &format!("all but those of {tile}"))?;
    }
    Ok(())
}

pub fn many_selected_of_any_type(device: &Device) -> Outcome {
    let mut rng = rng(32);
    let n = values_of_pipelined(device)? + 77;
    let mut numbers = vec![3usize];
    while numbers.len() < n {
        let most = [1, 3, 40, 70_000][rng.below(4)];
        let (last, run) = (numbers[numbers.len() - 1], 1 + rng.below(most));
        numbers.extend(std::iter::repeat_n((last + 1 + rng.below(5)) % 7, run));
    }
    numbers.truncate(n);
    let mask = flags(&mut rng, n, 30);
    of_type(device, &numbers.iter().map(|&x| x as u8).collect(), &mask)?;
    of_type(device, &numbers.iter().map(|&x| x > 3).collect(), &mask)?;
    of_type(device, &numbers.iter().map(|&x| x as i16 - 1).collect(), &mask)?;
    of_type(device, &numbers.iter().map(|&x| x as f32 - 1.0).collect(), &mask)?;
    of_type(device, &numbers.iter().map(|&x| x as i64 * (1 << 40)).collect(), &mask)?;
    let x: Array1<i32> = numbers.iter().map(|&x| x as i32).collect();
    let a = GpuArray::from_ndarray(device, &x)?;
    same(&a.unique().eval()?.to_ndarray()?.to_vec(), &reference::unique(&x).to_vec(), "runs")?;
    same(&a.nonzero().eval()?.to_ndarray()?.to_vec(), &reference::flat_nonzero(&x).to_vec(), "places")?;
    for x in [Array1::from_elem(n, 7), Array1::from_shape_fn(n, |i| i as i32)] {
        let (a, want) = (GpuArray::from_ndarray(device, &x)?, reference::run_length_encode(&x));
        let (values, offsets, lengths) = a.run_length_encode().eval()?.into_arrays()?;
        same(&values.to_ndarray()?.to_vec(), &want.values.to_vec(), "values")?;
        same(&offsets.to_ndarray()?.to_vec(), &want.offsets.to_vec(), "offsets")?;
        same(&lengths.to_ndarray()?.to_vec(), &want.lengths.to_vec(), "lengths")?;
    }
    Ok(())
}

pub fn many_selected_that_are_not_aligned(device: &Device) -> Outcome {
    let mut rng = rng(33);
    let n = values_of_pipelined(device)? + 40;
    let (x, m) = (Array1::from_shape_fn(n, |i| (i / 3) as f32), flags(&mut rng, n, 50));
    let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &m)?);
    let len = n - 32;
    let places = [(1, 1), (15, 15), (20, 4), (1, 2), (3, 3), (5, 5), (16, 0), (6, 2), (0, 0)];
    // The emulated device takes a second for each.
    for (from, beside) in places.into_iter().take(if device.is_emulated() { 4 } else { 9 }) {
        let (mask, values) = (s![beside..beside + len], s![from..from + len]);
        let want = reference::select(x.slice(values), m.slice(mask))?;
        let got = a.slice(values)?.select(b.slice(mask)?).eval()?.to_ndarray()?;
        same(&got.to_vec(), &want.to_vec(), format!("from {from} beside {beside}"))?;
        let (of_values, of_mask) = (a.slice(values)?, b.slice(mask)?);
        let got = of_values.unique().eval()?.to_ndarray()?;
        same(&got.to_vec(), &reference::unique(x.slice(values)).to_vec(), format!("runs from {from}"))?;
        let got = of_mask.nonzero().eval()?.to_ndarray()?;
        same(&got.to_vec(), &reference::flat_nonzero(m.slice(mask)).to_vec(), format!("places from {beside}"))?;
    }
    Ok(())
}

pub fn many_selected_on_two_streams_and_replayed(device: &Device) -> Outcome {
    let mut rng = rng(34);
    let (stream, other) = (Stream::new(device)?, Stream::new(device)?);
    let n = values_of_pipelined(device)? + 3;
    let x = Array1::from_shape_fn(n, |i| i as f32);
    let (a, of_other) = (GpuArray::from_ndarray(&stream, &x)?, GpuArray::from_ndarray(&other, &x)?);
    let mut m = GpuArray::from_ndarray(&stream, &flags(&mut rng, n, 50))?;
    let mut selected = GpuArray::<f32, _>::full(&stream, n, -1.0)?;
    let mut count = GpuArray::<i64, _>::full(&stream, (), -1)?;
    a.select(&m).write_into(&mut selected, &mut count)?;
    let (graph, ()) = stream.capture(|| a.select(&m).write_into(&mut selected, &mut count))?;
    for percent in [1, 50, 99] {
        let mask = flags(&mut rng, n, percent);
        m.copy_from_ndarray(&mask)?;
        stream.synchronize()?;
        // SAFETY: the arrays live, and nothing else uses them until both streams have been waited for.
        unsafe { graph.launch(&stream)? };
        // The other stream's selections, and a scan behind them, go on beside it.
        let beside = of_other.select(of_other.lt(1e5)).eval()?;
        let sums = of_other.lt(10.0).cumsum().eval()?;
        let again = of_other.select(of_other.lt(1e4)).eval()?;
        let (parted, under) = of_other.partition(of_other.ge(1e4)).eval()?.into_parts();
        stream.synchronize()?;
        let want = reference::select(&x, &mask)?;
        ensure_eq!(count.get()?, want.len() as i64);
        same(&selected.to_ndarray()?.to_vec()[..want.len()], &want.to_vec(), percent)?;
        // Of ascending values those below a bound are the first ones.
        ensure_eq!((beside.len()?, again.len()?), (n.min(100_000), 10_000));
        ensure_eq!((sums.to_ndarray()?[n - 1], under.get()?), (10, n as i64 - 10_000));
        let (want, _) = reference::partition(&x, |&x| x >= 1e4);
        same(&parted.to_ndarray()?.to_vec(), &want.to_vec(), percent)?;
    }
    Ok(())
}

/// Complex values of 8 and 16 bytes, which have no order: masks, runs, values that are not 0, parts along axes, results of scans.
fn complex_values_are_selected(device: &Device) -> Outcome {
    fn check<T: Inexact + Summand>(device: &Device, of: fn(f64, f64) -> T) -> Outcome {
        for n in [1, 33, 1000, 20_011] {
            let x: Array1<T> =
                (0..n).map(|i| of((i / 3 % 4) as f64, if i % 7 == 0 { -0.0 } else { (i / 5 % 2) as f64 })).collect();
            let (on_gpu, zero) = (GpuArray::from_ndarray(device, &x)?, of(0.0, 0.0));
            let want = reference::copy_if(&x, |&x| x != zero);
            ensure_eq!(on_gpu.select(on_gpu.ne(zero)).eval()?.to_ndarray()?, want);
            ensure_eq!(on_gpu.nonzero().eval()?.to_ndarray()?, reference::flat_nonzero(&x));
            ensure_eq!(on_gpu.unique().eval()?.to_ndarray()?, reference::unique(&x));
            let (encoded, runs) = (on_gpu.run_length_encode().eval()?, reference::run_length_encode(&x));
            let (values, offsets, lengths) = encoded.views()?;
            ensure_eq!(values.to_ndarray()?, runs.values);
            ensure_eq!((offsets.to_ndarray()?, lengths.to_ndarray()?), (runs.offsets, runs.lengths));
            let sum = (&on_gpu * &on_gpu).select(on_gpu.eq(zero)).eval()?.to_ndarray()?;
            ensure_eq!(sum.len(), n - want.len());
        }
        Ok(())
    }
    check(device, |re, im| Complex::new(re as f32, im as f32))?;
    check(device, Complex::new)?;
    let x = GpuArray::from_ndarray(device, &array![[1.0f32, 2.0], [3.0, 4.0]])?;
    let z =
        x.cumsum().axis(Axis(1)).map(|sum| sum.cast::<Complex<f32>>() * Complex::new(0.0, 1.0)).eval()?.to_ndarray()?;
    ensure_eq!(z, array![[1.0, 3.0], [3.0, 7.0]].mapv(|im| Complex::new(0.0, im)));
    let power = complex(&x, -1.0).abs().square().sum().eval()?.get()?;
    ensure!(abs_diff_eq!(power, 34.0, epsilon = 1e-4), "{power}");
    Ok(())
}
