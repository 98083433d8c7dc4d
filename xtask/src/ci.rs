//! `cargo xtask ci` and `cargo xtask emulated`.

use crate::{Outcome, bench, cargo, evidence, format, kernels, outside, package, run, symbols};

/// Everything that must hold besides the tests, cheapest first. Commands name packages and features alike, so that cargo builds each crate once for
/// all of them: of one package alone it would build the dependencies anew, with fewer features.
pub(crate) fn all() -> Outcome {
    format::all(true)?;
    symbols::run(true)?;
    bench::update_figures(true)?;
    package::run()?;
    run(&mut cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--features",
        "benches/peers",
        "--",
        "-D",
        "warnings",
    ]))?;
    run(cargo(&["doc", "--workspace", "--no-deps", "--features", "benches/peers"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    kernels::run(&kernels::Arguments::default())?;
    emulated()?;
    outside::run(&outside::Arguments::default())?;
    benches()?;
    evidence::report();
    Ok(())
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

/// The device tests on the emulated device once more: with blocks that take turns, without access checks, and the device's own tests with checks of
/// undefined behaviour too. `cargo test` has run them with access checks, block after block.
pub(crate) fn emulated() -> Outcome {
    let run_with = |checks: &str, arguments: &[&str]| {
        let mut command = cargo(arguments);
        command.env("GPU_DEVICE", "emulated").env("GPU_EMULATED_CHECKS", checks).env("GPU_TESTS", "require");
        let blocks = if arguments.contains(&"gpu") { "interleaved" } else { "sequential" };
        run(command.env("GPU_EMULATED_BLOCKS", blocks))
    };
    run_with("off", &["test", "--workspace", "--test", "gpu", "--", "device::"])?;
    run_with("off", &["test", "--workspace", "--test", "emulated"])?;
    run_with("undefined", &["test", "--workspace", "--test", "emulated"])
}
