//! Linear algebra of stacks of small matrices against the definitions, and against bounds on residuals in f64.

use gpu_algos::{
    AlgoError,
    gpu_array::{
        ArrayError, GpuArray,
        expression::eye,
        gpu_driver::{Device, Stream},
    },
    host,
    linalg::{self, LinalgElement, Triangle},
    reference,
};
use ndarray::{Array, Array1, Array2, Array3, ArrayD, ArrayView2, Axis, Ix2, Ix3, IxDyn, array, s};
use testkit::{Layout, Outcome, Rng, Test, ensure, ensure_eq, rng, tests};

use crate::{
    layouts::{base, is_under_slow_tool, of_gpu},
    matmul::Real,
};

pub const TESTS: &[Test<Device>] = tests![
    solutions_have_small_residuals,
    triangles_are_solved,
    cholesky_factors_multiply_to_the_matrix,
    lu_factors_multiply_to_the_matrix,
    reflections_give_orthonormal_columns,
    inverses_and_determinants_are_those_of_the_definition,
    matrices_of_every_layout,
    stacks_are_broadcast,
    badly_scaled_matrices,
    determinants_do_not_overflow_on_the_way,
    slogdet_is_that_of_the_definition,
    slogdet_of_special_matrices,
    matrices_without_a_result_are_told,
    nan_spreads_within_its_matrix,
    results_go_into_views,
    linalg_of_nothing,
    linalg_has_the_same_bits_again,
    linalg_on_streams_and_in_graphs,
    wrong_operands_are_errors,
];

const SIZES: [usize; 14] = [0, 1, 2, 3, 5, 8, 16, 17, 31, 32, 33, 48, 63, 64];

trait Element: Real + LinalgElement {}
impl Element for f32 {}
impl Element for f64 {}

/// Sizes and numbers of matrices: all pairs on a GPU, and on the emulated device a number for each size, 100 for one.
fn cases(device: &Device) -> Vec<(usize, usize)> {
    let of_size = |(i, n): (usize, usize)| match device.is_emulated() {
        true if n == 5 => vec![100, 0],
        true => vec![[1, 3][i % 2]],
        false if is_under_slow_tool() => vec![0, 1, 3, 100],
        false => vec![0, 1, 3, 100, 5000],
    };
    SIZES.into_iter().enumerate().flat_map(|(i, n)| of_size((i, n)).into_iter().map(move |batch| (n, batch))).collect()
}

fn random<T: Element>(rng: &mut Rng, shape: &[usize]) -> ArrayD<T> {
    base(&Layout::whole(shape), rng, |rng| T::of(2.0 * rng.uniform() - 1.0))
}

/// Random matrices plus a diagonal, which keeps them regular.
fn regular<T: Element>(rng: &mut Rng, batch: usize, n: usize) -> Array3<T> {
    let mut a = random::<T>(rng, &[batch, n, n]).into_dimensionality::<Ix3>().expect("three axes");
    for mut matrix in a.outer_iter_mut() {
        matrix.diag_mut().mapv_inplace(|x| T::of(x.into() + if x.into() < 0.0 { -1.5 } else { 1.5 }));
    }
    a
}

