//! `cargo xtask ci`.

use std::{thread, time::Instant};

use crate::{Outcome, bench, cargo, cust, evidence, format, kernels, outside, package, run, suite::emulated, symbols};

/// A step, by name.
type Step = (&'static str, fn() -> Outcome);

/// Everything that must hold besides the tests, cheapest first, and how long each took.
///
/// Commands name packages and features alike, so that cargo builds each crate once for all of them: of one package alone it would build the dependencies
/// anew, with fewer features.
pub(crate) fn all() -> Outcome {
    const FIRST: [Step; 4] = [
        ("format", || format::all(true)),
        ("symbols", || symbols::run(true)),
        ("figures", || bench::update_figures(true)),
        ("packages", package::run),
    ];
    const OF_CARGO: [Step; 4] = [
        ("clippy", clippy),
        ("docs", docs),
        ("kernels", || kernels::run(&kernels::Arguments::default())),
        ("cust", cust::run),
    ];
    // These build in a folder of their own, or run programs that the tests have built: crates that wait for each other leave a processor idle.
    const BESIDE: [Step; 3] = [
        ("outside", || outside::run(&outside::Arguments::default())),
        ("emulated", emulated::run),
        ("benches", benches),
    ];
    let mut seconds = in_order(&FIRST)?;
    let (of_cargo, beside) = thread::scope(|scope| {
        let beside = scope.spawn(|| in_order(&BESIDE));
        (in_order(&OF_CARGO), beside.join().unwrap_or_else(|_| Err("a step has panicked".to_owned())))
    });
    seconds.extend(of_cargo?.into_iter().chain(beside?));
    evidence::report();
    println!("seconds of each step: {}", seconds.join(", "));
    Ok(())
}

/// The seconds of each step; the error of the first that fails.
fn in_order(steps: &[Step]) -> Result<Vec<String>, String> {
    let mut seconds = Vec::new();
    for (name, step) in steps {
        let start = Instant::now();
        step().map_err(|error| format!("{name}: {error}"))?;
        seconds.push(format!("{name} {:.0}", start.elapsed().as_secs_f64()));
    }
    Ok(seconds)
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
