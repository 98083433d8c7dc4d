//! SciPy and sprs read what we read, and what we write.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpu_sparse::CooMatrix;
use gpu_sparse::io::{
    MatrixMarketWriter, read_matrix_market_coo, write_matrix_market_coo, write_matrix_market_coo_to, write_vector,
};
use testkit::Outcome;

use super::{Python, Triplet, canonical, file_name, files, triplets};

/// Wellformed files that SciPy 1.17 does not read as we do.
const NOT_FOR_SCIPY: &[(&str, &str)] = &[
    ("comments_and_blanks.mtx", "takes no comments among the entries"),
    ("coordinate_integer_general.mtx", "takes no plus sign"),
    ("coordinate_real_general.mtx", "takes no plus sign"),
    ("d_exponents.mtx", "ignores the D and what follows"),
    ("gzip_without_its_suffix.mtx", "goes by the suffix"),
    ("upper_case.mtx", "wants the banner's first word as it is"),
];

/// Prints the shape, and each entry with its value as 16 hexadecimal digits, of each file named.
const SCRIPT: &str = r#"
import struct, sys
import scipy.io, scipy.sparse
for path in sys.argv[1:]:
    a = scipy.sparse.coo_array(scipy.io.mmread(path, spmatrix=False))
    print("matrix", a.shape[0], a.shape[1], a.nnz)
    for i, j, v in zip(a.row.tolist(), a.col.tolist(), a.data.tolist()):
        print(i, j, struct.pack(">d", float(v)).hex())
"#;

struct Read {
    shape: (usize, usize),
    entries: Vec<Triplet>,
}

fn read_with_scipy(python: &Path, paths: &[PathBuf]) -> Vec<Read> {
    let output = Command::new(python).arg("-c").arg(SCRIPT).args(paths).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut matrices = Vec::<Read>::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let words: Vec<_> = line.split(' ').collect();
        if words[0] == "matrix" {
            let shape = (words[1].parse().unwrap(), words[2].parse().unwrap());
            matrices.push(Read { shape, entries: Vec::new() });
        } else {
            let value = f64::from_bits(u64::from_str_radix(words[2], 16).unwrap());
            let entry = (words[0].parse().unwrap(), words[1].parse().unwrap(), value);
            matrices.last_mut().unwrap().entries.push(entry);
        }
    }
    assert_eq!(matrices.len(), paths.len());
    matrices
}

fn assert_same(got: &CooMatrix<f64>, want: Read, name: &str) {
    assert_eq!((got.rows(), got.cols()), want.shape, "{name}");
    assert_eq!(canonical(triplets(got)), canonical(want.entries), "{name}");
}

/// A matrix whose values need all their digits, with duplicates, in no order.
fn scattered(n: u32) -> CooMatrix<f64> {
    let rows: Vec<_> = (0..4 * n).map(|k| k.wrapping_mul(2_654_435_761) % n).collect();
    let cols: Vec<_> = (0..4 * n).map(|k| k.wrapping_mul(2_246_822_519) % n).collect();
    let values = (0..4 * n).map(|k| f64::from(k).sin() * 10_f64.powi((k % 40) as i32 - 20)).collect();
    CooMatrix::from_triplets(n as usize, n as usize, rows, cols, values).unwrap()
}

/// The same with its mirror image behind it.
fn mirrored(n: u32) -> CooMatrix<f64> {
    let a = scattered(n);
    let rows = [a.row_indices(), a.col_indices()].concat();
    let cols = [a.col_indices(), a.row_indices()].concat();
    CooMatrix::from_triplets(a.rows(), a.cols(), rows, cols, [a.values(), a.values()].concat()).unwrap()
}

pub(super) fn scipy_reads_the_same(python: &Python) -> Outcome {
    let takes = |path: &PathBuf| NOT_FOR_SCIPY.iter().all(|(name, _)| *name != file_name(path));
    let paths: Vec<_> = files("wellformed").into_iter().filter(takes).collect();
    for (path, want) in paths.iter().zip(read_with_scipy(python, &paths)) {
        assert_same(&read_matrix_market_coo(path).unwrap(), want, file_name(path));
    }
    Ok(())
}

