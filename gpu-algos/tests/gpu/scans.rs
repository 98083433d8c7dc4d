//! Scans against the reference.

use gpu_algos::{
    AlgoError,
    gpu_array::{
        ArrayError, GpuArray,
        expression::Outside,
        expression::{Gpu, index, take},
        gpu_driver::{Device, Stream},
    },
    operators::{Cumulative, Max, ScanKind, Sum},
    prelude::*,
    reference,
};
use ndarray::{Array, Array1, Array2, ArrayView, Axis, Dimension, Ix1, Ix2, Ix3, s};
use testkit::{Layout, Outcome, Rng, Test, ensure, ensure_eq, lengths_around, rng, same, tests};

use crate::layouts::{base, of_gpu};

pub const TESTS: &[Test<Device>] = tests![
    lines_of_awkward_lengths,
    any_axis_of_any_layout,
    rows_down_columns,
    segments_begin_anywhere,
    keys_that_repeat,
    scanned_types_and_nan,
    maps_in_front_and_behind,
    scanned_indices_beside_values,
    scans_in_place,
    wrong_scans_are_errors,
    a_captured_scan_is_replayed_on_another_stream,
    what_a_scan_leaves_is_no_other_s,
    floats_have_the_same_bits_in_every_order_of_blocks,
    many_values,
    many_values_in_segments,
    many_lines_and_wide_rows,
];

/// The kind of a scan for the reference.
pub fn kind(exclusive: bool, reverse: bool) -> ScanKind {
    let kind = if exclusive { ScanKind::EXCLUSIVE } else { ScanKind::INCLUSIVE };
    if reverse { kind.reversed() } else { kind }
}

/// The reference of a scan with segments as they are on a device: a flag begins a segment of the walk, so that in C order a segment of a reversed walk
/// ends there, and the element behind the flag begins another.
pub fn segmented<'x, 'f, O: Cumulative<Value: 'x, Output: Default>, D: Dimension>(
    op: &O,
    x: impl Into<ArrayView<'x, O::Value, D>>,
    flags: impl Into<ArrayView<'f, bool, D>>,
    axis: Axis,
    (exclusive, reverse): (bool, bool),
) -> Result<Array<O::Output, D>, AlgoError> {
    let flags = flags.into();
    let mut heads = flags.to_owned();
    if reverse && !heads.is_empty() {
        heads.slice_axis_mut(axis, (1..).into()).assign(&flags.slice_axis(axis, (..-1).into()));
    }
    reference::segmented_scan(op, x, &heads, axis, kind(exclusive, reverse))
}

/// Sums along an axis by the reference. Those of whole numbers are exact in any order.
fn sums_along<'x, D: Dimension>(
    x: impl Into<ArrayView<'x, f32, D>>,
    axis: usize,
    exclusive: bool,
    reverse: bool,
) -> Result<Array<f32, D>, AlgoError> {
    reference::scan(&Sum::new(), x, Axis(axis), kind(exclusive, reverse))
}

/// [`sums_along`] of a line.
fn sums(x: &[f32], exclusive: bool, reverse: bool) -> Result<Vec<f32>, AlgoError> {
    Ok(sums_along(x, 0, exclusive, reverse)?.to_vec())
}

pub fn lines_of_awkward_lengths(device: &Device) -> Outcome {
    let mut rng = rng(7);
    for n in lengths_around(2048).into_iter().chain([129]) {
        // Misaligned too, by less than a pack and more.
        for from in [0, 1, 3, 6] {
            if from > 0 && n % 2 == 0 {
                continue;
            }
            let values = rng.whole_numbers(from + n);
            let x = GpuArray::from_ndarray(device, &Array1::from(values.clone()))?;
            let x = x.slice(s![from..])?;
            for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
                let want = sums(&values[from..], exclusive, reverse)?;
                let mut scan = x.cumsum();
                if exclusive {
                    scan = scan.exclusive();
                }
                if reverse {
                    scan = scan.reverse();
                }
                let what = format!("{n} from {from}, exclusive {exclusive}, reverse {reverse}");
                same(&scan.eval()?.to_ndarray()?.to_vec(), &want, &what)?;
                let mut target = GpuArray::<f32, _>::full(device, from + n, -1.0)?;
                scan.write_into(target.slice_mut(s![from..])?)?;
                let got = target.to_ndarray()?.to_vec();
                same(&got[from..], &want, &what)?;
                ensure!(got[..from].iter().all(|&x| x == -1.0));
            }
        }
    }
    // More tiles than a group has.
    let n = 128 * 2048 + 5000;
    let values = rng.whole_numbers(n);
    let x = GpuArray::from_ndarray(device, &Array1::from(values.clone()))?;
    same(&x.cumsum().eval()?.to_ndarray()?.to_vec(), &sums(&values, false, false)?, "")?;
    same(&x.cumsum().exclusive().reverse().eval()?.to_ndarray()?.to_vec(), &sums(&values, true, true)?, "")?;
    Ok(())
}

