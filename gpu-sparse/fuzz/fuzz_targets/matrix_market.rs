//! Any bytes, read as Matrix Market text: no panic, an error that names its line, and every matrix read survives a round trip.
#![no_main]

use gpu_sparse::io::{parse_header, parse_matrix_market_coo, parse_vector, write_matrix_market_coo_to};
use gpu_sparse::{CooMatrix, SparseError};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let header = parse_header(input);
    check_error(&header);
    // A coordinate file may stand for a vector of a million zeros; filling those would be all that the fuzzer does.
    if header.is_ok_and(|header| header.rows.max(header.cols) <= 1 << 12) {
        check_error(&parse_vector::<f64>(input));
    }
    check_error(&parse_matrix_market_coo::<f32>(input));
    let matrix = parse_matrix_market_coo::<f64>(input);
    check_error(&matrix);
    if let Ok(matrix) = matrix {
        check_round_trip(&matrix);
    }
});

fn check_error<R>(result: &Result<R, SparseError>) {
    match result {
        Ok(_) => {}
        Err(SparseError::MatrixMarket(error)) => {
            assert!(error.line >= 1);
            assert!(error.to_string().starts_with(&format!("line {}: ", error.line)));
        }
        Err(other) => panic!("not an error of the text: {other}"),
    }
}

fn check_round_trip(matrix: &CooMatrix<f64>) {
    let mut text = Vec::new();
    write_matrix_market_coo_to(&mut text, matrix).unwrap();
    let again = parse_matrix_market_coo::<f64>(&text[..]).unwrap();
    assert_eq!((again.rows(), again.cols()), (matrix.rows(), matrix.cols()));
    assert_eq!((again.row_indices(), again.col_indices()), (matrix.row_indices(), matrix.col_indices()));
    for (got, want) in again.values().iter().zip(matrix.values()) {
        assert!(got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()));
    }
}
