//! Random numbers: `cargo bench -p benches --bench random`.

use std::process::ExitCode;

use benches::{harness::Harness, programs};

fn main() -> ExitCode {
    Harness::run(programs::random)
}
