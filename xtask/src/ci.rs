//! `cargo xtask ci`.

use crate::{Outcome, bench, cargo, cust, evidence, format, kernels, outside, package, run, suite::emulated, symbols};

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
    emulated::run()?;
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
