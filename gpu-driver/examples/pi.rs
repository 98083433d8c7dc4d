//! Pi by the midpoint rule, with a sweep of launch shapes: `cargo run -p gpu-driver --example pi`, without a GPU with `GPU_DEVICE=emulated`.
//!
//! pi is the integral of 4 / (1 + x^2) over 0 to 1. Each thread sums the values at every so many points, and the host adds the threads' sums.
use std::{error::Error, f64::consts::PI};

use gpu_driver::{Device, DeviceVec, LaunchConfig};

const SOURCE: &str = r#"
extern "C" __global__ void quadrature(double *sums, unsigned n) {
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    double step = 1.0 / n, sum = 0;
    for (unsigned i = thread; i < n; i += gridDim.x * blockDim.x) {
        double x = (i + 0.5) * step;
        sum += 4 / (1 + x * x);
    }
    sums[thread] = sum * step;
}
"#;

/// Computes pi with each launch shape, checks it, and prints the time of the kernel.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    let quadrature = device.compile(SOURCE)?.function("quadrature")?;
    let stream = device.stream();
    // The midpoint rule's error is 1 / (12 n^2); that of sums of n doubles is some n * 1e-16 at most.
    let n: u32 = if device.is_emulated() { 10_000 } else { 10_000_000 };
    let bound = 1.0 / (12.0 * f64::from(n).powi(2)) + 1e-14 * f64::from(n).sqrt();
    for (blocks, threads) in [(1, 32), (1, 256), (4, 33), (16, 128), (64, 64)] {
        let mut sums = DeviceVec::<f64>::zeros(&stream, (blocks * threads) as usize)?;
        let start = stream.record()?;
        // SAFETY: each thread writes its own element, of which there are as many.
        unsafe { quadrature.launch(LaunchConfig::new(blocks, threads), (sums.output(), n), &stream)? };
        let end = stream.record()?;
        let pi: f64 = sums.to_vec()?.iter().sum();
        if (pi - PI).abs() > bound {
            return Err(format!("{blocks} blocks of {threads} threads: {pi}, not {PI}").into());
        }
        println!("{blocks:3} blocks of {threads:3} threads: pi = {pi:.12} in {:.3} ms", end.elapsed_ms_since(&start)?);
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&Device::first()?)
}
