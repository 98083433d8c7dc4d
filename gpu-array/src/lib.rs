//! N-dimensional arrays in GPU memory, as ndarray has them in host memory.
//!
//! ```no_run
//! use gpu_array::{GpuArray, gpu_driver::Device};
//! use ndarray::array;
//!
//! let device = Device::first()?;
//! let x = GpuArray::from_ndarray(&device, &array![[1.0f32, 2.0], [3.0, 4.0]])?;
//! assert_eq!(x.shape(), [2, 2]);
//! assert_eq!(x.to_ndarray()?, array![[1.0, 2.0], [3.0, 4.0]]);
//!
//! let mut y = GpuArray::zeros(&device, (3, 4))?;
//! y.fill(7i32)?;
//! # Ok::<(), gpu_array::ArrayError>(())
//! ```
//! What is here: owned arrays in C order, their creation, and copies from and to ndarray.

#![deny(unsafe_code)]

mod array;
mod create;
mod dense;
mod element;
mod error;
mod layout;
mod methods;
mod pinned;
pub mod reference;
mod transfer;
mod view;

pub use gpu_driver;

pub use array::GpuArray;
pub use create::{KERNELS, fill};
pub use element::{Bits, DType, Element, Float, Integer, Number, Promote, promote};
pub use error::{ArrayError, Result};
pub use layout::INFER;
pub use pinned::{PendingArray, PinnedArray};
pub use view::{GpuView, GpuViewMut};
