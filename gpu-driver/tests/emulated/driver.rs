//! The emulated driver beneath the library: devices, contexts, streams, events, copies, as CUDA has them.

use std::{env, process::Command, process::ExitCode, thread};

use gpu_driver::{
    CudaCode, Device, DeviceVec, Dim3, DriverError, Entry, Event, In, InOut, LaunchConfig, Module, PinnedVec, Program,
    Registry, Result, Source, Stream, cust,
    emulated::{Call, Emulated},
};
use testkit::{Outcome, Rng, ensure, ensure_eq};

use crate::{
    broken::checks_are_on,
    harness::{SPACE, launch, order, ramp, values},
};

static SOURCE: Source = Source {
    name: "driver.cu",
    text: r#"
extern "C" __global__ void add(const unsigned *x, unsigned *y) { y[threadIdx.x] += x[threadIdx.x]; }
extern "C" __global__ void arch(unsigned *x) { *x = __CUDA_ARCH__; }
extern "C" __global__ void fault(unsigned *x) { *(volatile unsigned *)16 = 1; }
extern "C" __global__ void wide(unsigned char *x, unsigned long long n) {
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = i % 251 + 1;
}
extern "C" __global__ void narrow(unsigned char *x, unsigned long long n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = i % 251 + 1;
}
extern "C" __global__ void narrow_and_signed(unsigned char *x, unsigned long long n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (long long)n) x[i] = i % 251 + 1;
}
"#,
    headers: &[],
};

struct Add;
impl Entry for Add {
    type Policy = ();
    type Args<'a> = (In<'a, u32>, InOut<'a, u32>);
    const SOURCE: &'static Source = &SOURCE;
    const NAME: &'static str = "add";
    fn template((): &()) -> String {
        String::new()
    }
    fn block((): &()) -> Dim3 {
        3.into()
    }
}

fn module(device: &Device) -> Result<Module> {
    Module::load(device, &Program::new(SOURCE.name, SOURCE.text).compile(device.arch())?)
}

fn registry() -> Registry {
    Registry::new("driver").with::<Add>(&())
}

/// On a device such a kernel would read what an earlier one has not written yet, now and then.
pub fn a_kernel_that_overlaps_must_wait_before_it_touches_memory(_: &()) -> Outcome {
    let text = "#include \"prelude.cuh\"\nstruct Words { unsigned long long word[1]; };\n\
        template <int WHEN> __global__ void twice(const __grid_constant__ Words words) {\n\
            unsigned *x = (unsigned *)words.word[0] + threadIdx.x;\n\
            if (WHEN == 0 || (WHEN == 1 && threadIdx.x < 2)) gpu::grid_dependency_wait();\n\
            *x *= 2;\n\
            if (WHEN == 2) gpu::grid_dependency_wait();\n}\n";
    for when in 0..4u64 {
        let device = Emulated::new().open()?;
        let program = Program::new("twice.cu", text).name_expression(format!("twice<{when}>"));
        let kernel = device.generated_kernel(&SPACE, &[SPACE.word(), when], || Ok(program.overlapping()))?;
        let x = DeviceVec::from_slice(&device.stream(), &ramp(3))?;
        let config = LaunchConfig { grid: 1.into(), block: 3.into(), shared_bytes: 0 };
        // SAFETY: one word; three threads touch x[..3].
        let launched = unsafe { kernel.launch(config, &[x.as_raw()], &[x.home()], x.home()) };
        match launched.and_then(|()| x.to_vec()) {
            Ok(values) => {
                ensure!(when == 0 || checks_are_on().is_err(), "no report");
                ensure_eq!(values, vec![0, 2, 4]);
            }
            Err(error) => {
                let text = error.to_string();
                ensure!(
                    when > 0 && text.contains("before it waited for its stream") && text.contains("twice.cu:6"),
                    "{text}"
                );
            }
        }
    }
    Ok(())
}

/// Objects of one device given to another are errors before anything reaches the driver.
pub fn objects_of_two_devices_do_not_mix(_: &()) -> Outcome {
    let (one, other) = (Emulated::new().open()?, Emulated::new().open()?);
    ensure!(one != other);
    mix(&one, &other)
}

