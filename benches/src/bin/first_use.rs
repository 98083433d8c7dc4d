//! The cost of the first call of each kind in a new process: `cargo run --release -p benches --bin first_use [--device emulated]`.
//!
//! The program starts itself for each call, with a new cache folder and then with the kernels that are there. NVRTC keeps results of its own between
//! processes; they are left out (`--no-cache`), or only the first start ever would compile. A start opens the device and makes the
//! arrays before the clock runs; the time is that until the result is there, with NVRTC opened, the kernel compiled and loaded.
#![forbid(unsafe_code)]

use std::{
    env,
    process::{Command, ExitCode},
    time::Instant,
};

use benches::{
    data,
    harness::{self, Outcome},
};
use clap::Parser;
use gpu_algos::prelude::*;
use gpu_array::GpuArray;
use gpu_driver::{CudaVersion, Stream, nvrtc};
use gpu_random::{Philox, Xorwow};
use ndarray::{Axis, Ix2, aview1};

/// Time the first call of a new process.
#[derive(Debug, Parser)]
#[command(name = "first_use", version)]
struct Options {
    /// `emulated`: a rehearsal, whose times are those of the machine's C++ compiler.
    #[arg(long, value_parser = ["cuda", "emulated"], default_value = "cuda")]
    device: String,
    /// Starts of each; the least time is printed, and the first.
    #[arg(long, default_value_t = 3)]
    starts: usize,
    /// Do this in this process, with the cache as it is.
    #[arg(long, hide = true)]
    once: Option<String>,
}

/// The first version of NVRTC that keeps results.
const CACHES: CudaVersion = CudaVersion { major: 12, minor: 9 };

/// Options of NVRTC for each kernel.
const OPTIONS: &str = "GPU_NVRTC_OPTIONS";

type Matrix = GpuArray<f32, Ix2>;

/// Computes something of a matrix, and waits for it.
type Call = fn(&Matrix) -> Outcome;

/// Each call by its name.
const CALLS: [(&str, Call); 9] = [
    ("expression", |x| waited((x * 2.0 + x.abs().sqrt()).eval()?.stream())),
    ("sum", |x| waited(x.sum().eval()?.stream())),
    ("argmax", |x| waited(x.argmax().eval()?.stream())),
    ("argmax of rows", |x| waited(x.argmax().axis(Axis(1)).eval()?.stream())),
    ("mean of columns", |x| waited(x.mean().axis(Axis(0)).eval()?.stream())),
    ("cumsum", |x| waited(x.cumsum().eval()?.stream())),
    ("select", |x| waited(x.select(x.gt(0.5)).eval()?.into_array()?.stream())),
    ("philox normal", |x| waited(Philox::new(1).gen_normal::<f32, _>(x.stream(), 1000)?.stream())),
    ("xorwow normal", |x| waited(Xorwow::new(1).gen_normal::<f32, _>(x.stream(), 1000)?.stream())),
];

fn waited(stream: &Stream) -> Outcome {
    Ok(stream.synchronize()?)
}

fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = match &options.once {
        None => in_children(&options),
        Some(name) => measure(&options.device, name),
    };
    harness::exit_code(outcome)
}

/// Starts this program for each call, with empty caches, then with the kernels that the first of these starts left.
fn in_children(options: &Options) -> Outcome {
    println!("{:<18} {:>14} {:>14} {:>14}", "first call", "at first, ms", "compiled, ms", "cached, ms");
    for (name, _) in CALLS {
        let cache = tempfile::tempdir()?;
        let mut compiled = Vec::new();
        for number in 0..options.starts.max(1) {
            compiled.push(child(options, name, &cache.path().join(number.to_string()))?);
        }
        let cached = child(options, name, &cache.path().join("0"))?;
        let least = compiled.iter().copied().fold(f64::INFINITY, f64::min);
        println!("{name:<18} {:>14.1} {least:>14.1} {cached:>14.2}", compiled[0]);
    }
    Ok(())
}

/// The milliseconds that a start with this folder of kernels tells.
fn child(options: &Options, name: &str, cache: &std::path::Path) -> Outcome<f64> {
    let mut command = Command::new(env::current_exe()?);
    command.args(["--once", name, "--device", &options.device]).env("GPU_CACHE_DIR", cache);
    if nvrtc::version().is_ok_and(|(version, _)| version >= CACHES) {
        let asked = harness::text_of_variable(OPTIONS, env::var_os(OPTIONS).unwrap_or_default())?;
        command.env(OPTIONS, format!("{asked} --no-cache"));
    }
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    said.trim().parse().map_err(|_| format!("{name}: {said}{}", String::from_utf8_lossy(&output.stderr)).into())
}

fn measure(device: &str, name: &str) -> Outcome {
    let device = harness::device(device)?;
    let host = data::uniform_from(0, 1 << 16);
    let x = GpuArray::from_ndarray(&device, &aview1(&host))?.into_shape((256, 256))?;
    device.synchronize()?;
    let (_, call) = CALLS.iter().find(|(known, _)| *known == name).ok_or("an unknown call")?;
    let started = Instant::now();
    call(&x)?;
    println!("{}", started.elapsed().as_secs_f64() * 1e3);
    Ok(())
}
