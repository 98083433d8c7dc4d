//! The banner and the line of sizes.

use super::lines::{Line, Lines};
use super::number::{NumberWords, parse_digits};
use crate::error::{MatrixMarketError, MatrixMarketErrorKind as Kind, excerpt};

/// How a file lists its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatrixMarketFormat {
    /// One line for each stored entry: row, column, value.
    Coordinate,
    /// One line for each place of the matrix, column by column.
    Array,
}

/// The type of a file's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatrixMarketField {
    /// Real numbers (`real`, and SciPy's `double`).
    Real,
    /// Whole numbers (`integer`, and SciPy's `unsigned-integer`).
    Integer,
    /// No values: each entry stands for 1.
    Pattern,
}

/// The part of the matrix that a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatrixMarketSymmetry {
    /// All of it.
    General,
    /// The lower triangle with the diagonal; `a[j][i] = a[i][j]`.
    Symmetric,
    /// The lower triangle without the diagonal; `a[j][i] = -a[i][j]`.
    SkewSymmetric,
}

impl MatrixMarketSymmetry {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Symmetric => "symmetric",
            Self::SkewSymmetric => "skew-symmetric",
        }
    }
}

/// The contents of a file's banner and line of sizes; from [`read_header`](super::read_header).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MatrixMarketHeader {
    /// How the entries are listed.
    pub format: MatrixMarketFormat,
    /// The type of the values.
    pub field: MatrixMarketField,
    /// The part of the matrix that the file holds.
    pub symmetry: MatrixMarketSymmetry,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Entries that the file promises, one a line. A symmetric file stands for up to twice as many.
    pub entries: u64,
    /// The line of sizes.
    pub(super) size_line: u64,
}

const COORDINATE_SIZES: &str = "rows columns entries";
const ARRAY_SIZES: &str = "rows columns";

impl MatrixMarketHeader {
    /// Reads up to and with the line of sizes.
    pub(super) fn read(lines: &mut Lines<'_>) -> Result<Self, MatrixMarketError> {
        let Some(line) = lines.next_line()? else {
            return Err(lines.error_at_end(Kind::NotABanner { found: String::new() }));
        };
        let (format, field, symmetry) = read_banner(line.bytes).map_err(|kind| line.error(kind))?;
        let Some(line) = lines.next_content()? else {
            let expected = if format == MatrixMarketFormat::Array { ARRAY_SIZES } else { COORDINATE_SIZES };
            return Err(lines.error_at_end(Kind::MissingSizes { expected }));
        };
        Self::with_sizes(format, field, symmetry, line).map_err(|kind| line.error(kind))
    }

    fn with_sizes(
        format: MatrixMarketFormat,
        field: MatrixMarketField,
        symmetry: MatrixMarketSymmetry,
        line: Line<'_>,
    ) -> Result<Self, Kind> {
        let mut words = NumberWords::new(line.bytes);
        let rows = read_size(&mut words, "rows", u32::MAX.into())?;
        let cols = read_size(&mut words, "columns", u32::MAX.into())?;
        if rows != cols && symmetry != MatrixMarketSymmetry::General {
            return Err(Kind::NotSquare { symmetry: symmetry.name(), rows, cols });
        }
        let entries = match format {
            MatrixMarketFormat::Coordinate => read_size(&mut words, "entries", u64::MAX)?,
            MatrixMarketFormat::Array => match symmetry {
                // Both sides are below 2^32, so no product overflows.
                MatrixMarketSymmetry::General => rows * cols,
                MatrixMarketSymmetry::Symmetric => rows * (rows + 1) / 2,
                MatrixMarketSymmetry::SkewSymmetric => rows * rows.saturating_sub(1) / 2,
            },
        };
        words.finish(if format == MatrixMarketFormat::Array { "number of columns" } else { "number of entries" })?;
        let (rows, cols) = (rows as usize, cols as usize);
        Ok(Self { format, field, symmetry, rows, cols, entries, size_line: line.number })
    }
}

