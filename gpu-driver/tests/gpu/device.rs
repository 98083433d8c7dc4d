//! Devices, streams, events, memory, launches: needs a device and NVRTC.

use std::{
    thread,
    time::{Duration, Instant},
};

use gpu_driver::{
    Device, DevicePod, DeviceVec, DriverError, Event, GeneratedKernel, KernelSpace, LaunchConfig, Module, PinnedVec,
    Program, Registry, Stream, cust, emulated::Emulated,
};
use testkit::{AWKWARD_LENGTHS, Outcome, Rng, ensure, ensure_eq};

use crate::kernels::{Axpy, KERNELS, Reverse, SPACE, SlowFill};

/// Long enough for a missing wait to show: tens of milliseconds.
const SLOW: u64 = 50_000_000;

fn ramp(n: usize) -> Vec<u32> {
    (0..n as u32).map(|i| i.wrapping_mul(2654435761)).collect()
}

/// That work submitted at `since` is still running, unless the host itself was held up.
fn still_running(done: bool, since: Instant) -> Outcome {
    const HELD_UP: Duration = Duration::from_millis(5);
    ensure!(!done || since.elapsed() > HELD_UP, "done before the slow kernel could end");
    Ok(())
}

/// A device on which nobody else waits: the emulated one runs work of any stream then, and a question whether it is done
/// would be answered by chance.
fn undisturbed(device: &Device) -> gpu_driver::Result<Device> {
    if device.is_emulated() { Emulated::new().open() } else { Ok(device.clone()) }
}

fn slow_fill(stream: &Stream, buffer: &mut DeviceVec<u32>, value: u32) -> gpu_driver::Result<()> {
    let n = buffer.len() as u64;
    let kernel = KERNELS.kernel::<SlowFill>(stream.device(), &())?;
    // SAFETY: writes out[..n].
    unsafe { kernel.launch(4, (SLOW, value, buffer.output(), n), stream) }
}

pub fn device_describes_itself(device: &Device) -> Outcome {
    ensure!(!device.name().is_empty() && device.multiprocessors()? > 0);
    ensure!(device.arch().major >= 5, "{}", device.arch());
    let (free, total) = device.memory()?;
    ensure!(0 < free && free <= total);
    // Once, whatever the driver calls it.
    let (text, arch) = (device.to_string(), format!("sm_{}", device.arch().number()));
    ensure!(device.is_emulated() || text.contains(device.name()), "{text}");
    ensure_eq!((text.matches("emulated").count(), text.matches(&arch).count()), (device.is_emulated().into(), 1));
    let count = Device::count()?;
    let wrong = Device::new(count).unwrap_err();
    ensure!(matches!(wrong, DriverError::NoSuchDevice { .. }), "{wrong}");
    ensure_eq!(Device::arch_of(device.ordinal())?, device.arch());
    ensure!(matches!(Device::arch_of(count), Err(DriverError::NoSuchDevice { .. })));
    Ok(())
}

fn round_trip<T: DevicePod + PartialEq>(device: &Device, value: impl Fn(usize) -> T) -> Outcome {
    for n in AWKWARD_LENGTHS {
        let host: Vec<T> = (0..n).map(&value).collect();
        let stream = device.stream();
        let buffer = DeviceVec::from_slice(&stream, &host)?;
        ensure_eq!(buffer.len(), n);
        ensure_eq!(buffer.to_vec()?, host);
        ensure_eq!(buffer.try_clone()?.to_vec()?, host);
        // SAFETY: zero bytes are a value of every DevicePod.
        let zero: T = unsafe { std::mem::zeroed() };
        ensure!(DeviceVec::<T>::zeros(&stream, n)?.to_vec()?.iter().all(|x| *x == zero));
        let mut cleared = buffer;
        cleared.set_zero()?;
        ensure!(cleared.to_vec()?.iter().all(|x| *x == zero));
    }
    Ok(())
}

pub fn every_type_and_length_round_trips(device: &Device) -> Outcome {
    round_trip(device, |i| i as u8)?;
    round_trip(device, |i| i as i16)?;
    round_trip(device, |i| i as u32 ^ 0xdead_beef)?;
    round_trip(device, |i| -(i as i64))?;
    round_trip(device, |i| i as f32 * 0.5)?;
    round_trip(device, |i| (i as f64).sqrt())
}

