//! Where the memory of a device goes: `cargo run -p gpu-driver --example memory_profile -- 100000000`, with the bytes of a buffer; without a GPU with
//! `GPU_DEVICE=emulated`.
//!
//! Buffers come from a pool, which keeps the memory of dropped ones for the next: the device's free memory grows only when the pool is trimmed.
use std::{env, error::Error};

use gpu_driver::{Device, DeviceVec};

fn report(device: &Device, step: &str) -> Result<(), Box<dyn Error>> {
    let ((free, total), pool) = (device.memory()?, device.pool_use()?);
    let mega = |bytes: u64| bytes as f64 / 1e6;
    println!(
        "{step:28} {:9.2} MB free of {:.2}; the pool uses {:.2} MB of {:.2}",
        mega(free as u64),
        mega(total as u64),
        mega(pool.used_bytes),
        mega(pool.reserved_bytes)
    );
    Ok(())
}

/// Allocates and drops buffers of that many bytes, and prints the memory after each step.
fn profile(device: &Device, bytes: usize) -> Result<(), Box<dyn Error>> {
    let stream = device.stream();
    report(device, "at the start")?;
    let first = DeviceVec::from_slice(&stream, &vec![1u8; bytes])?;
    report(device, "with one buffer")?;
    let second = first.try_clone()?;
    report(device, "with its copy")?;
    let pool = device.pool_use()?;
    if pool.used_bytes < 2 * bytes as u64 {
        return Err(format!("two buffers of {bytes} bytes, yet {pool:?}").into());
    }
    if second.to_vec()?.iter().any(|byte| *byte != 1) {
        return Err("the copy differs".into());
    }
    drop((first, second));
    stream.synchronize()?;
    report(device, "both dropped")?;
    device.trim_pool(0)?;
    report(device, "the pool trimmed")
}

/// Profiles buffers of 100 kB.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    profile(device, 100_000)
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::first()?;
    match env::args().nth(1) {
        None => run(&device),
        Some(bytes) => profile(&device, bytes.parse()?),
    }
}
