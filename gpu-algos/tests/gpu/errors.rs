//! One error for a function that uses several crates.

use gpu_algos::{
    AlgoError, Result,
    gpu_array::{
        GpuArray,
        gpu_driver::{Device, Stream},
    },
    prelude::*,
};
use ndarray::array;
use testkit::{Outcome, Test, ensure, tests};

pub const TESTS: &[Test<Device>] = tests![errors_of_arrays_algorithms_and_random_numbers_become_one];

/// Something of each crate, each by `?`.
fn of_all_crates(device: &Device, mean: f64) -> Result<f64> {
    let stream = Stream::new(device)?;
    let noise = gpu_random::Philox::new(1).gen_poisson(&stream, 4, mean)?;
    let x = GpuArray::from_ndarray(&stream, &array![1.0, 2.0, 3.0, 4.0])?;
    (&x + &noise).sum().get()
}

fn errors_of_arrays_algorithms_and_random_numbers_become_one(device: &Device) -> Outcome {
    ensure!(of_all_crates(device, 2.0)?.is_finite());
    let refused = of_all_crates(device, -1.0).unwrap_err();
    let AlgoError::Random(inner) = &refused else { return Err(format!("{refused:?}").into()) };
    ensure!(matches!(inner.downcast_ref(), Some(gpu_random::RandomError::Parameter { .. })), "{inner:?}");
    ensure!(refused.to_string() == inner.to_string() && refused.to_string().contains("-1"), "{refused}");
    // Errors of the crates below are those that they are without random numbers between.
    let lost = gpu_driver::DriverError::Disabled;
    let turned = AlgoError::from(gpu_random::RandomError::from(lost));
    ensure!(matches!(turned, AlgoError::Driver(gpu_driver::DriverError::Disabled)), "{turned:?}");
    Ok(())
}
