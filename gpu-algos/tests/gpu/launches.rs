//! Launches, which the emulated device counts.

use std::error::Error;

use gpu_driver::{Device, emulated::Call::Launch};

/// The launches of some work on an emulated device.
pub fn launches<E: Error + 'static>(device: &Device, work: &dyn Fn() -> Result<(), E>) -> Result<u64, Box<dyn Error>> {
    let emulation = device.emulation().ok_or("emulated")?;
    let before = emulation.calls(Launch)?;
    work()?;
    Ok(emulation.calls(Launch)? - before)
}
