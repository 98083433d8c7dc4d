//! Reductions, scans, sorts and their relatives over whole arrays.
//!
//! What is here now is the host half of the first of them: [`reference`](mod@reference) holds reductions of arrays of any layout, whole or over
//! any axes, with the same bits for any number of threads. The device half follows; nothing in this crate talks to a GPU yet.
//!
//! ```
//! use gpu_algos::reference::{self, Sum, reduce_axes};
//! use ndarray::{Axis, array};
//!
//! let x = array![[3.0_f32, 4.0], [f32::NAN, 1.0]];
//! assert_eq!(reference::nan_sum(&x), 8.0);
//! assert_eq!(reference::argmax(&x)?, 2); // as NumPy: NaN comes first
//! assert_eq!(reduce_axes(&Sum::new(), &x, &[Axis(1)])?[0], 7.0);
//! # Ok::<(), gpu_algos::AlgoError>(())
//! ```
#![deny(unsafe_code)]

mod error;
pub mod reference;

pub use error::{AlgoError, Result};