/// Copies of so many bytes go through pinned buffers of 2 MiB, of which there are at most 32.
pub fn large_copies_are_whole(device: &Device) -> Outcome {
    const MIB: usize = 1 << 18;
    for n in [8 * MIB - 1, 8 * MIB, 8 * MIB + 1, 9 * MIB + 12_345, 70 * MIB + 3] {
        let (host, stream) = (ramp(n), Stream::new(device)?);
        let mut buffer = DeviceVec::from_slice(&stream, &host)?;
        ensure!(buffer.to_vec()? == host, "{n}");
        // Parts, with memory around them that stays as it is, and behind work that is on its way.
        slow_fill(&stream, &mut buffer, 7)?;
        buffer.slice_mut(3..n - 2)?.copy_from_slice(&host[3..n - 2])?;
        let mut got = vec![1; n + 1];
        buffer.copy_to_slice(&mut got[..n])?;
        let around = [got[0], got[2], got[n - 2], got[n - 1], got[n]];
        ensure_eq!(around, [7, 7, 7, 7, 1]);
        ensure!(got[3..n - 2] == host[3..n - 2], "{n}");
    }
    Ok(())
}

pub fn slices_read_and_write_parts(device: &Device) -> Outcome {
    let stream = device.stream();
    let host = ramp(1000);
    let mut buffer = DeviceVec::from_slice(&stream, &host)?;
    ensure_eq!(buffer.slice(10..20)?.to_vec()?, host[10..20]);
    ensure_eq!(buffer.slice(1000..)?.to_vec()?, []);
    let part = buffer.slice(10..20)?;
    ensure_eq!(part.slice(2..)?.try_clone()?.to_vec()?, host[12..20]);
    ensure_eq!(part.slice(2..)?.as_raw(), buffer.as_raw() + 12 * size_of_val(&host[0]) as u64);
    ensure!(part.slice(..11).is_err());
    let part = buffer.slice_mut(10..20)?.into_slice();
    // SAFETY: from `into_slice`, and the only way to the elements.
    unsafe { part.slice(..1)?.into_mut() }.copy_from_slice(&host[10..11])?;
    ensure_eq!(part.to_vec()?, host[10..20]);
    buffer.slice_mut(3..=4)?.copy_from_slice(&[7, 8])?;
    let other = DeviceVec::from_slice(&stream, &[1, 2, 3])?;
    buffer.slice_mut(997..)?.copy_from(other.as_slice())?;
    let mut want = host.clone();
    want[3..5].copy_from_slice(&[7, 8]);
    want[997..].copy_from_slice(&[1, 2, 3]);
    ensure_eq!(buffer.to_vec()?, want);
    for wrong in [buffer.slice(999..1001).err(), buffer.copy_to_slice(&mut [0; 3]).err()] {
        ensure!(matches!(wrong, Some(DriverError::Length { .. })), "{wrong:?}");
    }
    ensure!(buffer.copy_from_slice(&[1]).is_err());
    Ok(())
}

pub fn pinned_copies_own_their_buffer(device: &Device) -> Outcome {
    let device = &undisturbed(device)?;
    // One of its own: on the main stream other tests keep work too.
    let stream = Stream::new(device)?;
    let host = ramp(100_000);
    let mut buffer = DeviceVec::zeros(&stream, host.len())?;
    let pinned = buffer.upload(PinnedVec::from_slice(device, &host)?)?.wait()?;
    ensure_eq!(pinned[..10], host[..10]);
    let since = Instant::now();
    slow_fill(&stream, &mut buffer, 5)?;
    let pending = buffer.download(pinned)?;
    still_running(pending.is_done()?, since)?;
    let back = pending.wait()?;
    ensure!(back.iter().all(|&x| x == 5));
    // Dropping waits, so the memory is not given back under the copy.
    slow_fill(&stream, &mut buffer, 6)?;
    drop(buffer.download(back)?);
    ensure!(stream.is_idle()?);
    ensure!(buffer.upload(PinnedVec::zeros(device, 3)?).is_err());
    ensure_eq!(PinnedVec::<f64>::zeros(device, 0)?.len(), 0);
    Ok(())
}

pub fn streams_run_in_order_and_idle(device: &Device) -> Outcome {
    let device = &undisturbed(device)?;
    let stream = Stream::new(device)?;
    let mut buffer = DeviceVec::zeros(&stream, 1000)?;
    stream.synchronize()?;
    ensure!(stream.is_idle()?);
    let since = Instant::now();
    slow_fill(&stream, &mut buffer, 1)?;
    still_running(stream.is_idle()?, since)?;
    stream.synchronize()?;
    ensure!(stream.is_idle()?);
    ensure!(buffer.to_vec()?.iter().all(|&x| x == 1));
    Ok(())
}

