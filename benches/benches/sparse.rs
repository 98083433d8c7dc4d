//! Sparse products and conjugate gradients: `cargo bench -p benches --bench sparse`.

use std::process::ExitCode;

use benches::{harness::Harness, programs};

fn main() -> ExitCode {
    Harness::run(programs::sparse)
}
