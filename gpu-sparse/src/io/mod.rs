//! Matrix Market files: reading and writing matrices and vectors.
//!
//! | | read | written |
//! |---|---|---|
//! | formats | `coordinate`, `array` | matrices as `coordinate`, vectors as `array` |
//! | fields | `real` (also `double`), `integer` (also `unsigned-integer`), `pattern` | `real` |
//! | symmetries | `general`, `symmetric`, `skew-symmetric` | `general`; `symmetric` on [request](MatrixMarketWriter) |
//! | compression | gzip, recognised by its first bytes, several members too | gzip when the path ends in `.gz` |
//!
//! # Text that is accepted
//! - The banner is the first line, its words in upper or lower case. Behind it, comments (lines that start with `%`) and
//!   blank lines may stand anywhere. Lines end in LF or CRLF; blanks and tabs separate words.
//! - A real value is any number that Rust's `f64::from_str` takes, correctly rounded, also with a `D` in place of the `E`. `nan`,
//!   `inf` and `infinity`, with a sign or not, in any case, mean NaN and infinity; a finite value that would round to an infinity
//!   is an error. One too close to zero becomes zero.
//! - A whole number is rounded once to the nearest value: exact up to 2^53 for f64, 2^24 for f32. Entries of a pattern are 1.
//! - Entries may come in any order. Duplicates mean their sum and explicit zeros are kept.
//! - A symmetric file holds the lower triangle, a skew-symmetric one without the diagonal; an array of these kinds lists it
//!   column by column.
//!
//! # Text that is refused
//! All other text, with the line and the mistake on it: an index outside the matrix, missing or extra entries, text behind an
//! entry, an upper entry in a symmetric file, a complex field, a wrong banner, more than 2^32 - 1 rows or columns, a line
//! longer than 1 MiB, damaged compression. No text makes the reader panic, and memory grows with the bytes read, never with
//! the numbers in a header.
//!
//! # Source
//! R. Boisvert, R. Pozo, K. Remington: The Matrix Market exchange formats: initial design, NISTIR 5935, 1996. Deviations:
//! numbers written with `D`, `nan` and `inf`, comments among the entries, and `double` and `unsigned-integer` are accepted too.

mod entries;
mod header;
mod lines;
mod number;
mod read;
mod replace;
mod vector;
mod write;

pub use crate::error::{MatrixMarketError, MatrixMarketErrorKind};
pub use header::{MatrixMarketField, MatrixMarketFormat, MatrixMarketHeader, MatrixMarketSymmetry};
pub use read::{
    parse_header, parse_matrix_market, parse_matrix_market_coo, read_header, read_matrix_market, read_matrix_market_coo,
};
pub use vector::{parse_vector, read_vector};
pub use write::{
    MatrixMarketWriter, write_matrix_market, write_matrix_market_coo, write_matrix_market_coo_to, write_vector,
    write_vector_to,
};
