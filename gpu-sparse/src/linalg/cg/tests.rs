//! Every outcome of a solve, on systems small enough to know the answer.

use crate::gallery::{Poisson, wathen_random};
use crate::linalg::*;
use crate::{CooMatrix, CsrMatrix, Result, Scalar, SparseError};
use approx::{abs_diff_eq, assert_abs_diff_eq, assert_relative_eq, relative_eq};

fn sine(n: usize) -> Vec<f64> {
    (0..n).map(|i| ((i + 1) as f64).sin()).collect()
}

/// The tridiagonal `n` x `n` matrix of constants.
fn tridiagonal(n: usize, below: f64, centre: f64, above: f64) -> CsrMatrix<f64> {
    let places = (0..n).flat_map(|i| [(i, i.wrapping_sub(1), below), (i, i, centre), (i, i + 1, above)]);
    let (mut rows, mut cols, mut values) = (vec![], vec![], vec![]);
    for (i, j, v) in places.filter(|&(_, j, v)| j < n && v != 0.0) {
        rows.push(i as u32);
        cols.push(j as u32);
        values.push(v);
    }
    CooMatrix::from_triplets(n, n, rows, cols, values).unwrap().to_csr()
}

fn diagonal(values: &[f64]) -> CsrMatrix<f64> {
    let n = values.len();
    CsrMatrix::from_parts(n, n, (0..=n as u64).collect(), (0..n as u32).collect(), values.to_vec()).unwrap()
}

/// Norm of `b - A x`, by definition, in f64.
fn residual<T: Scalar>(a: &CsrMatrix<T>, x: &ndarray::Array1<T>, b: &[T]) -> f64 {
    let mut sum = 0.0;
    for (i, &b) in b.iter().enumerate() {
        let (columns, values) = a.row(i).unwrap();
        let row: f64 = columns.iter().zip(values).map(|(&c, &v)| v.into() * x[c as usize].into()).sum();
        sum += (b.into() - row).powi(2);
    }
    sum.sqrt()
}

#[test]
fn solves_and_reports_what_it_did() {
    let a = Poisson::two_d(40, 30).build::<f64>().unwrap();
    let b = sine(1200);
    let norm_b = b.iter().map(|b| b * b).sum::<f64>().sqrt();
    for rtol in [1e-2, 1e-5, 1e-8, 1e-12] {
        let s = cg(&a, &b).rtol(rtol).solve().unwrap();
        assert_eq!((s.status, s.info(), s.is_converged()), (Status::Converged, 0, true));
        assert!(s.residual_norm <= 2.0 * rtol * norm_b);
        assert!((s.residual_norm - residual(&a, &s.x, &b)).abs() <= 1e-13 * norm_b);
        assert_relative_eq!(s.relative_residual * norm_b, s.residual_norm, epsilon = 0.0, max_relative = 1e-12);
        assert_eq!(s.history.len(), s.iterations + 1);
        assert_eq!(s.history.last(), Some(&s.recursive_residual));
        assert_relative_eq!(s.history[0], norm_b, epsilon = 0.0, max_relative = 1e-14);
        // The test was made after every iteration: only the last one met it.
        let met = s.history.iter().filter(|&&r| r <= rtol * norm_b).count();
        assert_eq!(met, 1);
        assert!(s.to_string().starts_with("converged: ") && !s.to_string().contains('\n'));
    }
}

