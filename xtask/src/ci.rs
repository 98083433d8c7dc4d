//! `cargo xtask ci` and `cargo xtask kernels`.

use crate::{Outcome, cargo, outside, run, symbols};

/// Everything that must hold besides the tests, cheapest first.
pub(crate) fn all() -> Outcome {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    symbols::run(true)?;
    run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    run(cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    kernels()?;
    outside::run()?;
    run(&mut cargo(&["run", "--release", "-p", "gpu-sparse", "--example", "solve"]))
}

/// Each crate with kernels has a test target `gpu` that compiles every instance of its registry.
pub(crate) fn kernels() -> Outcome {
    run(&mut cargo(&["test", "--workspace", "--test", "gpu", "--", "kernels::"]))
}
