//! Expressions on the CPU.

mod memory;

pub use memory::{HostSliceMut, HostView};
