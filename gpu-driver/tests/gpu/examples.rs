//! The examples of the crate, run as tests.

use gpu_driver::Device;
use testkit::{Outcome, Test, tests};

#[path = "../../examples/doublify.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod doublify;

pub const TESTS: &[Test<Device>] = tests![the_example_doublify];

pub fn the_example_doublify(device: &Device) -> Outcome {
    doublify::run(device)
}
