//! The machine's own ceilings, and arrays: `cargo bench -p benches --bench memory`.

use std::process::ExitCode;

use benches::{harness::Harness, programs};

fn main() -> ExitCode {
    Harness::run(programs::memory)
}