pub fn any_axis_of_any_layout(device: &Device) -> Outcome {
    let mut rng = rng(8);
    for shape in [[3, 5, 7], [1, 40, 33], [64, 4, 16], [2, 1, 1000], [70, 90, 1], [5, 0, 4]] {
        for (number, (name, layout)) in Layout::each(&shape).into_iter().enumerate() {
            let values = base(&layout, &mut rng, |rng| rng.below(17) as f32 - 8.0);
            let on_device = GpuArray::from_ndarray(device, &values)?;
            let view = of_gpu(&layout, &on_device)?.into_dimensionality::<Ix3>()?;
            let host = layout.of_host(values.view()).into_dimensionality::<Ix3>()?;
            let reverse = number % 2 == 1;
            for axis in 0..3 {
                let want = sums_along(host, axis, false, reverse)?;
                let scan = view.cumsum().axis(Axis(axis));
                let got = if reverse { scan.reverse().eval()? } else { scan.eval()? };
                ensure!(got.to_ndarray()? == want, "{shape:?}, {name}, axis {axis}");
                let (d0, d1, d2) = want.dim();
                let mut target = GpuArray::<f32, _>::full(device, (d2, d1, d0), -1.0)?;
                let scan = view.cumsum().axis(Axis(axis));
                let scan = if reverse { scan.reverse() } else { scan };
                scan.write_into(target.permuted_axes_mut((2, 1, 0))?)?;
                ensure!(target.to_ndarray()?.permuted_axes((2, 1, 0)) == want, "into other strides");
            }
            let flat: Vec<f32> = host.iter().copied().collect();
            same(&view.cumsum().eval()?.to_ndarray()?.to_vec(), &sums(&flat, false, false)?, "")?;
        }
    }
    // A value for each line, by broadcasting.
    let column = GpuArray::from_ndarray(device, &Array2::from_shape_fn((40, 1), |(i, _)| i as f32))?;
    let got = column.broadcast((40, 100))?.cumsum().axis(Axis(1)).eval()?.to_ndarray()?;
    ensure_eq!(got, Array2::from_shape_fn((40, 100), |(i, j)| (i * (j + 1)) as f32));
    Ok(())
}

/// Rows of many lengths, so that several blocks or one are on a column, and columns that are fewer and more than a block's.
pub fn rows_down_columns(device: &Device) -> Outcome {
    let mut rng = rng(16);
    for (rows, columns) in
        [(1000, 4), (777, 3), (65, 130), (64, 128), (129, 257), (40, 3000), (3, 9000), (2, 1), (5000, 20)]
    {
        let values = Array2::from_shape_vec((rows, columns + 1), rng.whole_numbers(rows * (columns + 1)))?;
        let x = GpuArray::from_ndarray(device, &values)?;
        for from in [0, 1] {
            let part = values.slice(s![.., from..from + columns]);
            for (exclusive, reverse) in [(false, false), (true, true)] {
                let want = sums_along(part, 0, exclusive, reverse)?;
                let view = x.slice(s![.., from..from + columns])?;
                let mut scan = view.cumsum().axis(Axis(0));
                if exclusive {
                    scan = scan.exclusive().reverse();
                }
                let got = scan.eval()?.to_ndarray()?;
                ensure!(got == want, "{rows} x {columns} from {from}");
                let got = scan.map(|sum| sum * 2.0 + view).eval()?.to_ndarray()?;
                ensure!(got == want * 2.0 + part, "mapped: {rows} x {columns} from {from}");
            }
        }
        let wide = x.view().cast::<i32>().cumsum().axis(Axis(0)).eval()?.to_ndarray()?;
        ensure!(wide == reference::cumsum(&values.mapv(|x| x as i32), Axis(0))?, "integers: {rows} x {columns}");
    }
    // Columns of columns, and rows that lie like columns.
    let values = Array1::from(rng.whole_numbers(6 * 70 * 40)).into_shape_with_order((6, 70, 40))?;
    let x = GpuArray::from_ndarray(device, &values)?;
    let want = sums_along(&values, 1, false, false)?;
    ensure!(x.cumsum().axis(Axis(1)).eval()?.to_ndarray()? == want, "middle axis");
    let turned = x.permuted_axes((2, 1, 0))?.cumsum().axis(Axis(1)).eval()?.to_ndarray()?;
    ensure!(turned == want.permuted_axes((2, 1, 0)), "middle axis of a turned array");
    Ok(())
}