pub fn a_launch_on_another_stream_waits_for_the_home(device: &Device) -> Outcome {
    let (home, side) = (Stream::new(device)?, Stream::new(device)?);
    let axpy = KERNELS.kernel::<Axpy<f32>>(device, &256)?;
    let n = 10_000;
    for _ in 0..5 {
        let mut x = DeviceVec::from_slice(&home, &vec![0u32; n])?;
        slow_fill(&home, &mut x, 1.0f32.to_bits())?; // x = 1.0, late, on `home`
        // SAFETY: u32 and f32 have the same layout; the buffer is only read.
        let x_as_f32 = unsafe { std::mem::transmute::<&DeviceVec<u32>, &DeviceVec<f32>>(&x) };
        let mut y = DeviceVec::from_slice(&side, &vec![2.0f32; n])?;
        // SAFETY: reads x[..n], writes y[..n].
        unsafe { axpy.launch(8, (3.0, x_as_f32.input(), y.in_out(), n as u64), &side)? };
        drop(x); // released on `home`, after the launch on `side`
        let mut reused = DeviceVec::zeros(&home, n)?; // likely the same memory
        slow_fill(&home, &mut reused, 0)?;
        ensure!(y.to_vec()?.iter().all(|&v| v == 5.0), "the launch did not wait for the home stream");
    }
    Ok(())
}

/// An element of any size.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wide<T, const N: usize>([T; N]);
// SAFETY: values without padding, of which all bits are values.
unsafe impl<T: DevicePod, const N: usize> DevicePod for Wide<T, N> {
    const CUDA_NAME: &'static str = "Wide";
}

pub fn slices_are_filled_and_their_neighbours_not(device: &Device) -> Outcome {
    fn check<T: DevicePod + PartialEq>(device: &Device, old: T, new: T, by_memset: bool) -> Outcome {
        for (start, end) in [(0, 0), (0, 9), (1, 2), (3, 8), (1, 9), (2, 700)] {
            let len = end.max(9);
            let mut x = DeviceVec::from_slice(&device.stream(), &vec![old; len])?;
            let want: Vec<T> = (0..len).map(|i| if i >= start && i < end { new } else { old }).collect();
            x.slice_mut(start..end)?.fill(new)?;
            ensure_eq!(x.to_vec()?, want);
            let mut y = DeviceVec::from_slice(&device.stream(), &vec![old; len])?;
            ensure_eq!(y.slice_mut(start..end)?.fill_by_memset(new)?, by_memset || start == end);
            ensure_eq!(y.to_vec()?, if by_memset { want } else { vec![old; len] });
        }
        Ok(())
    }
    check(device, 1u8, 2, true)?;
    check(device, 1i16, -2, true)?;
    check(device, 1.5f32, -2.5, true)?;
    check(device, 1.5f64, 0.0, true)?;
    check(device, 7i64, -1, true)?;
    check(device, 1.5f64, 2.5, false)?;
    check(device, 7u64, 1 << 40, false)?;
    // Of odd sizes, and larger than any word of the driver.
    check(device, Wide([1u8; 3]), Wide([2, 3, 4]), false)?;
    check(device, Wide([0u16; 3]), Wide([1, 1, 2]), false)?;
    check(device, Wide([0.0f32; 3]), Wide([1.0, -2.0, f32::INFINITY]), false)?;
    check(device, Wide([0u8; 5]), Wide([9, 9, 9, 9, 8]), false)?;
    check(device, Wide([0.0f64; 2]), Wide([2.5, -0.0]), false)?;
    check(device, Wide([7u32; 33]), Wide(std::array::from_fn(|i| i as u32 / 4)), false)
}

