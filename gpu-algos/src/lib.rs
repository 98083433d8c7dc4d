//! Reductions, scans, sorts and their relatives over whole arrays.
//!
//! What is here now is the host half of the first of them: [`reference`](mod@reference) holds dot products and norms that give the same
//! bits for any number of threads. The device half follows; nothing in this crate talks to a GPU yet.
//!
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
pub mod reference;

pub use gpu_array;

pub use kernels::KERNELS;

pub use error::{AlgoError, Result};
