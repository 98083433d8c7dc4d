//! The crate's one error type.

use std::path::PathBuf;

use crate::io::MatrixMarketError;

/// `Result` with [`SparseError`].
pub type Result<T, E = SparseError> = std::result::Result<T, E>;

/// What can be wrong with a matrix, a vector or a file handed to this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SparseError {
    /// Two shapes that must agree do not.
    #[error("{op}: expected {expected}, got {got}")]
    Shape {
        /// The operation that was asked for.
        op: &'static str,
        /// What it needs, as text (`x of length 5`).
        expected: String,
        /// What it was given.
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
    #[error("{what} = {value} is more than this crate can hold ({limit})")]
    TooLarge {
        /// Name of the quantity.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The largest value that works.
        limit: u64,
    },
    /// A Matrix Market text is malformed; the error names the line.
    #[error(transparent)]
    MatrixMarket(#[from] MatrixMarketError),
    /// A file could not be opened, read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
}