#[test]
fn preconditioners_in_every_form() {
    let a = wathen_random::<f64>(12, 11, 5).unwrap();
    let b = sine(a.rows());
    let inverse: Vec<f64> = a.diagonal().iter().map(|d| 1.0 / d).collect();
    let as_matrix = diagonal(&inverse);
    let as_closure = from_fn(a.rows(), |r: &[f64], z: &mut [f64]| {
        z.iter_mut().zip(r).zip(&inverse).for_each(|((z, r), d)| *z = d * r);
    });
    let plain = cg(&a, &b).rtol(1e-8).preconditioner(Identity).solve().unwrap();
    let jacobi = cg(&a, &b).rtol(1e-8).preconditioner(Jacobi).solve().unwrap();
    let matrix = cg(&a, &b).rtol(1e-8).preconditioner(&as_matrix).solve().unwrap();
    let closure = cg(&a, &b).rtol(1e-8).preconditioner(as_closure).solve().unwrap();
    assert!(jacobi.iterations * 3 < plain.iterations, "{} {}", jacobi.iterations, plain.iterations);
    for s in [&plain, &jacobi, &matrix, &closure] {
        assert!(s.is_converged() && residual(&a, &s.x, &b) <= 2e-8 * plain.history[0]);
    }
    assert_eq!((matrix.iterations, closure.iterations), (jacobi.iterations, jacobi.iterations));
    assert_eq!(matrix.x, closure.x);
}

#[test]
fn operators_without_a_matrix() {
    let n = 500;
    let a = tridiagonal(n, -1.0, 2.5, -1.0);
    let operator = from_fn(n, |x: &[f64], y: &mut [f64]| {
        for i in 0..n {
            let (left, right) = (if i > 0 { x[i - 1] } else { 0.0 }, if i + 1 < n { x[i + 1] } else { 0.0 });
            y[i] = 2.5 * x[i] - left - right;
        }
    });
    let b = sine(n);
    let (want, got) = (cg(&a, &b).rtol(1e-10).solve().unwrap(), cg(&operator, &b).rtol(1e-10).solve().unwrap());
    assert!(got.is_converged());
    assert_eq!(got.iterations, want.iterations);
    assert!(got.x.iter().zip(&want.x).all(|(g, w)| abs_diff_eq!(g, w, epsilon = 1e-9)));
    assert!(matches!(cg(&operator, &b).preconditioner(Jacobi).solve(), Err(SparseError::NoDiagonal)));
}

#[test]
fn zero_right_hand_side_and_exact_guess() {
    let a = Poisson::one_d(20).build::<f64>().unwrap();
    for guess in [vec![3.0; 20], vec![f64::NAN; 20]] {
        let s = cg(&a, &[0.0; 20]).x0(&guess).solve().unwrap();
        assert_eq!((s.status, s.iterations, s.x.to_vec()), (Status::Converged, 0, vec![0.0; 20]));
        assert_eq!((s.residual_norm, s.relative_residual), (0.0, 0.0));
    }
    let exact: Vec<f64> = (0..20).map(|i| f64::from(i % 7)).collect();
    let b = a.matvec(&exact).unwrap();
    for rtol in [1e-8, 0.0] {
        let s = cg(&a, &b).x0(&exact).rtol(rtol).solve().unwrap();
        assert_eq!((s.status, s.iterations, s.x.to_vec()), (Status::Converged, 0, exact.clone()));
    }
    let near: Vec<f64> = exact.iter().map(|x| x + 1e-3).collect();
    let s = cg(&a, &b).x0(&near).rtol(1e-10).solve().unwrap();
    assert!(s.is_converged() && s.iterations > 0);
    assert!(s.x.iter().zip(&exact).all(|(g, w)| abs_diff_eq!(g, w, epsilon = 1e-8)));
}

