//! Counts each byte of a file: `cargo run -p gpu-driver --example histogram -- file`. Without a file it counts the bytes of a picture; without a GPU with
//! `GPU_DEVICE=emulated`.
//!
//! Each block counts in its own shared memory, where atomics are fast, and adds its counts to those of all blocks at the end.
use std::{env, error::Error, fs};

use gpu_driver::{Device, HostOut, LaunchConfig};

const SOURCE: &str = r#"
extern "C" __global__ void histogram(const unsigned char *x, unsigned *counts, unsigned n) {
    __shared__ unsigned own[256];
    for (unsigned byte = threadIdx.x; byte < 256; byte += blockDim.x) own[byte] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    for (unsigned byte = threadIdx.x; byte < 256; byte += blockDim.x) {
        if (own[byte] != 0) atomicAdd(&counts[byte], own[byte]);
    }
}
"#;

/// Counts bytes, checks the counts, and prints the most frequent ones.
fn count(device: &Device, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    let histogram = device.compile(SOURCE)?.function("histogram")?;
    let mut counts = [0u32; 256];
    let n = u32::try_from(bytes.len())?;
    let config = LaunchConfig::new(n.div_ceil(4096).clamp(1, 256), 128);
    // SAFETY: the kernel reads x[..n], and changes the 256 counts by atomics.
    unsafe { histogram.launch(config, (bytes, HostOut(&mut counts), n), &device.stream())? };
    let mut want = [0u32; 256];
    bytes.iter().for_each(|&byte| want[usize::from(byte)] += 1);
    if let Some(byte) = (0..256).find(|&byte| counts[byte] != want[byte]) {
        return Err(format!("byte {byte}: {} times, not {}", counts[byte], want[byte]).into());
    }
    let mut order: Vec<usize> = (0..256).collect();
    order.sort_by_key(|&byte| u32::MAX - counts[byte]);
    order[..4].iter().for_each(|&byte| println!("byte {byte:3}: {} times", counts[byte]));
    Ok(())
}

/// Counts the bytes of a picture, and checks the counts.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    count(device, include_bytes!("astronaut.ppm"))
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::first()?;
    match env::args().nth(1) {
        None => run(&device),
        Some(path) => count(&device, &fs::read(path)?),
    }
}
