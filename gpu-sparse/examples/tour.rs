//! All crates in a few lines: `cargo run --release -p gpu-sparse --example tour`, without a GPU with `GPU_DEVICE=emulated`.
use std::error::Error;

use gpu_algos::{elementwise_kernel, prelude::*};
use gpu_array::{GpuArray, gpu_driver::Device};
use gpu_random::Philox;
use gpu_sparse::{DeviceMatrix, gallery::Poisson, linalg};
use ndarray::Axis;

elementwise_kernel! {
    /// `y += a x`.
    fn axpy(a: f64, x: &[f32], y: &mut [f32]) { unsafe { "y[i] += a * x[i]" } }
}

/// The tour on a device.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    let x = Philox::new(1234).gen_normal::<f32, _>(device, (1000, 30))?; // the numbers of cuRAND
    let mut y = (&x * 2.0 + x.abs().sqrt()).eval()?; // one kernel
    axpy(0.5, &x, &mut y)?; // a kernel of your own
    let means = y.mean().axis(Axis(0)).eval()?; // 30 values, which stay on the device
    let sums = (&y - &means).cumsum().axis(Axis(0)).eval()?; // one kernel
    println!("{device}: sum {}, greatest {}", y.sum().get()?, sums.max().get()?);

    let a = DeviceMatrix::new(&Poisson::two_d(50, 50).build::<f64>()?, device)?; // or io::read_matrix_market("a.mtx.gz")?
    let b = GpuArray::full(device, a.rows(), 1.0)?;
    let solution = linalg::cg(&a, &b).rtol(1e-8).preconditioner(linalg::Jacobi).solve()?;
    println!("{solution}");
    if solution.is_converged() { Ok(()) } else { Err("not converged".into()) }
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&Device::first()?)
}
