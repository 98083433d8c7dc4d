//! A solve on a device, with vectors of the host and of the device: the program of the crate's page.
//!
//! `cargo run --release -p gpu-sparse --example on_device`; where there is no GPU with `GPU_DEVICE=emulated`, which takes seconds.

use gpu_array::GpuArray;
use gpu_driver::Device;
use gpu_sparse::{DeviceMatrix, PacketPlan, gallery::Poisson, linalg};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Solves on the device, and prints how it went.
pub fn run(device: &Device) -> Outcome {
    let a = Poisson::three_d(16, 16, 16).build::<f64>()?;
    println!("{}", PacketPlan::new(&a)?.description());

    let a = DeviceMatrix::new(&a, device)?;
    let solution = linalg::cg(&a, &vec![1.0; a.rows()]).rtol(1e-8).solve()?;
    println!("{solution}, x[0] = {}", solution.x[0]);
    assert!(solution.is_converged(), "{solution}");

    let b = GpuArray::full(device, a.rows(), 1.0)?;
    let x = linalg::cg(&a, &b).rtol(1e-8).solve()?.x;
    let b_again = a.matvec(&x)?.to_ndarray()?;
    println!("{b_again:?}");
    assert!(b_again.iter().all(|b| (b - 1.0_f64).abs() < 1e-6));
    Ok(())
}

fn main() -> Outcome {
    run(&Device::first()?)
}
