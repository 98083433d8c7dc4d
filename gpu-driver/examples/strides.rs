//! Coalesced and strided access: `cargo run -p gpu-driver --release --example strides`, without a GPU with `GPU_DEVICE=emulated`.
//!
//! Neighbouring threads that read neighbouring elements share the sectors of 32 bytes in which memory is read. With a stride, each sector serves fewer
//! threads, until from 8 floats on each thread has a sector of its own.
use std::error::Error;

use gpu_driver::{Device, DeviceVec, LaunchConfig};

const SOURCE: &str = r#"
extern "C" __global__ void gather(const float *x, float *y, unsigned n, unsigned stride) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i * stride];
}
"#;

/// Copies elements at each stride, checks them, and prints the rate.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    const MOST: u32 = 32;
    let gather = device.compile(SOURCE)?.function("gather")?;
    let stream = device.stream();
    let n: u32 = if device.is_emulated() { 1000 } else { 1 << 20 };
    let host: Vec<f32> = (0..n * MOST).map(|i| (i % 65_537) as f32).collect();
    let x = DeviceVec::from_slice(&stream, &host)?;
    let mut y = DeviceVec::<f32>::zeros(&stream, n as usize)?;
    for stride in [1, 2, 4, 8, 16, MOST] {
        let start = stream.record()?;
        let shape = LaunchConfig::for_elements(n as usize);
        // SAFETY: each thread below n writes its own element, and reads one below n * MOST.
        unsafe { gather.launch(shape, (x.input(), y.output(), n, stride), &stream)? };
        let end = stream.record()?;
        let got = y.to_vec()?;
        let wrong = got.iter().enumerate().find(|&(i, value)| *value != host[i * stride as usize]);
        if let Some((i, value)) = wrong {
            return Err(format!("stride {stride}: element {i} is {value}").into());
        }
        let ms = end.elapsed_ms_since(&start)?;
        println!("stride {stride:2}: {:8.1} GB/s of elements", f64::from(n) * 8e-6 / f64::from(ms).max(1e-6));
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&Device::first()?)
}
