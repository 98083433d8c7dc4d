//! Random numbers: `cargo bench -p benches --bench random`.

use std::process::ExitCode;

use benches::{harness::Harness, random};

fn main() -> ExitCode {
    Harness::run(random::figures)
}
