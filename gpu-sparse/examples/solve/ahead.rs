//! Kernels compiled while the matrix is read.

use std::thread::{self, JoinHandle};

use gpu_sparse::{Format, warm_for};

use crate::{backend::Backend, options};

/// The thread that compiles. Dropped, it is waited for: a process that ends beneath a compiler may crash.
pub(crate) struct Ahead(Option<JoinHandle<()>>);

impl Ahead {
    /// Compiles the kernels of the format that is asked for, or of packets, which most matrices get on a GPU. The emulated device compiles when it
    /// is known which kernels are needed: its compiler takes all processors.
    pub(crate) fn start(place: &Backend, format: options::Format) -> Self {
        let Backend::Device { device, .. } = place else { return Self(None) };
        if device.is_emulated() {
            return Self(None);
        }
        let format = match format {
            options::Format::Csr => Format::Csr,
            options::Format::Packets | options::Format::Auto => Format::Packets,
        };
        let device = device.clone();
        // Whatever fails here fails again where the solve loads its kernels, and is told there; so is a system without a thread to spare.
        let compile = move || drop(warm_for::<f64>(&device, format));
        Self(thread::Builder::new().name("kernels".into()).spawn(compile).ok())
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // A panic was told by the thread.
        let _ = self.0.take().map(JoinHandle::join);
    }
}
