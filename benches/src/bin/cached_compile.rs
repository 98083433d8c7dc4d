//! The time of a compilation that the cache answers: `cargo run --release -p benches --bin cached_compile [--device emulated]`.
//!
//! The program starts itself with a cache folder of its own: once to fill it with many texts, then to compile them again in new processes, twice each. A
//! start opens the device before the clock runs. The first text of a process also opens NVRTC, whose version is part of the key, and looks at the folder; it
//! is told apart. `read` is `Program::compile` alone, `loaded` is `Device::compile` and the kernel by its name, ready to launch.
#![forbid(unsafe_code)]

use std::{
    env,
    process::{Command, ExitCode},
    time::Instant,
};

use benches::harness::{self, Outcome};
use clap::Parser;
use gpu_driver::{Origin, Program};

/// Time compilations that the cache answers.
#[derive(Debug, Parser)]
#[command(name = "cached_compile", version)]
struct Options {
    /// `emulated`: a rehearsal, whose code is a library of this machine.
    #[arg(long, value_parser = ["cuda", "emulated"], default_value = "cuda")]
    device: String,
    /// Number of texts.
    #[arg(long, default_value_t = 100)]
    texts: usize,
    /// Number of new processes.
    #[arg(long, default_value_t = 3)]
    starts: usize,
    /// `fill` or `measure`: do this in this process, with the cache as it is.
    #[arg(long, hide = true)]
    once: Option<String>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = match options.once.as_deref() {
        None => in_children(&options),
        Some(part) => in_this_process(&options, part == "fill"),
    };
    harness::exit_code(outcome)
}

fn in_children(options: &Options) -> Outcome {
    let cache = tempfile::tempdir()?;
    let start = |part: &str| -> Outcome<String> {
        let mut command = Command::new(env::current_exe()?);
        command.args(["--once", part, "--device", &options.device, "--texts", &options.texts.to_string()]);
        let output = command.env("GPU_CACHE_DIR", cache.path()).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    start("fill")?;
    println!("{} texts; microseconds of a text: least, median, 90 %, most", options.texts);
    for number in 1..=options.starts {
        print!("process {number}\n{}", start("measure")?);
    }
    Ok(())
}

fn in_this_process(options: &Options, fills: bool) -> Outcome {
    let device = harness::device(&options.device)?;
    let texts: Vec<Program> = (0..options.texts.max(2)).map(text).collect();
    if fills {
        return texts.iter().try_for_each(|text| Ok(device.compile(text).map(drop)?));
    }
    device.synchronize()?;
    let read = |text: &Program| -> Outcome {
        let origin = text.compile(device.arch())?.origin();
        if origin == Origin::Cache { Ok(()) } else { Err("a text was compiled: the cache did not have it".into()) }
    };
    let load = |text: &Program| -> Outcome { Ok(device.compile(text)?.function("scale").map(drop)?) };
    println!("  first text, with NVRTC opened {:>10.0}", micros(|| read(&texts[0]))?);
    println!("  first text loaded             {:>10.0}", micros(|| load(&texts[0]))?);
    for (name, pass) in [("read, for the first time ", 0), ("read, again              ", 1)] {
        tell(name, &texts[usize::from(pass == 0)..], read)?;
    }
    for (name, pass) in [("loaded, for the first time", 0), ("loaded, again            ", 1)] {
        tell(name, &texts[usize::from(pass == 0)..], load)?;
    }
    Ok(())
}

/// A kernel of a few lines, a different one for each number.
fn text(number: usize) -> Program {
    Program::from(format!(
        "extern \"C\" __global__ void scale(float *x, int n) {{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    \
         if (i < n) x[i] = x[i] * {number}.5f + sqrtf(x[i]);\n}}\n"
    ))
}

fn micros(work: impl FnOnce() -> Outcome) -> Outcome<f64> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed().as_secs_f64() * 1e6)
}

/// Times the work on each text, and prints the order statistics.
fn tell(name: &str, texts: &[Program], work: impl Fn(&Program) -> Outcome) -> Outcome {
    let mut times = texts.iter().map(|text| micros(|| work(text))).collect::<Outcome<Vec<f64>>>()?;
    times.sort_by(f64::total_cmp);
    let at = |part: usize| times[part * (times.len() - 1) / 10];
    println!("  {name:<30}{:>10.0}{:>10.0}{:>10.0}{:>10.0}", at(0), at(5), at(9), at(10));
    Ok(())
}