#[test]
fn sizes_zero_and_one_and_diagonals() {
    let empty = CsrMatrix::<f64>::identity(0).unwrap();
    let s = cg(&empty, &[] as &[f64]).solve().unwrap();
    assert_eq!((s.status, s.iterations, s.x.len()), (Status::Converged, 0, 0));
    let s = cg(&diagonal(&[4.0]), &[2.0]).solve().unwrap();
    assert_eq!((s.status, s.iterations, s.x.to_vec()), (Status::Converged, 1, vec![0.5]));
    let uniform = cg(&diagonal(&[4.0; 9]), &[2.0; 9]).rtol(0.0).solve().unwrap();
    assert_eq!((uniform.status, uniform.iterations, uniform.x.to_vec()), (Status::Converged, 1, vec![0.5; 9]));
    let mixed = diagonal(&[1.0, 8.0, 64.0, 0.5]);
    let s = cg(&mixed, &[1.0, 2.0, 3.0, 4.0]).rtol(1e-14).preconditioner(Jacobi).solve().unwrap();
    assert_eq!((s.status, s.iterations), (Status::Converged, 1));
    let s = cg(&mixed, &[1.0, 2.0, 3.0, 4.0]).rtol(1e-10).solve().unwrap();
    assert!(s.is_converged() && s.iterations <= 5); // four distinct eigenvalues
}

#[test]
fn iteration_limits() {
    let a = Poisson::one_d(50).build::<f64>().unwrap();
    let b = vec![1.0; 50]; // converges in exactly 25 iterations
    let s = cg(&a, &b).rtol(1e-10).maxiter(25).solve().unwrap();
    assert_eq!((s.status, s.iterations, s.info()), (Status::Converged, 25, 0));
    let s = cg(&a, &b).rtol(1e-10).maxiter(24).solve().unwrap();
    assert_eq!((s.status, s.iterations, s.info()), (Status::MaxIterations, 24, 24));
    assert_abs_diff_eq!(s.residual_norm, residual(&a, &s.x, &b), epsilon = 1e-10);
    let guess = vec![7.0; 50];
    let s = cg(&a, &b).x0(&guess).maxiter(0).solve().unwrap();
    assert_eq!((s.status, s.iterations, s.info(), s.x.to_vec()), (Status::MaxIterations, 0, 1, guess.clone()));
    assert_abs_diff_eq!(s.residual_norm, residual(&a, &s.x, &b), epsilon = 1e-12);
}

#[test]
fn callback_sees_every_iteration_with_x_up_to_date() {
    let a = Poisson::two_d(15, 15).build::<f64>().unwrap();
    let b = sine(225);
    let mut seen = Vec::new();
    let s = cg(&a, &b)
        .rtol(1e-8)
        .preconditioner(Jacobi)
        .callback(|progress| {
            let true_norm = residual(&a, &progress.x().unwrap().into_owned(), &b);
            let near = relative_eq!(progress.residual_norm, true_norm, epsilon = 0.0, max_relative = 1e-5);
            assert!(near, "iteration {}", progress.iteration);
            seen.push((progress.iteration, progress.residual_norm, progress.x().unwrap().into_owned()));
        })
        .solve()
        .unwrap();
    assert_eq!(seen.len(), s.iterations);
    assert!(seen.iter().enumerate().all(|(k, (i, norm, _))| *i == k + 1 && *norm == s.history[k + 1]));
    assert_eq!(seen.last().unwrap().2, s.x);
}

#[test]
fn matrices_that_are_not_positive_definite() {
    let indefinite = tridiagonal(40, -1.0, 1.0, -1.0); // tridiag(-1, 2, -1) minus the identity
    let negative = tridiagonal(40, 1.0, -2.5, 1.0);
    let zero = CsrMatrix::<f64>::from_parts(40, 40, vec![0; 41], vec![], vec![]).unwrap();
    let skew = tridiagonal(40, -1.0, 0.0, 1.0);
    for (name, a) in [("indefinite", indefinite), ("negative", negative), ("zero", zero), ("skew", skew)] {
        let s = cg(&a, &sine(40)).rtol(1e-10).solve().unwrap();
        assert!(
            matches!(s.status, Status::NotPositiveDefinite { iteration, .. } if iteration == s.iterations + 1),
            "{name}: {s}"
        );
        assert_eq!(s.info(), -1);
        assert!(s.x.iter().all(|x| x.is_finite()), "{name}");
        assert!((s.residual_norm - residual(&a, &s.x, &sine(40))).abs() <= 1e-12 * s.residual_norm, "{name}");
    }
    let first = cg(&tridiagonal(5, 0.0, -1.0, 0.0), &[1.0; 5]).solve().unwrap();
    assert!(matches!(first.status, Status::NotPositiveDefinite { iteration: 1, p_dot_ap } if p_dot_ap < 0.0));
    assert_eq!(first.x.to_vec(), [0.0; 5]);
}

