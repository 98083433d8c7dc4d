//! The cost of evaluation in driver calls, and the order of streams.

use gpu_array::{
    ArrayError, GpuArray, PinnedArray, Result, concatenate,
    expression::{Outside, constant, eval_all, precompile, take},
    hstack, stack,
};
use gpu_driver::{
    Device, Stream,
    emulated::{
        Call::{self, Allocation, Copy, Event, Launch, ModuleLoad},
        Emulated,
    },
};
use ndarray::{Array1, Axis, array};
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

pub const TESTS: &[Test<()>] = tests![
    scalars_and_shapes_compile_nothing,
    shared_values_are_other_kernels,
    evaluating_allocates_its_result_only,
    several_values_take_one_launch,
    any_number_of_arrays_is_joined_by_one_launch,
    what_is_precompiled_is_loaded_once,
    other_streams_wait,
    other_devices_are_an_error,
    allocations_of_arrays_tell_the_caller_s_line,
];

/// The calls of each kind that work makes.
fn calls<T>(device: &Device, work: impl FnOnce() -> Result<T>) -> Result<([u64; 5], T), Box<dyn std::error::Error>> {
    let emulation = device.emulation().ok_or("emulated")?;
    let count = || [Allocation, Launch, ModuleLoad, Copy, Event].map(|call: Call| emulation.calls(call));
    let before = count();
    let value = work()?;
    let mut all = [0; 5];
    for (calls, (after, before)) in all.iter_mut().zip(count().into_iter().zip(before)) {
        *calls = after? - before?;
    }
    Ok((all, value))
}

fn scalars_and_shapes_compile_nothing(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let x = GpuArray::from_ndarray(&device, &Array1::from_iter((0..1000).map(|i| i as f32)))?;
    let y = GpuArray::from_ndarray(&device, &array![1.0f32, 2.0])?;
    let (first, _) = calls(&device, || (2.0 * &x + 1.0).eval())?;
    ensure_eq!(first[2], 1);
    let (other, z) = calls(&device, || (3.0 * &y - -4.0 + 0.0).eval().and((3.0 * &y + 4.0).eval()))?;
    // The difference is another expression, the sum is not.
    ensure_eq!((other[1], other[2]), (2, 1));
    ensure_eq!(z.to_ndarray()?, array![7.0, 10.0]);
    let (none, _) = calls(&device, || (-7.5 * &x + 1e30).eval())?;
    ensure_eq!(none[2], 0);
    // Other types are.
    let (types, _) = calls(&device, || (2.0 * x.cast::<f64>() + 1.0).eval())?;
    ensure_eq!(types[2], 1);
    Ok(())
}

fn shared_values_are_other_kernels(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let x = GpuArray::from_ndarray(&device, &array![1.0, 2.0])?;
    let shared = &x + 1.0;
    let (first, _) = calls(&device, || (&shared * &shared).eval())?;
    let (apart, _) = calls(&device, || ((&x + 1.0) * (&x + 1.0)).eval())?;
    let (cloned, _) = calls(&device, || (shared.clone() * &shared).eval())?;
    ensure_eq!((first[2], apart[2], cloned[2]), (1, 1, 0));
    Ok(())
}

fn evaluating_allocates_its_result_only(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let x = GpuArray::from_ndarray(&device, &Array1::from_elem(3_000_001, 1.5))?;
    let mut y = GpuArray::zeros(&device, 3_000_001)?;
    let value = || x.sqrt() * 2.0 + x.exp() / 3.0 - &x;
    value().eval()?;
    y.assign(value())?;
    y += &x;
    let live = device.emulation().ok_or("emulated")?.live_allocations()?;
    let (counts, z) = calls(&device, || value().eval())?;
    ensure!(counts[0] <= 1, "{} allocations", counts[0]);
    ensure_eq!(counts[1..], [1, 0, 0, 0]);
    ensure!(device.emulation().ok_or("emulated")?.live_allocations()? <= live + 1);
    drop(z);
    let (counts, ()) = calls(&device, || y.assign(value()))?;
    ensure_eq!(counts, [0, 1, 0, 0, 0]);
    let (counts, ()) = calls(&device, || {
        y += &x;
        Ok(())
    })?;
    ensure_eq!(counts, [0, 1, 0, 0, 0]);
    Ok(())
}

