//! What is written, and that it reads back to the same bits.

use std::io::{self, Write};

use gpu_sparse::io::{
    MatrixMarketSymmetry as Symmetry, MatrixMarketWriter, parse_header, parse_matrix_market_coo, parse_vector,
    read_header, read_matrix_market_coo, read_vector, write_matrix_market_coo, write_matrix_market_coo_to,
    write_vector, write_vector_to,
};
use gpu_sparse::{CooMatrix, SparseError};

use super::{canonical, files, triplets};

const AWKWARD: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    0.1,
    1.0 / 3.0,
    -1e300,
    5e-324,
    f64::MIN_POSITIVE,
    f64::MAX,
    f64::MIN,
    f64::EPSILON,
    9007199254740993.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

fn text_of(matrix: &CooMatrix<f64>, writer: &MatrixMarketWriter) -> String {
    let mut text = Vec::new();
    writer.write_to(&mut text, matrix).unwrap();
    String::from_utf8(text).unwrap()
}

pub(super) fn awkward_values_keep_their_bits() {
    let mut text = Vec::new();
    write_vector_to(&mut text, &AWKWARD).unwrap();
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&parse_vector(&text[..]).unwrap()), bits(&AWKWARD));

    // Arrays and views of any stride are vectors too.
    let reversed = ndarray::Array1::from_iter(AWKWARD.into_iter().rev());
    let mut same = Vec::new();
    write_vector_to(&mut same, reversed.slice(ndarray::s![..;-1])).unwrap();
    assert_eq!(same, text);

    let n = AWKWARD.len() as u32;
    let a =
        CooMatrix::from_triplets(n as usize, 3, (0..n).rev().collect(), vec![2; n as usize], AWKWARD.to_vec()).unwrap();
    text.clear();
    write_matrix_market_coo_to(&mut text, &a).unwrap();
    let got = parse_matrix_market_coo::<f64>(&text[..]).unwrap();
    assert_eq!((got.row_indices(), bits(got.values())), (a.row_indices(), bits(&AWKWARD)));

    let singles: Vec<f32> = (0..50_000).map(|k: u32| f32::from_bits(k.wrapping_mul(2_654_435_761))).collect();
    text.clear();
    write_vector_to(&mut text, &singles).unwrap();
    for (got, want) in parse_vector::<f32>(&text[..]).unwrap().into_iter().zip(singles) {
        assert!(got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()), "{got:e} {want:e}");
    }
}

pub(super) fn every_wellformed_file_survives_a_round_trip() {
    for path in files("wellformed") {
        let want = read_matrix_market_coo::<f64>(&path).unwrap();
        for writer in [MatrixMarketWriter::new(), MatrixMarketWriter::new().comment("a\n\n%b").detect_symmetry()] {
            let got = parse_matrix_market_coo::<f64>(text_of(&want, &writer).as_bytes()).unwrap();
            assert_eq!((got.rows(), got.cols()), (want.rows(), want.cols()));
            assert_eq!(canonical(triplets(&got)), canonical(triplets(&want)), "{}", path.display());
        }
    }
}

