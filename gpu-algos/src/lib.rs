//! Reductions, scans, sorts and their relatives over whole arrays.
//!
//! What is here now: [kernels of one's own](kernels), made of a line of CUDA C++ that is run for each element of arrays; and the host half of
//! reductions, [`reference`](mod@reference), which holds dot products and norms that give the same bits for any number of threads.
//!
//! ```no_run
//! use gpu_algos::{elementwise_kernel, gpu_array::{GpuArray, gpu_driver::Device}};
//!
//! elementwise_kernel! {
//!     /// `y += a x`.
//!     fn axpy(a: f64, x: &[f64], y: &mut [f64]) { unsafe { "y[i] += a * x[i]" } }
//! }
//! let device = Device::first()?;
//! let x = GpuArray::full(&device, (100, 100), 2.0)?;
//! let mut y = GpuArray::zeros(&device, (100, 100))?;
//! axpy(0.5, &x, &mut y)?;
//! # Ok::<(), gpu_algos::AlgoError>(())
//! ```
//! ```
//! use gpu_algos::reference;
//!
//! let x = [3.0_f32, 4.0];
//! assert_eq!(reference::norm2(&x), 5.0);
//! assert_eq!(reference::dot(&x, &[1.0, 2.0])?, 11.0);
//! # Ok::<(), gpu_algos::AlgoError>(())
//! ```
#![deny(unsafe_code)]

mod error;
pub mod kernels;
pub mod reduce;
pub mod reference;
mod registry;

pub use gpu_array;

/// The extension traits: `use gpu_algos::prelude::*`.
pub mod prelude {
    pub use crate::reduce::Reductions;
}

pub use error::{AlgoError, Result};
pub use reduce::{Pair, Reduction, Reductions, Results, Summable};
pub use registry::KERNELS;
