//! Expressions over arrays, and copies between layouts: `cargo bench -p benches --bench arrays`.

use std::process::ExitCode;

use benches::{harness::Harness, programs};

fn main() -> ExitCode {
    Harness::run(programs::arrays)
}
