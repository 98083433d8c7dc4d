//! Primitives on a device: `cargo bench -p benches --bench primitives`.

use std::process::ExitCode;

use benches::{harness::Harness, primitives};

fn main() -> ExitCode {
    Harness::run(primitives::figures)
}
