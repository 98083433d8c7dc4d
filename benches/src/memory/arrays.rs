//! `GpuArray`: making, filling and copying arrays, and the cost of a launch.

use gpu_array::{Complex, Element, GpuArray, Number, f16};
use gpu_driver::{DeviceVec, PinnedVec};
use ndarray::{Array1, Ix1, aview1};
use rayon::prelude::*;

use crate::{
    data,
    harness::{Check, Harness, Work},
};

/// `fill`, `arange`, `full`, `copy` into an array that is there, `upload`, `download` over element types and lengths; `launch`.
pub fn arrays(harness: &mut Harness) {
    let set = harness.set();
    for &n in set.pick(&[1 << 12][..], &[1 << 20], &[1 << 14, 1 << 20, 1 << 28]) {
        of_type::<f32>(harness, n, "f32", 0.0, 2.5);
        arange(harness, "f32", [0.0, n as f32, 1.0]);
    }
    // Locking pages for longer ones takes many times as long as the copies that are measured.
    for &n in set.pick(&[1 << 12][..], &[1 << 20], &[1 << 20, 1 << 24]) {
        transfers(harness, n);
        pinned_transfers(harness, n);
    }
    if let Some(&n) = set.pick(&[][..], &[], &[1 << 28]).first() {
        transfers(harness, n);
    }
    for &n in set.pick(&[1 << 12][..], &[1 << 20], &[1 << 20, 1 << 27]) {
        of_type::<f64>(harness, n, "f64", 0.0, 2.5);
        arange(harness, "f64", [0.0, n as f64, 1.0]);
        of_type::<u8>(harness, n, "u8", 0, 7);
    }
    // The same bytes of each type.
    let n: usize = set.pick(1 << 12, 1 << 20, 1 << 27);
    arange(harness, "i64", [0, n as i64, 1]);
    // The numbers below 2^15 in steps of a power of 2: f16 has none greater than 65504.
    let step = 32768.0 / (4 * n) as f64;
    arange(harness, "f16", [f16::ZERO, f16::from_f64(32768.0), f16::from_f64(step)]);
    full(harness, 4 * n, "f16", f16::from_f64(2.5));
    full(harness, 2 * n, "f32", 2.5f32);
    full(harness, n, "f64", 2.5);
    full(harness, n, "i64", 7);
    full(harness, n, "c64", Complex::new(2.5f32, -1.0));
    full(harness, n / 2, "c128", Complex::new(2.5, -1.0));
    harness.figure("launch", "f32", 1, "gpu-array").on_gpu(
        |gpu| Ok(GpuArray::<f32, Ix1>::zeros(gpu.stream(), 1)?),
        |array| Ok(array.fill(2.5)?),
        |array, ()| Ok(Check::equal(&array.to_ndarray()?.to_vec(), &[2.5])),
    );
}

/// `[start, stop, step]` of a range.
fn arange<T: Number>(harness: &mut Harness, dtype: &str, [start, stop, step]: [T; 3]) {
    let n = T::range_len(start, stop, step).expect("a range");
    let work = Work::fills((n * size_of::<T>()) as u64);
    harness.figure("arange", dtype, n, "gpu-array").work(work).whole_calls().on_gpu(
        |gpu| Ok(gpu.stream().clone()),
        |stream| Ok(GpuArray::arange(&*stream, start, stop, step)?),
        |_, got| {
            let got = got.to_ndarray()?.to_vec();
            let is_right = |(i, &got): (usize, &T)| got == T::range_value(start, step, i);
            Ok(Check::holds(got.len() == n && got.par_iter().enumerate().all(is_right)))
        },
    );
}

fn full<T: Element + PartialEq>(harness: &mut Harness, n: usize, dtype: &str, value: T) {
    harness.figure("full", dtype, n, "gpu-array").work(Work::fills((n * size_of::<T>()) as u64)).whole_calls().on_gpu(
        |gpu| Ok(gpu.stream().clone()),
        |stream| Ok(GpuArray::<T, Ix1>::full(&*stream, n, value)?),
        |_, got| Ok(Check::holds(got.to_ndarray()?.iter().all(|&got| got == value))),
    );
}