pub fn generated_kernels_are_kept_under_their_keys(device: &Device) -> Outcome {
    let text = "struct Words { unsigned long long word[2]; };\n\
        template <int FACTOR> __global__ void times(const __grid_constant__ Words words) {\n\
            ((unsigned *)words.word[0])[threadIdx.x] = FACTOR * threadIdx.x + unsigned(words.word[1]);\n}\n";
    let program = |factor: u32| Program::new("times.cu", text).name_expression(format!("times<{factor}>"));
    let stream = device.stream();
    let run = |kernel: &GeneratedKernel, add: u64| {
        let x = DeviceVec::from_slice(&stream, &[0u32; 8])?;
        let config = LaunchConfig { grid: 1.into(), block: 8.into(), shared_bytes: 0 };
        // SAFETY: two words; eight threads write x[..8], whose home is named.
        unsafe { kernel.launch(config, &[x.as_raw(), add], &[x.home()], &stream)? };
        x.to_vec()
    };
    let times = |factor: u32, add: u32| (0..8).map(|i| factor * i + add).collect::<Vec<u32>>();
    let key = |factor: u64| [SPACE.word(), factor];
    ensure!(!device.has_generated_kernel(&SPACE, &key(3)));
    let three = device.generated_kernel(&SPACE, &key(3), || Ok(program(3)))?;
    ensure_eq!((run(&three, 1)?, three.name()), (times(3, 1), "times<3>"));
    // The second time nothing is made.
    let refuse = || Err(DriverError::Nul { text: "a program that is not wanted" });
    ensure_eq!(run(&device.generated_kernel(&SPACE, &key(3), refuse)?, 5)?, times(3, 5));
    ensure!(device.generated_kernel(&SPACE, &key(4), refuse).is_err() && !device.has_generated_kernel(&SPACE, &key(4)));
    // Many at once; what is there stays.
    let both = program(4).name_expression("times<5>").name_expression("times<6>");
    let (three, five, six) = (key(3), key(5), key(6));
    device.generate_kernels(&SPACE, &[&three, &five, &six], &both)?;
    for (factor, want) in [(3, 3), (5, 5), (6, 6)] {
        ensure_eq!(run(&device.generated_kernel(&SPACE, &key(factor), refuse)?, 0)?, times(want, 0));
    }
    ensure!(matches!(device.generate_kernels(&SPACE, &[&three], &both), Err(DriverError::Length { .. })));
    // Whoever makes a program may ask for kernels, that one too.
    let nested = device.generated_kernel(&SPACE, &key(8), || {
        device.generated_kernel(&SPACE, &key(8), || Ok(program(8)))?;
        Ok(program(8))
    })?;
    ensure_eq!(run(&nested, 2)?, times(8, 2));
    // Whoever guesses a key has another space, and can neither see nor replace what stands under it.
    static OTHER: KernelSpace = KernelSpace::new();
    ensure!(OTHER.word() != SPACE.word() && !device.has_generated_kernel(&OTHER, &three));
    let seen = device.generated_kernel(&OTHER, &three, || Ok(program(7))).map(drop);
    let replaced = device.generate_kernels(&OTHER, &[&three], &program(7));
    ensure!(matches!(seen, Err(DriverError::Length { .. })) && matches!(replaced, Err(DriverError::Length { .. })));
    ensure_eq!(run(&device.generated_kernel(&SPACE, &three, refuse)?, 0)?, times(3, 0));
    let words = vec![0; gpu_driver::PARAMETER_BYTES / 8 + 1];
    let config = LaunchConfig { grid: 1.into(), block: 8.into(), shared_bytes: 0 };
    // SAFETY: refused before anything runs.
    let refused = unsafe { device.generated_kernel(&SPACE, &key(3), refuse)?.launch(config, &words, &[], &stream) };
    ensure!(matches!(refused, Err(DriverError::Length { .. })));
    Ok(())
}

/// Each step reads what other blocks of the step before have written, and overwrites what they have read.
pub fn kernels_that_overlap_keep_the_order_of_their_stream(device: &Device) -> Outcome {
    const N: usize = 5000;
    let text = "#include \"prelude.cuh\"\nstruct Words { unsigned long long word[3]; };\n\
        template <bool WAITS> __global__ void step(const __grid_constant__ Words words) {\n\
            if (WAITS) gpu::grid_dependency_wait();\n\
            const unsigned *x = (const unsigned *)words.word[0];\n\
            unsigned n = unsigned(words.word[2]), i = blockIdx.x * blockDim.x + threadIdx.x;\n\
            if (i < n) ((unsigned *)words.word[1])[i] = 3 * x[(i * 37 + 1) % n] + i;\n}\n";
    let program = |waits: bool| Program::new("step.cu", text).name_expression(format!("step<{waits}>"));
    let key = |waits: u64| [SPACE.word(), 100 + waits];
    let overlapping = device.generated_kernel(&SPACE, &key(1), || Ok(program(true).overlapping()))?;
    let plain = device.generated_kernel(&SPACE, &key(0), || Ok(program(false)))?;
    let stream = Stream::new(device)?;
    let start: Vec<u32> = (0..N as u32).collect();
    let buffers = [DeviceVec::from_slice(&stream, &start)?, DeviceVec::from_slice(&stream, &start)?];
    let rounds = if device.is_emulated() { 10 } else { 2000 };
    let run = || {
        for round in 0..rounds {
            let (from, to) = (&buffers[round % 2], &buffers[1 - round % 2]);
            // Now and then one that does not wait comes between.
            let kernel = if round % 5 == 4 { &plain } else { &overlapping };
            let config = LaunchConfig { grid: 40.into(), block: 128.into(), shared_bytes: 0 };
            // SAFETY: three words; the threads read x[..N] and write y[..N], whose home is the stream.
            unsafe { kernel.launch(config, &[from.as_raw(), to.as_raw(), N as u64], &[from.home()], &stream)? };
        }
        Ok::<_, DriverError>(())
    };
    let step = |x: Vec<u32>, _| (0..N).map(|i| x[(i * 37 + 1) % N].wrapping_mul(3).wrapping_add(i as u32)).collect();
    let after = |x: &[u32]| (0..rounds).fold(x.to_vec(), step);
    run()?;
    let once = after(&start);
    ensure_eq!(buffers[0].to_vec()?, once);
    let (graph, ()) = stream.capture(run)?;
    // SAFETY: the buffers live until they are read below.
    unsafe { graph.launch(&stream)? };
    ensure_eq!(buffers[0].to_vec()?, after(&once));
    Ok(())
}