pub fn segments_begin_anywhere(device: &Device) -> Outcome {
    let mut rng = rng(9);
    let n = 5000;
    let values = rng.whole_numbers(n);
    let x = GpuArray::from_ndarray(device, &Array1::from(values.clone()))?;
    let around = [0, 1, 2, 3, 4, 127, 128, 129, 255, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 4998, 4999];
    let one = |at: usize| (0..n).map(|i| i == at).collect::<Vec<_>>();
    let mut cases: Vec<Vec<bool>> = around.iter().map(|&at| one(at)).collect();
    cases.extend([vec![false; n], vec![true; n]]);
    for share in [2, 10, 500] {
        cases.push((0..n).map(|_| rng.below(share) == 0).collect());
    }
    for flags in cases {
        let heads = GpuArray::from_ndarray(device, &Array1::from(flags.clone()))?;
        for (exclusive, reverse) in [(false, false), (true, true)] {
            let scan = x.cumsum().segments(&heads);
            let got = if exclusive { scan.exclusive().reverse().eval()? } else { scan.eval()? };
            let want = segmented(&Sum::new(), &values, &flags, Axis(0), (exclusive, reverse))?;
            same(&got.to_ndarray()?.to_vec(), &want.to_vec(), format!("{:?}", flags.iter().position(|&flag| flag)))?;
        }
    }
    // Lines begin segments too.
    let table = x.reshape((50, 100))?;
    let flags = Array2::from_shape_fn((50, 100), |(i, j)| (100 * i + j) % 130 == 0);
    let heads = GpuArray::from_ndarray(device, &flags)?;
    let got = table.cummax().axis(Axis(1)).segments(&heads).eval()?.to_ndarray()?;
    let values = Array2::from_shape_vec((50, 100), values)?;
    ensure_eq!(got, segmented(&Max::new(), &values, &flags, Axis(1), (false, false))?);
    Ok(())
}

pub fn keys_that_repeat(device: &Device) -> Outcome {
    let mut rng = rng(10);
    for n in [1, 33, 2049, 7001] {
        for most in [1, 3, 40, 3000] {
            let mut keys = Vec::new();
            while keys.len() < n {
                let (key, run) = (rng.below(3) as i32, 1 + rng.below(most));
                keys.extend(std::iter::repeat_n(key, run));
            }
            keys.truncate(n);
            let values = rng.whole_numbers(n);
            let x = GpuArray::from_ndarray(device, &Array1::from(values.clone()))?;
            let k = GpuArray::from_ndarray(device, &Array1::from(keys.clone()))?;
            let define = |exclusive, reverse| {
                reference::scan_by_key(&Sum::new(), &values, &keys, Axis(0), kind(exclusive, reverse))
            };
            let got = x.cumsum().by_key(&k).exclusive().eval()?.to_ndarray()?;
            same(&got.to_vec(), &define(true, false)?.to_vec(), format!("{n}, runs to {most}"))?;
            let got = x.cumsum().by_key(&k).reverse().eval()?.to_ndarray()?;
            same(&got.to_vec(), &define(false, true)?.to_vec(), format!("{n}, runs to {most}"))?;
        }
    }
    Ok(())
}

