//! From triplets to text.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use ndarray::ArrayView1;

use crate::{CooMatrix, CsrMatrix, Result, Scalar};

use super::replace::replace_file;

/// Writes a matrix to a Matrix Market file (`coordinate real general`), compressed when the path ends in `.gz`.
///
/// All triplets are written in their order, duplicates and zeros included; see [`MatrixMarketWriter`] for comments and
/// symmetric files. Numbers are as short as they can be while reading back to the same bits; infinities and NaN are
/// written `inf`, `-inf` and `nan` (the bits of a NaN are not kept).
///
/// The text goes to a temporary file beside `path` that takes its name once complete: a write that fails leaves an older
/// file as it was.
///
/// # Errors
/// `File` for all that the operating system refuses, and when `path` names something other than a file (a device, a
/// folder): use [`write_matrix_market_coo_to`] for those.
///
/// # Example
/// See [`read_matrix_market_coo`](super::read_matrix_market_coo).
pub fn write_matrix_market_coo<T: Scalar>(path: impl AsRef<Path>, matrix: &CooMatrix<T>) -> Result<()> {
    MatrixMarketWriter::new().write(path, matrix)
}

/// Writes a matrix in rows to a Matrix Market file; see [`write_matrix_market_coo`].
///
/// # Errors
/// The errors of [`write_matrix_market_coo`].
///
/// # Example
/// ```
/// use gpu_sparse::{CsrMatrix, io};
///
/// let path = std::env::temp_dir().join(format!("csr-{}.mtx", std::process::id()));
/// let a = CsrMatrix::<f64>::identity(3)?;
/// io::write_matrix_market(&path, &a)?;
/// assert_eq!(io::read_matrix_market::<f64>(&path)?, a);
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
#[doc(alias = "mmwrite")]
pub fn write_matrix_market<T: Scalar>(path: impl AsRef<Path>, matrix: &CsrMatrix<T>) -> Result<()> {
    let entries = (0..matrix.rows() as u32).flat_map(|row| {
        let (cols, values) = matrix.row(row as usize).unwrap_or_default();
        cols.iter().zip(values).map(move |(&col, &value)| (row, col, value))
    });
    replace_file(path.as_ref(), |file| {
        MatrixMarketWriter::new().write_entries(file, matrix.rows(), matrix.cols(), entries)
    })
}

/// Writes a matrix as Matrix Market text; see [`write_matrix_market_coo`].
///
/// It gathers small writes by itself: the writer need not be buffered.
///
/// # Errors
/// The errors of `writer`.
///
/// # Example
/// ```
/// let a = gpu_sparse::CooMatrix::from_triplets(2, 2, vec![1], vec![0], vec![0.5_f32])?;
/// let mut text = Vec::new();
/// gpu_sparse::io::write_matrix_market_coo_to(&mut text, &a)?;
/// assert_eq!(text, b"%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 5e-1\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_matrix_market_coo_to<T: Scalar>(writer: impl Write, matrix: &CooMatrix<T>) -> io::Result<()> {
    MatrixMarketWriter::new().write_to(writer, matrix)
}

/// Writes a vector to a Matrix Market file as an n x 1 array, compressed when the path ends in `.gz`: a slice, a `Vec` or an ndarray array, by reference.
///
/// Numbers and files are treated as in [`write_matrix_market_coo`].
///
/// # Errors
/// The errors of [`write_matrix_market_coo`].
///
/// # Example
/// See [`read_vector`](super::read_vector).
#[doc(alias = "mmwrite")]
pub fn write_vector<'a, T: Scalar>(path: impl AsRef<Path>, vector: impl Into<ArrayView1<'a, T>>) -> Result<()> {
    let vector = vector.into();
    replace_file(path.as_ref(), |file| write_vector_to(file, vector))
}

/// Writes a vector as Matrix Market text, an n x 1 array; see [`write_vector`].
///
/// # Errors
/// The errors of `writer`.
///
/// # Example
/// ```
/// let mut text = Vec::new();
/// gpu_sparse::io::write_vector_to(&mut text, &[1.0, 0.0])?;
/// assert_eq!(text, b"%%MatrixMarket matrix array real general\n2 1\n1e0\n0e0\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_vector_to<'a, T: Scalar>(writer: impl Write, vector: impl Into<ArrayView1<'a, T>>) -> io::Result<()> {
    let vector = vector.into();
    let mut out = BufWriter::with_capacity(BUFFER, writer);
    writeln!(out, "%%MatrixMarket matrix array real general\n{} 1", vector.len())?;
    for &value in vector.iter() {
        write_value(&mut out, value)?;
    }
    out.flush()
}

