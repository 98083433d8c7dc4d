//! The place where the system is solved, and the reason.

use crate::{Outcome, options::Device};
use gpu_driver::{self as driver, emulated::Emulated, nvrtc};

/// The place chosen.
pub(crate) enum Backend {
    Cpu {
        why: String,
    },
    /// CUDA's, or the emulated one.
    Device {
        device: driver::Device,
        why: String,
    },
}

impl Backend {
    /// Finds the place asked for. `auto` takes CUDA when a device and the compiler are both there, never the emulated
    /// device.
    pub(crate) fn choose(asked: Device) -> Outcome<Self> {
        match asked {
            Device::Cpu => Ok(Self::Cpu { why: "asked for".to_owned() }),
            Device::Cuda => Ok(Self::Device { device: cuda()?, why: "asked for".to_owned() }),
            Device::Emulated => Ok(Self::Device { device: Emulated::new().open()?, why: "asked for".to_owned() }),
            Device::Auto => Ok(match cuda() {
                Ok(device) => Self::Device { device, why: "found with its driver and NVRTC".to_owned() },
                Err(error) => Self::Cpu { why: first_line(&error.to_string()) },
            }),
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Cpu { .. } => format!("cpu, {} threads", rayon::current_num_threads()),
            Self::Device { device, .. } if device.is_emulated() => device.name().to_owned(),
            Self::Device { device, .. } => format!("cuda, {}", device.name()),
        }
    }

    pub(crate) fn why(&self) -> &str {
        match self {
            Self::Cpu { why } | Self::Device { why, .. } => why,
        }
    }
}

/// A CUDA device, where the compiler that its kernels need is there too.
fn cuda() -> Outcome<driver::Device> {
    let device = driver::Device::first()?;
    if device.is_emulated() {
        return Err(
            "GPU_DEVICE=emulated hides CUDA; the emulated device is slow and has to be asked for by --device emulated"
                .into(),
        );
    }
    nvrtc::version()?;
    Ok(device)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}
