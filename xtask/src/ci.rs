//! `cargo xtask ci`.

use std::time::Instant;

use crate::{Outcome, bench, cargo, cust, evidence, format, kernels, outside, package, run, suite::emulated, symbols};

/// A step, by name.
type Step = (&'static str, fn() -> Outcome);

/// Everything that must hold besides the tests, cheapest first, and how long each took.
///
/// Commands name packages and features alike, so that cargo builds each crate once for all of them: of one package alone it would build the dependencies
/// anew, with fewer features.
pub(crate) fn all() -> Outcome {
    const STEPS: [Step; 11] = [
        ("format", || format::all(true)),
        ("symbols", || symbols::run(true)),
        ("figures", || bench::update_figures(true)),
        ("packages", package::run),
        ("clippy", clippy),
        ("docs", docs),
        ("kernels", || kernels::run(&kernels::Arguments::default())),
        ("emulated", emulated::run),
        ("cust", cust::run),
        ("outside", || outside::run(&outside::Arguments::default())),
        ("benches", benches),
    ];
    let mut seconds = Vec::new();
    for (name, step) in STEPS {
        let start = Instant::now();
        step()?;
        seconds.push(format!("{name} {:.0}", start.elapsed().as_secs_f64()));
    }
    evidence::report();
    println!("seconds of each step: {}", seconds.join(", "));
    Ok(())
}

fn clippy() -> Outcome {
    let targets = ["clippy", "--workspace", "--all-targets", "--features", "benches/peers"];
    run(cargo(&targets).args(["--", "-D", "warnings"]))
}

fn docs() -> Outcome {
    run(cargo(&["doc", "--workspace", "--no-deps", "--features", "benches/peers"]).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Every benchmark once, on small cases: on the CPU, and on the emulated device.
fn benches() -> Outcome {
    for backend in ["cpu", "emulated"] {
        let mut command = cargo(&["test", "--workspace", "--bench", "*"]);
        command.env("BENCH_SET", "tiny").env("BENCH_BACKEND", backend);
        if backend == "emulated" {
            command.env("GPU_DEVICE", "emulated");
        }
        run(&mut command)?;
    }
    Ok(())
}
