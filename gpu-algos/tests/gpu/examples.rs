//! The examples of the crate, run as tests.

use gpu_driver::Device;
use testkit::{Outcome, Test, tests};

#[path = "../../examples/primitives.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod primitives;

pub const TESTS: &[Test<Device>] = tests![the_example_primitives];

pub fn the_example_primitives(device: &Device) -> Outcome {
    primitives::run(device)
}