pub(super) fn symmetry_is_detected_to_the_bit() {
    let writer = MatrixMarketWriter::new().detect_symmetry();
    let symmetry = |n: usize, m: usize, entries: &[(u32, u32, f64)]| {
        let rows = entries.iter().map(|entry| entry.0).collect();
        let cols = entries.iter().map(|entry| entry.1).collect();
        let a = CooMatrix::from_triplets(n, m, rows, cols, entries.iter().map(|entry| entry.2).collect()).unwrap();
        let header = parse_header(text_of(&a, &writer).as_bytes()).unwrap();
        (header.symmetry, header.entries)
    };
    assert_eq!(symmetry(2, 2, &[(0, 1, 0.5), (1, 0, 0.5), (0, 0, 1.0)]), (Symmetry::Symmetric, 2));
    assert_eq!(symmetry(2, 2, &[(0, 1, f64::NAN), (1, 0, f64::NAN)]), (Symmetry::Symmetric, 1));
    assert_eq!(symmetry(3, 3, &[]), (Symmetry::Symmetric, 0));
    assert_eq!(symmetry(2, 2, &[(0, 1, 0.5), (1, 0, 0.5000000000000001)]), (Symmetry::General, 2));
    assert_eq!(symmetry(2, 2, &[(0, 1, 0.0), (1, 0, -0.0)]), (Symmetry::General, 2));
    assert_eq!(symmetry(2, 2, &[(0, 1, 0.5), (0, 1, 0.5), (1, 0, 1.0)]), (Symmetry::General, 3));
    assert_eq!(symmetry(2, 3, &[(0, 0, 0.5)]), (Symmetry::General, 1));
    assert_eq!(symmetry(3, 3, &[(0, 1, 0.5), (2, 0, 0.5)]), (Symmetry::General, 2));
}

pub(super) fn comments_cannot_break_out() {
    let a = CooMatrix::from_triplets(1, 1, vec![0], vec![0], vec![2.0]).unwrap();
    let text = text_of(&a, &MatrixMarketWriter::new().comment("made by hand\r\n1 1 9\n\n9 9 9"));
    let want = "%%MatrixMarket matrix coordinate real general\n% made by hand\n% 1 1 9\n% 9 9 9\n1 1 1\n1 1 2e0\n";
    assert_eq!(text, want);
}

pub(super) fn files_ending_in_gz_are_compressed_and_old_files_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let a = CooMatrix::from_triplets(2, 2, vec![0, 1], vec![1, 1], vec![0.1, f64::INFINITY]).unwrap();
    for (name, compressed) in [("a.mtx", false), ("a.mtx.gz", true), ("a.MTX.GZ", true)] {
        let path = folder.path().join(name);
        std::fs::write(&path, "an older file").unwrap();
        write_matrix_market_coo(&path, &a).unwrap();
        assert_eq!(std::fs::read(&path).unwrap().starts_with(&[0x1f, 0x8b]), compressed, "{name}");
        assert_eq!(read_matrix_market_coo::<f64>(&path).unwrap(), a);
        write_vector(&path, &AWKWARD).unwrap();
        assert_eq!(read_vector::<f64>(&path).unwrap(), AWKWARD);
        assert_eq!(read_header(&path).unwrap().rows, AWKWARD.len());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "temporary files stayed behind");
}

pub(super) fn what_cannot_be_replaced_is_refused_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("folder.mtx");
    std::fs::create_dir(&inner).unwrap();
    for path in [inner.clone(), folder.path().join("missing/a.mtx")] {
        let error = write_vector(&path, &[1.0]).unwrap_err();
        assert!(matches!(error, SparseError::File { path: named, .. } if named == path));
    }
    assert!(inner.is_dir());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(unix)]
pub(super) fn links_and_permissions_survive() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("target.mtx"), folder.path().join("link.mtx"));
    std::fs::write(&target, "old").unwrap();
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&target, &link).unwrap();
    write_vector(&link, &[1.0]).unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(read_vector::<f64>(&target).unwrap(), [1.0]);
    assert_eq!(target.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    let (new, made_by_std) = (folder.path().join("new.mtx"), folder.path().join("std.mtx"));
    write_vector(&new, &[1.0]).unwrap();
    std::fs::write(&made_by_std, "").unwrap();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode();
    assert_eq!(mode(&new), mode(&made_by_std));
}

/// Takes so many bytes and no more.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.0);
        self.0 -= count;
        if count == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(count) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn a_full_disk_is_reported() {
    let mut text = Vec::new();
    write_vector_to(&mut text, &AWKWARD).unwrap();
    assert!(write_vector_to(Full(text.len()), &AWKWARD).is_ok());
    for room in 0..text.len() {
        assert_eq!(write_vector_to(Full(room), &AWKWARD).unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
