//! `cargo xtask ci` and `cargo xtask emulated`.

use crate::{Outcome, bench, cargo, cust, evidence, format, kernels, outside, package, run, symbols};

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
    cust::run()?;
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

/// The device tests on the emulated device once more: with blocks that take turns, from the kernels that `cargo test` compiled, which ran them block after
/// block. Sums and the device's own tests also run without access checks, for which each kernel is compiled anew, and the latter with checks of
/// undefined behaviour too.
pub(crate) fn emulated() -> Outcome {
    let run_with = |checks: &str, blocks: &str, arguments: &[&str]| {
        let mut command = cargo(&[&["test", "--workspace", "--test"], arguments].concat());
        command.env("GPU_DEVICE", "emulated").env("GPU_EMULATED_CHECKS", checks).env("GPU_TESTS", "require");
        run(command.env("GPU_EMULATED_BLOCKS", blocks))
    };
    run_with("access", "interleaved", &["gpu", "--", "device::"])?;
    run_with("off", "interleaved", &["gpu", "--", "device::sums"])?;
    run_with("off", "sequential", &["emulated"])?;
    run_with("undefined", "sequential", &["emulated"])
}
