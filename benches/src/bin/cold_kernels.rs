//! The seconds that 40 calls of a first script take on the emulated device with an empty cache: `cargo run --release -p benches --bin cold_kernels`.
//!
//! Eight calls of each of five element types have kernels of their own, which the machine's C++ compiler makes. The program starts itself with a new
//! cache folder, for the calls one after another and by as many threads as there are processors. The device is open before the clock runs.
#![forbid(unsafe_code)]

use std::{
    env,
    process::{Command, ExitCode},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Instant,
};

use benches::harness::{self, Outcome};
use clap::Parser;
use gpu_algos::prelude::*;
use gpu_array::{GpuArray, Number};
use gpu_driver::{Device, emulated::Call};
use ndarray::{Axis, Ix2};

/// Time 40 cold kernels of the emulated device.
#[derive(Debug, Parser)]
#[command(name = "cold_kernels", version)]
struct Options {
    /// Runs of each, with a new cache; all are printed.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Do this in this process, by so many threads, with the cache as it is.
    #[arg(long, hide = true)]
    once: Option<usize>,
}

/// Computes something on the device.
type Step = fn(&Device) -> Outcome;

/// Steps with arrays of a type, each with a kernel of its own.
macro_rules! steps {
    ($($type:ty),*) => {
        [$(
            |device| step::<$type, _>(device, |x| (x * x + x).eval().map(drop)),
            |device| step::<$type, _>(device, |x| (x.t() * x).eval().map(drop)),
            |device| step::<$type, _>(device, |x| x.sum().eval().map(drop)),
            |device| step::<$type, _>(device, |x| x.sum().axis(Axis(0)).eval().map(drop)),
            |device| step::<$type, _>(device, |x| x.max().axis(Axis(1)).eval().map(drop)),
            |device| step::<$type, _>(device, |x| x.argmax().eval().map(drop)),
            |device| step::<$type, _>(device, |x| x.cumsum().eval().map(drop)),
            |device| step::<$type, _>(device, |x| x.select(x.gt(x)).eval()?.into_array().map(drop)),
        )*]
    };
}

const STEPS: [Step; 40] = steps![f32, f64, i32, i64, u32];

fn step<T: Number<Storage = T>, E: std::error::Error + 'static>(
    device: &Device,
    work: impl FnOnce(&GpuArray<T, Ix2>) -> Result<(), E>,
) -> Outcome {
    let x = GpuArray::zeros(device, (16, 16))?;
    work(&x)?;
    Ok(device.synchronize()?)
}

fn main() -> ExitCode {
    let options = Options::parse();
    harness::exit_code(match options.once {
        None => in_children(options.runs),
        Some(threads) => measure(threads),
    })
}

/// Starts this program with a new cache for each run.
fn in_children(runs: usize) -> Outcome {
    let processors = thread::available_parallelism()?.get();
    println!("{} calls, {processors} processors; seconds of each run", STEPS.len());
    for threads in [1, processors] {
        for _ in 0..runs.max(1) {
            let cache = tempfile::tempdir()?;
            let mut command = Command::new(env::current_exe()?);
            command.args(["--once", &threads.to_string()]).env("GPU_CACHE_DIR", cache.path());
            let output = command.env("GPU_DEVICE", "emulated").output()?;
            let (said, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            if !output.status.success() {
                return Err(format!("{}: {said}{told}", output.status).into());
            }
            println!("{threads} threads: {}", said.trim());
        }
    }
    Ok(())
}

fn measure(threads: usize) -> Outcome {
    let device = Device::first()?;
    let emulation = device.emulation().ok_or("GPU_DEVICE is not emulated")?;
    let (next, before, started) = (AtomicUsize::new(0), emulation.calls(Call::ModuleLoad)?, Instant::now());
    // Threads take the steps in turn.
    let work = || -> Result<(), String> {
        while let Some(step) = STEPS.get(next.fetch_add(1, Ordering::Relaxed)) {
            step(&device).map_err(|error| error.to_string())?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|_| Err("a thread panicked".into())))
    })?;
    let seconds = started.elapsed().as_secs_f64();
    println!("{seconds:.2} s, {} kernels", emulation.calls(Call::ModuleLoad)? - before);
    Ok(())
}
