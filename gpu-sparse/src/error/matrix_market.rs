//! The mistakes of a Matrix Market text, and their lines.

use std::fmt;
use std::path::{Path, PathBuf};

/// A Matrix Market text that cannot be read: the mistake, and its line.
///
/// The line counts from 1 in the decompressed text. Anything missing at the end of a text is reported on its last line.
///
/// ```
/// use gpu_sparse::{SparseError, io};
///
/// let text = "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 5.0\n";
/// let Err(SparseError::MatrixMarket(error)) = io::parse_matrix_market_coo::<f64>(text.as_bytes()) else { panic!() };
/// assert_eq!(error.line, 3);
/// assert_eq!(error.to_string(), "line 3: entry (3, 1) lies outside this 2 x 2 matrix; rows and columns count from 1");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct MatrixMarketError {
    /// The file, when the text came from one.
    pub path: Option<PathBuf>,
    /// Line in the decompressed text, from 1.
    pub line: u64,
    /// The mistake on that line.
    pub kind: MatrixMarketErrorKind,
}

impl MatrixMarketError {
    pub(crate) fn new(line: u64, kind: MatrixMarketErrorKind) -> Self {
        Self { path: None, line, kind }
    }

    pub(crate) fn in_file(self, path: &Path) -> Self {
        Self { path: Some(path.to_owned()), ..self }
    }
}

impl fmt::Display for MatrixMarketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        write!(f, "line {}: {}", self.line, self.kind)
    }
}

impl std::error::Error for MatrixMarketError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.kind.source()
    }
}

