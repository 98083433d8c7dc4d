//! `A x` on the device against the CPU's.

use gpu_array::GpuArray;
use gpu_driver::{Device, Stream};
use gpu_sparse::gallery::Poisson;
use gpu_sparse::linalg::LinearOperator;
use gpu_sparse::{CsrMatrix, DeviceCsr, Scalar, SparseError};
use ndarray::{Array1, s};
use testkit::{Outcome, Rng, ensure, ensure_eq};

const LANES: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Row `i` gets `length(i)` entries in random columns (fewer where two fall on one place), values in [-1, 1).
fn random(rows: usize, cols: usize, length: impl Fn(usize) -> usize) -> Result<CsrMatrix<f64>, SparseError> {
    let mut rng = Rng(rows as u64 * 31 + cols as u64);
    let (mut starts, mut columns) = (vec![0], Vec::new());
    for row in 0..rows {
        columns.extend((0..length(row)).map(|_| rng.below(cols) as u32));
        starts.push(columns.len() as u64);
    }
    let values = columns.iter().map(|_| 2.0 * rng.uniform() - 1.0).collect();
    CsrMatrix::from_unsorted_parts(rows, cols, starts, columns, values)
}

fn vector<T: Scalar>(n: usize) -> Array1<T> {
    let mut rng = Rng(n as u64);
    (0..n).map(|_| T::from_f64(2.0 * rng.uniform() - 1.0)).collect()
}

fn product<T: Scalar>(a: &DeviceCsr<T>, x: &Array1<T>) -> Result<Array1<T>, SparseError> {
    Ok(a.matvec(&GpuArray::from_ndarray(a.stream(), x)?)?.to_ndarray()?)
}

/// |y - y_ref| <= bound * |A| |x|, in each row; and the same bits twice.
fn check<T: Scalar>(device: &Device, a: &CsrMatrix<T>, lanes: &[u32], bound: f64) -> Outcome {
    let x = vector::<T>(a.cols());
    let (want, wide) = (a.matvec(&x)?, a.map_values(|v| v.to_f64().abs()));
    let magnitude = wide.matvec(&x.mapv(|x| x.to_f64().abs()))?;
    for &lanes in lanes {
        let placed = a.to_device(device)?.with_lanes(lanes)?;
        let got = product(&placed, &x)?;
        ensure_eq!(got.len(), want.len());
        for (row, ((&got, &want), &size)) in got.iter().zip(&want).zip(&magnitude).enumerate() {
            let error = (got.to_f64() - want.to_f64()).abs();
            ensure!(error <= bound * size, "{placed:?}, row {row}: got {got}, want {want}");
        }
        ensure_eq!(product(&placed, &x)?, got);
    }
    Ok(())
}

fn check_both(device: &Device, a: &CsrMatrix<f64>) -> Outcome {
    check(device, a, &LANES, 1e-13)?;
    check(device, &a.map_values(|v| v as f32), &LANES, 1e-5)
}

pub fn products_match_the_reference_for_every_number_of_lanes(device: &Device) -> Outcome {
    for n in [0, 1, 2, 31, 32, 33, 255, 256, 257, 1000] {
        check_both(device, &random(n, n.max(1), |row| row % 7)?)?; // some rows empty, the first among them
        check_both(device, &random(n, 50, |row| (n - row) % 40)?)?; // others longer than a warp, rectangular
    }
    check_both(device, &random(100, 6000, |row| if row == 41 { 5000 } else { 3 })?)?;
    check_both(device, &random(1, 6000, |_| 5000)?)?;
    check_both(device, &random(300, 1, |row| row % 2)?)?;
    check_both(device, &random(40, 9, |_| 0)?)?;
    check_both(device, &CsrMatrix::from_parts(3, 0, vec![0; 4], vec![], vec![])?)?;
    check_both(device, &CsrMatrix::from_parts(0, 3, vec![0], vec![], vec![])?)?;
    check_both(device, &Poisson::three_d_27(9, 10, 11).build()?)
}

pub fn grids_at_their_limit_stride_over_the_rest(device: &Device) -> Outcome {
    // 4096 blocks of 256 threads hold 1,048,576 rows with one lane and 32,768 with 32.
    if device.is_emulated() {
        // A million threads, twice, with the fewest rows: what else is there takes a GPU no time, and this device ten seconds.
        return check(device, &random(32_768 + 100, 1000, |row| row % 9)?, &[32], 1e-13);
    }
    let a = Poisson::one_d(1_048_576 + 1000).build::<f64>()?;
    check(device, &a, &[1, 2], 1e-13)?;
    let a = random(4 * 32_768 + 5, 1000, |row| row % 60)?;
    check(device, &a, &[8, 32], 1e-13)
}