/// Options for writing a matrix: comments, and symmetric files.
///
/// # Example
/// ```
/// use gpu_sparse::{CooMatrix, io::MatrixMarketWriter};
///
/// let a = CooMatrix::from_triplets(2, 2, vec![0, 1, 0], vec![0, 0, 1], vec![4.0, -1.0, -1.0])?;
/// let mut text = Vec::new();
/// MatrixMarketWriter::new().comment("a spring").detect_symmetry().write_to(&mut text, &a)?;
/// let want = "%%MatrixMarket matrix coordinate real symmetric\n% a spring\n2 2 2\n1 1 4e0\n2 1 -1e0\n";
/// assert_eq!(String::from_utf8(text)?, want);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MatrixMarketWriter {
    comment: String,
    detects_symmetry: bool,
}

impl MatrixMarketWriter {
    /// No comment, and every matrix written in full.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a comment below the banner; each of its lines becomes a line that starts with `% `.
    #[must_use]
    pub fn comment(mut self, text: impl Into<String>) -> Self {
        self.comment = text.into();
        self
    }

    /// Writes only the lower triangle of a matrix that is exactly symmetric: square, and with each entry below the
    /// diagonal its equal, to the bit, above it. Any other matrix is written in full.
    ///
    /// Costs a sort of the off-diagonal entries and 16 bytes of memory for each.
    #[must_use]
    pub fn detect_symmetry(mut self) -> Self {
        self.detects_symmetry = true;
        self
    }

    /// Writes to a file; see [`write_matrix_market_coo`].
    ///
    /// # Errors
    /// The errors of [`write_matrix_market_coo`].
    pub fn write<T: Scalar>(&self, path: impl AsRef<Path>, matrix: &CooMatrix<T>) -> Result<()> {
        replace_file(path.as_ref(), |file| self.write_to(file, matrix))
    }

    /// Writes to a writer; see [`write_matrix_market_coo_to`].
    ///
    /// # Errors
    /// The errors of `writer`.
    pub fn write_to<T: Scalar>(&self, writer: impl Write, matrix: &CooMatrix<T>) -> io::Result<()> {
        let (rows, cols, values) = (matrix.row_indices(), matrix.col_indices(), matrix.values());
        let entries = rows.iter().zip(cols).zip(values).map(|((&row, &col), &value)| (row, col, value));
        self.write_entries(writer, matrix.rows(), matrix.cols(), entries)
    }

    /// Writes the entries (from 0) of a matrix in any format, in one pass or two.
    pub(crate) fn write_entries<T: Scalar>(
        &self,
        writer: impl Write,
        rows: usize,
        cols: usize,
        entries: impl Iterator<Item = (u32, u32, T)> + Clone,
    ) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(BUFFER, writer);
        let symmetric = self.detects_symmetry && rows == cols && is_symmetric(entries.clone());
        let written = || entries.clone().filter(|(row, col, _)| !symmetric || row >= col);
        let symmetry = if symmetric { "symmetric" } else { "general" };
        writeln!(out, "%%MatrixMarket matrix coordinate real {symmetry}")?;
        // A carriage return alone would end the comment for some readers.
        for line in self.comment.split(['\n', '\r']).filter(|line| !line.is_empty()) {
            writeln!(out, "% {line}")?;
        }
        writeln!(out, "{rows} {cols} {}", written().count())?;
        for (row, col, value) in written() {
            write!(out, "{} {} ", u64::from(row) + 1, u64::from(col) + 1)?;
            write_value(&mut out, value)?;
        }
        out.flush()
    }
}

const BUFFER: usize = 128 << 10;

/// `{:e}` is the shortest text that reads back to the same number.
fn write_value<T: Scalar>(out: &mut impl Write, value: T) -> io::Result<()> {
    if value.is_finite() {
        writeln!(out, "{value:e}")
    } else if value.is_nan() {
        writeln!(out, "nan")
    } else {
        writeln!(out, "{}", if value > T::zero() { "inf" } else { "-inf" })
    }
}

/// Do the entries below the diagonal mirror those above it, bit by bit? Duplicates must have duplicates to mirror them.
fn is_symmetric<T: Scalar>(entries: impl Iterator<Item = (u32, u32, T)>) -> bool {
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    for (row, col, value) in entries {
        let bits = value.to_f64().to_bits();
        match row.cmp(&col) {
            std::cmp::Ordering::Greater => lower.push((row, col, bits)),
            std::cmp::Ordering::Less => upper.push((col, row, bits)),
            std::cmp::Ordering::Equal => {}
        }
    }
    if lower.len() != upper.len() {
        return false;
    }
    lower.sort_unstable();
    upper.sort_unstable();
    lower == upper
}
