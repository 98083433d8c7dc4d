//! The Matrix Market reader and writer: known answers, malformed files, round trips, oracles.

mod malformed;
mod oracles;
mod real_files;
mod speed;
mod wellformed;
mod writing;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use gpu_sparse::{CooMatrix, Scalar, SparseError, io::MatrixMarketError};
use testkit::{Suite, functions, tests};

fn main() -> ExitCode {
    use {malformed::*, oracles::*, real_files::*, speed::*, wellformed::*, writing::*};
    let nothing = || Ok::<(), &str>(());
    let scipy = tests![scipy_reads_the_same, scipy_reads_what_we_write];
    let sprs = functions![sprs_reads_the_same, sprs_reads_what_we_write];
    let refused = functions![
        each_malformed_file_is_refused_on_its_line,
        the_table_names_sixty_files_or_more_and_each_exists,
        f32_and_vectors_refuse_the_same_files,
        a_value_beyond_f32_is_refused_for_f32_alone,
        vectors_have_one_row_or_column_and_memory_that_the_text_backs,
        the_header_alone_is_read_as_strictly_as_before_the_entries,
        a_failing_reader_is_reported_on_the_line_reached,
        a_file_that_is_not_there_is_named,
    ];
    let read = functions![
        each_wellformed_file_has_its_known_entries,
        f32_entries_are_the_nearest_to_the_text,
        headers_say_what_the_banner_says,
        nan_is_read_in_any_case_and_from_arrays,
        vectors_come_from_rows_columns_arrays_and_coordinates,
        both_triangles_agree_after_duplicates_are_summed,
    ];
    let written = functions![
        awkward_values_keep_their_bits,
        every_wellformed_file_survives_a_round_trip,
        symmetry_is_detected_to_the_bit,
        comments_cannot_break_out,
        files_ending_in_gz_are_compressed_and_old_files_replaced,
        what_cannot_be_replaced_is_refused_and_kept,
        links_and_permissions_survive,
        a_full_disk_is_reported,
    ];
    let matrices = env::var_os("GPU_SPARSE_MATRICES").map(PathBuf::from).ok_or("GPU_SPARSE_MATRICES is not set");
    Suite::new()
        .functions("malformed", nothing(), "", refused)
        .functions("wellformed", nothing(), "", read)
        .functions("writing", nothing(), "", written)
        .functions("sprs", nothing(), "", sprs)
        .group("scipy", testkit::python(&["scipy"]), "", scipy)
        .group("real_files", matrices, "", tests![real_files_have_their_sizes_and_survive_a_round_trip])
        .on_request("speed", "it measures, in a release build", functions![a_hundred_megabytes_a_second])
        .run()
}

/// A Python that has SciPy.
type Python = PathBuf;

/// The folder of the real matrices.
type Folder = PathBuf;

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