pub fn scanned_types_and_nan(device: &Device) -> Outcome {
    let n = 3000;
    let bytes = Array1::from_shape_fn(n, |i| (i * 37 % 256) as u8);
    let x = GpuArray::from_ndarray(device, &bytes)?;
    ensure_eq!(x.cumsum().eval()?.to_ndarray()?, reference::cumsum(&bytes, Axis(0))?);
    ensure_eq!(x.cummax().eval()?.to_ndarray()?, reference::cummax(&bytes, Axis(0))?);
    let flags = bytes.mapv(|x| x > 100);
    let on_device = GpuArray::from_ndarray(device, &flags)?;
    ensure_eq!(on_device.cumsum().eval()?.to_ndarray()?, reference::cumsum(&flags, Axis(0))?);
    let large = Array1::from_elem(n, i64::MAX / 3);
    let wrapping = GpuArray::from_ndarray(device, &large)?;
    ensure_eq!(wrapping.cumsum().eval()?.to_ndarray()?, reference::cumsum(&large, Axis(0))?);

    let mut values = Array1::from_shape_fn(n, |i| ((i * 31) % 97) as f64);
    values[1500] = f64::NAN;
    let x = GpuArray::from_ndarray(device, &values)?;
    for got in [x.cummax().eval()?, x.cummin().eval()?, x.cumsum().eval()?] {
        let got = got.to_ndarray()?;
        ensure!(got.iter().enumerate().all(|(i, x)| x.is_nan() == (i >= 1500)));
    }
    ensure_eq!(x.nancumsum().eval()?.to_ndarray()?, reference::nancumsum(&values, Axis(0))?);
    ensure_eq!(x.nancummax().eval()?.to_ndarray()?, reference::nancummax(&values, Axis(0))?);
    ensure_eq!(x.nancummin().eval()?.to_ndarray()?, reference::nancummin(&values, Axis(0))?);
    let got = x.nancummin().reverse().eval()?.to_ndarray()?;
    ensure!(got.iter().all(|x| !x.is_nan()));
    let powers = GpuArray::from_ndarray(device, &Array1::from_elem(60, 2i32))?;
    ensure_eq!(powers.cumprod().eval()?.to_ndarray()?[59], 1i64 << 60);
    // 16,777,217 is no f32.
    let ones = GpuArray::<f32, _>::full(device, 4000, 16_777_217.0f64 as f32)?;
    let got = ones.cumsum().accumulate_f64().eval()?.to_ndarray()?;
    ensure!((0..4000).all(|i| got[i] == (16_777_216.0 * (i + 1) as f64) as f32));
    Ok(())
}

pub fn maps_in_front_and_behind(device: &Device) -> Outcome {
    let mut rng = rng(11);
    let (rows, columns) = (60, 77);
    let n = rows * columns;
    let (a, b) = (rng.whole_numbers(n), rng.whole_numbers(n));
    let x = GpuArray::from_ndarray(device, &Array1::from(a.clone()))?;
    let y = GpuArray::from_ndarray(device, &Array1::from(b.clone()))?;
    let products: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a * b + 1.0).collect();
    let want: Vec<i32> = sums(&products, true, false)?.iter().zip(&b).map(|(s, b)| (s * 2.0 + b) as i32).collect();
    let got = (&x * &y + 1.0).cumsum().exclusive().map(|sum| (sum * 2.0 + &y).cast::<i32>()).eval()?;
    ensure_eq!(got.to_ndarray()?.to_vec(), want);
    // Twice, along an axis, and of the result alone.
    let table = x.reshape((rows, columns))?;
    let got = table.cumsum().axis(Axis(1)).map(|sum| sum.clone() * sum).map(|square| square + 1.0).eval()?;
    let want = sums_along(&Array2::from_shape_vec((rows, columns), a.clone())?, 1, false, false)?;
    ensure_eq!(got.to_ndarray()?, want.mapv(|s| s * s + 1.0));
    // A subset by indices.
    let indices: Vec<i64> = (0..3000).map(|_| rng.below(n) as i64).collect();
    let chosen: Vec<f32> = indices.iter().map(|&i| a[i as usize]).collect();
    let i = GpuArray::from_ndarray(device, &Array1::from(indices))?;
    let got = take(&x, &i, Outside::Wrap).cumsum().eval()?;
    same(&got.to_ndarray()?.to_vec(), &sums(&chosen, false, false)?, "")?;
    Ok(())
}

