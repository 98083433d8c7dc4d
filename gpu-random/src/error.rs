//! The crate's one error type.

/// `Result` with [`RandomError`].
pub type Result<T, E = RandomError> = std::result::Result<T, E>;

/// An error of a request for random numbers.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RandomError {
    /// A parameter of a distribution lies outside its range, or is NaN.
    #[error("{distribution}: {name} = {value}, must be {range}")]
    Parameter {
        /// The distribution.
        distribution: &'static str,
        /// Name of the parameter.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The range required, as text (`at least 0`).
        range: &'static str,
    },
    /// A range holds no value, or its ends are not finite, or too far from each other.
    #[error("{distribution}: no value lies in {range}")]
    EmptyRange {
        /// The distribution.
        distribution: &'static str,
        /// The range, as text.
        range: String,
    },
    /// Weights that are no distribution.
    #[error("a distribution of {count} weights: {why}{}", .index.map_or(String::new(), |index| format!(" (weight {index})")))]
    Weights {
        /// The weight that is wrong, if it is one.
        index: Option<usize>,
        /// Their number.
        count: usize,
        /// The reason.
        why: &'static str,
    },
    /// An order needs at least one generator, and has bounds.
    #[error("{got} generators: must be 1 to {most}")]
    Generators {
        /// How many were asked for.
        got: u64,
        /// How many there may be.
        most: u64,
    },
    /// A position belongs to a stream with another number of generators.
    #[error("the position is of a stream of {expected} generators, this one has {got}")]
    Position {
        /// Generators of the position's stream.
        expected: u32,
        /// Generators of this stream.
        got: u32,
    },
    /// A position belongs to a stream of another kind of generator.
    #[error("the position is of a stream of {expected}, this one is of {got}")]
    PositionKind {
        /// The kind of the position's stream.
        expected: &'static str,
        /// The kind of this stream.
        got: &'static str,
    },
    /// The driver, the run-time compiler or the device failed.
    #[error(transparent)]
    Driver(#[from] gpu_driver::DriverError),
    /// An array in GPU memory could not be made.
    #[error(transparent)]
    Array(#[from] gpu_array::ArrayError),
}

gpu_driver::debug_by_text! {
    RandomError:
    Parameter, EmptyRange, Weights, Generators, Position, PositionKind, Driver, Array,
}
