//! CUDA arrays, and textures and surfaces over them.
//!
//! A [`CudaArray`] holds elements in an order that suits reads of neighbours in two and three dimensions. Kernels read it through a [`Texture`], which
//! filters and has a rule for places beyond the border, and write it through a [`Surface`]. A texture can lead to plain device memory too.
//!
//! Each object keeps the memory that it leads to. A launch that is captured gives its textures and surfaces to the graph. A drop waits for the stream
//! that orders the memory, since the driver destroys arrays and objects at once.

use crate::DriverError;

mod array;
mod memory;
mod object;
mod sampling;
mod shape;
mod surface;

#[cfg(feature = "gl")]
pub(crate) use array::ArrayMemory;
pub use array::CudaArray;
pub use object::Texture;
pub use sampling::{AddressMode, Sampling};
pub use shape::{ArrayShape, Channel};
pub use surface::Surface;

/// An error of a value that breaks a rule.
fn wrong<T>(op: &'static str, expected: impl Into<String>, got: impl Into<String>) -> crate::Result<T> {
    Err(DriverError::Length { op, expected: expected.into(), got: got.into() })
}