/// An index as an expression's second operand: its first value and its step are its own, from either end.
pub fn scanned_indices_beside_values(device: &Device) -> Outcome {
    let mut rng = rng(13);
    for n in [1, 700, 9001, 60_000] {
        let values: Vec<i64> = (0..n).map(|_| rng.below(9) as i64).collect();
        let x = GpuArray::from_ndarray(device, &Array1::from(values.clone()))?;
        let weighted = || &x - index::<Ix1, Gpu>(Axis(0)) * 3;
        let with_index: Vec<i64> = (0..).zip(&values).map(|(i, x)| x - 3 * i).collect();
        let define = |reverse| reference::scan(&Sum::new(), &with_index, Axis(0), kind(false, reverse));
        same(&weighted().cumsum().eval()?.to_ndarray()?.to_vec(), &define(false)?.to_vec(), n)?;
        same(&weighted().cumsum().reverse().eval()?.to_ndarray()?.to_vec(), &define(true)?.to_vec(), n)?;
    }
    Ok(())
}

pub fn scans_in_place(device: &Device) -> Outcome {
    let mut rng = rng(12);
    for n in [1, 2048, 9001] {
        let values = rng.whole_numbers(n);
        let mut x = GpuArray::from_ndarray(device, &Array1::from(values.clone()))?;
        x.cumsum_in_place().run()?;
        same(&x.to_ndarray()?.to_vec(), &sums(&values, false, false)?, "")?;
        x.copy_from_ndarray(&Array1::from(values.clone()))?;
        x.slice_mut(s![..;-1])?.cumsum_in_place().exclusive().run()?;
        same(&x.to_ndarray()?.to_vec(), &sums(&values, true, true)?, "")?;
    }
    let values = Array2::from_shape_vec((40, 50), rng.whole_numbers(40 * 50))?;
    let mut x = GpuArray::from_ndarray(device, &values)?;
    x.view_mut().cummax_in_place().axis(Axis(0)).reverse().run()?;
    ensure_eq!(x.to_ndarray()?, reference::scan(&Max::new(), &values, Axis(0), kind(false, true))?);
    Ok(())
}

pub fn wrong_scans_are_errors(device: &Device) -> Outcome {
    let x = GpuArray::<f32, _>::full(device, (4, 5), 1.0)?;
    let flags = GpuArray::<bool, _>::full(device, (5, 4), true)?;
    let error = x.cumsum().axis(Axis(2)).eval();
    ensure!(matches!(error, Err(AlgoError::Array(ArrayError::Axis { axis: 2, ndim: 2, .. }))), "{error:?}");
    let error = x.cumsum().segments(&flags).eval();
    ensure!(matches!(error, Err(AlgoError::Shape { .. })), "{error:?}");
    let mut target = GpuArray::<f32, _>::full(device, 19, -1.0)?;
    let error = x.cumsum().write_into(&mut target);
    ensure!(matches!(error, Err(AlgoError::OutShape { .. })), "{error:?}");
    ensure!(target.to_ndarray()?.iter().all(|&x| x == -1.0));
    let y = GpuArray::<f32, _>::full(device, (3, 5), 1.0)?;
    let error = x.cumsum().axis(Axis(0)).map(|sum| sum + &y).eval();
    ensure!(error.is_err());
    Ok(())
}