/// The copy is ordered with both homes, in either direction and in any order of the streams.
pub fn memory_is_copied_between_two_devices(_: &()) -> Outcome {
    for seed in 0..30 {
        let (one, other) = (Emulated::new().seed(seed).open()?, Emulated::new().seed(seed + 1).open()?);
        let (near, far) = (Stream::new(&one)?, Stream::new(&other)?);
        let (mut x, mut y) = (DeviceVec::from_slice(&far, &ramp(100))?, DeviceVec::<u32>::zeros(&near, 100)?);
        y.as_mut_slice().copy_from_peer(x.as_slice())?;
        x.set_zero()?;
        x.slice_mut(..50)?.copy_from_peer(y.slice(50..)?)?;
        y.set_zero()?;
        drop(y);
        ensure_eq!(x.to_vec()?, [&ramp(100)[50..], &[0; 50]].concat());
        let captured = near.capture(|| {
            let mut z = DeviceVec::<u32>::zeros(&near, 100)?;
            z.as_mut_slice().copy_from_peer(x.as_slice())
        });
        ensure!(matches!(captured, Err(DriverError::InCapture { .. })), "{captured:?}");
    }
    Ok(())
}

fn mix(one: &Device, other: &Device) -> Outcome {
    let (here, there) = (one.stream(), other.stream());
    let registry = registry();
    let kernel = registry.kernel::<Add>(one, &())?;
    let (mut x, mut y) = (DeviceVec::from_slice(&here, &[1, 2, 3])?, DeviceVec::from_slice(&here, &[4, 5, 6])?);
    let mut far = DeviceVec::from_slice(&there, &[7, 8, 9])?;
    let (event, far_event) = (here.record()?, there.record()?);
    let (graph, ()) = here.capture(|| Ok::<_, DriverError>(()))?;
    let function = module(one)?.function("add")?;
    let config = LaunchConfig { grid: 1.into(), block: 3.into(), shared_bytes: 0 };
    // SAFETY: refused before a launch.
    let launches = unsafe {
        [
            kernel.launch(1, (x.input(), y.in_out()), &there),
            kernel.launch(1, (far.input(), y.in_out()), &here),
            kernel.launch(1, (x.input(), far.in_out()), &here),
            kernel.launch(1, (x.input(), far.in_out()), &there),
            function.launch_raw(config, &mut [], &there),
            graph.launch(&there),
        ]
    };
    let others = [
        here.wait(&far_event),
        here.follow(&there),
        event.record(&there),
        event.elapsed_ms_since(&far_event).map(drop),
        x.copy_from(far.as_slice()),
        far.slice_mut(1..)?.copy_from(x.slice(1..)?),
    ];
    for (at, outcome) in launches.into_iter().chain(others).enumerate() {
        let Err(DriverError::WrongDevice { expected, got, .. }) = outcome else {
            return Err(format!("case {at}: {outcome:?}").into());
        };
        let ordinals = [one.ordinal(), other.ordinal()];
        ensure!(ordinals.contains(&expected) && ordinals.contains(&got), "case {at}: {expected}, {got}");
        ensure!(one.ordinal() == other.ordinal() || expected != got, "case {at}: {expected}, {got}");
    }
    // SAFETY: three threads read x[..3] and write y[..3].
    unsafe { kernel.launch(1, (x.input(), y.in_out()), &here)? };
    ensure_eq!((y.to_vec()?, far.to_vec()?), (vec![5, 7, 9], vec![7, 8, 9]));
    Ok(())
}

pub fn a_fault_stays_on_its_device(_: &()) -> Outcome {
    let (one, other) = (Emulated::new().open()?, Emulated::new().open()?);
    let (x, y) = (DeviceVec::from_slice(&one.stream(), &[1u32])?, DeviceVec::from_slice(&other.stream(), &[2u32])?);
    launch(&module(&one)?.function("fault")?, 1, 1, 0, values![x.as_raw()], &one.stream())?;
    ensure!(matches!(one.synchronize(), Err(DriverError::DeviceLost { code: CudaCode(700), .. })));
    ensure!(matches!(x.to_vec(), Err(DriverError::DeviceLost { .. })));
    ensure_eq!(y.to_vec()?, [2]);
    drop((x, one));
    ensure_eq!(y.try_clone()?.to_vec()?, [2]);
    Ok(())
}

const CHILD: &str = "GPU_DRIVER_DRIVER_CHILD";

/// In a child: does its part with the environment that the parent chose, and prints what came of it. None in the parent.
pub fn run_as_child() -> Option<ExitCode> {
    let part = match env::var(CHILD).ok()?.as_str() {
        "describe" => describe(),
        "two devices" => two_devices(),
        "start again" => start_again(),
        "fail" => fail(),
        other => Err(format!("no part `{other}`").into()),
    };
    match part {
        Ok(text) => println!("{text}"),
        Err(error) => println!("error: {error}"),
    }
    Some(ExitCode::SUCCESS)
}

type Part = std::result::Result<String, Box<dyn std::error::Error>>;