fn several_values_take_one_launch(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let x = GpuArray::from_ndarray(&device, &array![1.0, 4.0])?;
    let (counts, (a, b, c)) = calls(&device, || eval_all((x.sqrt(), &x * 2.0, x.gt(2.0))))?;
    ensure_eq!((counts[1], counts[2]), (1, 1));
    ensure_eq!(
        (a.to_ndarray()?, b.to_ndarray()?, c.to_ndarray()?),
        (array![1.0, 2.0], array![2.0, 8.0], array![false, true])
    );
    Ok(())
}

/// Beyond some hundred arrays the table of these is copied to the device first.
fn any_number_of_arrays_is_joined_by_one_launch(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let x = GpuArray::from_ndarray(&device, &array![1, 2])?;
    for (number, [allocations, copies]) in [(2, [1, 0]), (100, [1, 0]), (1000, [2, 1])] {
        let (counts, joined) = calls(&device, || concatenate(Axis(0), vec![&x; number]))?;
        ensure_eq!((number, counts[0], counts[1], counts[3]), (number, allocations, 1, copies));
        ensure!(joined.to_ndarray()?.iter().eq([1, 2].iter().cycle().take(2 * number)), "{number} arrays");
    }
    Ok(())
}

fn what_is_precompiled_is_loaded_once(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let x = GpuArray::from_ndarray(&device, &array![1.0f32, 4.0])?;
    let all = [&x + 1.0, &x * 2.0, x.sqrt(), &x + 5.0];
    let (counts, ()) = calls(&device, || precompile(&device, &[&all[0], &all[1], &all[2], &all[3]]))?;
    ensure_eq!((counts[1], counts[2]), (0, 1));
    let (counts, _) = calls(&device, || all.iter().map(|value| value.eval()).collect::<Result<Vec<_>>>())?;
    ensure_eq!((counts[1], counts[2]), (4, 0));
    let (counts, ()) = calls(&device, || precompile(&device, &[&all[0], &all[3]]))?;
    ensure_eq!(counts[2], 0);
    let device = Emulated::new().open()?;
    gpu_array::warm(&device)?;
    let (x, y) =
        (GpuArray::from_ndarray(&device, &array![1.0, 4.0])?, GpuArray::from_ndarray(&device, &array![2.0, 4.0])?);
    let (counts, _) = calls(&device, || (&x / &y).eval().and((&x - 7.0).eval()))?;
    ensure_eq!((counts[1], counts[2]), (2, 0));
    ensure!(precompile(&device, &[&(&x + &GpuArray::<f32, _>::zeros(&device, 5)?)]).is_err());
    precompile(&device, &[])?;
    Ok(())
}

/// An expression of arrays of several streams waits for all, and later writes to them wait for it.
fn other_streams_wait(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let (a, b) = (Stream::new(&device)?, Stream::new(&device)?);
    let n = 100_000;
    let mut x = GpuArray::full(&a, n, 1.0f64)?;
    let mut y = GpuArray::full(&b, n, 2.0f64)?;
    (&x + &x).eval()?;
    let mut total = GpuArray::<f64, _>::zeros(&device, n)?;
    let (counts, ()) = calls(&device, || {
        for _ in 0..50 {
            x += 1.0;
            y *= 1.5;
            total += &x + &y;
            y /= 1.5;
        }
        Ok(())
    })?;
    ensure!(counts[4] > 0, "no stream waits for another one");
    let want = (0..50).fold(0.0, |total, i| total + (f64::from(i) + 2.0 + 3.0));
    let got = total.to_ndarray()?;
    ensure!(got.iter().all(|&got| got == want), "{} for {want}", got[0]);
    let sum = (&y + &x).eval()?;
    ensure!(sum.stream() == &b);
    ensure!((&y + &x).eval_on(&a)?.stream() == &a);
    let (counts, _) = calls(&device, || (&x + &x).eval())?;
    ensure_eq!(counts[4], 0);
    Ok(())
}

