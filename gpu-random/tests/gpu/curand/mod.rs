//! Our numbers against cuRAND's, in one process.

mod host;
pub mod library;
mod on_device;

pub use host::HOST;
pub use on_device::ON_DEVICE;
