//! Where the system is solved, and why there.

use gpu_driver::{self as driver, nvrtc};
use gpu_sparse::{CsrMatrix, linalg::LinearOperator};

use crate::{Outcome, options::Device};

/// The place chosen.
pub(crate) enum Place {
    Cpu { why: String },
    Cuda { device: driver::Device, why: String },
}

impl Place {
    /// Finds what was asked for. `auto` takes CUDA when a device and the compiler are both there, never the emulated
    /// device.
    pub(crate) fn choose(asked: Device) -> Outcome<Self> {
        match asked {
            Device::Cpu => Ok(Self::Cpu { why: "asked for".to_owned() }),
            Device::Cuda => Ok(Self::Cuda { device: cuda()?, why: "asked for".to_owned() }),
            Device::Emulated => Err("this build has no emulated device; use --device cpu".into()),
            Device::Auto => Ok(match cuda() {
                Ok(device) => Self::Cuda { device, why: "found with its driver and NVRTC".to_owned() },
                Err(error) => Self::Cpu { why: first_line(&error.to_string()) },
            }),
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Cpu { .. } => format!("cpu, {} threads", rayon::current_num_threads()),
            Self::Cuda { device, .. } => format!("cuda, {}", device.name()),
        }
    }

    pub(crate) fn why(&self) -> &str {
        match self {
            Self::Cpu { why } | Self::Cuda { why, .. } => why,
        }
    }

    /// The matrix as the place needs it, and the kernels compiled.
    pub(crate) fn build<'a>(&self, a: &'a CsrMatrix<f64>) -> Outcome<Box<dyn LinearOperator<f64> + 'a>> {
        match self {
            Self::Cpu { .. } => Ok(Box::new(a)),
            Self::Cuda { device, .. } => {
                let a = a.to_device(device)?;
                a.load_kernels()?;
                device.synchronize()?;
                Ok(Box::new(a))
            }
        }
    }
}

/// A device, where the compiler that its kernels need is there too.
fn cuda() -> driver::Result<driver::Device> {
    let device = driver::Device::first()?;
    nvrtc::version()?;
    Ok(device)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}
