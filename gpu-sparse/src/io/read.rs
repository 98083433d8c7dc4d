//! From text to triplets.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::{CooMatrix, CsrMatrix, Result, Scalar, SparseError};

use super::entries::Entries;
use super::header::{MatrixMarketField, MatrixMarketFormat, MatrixMarketHeader, MatrixMarketSymmetry};
use super::lines::{Line, Lines};
use super::number::{NumberWords, parse_digits, parse_integer, parse_real};
use crate::error::{MatrixMarketError, MatrixMarketErrorKind as Kind, excerpt};

/// Reads a Matrix Market file, compressed with gzip or not, ready for products.
///
/// Duplicates are summed and explicit zeros kept; see [`read_matrix_market_coo`] for the rest.
///
/// # Errors
/// The errors of [`read_matrix_market_coo`]; also `ImplausibleRows` when the rows exceed 2^20 + 16 times the entries, because the
/// memory for the row starts would come from the header alone; `OutOfMemory`, `Threads`.
#[doc(alias = "mmread")]
pub fn read_matrix_market<T: Scalar>(path: impl AsRef<Path>) -> Result<CsrMatrix<T>> {
    with_file(path.as_ref(), |file| parse_matrix_market(file))
}

/// Reads Matrix Market text, compressed with gzip or not, ready for products; see [`read_matrix_market`].
///
/// # Errors
/// The errors of [`read_matrix_market`], without those of opening a file.
pub fn parse_matrix_market<T: Scalar>(reader: impl Read) -> Result<CsrMatrix<T>> {
    let document = Document::parse(reader, ArrayZeros::Drop)?;
    document.check_rows_plausible(document.header.rows)?;
    document.into_coo()?.try_to_csr()
}

/// Reads a Matrix Market file, compressed with gzip or not, as triplets.
///
/// A `symmetric` or `skew-symmetric` file is expanded to both triangles. The triplets keep the file's order (each followed
/// by its mirror image), its duplicates, which mean their sum, and its explicit zeros. Of an `array` file the nonzero
/// values become entries; NaN is one of them. See the [module](super) for the text that is accepted and refused.
///
/// # Cost
/// One pass over the text on one core, 300 to 500 MB/s of it (measured). Memory grows with the entries found, never with the numbers in
/// the header: 16 bytes an entry (12 for f32) when done, at most twice that on the way, and 3 MiB of buffers.
///
/// # Errors
/// `File` when the file cannot be opened; [`MatrixMarket`](SparseError::MatrixMarket) with the file, the line and the
/// [kind](super::MatrixMarketErrorKind) of mistake for all that goes wrong later, memory that the system refuses among it.
///
/// # Example
/// ```
/// use gpu_sparse::{CooMatrix, io};
///
/// let path = std::env::temp_dir().join(format!("coo-{}.mtx.gz", std::process::id()));
/// let a = CooMatrix::from_triplets(2, 3, vec![0, 1], vec![0, 2], vec![1.5, -2.0])?;
/// io::write_matrix_market_coo(&path, &a)?;
/// assert_eq!(io::read_matrix_market_coo::<f64>(&path)?, a);
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
pub fn read_matrix_market_coo<T: Scalar>(path: impl AsRef<Path>) -> Result<CooMatrix<T>> {
    with_file(path.as_ref(), |file| parse_matrix_market_coo(file))
}

/// Reads Matrix Market text, compressed with gzip or not, as triplets; see [`read_matrix_market_coo`].
///
/// It reads in large pieces by itself: the reader need not be buffered.
///
/// # Errors
/// [`MatrixMarket`](SparseError::MatrixMarket) with the line and the [kind](super::MatrixMarketErrorKind) of mistake.
///
/// # Example
/// ```
/// let text = "%%MatrixMarket matrix coordinate real symmetric\n% a comment\n2 2 2\n1 1 4.0\n2 1 -1.0D0\n";
/// let a = gpu_sparse::io::parse_matrix_market_coo::<f64>(text.as_bytes())?;
/// assert_eq!((a.row_indices(), a.col_indices()), (&[0, 1, 0][..], &[0, 0, 1][..]));
/// assert_eq!(a.values(), [4.0, -1.0, -1.0]);
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
pub fn parse_matrix_market_coo<T: Scalar>(reader: impl Read) -> Result<CooMatrix<T>> {
    Document::parse(reader, ArrayZeros::Drop)?.into_coo()
}

