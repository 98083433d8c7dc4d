//! NumPy's first page on a GPU: `cargo run -p gpu-array --example arrays`, without a GPU with `GPU_DEVICE=emulated`.
use std::error::Error;

use gpu_array::{GpuArray, gpu_driver::Device};
use ndarray::{array, s};

/// Makes arrays on a device, and checks the results.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    let a = GpuArray::arange(device, 0, 15, 1)?.into_shape((3, 5))?;
    println!("{a}");
    let row = GpuArray::from_ndarray(device, &array![10, 20, 30, 40, 50])?;
    let b = (&a * 2 + &row).eval()?; // broadcast, one kernel
    assert_eq!(b.slice(s![1, ..])?.to_ndarray()?, array![20, 32, 44, 56, 68]);

    // Parts are views: nothing is copied, and writes to them are writes to the array.
    let mut c = GpuArray::zeros(device, (4, 4))?;
    c.slice_mut(s![1..3, ..;2])?.fill(1.0f32)?;
    c += 0.5;
    assert_eq!(c.slice(s![1, ..])?.to_ndarray()?, array![1.5, 0.5, 1.5, 0.5]);
    println!("{}", c.t());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&Device::first()?)
}
