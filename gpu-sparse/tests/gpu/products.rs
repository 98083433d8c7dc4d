//! `A x` on the device against the CPU's.

use approx::abs_diff_eq;
use gpu_array::{ArrayError, GpuArray};
use gpu_driver::{Device, Stream};
use gpu_sparse::gallery::Poisson;
use gpu_sparse::io::read_matrix_market;
use gpu_sparse::linalg::LinearOperator;
use gpu_sparse::{CsrMatrix, DeviceMatrix, Format, Scalar, SparseError};
use ndarray::{Array1, Array2, Axis, s};
use testkit::{Outcome, ensure, ensure_eq, rng};

use crate::cases;

/// Row `i` gets `length(i)` entries in random columns (fewer where two fall on one place), values in [-1, 1).
fn random(rows: usize, cols: usize, length: impl Fn(usize) -> usize) -> Result<CsrMatrix<f64>, SparseError> {
    let mut rng = rng(rows as u64 * 31 + cols as u64);
    let (mut starts, mut columns) = (vec![0], Vec::new());
    for row in 0..rows {
        columns.extend((0..length(row)).map(|_| rng.below(cols) as u32));
        starts.push(columns.len() as u64);
    }
    let values = columns.iter().map(|_| 2.0 * rng.uniform() - 1.0).collect();
    CsrMatrix::from_unsorted_parts(rows, cols, starts, columns, values)
}

fn vector<T: Scalar>(n: usize) -> Array1<T> {
    let mut rng = rng(n as u64);
    (0..n).map(|_| T::from_f64(2.0 * rng.uniform() - 1.0)).collect()
}

/// Both formats on the device.
pub fn in_both_formats<T: Scalar>(device: &Device, a: &CsrMatrix<T>) -> Result<[DeviceMatrix<T>; 2], SparseError> {
    Ok([a.to_device(device)?, a.to_packets()?.to_device(device)?])
}

fn product<T: Scalar>(a: &DeviceMatrix<T>, x: &Array1<T>) -> Result<Array1<T>, SparseError> {
    Ok(a.matvec(&GpuArray::from_ndarray(a.stream(), x)?)?.to_ndarray()?)
}

/// A test for each awkward matrix.
pub fn awkward_cases() -> impl Iterator<Item = (String, impl FnOnce(&Device) -> Outcome + Send + 'static)> {
    cases::awkward().into_iter().map(|(name, a)| {
        let label = name.clone();
        (format!("product, {name}"), move |device: &Device| check_both(device, &label, &a))
    })
}

/// A test for each real matrix.
pub fn real_cases() -> impl Iterator<Item = (String, impl FnOnce(&Device) -> Outcome + Send + 'static)> {
    cases::real_files().unwrap_or_default().into_iter().map(|(name, path)| {
        (format!("product, {name}"), move |device: &Device| {
            check_both(device, &path.display().to_string(), &read_matrix_market(&path)?)
        })
    })
}

/// In both formats: `|y - y_ref| <= bound * |A| |x|` in each row, the same bits twice, and those of the host's packets.
fn check<T: Scalar>(device: &Device, label: &str, a: &CsrMatrix<T>, bound: f64) -> Outcome {
    let x = vector::<T>(a.cols());
    let (want, wide) = (a.matvec(&x)?, a.map_values(|v| v.to_f64().abs()));
    let magnitude = wide.matvec(&x.mapv(|x| x.to_f64().abs()))?;
    for placed in in_both_formats(device, a)? {
        let got = product(&placed, &x)?;
        ensure_eq!(got.len(), want.len());
        for (row, ((&got, &want), &size)) in got.iter().zip(&want).zip(&magnitude).enumerate() {
            let error = (got.to_f64() - want.to_f64()).abs();
            ensure!(error <= bound * size, "{label}, {placed:?}, row {row}: got {got}, want {want}");
        }
        ensure_eq!(product(&placed, &x)?, got);
        ensure!(placed.to_csr()? == *a, "{label}, {placed:?}: what is on the device is not the matrix");
        if placed.format() == Format::Packets {
            ensure!(a.to_packets()?.matvec(&x)? == got, "{label}, {placed:?}: other bits than on the host");
        }
    }
    Ok(())
}