pub fn a_captured_scan_is_replayed_on_another_stream(device: &Device) -> Outcome {
    let mut rng = rng(13);
    let (stream, other) = (Stream::new(device)?, Stream::new(device)?);
    let n = if device.is_emulated() { 10_000 } else { 3_000_000 };
    let values = rng.whole_numbers(n);
    let mut x = GpuArray::from_ndarray(&stream, &Array1::from(values))?;
    let mut sums_of_x = GpuArray::<f32, _>::full(&stream, n, -1.0)?;
    x.cumsum().write_into(&mut sums_of_x)?;
    let (graph, ()) = stream.capture(|| x.cumsum().write_into(&mut sums_of_x))?;
    for _ in 0..4 {
        let values = rng.whole_numbers(n);
        x.copy_from_ndarray(&Array1::from(values.clone()))?;
        sums_of_x.fill(-1.0)?;
        stream.synchronize()?;
        // SAFETY: the arrays live, and nothing else uses them until both streams have been waited for.
        unsafe { graph.launch(&other)? };
        // The stream's own scans go on beside it.
        let beside = x.cumsum().reverse().eval()?;
        other.synchronize()?;
        stream.synchronize()?;
        same(&sums_of_x.to_ndarray()?.to_vec(), &sums(&values, false, false)?, "")?;
        same(&beside.to_ndarray()?.to_vec(), &sums(&values, false, true)?, "")?;
    }
    Ok(())
}

/// Scans and reductions of many sizes and types, one behind the other on one stream.
pub fn what_a_scan_leaves_is_no_other_s(device: &Device) -> Outcome {
    let mut rng = rng(14);
    let stream = Stream::new(device)?;
    for round in 0..3 {
        for n in [7000, 30_000, 2500] {
            let values = rng.whole_numbers(n + round);
            let x = GpuArray::from_ndarray(&stream, &Array1::from(values.clone()))?;
            let total = reference::sum(&values);
            ensure_eq!(x.sum().get()?, total);
            same(&x.cumsum().eval()?.to_ndarray()?.to_vec(), &sums(&values, false, false)?, "")?;
            let wide: Vec<f64> = sums(&values, true, false)?.iter().map(|&x| f64::from(x)).collect();
            ensure_eq!(x.view().cast::<f64>().cumsum().exclusive().eval()?.to_ndarray()?.to_vec(), wide);
            ensure_eq!(x.sum().get()?, total);
        }
    }
    Ok(())
}

pub fn floats_have_the_same_bits_in_every_order_of_blocks(device: &Device) -> Outcome {
    let mut rng = rng(15);
    let n = if device.is_emulated() { values_of_pipelined(device)? } else { 20_000_000 };
    let values: Vec<f32> = (0..n).map(|_| (rng.below(1 << 24) as f32 / 3.0).sin()).collect();
    let x = GpuArray::from_ndarray(device, &Array1::from(values))?;
    let bits = |x: GpuArray<f32, _>| -> Result<Vec<u32>, AlgoError> {
        Ok(x.to_ndarray()?.iter().map(|x: &f32| x.to_bits()).collect())
    };
    let first = bits(x.cumsum().eval()?)?;
    for _ in 0..3 {
        ensure!(bits(x.cumsum().eval()?)? == first);
    }
    Ok(())
}

/// A number of values from which on `scan_pipelined` scans them: several tiles for each multiprocessor.
fn values_of_pipelined(device: &Device) -> Result<usize, AlgoError> {
    Ok(4 * 12_288 * device.multiprocessors()? as usize + 5003)
}

/// Values of a tile of `scan_single_wave`, whose blocks have room for six.
const WAVE_TILE_VALUES: usize = 8192;

pub fn many_values(device: &Device) -> Outcome {
    let mut rng = rng(16);
    let (most, blocks) = (values_of_pipelined(device)?, device.multiprocessors()? as usize);
    let values = rng.whole_numbers(most + 3);
    let x = GpuArray::from_ndarray(device, &Array1::from(values.clone()))?;
    let of_all = WAVE_TILE_VALUES * blocks;
    let around = [
        WAVE_TILE_VALUES - 1,
        WAVE_TILE_VALUES,
        WAVE_TILE_VALUES + 1,
        2 * WAVE_TILE_VALUES + 1,
        of_all - 5,
        of_all + 1,
        3 * of_all + 5003,
    ];
    for n in around.into_iter().chain([most]) {
        for (exclusive, reverse, from) in [(false, false, 1), (true, false, 0), (false, true, 3), (true, true, 2)] {
            // Misaligned as its target is.
            let values = &values[from..from + n];
            let part = x.slice(s![from..from + n])?;
            let scan = if reverse { part.cumsum().reverse() } else { part.cumsum() };
            let scan = if exclusive { scan.exclusive() } else { scan };
            let mut target = GpuArray::from_ndarray(device, &Array1::from_elem(n + 3, 0.5f32))?;
            scan.write_into(target.slice_mut(s![from..from + n])?)?;
            let got = target.to_ndarray()?.to_vec();
            let what = format!("{n} from {from}, {exclusive}, {reverse}");
            same(&got[from..from + n], &sums(values, exclusive, reverse)?, &what)?;
            ensure!(got[..from].iter().chain(&got[from + n..]).all(|&x| x == 0.5), "{what}: beside the target");
        }
    }
    for n in [2 * of_all + 5003, most] {
        many_of_other_types(device, &values[..n + 3])?;
    }
    Ok(())
}