#[test]
fn singular_systems() {
    // Pure Neumann: rows sum to zero, constants are the null space.
    let n = 60;
    let mut dense = tridiagonal(n, -1.0, 2.0, -1.0).to_dense().unwrap();
    (dense[[0, 0]], dense[[n - 1, n - 1]]) = (1.0, 1.0);
    let a = CsrMatrix::from_dense(&dense).unwrap();
    let consistent: Vec<f64> = (0..n).map(|i| if i < n / 2 { 1.0 } else { -1.0 }).collect();
    let s = cg(&a, &consistent).rtol(1e-8).solve().unwrap();
    assert!(s.is_converged() && residual(&a, &s.x, &consistent) < 1e-6, "{s}");
    // b = 1 is orthogonal to the range: the first direction has no curvature at all.
    let s = cg(&a, &vec![1.0; n]).rtol(1e-8).solve().unwrap();
    assert!(matches!(s.status, Status::NotPositiveDefinite { iteration: 1, p_dot_ap: 0.0 }), "{s}");
    let s = cg(&diagonal(&[1.0, 0.0]), &[1.0, 1.0]).solve().unwrap();
    assert!(matches!(s.status, Status::NotPositiveDefinite { .. }) && s.x.iter().all(|x| x.is_finite()), "{s}");
}

#[test]
fn preconditioners_that_cannot_be() {
    let a = Poisson::one_d(10).build::<f64>().unwrap();
    let b = sine(10);
    let s = cg(&a, &b).preconditioner(tridiagonal(10, 0.0, -1.0, 0.0)).solve().unwrap();
    assert!(matches!(s.status, Status::PreconditionerNotPositive { iteration: 0, r_dot_z } if r_dot_z < 0.0));
    assert_eq!((s.info(), s.x.to_vec()), (-2, vec![0.0; 10]));
    // Turns negative only after the first steps: x holds the last iterate.
    let mut signs = vec![1.0; 10];
    signs[9] = -5.0;
    let late =
        cg(&a, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).preconditioner(diagonal(&signs)).solve().unwrap();
    assert!(matches!(late.status, Status::PreconditionerNotPositive { iteration: 9, .. }), "{late}");
    assert!(abs_diff_eq!(late.history[9], late.residual_norm, epsilon = 1e-9), "x is that of the last iteration");
    let s = cg(&a, &b).preconditioner(diagonal(&[f64::NAN; 10])).solve().unwrap();
    assert_eq!(s.status, Status::NonFinite { quantity: Quantity::Preconditioned, iteration: 0 });
    let row_of = |values: &[f64]| match cg(&diagonal(values), &vec![1.0; values.len()]).preconditioner(Jacobi).solve() {
        Err(SparseError::Diagonal { row, .. }) => row,
        other => panic!("{other:?}"),
    };
    assert_eq!(row_of(&[1.0, 0.0, 2.0]), 1);
    assert_eq!(row_of(&[1.0, 1.0, f64::INFINITY]), 2);
    assert_eq!(row_of(&[f64::NAN]), 0);
    assert_eq!(row_of(&[1.0, 1e-310]), 1);
    assert!(matches!(
        cg(&skewed(), &[1.0; 3]).preconditioner(Jacobi).solve(),
        Err(SparseError::Diagonal { row: 0, .. })
    ));
}

fn skewed() -> CsrMatrix<f64> {
    tridiagonal(3, -1.0, 0.0, 1.0)
}

