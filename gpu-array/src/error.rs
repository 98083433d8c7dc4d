//! The crate's one error type.

use gpu_driver::DriverError;

use crate::DType;

/// `Result` with [`ArrayError`].
pub type Result<T, E = ArrayError> = std::result::Result<T, E>;

/// What can go wrong with an array.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// The driver, the compiler or the device.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The shape has more elements than can be addressed.
    #[error("an array of shape {shape:?} has more elements than can be addressed")]
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
    },
    /// A buffer does not have the number of elements that a shape asks for.
    #[error("shape {shape:?} asks for {expected} elements, the buffer has {got}")]
    Length {
        /// The shape.
        shape: Vec<usize>,
        /// Its number of elements.
        expected: usize,
        /// Length of the buffer.
        got: usize,
    },
    /// `arange` without a finite number of elements.
    #[error("arange from {start} to {stop} in steps of {step}: {why}")]
    Range {
        /// First value.
        start: String,
        /// End, exclusive.
        stop: String,
        /// Distance of two values.
        step: String,
        /// What is wrong.
        why: &'static str,
    },
    /// An operation that does not exist for an element type.
    #[error("there is no operation `{name}` for {dtype}")]
    Operation {
        /// The operation.
        name: &'static str,
        /// The element type.
        dtype: DType,
    },
}