type Banner = (MatrixMarketFormat, MatrixMarketField, MatrixMarketSymmetry);

fn read_banner(line: &[u8]) -> Result<Banner, Kind> {
    let mut words = NumberWords::new(line);
    if !words.next_word().eq_ignore_ascii_case(b"%%MatrixMarket") {
        return Err(Kind::NotABanner { found: excerpt(line) });
    }
    if line.contains(&b'\r') {
        return Err(Kind::BareCarriageReturn);
    }
    banner_word(&mut words, "object", "\"matrix\"", &[("matrix", ())])?;
    let format = banner_word(
        &mut words,
        "format",
        "\"coordinate\" or \"array\"",
        &[("coordinate", MatrixMarketFormat::Coordinate), ("array", MatrixMarketFormat::Array)],
    )?;
    let field = banner_word(
        &mut words,
        "field",
        "\"real\", \"integer\" or \"pattern\"",
        &[
            ("real", MatrixMarketField::Real),
            ("double", MatrixMarketField::Real),
            ("integer", MatrixMarketField::Integer),
            ("unsigned-integer", MatrixMarketField::Integer),
            ("pattern", MatrixMarketField::Pattern),
        ],
    )?;
    let symmetry = banner_word(
        &mut words,
        "symmetry",
        "\"general\", \"symmetric\" or \"skew-symmetric\"",
        &[
            ("general", MatrixMarketSymmetry::General),
            ("symmetric", MatrixMarketSymmetry::Symmetric),
            ("skew-symmetric", MatrixMarketSymmetry::SkewSymmetric),
        ],
    )?;
    words.finish("symmetry")?;
    refuse_contradiction(format, field, symmetry)?;
    Ok((format, field, symmetry))
}

/// The meaning of the next word of the banner; upper and lower case are the same.
fn banner_word<M: Copy>(
    words: &mut NumberWords<'_>,
    word: &'static str,
    supported: &'static str,
    meanings: &[(&str, M)],
) -> Result<M, Kind> {
    let found = words.next_word();
    if found.is_empty() {
        return Err(Kind::IncompleteBanner { missing: word });
    }
    match meanings.iter().find(|(name, _)| found.eq_ignore_ascii_case(name.as_bytes())) {
        Some(&(_, meaning)) => Ok(meaning),
        None => Err(Kind::Unsupported { word, found: excerpt(found), supported }),
    }
}

fn refuse_contradiction(
    format: MatrixMarketFormat,
    field: MatrixMarketField,
    symmetry: MatrixMarketSymmetry,
) -> Result<(), Kind> {
    if field != MatrixMarketField::Pattern {
        return Ok(());
    }
    if format == MatrixMarketFormat::Array {
        return Err(Kind::Contradiction {
            first: "array",
            second: "pattern",
            reason: "an array lists values, and a pattern has none",
        });
    }
    if symmetry == MatrixMarketSymmetry::SkewSymmetric {
        return Err(Kind::Contradiction {
            first: "pattern",
            second: "skew-symmetric",
            reason: "entries without values have no sign",
        });
    }
    Ok(())
}

fn read_size(words: &mut NumberWords<'_>, size: &'static str, limit: u64) -> Result<u64, Kind> {
    let word = words.next_word();
    match parse_digits(word) {
        Some(value) if value <= limit => Ok(value),
        None if word.is_empty() => Err(Kind::MissingNumber { number: size_name(size) }),
        None if !word.iter().all(u8::is_ascii_digit) => Err(Kind::InvalidSize { size, found: excerpt(word) }),
        _ => Err(Kind::TooLarge { size, found: excerpt(word), limit }),
    }
}

fn size_name(size: &'static str) -> &'static str {
    match size {
        "rows" => "number of rows",
        "columns" => "number of columns",
        _ => "number of entries",
    }
}
