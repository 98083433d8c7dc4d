//! The cost of the first use of an expression: `cargo run --release -p benches --bin expression_compile [--device emulated]`.
//!
//! Expressions of the same kind that differ in the number of their terms, so that each has a kernel of its own, are evaluated on short arrays and
//! waited for; the medians over them are printed. The program starts itself twice over one new cache folder: in the first start kernels are
//! compiled (NVRTC itself has been loaded by an expression before the clock runs), in the second they are loaded from disk. Each
//! start evaluates everything once more: that kernel is there.
#![forbid(unsafe_code)]

use std::{
    env,
    process::{Command, ExitCode},
    time::Instant,
};

use benches::{
    data,
    harness::{Outcome, device, exit_code},
};
use clap::Parser;
use gpu_array::{GpuArray, expression::Expr};
use gpu_driver::Device;
use ndarray::{Ix1, aview1};

const LENGTH: usize = 1 << 14;

/// Time the first evaluation of expressions: compiled, loaded from disk, and the second one.
#[derive(Debug, Parser)]
#[command(name = "expression_compile", version)]
struct Options {
    /// `emulated`: a rehearsal, whose times are those of the machine's C++ compiler.
    #[arg(long, value_parser = ["cuda", "emulated"], default_value = "cuda")]
    device: String,
    /// Expressions of each kind.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..1000))]
    expressions: u32,
    /// Evaluate them in this process, with the cache as it is.
    #[arg(long, hide = true)]
    once: Option<String>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = match &options.once {
        None => in_children(&options),
        Some(title) => device(&options.device).and_then(|device| measure(&device, title, options.expressions)),
    };
    exit_code(outcome)
}

/// Runs this program with an empty cache, and again with the kernels that the first run left there.
fn in_children(options: &Options) -> Outcome {
    let cache = tempfile::tempdir()?;
    println!("{:<24} {:<8} {:>12} {:>12}", "first evaluation", "", "first, ms", "second, ms");
    for title in ["compiled", "loaded from disk"] {
        let mut child = Command::new(env::current_exe()?);
        child.args(["--once", title, "--device", &options.device, "--expressions", &options.expressions.to_string()]);
        let status = child.env("GPU_CACHE_DIR", cache.path()).status()?;
        if !status.success() {
            return Err(format!("{title}: {status}").into());
        }
    }
    Ok(())
}

type Vector = GpuArray<f32, Ix1>;
/// A function of two vectors and a number of terms.
type Evaluate = fn(&Vector, &Vector, u32) -> gpu_array::Result<Vector>;

fn measure(device: &Device, title: &str, expressions: u32) -> Outcome {
    let vector = |from| Vector::from_ndarray(device, &aview1(&data::uniform_from(from, LENGTH)));
    let (x, y) = (vector(0)?, vector(LENGTH)?);
    (&x - &y).eval()?.stream().synchronize()?;
    let kinds: [(&str, Evaluate); 2] = [("lincomb", lincomb), ("wave", wave)];
    for (name, evaluate) in kinds {
        let mut times = [Vec::new(), Vec::new()];
        for terms in 0..expressions {
            for times in &mut times {
                let started = Instant::now();
                evaluate(&x, &y, terms)?.stream().synchronize()?;
                times.push(started.elapsed().as_secs_f64() * 1e3);
            }
        }
        let [first, second] = times.map(median);
        println!("{title:<24} {name:<8} {first:>12.3} {second:>12.3}");
    }
    Ok(())
}

fn lincomb(x: &Vector, y: &Vector, terms: u32) -> gpu_array::Result<Vector> {
    with_terms(5.0 * x + 6.0 * y, terms).eval()
}

fn wave(x: &Vector, y: &Vector, terms: u32) -> gpu_array::Result<Vector> {
    with_terms(x.exp() * y.sin() + x.abs().sqrt(), terms).eval()
}

/// And so many more.
fn with_terms(value: Expr<'_, f32, Ix1>, terms: u32) -> Expr<'_, f32, Ix1> {
    (0..terms).fold(value, |sum, _| sum + 1.5)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