#[test]
fn nan_and_infinity_in_the_input() {
    let (b, guess) = (sine(30), vec![0.25; 30]);
    let clean = Poisson::one_d(30).build::<f64>().unwrap();
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut a = clean.clone();
        a.values_mut()[17] = bad;
        let (mut bad_b, mut bad_guess) = (b.clone(), guess.clone());
        (bad_b[29], bad_guess[3]) = (bad, bad);
        let element = Quantity::Element { row: 6, col: 5, is_nan: bad.is_nan() }; // the entries 17, 18 and 19 are row 6
        for (quantity, s) in [
            (element, cg(&a, &b).x0(&guess).solve().unwrap()),
            (element, cg(&a, &b).x0(&guess).preconditioner(&clean).solve().unwrap()),
            (Quantity::RightHandSide, cg(&clean, &bad_b).x0(&guess).solve().unwrap()),
        ] {
            assert_eq!(s.status, Status::NonFinite { quantity, iteration: 0 });
            assert_eq!((s.iterations, s.info(), s.x.to_vec()), (0, -3, guess.clone()));
            assert!(s.residual_norm.is_nan() && s.history.is_empty());
        }
        let s = cg(&clean, &b).x0(&bad_guess).solve().unwrap();
        assert_eq!(s.status, Status::NonFinite { quantity: Quantity::Guess, iteration: 0 });
        assert_eq!((s.iterations, s.x[0]), (0, 0.25));
        let s = cg(&a, &b).solve().unwrap();
        assert_eq!(s.x.to_vec(), vec![0.0; 30]);
    }
    // Found on the way, in an operator that does not know its entries.
    let operator = from_fn(30, |_: &[f64], y: &mut [f64]| y.fill(f64::NAN));
    let s = cg(&operator, &b).solve().unwrap();
    assert_eq!(s.status, Status::NonFinite { quantity: Quantity::Curvature, iteration: 0 });
    assert_eq!(s.x.to_vec(), vec![0.0; 30]);
    // Finite numbers whose products are not: 1e300 * 1e300.
    let s = cg(&diagonal(&[1e300; 3]), &[1.0; 3]).x0(&[1e300; 3]).solve().unwrap();
    assert_eq!(s.status, Status::NonFinite { quantity: Quantity::Residual, iteration: 0 });
    assert_eq!(s.x.to_vec(), [1e300; 3]);
}

#[test]
fn shapes_and_tolerances_are_checked() {
    let a = Poisson::one_d(4).build::<f64>().unwrap();
    let wide = CsrMatrix::<f64>::from_parts(2, 3, vec![0, 0, 0], vec![], vec![]).unwrap();
    let shape = |s: Result<Solution<f64>>| matches!(s, Err(SparseError::Shape { .. }));
    assert!(shape(cg(&wide, &[1.0; 2]).solve()));
    assert!(shape(cg(&wide, &[1.0; 3]).solve()));
    assert!(shape(cg(&a, &[1.0; 3]).solve()));
    assert!(shape(cg(&a, &[1.0; 5]).solve()));
    assert!(shape(cg(&a, &[1.0; 4]).x0(&[1.0; 3]).solve()));
    assert!(shape(cg(&a, &[1.0; 4]).preconditioner(&wide).solve()));
    assert!(shape(cg(&a, &[1.0; 4]).preconditioner(diagonal(&[1.0; 3])).solve()));
    for bad in [-1e-9, f64::NAN, f64::NEG_INFINITY] {
        let name = |s: Result<Solution<f64>>| match s {
            Err(SparseError::Parameter { name, .. }) => name,
            other => panic!("{other:?}"),
        };
        assert_eq!(name(cg(&a, &[1.0; 4]).rtol(bad).solve()), "rtol");
        assert_eq!(name(cg(&a, &[1.0; 4]).atol(bad).solve()), "atol");
    }
    struct Failing;
    impl LinearOperator<f64> for Failing {
        fn shape(&self) -> (usize, usize) {
            (2, 2)
        }
        fn apply(&self, _: &[f64], _: &mut [f64]) -> Result<()> {
            Err(SparseError::Operator("out of ink".into()))
        }
    }
    let failed = cg(&Failing, &[1.0; 2]).solve().unwrap_err();
    assert_eq!(failed.to_string(), "the operator failed: out of ink");
}

