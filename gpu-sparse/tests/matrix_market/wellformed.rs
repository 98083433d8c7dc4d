//! Files that must be read, with what is in them.

use gpu_sparse::io::{
    MatrixMarketField as Field, MatrixMarketFormat as Format, MatrixMarketSymmetry as Symmetry,
    parse_matrix_market_coo, parse_vector, read_header, read_matrix_market_coo, read_vector,
};

use super::{Triplet, canonical, file_name, files, triplets};

const INF: f64 = f64::INFINITY;
const DIAGONAL: &[Triplet] = &[(0, 0, 1.5), (1, 1, 2.5)];

/// Each file in `tests/wellformed`: rows, columns, and the entries in the order they are stored.
#[rustfmt::skip]
const WELLFORMED: &[(&str, usize, usize, &[Triplet])] = &[
    ("array_column.mtx", 3, 1, &[(0, 0, 1.0), (2, 0, -3.0)]),
    ("array_integer_general.mtx", 2, 2, &[(0, 0, 1.0), (1, 0, -2.0), (1, 1, 4.0)]),
    ("array_integer_skew.mtx", 2, 2, &[(1, 0, -2.0), (0, 1, 2.0)]),
    ("array_integer_symmetric.mtx", 2, 2, &[(0, 0, 1.0), (1, 0, -2.0), (0, 1, -2.0), (1, 1, 4.0)]),
    ("array_real_general.mtx", 2, 3, &[(0, 0, 1.0), (0, 1, 2.5), (1, 1, -3.0), (1, 2, 0.4)]),
    ("array_real_skew.mtx", 3, 3, &[(1, 0, 1.0), (0, 1, -1.0), (2, 0, 2.0), (0, 2, -2.0), (2, 1, -3.0), (1, 2, 3.0)]),
    ("array_real_symmetric.mtx", 3, 3, &[(0, 0, 1.0), (1, 0, 2.0), (0, 1, 2.0), (1, 1, 4.0), (2, 1, 5.0), (1, 2, 5.0), (2, 2, 6.0)]),
    ("array_row.mtx", 1, 3, &[(0, 0, 1.0), (0, 2, -3.0)]),
    ("comments_and_blanks.mtx", 2, 2, DIAGONAL),
    ("coordinate_integer_general.mtx", 2, 3, &[(0, 0, 7.0), (1, 2, -12.0), (1, 0, 9007199254740992.0)]),
    ("coordinate_integer_skew.mtx", 2, 2, &[(1, 0, -4.0), (0, 1, 4.0)]),
    ("coordinate_integer_symmetric.mtx", 2, 2, &[(0, 0, 3.0), (1, 0, -4.0), (0, 1, -4.0)]),
    ("coordinate_pattern_general.mtx", 2, 3, &[(1, 2, 1.0), (0, 0, 1.0)]),
    ("coordinate_pattern_symmetric.mtx", 3, 3, &[(2, 0, 1.0), (0, 2, 1.0), (1, 1, 1.0)]),
    ("coordinate_real_general.mtx", 3, 4, &[(0, 0, 1.5), (2, 3, -2000.0), (1, 1, 0.25), (0, 2, 4.0)]),
    ("coordinate_real_skew.mtx", 3, 3, &[(1, 0, -1.5), (0, 1, 1.5), (2, 1, 4.0), (1, 2, -4.0)]),
    ("coordinate_real_symmetric.mtx", 3, 3, &[(0, 0, 2.0), (1, 0, -1.0), (0, 1, -1.0), (2, 0, 0.5), (0, 2, 0.5), (2, 2, 2.0)]),
    ("crlf.mtx", 2, 2, DIAGONAL),
    ("crlf_mixed.mtx", 2, 2, DIAGONAL),
    ("d_exponents.mtx", 2, 2, &[(0, 0, 1.5), (0, 1, -250.0), (1, 0, 0.001), (1, 1, 12.5)]),
    ("duplicates.mtx", 2, 2, &[(0, 0, 1.0), (1, 1, 5.0), (0, 0, 2.0), (0, 0, 0.5)]),
    ("duplicates_symmetric.mtx", 2, 2, &[(1, 0, 1.0), (0, 1, 1.0), (1, 0, 2.0), (0, 1, 2.0), (0, 0, 3.0)]),
    ("empty_0x0.mtx", 0, 0, &[]),
    ("empty_3x0.mtx", 3, 0, &[]),
    ("empty_rows.mtx", 4, 4, &[(2, 2, 1.0)]),
    ("explicit_zeros.mtx", 2, 2, &[(0, 0, 0.0), (1, 0, 0.0), (1, 1, 1.0)]),
    ("gzip.mtx.gz", 2, 2, DIAGONAL),
    ("gzip_members.mtx.gz", 2, 2, DIAGONAL),
    ("gzip_without_its_suffix.mtx", 2, 2, DIAGONAL),
    ("huge_and_empty.mtx", 4294967295, 4294967295, &[(4294967294, 0, 2.5)]),
    ("infinities.mtx", 1, 4, &[(0, 0, INF), (0, 1, -INF), (0, 2, INF), (0, 3, -INF)]),
    ("leading_zeros.mtx", 2, 2, DIAGONAL),
    ("long_digits.mtx", 1, 2, &[(0, 0, 0.1), (0, 1, 1e300)]),
    ("no_last_line_feed.mtx", 2, 2, DIAGONAL),
    ("scipy_double.mtx", 2, 2, &[(0, 1, 7.5)]),
    ("scipy_fields.mtx", 2, 2, &[(0, 1, 7.0)]),
    ("skew_1x1.mtx", 1, 1, &[]),
    ("subnormal_and_underflow.mtx", 1, 3, &[(0, 0, 5e-324), (0, 1, 0.0), (0, 2, f64::MIN_POSITIVE)]),
    ("tabs_and_blanks.mtx", 2, 2, DIAGONAL),
    ("upper_case.mtx", 2, 2, DIAGONAL),
];

