//! Where the system is solved, and why there.

use gpu_driver::{self as driver, emulated::Emulated, nvrtc};
use gpu_sparse::{CsrMatrix, linalg::LinearOperator};

use crate::{Outcome, options::Device};

/// The place chosen.
pub(crate) enum Place {
    Cpu {
        why: String,
    },
    /// CUDA's, or the emulated one.
    Device {
        device: driver::Device,
        why: String,
    },
}

impl Place {
    /// Finds what was asked for. `auto` takes CUDA when a device and the compiler are both there, never the emulated
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

    /// The matrix as the place needs it, and the kernels compiled.
    pub(crate) fn build<'a>(&self, a: &'a CsrMatrix<f64>) -> Outcome<Box<dyn LinearOperator<f64> + 'a>> {
        match self {
            Self::Cpu { .. } => Ok(Box::new(a)),
            Self::Device { device, .. } => {
                let a = a.to_device(device)?;
                a.load_kernels()?;
                device.synchronize()?;
                Ok(Box::new(a))
            }
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