/// Reads the banner and the sizes of a file and nothing after them, like `scipy.io.mminfo`.
///
/// # Errors
/// The errors of [`read_matrix_market_coo`], for the lines it reads.
///
/// # Example
/// ```
/// use gpu_sparse::io;
///
/// let path = std::env::temp_dir().join(format!("header-{}.mtx", std::process::id()));
/// io::write_vector(&path, &[1.0, 2.0, 3.0])?;
/// let header = io::read_header(&path)?;
/// assert_eq!((header.rows, header.cols, header.entries), (3, 1, 3));
/// assert_eq!(header.format, io::MatrixMarketFormat::Array);
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
pub fn read_header(path: impl AsRef<Path>) -> Result<MatrixMarketHeader> {
    with_file(path.as_ref(), parse_header)
}

/// Reads the banner and the sizes of a text; see [`read_header`].
///
/// # Errors
/// The errors of [`parse_matrix_market_coo`], for the lines it reads.
///
/// # Example
/// ```
/// let text = "%%MatrixMarket matrix array integer skew-symmetric\n4 4\n";
/// assert_eq!(gpu_sparse::io::parse_header(text.as_bytes())?.entries, 6);
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
pub fn parse_header(reader: impl Read) -> Result<MatrixMarketHeader> {
    Ok(MatrixMarketHeader::read(&mut Lines::new(reader)?)?)
}

/// Opens a file, and names it in the errors of the text in it.
pub(super) fn with_file<R>(path: &Path, parse: impl FnOnce(File) -> Result<R>) -> Result<R> {
    let file = File::open(path).map_err(|source| SparseError::File { path: path.to_owned(), source })?;
    parse(file).map_err(|error| match error {
        SparseError::MatrixMarket(error) => error.in_file(path).into(),
        other => other,
    })
}

/// The treatment of the zeros in an array file.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum ArrayZeros {
    Keep,
    Drop,
}

/// A text read to its end.
pub(super) struct Document<T> {
    pub(super) header: MatrixMarketHeader,
    pub(super) entries: Entries<T>,
}

impl<T: Scalar> Document<T> {
    pub(super) fn parse(reader: impl Read, zeros: ArrayZeros) -> Result<Self> {
        let mut lines = Lines::new(reader)?;
        let header = MatrixMarketHeader::read(&mut lines)?;
        // One loop for each field: the parsers are inlined.
        let entries = match header.field {
            MatrixMarketField::Real => read_body(&mut lines, &header, zeros, |words| parse_real(words.next_word())),
            MatrixMarketField::Integer => {
                read_body(&mut lines, &header, zeros, |words| parse_integer(words.next_word()))
            }
            MatrixMarketField::Pattern => read_body(&mut lines, &header, zeros, |_| Ok(T::one())),
        }?;
        Ok(Self { header, entries })
    }

    pub(super) fn into_coo(self) -> Result<CooMatrix<T>> {
        self.entries.into_coo(self.header.rows, self.header.cols)
    }

    /// Refuses sizes that would make memory for each row (row starts, a dense vector) a gift of the header.
    pub(super) fn check_rows_plausible(&self, rows: usize) -> Result<()> {
        let (rows, entries) = (rows as u64, self.entries.len() as u64);
        if rows > (1 << 20) + 16 * entries {
            return Err(MatrixMarketError::new(self.header.size_line, Kind::ImplausibleRows { rows, entries }).into());
        }
        Ok(())
    }
}