pub fn events_order_and_time(device: &Device) -> Outcome {
    let device = &undisturbed(device)?;
    let stream = Stream::new(device)?;
    let mut buffer = DeviceVec::zeros(&stream, 10)?;
    let since = Instant::now();
    let start = stream.record()?;
    slow_fill(&stream, &mut buffer, 1)?;
    let end = stream.record()?;
    still_running(end.is_done()?, since)?;
    let ms = end.elapsed_ms_since(&start)?;
    ensure!(end.is_done()? && start.is_done()?);
    // At most 2 GHz below; above, other work of the card may come between.
    ensure!((20.0..60_000.0).contains(&ms), "{SLOW} cycles took {ms} ms");
    ensure!(start.elapsed_ms_since(&end)? <= 0.0);
    ensure!(Event::new(device)?.is_done()?);
    Ok(())
}

pub fn error_an_event_never_recorded_has_no_time(device: &Device) -> Outcome {
    let start = device.stream().record()?;
    let error = Event::new(device)?.elapsed_ms_since(&start).unwrap_err();
    ensure!(error.to_string().contains("cuEventElapsedTime"), "{error}");
    Ok(())
}

pub fn typed_launch_computes(device: &Device) -> Outcome {
    let stream = device.stream();
    let axpy = KERNELS.kernel::<Axpy<f64>>(device, &256)?;
    for n in AWKWARD_LENGTHS {
        let x: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let mut y = DeviceVec::from_slice(&stream, &vec![1.0; n])?;
        let x = DeviceVec::from_slice(&stream, &x)?;
        // SAFETY: reads x[..n], writes y[..n].
        unsafe { axpy.launch(3, (2.0, x.input(), y.in_out(), n as u64), &stream)? };
        ensure!(y.to_vec()?.iter().enumerate().all(|(i, &v)| v == 2.0 * i as f64 + 1.0), "n = {n}");
    }
    Ok(())
}

pub fn large_dynamic_shared_memory_is_asked_for(device: &Device) -> Outcome {
    const MAX_SHARED_PER_BLOCK_OPTIN: i32 = 97;
    let most = device.attribute(MAX_SHARED_PER_BLOCK_OPTIN)?;
    let registry = Registry::new("shared").with::<Reverse>(&most);
    let kernel = registry.kernel::<Reverse>(device, &most)?;
    let stream = device.stream();
    let host = ramp(1000);
    let (x, mut y) = (DeviceVec::from_slice(&stream, &host)?, DeviceVec::zeros(&stream, 1000)?);
    // A policy that asks for less must not take away what another was given.
    let less = Registry::new("less").with::<Reverse>(&60_000).kernel::<Reverse>(device, &60_000)?;
    for kernel in [kernel, less] {
        // SAFETY: one block of 1024 threads, n <= 1024.
        unsafe { kernel.launch(1, (x.input(), y.output(), 1000), &stream)? };
    }
    let reversed: Vec<u32> = host.into_iter().rev().collect();
    ensure_eq!(y.to_vec()?, reversed);
    Ok(())
}

