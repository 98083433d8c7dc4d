//! Expressions over arrays, and copies between layouts: `cargo bench -p benches --bench arrays`.

use std::process::ExitCode;

use benches::{arrays, harness::Harness};

fn main() -> ExitCode {
    Harness::run(arrays::figures)
}