fn answer(part: &str, variables: &[(&str, &str)]) -> Part {
    let mut command = Command::new(env::current_exe()?);
    command.env(CHILD, part).env("GPU_DEVICE", "emulated").envs(variables.iter().copied());
    let output = command.output()?;
    ensure!(output.status.success(), "{part}: {} {}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn describe() -> Part {
    let device = match (Device::first(), Emulated::new().open()) {
        (Ok(device), Ok(_)) => device,
        (first, own) => return Ok(format!("{:?} {:?}", first.err().map(|e| e.to_string()), own.err())),
    };
    let x = DeviceVec::<u32>::zeros(&device.stream(), 1)?;
    launch(&module(&device)?.function("arch")?, 1, 1, 0, values![x.as_raw()], &device.stream())?;
    Ok(format!("{device}, {} {} {}", device.arch(), Device::driver_version()?, x.to_vec()?[0]))
}

pub fn the_environment_says_what_the_device_is(_: &()) -> Outcome {
    let says = |variables: &[(&str, &str)], words: &[&str]| -> Outcome {
        let text = answer("describe", variables)?;
        words.iter().try_for_each(|word| {
            ensure!(text.contains(word), "{variables:?}: no `{word}` in: {text}");
            Ok(())
        })
    };
    says(&[], &["emulated device 0 (sm_90)", "13.0 900"])?;
    says(&[("GPU_EMULATED_ARCH", "8.0")], &["emulated device 0 (sm_80)", "13.0 800"])?;
    says(&[("GPU_EMULATED_ARCH", "12.1"), ("GPU_EMULATED_DRIVER", "12.8")], &["(sm_121)", "12.8 1210"])?;
    says(&[("GPU_EMULATED_DRIVER", "11.8")], &["supports CUDA 11.8", "needs 12.0", "DriverTooOld"])?;
    says(&[("GPU_EMULATED_DEVICES", "0")], &["found no device", "Some(NoDevice: "])?;
    says(&[("GPU_EMULATED_DEVICES", "many")], &["GPU_EMULATED_DEVICES=many is not known"])?;
    says(&[("GPU_EMULATED_FAIL", "flight:1")], &["GPU_EMULATED_FAIL=flight:1 is not known"])
}

fn two_devices() -> Part {
    let (one, other) = (Device::new(0)?, Device::new(1)?);
    ensure_eq!((Device::count()?, one.ordinal(), other.ordinal()), (2, 0, 1));
    ensure!(matches!(Device::new(2), Err(DriverError::NoSuchDevice { ordinal: 2, count: 2 })));
    ensure!(matches!(Emulated::new().ordinal(2).open(), Err(DriverError::NoSuchDevice { ordinal: 2, count: 2 })));
    mix(&one, &other)?;
    // A second device of the same number is another one all the same.
    mix(&other, &Emulated::new().ordinal(1).open()?)?;
    // Each has its own memory.
    let before = other.memory()?.0;
    let x = DeviceVec::<u8>::zeros(&one.stream(), 1 << 20)?;
    ensure!(other.memory()?.0 == before && one.memory()?.0 < before);
    drop(x);
    Ok("right".to_owned())
}

pub fn two_devices_are_two(_: &()) -> Outcome {
    let text = answer("two devices", &[("GPU_EMULATED_DEVICES", "2")])?;
    ensure_eq!(text, "right");
    Ok(())
}

/// Whether device 0's primary context is there.
fn is_active() -> Result<bool, String> {
    let (mut flags, mut active) = (0, 0);
    // SAFETY: the pointers are valid for the call.
    let code = unsafe { cust::sys::cuDevicePrimaryCtxGetState(0, &mut flags, &mut active) };
    if code as i32 == 0 { Ok(active != 0) } else { Err(format!("{code:?}")) }
}

/// The last handle releases the context, whatever it is, and the next start works; so it does after a fault.
fn start_again() -> Part {
    for round in 0..20 {
        let device = Device::first()?;
        ensure!(is_active()?);
        let kernel = registry().kernel::<Add>(&device, &())?;
        let x = DeviceVec::from_slice(&Stream::new(&device)?, &[1u32, 2, 3])?;
        let event = x.home().record()?;
        if round % 4 == 3 {
            launch(&module(&device)?.function("fault")?, 1, 1, 0, values![x.as_raw()], &device.stream())?;
            ensure!(matches!(device.synchronize(), Err(DriverError::DeviceLost { .. })));
            // The old one is still held, and lost.
            let fresh = Device::first()?;
            ensure!(fresh != device);
            ensure_eq!(DeviceVec::from_slice(&fresh.stream(), &[5u32])?.to_vec()?, [5]);
            ensure!(x.to_vec().is_err());
            drop((device, kernel, x, event));
            ensure_eq!(DeviceVec::from_slice(&fresh.stream(), &[6u32])?.to_vec()?, [6]);
            drop(fresh);
        } else {
            let mut handles: Vec<Box<dyn Send>> =
                vec![Box::new(device), Box::new(kernel), Box::new(x), Box::new(event)];
            Rng(round).shuffle(&mut handles);
            while let Some(handle) = handles.pop() {
                ensure!(is_active()?, "round {round}: released with {} handles left", handles.len() + 1);
                drop(handle);
            }
        }
        ensure!(!is_active()?, "round {round}: still there");
    }
    Ok("right".to_owned())
}

pub fn the_last_handle_ends_the_device_and_a_new_one_starts(_: &()) -> Outcome {
    ensure_eq!(answer("start again", &[])?, "right");
    Ok(())
}

fn fail() -> Part {
    let device = Device::first()?;
    let zeros = || DeviceVec::<u32>::zeros(&device.stream(), 3);
    let outcomes = [zeros(), zeros(), zeros()].map(|outcome| outcome.err().map_or("fine", |_| "fails"));
    Ok(outcomes.join(" "))
}

pub fn the_environment_makes_calls_fail(_: &()) -> Outcome {
    // A single failure is made good: the pool is trimmed, and asked again.
    for (failures, want) in
        [("allocation:2+", "fine fails fails"), ("allocation:2", "fine fine fine"), ("", "fine fine fine")]
    {
        ensure_eq!(answer("fail", &[("GPU_EMULATED_FAIL", failures)])?, want);
    }
    Ok(())
}

/// That a call of the driver through `cust` went well.
fn well(code: cust::sys::CUresult) -> Outcome {
    ensure!(code as i32 == 0, "{code:?}");
    Ok(())
}

/// A copy from pinned memory reads it when it runs, one from pageable memory before the call returns.
pub fn pinned_sources_are_read_late_and_pageable_ones_at_once(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let _current = device.make_current()?;
    let stream = Stream::new(&device)?;
    let x = DeviceVec::<u32>::zeros(&stream, 3)?;
    let mut pinned = PinnedVec::from_slice(&device, &[1u32, 2, 3])?;
    let mut pageable = [1u32, 2, 3];
    for (host, want) in [(&mut pinned[..], [7, 8, 9]), (&mut pageable[..], [1, 2, 3])] {
        // SAFETY: both have twelve bytes, and live until the wait.
        well(unsafe { cust::sys::cuMemcpyHtoDAsync_v2(x.as_raw(), host.as_ptr().cast(), 12, stream.as_raw()) })?;
        host.copy_from_slice(&[7, 8, 9]);
        stream.synchronize()?;
        ensure_eq!(x.to_vec()?, want);
    }
    // To pinned memory a copy writes when it runs, to pageable memory before the call returns.
    pinned.fill(0);
    pageable.fill(0);
    for (host, early) in [(&mut pinned[..], [0; 3]), (&mut pageable[..], [1, 2, 3])] {
        // SAFETY: as above.
        well(unsafe { cust::sys::cuMemcpyDtoHAsync_v2(host.as_mut_ptr().cast(), x.as_raw(), 12, stream.as_raw()) })?;
        ensure_eq!(*host, early);
        stream.synchronize()?;
        ensure_eq!(*host, [1, 2, 3]);
    }
    Ok(())
}

/// Work on the legacy stream and then on another, or the reverse: whether the second sees what the first wrote. Streams of
/// `cust`'s are blocking, ours are not.
fn legacy_order(device: &Device, blocking: bool, legacy_first: bool) -> Result<bool, Box<dyn std::error::Error>> {
    let _current = device.make_current()?;
    let (ours, custs) = (Stream::new(device)?, cust::stream::Stream::new(cust::stream::StreamFlags::DEFAULT, None)?);
    let (x, y) = (DeviceVec::<u32>::zeros(&device.stream(), 1)?, DeviceVec::<u32>::zeros(&device.stream(), 1)?);
    device.synchronize()?;
    let stream = if blocking { custs.as_inner() } else { ours.as_raw() };
    let legacy = std::ptr::null_mut();
    let (first, second) = if legacy_first { (legacy, stream) } else { (stream, legacy) };
    // SAFETY: both buffers have four bytes, and live until the wait.
    unsafe {
        well(cust::sys::cuMemsetD32Async(x.as_raw(), 5, 1, first))?;
        well(cust::sys::cuMemcpyDtoDAsync_v2(y.as_raw(), x.as_raw(), 4, second))?;
    }
    device.synchronize()?;
    Ok(y.to_vec()? == [5])
}

pub fn the_legacy_stream_is_ordered_with_blocking_streams_alone(_: &()) -> Outcome {
    for legacy_first in [false, true] {
        let mut seen = 0;
        for seed in 0..20 {
            let device = order("random").seed(seed).open()?;
            ensure!(legacy_order(&device, true, legacy_first)?, "seed {seed}");
            seen += u32::from(legacy_order(&device, false, legacy_first)?);
        }
        ensure!((1..20).contains(&seen), "in order for {seen} of 20 seeds");
    }
    Ok(())
}

/// Two streams set one number, and nothing orders them.
fn race(seed: u64) -> Result<Vec<u32>, Box<dyn std::error::Error>> {
    let device = order("random").seed(seed).open()?;
    let _current = device.make_current()?;
    let (one, other) = (Stream::new(&device)?, Stream::new(&device)?);
    let x = DeviceVec::<u32>::zeros(&device.stream(), 8)?;
    device.synchronize()?;
    for at in 0..8 {
        for (stream, value) in [(&one, 1), (&other, 2)] {
            // SAFETY: within the buffer, which lives until the wait.
            well(unsafe { cust::sys::cuMemsetD32Async(x.as_raw() + 4 * at, value, 1, stream.as_raw()) })?;
        }
    }
    device.synchronize()?;
    Ok(x.to_vec()?)
}

pub fn the_seed_decides_the_order_of_two_streams(_: &()) -> Outcome {
    let all: Vec<Vec<u32>> = (0..20).map(race).collect::<Result<_, _>>()?;
    let again: Vec<Vec<u32>> = (0..20).map(race).collect::<Result<_, _>>()?;
    ensure_eq!(all, again);
    ensure!(all.iter().any(|x| x != &all[0]), "20 seeds gave one order");
    ensure!([1, 2].iter().all(|value| all.iter().flatten().any(|x| x == value)));
    Ok(())
}

/// Who asks again and again sees the work end, though nothing waits for it.
pub fn polling_ends(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let (stream, other) = (Stream::new(&device)?, Stream::new(&device)?);
    let (x, mut y) = (DeviceVec::from_slice(&stream, &[1, 2, 3])?, DeviceVec::<u32>::zeros(&stream, 3)?);
    let kernel = registry().kernel::<Add>(&device, &())?;
    for _ in 0..10 {
        // SAFETY: three threads read x[..3] and write y[..3].
        unsafe { kernel.launch(1, (x.input(), y.in_out()), &other)? };
    }
    let event: Event = other.record()?;
    // Ten launches, each with two events and two waits, and the release of what came before.
    let polled = (0..1000).position(|_| event.is_done().unwrap_or(false)).ok_or("the event is not done")?;
    ensure!(polled > 0, "done before anything ran");
    (0..1000).position(|_| stream.is_idle().unwrap_or(false)).ok_or("the stream is not idle")?;
    ensure!(other.is_idle()?);
    let pending = y.download(PinnedVec::zeros(&device, 3)?)?;
    (0..1000).position(|_| pending.is_done().unwrap_or(false)).ok_or("the copy is not done")?;
    ensure_eq!(pending.wait()?[..], [10, 20, 30]);
    Ok(())
}

pub fn cust_reads_attributes_and_occupancy(_: &()) -> Outcome {
    use cust::{device::DeviceAttribute, function::BlockSize, function::FunctionAttribute, module::Module};
    let device = Emulated::new().open()?;
    let _current = device.make_current()?;
    let card = cust::device::Device::get_device(0)?;
    ensure_eq!(card.name()?, device.name());
    ensure_eq!(card.total_memory()?, device.memory()?.1);
    let attribute = |attribute| card.get_attribute(attribute);
    ensure_eq!(attribute(DeviceAttribute::WarpSize)?, 32);
    ensure_eq!(attribute(DeviceAttribute::MaxThreadsPerBlock)?, 1024);
    ensure_eq!(attribute(DeviceAttribute::MultiprocessorCount)? as u32, device.multiprocessors()?);
    let text = r#"extern "C" __global__ __launch_bounds__(256) void bounded(int *x) { *x = 1; }"#;
    let binary = Program::new("bounded.cu", text).compile(device.arch())?;
    let module = Module::from_cubin(binary.image(), &[])?;
    let function = module.get_function("bounded")?;
    ensure_eq!(function.get_attribute(FunctionAttribute::MaxThreadsPerBlock)?, 256);
    ensure!(function.get_attribute(FunctionAttribute::NumRegisters)? > 0);
    ensure_eq!(function.max_active_blocks_per_multiprocessor(BlockSize::x(256), 0)?, 8);
    ensure_eq!(function.max_active_blocks_per_multiprocessor(BlockSize::x(32), 0)?, 32);
    ensure_eq!(function.max_active_blocks_per_multiprocessor(BlockSize::x(128), 100 << 10)?, 2);
    let (grid, block) = function.suggested_launch_configuration(0, BlockSize::x(0))?;
    ensure_eq!((grid, block), (8 * device.multiprocessors()?, 256));
    ensure!(function.available_dynamic_shared_memory_per_block(2.into(), BlockSize::x(128))? >= 100 << 10);
    Ok(())
}

/// Far out in a large grid: only the blocks in question run, and memory is taken only where it is written.
pub fn indices_beyond_32_bits_are_tested_in_chosen_blocks(_: &()) -> Outcome {
    const BYTES: usize = 5 << 30;
    const FAR: usize = (1 << 32) + 5;
    const BLOCK: u32 = 256;
    let grid = (BYTES / BLOCK as usize) as u32;
    let run = |kernel: &str, near: usize| -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        let device = Emulated::new().open()?;
        let emulation = device.emulation().ok_or("emulated")?;
        let block = near as u64 / u64::from(BLOCK);
        emulation.run_only_blocks(std::slice::from_ref(&(block..block + 1)))?;
        // SAFETY: fresh memory of this size is zero on the emulated device.
        let x = unsafe { DeviceVec::<u8>::uninitialized(&device.stream(), BYTES)? };
        launch(
            &module(&device)?.function(kernel)?,
            grid,
            BLOCK,
            0,
            values![x.as_raw(), BYTES as u64],
            &device.stream(),
        )?;
        let mut got = x.slice(near..near + 3)?.to_vec()?;
        // A block that was not chosen has not run.
        got.extend(x.slice(100_000..100_001)?.to_vec()?);
        Ok(got)
    };
    let want = |near: usize| [near, near + 1, near + 2].map(|i| (i % 251 + 1) as u8);
    for near in [7, 1 << 31, FAR, BYTES - 3] {
        let got = run("wide", near)?;
        ensure_eq!((&got[..3], got[3]), (&want(near)[..], 0));
    }
    ensure_eq!(run("narrow", 1 << 31)?[..3], want(1 << 31));
    ensure_eq!(run("narrow", FAR)?, [0; 4]);
    if env::var("GPU_EMULATED_CHECKS").as_deref() != Ok("off") {
        let error = run("narrow_and_signed", (1 << 31) + 5).err().ok_or("a negative index")?.to_string();
        ensure!(error.contains("narrow_and_signed") && error.contains("ILLEGAL_ADDRESS"), "{error}");
    }
    Ok(())
}