/// Errors that the driver reports and recovers from. compute-sanitizer would list each as an API error.
pub fn error_refused_launches_leave_everything_usable(device: &Device) -> Outcome {
    let stream = device.stream();
    let mut y = DeviceVec::from_slice(&stream, &[1.0f32])?;
    let x = DeviceVec::from_slice(&stream, &[1.0f32])?;
    let registry = Registry::new("wide").with::<Axpy<f32>>(&1025);
    let wide = registry.kernel::<Axpy<f32>>(device, &1025)?;
    let normal = KERNELS.kernel::<Axpy<f32>>(device, &256)?;
    // SAFETY: refused by the driver: nothing runs.
    let refused = unsafe {
        [
            wide.launch(1, (1.0, x.input(), y.in_out(), 1), &stream),
            normal.launch(0, (1.0, x.input(), y.in_out(), 1), &stream),
            normal.launch((1, 65_536), (1.0, x.input(), y.in_out(), 1), &stream),
        ]
    };
    for outcome in refused {
        let Err(DriverError::Launch { kernel, code, .. }) = outcome else { return Err(format!("{outcome:?}").into()) };
        ensure!(kernel == "axpy<float>" && code.0 == 1, "{kernel}: {code}");
    }
    // SAFETY: reads x[..1], writes y[..1].
    unsafe { normal.launch(1, (1.0, x.input(), y.in_out(), 1), &stream)? };
    ensure_eq!(y.to_vec()?, [2.0]);
    let Err(error) = KERNELS.kernel::<Axpy<i32>>(device, &256) else { return Err("not registered".into()) };
    ensure!(matches!(error, DriverError::NotRegistered { .. }), "{error}");
    Ok(())
}

/// Fills the card, so it runs alone.
pub fn error_out_of_memory_leaves_everything_usable(device: &Device) -> Outcome {
    let stream = device.stream();
    let keep = DeviceVec::from_slice(&stream, &ramp(100))?;
    let (free, total) = device.memory()?;
    // More than there is, refused at once; then all that is free, twice, refused by the driver.
    let too_much = DeviceVec::<u8>::zeros(&stream, total + 1).err();
    // SAFETY: never read.
    let most = unsafe { DeviceVec::<u8>::uninitialized(&stream, free / 4 * 3)? };
    // SAFETY: as above.
    let again = unsafe { DeviceVec::<u8>::uninitialized(&stream, free / 4 * 3) }.err();
    for error in [too_much, again] {
        ensure!(matches!(error, Some(DriverError::OutOfMemory { free_bytes: Some(_), .. })), "{error:?}");
    }
    // What is released is given out again, also when the pool must give it back in between.
    drop(most);
    // SAFETY: never read.
    drop(unsafe { DeviceVec::<u64>::uninitialized(&stream, free / 8 / 4 * 3)? });
    device.trim_pool(0)?;
    ensure!(device.memory()?.0 >= free / 2);
    ensure!(matches!(DeviceVec::<u64>::zeros(&stream, usize::MAX / 4), Err(DriverError::TooLarge { .. })));
    ensure_eq!(keep.to_vec()?, ramp(100));
    Ok(())
}

pub fn error_missing_functions_are_named(device: &Device) -> Outcome {
    ensure!(device.attribute(-1).is_err());
    let text = "extern \"C\" __global__ void f() {} template <int N> __global__ void t() {}";
    for (program, known) in [
        (Program::new("f.cu", text), vec!["f"]),
        (Program::new("f.cu", text).name_expression("t<3>"), vec!["t<3>", "f"]),
    ] {
        let module = Module::load(device, &program.compile(device.arch())?)?;
        for name in &known {
            let config = LaunchConfig { grid: 1.into(), block: 1.into(), shared_bytes: 0 };
            // SAFETY: the kernels take nothing and touch nothing.
            unsafe { module.function(name)?.launch_raw(config, &mut [], &device.stream())? };
        }
        for name in ["g", "t", "t<4>", "ff", ""] {
            let error = module.function(name).err();
            let is_named = matches!(&error, Some(DriverError::NoKernel { name: told, known: names, .. })
                if told == name && *names == known);
            ensure!(is_named, "{name}: {error:?}");
        }
        ensure!(matches!(module.function("f\0"), Err(DriverError::Nul { .. })));
        device.synchronize()?;
    }
    Ok(())
}

