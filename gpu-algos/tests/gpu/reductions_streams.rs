//! Reductions on several streams, in graphs and one behind another: what blocks leave for each other belongs to one launch.

use std::thread;

use approx::relative_eq;
use gpu_algos::{
    gpu_array::{
        GpuArray,
        gpu_driver::{Device, Stream},
    },
    kernels::ReductionKernel,
    prelude::*,
    reference,
};
use ndarray::{Array1, Array2, Axis, Ix0, Ix1};
use testkit::{Outcome, Rng, Test, ensure_eq, rng, tests};

pub const TESTS: &[Test<Device>] = tests![
    a_captured_reduction_is_replayed_on_another_stream,
    threads_with_streams_of_their_own,
    threads_with_one_stream,
    what_one_reduction_leaves_is_no_other_s,
    arrays_and_targets_of_three_streams,
    floats_have_the_same_bits_each_time,
];

/// So many that several blocks work on a result.
const MANY: usize = 24_001;
const COLUMNS: usize = 37;

/// Whole numbers, so that sums are exact in any order.
fn whole(rng: &mut Rng, rows: usize, columns: usize) -> Array2<f32> {
    Array2::from_shape_fn((rows, columns), |_| rng.below(17) as f32 - 8.0)
}

/// A matrix of which several blocks work on each result: on that of all elements, and on those of columns. On a GPU larger, so that launches of two
/// streams overlap there; the emulated device runs one after another.
fn matrix(device: &Device, rng: &mut Rng) -> Array2<f32> {
    let many = if device.is_emulated() { MANY } else { 100 * MANY };
    let rows = many / COLUMNS + 1 + rng.below(300);
    whole(rng, rows, COLUMNS)
}

fn column_sums(x: &Array2<f32>) -> Array1<f32> {
    x.map_axis(Axis(0), reference::sum)
}

pub fn a_captured_reduction_is_replayed_on_another_stream(device: &Device) -> Outcome {
    let mut rng = rng(41);
    let (stream, other) = (Stream::new(device)?, Stream::new(device)?);
    let (first, busy) = (matrix(device, &mut rng), matrix(device, &mut rng));
    let ahead = GpuArray::from_ndarray(device, &first)?;
    // The kernels are made ahead, and the stream has scratch memory before the capture.
    ahead.sum().eval()?;
    ahead.sum().axis(Axis(0)).eval()?;
    let mut x = GpuArray::from_ndarray(&stream, &first)?;
    let on_device = GpuArray::from_ndarray(&stream, &busy)?;
    on_device.sum().eval()?;
    let mut total = GpuArray::<f32, Ix0>::full(&stream, (), -1.0)?;
    let mut columns = GpuArray::<f32, Ix1>::full(&stream, COLUMNS, -1.0)?;
    let (graph, ()) = stream.capture(|| {
        x.sum().write_into(&mut total)?;
        x.sum().axis(Axis(0)).write_into(&mut columns)
    })?;
    for round in 0..6 {
        let values = if round == 0 { first.clone() } else { whole(&mut rng, first.nrows(), COLUMNS) };
        x.copy_from_ndarray(&values)?;
        total.fill(-1.0)?;
        columns.fill(-1.0)?;
        stream.synchronize()?;
        // SAFETY: the arrays live, and nothing else uses them until both streams have been waited for.
        unsafe { graph.launch(&other)? };
        let mut results = Vec::new();
        for _ in 0..4 {
            results.push((on_device.sum().eval()?, on_device.sum().axis(Axis(0)).eval()?));
        }
        other.synchronize()?;
        ensure_eq!((round, total.get()?), (round, reference::sum(&values)));
        ensure_eq!(columns.to_ndarray()?, column_sums(&values));
        for (total, columns) in results {
            ensure_eq!((round, total.get()?), (round, reference::sum(&busy)));
            ensure_eq!(columns.to_ndarray()?, column_sums(&busy));
        }
    }
    Ok(())
}