fn ensure_other(one: u64, other: u64) -> gpu_driver::Result<()> {
    if one == other { Err(DriverError::NestedScratch) } else { Ok(()) }
}

/// Every kind of handle of one device, to be dropped in any order and on any thread.
fn handles(device: Device) -> Result<Vec<Box<dyn Send>>, Box<dyn std::error::Error>> {
    let stream = Stream::new(&device)?;
    let (x, mut y) = (DeviceVec::from_slice(&device.stream(), &ramp(3))?, DeviceVec::<u32>::zeros(&stream, 3)?);
    let kernel = registry().kernel::<Add>(&device, &())?;
    // SAFETY: three threads read x[..3] and write y[..3].
    unsafe { kernel.launch(1, (x.input(), y.in_out()), &stream)? };
    let of_graph = DeviceVec::<u32>::zeros(&stream, 3)?;
    let mut sum = DeviceVec::<u32>::zeros(&stream, 3)?;
    let of_stream = stream.with_scratch(8, Ok::<_, DriverError>)?;
    let (graph, ()) = stream.capture(|| {
        ensure_other(of_stream, stream.with_scratch(8, Ok::<_, DriverError>)?)?;
        // SAFETY: as above.
        unsafe { kernel.launch(1, (of_graph.input(), sum.in_out()), &stream) }
    })?;
    let module = module(&device)?;
    let function = module.function("add")?;
    let pinned = PinnedVec::<u32>::zeros(&device, 3)?;
    let pending = y.download(PinnedVec::zeros(&device, 3)?)?;
    let event = stream.record()?;
    let emulation = device.emulation().ok_or("emulated")?;
    Ok(vec![
        Box::new(device),
        Box::new(stream),
        Box::new(x),
        Box::new(y),
        Box::new(kernel),
        Box::new(of_graph),
        Box::new(sum),
        Box::new(graph),
        Box::new(module),
        Box::new(function),
        Box::new(pinned),
        Box::new(pending),
        Box::new(event),
        Box::new(emulation),
    ])
}

