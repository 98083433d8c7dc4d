//! Reductions on a device: `cargo bench -p benches --bench reductions`.

use std::process::ExitCode;

use benches::{harness::Harness, reductions};

fn main() -> ExitCode {
    Harness::run(reductions::figures)
}