fn check_both(device: &Device, label: &str, a: &CsrMatrix<f64>) -> Outcome {
    check(device, label, a, 1e-13)?;
    check(device, label, &a.map_values(|v| v as f32), 1e-5)
}

pub fn products_match_the_reference(device: &Device) -> Outcome {
    for n in [0, 1, 2, 31, 32, 33, 255, 256, 257, 1000] {
        check_both(device, "some rows empty", &random(n, n.max(1), |row| row % 7)?)?; // the first among them
        check_both(device, "longer than a warp", &random(n, 50, |row| (n - row) % 40)?)?; // and rectangular
    }
    check_both(device, "one row of 5000", &random(100, 6000, |row| if row == 41 { 5000 } else { 3 })?)?;
    check_both(device, "only row of 5000", &random(1, 6000, |_| 5000)?)?;
    check_both(device, "one column", &random(300, 1, |row| row % 2)?)?;
    check_both(device, "no entry", &random(40, 9, |_| 0)?)?;
    check_both(device, "no column", &CsrMatrix::from_parts(3, 0, vec![0; 4], vec![], vec![])?)?;
    check_both(device, "no row", &CsrMatrix::from_parts(0, 3, vec![0], vec![], vec![])?)?;
    check_both(device, "27-point", &Poisson::three_d_27(9, 10, 11).build()?)
}

pub fn grids_at_their_limit_stride_over_the_rest(device: &Device) -> Outcome {
    // 528 blocks take 135,168 rows as packets once, and 2112 blocks from 4,325,376 rows on; 1056 blocks take 2,162,688 rows and entries
    // as compressed rows once.
    if device.is_emulated() {
        // With the fewest entries: what else is there takes a GPU no time, and this device ten seconds.
        let rows = 135_168 + 100;
        let x = vector::<f32>(rows);
        ensure!(product(&CsrMatrix::<f32>::identity(rows)?.to_packets()?.to_device(device)?, &x)? == x);
        let a = random(20_000, 5000, |row| if row % 10 == 0 { 1150 } else { 0 })?.map_values(|v| v as f32);
        return check(device, "long and empty rows", &a, 1e-5);
    }
    check(device, "diagonal", &CsrMatrix::<f64>::identity(5_000_000)?, 1e-13)?;
    check(device, "tridiagonal", &Poisson::one_d(2_200_000).build::<f64>()?, 1e-13)?;
    check(device, "random", &random(1_100_000, 1000, |row| row % 60)?, 1e-13)
}

pub fn axpby_matches_the_reference(device: &Device) -> Outcome {
    fn of_type<T: Scalar>(device: &Device, a: &CsrMatrix<T>, bound: f64) -> Outcome {
        let (x, y) = (vector::<T>(a.cols()), vector::<T>(a.rows() + 1).slice(s![1..]).to_owned());
        let packets = a.to_packets()?;
        for (alpha, beta) in [(1.0, 0.0), (0.0, 1.0), (-2.5, 0.75), (1.0, 1.0), (0.0, 0.0)] {
            let (alpha, beta) = (T::from_f64(alpha), T::from_f64(beta));
            let y = if beta == T::zero() { y.mapv(|_| T::nan()) } else { y.clone() };
            let (mut of_csr, mut of_packets) = (y.clone(), y.clone());
            a.axpby_into(alpha, &x, beta, &mut of_csr)?;
            packets.axpby_into(alpha, &x, beta, &mut of_packets)?;
            for placed in in_both_formats(device, a)? {
                let mut got = GpuArray::from_ndarray(device, &y)?;
                placed.axpby_into(alpha, &GpuArray::from_ndarray(device, &x)?, beta, &mut got)?;
                let got = got.to_ndarray()?;
                let near = |got: T, want: T| (got.to_f64() - want.to_f64()).abs() <= bound;
                ensure!(got.iter().zip(&of_csr).all(|(&g, &w)| near(g, w)), "{placed:?}: {alpha} {beta}");
                ensure!(placed.format() == Format::Csr || got == of_packets, "{placed:?}: {alpha} {beta}");
            }
        }
        Ok(())
    }
    let a = random(700, 6000, |row| if row == 65 { 4900 } else { row % 9 })?;
    of_type(device, &a, 1e-11)?;
    of_type(device, &a.map_values(|v| v as f32), 1e-3)
}

