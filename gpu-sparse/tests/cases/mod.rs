//! Matrices that find mistakes at the edges of the packet format: shared by the tests of the CPU and of the device.
#![allow(dead_code, reason = "not every test target uses all")]

use std::path::PathBuf;

use gpu_sparse::gallery::{self, Numbering, Poisson};
use gpu_sparse::{CooMatrix, CsrMatrix, Result};
use testkit::Rng;

/// A matrix with a name to report.
pub type Case = (String, CsrMatrix<f64>);

/// Small matrices of every awkward kind, none of more than about 30,000 entries or 100,000 columns.
pub fn awkward() -> Vec<Case> {
    let mut cases = shapes().expect("patterns are within their matrices");
    cases.extend(orders().expect("patterns are within their matrices"));
    cases.extend(gallery().expect("sizes are small"));
    cases
}

/// The files of the folder that `GPU_SPARSE_MATRICES` names, with their names; else why there are none.
pub fn real_files() -> Result<Vec<(String, PathBuf)>, String> {
    let folder = std::env::var_os("GPU_SPARSE_MATRICES").ok_or("GPU_SPARSE_MATRICES is not set")?;
    let entries = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<std::io::Result<Vec<_>>>();
    let mut files: Vec<(String, PathBuf)> = paths
        .map_err(|error| error.to_string())?
        .into_iter()
        .filter_map(|path| Some((path.file_name()?.to_str()?.strip_suffix(".mtx.gz")?.to_owned(), path)))
        .collect();
    files.sort();
    Ok(files)
}

/// A matrix of which row `i` has `length(i)` entries (as far as there are columns) with values in [-1, 1), at columns
/// spread from `first(i)` on with `step` between them, wrapped around at the end.
pub fn spread(
    (rows, cols): (usize, usize),
    step: usize,
    length: impl Fn(usize) -> usize,
    first: impl Fn(usize) -> usize,
) -> Result<CsrMatrix<f64>> {
    let mut rng = Rng(rows as u64 ^ ((cols as u64) << 32));
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..rows {
        let mut of_row: Vec<u32> =
            (0..length(row)).filter(|_| cols > 0).map(|k| ((first(row) + k * step) % cols) as u32).collect();
        of_row.sort_unstable();
        of_row.dedup();
        values.extend(of_row.iter().map(|_| 2.0 * rng.uniform() - 1.0));
        columns.extend(of_row);
        starts.push(values.len() as u64);
    }
    CsrMatrix::from_parts(rows, cols, starts, columns, values)
}

/// Sizes, empty rows, rectangles, spans of columns.
fn shapes() -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    let mut add = |name: &str, matrix| cases.push((name.to_owned(), matrix));
    for n in [0, 1, 31, 32, 33, 1023, 1024, 1025] {
        add(&format!("{n} rows"), spread((n, n), 3, |i| 1 + (i * 7) % 5, |i| i)?);
    }
    for (rows, cols) in [(0, 5), (5, 0), (40, 30), (1030, 1)] {
        add(&format!("{rows} x {cols} without entries"), spread((rows, cols), 1, |_| 0, |_| 0)?);
    }
    add("first and last rows empty", spread((100, 100), 1, |i| if (40..60).contains(&i) { 3 } else { 0 }, |i| i)?);
    add("first packet empty", spread((1100, 50), 1, |i| if i < 1024 { 0 } else { 3 }, |i| i)?);
    add("one column", spread((100, 1), 1, |i| i % 2, |_| 0)?);
    add("all in one row", spread((70, 300), 1, |i| if i == 37 { 300 } else { 0 }, |_| 0)?);
    add("wide", spread((50, 5000), 91, |i| i % 40, |i| i)?);
    add("tall", spread((2100, 7), 2, |i| i % 6, |i| i)?);
    for span in [0xFFFE, 0xFFFF] {
        let matrix = spread((64, 70_000), span, |i| if i == 5 { 1 } else { 2 }, |i| 3 + i / 32)?;
        add(&format!("columns {span} apart in a row"), matrix);
        let matrix = spread((40, 70_000), 1, |_| 2, |i| if i == 20 { 9 + span } else { 9 })?;
        add(&format!("columns {span} apart in a slot"), matrix);
    }
    add("columns all over", spread((200, 100_000), 12_347, |i| i % 9, |i| i * 4111)?);
    let (columns, values) = (vec![7, 1, 7, 3, 3, 0], vec![1.0, 2.0, 4.0, 8.0, -8.0, 16.0]);
    add("unsorted and twice", CsrMatrix::from_unsorted_parts(3, 9, vec![0, 3, 3, 6], columns, values)?);
    let values = vec![0.0, -0.0, f64::MIN_POSITIVE / 4.0, -1.5];
    add("zeros of both signs", CsrMatrix::from_parts(2, 3, vec![0, 3, 4], vec![0, 1, 2, 1], values)?);
    let places = |k: usize| ((k * 37) as u32 % 90, (k * 53) as u32 % 80);
    let (rows, cols) = (0..500).map(places).unzip();
    add("triplets", CooMatrix::from_triplets(90, 80, rows, cols, vec![1.0; 500])?.to_csr());
    Ok(cases)
}

