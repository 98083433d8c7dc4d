//! Right-hand sides and solutions.

use std::io::Read;
use std::path::Path;

use crate::{Result, Scalar, memory};

use super::header::{MatrixMarketFormat, MatrixMarketSymmetry};
use super::read::{ArrayZeros, Document, with_file};
use crate::error::{MatrixMarketError, MatrixMarketErrorKind as Kind};

/// Reads a vector: a Matrix Market file of an n x 1 or 1 x n matrix, `array` or `coordinate`, compressed or not.
///
/// Elements that a coordinate file does not list are zero, and its duplicates are summed.
///
/// # Errors
/// The errors of [`read_matrix_market_coo`](super::read_matrix_market_coo); also `NotAVector` for any other shape, and
/// `ImplausibleRows` when n exceeds 2^20 + 16 times the entries of a coordinate file, because the memory for n values
/// would come from the header alone.
///
/// # Example
/// ```
/// use gpu_sparse::io;
///
/// let path = std::env::temp_dir().join(format!("vector-{}.mtx", std::process::id()));
/// io::write_vector(&path, &[0.1_f64, -0.0, f64::INFINITY])?;
/// assert_eq!(io::read_vector::<f64>(&path)?, [0.1, -0.0, f64::INFINITY]);
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
pub fn read_vector<T: Scalar>(path: impl AsRef<Path>) -> Result<Vec<T>> {
    with_file(path.as_ref(), |file| parse_vector(file))
}

/// Reads a vector from Matrix Market text; see [`read_vector`].
///
/// # Errors
/// The errors of [`read_vector`], without those of opening a file.
///
/// # Example
/// ```
/// let text = "%%MatrixMarket matrix coordinate integer general\n4 1 2\n3 1 7\n1 1 -1\n";
/// assert_eq!(gpu_sparse::io::parse_vector::<f32>(text.as_bytes())?, [-1.0, 0.0, 7.0, 0.0]);
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
pub fn parse_vector<T: Scalar>(reader: impl Read) -> Result<Vec<T>> {
    let document = Document::parse(reader, ArrayZeros::Keep)?;
    let header = &document.header;
    let (rows, cols) = (header.rows, header.cols);
    if rows != 1 && cols != 1 {
        let kind = Kind::NotAVector { rows: rows as u64, cols: cols as u64 };
        return Err(MatrixMarketError::new(header.size_line, kind).into());
    }
    if header.format == MatrixMarketFormat::Array && header.symmetry == MatrixMarketSymmetry::General {
        return Ok(document.entries.into_values());
    }
    let length = rows * cols;
    document.check_rows_plausible(length)?;
    memory::room_for("the elements of the vector", (length * size_of::<T>()) as u64)?;
    let mut vector = vec![T::zero(); length];
    for (row, col, value) in document.entries.iter() {
        vector[row.max(col) as usize] += value;
    }
    Ok(vector)
}