pub fn handles_drop_in_two_thousand_orders(_: &()) -> Outcome {
    for seed in 0..2000 {
        let mut rng = Rng(seed);
        let device = order("random").seed(seed).open()?;
        let watch = (seed % 2 == 0).then(|| device.emulation()).flatten();
        let mut all = handles(device)?;
        rng.shuffle(&mut all);
        for handle in all {
            if rng.below(8) == 0 {
                thread::spawn(move || drop(handle)).join().map_err(|_| format!("seed {seed}: a drop panicked"))?;
            } else {
                drop(handle);
            }
        }
        if let Some(watch) = watch {
            let left = watch.live_allocations().map_err(|error| format!("seed {seed}: {error}"))?;
            ensure!(left == 0 && watch.calls(Call::Release)? == 8, "seed {seed}: {left} allocations are left");
        }
    }
    Ok(())
}

/// What a device that was lost held is free for the next one.
pub fn the_memory_of_a_lost_device_comes_back(_: &()) -> Outcome {
    const MOST: usize = 70 << 30;
    for _ in 0..2 {
        let device = Emulated::new().open()?;
        let free = device.memory()?.0;
        ensure!(free > MOST, "{free} bytes are free");
        // SAFETY: never read.
        let x = unsafe { DeviceVec::<u8>::uninitialized(&device.stream(), MOST)? };
        launch(&module(&device)?.function("fault")?, 1, 1, 0, values![x.as_raw()], &device.stream())?;
        ensure!(device.synchronize().is_err());
    }
    Ok(())
}

