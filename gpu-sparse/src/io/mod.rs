//! Matrix Market files.

/// What is wrong with a Matrix Market text, and where.
#[derive(Debug, thiserror::Error)]
#[error("line {line}")]
pub struct MatrixMarketError {
    /// Line in the (decompressed) text, from 1.
    pub line: u64,
}