/// Counts the whole pool, so it runs alone.
pub fn the_pool_keeps_and_gives_back(device: &Device) -> Outcome {
    const BYTES: usize = 64 << 20;
    let stream = Stream::new(device)?;
    device.trim_pool(0)?;
    let before = device.pool_use()?;
    let buffer = DeviceVec::<u8>::zeros(&stream, BYTES)?;
    ensure!(device.pool_use()?.used_bytes >= before.used_bytes + BYTES as u64);
    drop(buffer);
    stream.synchronize()?;
    let kept = device.pool_use()?;
    ensure_eq!(kept.used_bytes, before.used_bytes);
    ensure!(kept.reserved_bytes >= BYTES as u64);
    device.trim_pool(0)?;
    ensure!(device.pool_use()?.reserved_bytes < kept.reserved_bytes);
    // Released memory is reused: ten thousand rounds take no more than one.
    for _ in 0..10_000 {
        drop(DeviceVec::<u8>::zeros(&stream, BYTES)?);
    }
    stream.synchronize()?;
    ensure!(device.pool_use()?.reserved_bytes < 2 * kept.reserved_bytes);
    Ok(())
}

pub fn sixteen_threads_at_once(device: &Device) -> Outcome {
    let work = |seed: u64| -> Result<(), String> {
        let run = || -> Outcome {
            let mut rng = Rng(seed);
            let own = Stream::new(device)?;
            for _ in 0..100 {
                let stream = if rng.below(2) == 0 { device.stream() } else { own.clone() };
                let n = rng.below(5000);
                let a = rng.below(100) as f32;
                let x = DeviceVec::from_slice(&device.stream(), &vec![1.0f32; n])?;
                let mut y = DeviceVec::from_slice(&own, &vec![a; n])?;
                let axpy = KERNELS.kernel::<Axpy<f32>>(device, &256)?;
                // SAFETY: reads x[..n], writes y[..n].
                unsafe { axpy.launch(4, (a, x.input(), y.in_out(), n as u64), &stream)? };
                ensure!(y.to_vec()?.iter().all(|&v| v == 2.0 * a), "seed {seed}, n {n}");
            }
            Ok(())
        };
        run().map_err(|error| error.to_string())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..16).map(|seed| scope.spawn(move || work(seed))).collect();
        for thread in threads {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok(())
    })
}

/// Every kind of handle, to be dropped in any order and on any thread.
fn handles() -> Result<Vec<Box<dyn Send>>, Box<dyn std::error::Error>> {
    let device = Device::first()?;
    let stream = Stream::new(&device)?;
    let mut buffer = DeviceVec::<f32>::zeros(&stream, 1000)?;
    let x = DeviceVec::<f32>::zeros(&device.stream(), 1000)?;
    let kernel = KERNELS.kernel::<Axpy<f32>>(&device, &256)?;
    // SAFETY: reads x[..1000], writes buffer[..1000].
    unsafe { kernel.launch(1, (1.0, x.input(), buffer.in_out(), 1000), &stream)? };
    let binary = Program::new("f.cu", "extern \"C\" __global__ void f() {}").compile(device.arch())?;
    let module = Module::load(&device, &binary)?;
    let function = module.function("f")?;
    let event = stream.record()?;
    let pending = buffer.download(PinnedVec::zeros(&device, 1000)?)?;
    let pinned = PinnedVec::<u8>::zeros(&device, 10)?;
    Ok(vec![
        Box::new(device),
        Box::new(stream),
        Box::new(buffer),
        Box::new(x),
        Box::new(kernel),
        Box::new(module),
        Box::new(function),
        Box::new(event),
        Box::new(pending),
        Box::new(pinned),
    ])
}

pub fn handles_drop_in_any_order(device: &Device) -> Outcome {
    for seed in 0..50 {
        let mut rng = Rng(seed);
        let mut all = handles()?;
        rng.shuffle(&mut all);
        for handle in all {
            if rng.below(3) == 0 {
                thread::spawn(move || drop(handle)).join().map_err(|_| format!("seed {seed}: a drop panicked"))?;
            } else {
                drop(handle);
            }
        }
        device.synchronize().map_err(|error| format!("seed {seed}: {error}"))?;
    }
    Ok(())
}

pub fn a_context_of_the_users_stays_current(device: &Device) -> Outcome {
    let test = || -> Outcome {
        let card = cust::device::Device::get_device(0)?;
        let flags = cust::context::legacy::ContextFlags::SCHED_AUTO;
        let foreign = cust::context::legacy::Context::create_and_push(flags, card)?;
        let before = raw_current();
        let buffer = DeviceVec::from_slice(&device.stream(), &ramp(100))?;
        ensure_eq!(buffer.to_vec()?, ramp(100));
        drop(buffer);
        ensure_eq!(raw_current(), before);
        ensure!(before != device.as_raw_context() as usize);
        drop(foreign);
        Ok(())
    };
    // On a thread of its own: contexts are current per thread.
    thread::scope(|scope| {
        scope.spawn(|| test().map_err(|e| e.to_string())).join().map_err(|_| "panicked")?.map_err(Into::into)
    })
}

