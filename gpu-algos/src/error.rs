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
}
