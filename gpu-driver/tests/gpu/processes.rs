//! Whole processes: their memory after many handles, and the children of a fork. Each test starts this program once more.

use std::{
    cell::RefCell,
    env,
    error::Error,
    fs,
    path::Path,
    process::{Child, Command, ExitCode, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use gpu_driver::{
    AlignedVec, ArrayShape, CudaArray, Device, DevicePool, DeviceVec, DriverError, Event, GrowingVec, JitOptions,
    LaunchConfig, Linker, ManagedVec, MipmappedArray, Module, PinnedPool, PinnedPoolUse, PinnedVec, Program, Sampling,
    Stream, Surface, Texture, nvrtc,
};
use testkit::{Outcome, ensure, ensure_eq};

const CHILD: &str = "GPU_DRIVER_PROCESS";

const SOURCE: &str = "__device__ int one = 1; extern \"C\" __global__ void add(int *x) { x[threadIdx.x] += one; }";

/// Does the part of a test that has this process for itself.
pub fn run_as_child() -> Option<ExitCode> {
    let outcome = match env::var(CHILD).ok()?.as_str() {
        "growth" => growth(),
        "fork" => fork(),
        "cache" => kernels_of_a_shared_cache(),
        other => Err(format!("no part `{other}`").into()),
    };
    match outcome {
        Ok(()) => Some(ExitCode::SUCCESS),
        Err(error) => {
            eprintln!("{error}");
            Some(ExitCode::FAILURE)
        }
    }
}

fn in_a_process(part: &str, device: &Device) -> Outcome {
    let mut command = Command::new(env::current_exe()?);
    command.env(CHILD, part).env("GPU_DEVICE", if device.is_emulated() { "emulated" } else { "cuda" });
    let output = command.output()?;
    ensure!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(())
}

pub fn handles_come_and_go_without_growth(device: &Device) -> Outcome {
    in_a_process("growth", device)
}

/// Compiles and runs a few programs, and tells each result and where the program came from.
fn kernels_of_a_shared_cache() -> Outcome {
    let device = Device::for_tests()?;
    let stream = Stream::new(&device)?;
    for n in 0..SHARED_PROGRAMS {
        let text = format!("extern \"C\" __global__ void f(int *x) {{ *x = 40 + {n}; }}");
        let binary = Program::new("shared.cu", text).compile(device.arch())?;
        let (function, mut x) = (Module::load(&device, &binary)?.function("f")?, DeviceVec::<i32>::zeros(&stream, 1)?);
        // SAFETY: the kernel writes one number.
        unsafe { function.launch(LaunchConfig::for_elements(1), (x.in_out(),), &stream)? };
        println!("{} {:?}", x.to_vec()?[0], binary.origin());
    }
    Ok(())
}

const SHARED_PROGRAMS: usize = 6;

/// Names in a folder of the cache: those of entries, and of files that should not have stayed; not its folders for other things.
fn names_in(folder: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let names: Result<Vec<String>, std::io::Error> = names.collect();
    Ok(names?.into_iter().filter(|name| !["emulated", "headers", "loaded", "locks"].contains(&name.as_str())).collect())
}

/// All compile at once; each entry is then there once and whole, and the next process compiles nothing.
pub fn eight_processes_start_with_one_cache(device: &Device) -> Outcome {
    let cache = tempfile::tempdir()?;
    let start = || {
        let mut command = Command::new(env::current_exe()?);
        command.env(CHILD, "cache").env("GPU_CACHE_DIR", cache.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("GPU_DEVICE", if device.is_emulated() { "emulated" } else { "cuda" }).spawn()
    };
    let said = |child: Child| -> Result<Vec<(String, String)>, Box<dyn Error>> {
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(lines.lines().filter_map(|line| line.split_once(' ')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect())
    };
    let children = (0..8).map(|_| start()).collect::<Result<Vec<_>, _>>()?;
    for child in children {
        let values: Vec<String> = said(child)?.into_iter().map(|(value, _)| value).collect();
        ensure_eq!(values, (0..SHARED_PROGRAMS).map(|n| (40 + n).to_string()).collect::<Vec<_>>());
    }
    let folder = if device.is_emulated() { cache.path().join("emulated") } else { cache.path().to_owned() };
    let names = names_in(&folder)?;
    ensure!(names.len() == SHARED_PROGRAMS && names.iter().all(|name| !name.starts_with('.')), "{names:?}");
    let later = said(start()?)?;
    ensure!(later.len() == SHARED_PROGRAMS && later.iter().all(|(_, origin)| origin == "Cache"), "{later:?}");
    Ok(())
}

pub fn the_child_of_a_fork_gets_errors_and_releases_nothing(device: &Device) -> Outcome {
    in_a_process("fork", device)
}

/// Bytes of this process in memory.
fn resident_bytes() -> Result<usize, Box<dyn Error>> {
    let pages = fs::read_to_string("/proc/self/statm")?;
    Ok(4096 * pages.split(' ').nth(1).ok_or("statm")?.parse::<usize>()?)
}

/// Makes and drops a handle again and again, and compares the memory of the process.
///
/// On a GPU there are 100,000 cycles of each kind with GPU_TESTS_CYCLES=all, else at most those of a second; the emulated device has the number given, some
/// seconds for all. `allocations` is their number in a cycle:
/// the emulated device remembers each allocation, to name it in reports.
fn cycle(
    kind: &str,
    (emulated_cycles, allocations): (usize, usize),
    device: &Device,
    make: impl Fn() -> gpu_driver::Result<()>,
) -> Outcome {
    const REMEMBERED_BYTES: usize = 100;
    let cycles = if device.is_emulated() { emulated_cycles } else { 100_000 };
    // A driver of a GPU has caches of its own.
    let bound = if device.is_emulated() { (1 << 20) + cycles * allocations * REMEMBERED_BYTES } else { 32 << 20 };
    // The first ones fill caches.
    for _ in 0..(cycles / 10).min(2000) {
        make()?;
    }
    device.synchronize()?;
    let (before, since) = (resident_bytes()?, Instant::now());
    let is_limited = !testkit::says("GPU_TESTS_CYCLES", "all") && !device.is_emulated();
    let mut cycles_made = 0;
    while cycles_made < cycles && !(is_limited && since.elapsed() > Duration::from_secs(1)) {
        make()?;
        cycles_made += 1;
    }
    device.synchronize()?;
    let growth = resident_bytes()?.saturating_sub(before);
    if env::var_os("GPU_TESTS_SLOW").is_some() {
        eprintln!("{kind}: {cycles_made} cycles, {growth} bytes, {:?}", since.elapsed());
    }
    ensure!(growth < bound, "{cycles_made} cycles of {kind} take {growth} bytes more");
    Ok(())
}

fn growth() -> Outcome {
    let device = &Device::for_tests()?;
    let stream = &Stream::new(device)?;
    let emulation = device.emulation();
    let live = || emulation.as_ref().map_or(Ok(0), |emulation| emulation.live_allocations());
    let program = Program::from(SOURCE);
    let binary = program.compile(device.arch())?;
    let module = Module::load(device, &binary)?;
    let (function, pool) = (&module.function("add")?, &PinnedPool::new(device));
    let mut x = DeviceVec::<i32>::zeros(stream, 32)?;
    let plane = CudaArray::<f32>::zeros(stream, ArrayShape::plane(4, 4).for_surfaces())?;
    // Dropped pools are kept for the next ones: two are there at once below.
    drop((DevicePool::new(device)?, DevicePool::new(device)?));
    let before = live()?;

    cycle("streams", (100_000, 0), device, || Stream::new(device).map(drop))?;
    cycle("events", (100_000, 0), device, || Event::new(device).map(drop))?;
    cycle("marks", (50_000, 0), device, || stream.record()?.synchronize())?;
    cycle("vectors", (20_000, 1), device, || DeviceVec::<u32>::zeros(stream, 1000).map(drop))?;
    cycle("small pinned vectors", (20_000, 1), device, || PinnedVec::<u32>::zeros(device, 10).map(drop))?;
    cycle("pinned vectors", (5000, 1), device, || PinnedVec::<u32>::zeros(device, 5000).map(drop))?;
    cycle("pooled vectors", (100_000, 0), device, || pool.zeros::<u32>(100).map(drop))?;
    cycle("pools", (2000, 1), device, || PinnedPool::new(device).zeros::<u8>(1).map(drop))?;
    cycle("registered vectors", (20_000, 0), device, || PinnedVec::register(device, vec![0u8; 10_000]).map(drop))?;
    cycle("managed vectors", (2000, 1), device, || ManagedVec::<u32>::zeros(stream, 100).map(drop))?;
    cycle("arrays", (2000, 1), device, || CudaArray::<f32>::zeros(stream, ArrayShape::plane(4, 4)).map(drop))?;
    cycle("mipmaps", (1000, 2), device, || MipmappedArray::<f32>::zeros(stream, ArrayShape::plane(4, 4), 2).map(drop))?;
    cycle("textures", (50_000, 0), device, || Texture::of_array(&plane, Sampling::new()).map(drop))?;
    cycle("surfaces", (50_000, 0), device, || Surface::of_array(&plane).map(drop))?;
    cycle("pending copies", (5000, 0), device, || {
        let host = pool.zeros::<i32>(32)?;
        x.download(host)?.wait().map(drop)
    })?;
    cycle("functions", (50_000, 0), device, || module.function("add").map(drop))?;
    cycle("modules", (200, 0), device, || Module::load(device, &binary).map(drop))?;
    cycle("linkers", (20_000, 0), device, || Linker::new(device, &JitOptions::new()).map(drop))?;
    cycle("traces", (100_000, 0), device, || {
        drop(device.trace_allocations());
        Ok(())
    })?;
    let address = x.as_raw();
    cycle("graphs", (1000, 2), device, || {
        let launch = || {
            let (held, scratch) =
                (DeviceVec::<u32>::zeros(stream, 10)?, stream.with_scratch(64, Ok::<_, DriverError>)?);
            drop((held, scratch));
            // SAFETY: 32 threads change the 32 elements of a vector that outlives the graph.
            unsafe { function.launch(LaunchConfig::new(1, 32), (address,), stream) }
        };
        let (graph, ()) = stream.capture(launch)?;
        // SAFETY: as above.
        unsafe { graph.launch(stream)? };
        stream.synchronize()
    })?;
    cycle("errors", (20_000, 0), device, || {
        assert!(x.slice(..33).is_err() && module.function("none").is_err());
        Ok(())
    })?;
    more_handles(device, stream, &module)?;
    x.set_zero()?;
    pool.free_held();
    ensure_eq!(live()?, before);
    Ok(())
}

fn more_handles(device: &Device, stream: &Stream, module: &Module) -> Outcome {
    let (line, rows) = (Arc::new(DeviceVec::<f32>::zeros(stream, 64)?), DeviceVec::<f32>::pitched(stream, 4, 8)?);
    let (plane, place) = (Arc::new(rows.0), rows.1);
    let levels = MipmappedArray::<f32>::zeros(stream, ArrayShape::plane(4, 4), 2)?;
    let (own_pool, lowest) = (DevicePool::new(device)?, device.stream_priorities()?.1);
    let foreign = Stream::new(device)?;
    cycle("devices", (100_000, 0), device, || Device::new(device.ordinal()).map(drop))?;
    cycle("current contexts", (100_000, 0), device, || device.make_current().map(drop))?;
    cycle("streams with a priority", (100_000, 0), device, || Stream::with_priority(device, lowest).map(drop))?;
    cycle("streams of others", (100_000, 0), device, || {
        // SAFETY: the stream outlives each of them.
        unsafe { Stream::from_foreign(device, foreign.as_raw(), ()) }.map(drop)
    })?;
    cycle("events without time", (100_000, 0), device, || Event::untimed(device).map(drop))?;
    cycle("events that sleep", (100_000, 0), device, || Event::blocking(device).map(drop))?;
    if !device.is_emulated() {
        cycle("events of processes", (0, 0), device, || Event::interprocess(device).map(drop))?;
    }
    cycle("device pools", (100_000, 0), device, || DevicePool::new(device).map(drop))?;
    cycle("device pools with a vector", (5000, 1), device, || {
        DevicePool::new(device)?.zeros::<u8>(stream, 1).map(drop)
    })?;
    cycle("vectors of a device pool", (20_000, 1), device, || own_pool.zeros::<u32>(stream, 1000).map(drop))?;
    cycle("vectors of others", (50_000, 0), device, || {
        // SAFETY: the memory is only read, and outlives each of them.
        unsafe { DeviceVec::<f32>::from_foreign(stream, line.as_raw(), 64, None, line.clone()) }.map(drop)
    })?;
    // Each is 2 MiB, of which the emulated device remembers four bytes a page.
    cycle("shareable vectors", (1000, 22), device, || DeviceVec::<u32>::shareable(stream, 10).map(drop))?;
    cycle("growing vectors", (5000, 1), device, || GrowingVec::<u32>::with_capacity(stream, 1000)?.push(1))?;
    cycle("aligned vectors", (100_000, 0), device, || AlignedVec::<u8>::zeros(10_000, 4096).map(drop))?;
    cycle("registered aligned vectors", (20_000, 0), device, || {
        PinnedVec::register_aligned(device, AlignedVec::<u8>::zeros(8192, 4096)?)?.into_aligned().map(drop)
    })?;
    cycle("write-combined vectors", (2000, 1), device, || PinnedVec::<u32>::write_combined(device, 10).map(drop))?;
    cycle("textures of lines", (50_000, 0), device, || Texture::of_line(line.clone(), 1, Sampling::new()).map(drop))?;
    cycle("textures of planes", (50_000, 0), device, || {
        Texture::of_plane(plane.clone(), place, 1, Sampling::new()).map(drop)
    })?;
    cycle("textures of mipmaps", (50_000, 0), device, || Texture::of_mipmaps(&levels, Sampling::new()).map(drop))?;
    cycle("variables", (50_000, 0), device, || module.global::<i32>("one").map(drop))?;
    cycle("ranges of a profiler", (100_000, 0), device, || {
        drop(gpu_driver::profiler::range("growth"));
        Ok(())
    })?;
    let text = Program::from(SOURCE);
    cycle("programs of the cache", (200, 0), device, || device.compile(&text).map(drop))?;
    let failing = || -> gpu_driver::Result<()> {
        let failed: Result<(_, ()), _> = stream.capture(|| Err(DriverError::NoDevice));
        assert!(failed.is_err());
        Ok(())
    };
    cycle("captures that fail", (20_000, 0), device, failing)?;
    let mut copy = DeviceVec::<f32>::zeros(stream, 64)?;
    let (graph, ()) = stream.capture(|| copy.copy_from(line.as_slice()))?;
    let (graph, copy) = (RefCell::new(graph), RefCell::new(copy));
    cycle("updated graphs", (20_000, 0), device, || {
        graph.borrow_mut().update(stream, || copy.borrow_mut().copy_from(line.as_slice()))
    })?;
    drop((graph, copy));
    Ok(stream.synchronize()?)
}

/// Runs a part in a forked child, and gives its exit code.
fn forked(part: impl FnOnce() -> Outcome) -> Result<i32, Box<dyn Error>> {
    // SAFETY: the child runs on with this thread alone, and leaves by `_exit`.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error().into()),
        0 => {
            // One that hangs is ended by the alarm.
            // SAFETY: no arguments that could be wrong.
            unsafe { libc::alarm(20) };
            let code = match part() {
                Ok(()) => 7,
                Err(error) => {
                    let text = format!("in the child: {error}\n");
                    // SAFETY: the text has that many bytes.
                    unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
                    8
                }
            };
            // SAFETY: ends this process.
            unsafe { libc::_exit(code) }
        }
        child => {
            let mut status = 0;
            // SAFETY: the place is valid for the call.
            ensure_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            Ok(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -libc::WTERMSIG(status) })
        }
    }
}

fn is_forked<T>(what: &str, outcome: gpu_driver::Result<T>) -> Outcome {
    match outcome {
        Err(DriverError::Forked) => Ok(()),
        Err(error) => Err(format!("{what}: {error:?}").into()),
        Ok(_) => Err(format!("{what} works").into()),
    }
}

fn fork() -> Outcome {
    // A child from before the first call may use the driver.
    ensure_eq!(forked(|| Ok(Device::count().map(|_| ())?))?, 7);
    let device = Device::for_tests()?;
    let stream = Stream::new(&device)?;
    let emulation = device.emulation();
    let live_now = || emulation.as_ref().map_or(Ok(0), |emulation| emulation.live_allocations());
    let module = device.compile(SOURCE)?;
    let (function, pool) = (module.function("add")?, PinnedPool::new(&device));
    let mut x = DeviceVec::from_slice(&stream, &[1i32, 2, 3])?;
    let (graph, ()) = stream.capture(|| {
        // SAFETY: three threads change three elements of a vector that outlives the graph.
        unsafe { function.launch(LaunchConfig::new(1, 3), (x.in_out(),), &stream) }
    })?;
    let plane = CudaArray::<f32>::zeros(&stream, ArrayShape::plane(4, 4).for_surfaces())?;
    let texture = Texture::of_array(&plane, Sampling::new())?;
    let before = live_now()?;
    let mut all = Some((
        (graph, texture, Surface::of_array(&plane)?, plane, stream.record()?, ManagedVec::<u8>::zeros(&stream, 9)?),
        (PinnedVec::<u8>::zeros(&device, 9)?, PinnedVec::register(&device, vec![1u8; 9])?, pool.zeros::<u8>(9)?),
        (Linker::new(&device, &JitOptions::new())?, device.trace_allocations(), module, function),
    ));
    let live = live_now()?;
    let in_child =
        |all: &mut Option<_>, x: DeviceVec<i32>, device: Device, stream: Stream, pool: PinnedPool| -> Outcome {
            let error = Device::first().err().ok_or("a device in the child")?;
            ensure!(error.to_string().contains("Fork before the first call"), "{error}");
            is_forked("count", Device::count())?;
            is_forked("synchronize", device.synchronize())?;
            is_forked("Stream::new", Stream::new(&device))?;
            is_forked("DeviceVec::zeros", DeviceVec::<u8>::zeros(&stream, 3))?;
            is_forked("to_vec", x.to_vec())?;
            is_forked("PinnedVec", PinnedVec::<u8>::zeros(&device, 3))?;
            is_forked("PinnedPool", pool.zeros::<u8>(3))?;
            is_forked("capture", stream.capture(|| Ok::<_, DriverError>(())))?;
            is_forked("with_scratch", stream.with_scratch(8, Ok::<_, DriverError>))?;
            is_forked("record", stream.record())?;
            is_forked("compile", device.compile(SOURCE))?;
            drop(std::mem::take(all));
            drop((x, stream, pool, device));
            // The compiler is no part of the driver.
            if nvrtc::version().is_ok() {
                Program::from(SOURCE).compile(gpu_driver::Arch::new(9, 0))?;
            }
            Ok(())
        };
    let shared = (device.clone(), stream.clone(), pool.clone());
    // Copies of the handles, whose originals the parent goes on to use: the child has the memory of its own.
    let code = {
        // SAFETY: read in the child alone, where the parent's own value is never used again.
        let x = || unsafe { std::ptr::read(&x) };
        forked(|| in_child(&mut all, x(), shared.0.clone(), shared.1.clone(), shared.2.clone()))?
    };
    ensure_eq!(code, 7);
    ensure_eq!(live_now()?, live);
    ensure_eq!(x.to_vec()?, [1, 2, 3]);
    if let Some(((graph, ..), ..)) = &all {
        // SAFETY: the vector is alive, and nothing else uses it.
        unsafe { graph.launch(&stream)? };
    }
    ensure_eq!(x.to_vec()?, [2, 3, 4]);

    // Forks while other threads hold the locks of the library.
    let stop = AtomicBool::new(false);
    let outcome = thread::scope(|scope| -> Outcome {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let _ = DeviceVec::<u8>::zeros(&stream, 100).and_then(|x| x.to_vec());
                    let _ = pool.zeros::<u8>(100);
                    let _ = stream.with_scratch(8, Ok::<_, DriverError>);
                }
            });
        }
        let forks = || -> Outcome {
            for _ in 0..50 {
                let code = forked(|| {
                    is_forked("with_scratch", stream.with_scratch(8, Ok::<_, DriverError>))?;
                    is_forked("DeviceVec", DeviceVec::<u8>::zeros(&stream, 100))?;
                    is_forked("synchronize", device.synchronize())?;
                    pool.set_limit(0);
                    pool.stop_holding();
                    ensure_eq!(pool.usage(), PinnedPoolUse::default());
                    is_forked("Device::first", Device::first())
                });
                ensure_eq!(code?, 7);
            }
            Ok(())
        };
        let outcome = forks();
        stop.store(true, Ordering::Relaxed);
        outcome
    });
    outcome?;
    drop((all, pool, shared));
    // The vector is left; the array has gone.
    ensure!(emulation.is_none() || live_now()? + 1 == before, "{} of {before}", live_now()?);
    Ok(())
}
