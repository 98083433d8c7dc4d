//! The machine's own ceilings, and arrays: `cargo bench -p benches --bench memory`.

use std::process::ExitCode;

use benches::{harness::Harness, memory};

fn main() -> ExitCode {
    Harness::run(memory::figures)
}
