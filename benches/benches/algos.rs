//! Sums over vectors, and products of dense matrices: `cargo bench -p benches --bench algos`.

use std::process::ExitCode;

use benches::{harness::Harness, programs};

fn main() -> ExitCode {
    Harness::run(programs::algos)
}
