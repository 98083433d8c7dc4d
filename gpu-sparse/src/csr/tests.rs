//! Formats and products against dense definitions, on awkward shapes.

use approx::assert_abs_diff_eq;
use ndarray::{Array1, Array2, s};

use super::*;
use crate::CooMatrix;

/// A number in [0, 1) without meaning.
fn noise(seed: u64, k: u64) -> f64 {
    let z = (seed ^ k.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xD129_0B26_8A6D_4E8F);
    ((z ^ (z >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 11) as f64 / (1_u64 << 53) as f64
}

/// A random dense matrix of which about `density` is not zero.
fn random_dense(rows: usize, cols: usize, density: f64, seed: u64) -> Array2<f64> {
    Array2::from_shape_fn((rows, cols), |(i, j)| {
        let k = (i * cols + j) as u64;
        if noise(seed, 2 * k) < density { noise(seed, 2 * k + 1) - 0.5 } else { 0.0 }
    })
}

/// Dense matrices of every awkward shape: none of something, one of it, empty rows, a full row, more than one block.
fn shapes() -> Vec<Array2<f64>> {
    let sizes = [(0, 0), (0, 5), (5, 0), (1, 1), (1, 40), (40, 1), (31, 33), (64, 64), (7, 1000)];
    let mut all: Vec<_> = sizes.iter().zip(1..).map(|(&(r, c), seed)| random_dense(r, c, 0.3, seed)).collect();
    all.push(Array2::zeros((6, 4)));
    let mut long_row = random_dense(300, 300, 0.02, 99);
    long_row.row_mut(150).fill(1.5);
    long_row.row_mut(0).fill(0.0);
    long_row.row_mut(299).fill(0.0);
    all.push(long_row);
    all.push(random_dense(700, 500, 0.3, 5)); // 105,000 entries: several blocks
    all
}

fn vector(n: usize, seed: u64) -> Vec<f64> {
    (0..n as u64).map(|k| noise(seed, k) - 0.5).collect()
}

fn assert_close(got: &Array1<f64>, want: &Array1<f64>, scale: f64) {
    assert_eq!(got.len(), want.len());
    for (row, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= scale * f64::EPSILON, "row {row}: {got} for {want}");
    }
}

#[test]
fn products_agree_with_dense_ones() {
    for dense in shapes() {
        let (rows, cols) = dense.dim();
        let a = CsrMatrix::from_dense(&dense).unwrap();
        assert_eq!((a.rows(), a.cols(), a.nnz()), (rows, cols, dense.iter().filter(|v| **v != 0.0).count()));
        let (x, w) = (vector(cols, 3), vector(rows, 4));
        let (xa, wa) = (Array1::from(x.clone()), Array1::from(w.clone()));
        let scale = 4.0 + rows.max(cols) as f64;
        assert_close(&a.matvec(&x).unwrap(), &dense.dot(&xa), scale);
        assert_close(&a.matvec_transpose(&w).unwrap(), &dense.t().dot(&wa), scale);
        assert_close(&a.transpose().matvec(&w).unwrap(), &dense.t().dot(&wa), scale);
        let mut y = w.clone();
        a.axpby_into(2.0, &x, -3.0, &mut y).unwrap();
        assert_close(&y.into(), &(2.0 * dense.dot(&xa) - 3.0 * &wa), scale * 4.0);
    }
}

#[test]
fn every_kind_of_vector_is_taken() {
    let a = CsrMatrix::from_dense(&random_dense(6, 5, 0.6, 8)).unwrap();
    let wide = Array1::from(vector(15, 1));
    let strided = wide.slice(s![..;3]); // 5 elements, not in one piece
    let packed = strided.to_vec();
    let want = a.matvec(&packed).unwrap();
    for got in [a.matvec(strided), a.matvec(&packed[..]), a.matvec(&strided.to_owned()), a.matvec(packed.as_slice())] {
        assert_eq!(got.unwrap(), want);
    }
    let mut out = Array1::from(vec![9.0; 12]);
    a.matvec_into(&packed, out.slice_mut(s![..;2])).unwrap();
    assert_eq!(out.slice(s![..;2]), want);
    assert!(out.slice(s![1..;2]).iter().all(|&v| v == 9.0));
}

#[test]
fn what_no_entry_touches_stays_out() {
    let a = CsrMatrix::from_parts(3, 4, vec![0, 1, 1, 2], vec![1, 3], vec![2.0, 3.0]).unwrap();
    let x = [f64::NAN, 1.0, f64::INFINITY, 2.0];
    assert_eq!(a.matvec(&x).unwrap().to_vec(), [2.0, 0.0, 6.0]);
    assert_eq!(a.matvec_transpose(&[1.0, f64::NAN, 2.0]).unwrap().to_vec(), [0.0, 2.0, 0.0, 6.0]);
    let mut y = [f64::NAN; 3];
    a.axpby_into(1.0, &x, 0.0, &mut y).unwrap();
    assert_eq!(y, [2.0, 0.0, 6.0]);
    assert!(a.matvec(&[0.0, f64::NAN, 0.0, 0.0]).unwrap()[0].is_nan());
}

#[test]
fn wrong_lengths_are_errors() {
    let a = CsrMatrix::from_dense(&random_dense(3, 4, 1.0, 1)).unwrap();
    let shape = |result: Result<()>| matches!(result, Err(SparseError::Shape { .. }));
    assert!(shape(a.matvec(&[1.0; 3]).map(drop)));
    assert!(shape(a.matvec(&[1.0; 5]).map(drop)));
    assert!(shape(a.matvec_into(&[1.0; 4], &mut [0.0; 4])));
    assert!(shape(a.axpby_into(1.0, &[1.0; 4], 1.0, &mut [0.0; 2])));
    assert!(shape(a.matvec_transpose(&[1.0; 4]).map(drop)));
    assert!(shape(a.product_and_dot(&[1.0; 4], &mut [0.0; 3]).map(drop)));
    assert!(shape(a.residual_into(&[1.0; 4], &[1.0; 4], &mut [0.0; 3])));
    assert!(shape(a.symmetry().map(drop)));
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let a = CsrMatrix::from_dense(&random_dense(600, 600, 0.4, 12)).unwrap();
    assert!(a.blocks.len() > 4);
    let x = vector(600, 2);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut y = vec![0.0; 600];
            let dot = a.product_and_dot(&x, &mut y).unwrap();
            (dot.to_bits(), y, a.matvec_transpose(&x).unwrap())
        })
    };
    let want = run(1);
    assert_eq!(run(2), want);
    assert_eq!(run(3), want);
}