pub fn only_stored_entries_touch_x(device: &Device) -> Outcome {
    // No entry in column 5 but that of row 5.
    let a = CsrMatrix::<f64>::identity(100)?;
    for bad in [f64::NAN, f64::INFINITY] {
        let mut x = vector::<f64>(100);
        x[5] = bad;
        for lanes in LANES {
            let y = product(&a.to_device(device)?.with_lanes(lanes)?, &x)?;
            ensure!(y.iter().zip(&x).enumerate().all(|(i, (y, x))| (i == 5) != y.is_finite() && (i == 5 || y == x)));
        }
    }
    Ok(())
}

pub fn products_on_other_streams_and_into_old_memory(device: &Device) -> Outcome {
    let a = random(1000, 800, |row| row % 20)?;
    let x = vector::<f64>(800);
    let want = product(&a.to_device(device)?, &x)?;
    let (of_a, of_x, of_y) = (Stream::new(device)?, Stream::new(device)?, Stream::new(device)?);
    let placed = a.to_device(&of_a)?;
    let x = GpuArray::from_ndarray(&of_x, &x)?;
    ensure!(placed.stream() == &of_a && placed.matvec(&x)?.stream() == &of_a);
    let mut y = GpuArray::full(&of_y, 1000, f64::NAN)?;
    for _ in 0..3 {
        placed.matvec_into(&x, &mut y)?;
        ensure_eq!(y.to_ndarray()?, want);
    }
    drop((placed, x));
    ensure_eq!(y.to_ndarray()?, want);
    Ok(())
}

pub fn a_matrix_on_the_device_describes_itself(device: &Device) -> Outcome {
    let a = Poisson::two_d(30, 20).build::<f32>()?;
    let placed = a.to_device(device)?;
    ensure_eq!((placed.rows(), placed.cols(), placed.nnz(), placed.lanes()), (600, 600, a.nnz(), 8));
    ensure_eq!(placed.row_starts().to_vec()?, a.row_starts());
    ensure_eq!(placed.columns().to_vec()?, a.columns());
    ensure_eq!(placed.values().to_vec()?, a.values());
    ensure!(placed.device() == device && placed.stream() == &device.stream());
    ensure_eq!(format!("{placed:?}"), "DeviceCsr<float32>(shape (600, 600), 2900 entries, 8 lanes, device 0)");
    for wrong in [0, 3, 64] {
        ensure!(matches!(a.to_device(device)?.with_lanes(wrong), Err(SparseError::Parameter { name: "lanes", .. })));
    }
    Ok(())
}

pub fn products_of_wrong_shape_are_errors(device: &Device) -> Outcome {
    let a = random(5, 7, |_| 2)?.to_device(device)?;
    let array = |n: usize| GpuArray::<f64, _>::zeros(device, n);
    for (x, y) in [(5, 5), (6, 5), (8, 5), (7, 4), (7, 7), (0, 5)] {
        let outcome = a.matvec_into(&array(x)?, &mut array(y)?);
        ensure!(matches!(outcome, Err(SparseError::Shape { .. })), "x {x}, y {y}: {outcome:?}");
    }
    ensure!(matches!(a.matvec(&array(5)?), Err(SparseError::Shape { .. })));
    a.matvec_into(&array(7)?, &mut array(5)?)?;
    Ok(())
}

pub fn a_device_matrix_is_an_operator_on_host_vectors(device: &Device) -> Outcome {
    let a = Poisson::two_d(20, 30).build::<f64>()?;
    let placed = a.to_device(device)?;
    let x = vector::<f64>(1200).slice(s![..;2]).to_vec();
    let (mut got, mut want) = (vec![f64::NAN; 600], vec![0.0; 600]);
    LinearOperator::apply(&placed, &x, &mut got)?;
    LinearOperator::apply(&a, &x, &mut want)?;
    ensure!(got.iter().zip(&want).all(|(g, w)| (g - w).abs() < 1e-13));
    let (dot, same) = (placed.apply_dot(&x, &mut got)?, a.apply_dot(&x, &mut want)?);
    ensure!((dot - same).abs() < 1e-12 * same.abs());
    ensure_eq!(LinearOperator::diagonal(&placed), LinearOperator::diagonal(&a));
    ensure!((&&placed).on_device().is_some() && a.on_device().is_none());
    ensure!(placed.apply(&x[1..], &mut got).is_err() && placed.apply(&x, &mut got[1..]).is_err());
    Ok(())
}
