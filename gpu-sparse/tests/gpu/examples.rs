//! The examples of the crate, run as tests.

use gpu_driver::Device;
use testkit::{Outcome, Test, tests};

#[path = "../../examples/tour.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod tour;

pub const TESTS: &[Test<Device>] = tests![the_example_tour];

pub fn the_example_tour(device: &Device) -> Outcome {
    tour::run(device)
}