/// The ways in which a Matrix Market text can be wrong.
///
/// Pieces of the text (`found`) are cut after 40 bytes, with control characters and bytes beyond ASCII escaped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MatrixMarketErrorKind {
    /// The first line is not a Matrix Market banner.
    #[error(
        "this is no Matrix Market text: the first line starts with \"{found}\", \
         but should read like \"%%MatrixMarket matrix coordinate real general\""
    )]
    NotABanner {
        /// How the line starts.
        found: String,
    },
    /// The banner ends too early.
    #[error(
        "the banner ends before its {missing}; it should read like \"%%MatrixMarket matrix coordinate real general\""
    )]
    IncompleteBanner {
        /// The first word that is not there.
        missing: &'static str,
    },
    /// The lines end in a carriage return without a line feed, as on computers before 2001.
    #[error("the lines end in carriage returns alone; convert the text to line feeds (or CRLF) first")]
    BareCarriageReturn,
    /// A word of the banner is unknown or not supported here.
    #[error("the {word} \"{found}\" is not supported; it should be {supported}")]
    Unsupported {
        /// The word's role: `object`, `format`, `field` or `symmetry`.
        word: &'static str,
        /// The word in the banner.
        found: String,
        /// The words that work.
        supported: &'static str,
    },
    /// Two words of the banner exclude each other.
    #[error("a matrix cannot be both \"{first}\" and \"{second}\": {reason}")]
    Contradiction {
        /// The one word.
        first: &'static str,
        /// The other.
        second: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// The text ends before the line with the sizes.
    #[error("the text ends before the line with the sizes, which should read \"{expected}\"")]
    MissingSizes {
        /// The sizes that the line should hold.
        expected: &'static str,
    },
    /// A size is not a whole number.
    #[error("\"{found}\" is not a number of {size}; a whole number, 0 or more, is needed")]
    InvalidSize {
        /// The size: `rows`, `columns` or `entries`.
        size: &'static str,
        /// The word in the text.
        found: String,
    },
    /// A size is more than this crate can hold.
    #[error("the number of {size} is {found}, more than the {limit} that fit")]
    TooLarge {
        /// The size: `rows`, `columns` or `entries`.
        size: &'static str,
        /// The word in the text.
        found: String,
        /// The largest size that works.
        limit: u64,
    },
    /// A symmetric or skew-symmetric matrix has to be square.
    #[error("a {symmetry} matrix must be square, but this one is {rows} x {cols}")]
    NotSquare {
        /// The symmetry in the banner.
        symmetry: &'static str,
        /// Rows in the line of sizes.
        rows: u64,
        /// Columns in the line of sizes.
        cols: u64,
    },
    /// A line ends too early.
    #[error("the line ends before the {number}")]
    MissingNumber {
        /// The number that should follow.
        number: &'static str,
    },
    /// A line goes on after all it should hold.
    #[error("\"{found}\" follows after the {after}, where the line should end")]
    ExtraText {
        /// The last thing that belongs on the line.
        after: &'static str,
        /// The text that follows.
        found: String,
    },
    /// A row or column index is not a whole number.
    #[error("\"{found}\" is not a {index}; a whole number from 1 up to the size of the matrix is needed")]
    InvalidIndex {
        /// `row index` or `column index`.
        index: &'static str,
        /// The word in the text.
        found: String,
    },
    /// An entry lies outside the matrix.
    #[error("entry ({row}, {col}) lies outside this {rows} x {cols} matrix; rows and columns count from 1")]
    IndexOutOfRange {
        /// Row as it stands in the text (from 1).
        row: u64,
        /// Column as it stands in the text (from 1).
        col: u64,
        /// Rows of the matrix.
        rows: u64,
        /// Columns of the matrix.
        cols: u64,
    },
    /// A value is not a number of the banner's field.
    #[error("\"{found}\" is not a {expected}")]
    InvalidValue {
        /// The kind of number that the field calls for: `real number` or `whole number`.
        expected: &'static str,
        /// The word in the text.
        found: String,
    },
    /// A finite value is too large for the element type: it would become an infinity.
    #[error("{found} is too large for {element}; only \"inf\" stands for infinity")]
    ValueOverflow {
        /// The word in the text.
        found: String,
        /// The element type.
        element: &'static str,
    },
    /// A symmetric or skew-symmetric file holds an entry above the diagonal.
    #[error("entry ({row}, {col}) lies above the diagonal; a {symmetry} file holds the lower triangle only")]
    UpperEntry {
        /// The symmetry in the banner.
        symmetry: &'static str,
        /// Row (from 1).
        row: u64,
        /// Column (from 1).
        col: u64,
    },
    /// A skew-symmetric file holds a diagonal entry.
    #[error("entry ({row}, {row}) lies on the diagonal, which is zero in a skew-symmetric matrix and is not written")]
    SkewDiagonal {
        /// Row and column (from 1).
        row: u64,
    },
    /// The text ends before all promised entries.
    #[error("the text ends after {got} entries, but the line of sizes promised {expected}")]
    MissingEntries {
        /// Entries that the sizes promised.
        expected: u64,
        /// Entries that are there.
        got: u64,
    },
    /// The text goes on after the last promised entry.
    #[error("\"{found}\" stands after the last of the {expected} entries that the line of sizes promised")]
    ExtraEntry {
        /// Entries that the sizes promised.
        expected: u64,
        /// How the line starts.
        found: String,
    },
    /// A line is longer than any sensible one.
    #[error("the line is longer than {limit} bytes")]
    LineTooLong {
        /// The longest line that is read, in bytes.
        limit: usize,
    },
    /// A right-hand side was asked for, and the file holds a matrix.
    #[error("a vector (n x 1 or 1 x n) was asked for, but this is a {rows} x {cols} matrix")]
    NotAVector {
        /// Rows of the matrix.
        rows: u64,
        /// Columns of the matrix.
        cols: u64,
    },
    /// So few entries for so many rows that memory for each row would come from the header alone.
    #[error(
        "{rows} rows with {entries} entries would take memory for each row that the text does not back; \
         if the sizes are right, read it with `read_matrix_market_coo`, which needs none"
    )]
    ImplausibleRows {
        /// Rows in the line of sizes.
        rows: u64,
        /// Stored entries.
        entries: u64,
    },
    /// The system refused memory for the entries.
    #[error("out of memory after {entries} entries: {bytes} bytes for more of them were refused")]
    OutOfMemory {
        /// Entries that are held.
        entries: u64,
        /// Bytes that were asked for.
        bytes: u64,
    },
    /// Reading failed while at this line: the file, or its compression, is damaged or cut off.
    #[error("reading stopped here: {0}")]
    Read(#[source] std::io::Error),
}

/// The start of a piece of text, fit for a message.
pub(crate) fn excerpt(text: &[u8]) -> String {
    const LONGEST: usize = 40;
    let cut = if text.len() > LONGEST { "..." } else { "" };
    format!("{}{cut}", text[..text.len().min(LONGEST)].escape_ascii())
}
