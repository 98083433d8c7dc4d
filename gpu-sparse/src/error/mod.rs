//! The crate's one error type.

mod matrix_market;

use std::path::PathBuf;

pub(crate) use matrix_market::excerpt;
pub use matrix_market::{MatrixMarketError, MatrixMarketErrorKind};

/// `Result` with [`SparseError`].
pub type Result<T, E = SparseError> = std::result::Result<T, E>;

/// An error of a matrix, a vector or a file handed to this crate, or of a device.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SparseError {
    /// Two shapes that must agree do not.
    #[error("{op}: expected {expected}, got {got}")]
    Shape {
        /// The operation that was asked for.
        op: &'static str,
        /// The shape it needs, as text (`x of length 5`).
        expected: String,
        /// The shape it was given, as text.
        got: String,
    },
    /// An entry lies outside the matrix.
    #[error("entry {entry}: ({row}, {col}) lies outside a {rows} x {cols} matrix")]
    IndexOutOfRange {
        /// Position of the entry in the input.
        entry: usize,
        /// Its row, from 0.
        row: u64,
        /// Its column, from 0.
        col: u64,
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        cols: usize,
    },
    /// A dimension or a count does not fit the index types of this crate.
    #[error("{quantity} = {value} is more than this crate can hold ({limit})")]
    TooLarge {
        /// Name of the quantity.
        quantity: &'static str,
        /// Its value.
        value: u64,
        /// The largest value that works.
        limit: u64,
    },
    /// The system refused memory.
    #[error("out of memory: {bytes} bytes for {purpose} were refused")]
    OutOfMemory {
        /// The use of the memory.
        purpose: &'static str,
        /// Bytes that were asked for.
        bytes: u64,
    },
    /// The threads that host work runs on could not be started.
    #[error("no threads to work on: {reason}; RAYON_NUM_THREADS=2 asks for two")]
    Threads {
        /// Why not.
        reason: String,
    },
    /// A Matrix Market text is malformed; the error names the line.
    #[error(transparent)]
    MatrixMarket(#[from] MatrixMarketError),
    /// A file could not be opened, read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The row starts of a compressed matrix do not run from 0 up to the number of entries.
    #[error("row {row} starts at entry {start} and ends at {end}, but starts rise from 0 to the {nnz} entries given")]
    RowStarts {
        /// The row, from 0.
        row: usize,
        /// The entry at which it starts.
        start: u64,
        /// The entry at which it ends.
        end: u64,
        /// Entries given.
        nnz: usize,
    },
    /// The columns of a row do not rise strictly.
    #[error("row {row}: column {column} at entry {entry} follows column {previous}; columns must rise strictly")]
    UnsortedColumns {
        /// The row, from 0.
        row: usize,
        /// Position of the entry in the whole matrix.
        entry: usize,
        /// Its column.
        column: u32,
        /// The column before it.
        previous: u32,
    },
    /// Arrays that are said to be packets break a rule of the format.
    #[error("packets: not so at {at}: {rule}")]
    Packets {
        /// The rule (`rows have no holes`).
        rule: &'static str,
        /// The element, slice, packet or row that breaks the rule, or the length that is wrong.
        at: usize,
    },
    /// A diagonal entry by which a preconditioner must divide is zero, not finite, or too small to divide by.
    #[error("the diagonal entry of row {row} is {value:e}: it has no finite inverse")]
    Diagonal {
        /// The row, from 0.
        row: usize,
        /// The entry.
        value: f64,
    },
    /// A preconditioner needs the diagonal of an operator that does not know it.
    #[error("this operator does not know its diagonal")]
    NoDiagonal,
    /// A number lies outside its range.
    #[error("{name} = {value}: must be {range}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The range required, as text (`at least 0`).
        range: &'static str,
    },
    /// A linear operator of the caller failed.
    #[error("the operator failed: {0}")]
    Operator(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A reduction refused its input.
    #[error(transparent)]
    Algo(#[from] gpu_algos::AlgoError),
    /// The driver, the run-time compiler or the device failed.
    #[error(transparent)]
    Driver(#[from] gpu_driver::DriverError),
    /// An array in GPU memory could not be made or copied.
    #[error(transparent)]
    Array(#[from] gpu_array::ArrayError),
    /// Random numbers were refused: a [`RandomError`](https://docs.rs/gpu-random), which `?` turns into this with the feature `random`.
    #[error("{0}")]
    Random(#[source] Box<dyn std::error::Error + Send + Sync>),
}

#[cfg(feature = "random")]
impl From<gpu_random::RandomError> for SparseError {
    fn from(error: gpu_random::RandomError) -> Self {
        match error {
            gpu_random::RandomError::Driver(error) => Self::Driver(error),
            gpu_random::RandomError::Array(error) => Self::Array(error),
            refused => Self::Random(Box::new(refused)),
        }
    }
}

gpu_driver::debug_by_text! {
    SparseError:
    Shape, IndexOutOfRange, TooLarge, OutOfMemory, Threads, MatrixMarket, File, RowStarts, UnsortedColumns, Packets,
    Diagonal, NoDiagonal, Parameter, Operator, Algo, Driver, Array, Random,
}