#[test]
fn absolute_tolerance_is_the_other_half_of_the_test() {
    let a = Poisson::one_d(50).build::<f64>().unwrap();
    let b = sine(50);
    let loose = cg(&a, &b).rtol(1e-10).atol(0.5).solve().unwrap();
    assert!(loose.is_converged() && loose.recursive_residual <= 0.5 && loose.recursive_residual > 1e-3);
    let at_once = cg(&a, &b).atol(100.0).solve().unwrap();
    assert_eq!((at_once.status, at_once.iterations), (Status::Converged, 0));
}

#[test]
fn tolerance_zero_ends() {
    let poisson = Poisson::two_d(30, 30).build::<f64>().unwrap();
    let s = cg(&poisson, &sine(900)).rtol(0.0).solve().unwrap();
    assert!(matches!(s.status, Status::Stagnated { .. }), "{s}");
    assert!(s.relative_residual < 1e-14 && s.relative_residual > 0.0 && s.iterations < 900, "{s}");
    assert!(s.info() > 0 && !s.is_converged());
    let s = cg(&CsrMatrix::identity(9).unwrap(), &sine(9)).rtol(0.0).solve().unwrap();
    assert_eq!((s.status, s.x.to_vec()), (Status::Converged, sine(9)));
}

#[test]
fn f32_does_not_claim_what_it_cannot_reach() {
    let a = Poisson::two_d(60, 60).build::<f64>().unwrap().map_values(|v| v as f32);
    let b: Vec<f32> = sine(3600).iter().map(|&v| v as f32).collect();
    let norm_b = b.iter().map(|&b| f64::from(b).powi(2)).sum::<f64>().sqrt();
    let s = cg(&a, &b).rtol(1e-10).solve().unwrap();
    assert!(matches!(s.status, Status::Stagnated { .. }), "{s}");
    let want = residual(&a, &s.x, &b);
    assert!(
        relative_eq!(s.residual_norm, want, epsilon = 0.0, max_relative = 1e-3)
            && s.relative_residual > 1e-9
            && s.relative_residual < 1e-4,
        "{s}"
    );
    // Within reach: converged, and truly so.
    let s = cg(&a, &b).rtol(1e-4).solve().unwrap();
    assert!(s.is_converged() && residual(&a, &s.x, &b) <= 2e-4 * norm_b, "{s}");
    let (huge, iterations) = (cg(&a, &b).rtol(1e-4).maxiter(5).solve().unwrap(), s.iterations);
    assert_eq!((huge.status, huge.iterations), (Status::MaxIterations, 5));
    assert!(iterations > 5);
}

/// The identity, but for its `b - A x`, which is `factor` times as long each time it is asked for.
struct Drifting {
    factor: f64,
    asked: std::cell::Cell<i32>,
}

impl LinearOperator<f64> for Drifting {
    fn shape(&self) -> (usize, usize) {
        (2, 2)
    }
    fn apply(&self, x: &[f64], y: &mut [f64]) -> Result<()> {
        y.copy_from_slice(x);
        Ok(())
    }
    fn residual(&self, _: &[f64], _: &[f64], r: &mut [f64]) -> Result<()> {
        self.asked.set(self.asked.get() + 1);
        r.fill(self.factor.powi(self.asked.get()));
        Ok(())
    }
}