pub(super) fn each_wellformed_file_has_its_known_entries() {
    let paths = files("wellformed");
    assert_eq!(
        paths.iter().map(|path| file_name(path)).collect::<Vec<_>>(),
        WELLFORMED.iter().map(|row| row.0).collect::<Vec<_>>()
    );
    for (path, &(name, rows, cols, want)) in paths.iter().zip(WELLFORMED) {
        let got = read_matrix_market_coo::<f64>(path).unwrap();
        assert_eq!((got.rows(), got.cols()), (rows, cols), "{name}");
        assert_eq!(triplets(&got), want, "{name}");
        let header = read_header(path).unwrap();
        assert_eq!((header.rows, header.cols), (rows, cols), "{name}");
    }
}

pub(super) fn f32_entries_are_the_nearest_to_the_text() {
    for (path, &(name, _, _, want)) in files("wellformed").iter().zip(WELLFORMED) {
        let single = read_matrix_market_coo::<f32>(path);
        if name == "long_digits.mtx" {
            assert!(single.is_err(), "1e300 does not fit");
            continue;
        }
        let want: Vec<_> = want.iter().map(|&(row, col, value)| (row, col, f64::from(value as f32))).collect();
        assert_eq!(triplets(&single.unwrap()), want, "{name}");
    }
    // Halfway between two f32 but for the last digit: a detour over f64 would round it down.
    let text = "%%MatrixMarket matrix array real general\n1 1\n1.000000059604644775390626\n";
    assert_eq!(parse_matrix_market_coo::<f32>(text.as_bytes()).unwrap().values(), [1.0 + f32::EPSILON]);
}

pub(super) fn headers_say_what_the_banner_says() {
    for path in files("wellformed") {
        let header = read_header(&path).unwrap();
        let words: Vec<_> = file_name(&path).trim_end_matches(".mtx").split('_').collect();
        let [format, field, symmetry] = words[..] else { continue };
        if !matches!(format, "array" | "coordinate") {
            continue;
        }
        assert_eq!(header.format, if format == "array" { Format::Array } else { Format::Coordinate });
        let fields = [("real", Field::Real), ("integer", Field::Integer), ("pattern", Field::Pattern)];
        assert!(fields.contains(&(field, header.field)), "{words:?}");
        let symmetries =
            [("general", Symmetry::General), ("symmetric", Symmetry::Symmetric), ("skew", Symmetry::SkewSymmetric)];
        assert!(symmetries.contains(&(symmetry, header.symmetry)), "{words:?}");
        if format == "array" {
            let n = header.rows as u64;
            let want = match symmetry {
                "general" => n * header.cols as u64,
                "symmetric" => n * (n + 1) / 2,
                _ => n * (n - 1) / 2,
            };
            assert_eq!(header.entries, want, "{words:?}");
        }
    }
}

pub(super) fn nan_is_read_in_any_case_and_from_arrays() {
    let text = "%%MatrixMarket matrix array real general\n4 1\nnan\nNaN\n-NAN\n0\n";
    let got = parse_matrix_market_coo::<f64>(text.as_bytes()).unwrap();
    assert_eq!(got.row_indices(), [0, 1, 2]);
    assert!(got.values().iter().all(|value| value.is_nan()));
}

pub(super) fn vectors_come_from_rows_columns_arrays_and_coordinates() {
    for name in ["array_column.mtx", "array_row.mtx"] {
        let path = files("wellformed").into_iter().find(|path| file_name(path) == name).unwrap();
        assert_eq!(read_vector::<f64>(&path).unwrap(), [1.0, 0.0, -3.0]);
    }
    let sparse = |sizes: &str, entries: &str| {
        let text = format!("%%MatrixMarket matrix coordinate real general\n{sizes}\n{entries}\n");
        parse_vector::<f64>(text.as_bytes()).unwrap()
    };
    assert_eq!(sparse("4 1 3", "4 1 2\n2 1 5\n4 1 0.5"), [0.0, 5.0, 0.0, 2.5]);
    assert_eq!(sparse("1 4 3", "1 4 2\n1 2 5\n1 4 0.5"), [0.0, 5.0, 0.0, 2.5]);
    assert_eq!(sparse("1 1 1", "1 1 3"), [3.0]);
    assert_eq!(sparse("0 1 0", ""), [0.0; 0]);
    let symmetric = "%%MatrixMarket matrix array real symmetric\n1 1\n7\n";
    assert_eq!(parse_vector::<f64>(symmetric.as_bytes()).unwrap(), [7.0]);
    let skew = "%%MatrixMarket matrix array real skew-symmetric\n1 1\n";
    assert_eq!(parse_vector::<f64>(skew.as_bytes()).unwrap(), [0.0]);
}

pub(super) fn both_triangles_agree_after_duplicates_are_summed() {
    // 0.1 + 0.2 + 0.3 depends on the order: the mirror images must come in the same one.
    let text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n2 1 0.1\n2 1 0.2\n2 1 0.3\n";
    let got = canonical(triplets(&parse_matrix_market_coo::<f64>(text.as_bytes()).unwrap()));
    assert_eq!(got, [(0, 1, 0.1 + 0.2 + 0.3), (1, 0, 0.1 + 0.2 + 0.3)]);
}