fn of_type<T: Number>(harness: &mut Harness, n: usize, dtype: &str, zero: T, value: T) {
    let by = "gpu-array";
    let bytes = (n * size_of::<T>()) as u64;
    let host = move || -> Vec<T> { (0..n).into_par_iter().map(|i| T::range_value(zero, value, i)).collect() };
    harness.figure("fill", dtype, n, by).work(Work::fills(bytes)).on_gpu(
        |gpu| Ok(GpuArray::from_ndarray(gpu.stream(), &aview1(&host()))?),
        |array| Ok(array.fill(value)?),
        |array, ()| Ok(Check::holds(array.to_ndarray()?.iter().all(|&got| got == value))),
    );
    harness.figure("copy", dtype, n, by).work(Work::copies(2 * bytes)).on_gpu(
        |gpu| {
            let array = GpuArray::from_ndarray(gpu.stream(), &aview1(&host()))?;
            Ok((array, GpuArray::<T, Ix1>::zeros(gpu.stream(), n)?))
        },
        |(array, copy)| Ok(copy.assign(&*array)?),
        |(_, copy), ()| Ok(Check::equal(&copy.to_ndarray()?.to_vec(), &host())),
    );
}

/// To the device and back, from pageable memory: into an array that is there, and into a new one (`-fresh`), whose pages the system has to provide. The
/// bus knows no element types.
fn transfers(harness: &mut Harness, n: usize) {
    let (dtype, by) = ("f32", "gpu-array");
    let bytes = 4 * n as u64;
    let host = move || data::uniform::<f32>(n);
    let pageable = format!("{n}-pageable");
    harness.figure("upload", dtype, &pageable, by).work(Work::moves(bytes)).wall_only().on_gpu(
        |gpu| Ok((gpu.stream().clone(), Array1::from_vec(host()))),
        |(stream, host)| Ok(GpuArray::from_ndarray(&*stream, host)?),
        |(_, host), got| Ok(Check::holds(got.to_ndarray()? == *host)),
    );
    harness.figure("download", dtype, &pageable, by).work(Work::moves(bytes)).wall_only().on_gpu(
        |gpu| Ok((GpuArray::from_ndarray(gpu.stream(), &aview1(&host()))?, Array1::zeros(n))),
        |(array, target)| Ok(array.copy_to_ndarray(target)?),
        |(_, target), ()| Ok(Check::equal(&target.to_vec(), &host())),
    );
    harness.figure("download", dtype, format!("{n}-fresh"), by).work(Work::moves(bytes)).wall_only().on_gpu(
        |gpu| Ok(GpuArray::from_ndarray(gpu.stream(), &aview1(&host()))?),
        |array| Ok(array.to_ndarray()?),
        |_, got| Ok(Check::equal(&got.to_vec(), &host())),
    );
}

/// To the device and back, from pinned memory.
fn pinned_transfers(harness: &mut Harness, n: usize) {
    let (dtype, bytes) = ("f32", 4 * n as u64);
    let host = move || data::uniform::<f32>(n);
    let pinned = format!("{n}-pinned");
    harness.figure("upload", dtype, &pinned, "gpu-driver").work(Work::moves(bytes)).wall_only().on_gpu(
        |gpu| {
            let source = PinnedVec::from_slice(gpu.device(), &host())?;
            Ok((DeviceVec::<f32>::zeros(gpu.stream(), n)?, Some(source)))
        },
        |(buffer, source)| {
            let pinned = source.take().ok_or("an earlier copy failed")?;
            *source = Some(buffer.upload(pinned)?.wait()?);
            Ok(())
        },
        |(buffer, _), ()| Ok(Check::equal(&buffer.to_vec()?, &host())),
    );
    harness.figure("download", dtype, &pinned, "gpu-driver").work(Work::moves(bytes)).wall_only().on_gpu(
        |gpu| {
            let target = PinnedVec::zeros(gpu.device(), n)?;
            Ok((DeviceVec::from_slice(gpu.stream(), &host())?, Some(target)))
        },
        |(buffer, target)| {
            let pinned = target.take().ok_or("an earlier copy failed")?;
            *target = Some(buffer.download(pinned)?.wait()?);
            Ok(())
        },
        |(_, target), ()| Ok(Check::equal(target.as_deref().unwrap_or_default(), &host())),
    );
}
