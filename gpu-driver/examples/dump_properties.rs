//! Prints the facts of all devices, as PyCUDA's dump_properties.py. `cargo run -p gpu-driver --example dump_properties`, without a GPU with
//! `GPU_DEVICE=emulated`.
use std::error::Error;

use gpu_driver::{Device, Limit};

/// Prints the name, the place, the memory and all attributes and limits of a device.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    let (free, total) = device.memory()?;
    let (major, minor) = device.compute_capability();
    println!("{device}");
    println!("  PCI bus id: {}", device.pci_bus_id()?);
    println!("  compute capability: {major}.{minor}");
    println!("  memory: {} MiB, of which {} MiB are free", total >> 20, free >> 20);
    for (attribute, value) in device.attributes()? {
        println!("  {attribute}: {value}");
    }
    for limit in [Limit::StackBytes, Limit::PrintfBytes, Limit::MallocHeapBytes] {
        println!("  {limit:?}: {}", device.limit(limit)?);
    }
    println!("  cache preference: {:?}", device.cache_config()?);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{} device(s), driver of CUDA {}", Device::count()?, Device::driver_version()?);
    (0..Device::count()?).try_for_each(|ordinal| run(&Device::new(ordinal)?))
}
