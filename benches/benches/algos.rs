//! Sums over vectors, and products of dense matrices: `cargo bench -p benches --bench algos`.

use std::process::ExitCode;

use benches::{algos, harness::Harness};

fn main() -> ExitCode {
    Harness::run(algos::figures)
}