#[test]
fn restarts_are_counted_and_end() {
    for (factor, want) in [(1.0, 1), (0.6, 1), (0.4, 3), (0.01, 3)] {
        let a = Drifting { factor, asked: 0.into() };
        let s = cg(&a, &[1.0; 2]).rtol(1e-12).solve().unwrap();
        assert_eq!(s.status, Status::Stagnated { iteration: want + 1, restarts: want }, "{factor}");
        assert_eq!(a.asked.get() as usize, want + 1);
        assert_relative_eq!(s.relative_residual, factor.powi(a.asked.get()), epsilon = 0.0, max_relative = 1e-12);
    }
    // The second restart brings it below the tolerance.
    let a = Drifting { factor: 1e-3, asked: 0.into() };
    let s = cg(&a, &[1.0; 2]).rtol(1e-8).solve().unwrap();
    assert_eq!((s.status, s.iterations, a.asked.get()), (Status::Converged, 3, 3));
    // Twice the tolerance is close enough, more is not.
    for (factor, converged) in [(1.9e-8, true), (2.1e-8, false)] {
        let s = cg(&Drifting { factor, asked: 0.into() }, &[1.0; 2]).rtol(1e-8).solve().unwrap();
        assert!(s.is_converged() && (s.iterations == 1) == converged, "{factor}: {s}");
    }
}

#[test]
fn any_scale_of_matrix_and_right_hand_side() {
    let unit = Poisson::two_d(20, 20).build::<f64>().unwrap();
    let want = cg(&unit, &sine(400)).rtol(1e-10).solve().unwrap();
    let (huge, tiny) = (2_f64.powi(498), 2_f64.powi(-498)); // 1e150, 1e-150, exact
    for (of_a, of_b) in
        [(huge, 1.0), (tiny, 1.0), (1.0, huge), (1.0, tiny), (huge, huge), (tiny, tiny), (huge, tiny), (tiny, huge)]
    {
        let a = unit.map_values(|v| v * of_a);
        let b: Vec<f64> = sine(400).iter().map(|v| v * of_b).collect();
        for jacobi in [false, true] {
            let solve = cg(&a, &b).rtol(1e-10);
            let s = if jacobi { solve.preconditioner(Jacobi) } else { solve }.solve().unwrap();
            assert_eq!((s.status, s.iterations), (Status::Converged, want.iterations), "{of_a:e} {of_b:e}: {s}");
            let near = |g: f64, w: f64| relative_eq!(g / of_b * of_a, w, epsilon = 0.0, max_relative = 1e-9);
            let exact = s.x.iter().zip(&want.x).all(|(&g, &w)| near(g, w));
            assert!(exact, "{of_a:e} {of_b:e}");
        }
    }
    let f32_tiny = Poisson::one_d(30).build::<f32>().unwrap();
    let s = cg(&f32_tiny, &[1e-30_f32; 30]).solve().unwrap();
    assert!(s.is_converged() && s.iterations == 15, "{s}");
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let a = Poisson::three_d(24, 24, 24).random_coefficients(1, 100.0).build::<f64>().unwrap();
    let b = sine(a.rows());
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let plain = cg(&a, &b).rtol(1e-9).solve().unwrap();
            let jacobi = cg(&a, &b).rtol(1e-9).preconditioner(Jacobi).solve().unwrap();
            let operator = cg(&a, &b).rtol(1e-3).preconditioner(&a).solve().unwrap();
            [plain, jacobi, operator].map(|s| (s.iterations, s.history, s.x))
        })
    };
    let want = run(1);
    assert!(want.iter().all(|(iterations, ..)| *iterations > 10));
    for threads in [2, 3] {
        assert!(run(threads) == want, "{threads} threads");
    }
}

#[test]
fn unsymmetric_matrices_are_never_reported_as_solved_when_they_are_not() {
    for below in [-0.5, 0.0, 3.0] {
        let a = tridiagonal(60, below, 4.0, -1.5);
        let s = cg(&a, &sine(60)).rtol(1e-8).maxiter(300).solve().unwrap();
        let truly = residual(&a, &s.x, &sine(60)) <= 2.01e-8 * s.history[0];
        assert_eq!(s.is_converged(), truly, "{below}: {s}");
    }
}