/// Other widths, places, what is made of the results, and arrays that are their own targets.
fn many_of_other_types(device: &Device, values: &[f32]) -> Outcome {
    let n = values.len() - 3;
    let wide: Vec<f64> = values.iter().map(|&x| f64::from(x)).collect();
    let y = GpuArray::from_ndarray(device, &Array1::from(wide.clone()))?;
    same(&y.cumsum().eval()?.to_ndarray()?.to_vec(), &reference::cumsum(&wide, Axis(0))?.to_vec(), "f64")?;
    let whole: Vec<i32> = values.iter().map(|&x| x as i32).collect();
    let z = GpuArray::from_ndarray(device, &Array1::from(whole.clone()))?;
    let placed: Vec<i64> = (0..).zip(&whole).map(|(i, &x)| i64::from(x) + i % 5).collect();
    let want = reference::scan(&Sum::new(), &placed, Axis(0), kind(true, false))?.mapv(|x| 3 * x + 1);
    let places = index::<Ix1, _>(Axis(0)).broadcast(n + 3) % 5i64;
    let got = (z.cast::<i64>() + places).cumsum().exclusive().map(|sum| sum * 3i64 + 1i64).eval()?;
    same(&got.to_ndarray()?.to_vec(), &want.to_vec(), "places")?;
    // On two streams.
    let mut x = GpuArray::from_ndarray(device, &Array1::from(values.to_vec()))?;
    let stream = Stream::new(device)?;
    let mut sum = GpuArray::from_ndarray(&stream, &Array1::from(values.to_vec()))?;
    sum.cumsum_in_place().run()?;
    x.cumsum_in_place().run()?;
    ensure!(sum.to_ndarray()? == x.to_ndarray()?, "in place");
    same(&x.to_ndarray()?.to_vec(), &sums(values, false, false)?, "in place")
}

pub fn many_values_in_segments(device: &Device) -> Outcome {
    let mut rng = rng(17);
    let (many, of_all) = (values_of_pipelined(device)?, WAVE_TILE_VALUES * device.multiprocessors()? as usize);
    let values = rng.whole_numbers(many.max(430_080) + 1);
    let x = GpuArray::from_ndarray(device, &Array1::from(values.clone()))?;
    // By the share of them.
    let some = |n: usize| {
        [(0, 0, false, false), (1, 1, true, false), (40, 0, true, true), (30_000, 1, false, true)]
            .map(|(share, from, exclusive, reverse)| (n, share, 0, from, exclusive, reverse))
    };
    // At every so-manyth place, so that one is at each place of a tile: of 8192 values and of 12 288.
    let each = [(41 * 8192, 0, 41, 0, false, false), (35 * 12_288, 0, 35, 0, true, true)];
    for (n, share, period, from, exclusive, reverse) in
        [some(2 * of_all - 5), some(many)].concat().into_iter().chain(each)
    {
        let flag =
            |i: usize, rng: &mut Rng| (share > 0 && rng.below(share) == 0) || (period > 0 && i.is_multiple_of(period));
        let flags: Vec<bool> = (0..n + 1).map(|i| flag(i, &mut rng)).collect();
        let heads = GpuArray::from_ndarray(device, &Array1::from(flags.clone()))?;
        let (heads, part) = (heads.slice(s![from..from + n])?, x.slice(s![from..from + n])?);
        let (values, flags) = (&values[from..from + n], &flags[from..from + n]);
        let mut target = GpuArray::from_ndarray(device, &Array1::from_elem(n + 1, 0.5f32))?;
        let what = format!("{n}, share {share}, period {period}, from {from}, {exclusive}, {reverse}");
        let scan = part.cumsum().segments(&heads);
        let scan = if reverse { scan.reverse() } else { scan };
        let scan = if exclusive { scan.exclusive() } else { scan };
        scan.write_into(target.slice_mut(s![from..from + n])?)?;
        let want = segmented(&Sum::new(), values, flags, Axis(0), (exclusive, reverse))?.to_vec();
        same(&target.to_ndarray()?.to_vec()[from..from + n], &want, format!("flags, {what}"))?;

        // The same as keys: a new one at each flag.
        let mut key = 0u32;
        let keys: Vec<u32> = flags.iter().map(|&flag| (key = key.wrapping_add(u32::from(flag)), key).1).collect();
        let want = reference::scan_by_key(&Sum::new(), values, &keys, Axis(0), kind(exclusive, reverse))?.to_vec();
        let mut shifted = vec![7; from];
        shifted.extend(&keys);
        let keys = GpuArray::from_ndarray(device, &Array1::from(shifted))?;
        let keys = keys.slice(s![from..])?;
        let scan = part.cumsum().by_key(&keys);
        let scan = if reverse { scan.reverse() } else { scan };
        let scan = if exclusive { scan.exclusive() } else { scan };
        scan.write_into(target.slice_mut(s![from..from + n])?)?;
        same(&target.to_ndarray()?.to_vec()[from..from + n], &want, format!("keys, {what}"))?;
    }
    Ok(())
}