/// In a process of its own, whose driver has two devices.
fn other_devices_are_an_error(_: &()) -> Outcome {
    const DEVICES: &str = "GPU_EMULATED_DEVICES";
    if std::env::var(DEVICES).as_deref() != Ok("2") {
        let mut again = std::process::Command::new(std::env::current_exe()?);
        let run = again.args(["--exact", "counts::other_devices_are_an_error"]).env(DEVICES, "2").output()?;
        let text = String::from_utf8_lossy(&run.stdout);
        ensure!(run.status.success() && text.contains("1 passed"), "{text}");
        return Ok(());
    }
    let (first, second) = (Emulated::new().open()?, Emulated::new().ordinal(1).open()?);
    let (x, y) = (GpuArray::full(&first, 3, 1)?, GpuArray::full(&second, 3, 2)?);
    let error = (&x + &y).eval().map(drop);
    let told = matches!(error, Err(ArrayError::Devices { left_device: 0, right_device: 1, .. }));
    ensure!(told, "{error:?}");
    let error = (&x * 2).eval_on(&second).map(drop);
    ensure!(matches!(error, Err(ArrayError::Devices { left_device: 1, right_device: 0, .. })), "{error:?}");
    let i = GpuArray::full(&second, 3, 0i64)?;
    let error = take(&x, &i, Outside::Clip).eval_on(&second).map(drop);
    ensure!(matches!(error, Err(ArrayError::Devices { .. })), "{error:?}");
    let mut x = x;
    x += &y;
    let Err(ArrayError::Operator { source, .. }) = x.to_ndarray() else { return Err("no error".into()) };
    ensure!(matches!(*source, ArrayError::Devices { .. }), "{source:?}");
    x.assign(constant::<_, gpu_array::expression::Gpu>(5))?;
    ensure_eq!(x.to_ndarray()?, array![5, 5, 5]);
    Ok(())
}

/// Each place is that of the call below, in this file, not one within the crate.
fn allocations_of_arrays_tell_the_caller_s_line(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let trace = device.trace_allocations();
    let host = array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let first = line!() + 1;
    let x = GpuArray::from_ndarray(&device, &host)?;
    let zeros = (GpuArray::<f32, _>::zeros(&device, 3)?, PinnedArray::<f32, _>::zeros(&device, 3)?);
    let ones = (GpuArray::<f32, _>::ones(&device, 3)?, GpuArray::full(&device, 3, 7u8)?);
    let listed = (GpuArray::from_vec(&device, [1, 2])?, GpuArray::from_shape_vec(&device, 2, [1, 2])?);
    let ranges = (GpuArray::arange(&device, 0, 3, 1)?, GpuArray::linspace(&device, 0.0, 1.0, 3)?);
    let unit = GpuArray::<f64, _>::eye(&device, 3)?;
    let copies = (x.try_clone()?, x.t().to_owned()?, x.t().to_standard_layout()?);
    let alike = (x.zeros_like()?, x.ones_like()?, x.full_like(2.0)?);
    let values = ((&x + 1.0).eval()?, eval_all((&x + 1.0, &x * 2.0))?);
    let joined = (concatenate(Axis(0), [&x, &x])?, stack(Axis(0), [&x, &x])?, hstack([&x, &x])?);
    let pinned = PinnedArray::from_ndarray(&device, &host)?;
    let alive = trace.alive();
    let here = alive.iter().filter(|one| one.place.file() == file!());
    let per_line = here.fold([0usize; 11], |mut lines, one| {
        lines[(one.place.line() - first) as usize] += 1;
        lines
    });
    ensure_eq!(per_line, [1, 2, 2, 2, 2, 1, 3, 3, 3, 3, 1]);
    ensure_eq!(alive.len(), per_line.iter().sum::<usize>());
    drop((x, zeros, ones, listed, ranges, unit, copies, alike, values, joined, pinned));
    ensure!(trace.alive().is_empty(), "{trace}");
    Ok(())
}
