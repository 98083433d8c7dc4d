//! The fastest launch shape of a kernel, found by measuring: `cargo run -p gpu-driver --example tune`, without a GPU with `GPU_DEVICE=emulated`.
//!
//! The choice is kept on disk: a second run of the program measures nothing.
use std::error::Error;

use gpu_driver::{Device, DeviceVec, LaunchConfig, Tuner, Variants};

const SOURCE: &str = r#"
extern "C" __global__ void axpy(float a, const float *x, float *y, unsigned n) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] += a * x[i];
}
"#;

/// Tunes the kernel, prints the times, and checks the result of the chosen variant.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    let axpy = device.compile(SOURCE)?.function("axpy")?;
    let stream = device.stream();
    let n: u32 = if device.is_emulated() { 1000 } else { 10_000_000 };

    let mut variants = Variants::new("example axpy f32, version 1");
    for (blocks, threads) in [(1, 32), (32, 64), (1000, 256)] {
        let axpy = &axpy;
        variants = variants.variant(format!("{blocks} blocks of {threads}"), move |stream, x: &DeviceVec<f32>| {
            let mut y = DeviceVec::<f32>::zeros(stream, x.len())?;
            // SAFETY: each element of y[..n] is changed by one thread.
            unsafe { axpy.launch(LaunchConfig::new(blocks, threads), (3.0f32, x.input(), y.in_out(), n), stream)? };
            Ok(y)
        });
    }

    let host: Vec<f32> = (0..n).map(|i| (i % 1000) as f32).collect();
    let x = DeviceVec::from_slice(&stream, &host)?;
    let choice = Tuner::new(device)?.tune(&variants, x.len(), &x, &stream)?;
    for (name, ms) in &choice.times_ms {
        println!("{name}: {ms:.4} ms");
    }
    println!("{} for {:?} elements", choice.variant, choice.sizes);

    let y = variants.run(&choice.variant, &x, &stream)?.to_vec()?;
    if y.iter().zip(&host).any(|(y, x)| *y != 3.0 * x) {
        return Err("wrong result".into());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&Device::first()?)
}
