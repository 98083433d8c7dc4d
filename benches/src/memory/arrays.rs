//! `GpuArray`: making, filling and copying arrays, and what a launch costs.

use gpu_array::{GpuArray, Number, reference};
use gpu_sparse::Scalar;
use ndarray::{Array1, Ix1, aview1};

use crate::harness::{Check, Harness, Work};

/// `fill`, `arange`, `clone`, `upload`, `download` over element types and lengths; `launch`.
pub fn arrays(harness: &mut Harness) {
    let lengths: &[usize] = harness.set().pick(&[3001], &[1 << 16, 1 << 24], &[1 << 14, 1 << 20, 1 << 28]);
    for &n in lengths {
        of_type::<f32>(harness, n, "f32", 0.0, 2.5);
        of_type::<f64>(harness, n, "f64", 0.0, 2.5);
        of_type::<u8>(harness, n, "u8", 0, 7);
        arange::<f32>(harness, n, "f32");
        arange::<f64>(harness, n, "f64");
    }
    harness.figure("launch", "f32", 1, "gpu-array").on_gpu(
        |gpu| Ok(GpuArray::<f32, Ix1>::zeros(gpu.stream(), 1)?),
        |array| Ok(array.fill(2.5)?),
        |array, ()| Ok(Check::equal(&array.to_ndarray()?.to_vec(), &[2.5])),
    );
}

fn arange<T: Scalar + Number>(harness: &mut Harness, n: usize, dtype: &str) {
    let (zero, stop, step) = (T::from_f64(0.0), T::from_f64(n as f64), T::from_f64(1.0));
    let work = Work::fills((n * size_of::<T>()) as u64);
    harness.figure("arange", dtype, n, "gpu-array").work(work).whole_calls().on_gpu(
        |gpu| Ok(gpu.stream().clone()),
        |stream| Ok(GpuArray::arange(&*stream, zero, stop, step)?),
        |_, got| Ok(Check::holds(got.to_ndarray()? == reference::arange(zero, stop, step)?)),
    );
}

fn of_type<T: Number>(harness: &mut Harness, n: usize, dtype: &str, zero: T, value: T) {
    let by = "gpu-array";
    let bytes = (n * size_of::<T>()) as u64;
    let host = move || -> Vec<T> { (0..n).map(|i| T::range_value(zero, value, i)).collect() };
    harness.figure("fill", dtype, n, by).work(Work::fills(bytes)).on_gpu(
        |gpu| Ok(GpuArray::from_ndarray(gpu.stream(), &aview1(&host()))?),
        |array| Ok(array.fill(value)?),
        |array, ()| Ok(Check::holds(array.to_ndarray()?.iter().all(|&got| got == value))),
    );
    harness.figure("clone", dtype, n, by).work(Work::copies(2 * bytes)).whole_calls().on_gpu(
        |gpu| Ok(GpuArray::from_ndarray(gpu.stream(), &aview1(&host()))?),
        |array| Ok(array.try_clone()?),
        |_, got| Ok(Check::equal(&got.to_ndarray()?.to_vec(), &host())),
    );
    harness.figure("upload", dtype, n, by).work(Work::moves(bytes)).wall_only().on_gpu(
        |gpu| Ok((gpu.stream().clone(), Array1::from_vec(host()))),
        |(stream, host)| Ok(GpuArray::from_ndarray(&*stream, host)?),
        |(_, host), got| Ok(Check::holds(got.to_ndarray()? == *host)),
    );
    harness.figure("download", dtype, n, by).work(Work::moves(bytes)).wall_only().on_gpu(
        |gpu| Ok(GpuArray::from_ndarray(gpu.stream(), &aview1(&host()))?),
        |array| Ok(array.to_ndarray()?),
        |_, got| Ok(Check::equal(&got.to_vec(), &host())),
    );
}
