//! The examples of the crate, run as tests.

use gpu_driver::Device;
use testkit::{Outcome, Test, tests};

#[path = "../../examples/tour.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod tour;

#[path = "../../examples/on_device.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod on_device;

pub const TESTS: &[Test<Device>] = tests![the_example_tour, the_example_on_device];

pub fn the_example_tour(device: &Device) -> Outcome {
    tour::run(device)
}

pub fn the_example_on_device(device: &Device) -> Outcome {
    on_device::run(device)
}
