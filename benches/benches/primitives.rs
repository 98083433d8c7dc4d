//! Primitives on a device: `cargo bench -p benches --bench primitives`.

use std::process::ExitCode;

use benches::{harness::Harness, programs};

fn main() -> ExitCode {
    Harness::run(programs::primitives)
}