/// The root of the sum of the squares of the elements.
fn frobenius(a: ArrayView2<'_, f64>) -> f64 {
    a.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Positive definite matrices.
fn definite<T: Element>(rng: &mut Rng, batch: usize, n: usize) -> Array3<T> {
    let half = random::<T>(rng, &[batch, n, n]).into_dimensionality::<Ix3>().expect("three axes");
    let mut a = Array3::from_elem((batch, n, n), T::of(0.0));
    for (mut a, half) in a.outer_iter_mut().zip(half.outer_iter()) {
        let half = wide(half);
        a.assign(&(half.dot(&half.t()) + Array2::<f64>::eye(n) * 0.5).mapv(T::of));
    }
    a
}

fn wide<T: Element>(x: ArrayView2<'_, T>) -> Array2<f64> {
    x.mapv(Into::<f64>::into)
}

/// The greatest sum of sizes of a row.
fn norm(x: &Array2<f64>) -> f64 {
    x.rows().into_iter().map(|row| row.mapv(f64::abs).sum()).fold(0.0, f64::max)
}

/// Whether a residual is within `factor` n u of `size`.
fn within<T: Element>(residual: &Array2<f64>, n: usize, size: f64, case: &str) -> Outcome {
    let (residual, bound) = (norm(residual), 4.0 * (n as f64 + 1.0) * T::ROUNDING * size);
    ensure!(residual <= bound, "{case}: the residual is {residual:e}, the bound {bound:e}");
    Ok(())
}

fn on<T: Element, D: ndarray::Dimension>(device: &Device, x: &Array<T, D>) -> Result<GpuArray<T, D>, ArrayError> {
    GpuArray::from_ndarray(device, x)
}

pub fn solutions_have_small_residuals(device: &Device) -> Outcome {
    fn of_type<T: Element>(device: &Device) -> Outcome {
        let mut rng = rng(201);
        for (n, batch) in cases(device) {
            let a = regular::<T>(&mut rng, batch, n);
            for columns in [1, 3, 37].into_iter().take(if n < 20 || n == 33 { 3 } else { 1 }) {
                let b = random::<T>(&mut rng, &[batch, n, columns]).into_dimensionality::<Ix3>()?;
                let got = linalg::solve(&on(device, &a)?, &on(device, &b)?).eval()?.to_ndarray()?;
                ensure_eq!(got.shape(), b.shape());
                for x in [got, host::linalg::solve(&a, &b)?, reference::linalg::solve(&a, &b)?] {
                    for ((a, x), b) in a.outer_iter().zip(x.outer_iter()).zip(b.outer_iter()) {
                        let (a, x) = (wide(a), wide(x));
                        let size = norm(&a) * norm(&x) * n as f64;
                        within::<T>(&(a.dot(&x) - wide(b)), n, size, &format!("{n} rows, {batch} matrices"))?;
                    }
                }
            }
        }
        Ok(())
    }
    of_type::<f32>(device)?;
    of_type::<f64>(device)
}

pub fn triangles_are_solved(device: &Device) -> Outcome {
    fn of_type<T: Element>(device: &Device) -> Outcome {
        let mut rng = rng(202);
        let triangles = [Triangle::Lower, Triangle::Upper, Triangle::UnitLower, Triangle::UnitUpper];
        for (i, (n, batch)) in cases(device).into_iter().enumerate() {
            // Small beside the diagonal; of the other triangle nothing is read.
            let mut a = regular::<T>(&mut rng, batch, n);
            let b = random::<T>(&mut rng, &[batch, n, 1 + i % 5]).into_dimensionality::<Ix3>()?;
            let triangle = triangles[i % 4];
            let is_lower = matches!(triangle, Triangle::Lower | Triangle::UnitLower);
            let is_unit = matches!(triangle, Triangle::UnitLower | Triangle::UnitUpper);
            for ((_, i, j), x) in a.indexed_iter_mut() {
                if if is_lower { j > i } else { j < i } || (is_unit && i == j) {
                    *x = T::of(f64::NAN);
                } else if i != j {
                    *x = T::of((*x).into() / n as f64);
                }
            }
            let got = linalg::solve_triangular(&on(device, &a)?, &on(device, &b)?, triangle).eval()?.to_ndarray()?;
            let of_host = host::linalg::solve_triangular(&a, &b, triangle)?;
            for x in [got, of_host, reference::linalg::solve_triangular(&a, &b, triangle)?] {
                for ((a, x), b) in a.outer_iter().zip(x.outer_iter()).zip(b.outer_iter()) {
                    let t = Array2::from_shape_fn((n, n), |(i, j)| match i == j {
                        true if is_unit => 1.0,
                        _ => {
                            if (j > i) == is_lower && i != j {
                                0.0
                            } else {
                                a[[i, j]].into()
                            }
                        }
                    });
                    let x = wide(x);
                    within::<T>(&(t.dot(&x) - wide(b)), n, norm(&t) * norm(&x), &format!("{n} rows, {triangle:?}"))?;
                }
            }
        }
        Ok(())
    }
    of_type::<f32>(device)?;
    of_type::<f64>(device)
}

pub fn cholesky_factors_multiply_to_the_matrix(device: &Device) -> Outcome {
    fn of_type<T: Element>(device: &Device) -> Outcome {
        let mut rng = rng(203);
        for (n, batch) in cases(device) {
            let a = definite::<T>(&mut rng, batch, n);
            let mut lower = a.clone();
            // The other triangle is not read.
            lower.indexed_iter_mut().filter(|((_, i, j), _)| j > i).for_each(|(_, x)| *x = T::of(f64::NAN));
            let got = linalg::cholesky(&on(device, &lower)?).eval()?.to_ndarray()?;
            for l in [got, host::linalg::cholesky(&lower)?, reference::linalg::cholesky(&lower)?] {
                ensure!(l.indexed_iter().all(|((_, i, j), &x)| j <= i || x == T::of(0.0)), "zeros above the diagonal");
                for (a, l) in a.outer_iter().zip(l.outer_iter()) {
                    let (a, l) = (wide(a), wide(l));
                    within::<T>(&(l.dot(&l.t()) - &a), n, norm(&a) * 2.0, &format!("{n} rows, {batch} matrices"))?;
                }
            }
        }
        Ok(())
    }
    of_type::<f32>(device)?;
    of_type::<f64>(device)
}

/// l u, and the rows of a in the order that the exchanges give.
fn multiplied<T: Element>(
    lu: ArrayView2<'_, T>,
    pivots: &[i32],
    a: ArrayView2<'_, T>,
) -> (Array2<f64>, Array2<f64>, f64) {
    let (lu, mut a, n) = (wide(lu), wide(a), pivots.len());
    let l = Array2::from_shape_fn((n, n), |(i, j)| {
        if i == j {
            1.0
        } else if j < i {
            lu[[i, j]]
        } else {
            0.0
        }
    });
    let u = Array2::from_shape_fn((n, n), |(i, j)| if j < i { 0.0 } else { lu[[i, j]] });
    for (k, &row) in pivots.iter().enumerate() {
        for j in 0..n {
            a.swap([k, j], [row as usize, j]);
        }
    }
    (l.dot(&u), a, norm(&l) * norm(&u))
}

pub fn lu_factors_multiply_to_the_matrix(device: &Device) -> Outcome {
    fn of_type<T: Element>(device: &Device) -> Outcome {
        let mut rng = rng(204);
        for (n, batch) in cases(device) {
            let a = random::<T>(&mut rng, &[batch, n, n]).into_dimensionality::<Ix3>()?;
            let (lu, pivots) = linalg::lu_factor(&on(device, &a)?).eval()?;
            let got = (lu.to_ndarray()?, pivots.to_ndarray()?);
            for (lu, pivots) in [got, host::linalg::lu_factor(&a)?, reference::linalg::lu_factor(&a)?] {
                ensure_eq!((lu.dim(), pivots.dim()), ((batch, n, n), (batch, n)));
                ensure!(lu.indexed_iter().all(|((_, i, j), &x)| j >= i || x.into().abs() <= 1.0), "l is above 1");
                for ((lu, pivots), a) in lu.outer_iter().zip(pivots.outer_iter()).zip(a.outer_iter()) {
                    let (product, a, size) = multiplied(lu, &pivots.to_vec(), a);
                    within::<T>(&(product - a), n, size, &format!("{n} rows, {batch} matrices"))?;
                }
            }
        }
        Ok(())
    }
    of_type::<f32>(device)?;
    of_type::<f64>(device)
}

/// Whether q has orthonormal columns, r is upper triangular and q r is a.
fn are_factors<T: Element>(q: ArrayView2<'_, T>, r: ArrayView2<'_, T>, a: ArrayView2<'_, T>, case: &str) -> Outcome {
    let (q, r, a) = (wide(q), wide(r), wide(a));
    let (rows, count) = q.dim();
    ensure!(r.indexed_iter().all(|((i, j), &x)| i <= j || x == 0.0), "{case}: r is no triangle");
    within::<T>(&(q.t().dot(&q) - Array2::<f64>::eye(count)), rows, 4.0 * (count as f64).sqrt(), case)?;
    within::<T>(&(q.dot(&r) - &a), rows, 4.0 * norm(&a) * (count as f64).sqrt(), case)
}

pub fn reflections_give_orthonormal_columns(device: &Device) -> Outcome {
    fn of_type<T: Element>(device: &Device) -> Outcome {
        let mut rng = rng(205);
        let squares = cases(device).into_iter().map(|(n, batch)| (n, n, batch));
        let others = [
            (64, 5, 2),
            (5, 64, 2),
            (33, 2, 1),
            (2, 33, 1),
            (7, 4, 20),
            (4, 7, 20),
            (1, 6, 3),
            (6, 1, 3),
            (0, 4, 2),
            (4, 0, 2),
        ];
        for (rows, columns, batch) in squares.chain(others) {
            let mut a = random::<T>(&mut rng, &[batch, rows, columns]).into_dimensionality::<Ix3>()?;
            if columns > 3 {
                // Columns that depend on others, and one of zeros.
                let copy = a.slice(s![.., .., 0]).to_owned();
                a.slice_mut(s![.., .., 2]).assign(&copy);
                a.slice_mut(s![.., .., 1]).fill(T::of(0.0));
            }
            let (q, r) = linalg::qr(&on(device, &a)?).eval()?;
            let got = (q.to_ndarray()?, r.to_ndarray()?);
            let count = rows.min(columns);
            for (q, r) in [got, host::linalg::qr(&a)?, reference::linalg::qr(&a)?] {
                ensure_eq!((q.dim(), r.dim()), ((batch, rows, count), (batch, count, columns)));
                for ((q, r), a) in q.outer_iter().zip(r.outer_iter()).zip(a.outer_iter()) {
                    are_factors(q, r, a, &format!("{rows} x {columns}"))?;
                }
            }
        }
        // The signs are LAPACK's.
        let a = array![[T::of(3.0), T::of(1.0)], [T::of(4.0), T::of(2.0)]];
        let (_, r) = linalg::qr(&on(device, &a)?).eval()?;
        ensure!((r.to_ndarray()?[[0, 0]].into() + 5.0).abs() < 1e-5);
        Ok(())
    }
    of_type::<f32>(device)?;
    of_type::<f64>(device)
}

/// Whether two arrays agree within `bound` of the size of their elements, at least 1.
fn near<T: Element>(got: &ArrayD<T>, want: &ArrayD<T>, bound: f64, case: &str) -> Outcome {
    ensure_eq!((case, got.shape()), (case, want.shape()));
    let size = want.iter().fold(1.0, |most: f64, &x| most.max(x.into().abs()));
    for (&got, &want) in got.iter().zip(want) {
        let (got, want): (f64, f64) = (got.into(), want.into());
        // Determinants of f32 overflow.
        ensure!(got == want || (got - want).abs() <= bound * size, "{case}: got {got}, want {want}");
    }
    Ok(())
}

pub fn inverses_and_determinants_are_those_of_the_definition(device: &Device) -> Outcome {
    fn of_type<T: Element>(device: &Device) -> Outcome {
        let mut rng = rng(206);
        for (n, batch) in cases(device) {
            let a = definite::<T>(&mut rng, batch, n);
            let on_device = on(device, &a)?;
            let bound = 2000.0 * (n + 1) as f64 * T::ROUNDING;
            let (x, want) = (linalg::inv(&on_device).eval()?.to_ndarray()?, reference::linalg::inv(&a)?.into_dyn());
            near(&x.into_dyn(), &want, bound, &format!("inverse of {n} rows"))?;
            near(&host::linalg::inv(&a)?.into_dyn(), &want, bound, &format!("host, inverse of {n} rows"))?;
            let (x, want) = (linalg::det(&on_device).eval()?.to_ndarray()?, reference::linalg::det(&a)?.into_dyn());
            near(&x.into_dyn(), &want, bound, &format!("determinant of {n} rows"))?;
            near(&host::linalg::det(&a)?.into_dyn(), &want, bound, &format!("host, determinant of {n} rows"))?;
        }
        Ok(())
    }
    of_type::<f32>(device)?;
    of_type::<f64>(device)?;
    // Of a matrix alone.
    let a = on(device, &array![[1.0, 2.0], [3.0, 4.0]])?;
    let determinant: f64 = linalg::det(&a).eval()?.get()?;
    ensure!((determinant + 2.0).abs() < 1e-15);
    Ok(())
}

pub fn matrices_of_every_layout(device: &Device) -> Outcome {
    let mut rng = rng(207);
    for n in [4, 19] {
        for (name, layout) in Layout::each(&[3, n, n]) {
            let mut x = base(&layout, &mut rng, |rng| rng.uniform() - 0.5);
            // A diagonal for each matrix, wherever it lies.
            layout.of_host_mut(x.view_mut()).indexed_iter_mut().for_each(|(at, x)| {
                if at[1] == at[2] {
                    *x += 4.0
                }
            });
            let on_device = GpuArray::from_ndarray(device, &x)?;
            let (a, x) = (of_gpu(&layout, &on_device)?, layout.of_host(x.view()));
            let got = linalg::solve(&a, &a).eval()?.to_ndarray()?;
            near(&got, &reference::linalg::solve(x.view(), x.view())?, 1e-12, name)?;
            near(&host::linalg::solve(x.view(), x.view())?, &got, 1e-12, name)?;
            let got = linalg::solve_triangular(&a, &a, Triangle::Lower).eval()?.to_ndarray()?;
            near(&got, &reference::linalg::solve_triangular(x.view(), x.view(), Triangle::Lower)?, 1e-12, name)?;
            let got = linalg::cholesky(&a).eval()?.to_ndarray()?;
            near(&got, &reference::linalg::cholesky(x.view())?, 1e-12, name)?;
            let (q, r) = linalg::qr(&a).eval()?;
            let want = reference::linalg::qr(x.view())?;
            near(&q.to_ndarray()?, &want.0, 1e-12, name)?;
            near(&r.to_ndarray()?, &want.1, 1e-12, name)?;
        }
    }
    // An expression, and a transposed view of a stack.
    let x = regular::<f64>(&mut rng, 2, 6);
    let a = on(device, &x)?;
    let got = linalg::inv(&a * 2.0).eval()?.to_ndarray()?.into_dyn();
    near(&got, &reference::linalg::inv(&(&x * 2.0))?.into_dyn(), 1e-12, "expression")?;
    let got = linalg::inv(a.swap_axes(Axis(1), Axis(2))?).eval()?.to_ndarray()?.into_dyn();
    let turned = x.view().permuted_axes([0, 2, 1]);
    near(&got, &reference::linalg::inv(turned)?.into_dyn(), 1e-12, "transposed")
}

pub fn stacks_are_broadcast(device: &Device) -> Outcome {
    let mut rng = rng(208);
    let cases: [(&[usize], &[usize]); 6] = [
        (&[5, 5], &[5]),
        (&[3, 5, 5], &[5]),
        (&[5, 5], &[4, 5, 2]),
        (&[2, 1, 5, 5], &[3, 5, 1]),
        (&[1, 5, 5], &[6, 5, 5]),
        (&[3, 5, 5], &[5, 2]),
    ];
    for (left, right) in cases {
        let mut x = random::<f64>(&mut rng, left);
        let rank = x.ndim();
        x.indexed_iter_mut().for_each(|(at, x)| {
            if at[rank - 2] == at[rank - 1] {
                *x += 3.0
            }
        });
        let y = random::<f64>(&mut rng, right);
        let got = linalg::solve(&on(device, &x)?, &on(device, &y)?).eval()?.to_ndarray()?;
        near(&got, &reference::linalg::solve(&x, &y)?, 1e-12, &format!("{left:?} {right:?}"))?;
        near(&host::linalg::solve(&x, &y)?, &got, 1e-12, &format!("{left:?} {right:?}"))?;
    }
    // Ranks are those of the product.
    let (a, b) = (on(device, &Array2::<f32>::eye(3))?, on(device, &array![1.0f32, 2.0, 3.0])?);
    let x: Array1<f32> = linalg::solve(&a, &b).eval()?.to_ndarray()?;
    ensure_eq!(x, array![1.0, 2.0, 3.0]);
    Ok(())
}

pub fn badly_scaled_matrices(device: &Device) -> Outcome {
    let mut rng = rng(209);
    for n in [4, 12, 40] {
        // Rows and columns of sizes from 1e-60 to 1e60 are exact multiples of those of a matrix that is not.
        let plain = regular::<f64>(&mut rng, 1, n);
        let powers: Vec<f64> = (0..n).map(|i| 2f64.powi((i as i32 * 37) % 400 - 200)).collect();
        let mut x = plain.clone();
        x.indexed_iter_mut().for_each(|((_, i, _), x)| *x *= powers[i]);
        let (q, r) = linalg::qr(&on(device, &x.view().permuted_axes([0, 2, 1]).to_owned())?).eval()?;
        // Columns on scales of their own have q of the plain ones.
        let (want, _) = reference::linalg::qr(plain.view().permuted_axes([0, 2, 1]))?;
        near(&q.to_ndarray()?.into_dyn(), &want.into_dyn(), 1e-11, "q")?;
        ensure!(r.to_ndarray()?.iter().all(|x| x.is_finite()));
        // Scaled symmetrically, cholesky factors are scaled.
        let plain = definite::<f64>(&mut rng, 1, n);
        let mut x = plain.clone();
        x.indexed_iter_mut().for_each(|((_, i, j), x)| *x *= powers[i] * powers[j]);
        let mut l = linalg::cholesky(&on(device, &x)?).eval()?.to_ndarray()?;
        l.indexed_iter_mut().for_each(|((_, i, _), x)| *x /= powers[i]);
        near(&l.into_dyn(), &reference::linalg::cholesky(&plain)?.into_dyn(), 1e-11, "l")?;
    }
    // Squares of the first overflow, those of the last are 0.
    for size in [1e300, 1.0, 1e-300, 5e-324] {
        let x = array![[3.0 * size, size], [4.0 * size, -size]];
        let (q, r) = linalg::qr(&on(device, &x)?).eval()?;
        let (on_host, _) = host::linalg::qr(&x)?;
        for q in [q.to_ndarray()?, on_host] {
            near(&q.slice(s![.., ..1]).to_owned().into_dyn(), &array![[-0.6], [-0.8]].into_dyn(), 1e-15, "q")?;
        }
        ensure_eq!(r.to_ndarray()?[[0, 0]], -5.0 * size);
    }
    // A small pivot is exchanged.
    let a = on(device, &array![[1e-20, 1.0], [1.0, 1.0]])?;
    let x = linalg::solve(&a, &on(device, &array![1.0, 2.0])?).eval()?.to_ndarray()?;
    near(&x.into_dyn(), &array![1.0, 1.0].into_dyn(), 1e-15, "small pivot")
}

pub fn determinants_do_not_overflow_on_the_way(device: &Device) -> Outcome {
    let cases = [
        (vec![1e200, 1e200, 1e-200, 1e-200], 1.0),
        (vec![1e-200, 1e-200, 1e200, -1e200], -1.0),
        (vec![1e-300, 1e-300, 3e300, 1e300], 3.0),
        (vec![1e-310; 1], 1e-310),
        (vec![1e200, 1e200], f64::INFINITY),
        (vec![1e-200, 1e-200], 0.0),
        (vec![1e-160, 1e-160], 1e-320),
    ];
    for (diagonal, want) in cases {
        let n = diagonal.len();
        let x = Array2::from_diag(&Array1::from(diagonal));
        let on_device = linalg::det(&on(device, &x)?).eval()?.get()?;
        for got in [on_device, host::linalg::det(&x)?[()]] {
            let is_near = got == want || (got - want).abs() <= 1e-14 * want.abs() + 2.0 * f64::from_bits(1);
            ensure!(is_near, "{n} rows: got {got:e}, want {want:e}");
        }
    }
    // Exchanges of rows turn the sign.
    let mut turned = Array2::<f64>::eye(35);
    turned.swap([0, 0], [1, 0]);
    turned.swap([0, 1], [1, 1]);
    ensure_eq!(linalg::det(&on(device, &turned)?).eval()?.get()?, -1.0);
    Ok(())
}

/// Determinants of these are far beyond the range of their type, above and below.
pub fn slogdet_is_that_of_the_definition(device: &Device) -> Outcome {
    fn of_type<T: Element>(device: &Device, power: i32) -> Outcome {
        let mut rng = rng(212);
        for (i, (n, batch)) in cases(device).into_iter().enumerate() {
            let scale = 2f64.powi(if i % 2 == 0 { power } else { -power });
            let a = regular::<T>(&mut rng, batch, n).mapv(|x| T::of(x.into() * scale));
            let (signs, logs) = linalg::slogdet(&on(device, &a)?).eval()?;
            let (want_signs, want) = reference::linalg::slogdet(&a)?;
            ensure_eq!((want.len(), want_signs.iter().all(|&x| x.into().abs() == 1.0)), (batch, true));
            let in_range = |log: f64| log.abs() < if T::ROUNDING > 1e-10 { 87.0 } else { 708.0 };
            ensure!(n < 5 || want.iter().all(|&log| !in_range(log.into())), "{n} rows: the logarithm is not needed");
            let exact = a.mapv(Into::<f64>::into);
            let inverses = reference::linalg::inv(&exact)?;
            // The result is that of a matrix whose elements differ by roundings, which changes the logarithm by the trace of A^-1 E.
            let conditions: Vec<f64> = exact
                .outer_iter()
                .zip(inverses.outer_iter())
                .map(|(a, inverse)| frobenius(a) * frobenius(inverse))
                .collect();
            for (signs, logs) in [(signs.to_ndarray()?, logs.to_ndarray()?), host::linalg::slogdet(&a)?] {
                ensure_eq!((n, signs), (n, want_signs.clone()));
                for ((&got, &want), condition) in logs.iter().zip(&want).zip(&conditions) {
                    let (got, want): (f64, f64) = (got.into(), want.into());
                    let bound = T::ROUNDING * (8.0 * n as f64 * condition + 4.0 * want.abs());
                    ensure!((got - want).abs() <= bound, "{n} rows: got {got}, want {want}, condition {condition}");
                }
            }
        }
        Ok(())
    }
    of_type::<f32>(device, 60)?;
    of_type::<f64>(device, 500)
}

pub fn slogdet_of_special_matrices(device: &Device) -> Outcome {
    let check = |x: &Array2<f64>, sign: f64, log: f64| -> Outcome {
        let (signs, logs) = linalg::slogdet(&on(device, x)?).eval()?;
        let (on_host, wanted) = (host::linalg::slogdet(x)?, reference::linalg::slogdet(x)?);
        for got in [(signs.get()?, logs.get()?), (on_host.0[()], on_host.1[()]), (wanted.0[()], wanted.1[()])] {
            let same = |got: f64, want: f64| got == want || (got.is_nan() && want.is_nan());
            let is_near = same(got.1, log) || (got.1 - log).abs() <= 1e-14 * log.abs();
            ensure!(same(got.0, sign) && is_near, "got {got:?}, want {:?} of {x:?}", (sign, log));
        }
        Ok(())
    };
    let (nan, infinity) = (f64::NAN, f64::INFINITY);
    check(&Array2::zeros((0, 0)), 1.0, 0.0)?;
    check(&Array2::eye(7), 1.0, 0.0)?;
    check(&array![[0.0, 1.0], [1.0, 0.0]], -1.0, 0.0)?;
    check(&array![[-1e-310]], -1.0, 1e-310f64.ln())?;
    check(&array![[1.0 + 1e-10]], 1.0, (1.0f64 + 1e-10).ln())?;
    check(&array![[1.0 - 1e-10]], 1.0, (1.0f64 - 1e-10).ln())?;
    check(&array![[1.0, 2.0], [2.0, 4.0]], 0.0, -infinity)?;
    check(&array![[0.0, 0.0], [1.0, -2.0]], 0.0, -infinity)?;
    check(&array![[-infinity]], -1.0, infinity)?;
    check(&array![[1.0, 2.0], [nan, 4.0]], nan, nan)?;
    check(&array![[0.0, 0.0], [0.0, nan]], nan, nan)?;
    // Signs, logarithms and statuses of a stack, whatever the layout; expressions and stacks of nothing.
    let x = array![[[[2.0f32, 0.0], [0.0, 2.0]], [[1.0, 1.0], [1.0, 1.0]]]];
    let a = on(device, &x)?;
    let (signs, logs, info) = linalg::slogdet(a.swap_axes(Axis(0), Axis(1))?).eval_with_info()?;
    ensure_eq!(signs.to_ndarray()?, array![[1.0], [0.0]]);
    ensure_eq!(logs.to_ndarray()?, array![[4f32.ln()], [f32::NEG_INFINITY]]);
    ensure_eq!(info.to_ndarray()?, array![[0], [2]].into_dyn());
    ensure_eq!(linalg::slogdet(eye::<f64, _>(3)).on(device).eval()?.1.get()?, 0.0);
    let no_matrices = on(device, &Array3::<f32>::zeros((0, 3, 3)))?;
    ensure_eq!(linalg::slogdet(&no_matrices).eval()?.1.shape().to_vec(), [0]);
    let told = "slogdet: matrices of 2 rows and 3 columns are not square";
    ensure_eq!(message(linalg::slogdet(&on(device, &Array2::<f32>::zeros((2, 3)))?).eval()), told);
    ensure_eq!(message(host::linalg::slogdet(&Array2::<f32>::zeros((2, 3)))), told);
    ensure_eq!(message(reference::linalg::slogdet(&Array2::<f32>::zeros((2, 3)))), told);
    Ok(())
}

/// The message of an error.
fn message<T>(result: Result<T, AlgoError>) -> String {
    result.err().map(|error| error.to_string()).unwrap_or_default()
}

pub fn matrices_without_a_result_are_told(device: &Device) -> Outcome {
    for n in [3, 8, 33] {
        let mut x = Array::from_shape_fn((4, 5, n, n), |(_, _, i, j)| if i == j { 2.0 } else { 0.0 });
        // Two matrices in the middle have equal columns, and a third a 0.
        x.slice_mut(s![2, 3, .., 1]).fill(0.0);
        x.slice_mut(s![3, 1, .., n - 1]).fill(0.0);
        let a = on(device, &x)?;
        let ones = Array::from_elem((n, 1), 1.0);
        let b = on(device, &ones)?;
        let singular = |op: &str| format!("{op}: the matrix at [2, 3] of the stack is singular: pivot 1 is 0");
        ensure_eq!(message(linalg::solve(&a, &b).eval()), singular("solve"));
        ensure_eq!(message(host::linalg::solve(&x, &ones)), singular("solve"));
        ensure_eq!(message(reference::linalg::solve(&x, &ones)), singular("solve"));
        ensure_eq!(message(linalg::inv(&a).eval()), singular("inv"));
        ensure_eq!(message(host::linalg::inv(&x)), singular("inv"));
        ensure_eq!(message(linalg::solve_triangular(&a, &b, Triangle::Upper).eval()), singular("solve_triangular"));
        ensure_eq!(message(host::linalg::solve_triangular(&x, &ones, Triangle::Upper)), singular("solve_triangular"));
        let definite = "cholesky: the matrix at [2, 3] of the stack is not positive definite: pivot 1 is not above 0";
        ensure_eq!(message(linalg::cholesky(&a).eval()), definite);
        ensure_eq!(message(host::linalg::cholesky(&x)), definite);
        ensure_eq!(message(reference::linalg::cholesky(&x)), definite);
        // A unit diagonal is not read.
        ensure!(linalg::solve_triangular(&a, &b, Triangle::UnitLower).eval().is_ok());
        // The others are right, and those without a result are NaN.
        let want = Array2::from_shape_fn((4, 5), |at| match at {
            (2, 3) => 2,
            (3, 1) => n as i32,
            _ => 0,
        });
        let (inverses, info) = linalg::inv(&a).eval_with_info()?;
        ensure_eq!(info.to_ndarray()?, want.clone().into_dyn());
        let (l, of_cholesky) = linalg::cholesky(&a).eval_with_info()?;
        ensure_eq!(of_cholesky.to_ndarray()?, want.clone().into_dyn());
        let (_, _, of_lu) = linalg::lu_factor(&a).eval_with_info()?;
        ensure_eq!(of_lu.to_ndarray()?, want.clone().into_dyn());
        let (determinants, of_det) = linalg::det(&a).eval_with_info()?;
        ensure_eq!(of_det.to_ndarray()?, want.clone().into_dyn());
        let (inverses, l, determinants) = (inverses.to_ndarray()?, l.to_ndarray()?, determinants.to_ndarray()?);
        for (at, &told) in want.indexed_iter() {
            let (inverse, l) = (inverses.slice(s![at.0, at.1, .., ..]), l.slice(s![at.0, at.1, .., ..]));
            if told == 0 {
                ensure_eq!((inverse[[0, 0]], inverse[[0, 1]], determinants[at]), (0.5, 0.0, 2f64.powi(n as i32)));
            } else {
                ensure!(inverse.iter().chain(l).all(|x| x.is_nan()) && determinants[at] == 0.0);
            }
        }
    }
    // Of right-hand sides without columns nothing is computed, but the matrix is looked at.
    let (a, b) = (on(device, &array![[0.0f64]])?, on(device, &Array2::<f64>::zeros((1, 0)))?);
    let alone = "solve: the matrix is singular: pivot 0 is 0";
    ensure_eq!(message(linalg::solve(&a, &b).eval()), alone);
    ensure_eq!(message(host::linalg::solve(&array![[0.0f64]], &Array2::<f64>::zeros((1, 0)))), alone);
    Ok(())
}

pub fn nan_spreads_within_its_matrix(device: &Device) -> Outcome {
    for n in [3, 7, 35] {
        let mut x =
            Array3::from_shape_fn((3, n, n), |(_, i, j)| if i == j { 4.0f32 } else { 1.0 / (1 + i + j) as f32 });
        x[[1, n - 1, 0]] = f32::NAN;
        let a = on(device, &x)?;
        let solved = linalg::solve(&a, &on(device, &Array1::from_elem(n, 1.0f32))?).eval()?.to_ndarray()?;
        let inverse = linalg::inv(&a).eval()?.to_ndarray()?;
        let determinants = linalg::det(&a).eval()?.to_ndarray()?;
        for matrix in 0..3 {
            let is_nan = matrix == 1;
            ensure_eq!((n, solved.row(matrix).iter().any(|x| x.is_nan())), (n, is_nan));
            ensure_eq!((n, inverse.slice(s![matrix, .., ..]).iter().any(|x| x.is_nan())), (n, is_nan));
            ensure_eq!((n, determinants[matrix].is_nan()), (n, is_nan));
        }
        ensure!(host::linalg::det(&x)?[1].is_nan());
        let (q, _) = linalg::qr(&a).eval()?;
        let q = q.to_ndarray()?;
        ensure!(
            q.slice(s![1, .., 0]).iter().any(|x| x.is_nan()) && q.slice(s![0, .., ..]).iter().all(|x| x.is_finite())
        );
        let last = n - 1;
        let told =
            format!("cholesky: the matrix at [1] of the stack is not positive definite: pivot {last} is not above 0");
        ensure_eq!(message(linalg::cholesky(&a).eval()), told);
        ensure_eq!(message(host::linalg::cholesky(&x)), told);
    }
    Ok(())
}

pub fn results_go_into_views(device: &Device) -> Outcome {
    let mut rng = rng(210);
    let x = regular::<f64>(&mut rng, 3, 5);
    let a = on(device, &x)?;
    for (name, layout) in Layout::each(&[3, 5, 5]) {
        let old = ArrayD::from_elem(IxDyn(&layout.base), 7.5);
        let mut target = GpuArray::from_ndarray(device, &old)?;
        let mut view = target.permuted_axes_mut(layout.axes())?;
        linalg::inv(a.view().into_dyn()).write_into(view.slice_mut(&layout.slices()[..])?)?;
        let mut got = target.to_ndarray()?;
        near(&layout.of_host(got.view()).to_owned(), &reference::linalg::inv(&x)?.into_dyn(), 1e-12, name)?;
        layout.of_host_mut(got.view_mut()).fill(7.5);
        ensure!(got == old, "{name}: elements beside the view were written");
    }
    let mut target = GpuArray::full(device, (3, 5, 4), 1.0)?;
    let error = linalg::inv(&a).write_into(&mut target).err();
    ensure!(matches!(error, Some(AlgoError::OutShape { .. })), "{error:?}");
    // Of a stack with a singular matrix the others are written.
    let x = array![[[2.0f64]], [[0.0]], [[4.0]]];
    let mut target = GpuArray::full(device, (3, 1, 1), 1.0)?;
    let error = linalg::inv(&on(device, &x)?).write_into(&mut target).err();
    ensure!(matches!(&error, Some(AlgoError::Singular { op: "inv", matrix, pivot: 0 }) if *matrix == [1]), "{error:?}");
    let got = target.to_ndarray()?;
    ensure!((got[[0, 0, 0]], got[[2, 0, 0]]) == (0.5, 0.25) && got[[1, 0, 0]].is_nan());
    Ok(())
}

pub fn linalg_of_nothing(device: &Device) -> Outcome {
    let none = on(device, &Array3::<f32>::zeros((2, 0, 0)))?;
    ensure_eq!(linalg::det(&none).eval()?.to_ndarray()?, array![1.0, 1.0]);
    ensure_eq!(host::linalg::det(&Array3::<f32>::zeros((2, 0, 0)))?, array![1.0, 1.0]);
    ensure_eq!(linalg::inv(&none).eval()?.shape().to_vec(), [2, 0, 0]);
    ensure_eq!(linalg::cholesky(&none).eval_with_info()?.1.to_ndarray()?, Array1::zeros(2).into_dyn());
    let no_matrices = on(device, &Array3::<f32>::zeros((0, 3, 3)))?;
    ensure_eq!(linalg::det(&no_matrices).eval()?.shape().to_vec(), [0]);
    ensure_eq!(linalg::lu_factor(&no_matrices).eval()?.1.shape().to_vec(), [0, 3]);
    let b = on(device, &Array2::<f32>::zeros((3, 2)))?;
    ensure_eq!(linalg::solve(&no_matrices, &b).eval()?.shape().to_vec(), [0, 3, 2]);
    Ok(())
}

pub fn linalg_has_the_same_bits_again(device: &Device) -> Outcome {
    let mut rng = rng(211);
    for (n, batch) in [(6, 9), (30, 4), (50, 2)] {
        // Each matrix twice: the place in the stack plays no part.
        let x = regular::<f32>(&mut rng, batch, n);
        let x = ndarray::concatenate(Axis(0), &[x.view(), x.view()])?;
        let a = on(device, &x)?;
        let first = linalg::inv(&a).eval()?.to_ndarray()?.mapv(f32::to_bits);
        ensure_eq!(first.slice(s![..batch, .., ..]), first.slice(s![batch.., .., ..]));
        ensure!(linalg::inv(&a).eval()?.to_ndarray()?.mapv(f32::to_bits) == first, "{n} rows: other bits");
    }
    Ok(())
}

pub fn linalg_on_streams_and_in_graphs(device: &Device) -> Outcome {
    let (one, two) = (Stream::new(device)?, Stream::new(device)?);
    let x = array![[4.0f64, 0.0], [0.0, 2.0]];
    let (a, b) = (GpuArray::from_ndarray(&one, &x)?, GpuArray::from_ndarray(&two, &array![8.0, 8.0])?);
    let solved = linalg::solve(&a, &b).eval()?;
    ensure_eq!(solved.stream(), &one);
    let on_two = linalg::solve(&a, &b).on(&two).eval()?;
    ensure_eq!(on_two.stream(), &two);
    ensure_eq!((solved.to_ndarray()?, on_two.to_ndarray()?), (array![2.0, 4.0], array![2.0, 4.0]));
    let error = linalg::det(eye::<f64, _>(3)).eval().err();
    ensure!(matches!(error, Some(AlgoError::Array(ArrayError::NoHome))), "{error:?}");
    ensure_eq!(linalg::det(eye::<f64, _>(3)).on(device).eval()?.get()?, 1.0);
    // A function that waits is refused within a capture; one that does not is captured.
    let mut a = a;
    let (graph, (refused, (x, info))) = one.capture(|| {
        Ok::<_, AlgoError>((
            linalg::inv(&a).eval().err().map(|error| error.to_string()),
            linalg::inv(&a).eval_with_info()?,
        ))
    })?;
    ensure!(refused.is_some_and(|text| text.contains("inv")), "a function that waits was captured");
    a.copy_from_ndarray(&array![[2.0, 0.0], [0.0, 0.0]])?;
    one.synchronize()?;
    // SAFETY: the arrays are alive, and nothing else uses them.
    unsafe { graph.launch(&one)? };
    one.synchronize()?;
    ensure_eq!(info.to_ndarray()?, ndarray::arr0(2).into_dyn());
    ensure!(x.to_ndarray()?.iter().all(|x| x.is_nan()));
    Ok(())
}

pub fn wrong_operands_are_errors(device: &Device) -> Outcome {
    let zeros = |shape: &[usize]| GpuArray::<f32, _>::zeros(device, IxDyn(shape));
    ensure_eq!(
        message(linalg::inv(&zeros(&[3])?).eval()),
        "inv: an array of shape [3] has no matrices; these are its last two axes"
    );
    ensure_eq!(
        message(linalg::det(&zeros(&[4, 2, 3])?).eval()),
        "det: matrices of 2 rows and 3 columns are not square"
    );
    let large = "qr: matrices of 3 rows and 65 columns; it takes stacks of small matrices, of at most 64";
    ensure_eq!(message(linalg::qr(&zeros(&[3, 65])?).eval()), large);
    ensure_eq!(message(host::linalg::qr(&ArrayD::<f32>::zeros(IxDyn(&[3, 65])))), large);
    ensure_eq!(message(linalg::solve(&zeros(&[3, 3])?, &zeros(&[4])?).eval()), "solve: a has 3 columns, b has 4 rows");
    let stacks = "solve: stacks of matrices of shapes [2, 3, 3] and [4, 3, 1] do not broadcast";
    ensure_eq!(message(linalg::solve(&zeros(&[2, 3, 3])?, &zeros(&[4, 3, 1])?).eval()), stacks);
    ensure_eq!(
        message(linalg::solve(&zeros(&[3, 3])?, &zeros(&[])?).eval()),
        "solve of a value without axes; `*` multiplies by a scalar"
    );
    let a = GpuArray::<f32, Ix2>::zeros(device, (3, 3))?;
    ensure_eq!(format!("{:?}", linalg::solve(&a, &a)), "solve([3, 3], [3, 3])");
    Ok(())
}