/// `cuMemFree` waits for the work of the context that allocated, whichever is current.
pub fn memory_is_released_under_another_context(_: &()) -> Outcome {
    let (one, other) = (Emulated::new().open()?, Emulated::new().open()?);
    let mut address = 0;
    {
        let _current = one.make_current()?;
        // SAFETY: the pointer is valid for the call; the fill stays within the memory.
        unsafe {
            well(cust::sys::cuMemAlloc_v2(&mut address, 1 << 20))?;
            well(cust::sys::cuMemsetD8Async(address, 1, 1 << 20, one.stream().as_raw()))?;
        }
    }
    let _current = other.make_current()?;
    // SAFETY: allocated above, and freed once.
    well(unsafe { cust::sys::cuMemFree_v2(address) })?;
    one.synchronize()?;
    ensure_eq!(one.emulation().ok_or("emulated")?.live_allocations()?, 0);
    Ok(())
}

/// A stream that goes within a capture ends the capture, and what it held from before still runs.
pub fn a_stream_dropped_within_a_capture_keeps_its_work(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let (stream, side) = (Stream::new(&device)?, Stream::new(&device)?);
    let x = DeviceVec::<u32>::zeros(&stream, 1)?;
    stream.synchronize()?;
    {
        let _current = device.make_current()?;
        // SAFETY: within the buffer, which lives until the wait.
        well(unsafe { cust::sys::cuMemsetD32Async(x.as_raw(), 5, 1, side.as_raw()) })?;
    }
    let done = side.record()?;
    let outcome = stream.capture(|| {
        side.wait(&stream.record()?)?;
        drop(side);
        Ok::<_, DriverError>(())
    });
    ensure!(outcome.is_err(), "{outcome:?}");
    stream.wait(&done)?;
    ensure_eq!(x.to_vec()?, [5]);
    Ok(())
}

