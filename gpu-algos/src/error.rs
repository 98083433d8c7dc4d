//! The crate's one error type.

use gpu_array::{ArrayError, gpu_driver::DriverError};

/// `Result` with [`AlgoError`].
pub type Result<T, E = AlgoError> = std::result::Result<T, E>;

/// What can be wrong with the arrays handed to an algorithm.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AlgoError {
    /// The driver, the compiler or the device.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// An array or an expression.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// There is nothing that it could give for no values.
    #[error("{op} of no values")]
    Empty {
        /// The reduction.
        op: &'static str,
    },
    /// An axis is named twice.
    #[error("axis {axis} is named twice")]
    RepeatedAxis {
        /// The axis.
        axis: usize,
    },
    /// The array to write has another shape than the result.
    #[error("the result has shape {expected:?}, the array that it is written into {got:?}")]
    OutShape {
        /// The shape of the result.
        expected: Vec<usize>,
        /// That of the array.
        got: Vec<usize>,
    },
    /// Axes that do not lie behind one another are too many for a kernel.
    #[error("{op}: {got} axes that cannot be joined; a kernel has at most {limit}")]
    TooManyAxes {
        /// The operation.
        op: &'static str,
        /// The most there can be.
        limit: usize,
        /// How many there are.
        got: usize,
    },
    /// The arguments do not fit into a kernel's parameters.
    #[error("{got} bytes of arrays and scalars; a kernel has at most {limit}")]
    TooManyArguments {
        /// The most there can be.
        limit: usize,
        /// How many there are.
        got: usize,
    },
    /// More blocks than a grid has.
    #[error("{op} over shape {shape:?} is too large for one launch")]
    TooLarge {
        /// The operation.
        op: &'static str,
        /// The shape.
        shape: Vec<usize>,
    },
    /// Two arrays that must have one length do not.
    #[error("{op}: the first array has {left} elements, the second {right}")]
    Length {
        /// The operation that was asked for.
        op: &'static str,
        /// Length of the first array.
        left: usize,
        /// Length of the second array.
        right: usize,
    },
}
