//! N-dimensional arrays in GPU memory, as ndarray has them in host memory.
//!
//! ```no_run
//! use gpu_array::{GpuArray, gpu_driver::Device};
//! use ndarray::{array, s};
//!
//! let device = Device::first()?;
//! let x = GpuArray::from_ndarray(&device, &array![[1.0f32, 2.0], [3.0, 4.0]])?;
//! assert_eq!(x.shape(), [2, 2]);
//! assert_eq!(x.to_ndarray()?, array![[1.0, 2.0], [3.0, 4.0]]);
//!
//! // A part, without a copy.
//! let mut y = GpuArray::zeros(&device, (2, 3))?;
//! y.slice_mut(s![.., 1])?.fill(7i32)?;
//! assert_eq!(y.slice(s![0, ..])?.to_ndarray()?, array![0, 7, 0]);
//! # Ok::<(), gpu_array::ArrayError>(())
//! ```
//! Arithmetic is [fused](expression): whole expressions become one kernel.
//! ```no_run
//! # let device = gpu_array::gpu_driver::Device::first()?;
//! # let x = gpu_array::GpuArray::<f32, _>::zeros(&device, 100)?;
//! # let mut y = gpu_array::GpuArray::<f32, _>::zeros(&device, 100)?;
//! let z = (5.0 * &x + y.sin() * 6.0).eval()?;
//! y += 2.0 * &z;
//! # Ok::<(), gpu_array::ArrayError>(())
//! ```
//! The crate has owned arrays in C, Fortran or any other order of their axes, their creation, views of any part of them ([`GpuView`], [`GpuViewMut`])
//! with ndarray's slices and NumPy's reshaping and broadcasting, and copies from and to ndarray, through pinned memory ([`PinnedArray`]) also while
//! the host goes on; [expressions](expression) of arrays on a GPU or on the host. Mistakes at which ndarray panics are an [`ArrayError`].

#![deny(unsafe_code)]

mod array;
mod chunks;
mod create;
mod dense;
mod dtype;
mod element;
mod error;
pub mod expression;
mod layout;
mod methods;
mod pending;
mod pinned;
pub mod reference;
mod shape;
mod transfer;
mod view;

pub use gpu_driver;

pub use array::GpuArray;
pub use chunks::{Chunks, ChunksMut};
pub use dtype::DType;
pub use element::{Bits, Element, Float, Integer, Number, Promote, promote};
pub use error::{ArrayError, Result};
pub use expression::KERNELS;
pub use pinned::{PendingArray, PinnedArray};
pub use shape::INFER;
pub use view::{GpuView, GpuViewMut};