#[test]
fn rows_of_f32_are_added_in_f64() {
    // 2^24 + 1 + 1: in f32 the ones would vanish one by one.
    let a = CsrMatrix::from_parts(1, 3, vec![0, 3], vec![0, 1, 2], vec![16_777_216.0_f32, 1.0, 1.0]).unwrap();
    assert_eq!(a.matvec(&[1.0_f32; 3]).unwrap()[0], 16_777_218.0);
}

#[test]
fn formats_round_trip() {
    for dense in shapes() {
        let a = CsrMatrix::from_dense(&dense).unwrap();
        assert_eq!(a.to_dense().unwrap(), dense);
        assert_eq!(a.to_coo().to_csr(), a);
        assert_eq!(a.transpose().to_dense().unwrap(), dense.t());
        assert_eq!(a.transpose().transpose(), a);
        let (rows, cols) = dense.dim();
        let parts = (a.row_starts.clone(), a.columns.clone(), a.values.clone());
        assert_eq!(CsrMatrix::from_parts(rows, cols, parts.0, parts.1, parts.2).unwrap(), a);
        let by_rows = a.to_sprs();
        assert_eq!(CsrMatrix::try_from(&by_rows).unwrap(), a);
        assert_eq!(CsrMatrix::try_from(&by_rows.to_other_storage()).unwrap(), a);
        assert_eq!(CsrMatrix::try_from(&by_rows.transpose_view()).unwrap(), a.transpose());
        let want: Vec<f64> = (0..rows.min(cols)).map(|i| dense[[i, i]]).collect();
        assert_eq!(a.diagonal().to_vec(), want);
    }
}

