//! The emulated device: kernels compiled by the machine's C++ compiler and run by the crate's own driver.

#[allow(dead_code)]
mod compile;