/// Memory that the driver allocates within a capture, as CUDA does: the graph's, at one address, there from its launch on.
pub fn memory_of_a_driver_s_capture_is_the_graph_s(_: &()) -> Outcome {
    const RELAXED: cust::sys::CUstreamCaptureMode = cust::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    for released in [true, false] {
        let device = Emulated::new().open()?;
        let emulation = device.emulation().ok_or("emulated")?;
        let stream = Stream::new(&device)?;
        let (x, mine) = (DeviceVec::from_slice(&stream, &[0u32; 3])?, DeviceVec::from_slice(&stream, &[1u32])?);
        let before = emulation.live_allocations()?;
        let _current = device.make_current()?;
        let (raw, mut address) = (stream.as_raw(), 0);
        let (mut graph, mut executable) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the pointers are valid for each call, the handles alive.
        unsafe {
            well(cust::sys::cuStreamBeginCapture_v2(raw, RELAXED))?;
            well(cust::sys::cuMemAllocAsync(&mut address, 12, raw))?;
            well(cust::sys::cuMemsetD32Async(address, 7, 3, raw))?;
            well(cust::sys::cuMemcpyDtoDAsync_v2(x.as_raw(), address, 12, raw))?;
            // Only its own memory.
            ensure!(
                cust::sys::cuMemFreeAsync(mine.as_raw(), raw) == cust::sys::cudaError_enum::CUDA_ERROR_INVALID_VALUE
            );
            if released {
                well(cust::sys::cuMemFreeAsync(address, raw))?;
            }
            well(cust::sys::cuStreamEndCapture(raw, &mut graph))?;
            well(cust::sys::cuGraphInstantiate_v2(
                &mut executable,
                graph,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                0,
            ))?;
            well(cust::sys::cuGraphDestroy(graph))?;
            well(cust::sys::cuGraphLaunch(executable, raw))?;
        }
        ensure_eq!(x.to_vec()?, [7; 3]);
        ensure_eq!(emulation.live_allocations()?, before + 1);
        // Once more, where the first launch has released what it allocated.
        // SAFETY: as above.
        well(unsafe { cust::sys::cuGraphLaunch(executable, raw) })?;
        let again = device.synchronize();
        if !released {
            let error = again.err().ok_or("memory was allocated twice at one address")?.to_string();
            ensure!(error.contains("was not released"), "{error}");
            continue;
        }
        again?;
        // SAFETY: as above.
        well(unsafe { cust::sys::cuGraphExecDestroy(executable) })?;
        ensure_eq!(emulation.live_allocations()?, before);
        // SAFETY: refused, since there is no such memory any more.
        let gone = unsafe { cust::sys::cuMemsetD32Async(address, 7, 3, raw) };
        ensure!(gone == cust::sys::cudaError_enum::CUDA_ERROR_INVALID_VALUE, "{gone:?}");
    }
    Ok(())
}