pub fn many_lines_and_wide_rows(device: &Device) -> Outcome {
    let mut rng = rng(18);
    let blocks = device.multiprocessors()? as usize;
    // Lines for each block, with whole tiles and without; strips of columns, the last one cut.
    let shapes = [(2 * blocks + 3, 5000), (2 * blocks, 512), (300, 64 * blocks + 8), (1030, 32 * blocks + 20)];
    for (rows, columns) in shapes {
        let n = rows * columns;
        let values = Array2::from_shape_vec((rows, columns), rng.whole_numbers(n))?;
        let x = GpuArray::from_ndarray(device, &values)?;
        let wide = GpuArray::from_ndarray(device, &values.mapv(f64::from))?;
        for axis in [0, 1] {
            for (exclusive, reverse) in [(rows % 2 == 0, false), (rows % 2 == 1, true)] {
                let want = sums_along(&values, axis, exclusive, reverse)?;
                let what = format!("{rows} x {columns}, axis {axis}, {exclusive}, {reverse}");
                let scan = x.cumsum().axis(Axis(axis));
                let scan = if reverse { scan.reverse() } else { scan };
                let scan = if exclusive { scan.exclusive() } else { scan };
                let got = scan.map(|sum| sum * 2.0 + 1.0).eval()?.to_ndarray()?;
                same(
                    got.flatten().as_slice().unwrap_or_default(),
                    &want.mapv(|x| x * 2.0 + 1.0).into_raw_vec_and_offset().0,
                    &what,
                )?;
                let scan = wide.cumsum().axis(Axis(axis));
                let scan = if reverse { scan.reverse() } else { scan };
                let scan = if exclusive { scan.exclusive() } else { scan };
                let got = scan.eval()?.to_ndarray()?;
                same(
                    got.flatten().as_slice().unwrap_or_default(),
                    &want.mapv(f64::from).into_raw_vec_and_offset().0,
                    &what,
                )?;
            }
        }
        // With places, into every array of a stack.
        let places = index::<Ix2, _>(Axis(0)).broadcast((rows, columns)).cast::<f32>() % 3.0f32;
        let placed = Array2::from_shape_fn((rows, columns), |(i, j)| values[(i, j)] + (i % 3) as f32);
        let want = sums_along(&placed, 0, false, false)?;
        // The first operand shares its memory with the states, also if it is not read from memory.
        for sum in [&x + &places, &places + &x] {
            let got = sum.cumsum().axis(Axis(0)).eval()?.to_ndarray()?;
            same(got.flatten().as_slice().unwrap_or_default(), want.as_slice().unwrap_or_default(), "places")?;
        }
    }
    Ok(())
}
