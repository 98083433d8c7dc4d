//! Kernels compiled while the device is opened and the matrix is read.

use std::thread::{self, JoinHandle};

use gpu_driver::{Device, nvrtc};
use gpu_sparse::{Format, compile_cg};

use crate::options::{self, Options, Precond};

/// The thread that compiles. Dropped, it is waited for: a process that ends beneath a compiler may crash.
pub(crate) struct Ahead(Option<JoinHandle<()>>);

impl Ahead {
    /// Compiles the kernels of the format that is asked for, or of packets, which most matrices get on a GPU, into the cache on disk. The emulated device
    /// compiles when it is asked to: its compiler takes all processors.
    pub(crate) fn start(options: &Options) -> Self {
        if matches!(options.device, options::Device::Cpu | options::Device::Emulated) {
            return Self(None);
        }
        let format = match options.format {
            options::Format::Csr => Format::Csr,
            options::Format::Packets | options::Format::Auto => Format::Packets,
        };
        let by_diagonal = options.precond == Precond::Jacobi;
        // Whatever fails here fails again where it is waited for, and is told there; so is a system without a thread to spare.
        let compile = move || {
            let has_cache = nvrtc::cache_folder().is_ok_and(|folder| folder.is_some());
            match Device::arch_of(0) {
                Ok(arch) if has_cache && !arch.is_emulated() => drop(compile_cg::<f64>(arch, format, by_diagonal)),
                _ => {}
            }
        };
        Self(thread::Builder::new().name("kernels".into()).spawn(compile).ok())
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // A panic was told by the thread.
        let _ = self.0.take().map(JoinHandle::join);
    }
}