pub(super) fn scipy_reads_what_we_write(python: &Python) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["general.mtx", "general.mtx.gz", "symmetric.mtx", "vector.mtx"].map(|name| folder.path().join(name));
    let (general, symmetric) = (scattered(300), mirrored(200));
    let vector = [0.1, -1e-300, f64::INFINITY, f64::NEG_INFINITY, 0.0, 5e-324];
    write_matrix_market_coo(&paths[0], &general).unwrap();
    write_matrix_market_coo(&paths[1], &general).unwrap();
    MatrixMarketWriter::new().comment("a\nb").detect_symmetry().write(&paths[2], &symmetric).unwrap();
    write_vector(&paths[3], &vector).unwrap();
    let text = std::fs::read_to_string(&paths[2]).unwrap();
    assert!(text.starts_with("%%MatrixMarket matrix coordinate real symmetric\n% a\n% b\n"));

    let [plain, compressed, lower, column]: [Read; 4] = read_with_scipy(python, &paths).try_into().ok().unwrap();
    assert_same(&general, plain, "general.mtx");
    assert_same(&general, compressed, "general.mtx.gz");
    assert_same(&read_matrix_market_coo(&paths[2]).unwrap(), lower, "symmetric.mtx");
    let want: Vec<_> = (0..).zip(vector).map(|(row, value)| (row, 0, value)).filter(|entry| entry.2 != 0.0).collect();
    assert_eq!((column.shape, column.entries), ((6, 1), want));
    Ok(())
}

/// sprs takes files of the field that its element type calls for, and no other.
fn read_with_sprs(text: &[u8]) -> Read {
    fn read<T: Copy>(a: &sprs::TriMat<T>, to_f64: impl Fn(T) -> f64) -> Read {
        let entries = a.triplet_iter().map(|(&value, (row, col))| (row as u32, col as u32, to_f64(value))).collect();
        Read { shape: (a.rows(), a.cols()), entries }
    }
    let mut reader = BufReader::new(text);
    if text.starts_with(b"%%MatrixMarket matrix coordinate integer") {
        read(&sprs::io::read_matrix_market_from_bufread(&mut reader).unwrap(), |value: i64| value as f64)
    } else {
        read(&sprs::io::read_matrix_market_from_bufread(&mut reader).unwrap(), |value: f64| value)
    }
}

pub(super) fn sprs_reads_the_same() {
    // The wellformed files within its reach: no arrays, no patterns, no comments among the entries, no gzip, no D, no infinities.
    let names = [
        "coordinate_real_general.mtx",
        "coordinate_real_symmetric.mtx",
        "coordinate_real_skew.mtx",
        "coordinate_integer_symmetric.mtx",
        "coordinate_integer_skew.mtx",
        "duplicates.mtx",
        "duplicates_symmetric.mtx",
        "explicit_zeros.mtx",
        "leading_zeros.mtx",
        "long_digits.mtx",
        "subnormal_and_underflow.mtx",
    ];
    let paths: Vec<_> = files("wellformed").into_iter().filter(|path| names.contains(&file_name(path))).collect();
    assert_eq!(paths.len(), names.len());
    for path in paths {
        let want = read_with_sprs(&std::fs::read(&path).unwrap());
        assert_same(&read_matrix_market_coo(&path).unwrap(), want, file_name(&path));
    }
}

pub(super) fn sprs_reads_what_we_write() {
    let mut text = Vec::new();
    write_matrix_market_coo_to(&mut text, &scattered(500)).unwrap();
    assert_same(&scattered(500), read_with_sprs(&text), "general");
    text.clear();
    MatrixMarketWriter::new().detect_symmetry().write_to(&mut text, &mirrored(500)).unwrap();
    let ours = gpu_sparse::io::parse_matrix_market_coo(&text[..]).unwrap();
    assert_same(&ours, read_with_sprs(&text), "symmetric");
}
