//! The crate's one error type.

/// `Result` with [`AlgoError`].
pub type Result<T, E = AlgoError> = std::result::Result<T, E>;

/// What can be wrong with the arrays handed to an algorithm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AlgoError {
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

    /// Two arrays that must have one shape do not.
    #[error("{op}: the first array has shape {left:?}, the second {right:?}")]
    Shape {
        /// The operation that was asked for.
        op: &'static str,
        /// Shape of the first array.
        left: Vec<usize>,
        /// Shape of the second array.
        right: Vec<usize>,
    },

    /// An axis that the array does not have.
    #[error("{op}: an array of {rank} axes has no axis {axis}")]
    Axis {
        /// The reduction that was asked for.
        op: &'static str,
        /// The axis, counted from 0.
        axis: usize,
        /// How many the array has.
        rank: usize,
    },

    /// An axis is to be reduced twice.
    #[error("{op}: axis {axis} is given more than once")]
    RepeatedAxis {
        /// The reduction that was asked for.
        op: &'static str,
        /// The axis, counted from 0.
        axis: usize,
    },

    /// A reduction of no values, such as the largest of none, that has no result.
    #[error("{op}: of no values there is none")]
    Empty {
        /// The reduction that was asked for.
        op: &'static str,
    },
}