/// CUDA promises no wait when pinned memory is freed: work that is queued and uses it is a fault.
pub fn pinned_memory_that_goes_too_early_is_a_fault(_: &()) -> Outcome {
    for upload in [true, false] {
        let device = Emulated::new().open()?;
        let stream = device.stream();
        let x = DeviceVec::from_slice(&stream, &[1u32, 2, 3])?;
        let _current = device.make_current()?;
        let mut host = std::ptr::null_mut();
        // SAFETY: the pointers are valid for each call; the copy is of 12 bytes on both sides, and is reported as the mistake that it is.
        unsafe {
            well(cust::sys::cuMemHostAlloc(&mut host, 12, 0))?;
            match upload {
                true => well(cust::sys::cuMemcpyHtoDAsync_v2(x.as_raw(), host, 12, stream.as_raw()))?,
                false => well(cust::sys::cuMemcpyDtoHAsync_v2(host, x.as_raw(), 12, stream.as_raw()))?,
            }
            well(cust::sys::cuMemFreeHost(host))?;
        }
        let error = device.synchronize().err().ok_or("the copy used memory that was gone")?.to_string();
        ensure!(error.contains("that was released"), "{error}");
    }
    Ok(())
}

/// Nor when a module is unloaded.
pub fn a_module_that_goes_too_early_is_a_fault(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let stream = device.stream();
    let x = DeviceVec::from_slice(&stream, &[1u32, 2, 3])?;
    let text = "extern \"C\" __device__ unsigned table[3];\n__device__ unsigned table[3];\n\
        extern \"C\" __global__ void twice(unsigned *x) { x[threadIdx.x] *= 2; }";
    for of_kernel in [true, false] {
        let device = Emulated::new().open()?;
        let (stream, x) = (device.stream(), DeviceVec::from_slice(&device.stream(), &[1u32, 2, 3])?);
        let binary = Program::new("gone.cu", text).compile(device.arch())?;
        let _current = device.make_current()?;
        let (mut module, mut function) = (std::ptr::null_mut(), std::ptr::null_mut());
        let (mut table, mut bytes, mut address) = (0, 0, x.as_raw());
        let arguments: &mut [*mut std::ffi::c_void] = &mut [(&raw mut address).cast()];
        // SAFETY: the image is a whole one, the pointers are valid for each call, the kernel takes one pointer to three numbers.
        unsafe {
            well(cust::sys::cuModuleLoadData(&mut module, binary.image().as_ptr().cast()))?;
            well(cust::sys::cuModuleGetFunction(&mut function, module, c"twice".as_ptr()))?;
            well(cust::sys::cuModuleGetGlobal_v2(&mut table, &mut bytes, module, c"table".as_ptr()))?;
            if of_kernel {
                let launched = cust::sys::cuLaunchKernel(
                    function,
                    1,
                    1,
                    1,
                    3,
                    1,
                    1,
                    0,
                    stream.as_raw(),
                    arguments.as_mut_ptr(),
                    std::ptr::null_mut(),
                );
                well(launched)?;
            } else {
                well(cust::sys::cuMemcpyDtoDAsync_v2(table, x.as_raw(), 12, stream.as_raw()))?;
            }
            well(cust::sys::cuModuleUnload(module))?;
        }
        let error = device.synchronize().err().ok_or("it ran without its module")?.to_string();
        let want = if of_kernel {
            "kernel `twice` was to run after its module"
        } else {
            "a variable of a module that was unloaded"
        };
        ensure!(error.contains(want), "{error}");
    }
    ensure_eq!(x.to_vec()?, [1, 2, 3]);
    Ok(())
}