pub fn the_format_follows_the_plan(device: &Device) -> Outcome {
    let stencil = DeviceMatrix::new(&Poisson::three_d(12, 12, 12).build::<f64>()?, device)?;
    ensure_eq!(stencil.format(), Format::Packets);
    let lone_rows = DeviceMatrix::new(&random(3, 20_000, |_| 15_000)?, device)?;
    ensure_eq!(lone_rows.format(), Format::Csr);
    Ok(())
}

pub fn only_stored_entries_touch_x(device: &Device) -> Outcome {
    // No entry in column 5 but that of row 5; rows of two lengths, so that slices have places without an entry.
    let a = random(100, 100, |row| 1 + row % 3)?.to_dense()?;
    let a = ndarray::Array2::from_shape_fn(
        (100, 100),
        |(i, j)| if j == 5 { f64::from(u8::from(i == 5)) } else { a[[i, j]] },
    );
    let a = CsrMatrix::from_dense(&a)?;
    let clean = vector::<f64>(100);
    for bad in [f64::NAN, f64::INFINITY] {
        let mut x = clean.clone();
        x[5] = bad;
        for placed in in_both_formats(device, &a)? {
            let (y, want) = (product(&placed, &x)?, product(&placed, &clean)?);
            ensure!(y.iter().zip(&want).enumerate().all(|(i, (y, want))| if i == 5 {
                !y.is_finite()
            } else {
                y == want
            }));
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
    placed.axpby_into(2.0, &x, -1.0, &mut y)?;
    drop((placed, x));
    ensure_eq!(y.to_ndarray()?, want);
    Ok(())
}

/// Contiguous and strided views, views to write, and expressions: the bits of an array of the same elements.
pub fn views_and_expressions_are_multiplied(device: &Device) -> Outcome {
    let a = random(50, 30, |row| row % 7)?;
    let table = Array2::from_shape_fn((30, 4), |(i, j)| ((i * 7 + j * 3) as f64).sin());
    let other = Stream::new(device)?;
    for placed in in_both_formats(device, &a)? {
        for home in [&device.stream(), &other] {
            let mut x = GpuArray::from_ndarray(home, &table)?;
            let wide =
                GpuArray::from_ndarray(home, &table.column(2).iter().copied().chain([9.0; 5]).collect::<Array1<_>>())?;
            let want = product(&placed, &table.column(2).to_owned())?;
            ensure_eq!(placed.matvec(x.slice(s![.., 2])?)?.to_ndarray()?, want);
            let third = &x.t().index_axis(Axis(0), 2)?;
            ensure_eq!(placed.matvec(third)?.to_ndarray()?, want);
            ensure_eq!(placed.matvec(wide.slice(s![..30])?)?.to_ndarray()?, want);
            ensure_eq!(placed.matvec(&x.slice_mut(s![.., 2])?)?.to_ndarray()?, want);
            let backwards = wide.slice(s![..30;-1])?.to_owned()?;
            ensure_eq!(placed.matvec(backwards.slice(s![..;-1])?)?.to_ndarray()?, want);
            let doubled = x.slice(s![.., 2])? * 2.0;
            ensure_eq!(placed.matvec(&doubled)?.to_ndarray()?, &want * 2.0);
            ensure_eq!((placed.matvec(doubled)? * 0.5).eval()?.to_ndarray()?, want);
            let (mut y, mut z) = (GpuArray::full(home, 50, f64::NAN)?, GpuArray::full(home, 50, 1.0)?);
            placed.matvec_into(x.slice(s![.., 2])?, &mut y)?;
            placed.axpby_into(3.0, x.slice(s![.., 2])?, 0.0, &mut z)?;
            ensure_eq!((y.to_ndarray()?, z.to_ndarray()?), (want.clone(), want.mapv(|y| 3.0 * y)));
        }
        let x = GpuArray::from_ndarray(device, &table)?;
        ensure!(matches!(placed.matvec(x.slice(s![..29, 0])?), Err(SparseError::Shape { .. })));
        let three = GpuArray::<f64, _>::zeros(device, 3)?;
        let wrong = placed.matvec(x.slice(s![.., 0])? + &three).map(drop);
        ensure!(matches!(wrong, Err(SparseError::Array(ArrayError::Operands { .. }))), "{wrong:?}");
        // The error of an operator, each time.
        let mut y = GpuArray::<f64, _>::zeros(device, 30)?;
        y += &three;
        for _ in 0..2 {
            let wrong = placed.matvec(&y).map(drop);
            ensure!(matches!(wrong, Err(SparseError::Array(ArrayError::Operator { op: "+=", .. }))), "{wrong:?}");
        }
    }
    Ok(())
}

pub fn a_matrix_on_the_device_describes_itself(device: &Device) -> Outcome {
    let a = Poisson::two_d(30, 20).build::<f32>()?;
    let [csr, packets] = in_both_formats(device, &a)?;
    for placed in [&csr, &packets] {
        ensure_eq!((placed.rows(), placed.cols(), placed.nnz()), (600, 600, a.nnz()));
        ensure!(placed.device() == device && placed.stream() == &device.stream());
        ensure_eq!(placed.description().format, placed.format());
    }
    ensure_eq!((csr.format(), packets.format()), (Format::Csr, Format::Packets));
    ensure_eq!(csr.description().bytes, (2900 * 8 + 601 * 8) as u64);
    ensure!(packets.description() == a.to_packets()?.description());
    ensure_eq!(format!("{csr:?}"), "DeviceMatrix<float32>(csr, shape (600, 600), 2900 entries, device 0)");
    ensure_eq!(format!("{packets:?}"), "DeviceMatrix<float32>(packets, shape (600, 600), 2900 entries, device 0)");
    Ok(())
}

pub fn products_of_wrong_shape_are_errors(device: &Device) -> Outcome {
    let array = |n: usize| GpuArray::<f64, _>::zeros(device, n);
    for a in in_both_formats(device, &random(5, 7, |_| 2)?)? {
        for (x, y) in [(5, 5), (6, 5), (8, 5), (7, 4), (7, 7), (0, 5)] {
            let outcome = a.matvec_into(&array(x)?, &mut array(y)?);
            ensure!(matches!(outcome, Err(SparseError::Shape { .. })), "x {x}, y {y}: {outcome:?}");
            let outcome = a.axpby_into(1.0, &array(x)?, 1.0, &mut array(y)?);
            ensure!(matches!(outcome, Err(SparseError::Shape { .. })), "x {x}, y {y}: {outcome:?}");
        }
        ensure!(matches!(a.matvec(&array(5)?), Err(SparseError::Shape { .. })));
        a.matvec_into(&array(7)?, &mut array(5)?)?;
    }
    Ok(())
}

pub fn a_device_matrix_is_an_operator_on_host_vectors(device: &Device) -> Outcome {
    let a = Poisson::two_d(20, 30).build::<f64>()?;
    let x = vector::<f64>(1200).slice(s![..;2]).to_vec();
    let (mut got, mut want) = (vec![f64::NAN; 600], vec![0.0; 600]);
    for placed in in_both_formats(device, &a)? {
        LinearOperator::apply(&placed, &x, &mut got)?;
        LinearOperator::apply(&a, &x, &mut want)?;
        ensure!(got.iter().zip(&want).all(|(g, w)| abs_diff_eq!(g, w, epsilon = 1e-13)));
        let (dot, same) = (placed.apply_dot(&x, &mut got)?, a.apply_dot(&x, &mut want)?);
        ensure!((dot - same).abs() < 1e-12 * same.abs());
        ensure_eq!(LinearOperator::diagonal(&placed), LinearOperator::diagonal(&a));
        ensure!((&&placed).on_device().is_some() && a.on_device().is_none());
        ensure!(placed.apply(&x[1..], &mut got).is_err() && placed.apply(&x, &mut got[1..]).is_err());
    }
    Ok(())
}