#[test]
fn sprs_with_other_index_types_and_slices() {
    let a = CsrMatrix::from_dense(&random_dense(20, 9, 0.4, 31)).unwrap();
    let starts: Vec<u16> = a.row_starts.iter().map(|&s| s as u16).collect();
    let columns: Vec<u32> = a.columns.clone();
    let source = sprs::CsMatI::<f64, u32, u16>::new((20, 9), starts, columns, a.values.clone());
    assert_eq!(CsrMatrix::try_from(&source).unwrap(), a);
    // A slice's index pointers do not start at 0.
    assert_eq!(CsrMatrix::try_from(&source.slice_outer(5..12)).unwrap(), a.submatrix(5..12, 0..9).unwrap());
}

#[test]
fn duplicates_are_added_in_input_order_and_zeros_kept() {
    let big = 1e16; // (big + 1) - big = 0, (big - big) + 1 = 1
    let rows = vec![1, 0, 1, 1, 1, 2];
    let cols = vec![1, 2, 1, 0, 1, 0];
    let a = CooMatrix::from_triplets(4, 3, rows, cols, vec![big, 0.0, 1.0, 5.0, -big, 7.0]).unwrap().to_csr();
    assert_eq!(a.row_starts(), [0, 1, 3, 4, 4]);
    assert_eq!((a.columns(), a.values()), (&[2, 0, 1, 0][..], &[0.0, 5.0, 0.0, 7.0][..]));
    let b = CsrMatrix::from_unsorted_parts(1, 3, vec![0, 4], vec![2, 1, 2, 2], vec![big, 4.0, -big, 1.0]).unwrap();
    assert_eq!((b.columns(), b.values()), (&[1, 2][..], &[4.0, 1.0][..]));
}

#[test]
fn entries_are_triplets_and_no_index_is_cut() {
    let entries = [(1, 1, 2.0), (0, 2, 0.0), (1, 1, 1.0)];
    let want = CooMatrix::from_triplets(2, 3, vec![1, 0, 1], vec![1, 2, 1], vec![2.0, 0.0, 1.0]).unwrap();
    assert_eq!(CooMatrix::from_entries(2, 3, entries).unwrap(), want);
    let wrong = |row, col| CooMatrix::from_entries(2, 3, [(0, 0, 1.0), (row, col, 1.0)]).unwrap_err();
    assert!(matches!(wrong(2, 0), SparseError::IndexOutOfRange { entry: 1, row: 2, col: 0, rows: 2, cols: 3 }));
    // Both would be 1 in u32.
    let far = (1 << 32) + 1;
    assert!(matches!(wrong(far, 0), SparseError::IndexOutOfRange { row: 0x1_0000_0001, .. }));
    assert!(matches!(wrong(0, far), SparseError::IndexOutOfRange { col: 0x1_0000_0001, .. }));
    assert!(matches!(CooMatrix::<f64>::from_entries(1 << 32, 1, []), Err(SparseError::TooLarge { .. })));
}

#[test]
fn many_triplets_in_any_order() {
    // Against a dense sum, enough of them for several blocks.
    let (n, count) = (200_u64, 90_000_u64);
    let index = |seed, k| (noise(seed, k) * n as f64) as u32;
    let (rows, cols): (Vec<u32>, Vec<u32>) = (0..count).map(|k| (index(1, k), index(2, k))).unzip();
    let values: Vec<f64> = (0..count).map(|k| (noise(3, k) * 64.0).floor()).collect(); // integers: exact sums
    let mut want = Array2::zeros((200, 200));
    for ((&i, &j), &v) in rows.iter().zip(&cols).zip(&values) {
        want[[i as usize, j as usize]] += v;
    }
    let a = CooMatrix::from_triplets(200, 200, rows, cols, values).unwrap().to_csr();
    assert_eq!(a.to_dense().unwrap(), want);
    let (starts, columns, values) = (a.row_starts.clone(), a.columns.clone(), a.values.clone());
    assert_eq!(CsrMatrix::from_parts(200, 200, starts, columns, values).unwrap(), a);
}