/// Rows of such lengths that packets are ordered or not, or that some are long.
fn orders() -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    let mut add = |name: &str, matrix| cases.push((name.to_owned(), matrix));
    add("alternating lengths", spread((1024, 1024), 5, |i| if i % 2 == 0 { 20 } else { 1 }, |i| i)?);
    add("falling lengths", spread((1024, 1024), 5, |i| 32 - i / 32, |i| i)?);
    add("ordered packet between others", spread((2500, 800), 3, |i| if i / 1024 == 1 { i % 17 } else { 3 }, |i| i)?);
    add("ordered last packet of 77 rows", spread((1101, 500), 3, |i| if i < 1024 { 1 } else { 1 + i % 45 }, |i| i)?);
    add("ordered and far apart", spread((300, 90_000), 9973, |i| (i * 5) % 31, |i| i * 299)?);
    let long = |i: usize| if [0, 31, 500, 1023, 1024].contains(&i) { 700 } else { 2 };
    add("long rows at the edges of packets", spread((1100, 1100), 1, long, |i| i)?);
    add(
        "long rows among rows of many lengths",
        spread((1100, 3000), 7, |i| if i % 400 == 9 { 900 } else { i % 20 }, |i| i)?,
    );
    add("three segments", spread((3, 9000), 1, |i| if i == 1 { 9000 } else { 5 }, |i| i)?);
    add("segments that end exactly", spread((40, 8192), 1, |i| if i == 39 { 8192 } else { i % 3 }, |i| i)?);
    add("only long rows", spread((2, 5000), 1, |i| 1025 + 256 * i, |_| 0)?);
    Ok(cases)
}

/// One of each of the gallery.
fn gallery() -> Result<Vec<Case>> {
    let line = Poisson::one_d(6).build()?;
    let mesh = gallery::wathen_random(4, 3, 2)?;
    Ok([
        ("1-D", Poisson::one_d(100).build()?),
        ("5 points", Poisson::two_d(40, 27).build()?),
        ("9 points", Poisson::two_d_9(33, 20).build()?),
        ("7 points", Poisson::three_d(11, 10, 11).random_coefficients(3, 100.0).build()?),
        ("27 points", Poisson::three_d_27(9, 8, 7).anisotropy([1.0, 2.0, 3.0]).build()?),
        ("wathen", gallery::wathen(12, 9, |i, j| (1 + i + j) as f64)?),
        ("layers", gallery::extrude(&mesh, &line, Numbering::LayerMajor)?),
        ("columns of layers", gallery::extrude(&mesh, &line, Numbering::ZFastest)?),
    ]
    .map(|(name, matrix)| (name.to_owned(), matrix))
    .into())
}
