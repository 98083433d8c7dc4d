//! What must be refused, and in which words.

use std::collections::BTreeSet;
use std::io::{self, Read};

use gpu_sparse::SparseError;
use gpu_sparse::io::{
    MatrixMarketErrorKind as Kind, parse_header, parse_matrix_market_coo, parse_vector, read_matrix_market_coo,
};

use super::{file_name, files, malformed_text};

/// Each file in `tests/malformed`, the line of its mistake, and a part of what must be said about it.
#[rustfmt::skip]
const MALFORMED: &[(&str, u64, &str)] = &[
    ("empty.mtx", 1, "starts with \"\""),
    ("banner_missing.mtx", 1, "starts with \"2 2 1\""),
    ("banner_mtx.mtx", 1, "\"%MTX matrix"),
    ("banner_one_percent.mtx", 1, "no Matrix Market text"),
    ("banner_on_line_2.mtx", 1, "starts with \"\""),
    ("banner_after_comment.mtx", 1, "starts with \"% a comment\""),
    ("banner_misspelt.mtx", 1, "%%MatrixMarkt"),
    ("banner_glued.mtx", 1, "no Matrix Market text"),
    ("banner_byte_order_mark.mtx", 1, "\\xef\\xbb\\xbf%%MatrixMarket"),
    ("banner_utf16.mtx", 1, "\\xff\\xfe%\\x00%"),
    ("banner_harwell_boeing.mtx", 1, "1138_BUS  ADMITTANCE MATRIX 1138 BUS POW..."),
    ("banner_binary.mtx", 1, "\\x00\\x01\\x02"),
    ("banner_only_magic.mtx", 1, "ends before its object"),
    ("banner_no_format.mtx", 1, "ends before its format"),
    ("banner_no_field.mtx", 1, "ends before its field"),
    ("banner_no_symmetry.mtx", 1, "ends before its symmetry"),
    ("banner_six_words.mtx", 1, "\"sparse\" follows after the symmetry"),
    ("banner_vector_object.mtx", 1, "the object \"vector\" is not supported"),
    ("banner_unknown_format.mtx", 1, "the format \"csr\" is not supported"),
    ("banner_complex.mtx", 1, "the field \"complex\" is not supported; it should be \"real\""),
    ("banner_complex_hermitian.mtx", 1, "the field \"complex\""),
    ("banner_real_hermitian.mtx", 1, "the symmetry \"hermitian\" is not supported"),
    ("banner_unknown_field.mtx", 1, "the field \"quaternion\""),
    ("banner_unknown_symmetry.mtx", 1, "the symmetry \"upper\""),
    ("banner_array_pattern.mtx", 1, "both \"array\" and \"pattern\""),
    ("banner_pattern_skew.mtx", 1, "both \"pattern\" and \"skew-symmetric\""),
    ("banner_without_line_feed.mtx", 1, "ends before the line with the sizes, which should read \"rows columns entries\""),
    ("line_ends_cr_only.mtx", 1, "carriage returns alone"),
    ("line_ends_cr_inside_entry.mtx", 3, "\"5.0\\r2\" is not a real number"),
    ("line_ends_crlf_bad_index.mtx", 6, "entry (3, 2)"),
    ("line_ends_crlf_missing_value.mtx", 3, "ends before the value"),
    ("line_ends_mixed_extra_entry.mtx", 5, "stands after the last of the 1 entries"),
    ("sizes_missing.mtx", 3, "\"rows columns entries\""),
    ("sizes_missing_array.mtx", 1, "\"rows columns\""),
    ("sizes_one_number.mtx", 2, "ends before the number of columns"),
    ("sizes_two_numbers.mtx", 2, "ends before the number of entries"),
    ("sizes_four_numbers.mtx", 2, "\"0\" follows after the number of entries"),
    ("sizes_array_three_numbers.mtx", 2, "\"4\" follows after the number of columns"),
    ("sizes_negative_rows.mtx", 2, "\"-2\" is not a number of rows"),
    ("sizes_negative_entries.mtx", 2, "\"-1\" is not a number of entries"),
    ("sizes_fractional.mtx", 2, "\"2.0\" is not a number of rows"),
    ("sizes_exponent.mtx", 2, "\"1e3\" is not a number of columns"),
    ("sizes_words.mtx", 2, "\"rows\" is not a number of rows"),
    ("sizes_commas.mtx", 2, "\"2,2,1\" is not a number of rows"),
    ("sizes_trailing_comment.mtx", 2, "\"% rows cols nnz\" follows"),
    ("sizes_rows_beyond_u32.mtx", 2, "the number of rows is 4294967296, more than the 4294967295 that fit"),
    ("sizes_cols_beyond_u64.mtx", 2, "the number of columns is 18446744073709551616"),
    ("sizes_entries_beyond_u64.mtx", 2, "the number of entries is 99999999999999999999"),
    ("sizes_symmetric_not_square.mtx", 2, "a symmetric matrix must be square, but this one is 2 x 3"),
    ("sizes_skew_not_square.mtx", 2, "a skew-symmetric matrix must be square"),
    ("sizes_array_symmetric_not_square.mtx", 2, "must be square"),
    ("entries_missing_one.mtx", 4, "ends after 2 entries, but the line of sizes promised 3"),
    ("entries_missing_all.mtx", 4, "ends after 0 entries"),
    ("entries_1e18_promised.mtx", 3, "ends after 1 entries, but the line of sizes promised 1000000000000000000"),
    ("entries_extra_one.mtx", 5, "\"2 2 6.0\" stands after the last of the 1 entries"),
    ("entries_extra_in_empty_matrix.mtx", 3, "stands after the last of the 0 entries"),
    ("entries_extra_garbage.mtx", 4, "\"EOF\" stands after"),
    ("entries_two_matrices.mtx", 4, "\"1 1 1\" stands after"),
    ("entries_truncated_line.mtx", 4, "ends before the column index"),
    ("index_zero_based.mtx", 3, "entry (0, 0) lies outside this 2 x 2 matrix; rows and columns count from 1"),
    ("index_zero_column.mtx", 3, "entry (1, 0)"),
    ("index_row_beyond.mtx", 3, "entry (3, 1)"),
    ("index_column_beyond.mtx", 3, "entry (2, 4) lies outside this 2 x 3"),
    ("index_swapped.mtx", 3, "entry (3, 2) lies outside this 2 x 3"),
    ("index_negative.mtx", 3, "\"-1\" is not a row index"),
    ("index_plus_sign.mtx", 3, "\"+1\" is not a column index"),
    ("index_fractional.mtx", 3, "\"1.5\" is not a column index"),
    ("index_beyond_u64.mtx", 3, "\"18446744073709551617\" is not a row index"),
    ("index_wraps_u32.mtx", 3, "entry (4294967297, 1)"),
    ("index_hexadecimal.mtx", 3, "\"0x10\" is not a row index"),
    ("index_commas.mtx", 3, "\"1,1,5.0\" is not a row index"),
    ("index_arabic_digits.mtx", 3, "\"\\xd9\\xa1\" is not a row index"),
    ("index_no_break_space.mtx", 3, "\"1\\xc2\\xa01\" is not a row index"),
    ("index_nul_byte.mtx", 3, "\"1\\x00\" is not a row index"),
    ("index_after_comments.mtx", 10, "entry (9, 9)"),
    ("value_missing.mtx", 3, "ends before the value"),
    ("value_in_pattern.mtx", 3, "\"1.0\" follows after the column index"),
    ("value_twice.mtx", 3, "\"0.0\" follows after the value"),
    ("value_word.mtx", 3, "\"five\" is not a real number"),
    ("value_decimal_comma.mtx", 3, "\"5,0\" is not a real number"),
    ("value_two_points.mtx", 3, "\"5.0.0\""),
    ("value_empty_exponent.mtx", 3, "\"5.0e\" is not a real number"),
    ("value_empty_d_exponent.mtx", 3, "\"5.0D\" is not a real number"),
    ("value_two_exponents.mtx", 3, "\"5D1D1\""),
    ("value_hexadecimal.mtx", 3, "\"0x1p3\""),
    ("value_overflows.mtx", 3, "1e999 is too large for f64"),
    ("value_overflows_d.mtx", 3, "-1D+400 is too large for f64"),
    ("value_fraction_in_integer.mtx", 3, "\"5.0\" is not a whole number"),
    ("value_nan_in_integer.mtx", 3, "\"nan\" is not a whole number"),
    ("value_not_utf8.mtx", 3, "\"\\xff\\xfe5\" is not a real number"),
    ("value_trailing_comment.mtx", 3, "\"% note\" follows after the value"),
    ("value_long.mtx", 3, "\"5555555555555555555555555555555555555555...\" is not a real number"),
    ("value_integer_overflows.mtx", 3, "is too large for f64"),
    ("symmetric_upper_entry.mtx", 4, "entry (1, 2) lies above the diagonal; a symmetric file"),
    ("symmetric_both_triangles.mtx", 4, "entry (1, 2) lies above the diagonal"),
    ("symmetric_pattern_upper_entry.mtx", 3, "entry (1, 3) lies above the diagonal"),
    ("symmetric_outside.mtx", 3, "lies outside"),
    ("skew_upper_entry.mtx", 3, "a skew-symmetric file holds the lower triangle only"),
    ("skew_diagonal.mtx", 4, "entry (2, 2) lies on the diagonal"),
    ("array_missing_value.mtx", 5, "ends after 3 entries, but the line of sizes promised 4"),
    ("array_extra_value.mtx", 5, "\"3\" stands after the last of the 2 entries"),
    ("array_two_values_on_a_line.mtx", 3, "\"3\" follows after the value"),
    ("array_symmetric_full.mtx", 6, "stands after the last of the 3 entries"),
    ("array_skew_with_diagonal.mtx", 4, "stands after the last of the 1 entries"),
    ("array_huge.mtx", 3, "promised 18446744065119617025"),
    ("array_word.mtx", 4, "\"1.5\" is not a whole number"),
    ("line_too_long.mtx.gz", 2, "longer than 1048576 bytes"),
    ("gzip_only_magic.mtx.gz", 1, "reading stopped here"),
    ("gzip_header_cut.mtx.gz", 1, "reading stopped here"),
    ("gzip_cut.mtx.gz", 3, "reading stopped here"),
    ("gzip_checksum_cut.mtx.gz", 5, "reading stopped here"),
    ("gzip_checksum_wrong.mtx.gz", 5, "reading stopped here"),
    ("gzip_block_type_wrong.mtx.gz", 1, "reading stopped here"),
    ("gzip_trailing_garbage.mtx.gz", 5, "reading stopped here"),
    ("gzip_second_member_cut.mtx.gz", 6, "reading stopped here"),
    ("gzip_twice.mtx.gz", 1, "starts with \"\\x1f\\x8b"),
    ("gzip_bad_entry_inside.mtx.gz", 4, "entry (2, 3)"),
    ("gzip_cut_in_the_middle.mtx.gz", 412, "reading stopped here"),
];