#[test]
fn wrong_parts_name_row_and_place() {
    let parts = |rows, cols, starts: &[u64], columns: &[u32]| {
        CsrMatrix::from_parts(rows, cols, starts.to_vec(), columns.to_vec(), vec![1.0; columns.len()]).unwrap_err()
    };
    assert!(matches!(parts(2, 2, &[0, 1], &[0]), SparseError::Shape { .. }));
    assert!(matches!(parts(0, 2, &[], &[]), SparseError::Shape { .. }));
    assert!(matches!(parts(2, 2, &[1, 1, 2], &[0, 1]), SparseError::RowStarts { row: 0, start: 1, end: 1, nnz: 2 }));
    assert!(matches!(parts(2, 2, &[0, 2, 1], &[0]), SparseError::RowStarts { row: 0, start: 0, end: 2, nnz: 1 }));
    assert!(matches!(parts(3, 2, &[0, 2, 1, 2], &[0, 1]), SparseError::RowStarts { row: 1, start: 2, end: 1, nnz: 2 }));
    assert!(matches!(parts(2, 2, &[0, 1, 1], &[0, 1]), SparseError::RowStarts { row: 1, start: 1, end: 1, nnz: 2 }));
    assert!(matches!(parts(0, 2, &[0], &[1]), SparseError::RowStarts { nnz: 1, .. }));
    assert!(matches!(
        parts(3, 2, &[0, 0, 1, 2], &[0, 2]),
        SparseError::IndexOutOfRange { entry: 1, row: 2, col: 2, rows: 3, cols: 2 }
    ));
    assert!(matches!(
        parts(2, 5, &[0, 1, 4], &[3, 0, 4, 2]),
        SparseError::UnsortedColumns { row: 1, entry: 3, column: 2, previous: 4 }
    ));
    assert!(matches!(
        parts(1, 5, &[0, 2], &[3, 3]),
        SparseError::UnsortedColumns { row: 0, entry: 1, column: 3, previous: 3 }
    ));
    let lengths = CsrMatrix::from_parts(1, 5, vec![0, 2], vec![1, 2], vec![1.0]);
    assert!(matches!(lengths, Err(SparseError::Shape { .. })));
    let wide = CsrMatrix::<f64>::from_parts(0, MAX + 1, vec![0], vec![], vec![]);
    assert!(matches!(wide, Err(SparseError::TooLarge { .. })));
}

const MAX: usize = u32::MAX as usize;

#[test]
fn what_cannot_be_dense_is_an_error() {
    let flat = CsrMatrix::<f64>::from_parts(1 << 20, MAX, vec![0; (1 << 20) + 1], vec![], vec![]).unwrap();
    assert!(matches!(flat.to_dense(), Err(SparseError::TooLarge { .. })));
    assert!(matches!(CsrMatrix::<f64>::identity(MAX + 1), Err(SparseError::TooLarge { .. })));
}

