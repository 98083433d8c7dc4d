//! The examples of the crate, run as tests.

use gpu_driver::Device;
use testkit::{Outcome, Test, tests};

#[path = "../../examples/doublify.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod doublify;

#[path = "../../examples/dump_properties.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod dump_properties;

#[path = "../../examples/dynamic_parallelism.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
pub mod dynamic_parallelism;

#[path = "../../examples/pi.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod pi;

#[path = "../../examples/rotate.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
pub mod rotate;

#[path = "../../examples/strides.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod strides;

#[path = "../../examples/tune.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod tune;

#[path = "../../examples/volume.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
pub mod volume;

pub const TESTS: &[Test<Device>] = tests![
    the_example_doublify,
    the_example_dump_properties,
    the_example_pi,
    the_example_rotate,
    the_example_strides,
    the_example_tune,
    the_example_volume,
];

pub fn the_example_rotate(device: &Device) -> Outcome {
    rotate::run(device)
}

pub fn the_example_tune(device: &Device) -> Outcome {
    tune::run(device)
}

pub fn the_example_volume(device: &Device) -> Outcome {
    volume::run(device)
}

pub fn the_example_pi(device: &Device) -> Outcome {
    pi::run(device)
}

pub fn the_example_strides(device: &Device) -> Outcome {
    strides::run(device)
}

pub fn the_example_dump_properties(device: &Device) -> Outcome {
    dump_properties::run(device)
}

pub fn the_example_doublify(device: &Device) -> Outcome {
    doublify::run(device)
}
