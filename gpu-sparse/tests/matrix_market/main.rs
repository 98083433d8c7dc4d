//! The Matrix Market reader and writer: known answers, malformed files, round trips, oracles.

mod malformed;
mod oracles;
mod real_files;
mod speed;
mod wellformed;
mod writing;

use std::path::{Path, PathBuf};

use gpu_sparse::{CooMatrix, Scalar, SparseError, io::MatrixMarketError};

/// Row, column and value of an entry, from 0.
type Triplet = (u32, u32, f64);

/// The files of a folder beside this test, by name.
fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new("tests").join(folder);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn file_name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// The entries in the order they are stored.
fn triplets<T: Scalar>(matrix: &CooMatrix<T>) -> Vec<Triplet> {
    let places = matrix.row_indices().iter().zip(matrix.col_indices());
    places.zip(matrix.values()).map(|((&row, &col), &value)| (row, col, value.to_f64())).collect()
}

/// The entries in order of rows and columns, duplicates summed.
fn canonical(mut entries: Vec<Triplet>) -> Vec<Triplet> {
    entries.sort_by_key(|&(row, col, _)| (row, col));
    entries.dedup_by(|next, kept| {
        let same = (next.0, next.1) == (kept.0, kept.1);
        if same {
            kept.2 += next.2;
        }
        same
    });
    entries
}

fn malformed_text(result: Result<impl Sized, SparseError>) -> MatrixMarketError {
    match result.err() {
        Some(SparseError::MatrixMarket(error)) => error,
        other => panic!("a Matrix Market error was due, got {other:?}"),
    }
}

/// Says on the terminal what was not tested; libtest cannot decide at run time to ignore a test.
fn skipped(what: &str, variable: &str) {
    eprintln!("SKIPPED: {what}: {variable} is not set");
}