#[test]
fn symmetry_is_measured_where_it_is_worst() {
    let dense = random_dense(60, 60, 0.2, 77);
    let mut symmetric = &dense + &dense.t();
    let a = CsrMatrix::from_dense(&symmetric).unwrap();
    assert_eq!(a.symmetry().unwrap(), Symmetry { largest: 0.0, row: 0, col: 0 });
    symmetric[[41, 7]] += 0.25;
    symmetric[[3, 50]] -= 0.125;
    let b = CsrMatrix::from_dense(&symmetric).unwrap();
    let symmetry = b.symmetry().unwrap();
    assert_abs_diff_eq!(symmetry.largest, 0.25, epsilon = 1e-12);
    assert_eq!((symmetry.row, symmetry.col), (7, 41));
    assert!(b.is_symmetric(0.2500001) && !b.is_symmetric(0.2499999));
    // An entry without a partner, a NaN, two equal infinities; explicit zeros make no difference.
    let lone = CsrMatrix::from_parts(2, 2, vec![0, 0, 1], vec![0], vec![3.0]).unwrap();
    assert_eq!(lone.symmetry().unwrap(), Symmetry { largest: 3.0, row: 0, col: 1 });
    let nan = CsrMatrix::from_parts(2, 2, vec![0, 1, 2], vec![1, 0], vec![f64::NAN, 1.0]).unwrap();
    assert!(!nan.is_symmetric(1e300) && !nan.is_symmetric(f64::INFINITY));
    // A NaN, beside differences that are larger and infinite: the first one, on the diagonal or above it.
    let mut values = vec![1.0, f64::INFINITY, 7.0, 1.0, 2.0, 3.0, 4.0, 5.0, 1.0];
    let of = |values: &[f64]| {
        let a = CsrMatrix::from_parts(3, 3, vec![0, 3, 6, 9], vec![0, 1, 2, 0, 1, 2, 0, 1, 2], values.to_vec());
        let Symmetry { largest, row, col } = a.unwrap().symmetry().unwrap();
        (largest.to_string(), row, col)
    };
    assert_eq!(of(&values), ("inf".into(), 0, 1));
    values[8] = -f64::NAN;
    assert_eq!(of(&values), ("NaN".into(), 2, 2));
    values[7] = f64::from_bits(f64::NAN.to_bits() | 7);
    assert_eq!(of(&values), ("NaN".into(), 1, 2));
    values[4] = f64::NAN;
    assert_eq!(of(&values), ("NaN".into(), 1, 1));
    let inf = CsrMatrix::from_parts(2, 2, vec![0, 1, 2], vec![1, 0], vec![f64::INFINITY; 2]).unwrap();
    assert!(inf.is_symmetric(0.0));
    let zero = CsrMatrix::from_parts(2, 2, vec![0, 1, 1], vec![1], vec![0.0]).unwrap();
    assert!(zero.is_symmetric(0.0));
    assert!(!CsrMatrix::<f64>::from_parts(1, 2, vec![0, 0], vec![], vec![]).unwrap().is_symmetric(1.0));
}

#[test]
fn rows_elements_and_submatrices() {
    let dense = random_dense(30, 20, 0.3, 55);
    let mut a = CsrMatrix::from_dense(&dense).unwrap();
    let want = CsrMatrix::from_dense(dense.slice(s![4..21, 3..9])).unwrap();
    assert_eq!(a.submatrix(4..21, 3..9).unwrap(), want);
    assert_eq!(a.submatrix(5..5, 2..2).unwrap().rows(), 0);
    assert!(a.submatrix(0..31, 0..2).is_err() && a.submatrix(0..2, 0..21).is_err());
    #[expect(clippy::reversed_empty_ranges, reason = "the mistake under test")]
    let reversed = a.submatrix(3..2, 0..2);
    assert!(reversed.is_err());
    assert!(dense.indexed_iter().all(|((i, j), &v)| a.get(i, j) == Some(v)));
    assert_eq!((a.get(30, 0), a.get(0, 20), a.row(30)), (None, None, None));
    a.values_mut().iter_mut().for_each(|v| *v += 1.0);
    a.scale(2.0);
    assert_eq!(a.values()[3], (dense.iter().filter(|v| **v != 0.0).nth(3).unwrap() + 1.0) * 2.0);
    assert_eq!(a.map_values(|v| v as f32).values()[3], a.values()[3] as f32);
    assert_eq!(CsrMatrix::<f32>::identity(3).unwrap().to_dense().unwrap(), Array2::<f32>::eye(3));
}
