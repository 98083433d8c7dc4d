//! The examples of the crate, run as tests.

use gpu_driver::Device;
use testkit::{Outcome, Test, tests};

#[path = "../../examples/arrays.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod arrays;

pub const TESTS: &[Test<Device>] = tests![the_example_arrays];

pub fn the_example_arrays(device: &Device) -> Outcome {
    arrays::run(device)
}