pub(super) fn each_malformed_file_is_refused_on_its_line() {
    let mut failures = Vec::new();
    for path in files("malformed") {
        let name = file_name(&path);
        let Some(&(_, line, message)) = MALFORMED.iter().find(|row| row.0 == name) else {
            failures.push(format!("{name}: not in the table"));
            continue;
        };
        match read_matrix_market_coo::<f64>(&path) {
            Err(SparseError::MatrixMarket(error)) => {
                let text = error.to_string();
                let opening = format!("{}: line {line}: ", path.display());
                if error.line != line || !text.starts_with(&opening) || !text.contains(message) {
                    failures.push(format!("{name}: wanted line {line} and {message:?}, got {text}"));
                }
                if text.len() > opening.len() + 300 || text.chars().any(char::is_control) {
                    failures.push(format!("{name}: not a short plain sentence: {text:?}"));
                }
            }
            other => failures.push(format!("{name}: got {other:?}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

pub(super) fn the_table_names_sixty_files_or_more_and_each_exists() {
    let there: BTreeSet<_> = files("malformed").iter().map(|path| file_name(path).to_owned()).collect();
    let named: BTreeSet<_> = MALFORMED.iter().map(|row| row.0.to_owned()).collect();
    assert_eq!(named, there);
    assert!(named.len() >= 60 && named.len() == MALFORMED.len());
}

pub(super) fn f32_and_vectors_refuse_the_same_files() {
    for path in files("malformed") {
        let text = std::fs::read(&path).unwrap();
        let want = malformed_text(parse_matrix_market_coo::<f64>(&text[..]));
        let single = malformed_text(parse_matrix_market_coo::<f32>(&text[..]));
        let vector = malformed_text(parse_vector::<f64>(&text[..]));
        assert_eq!((single.line, vector.line), (want.line, want.line), "{}", path.display());
        assert!(want.path.is_none());
    }
}

pub(super) fn a_value_beyond_f32_is_refused_for_f32_alone() {
    let text = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1e300\n";
    assert_eq!(parse_matrix_market_coo::<f64>(text.as_bytes()).unwrap().values(), [1e300]);
    let error = malformed_text(parse_matrix_market_coo::<f32>(text.as_bytes()));
    assert_eq!(error.to_string(), "line 3: 1e300 is too large for f32; only \"inf\" stands for infinity");
}

pub(super) fn vectors_have_one_row_or_column_and_memory_that_the_text_backs() {
    let matrix = "%%MatrixMarket matrix array real general\n% two columns\n1 1\n5\n"
        .replace("1 1", "2 2")
        .replace('5', "5\n5\n5\n5");
    let error = malformed_text(parse_vector::<f64>(matrix.as_bytes()));
    assert!(matches!(error.kind, Kind::NotAVector { rows: 2, cols: 2 }), "{error}");
    assert_eq!(error.line, 3);

    let sparse = |rows: u64| format!("%%MatrixMarket matrix coordinate real general\n{rows} 1 1\n1 1 5\n");
    let most = (1 << 20) + 16;
    assert_eq!(parse_vector::<f64>(sparse(most).as_bytes()).unwrap().len() as u64, most);
    let error = malformed_text(parse_vector::<f64>(sparse(most + 1).as_bytes()));
    assert!(matches!(error.kind, Kind::ImplausibleRows { entries: 1, .. }), "{error}");
    assert_eq!(error.line, 2);
}

pub(super) fn the_header_alone_is_read_as_strictly_as_before_the_entries() {
    for path in files("malformed") {
        let text = std::fs::read(&path).unwrap();
        let whole = malformed_text(parse_matrix_market_coo::<f64>(&text[..]));
        match parse_header(&text[..]) {
            Ok(header) => assert!(whole.line > 2 || header.entries > 0, "{}", path.display()),
            Err(error) => assert_eq!(malformed_text(Err::<(), _>(error)).to_string(), whole.to_string()),
        }
    }
}

/// Fails once its text is used up.
struct Broken<'a>(&'a [u8]);

impl Read for Broken<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.0.read(out)? {
            0 => Err(io::Error::other("the disk is gone")),
            count => Ok(count),
        }
    }
}

pub(super) fn a_failing_reader_is_reported_on_the_line_reached() {
    let text = b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 5.0\n2 2";
    for (length, line) in [(0, 1), (1, 1), (2, 1), (46, 2), (52, 3), (text.len(), 4)] {
        let error = malformed_text(parse_matrix_market_coo::<f64>(Broken(&text[..length])));
        assert_eq!(error.line, line, "{length} bytes: {error}");
        assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "the disk is gone");
    }
}

pub(super) fn a_file_that_is_not_there_is_named() {
    let error = read_matrix_market_coo::<f64>("no/such/file.mtx").unwrap_err();
    assert!(matches!(error, SparseError::File { .. }));
    assert!(error.to_string().starts_with("no/such/file.mtx: "), "{error}");
}