fn raw_current() -> usize {
    let mut raw = std::ptr::null_mut();
    // SAFETY: the pointer is valid for the call.
    let _ = unsafe { cust::sys::cuCtxGetCurrent(&mut raw) };
    raw as usize
}

pub fn a_guard_keeps_its_context_and_puts_back_none(device: &Device) -> Outcome {
    use cust::memory::CopyDestination;
    let is_emulated = device.is_emulated();
    let test = || -> Outcome {
        ensure_eq!(raw_current(), 0);
        let device = if is_emulated { Emulated::new().open()? } else { Device::first()? };
        let context = device.as_raw_context() as usize;
        let guard = device.make_current()?;
        ensure_eq!(raw_current(), context);
        // The emulated device has no other handle; its context is the guard's alone now.
        drop(device);
        let mut buffer = cust::memory::DeviceBuffer::from_slice(&[1u32, 2, 3])?;
        buffer.copy_from(&[4, 5, 6])?;
        let mut back = [0; 3];
        buffer.copy_to(&mut back)?;
        ensure_eq!(back, [4, 5, 6]);
        drop(buffer);
        drop(guard);
        ensure_eq!(raw_current(), 0);
        Ok(())
    };
    thread::scope(|scope| {
        scope.spawn(|| test().map_err(|e| e.to_string())).join().map_err(|_| "panicked")?.map_err(Into::into)
    })
}

/// Buffers of cust's in our launches, ours in cust's `launch!`, and a buffer of cust's that becomes ours.
pub fn buffers_of_cust_and_ours_pass_both_ways(device: &Device) -> Outcome {
    use cust::{launch, memory::DeviceBuffer};
    let text = "extern \"C\" __global__ void twice(const unsigned *x, unsigned *y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 2 * x[threadIdx.x]; }";
    let binary = Program::new("twice.cu", text).compile(device.arch())?;
    let stream = device.stream();
    let _current = device.make_current()?;
    let (x, mut y) = (DeviceBuffer::from_slice(&[1u32, 2, 3])?, DeviceBuffer::from_slice(&[0u32; 3])?);
    // cust's copies may be on their way still, on a stream that ours do not wait for.
    device.synchronize()?;
    let ours = Module::load(device, &binary)?.function("twice")?;
    // SAFETY: three threads read three elements and write three, and the stream is waited for.
    unsafe { ours.launch(LaunchConfig::new(1, 32), (&x, &mut y, 3), &stream)? };
    stream.synchronize()?;
    ensure_eq!(y.as_host_vec()?, [2, 4, 6]);

    let module = cust::module::Module::from_cubin(binary.image(), &[])?;
    let (function, theirs) =
        (module.get_function("twice")?, cust::stream::Stream::new(cust::stream::StreamFlags::NON_BLOCKING, None)?);
    let mine = DeviceVec::<u32>::zeros(&stream, 3)?;
    stream.synchronize()?;
    // SAFETY: as above; `mine` was zeroed, and is read behind the event.
    unsafe { launch!(function<<<1, 32, 0, theirs>>>(y.as_device_ptr(), mine.as_cust_pointer(), 3i32))? };
    // SAFETY: the buffer is of this device's context, and the stream's work comes first.
    let adopted = unsafe { DeviceVec::from_cust(&stream, y, Some(&theirs))? };
    ensure_eq!(adopted.to_vec()?, [2, 4, 6]);
    ensure_eq!(mine.to_vec()?, [4, 8, 12]);
    drop(adopted);
    let error = ours.check::<(&DeviceBuffer<f32>, &mut DeviceBuffer<u32>, i32)>().err();
    ensure!(matches!(&error, Some(DriverError::ArgumentType(wrong)) if wrong.position == 1), "{error:?}");
    Ok(())
}

pub fn cust_works_beside_us(device: &Device) -> Outcome {
    use cust::memory::CopyDestination;
    let _current = device.make_current()?;
    let buffer = cust::memory::DeviceBuffer::from_slice(&[1u32, 2, 3])?;
    let mut back = [0u32; 3];
    buffer.copy_to(&mut back)?;
    ensure_eq!(back, [1, 2, 3]);
    ensure_eq!(cust::device::Device::get_device(0)?.name()?, device.name());
    Ok(())
}
