//! Reductions, scans, selections and a kernel of one's own: `cargo run -p gpu-algos --example primitives`, without a GPU with
//! `GPU_DEVICE=emulated`.
use std::error::Error;

use gpu_algos::{
    gpu_array::{GpuArray, gpu_driver::Device},
    prelude::*,
    reduction_kernel,
};
use ndarray::{Axis, array};

reduction_kernel! {
    /// The greatest distance of two arrays.
    fn farthest(x: &[f32], y: &[f32]) -> f32 {
        unsafe { identity: "0.0f"; reduce: "a > b ? a : b"; commutative: true; map: "fabsf(x[i] - y[i])" }
    }
}

/// Computes on a device, and checks the results.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    let x = GpuArray::from_ndarray(device, &array![[3.0f32, 1.0, 2.0], [6.0, 5.0, 4.0]])?;
    assert_eq!(x.sum().get()?, 21.0);
    assert_eq!(x.argmax().axis(Axis(1)).eval()?.to_ndarray()?, array![0, 0]);
    assert_eq!((&x * &x).mean().axis(Axis(0)).eval()?.to_ndarray()?, array![22.5, 13.0, 10.0]); // one kernel
    assert_eq!(x.cumsum().axis(Axis(1)).eval()?.to_ndarray()?, array![[3.0, 4.0, 6.0], [6.0, 11.0, 15.0]]);
    assert_eq!(x.select(x.gt(2.5)).eval()?.to_ndarray()?, array![3.0, 6.0, 5.0, 4.0]); // as x[x > 2.5] of NumPy
    let y = GpuArray::full(device, (2, 3), 4.0)?;
    println!("farthest from 4: {}", farthest(&x, &y)?.to_vec()?[0]);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&Device::first()?)
}
