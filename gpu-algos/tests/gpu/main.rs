//! Tests of gpu-algos on a device; reported as ignored where there is none.
#![allow(missing_docs, unreachable_pub)]

use std::process::ExitCode;

use gpu_algos::gpu_array::gpu_driver::Device;
use testkit::Suite;

mod reductions;

fn main() -> ExitCode {
    let device = Device::for_tests();
    Suite::new().group("device", device.clone(), "GPU_TESTS", reductions::TESTS).run()
}