/// Reads all entries, and makes sure that the text ends behind them.
fn read_body<T: Scalar>(
    lines: &mut Lines<'_>,
    header: &MatrixMarketHeader,
    zeros: ArrayZeros,
    value: impl Fn(&mut NumberWords<'_>) -> Result<T, Kind>,
) -> Result<Entries<T>, MatrixMarketError> {
    let mut entries = Entries::new(header.symmetry, header.entries);
    match header.format {
        MatrixMarketFormat::Coordinate => for_each_entry(lines, header.entries, |line| {
            let (row, col, value) = parse_triplet(line.bytes, header, &value)?;
            entries.push(row, col, value)
        })?,
        MatrixMarketFormat::Array => {
            let mut place = Position::first(header);
            for_each_entry(lines, header.entries, |line| {
                let mut words = NumberWords::new(line.bytes);
                let value = value(&mut words)?;
                words.finish("value")?;
                if zeros == ArrayZeros::Keep || value != T::zero() {
                    entries.push(place.row, place.col, value)?;
                }
                place.advance();
                Ok(())
            })?;
        }
    }
    Ok(entries)
}

/// Hands each line with an entry to `take`; there must be exactly as many as promised.
fn for_each_entry(
    lines: &mut Lines<'_>,
    expected: u64,
    mut take: impl FnMut(Line<'_>) -> Result<(), Kind>,
) -> Result<(), MatrixMarketError> {
    let mut got = 0;
    while let Some(line) = lines.next_content()? {
        if got == expected {
            return Err(line.error(Kind::ExtraEntry { expected, found: excerpt(line.bytes) }));
        }
        take(line).map_err(|kind| line.error(kind))?;
        got += 1;
    }
    if got < expected {
        return Err(lines.error_at_end(Kind::MissingEntries { expected, got }));
    }
    Ok(())
}

/// One line of a coordinate file, its indices checked and counted from 0.
#[inline]
fn parse_triplet<T: Scalar>(
    line: &[u8],
    header: &MatrixMarketHeader,
    value: impl Fn(&mut NumberWords<'_>) -> Result<T, Kind>,
) -> Result<(u32, u32, T), Kind> {
    let mut words = NumberWords::new(line);
    let row = parse_index(&mut words, "row index")?;
    let col = parse_index(&mut words, "column index")?;
    let value = value(&mut words)?;
    words.finish(if header.field == MatrixMarketField::Pattern { "column index" } else { "value" })?;
    check_place(row, col, header)?;
    // The sizes fit u32, and the indices lie within them.
    Ok(((row - 1) as u32, (col - 1) as u32, value))
}

#[inline]
fn parse_index(words: &mut NumberWords<'_>, index: &'static str) -> Result<u64, Kind> {
    let word = words.next_word();
    match parse_digits(word) {
        Some(index) => Ok(index),
        None if word.is_empty() => Err(Kind::MissingNumber { number: index }),
        None => Err(Kind::InvalidIndex { index, found: excerpt(word) }),
    }
}

/// May this entry (from 1) stand in a file with this header?
#[inline]
fn check_place(row: u64, col: u64, header: &MatrixMarketHeader) -> Result<(), Kind> {
    let (rows, cols) = (header.rows as u64, header.cols as u64);
    if row == 0 || row > rows || col == 0 || col > cols {
        return Err(Kind::IndexOutOfRange { row, col, rows, cols });
    }
    match header.symmetry {
        MatrixMarketSymmetry::General => Ok(()),
        MatrixMarketSymmetry::SkewSymmetric if row == col => Err(Kind::SkewDiagonal { row }),
        symmetry if row < col => Err(Kind::UpperEntry { symmetry: symmetry.name(), row, col }),
        _ => Ok(()),
    }
}

/// The place in the matrix of an array file's next value: down the columns, from where the symmetry lets each begin.
struct Position {
    row: u32,
    col: u32,
    rows: u32,
    symmetry: MatrixMarketSymmetry,
}

impl Position {
    fn first(header: &MatrixMarketHeader) -> Self {
        let mut place = Self { row: 0, col: 0, rows: header.rows as u32, symmetry: header.symmetry };
        place.row = place.top();
        place
    }

    fn top(&self) -> u32 {
        match self.symmetry {
            MatrixMarketSymmetry::General => 0,
            MatrixMarketSymmetry::Symmetric => self.col,
            MatrixMarketSymmetry::SkewSymmetric => self.col + 1,
        }
    }

    /// Only called behind a value, so there is a row, and no column beyond the last but one past it.
    fn advance(&mut self) {
        self.row += 1;
        if self.row == self.rows {
            self.col += 1;
            self.row = self.top();
        }
    }
}
