//! A sweep of block sizes: `cargo run -p gpu-driver --release --example threads -- 10000000`, with the number of elements; without a GPU with
//! `GPU_DEVICE=emulated`.
//!
//! Small blocks do not fill the device's processors; of the others one size is rarely far better than the next.
use std::{env, error::Error};

use gpu_driver::{Device, DeviceVec, LaunchConfig};

const SOURCE: &str = r#"
extern "C" __global__ void scale(const float *x, float *y, int n, float factor) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = factor * x[i];
}
"#;

/// Scales `n` elements with each size of blocks, checks them, and prints the times and the size that the driver suggests.
fn sweep(device: &Device, n: usize) -> Result<(), Box<dyn Error>> {
    let (scale, stream) = (device.compile(SOURCE)?.function("scale")?, device.stream());
    let host: Vec<f32> = (0..n).map(|i| (i % 4096) as f32).collect();
    let x = DeviceVec::from_slice(&stream, &host)?;
    let (suggested, _) = scale.suggested_block(0)?;
    for threads in [32, 64, 96, 128, 256, 512, 1024, suggested] {
        let mut y = DeviceVec::<f32>::zeros(&stream, n)?;
        let blocks = u32::try_from(n)?.div_ceil(threads).clamp(1, 65_535);
        let resident = scale.max_active_blocks(threads, 0)? * threads;
        let start = stream.record()?;
        let arguments = (x.input(), y.output(), i32::try_from(n)?, 0.5f32);
        // SAFETY: each element is written by one thread.
        unsafe { scale.launch(LaunchConfig::new(blocks, threads), arguments, &stream)? };
        let end = stream.record()?;
        if y.to_vec()?.iter().zip(&host).any(|(y, x)| 2.0 * y != *x) {
            return Err(format!("blocks of {threads} threads: not half of each element").into());
        }
        let ms = end.elapsed_ms_since(&start)?;
        println!("{blocks:5} blocks of {threads:4} threads, {resident:4} at once on a processor: {ms:.3} ms");
    }
    println!("the driver suggests blocks of {suggested} threads");
    Ok(())
}

/// Scales a few thousand elements.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    sweep(device, 3000)
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::first()?;
    match env::args().nth(1) {
        None => run(&device),
        Some(n) => sweep(&device, n.parse()?),
    }
}