/// Many reductions on one stream, of which the results are looked at later.
fn many_reductions(stream: &Stream, seed: u64) -> Outcome {
    let mut rng = Rng(seed);
    let inputs: Vec<_> = (0..3).map(|_| matrix(stream.device(), &mut rng)).collect();
    let on_device: Vec<_> = inputs.iter().map(|x| GpuArray::from_ndarray(stream, x)).collect::<Result<_, _>>()?;
    for _ in 0..4 {
        let mut results = Vec::new();
        for _ in 0..6 {
            let which = rng.below(inputs.len());
            let x = &on_device[which];
            results.push((which, x.sum().eval()?, x.sum().axis(Axis(0)).eval()?));
        }
        for (which, total, columns) in results {
            ensure_eq!(total.get()?, reference::sum(&inputs[which]));
            ensure_eq!(columns.to_ndarray()?, column_sums(&inputs[which]));
        }
    }
    Ok(())
}

/// Runs [`many_reductions`] in a thread for each of the streams.
fn in_threads(streams: [Stream; 2]) -> Outcome {
    thread::scope(|scope| {
        let run = |(seed, stream): (usize, &Stream)| many_reductions(stream, seed as u64).map_err(|e| e.to_string());
        let threads: Vec<_> = streams.iter().enumerate().map(|each| scope.spawn(move || run(each))).collect();
        for thread in threads {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok(())
    })
}

pub fn threads_with_streams_of_their_own(device: &Device) -> Outcome {
    in_threads([Stream::new(device)?, Stream::new(device)?])
}

pub fn threads_with_one_stream(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    in_threads([stream.clone(), stream])
}

pub fn what_one_reduction_leaves_is_no_other_s(device: &Device) -> Outcome {
    let mut rng = rng(43);
    let stream = Stream::new(device)?;
    let x = matrix(device, &mut rng);
    let bytes = Array1::from_shape_fn(90_001, |_| 1 + rng.below(250) as u8);
    let words = Array1::from_shape_fn(MANY, |i| (i as i64 * 7919) % 24_001 - 12_000);
    let doubles = Array2::from_shape_fn((700, 33), |(i, j)| ((i * 31 + j * 17) % 101) as f64 - 50.0);
    let (dx, dbytes) = (GpuArray::from_ndarray(&stream, &x)?, GpuArray::from_ndarray(&stream, &bytes)?);
    let (dwords, ddoubles) = (GpuArray::from_ndarray(&stream, &words)?, GpuArray::from_ndarray(&stream, &doubles)?);
    let last = ReductionKernel::<i64>::new("const long *x", "-1", "b < 0 ? a : b", "x[i]")?;
    let last_word = words.iter().rev().copied().find(|&word| word >= 0).unwrap_or(-1);
    let checks: [&dyn Fn() -> Outcome; 11] = [
        &|| same("sum", dx.sum().get()?, reference::sum(&x)),
        &|| same("sums of columns", dx.sum().axis(Axis(0)).eval()?.to_ndarray()?, column_sums(&x)),
        &|| same("sum of bytes", dbytes.sum().get()?, reference::sum(&bytes)),
        &|| same("all of bytes", (dbytes.all().get()?, dbytes.any().get()?), (true, true)),
        &|| same("least byte", dbytes.min().get()?, reference::min(&bytes)?),
        &|| same("place", dwords.argmax().get()?, reference::argmax(&words)?),
        &|| same("mean", ddoubles.mean().get()?, reference::mean(&doubles)),
        &|| {
            let var = reference::var(&doubles, 1);
            same("variance", relative_eq!(ddoubles.var(1).get()?, var, epsilon = 0.0, max_relative = 1e-12), true)
        },
        &|| same("norm", ddoubles.norm_l2().get()?, reference::norm_l2(&doubles)),
        &|| {
            let want = doubles.map_axis(Axis(0), reference::count);
            same("counts of columns", ddoubles.count().axis(Axis(0)).eval()?.to_ndarray()?, want)
        },
        &|| {
            // SAFETY: the text reads place i of its array.
            let got = unsafe { last.call(&[(&dwords).into()])? };
            same("a user's", got.to_vec()?, vec![last_word])
        },
    ];
    let mut order: Vec<usize> = (0..checks.len()).chain(0..checks.len()).collect();
    for _ in 0..3 {
        for &check in &order {
            checks[check]()?;
        }
        rng.shuffle(&mut order);
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: T, want: T) -> Outcome {
    ensure_eq!((what, got), (what, want));
    Ok(())
}

pub fn arrays_and_targets_of_three_streams(device: &Device) -> Outcome {
    let mut rng = rng(44);
    let (home, worker, third) = (Stream::new(device)?, Stream::new(device)?, Stream::new(device)?);
    for _ in 0..3 {
        let x = matrix(device, &mut rng);
        let on_device = GpuArray::from_ndarray(&home, &x)?;
        let made = (&on_device * 2.0).eval()?; // on its way on `home`
        let total = made.sum().on(&worker).eval()?;
        ensure_eq!(total.stream(), &worker);
        let mut target = GpuArray::<f32, _>::full(&third, COLUMNS, -1.0)?;
        made.sum().axis(Axis(0)).on(&worker).write_into(&mut target)?;
        let mut own = GpuArray::<f32, Ix0>::full(&third, (), -1.0)?;
        made.sum().write_into(&mut own)?;
        // The array goes, and its memory may come back as another's, before anyone has waited.
        drop(made);
        let other = GpuArray::<f32, _>::full(&home, on_device.len(), 99.0)?;
        ensure_eq!((total.get()?, own.get()?), (2.0 * reference::sum(&x), 2.0 * reference::sum(&x)));
        ensure_eq!(target.to_ndarray()?, column_sums(&x) * 2.0);
        ensure_eq!(other.min_max().get()?, (99.0, 99.0));
    }
    Ok(())
}

pub fn floats_have_the_same_bits_each_time(device: &Device) -> Outcome {
    let mut rng = rng(45);
    let n = if device.is_emulated() { 1 } else { 100 };
    let x = Array2::from_shape_fn((n * 701, COLUMNS), |_| (rng.uniform() - 0.3) as f32);
    let on_device = GpuArray::from_ndarray(device, &x)?;
    let flat = on_device.reshape(x.len())?;
    let bits = |x: f32| x.to_bits();
    let first = (
        bits(flat.sum().get()?),
        flat.mean_var(1).get()?,
        bits(flat.dot(&flat).get()?),
        on_device.sum().axis(Axis(0)).eval()?.to_ndarray()?.mapv(bits),
        on_device.sum().axis(Axis(1)).eval()?.to_ndarray()?.mapv(bits),
    );
    let side = Stream::new(device)?;
    for _ in 0..5 {
        let mut total = GpuArray::<f32, Ix0>::zeros(&side, ())?;
        let mut columns = GpuArray::<f32, _>::zeros(device, COLUMNS)?;
        let mut rows = GpuArray::<f32, _>::zeros(device, x.nrows())?;
        flat.sum().write_into(&mut total)?;
        on_device.sum().axis(Axis(0)).write_into(&mut columns)?;
        on_device.sum().axis(Axis(1)).write_into(&mut rows)?;
        ensure_eq!((bits(flat.sum().get()?), bits(total.get()?)), (first.0, first.0));
        let (mean, var) = flat.mean_var(1).get()?;
        ensure_eq!((bits(mean), bits(var)), (bits(first.1.0), bits(first.1.1)));
        ensure_eq!(bits(flat.dot(&flat).get()?), first.2);
        ensure_eq!(on_device.sum().axis(Axis(0)).on(&side).eval()?.to_ndarray()?.mapv(bits), first.3);
        ensure_eq!(columns.to_ndarray()?.mapv(bits), first.3);
        ensure_eq!(rows.to_ndarray()?.mapv(bits), first.4);
    }
    Ok(())
}
