//! Every way in which a solve can end, on the device: the cases of the CPU's unit tests.

use approx::{abs_diff_eq, relative_eq};
use gpu_driver::Device;
use gpu_sparse::gallery::Poisson;
use gpu_sparse::linalg::{Jacobi, Quantity, Solution, Status, cg};
use gpu_sparse::{CooMatrix, CsrMatrix, Result, SparseError};
use ndarray::Array2;
use testkit::{Outcome, ensure, ensure_eq};

use crate::products::in_both_formats;
use crate::solves::{residual, sine};

fn tridiagonal(n: usize, below: f64, centre: f64, above: f64) -> Result<CsrMatrix<f64>> {
    let places = (0..n).flat_map(|i| [(i, i.wrapping_sub(1), below), (i, i, centre), (i, i + 1, above)]);
    let (mut rows, mut cols, mut values) = (vec![], vec![], vec![]);
    for (i, j, v) in places.filter(|&(_, j, v)| j < n && v != 0.0) {
        rows.push(i as u32);
        cols.push(j as u32);
        values.push(v);
    }
    Ok(CooMatrix::from_triplets(n, n, rows, cols, values)?.to_csr())
}

fn diagonal(values: &[f64]) -> Result<CsrMatrix<f64>> {
    let n = values.len();
    let (starts, columns) = ((0..=n as u64).collect(), (0..n as u32).collect());
    CsrMatrix::from_parts(n, n, starts, columns, values.to_vec())
}

pub fn zero_right_hand_side_and_exact_guess(device: &Device) -> Outcome {
    let a = Poisson::one_d(20).build::<f64>()?;
    let placed = a.to_device(device)?;
    for guess in [vec![3.0; 20], vec![f64::NAN; 20]] {
        let s = cg(&placed, &[0.0; 20]).x0(&guess).solve()?;
        ensure_eq!((s.status, s.iterations, s.x.to_vec()), (Status::Converged, 0, vec![0.0; 20]));
        ensure_eq!((s.residual_norm, s.relative_residual), (0.0, 0.0));
    }
    let exact: Vec<f64> = (0..20).map(|i| f64::from(i % 7)).collect();
    let b = a.matvec(&exact)?;
    for rtol in [1e-8, 0.0] {
        let s = cg(&placed, &b).x0(&exact).rtol(rtol).solve()?;
        ensure_eq!((s.status, s.iterations, s.x.to_vec()), (Status::Converged, 0, exact.clone()));
    }
    let near: Vec<f64> = exact.iter().map(|x| x + 1e-3).collect();
    let s = cg(&placed, &b).x0(&near).rtol(1e-10).solve()?;
    ensure!(s.is_converged() && s.iterations > 0);
    ensure!(s.x.iter().zip(&exact).all(|(g, w)| abs_diff_eq!(g, w, epsilon = 1e-8)));
    Ok(())
}

pub fn sizes_zero_and_one_and_diagonals(device: &Device) -> Outcome {
    let s = cg(&CsrMatrix::<f64>::identity(0)?.to_device(device)?, &[] as &[f64]).solve()?;
    ensure_eq!((s.status, s.iterations, s.x.len()), (Status::Converged, 0, 0));
    let s = cg(&diagonal(&[4.0])?.to_device(device)?, &[2.0]).solve()?;
    ensure_eq!((s.status, s.iterations, s.x.to_vec()), (Status::Converged, 1, vec![0.5]));
    let s = cg(&diagonal(&[4.0; 9])?.to_device(device)?, &[2.0; 9]).rtol(0.0).solve()?;
    ensure_eq!((s.status, s.iterations, s.x.to_vec()), (Status::Converged, 1, vec![0.5; 9]));
    let mixed = diagonal(&[1.0, 8.0, 64.0, 0.5])?.to_device(device)?;
    let s = cg(&mixed, &[1.0, 2.0, 3.0, 4.0]).rtol(1e-14).preconditioner(Jacobi).solve()?;
    ensure_eq!((s.status, s.iterations), (Status::Converged, 1));
    let s = cg(&mixed, &[1.0, 2.0, 3.0, 4.0]).rtol(1e-10).solve()?;
    ensure!(s.is_converged() && s.iterations <= 5, "{s}"); // four distinct eigenvalues
    Ok(())
}

pub fn iteration_limits(device: &Device) -> Outcome {
    let a = Poisson::one_d(50).build::<f64>()?;
    let (placed, b) = (a.to_device(device)?, vec![1.0; 50]); // converges in exactly 25 iterations
    let s = cg(&placed, &b).rtol(1e-10).maxiter(25).solve()?;
    ensure_eq!((s.status, s.iterations, s.info()), (Status::Converged, 25, 0));
    let s = cg(&placed, &b).rtol(1e-10).maxiter(24).solve()?;
    ensure_eq!((s.status, s.iterations, s.info()), (Status::MaxIterations, 24, 24));
    ensure!(abs_diff_eq!(s.residual_norm, residual(&a, &s.x, &b)?, epsilon = 1e-10));
    let guess = vec![7.0; 50];
    let s = cg(&placed, &b).x0(&guess).maxiter(0).solve()?;
    ensure_eq!((s.status, s.iterations, s.x.to_vec()), (Status::MaxIterations, 0, guess.clone()));
    ensure!(abs_diff_eq!(s.residual_norm, residual(&a, &s.x, &b)?, epsilon = 1e-12));
    Ok(())
}

pub fn not_positive_definite(device: &Device) -> Outcome {
    let indefinite = tridiagonal(40, -1.0, 1.0, -1.0)?; // tridiag(-1, 2, -1) minus the identity
    let negative = tridiagonal(40, 1.0, -2.5, 1.0)?;
    let zero = CsrMatrix::<f64>::from_parts(40, 40, vec![0; 41], vec![], vec![])?;
    let skew = tridiagonal(40, -1.0, 0.0, 1.0)?;
    for (name, a) in [("indefinite", indefinite), ("negative", negative), ("zero", zero), ("skew", skew)] {
        let s = cg(&a.to_device(device)?, &sine(40)).rtol(1e-10).solve()?;
        let found = matches!(s.status, Status::NotPositiveDefinite { iteration, .. } if iteration == s.iterations + 1);
        ensure!(found && s.info() == -1 && s.x.iter().all(|x| x.is_finite()), "{name}: {s}");
        ensure!((s.residual_norm - residual(&a, &s.x, &sine(40))?).abs() <= 1e-12 * s.residual_norm, "{name}: {s}");
    }
    let first = cg(&diagonal(&[-1.0; 5])?.to_device(device)?, &[1.0; 5]).solve()?;
    ensure!(matches!(first.status, Status::NotPositiveDefinite { iteration: 1, p_dot_ap } if p_dot_ap < 0.0));
    ensure_eq!(first.x.to_vec(), [0.0; 5]);
    Ok(())
}

/// A residual may grow far in an iteration of a badly conditioned system, but not beyond what rounding allows: on the device as on the CPU.
pub fn residuals_grow_as_far_as_they_may(device: &Device) -> Outcome {
    fn grows<T: gpu_sparse::Scalar>(
        device: &Device,
        growth: f64,
    ) -> std::result::Result<Status, Box<dyn std::error::Error>> {
        // The step is chosen for the first unknown, and takes the second far away.
        let (large, small) = (2.0 * growth * growth, 0.5 / growth);
        let a = CsrMatrix::from_parts(2, 2, vec![0, 1, 2], vec![0, 1], vec![T::one(), T::from_f64(large)])?;
        let b = [T::one(), T::from_f64(small)];
        let [on_cpu, on_device] = [cg(&a, &b).rtol(1e-3).solve()?, cg(&a.to_device(device)?, &b).rtol(1e-3).solve()?];
        ensure_eq!((on_device.status, on_device.iterations), (on_cpu.status, on_cpu.iterations));
        let grown = on_device.history.get(1).map_or(f64::NAN, |square| square / on_device.history[0]);
        ensure!(on_device.iterations == 0 || (grown / growth - 1.0).abs() < 0.5, "{grown:e}, not {growth:e}");
        Ok(on_device.status)
    }
    for growth in [1e3, 1e5, 1e9, 1e13] {
        ensure_eq!((growth, grows::<f64>(device, growth)?), (growth, Status::Converged));
    }
    for growth in [1e2, 1e4, 1e5] {
        ensure_eq!((growth, grows::<f32>(device, growth)?), (growth, Status::Converged));
    }
    ensure!(matches!(grows::<f64>(device, 1e16)?, Status::NotPositiveDefinite { .. }));
    ensure!(matches!(grows::<f32>(device, 1e7)?, Status::NotPositiveDefinite { .. }));
    Ok(())
}

pub fn preconditioners_that_cannot_be(device: &Device) -> Outcome {
    let a = Poisson::one_d(10).build::<f64>()?.to_device(device)?;
    let (on_host, on_device) = (tridiagonal(10, 0.0, -1.0, 0.0)?, diagonal(&[-1.0; 10])?.to_device(device)?);
    let status = |s: Result<Solution<f64>>| s.map(|s| (s.status, s.x.to_vec()));
    for (status, x) in [
        status(cg(&a, &sine(10)).preconditioner(&on_host).solve())?,
        status(cg(&a, &sine(10)).preconditioner(&on_device).solve())?,
    ] {
        ensure!(matches!(status, Status::PreconditionerNotPositive { iteration: 0, r_dot_z } if r_dot_z < 0.0));
        ensure_eq!(x, [0.0; 10]);
    }
    // Turns negative only after the first steps: x holds what was reached.
    let mut signs = vec![1.0; 10];
    signs[9] = -5.0;
    let b = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let late = cg(&a, &b).preconditioner(diagonal(&signs)?.to_device(device)?).solve()?;
    ensure!(matches!(late.status, Status::PreconditionerNotPositive { iteration: 9, .. }), "{late}");
    ensure!(abs_diff_eq!(late.history[9], late.residual_norm, epsilon = 1e-9), "x is not that of the last iteration");
    let s = cg(&a, &sine(10)).preconditioner(diagonal(&[f64::NAN; 10])?.to_device(device)?).solve()?;
    ensure_eq!(s.status, Status::NonFinite { quantity: Quantity::Preconditioned, iteration: 0 });
    let zero_in_row_1 = diagonal(&[1.0, 0.0, 2.0])?.to_device(device)?;
    let outcome = cg(&zero_in_row_1, &[1.0; 3]).preconditioner(Jacobi).solve();
    ensure!(matches!(outcome, Err(SparseError::Diagonal { row: 1, .. })));
    Ok(())
}

pub fn nan_and_infinity_in_the_input(device: &Device) -> Outcome {
    let (b, guess) = (sine(30), vec![0.25; 30]);
    let clean = Poisson::one_d(30).build::<f64>()?;
    let placed = clean.to_device(device)?;
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut a = clean.clone();
        a.values_mut()[17] = bad;
        let a = a.to_device(device)?;
        let (mut bad_b, mut bad_guess) = (b.clone(), guess.clone());
        (bad_b[29], bad_guess[3]) = (bad, bad);
        for (quantity, s) in [
            (Quantity::Matrix, cg(&a, &b).x0(&guess).solve()?),
            (Quantity::RightHandSide, cg(&placed, &bad_b).x0(&guess).solve()?),
        ] {
            ensure_eq!(s.status, Status::NonFinite { quantity, iteration: 0 });
            ensure_eq!((s.iterations, s.info(), s.x.to_vec()), (0, -3, guess.clone()));
            ensure!(s.residual_norm.is_nan() && s.history.is_empty());
        }
        let s = cg(&placed, &b).x0(&bad_guess).solve()?;
        ensure_eq!(s.status, Status::NonFinite { quantity: Quantity::Guess, iteration: 0 });
    }
    // Finite numbers whose products are not: 1e300 * 1e300.
    let s = cg(&diagonal(&[1e300; 3])?.to_device(device)?, &[1.0; 3]).x0(&[1e300; 3]).solve()?;
    ensure_eq!(s.status, Status::NonFinite { quantity: Quantity::Residual, iteration: 0 });
    ensure_eq!(s.x.to_vec(), [1e300; 3]);
    Ok(())
}

/// What overflows within an iteration is named, and `x` is as the iteration before left it.
pub fn what_is_not_finite_on_the_way_is_named(device: &Device) -> Outcome {
    // p . A p exceeds the largest f64; the step does; the residual does, where p . A p is tiny beside A p.
    let curvature = (diagonal(&[1e308; 8])?, vec![1.0; 8], Quantity::Curvature);
    let step = (diagonal(&[1e-300; 8])?, vec![1e200; 8], Quantity::Step);
    // Rows 0 and 16 meet first where a warp adds 32 rows, and cancel; in compressed rows a thread has a row from 129 rows on.
    let mut skew = 1e-10 * Array2::<f64>::eye(300);
    (skew[[0, 0]], skew[[16, 16]], skew[[0, 16]], skew[[16, 0]]) = (0.0, 0.0, 1e200, -1e200);
    let residual = (CsrMatrix::from_dense(&skew)?, vec![1.0; 300], Quantity::Residual);
    for (a, b, quantity) in [curvature, step, residual] {
        for placed in in_both_formats(device, &a)? {
            for k in [1, 8] {
                let s = cg(&placed, &b).rtol(1e-8).check_every(k).solve()?;
                ensure_eq!((s.status, s.iterations), (Status::NonFinite { quantity, iteration: 0 }, 0));
                ensure!(s.x.iter().all(|x| *x == 0.0), "{placed:?}: {}", s.x);
            }
        }
    }
    Ok(())
}

pub fn f32_does_not_claim_what_it_cannot_reach(device: &Device) -> Outcome {
    let a = Poisson::two_d(60, 60).build::<f32>()?;
    let (placed, b) = (a.to_device(device)?, sine::<f32>(3600));
    let s = cg(&placed, &b).rtol(1e-10).solve()?;
    ensure!(matches!(s.status, Status::Stagnated { .. }), "{s}");
    ensure!(relative_eq!(s.residual_norm, residual(&a, &s.x, &b)?, epsilon = 0.0, max_relative = 1e-3), "{s}");
    ensure!(s.relative_residual > 1e-9 && s.relative_residual < 1e-4, "{s}");
    ensure!(cg(&placed, &b).rtol(1e-4).solve()?.is_converged());
    Ok(())
}

pub fn tolerance_zero_ends(device: &Device) -> Outcome {
    let placed = Poisson::two_d(20, 20).build::<f64>()?.to_device(device)?;
    let s = cg(&placed, &sine(400)).rtol(0.0).solve()?;
    ensure!(matches!(s.status, Status::Stagnated { .. }) && s.relative_residual < 1e-13, "{s}");
    let s = cg(&CsrMatrix::identity(9)?.to_device(device)?, &sine::<f64>(9)).rtol(0.0).solve()?;
    ensure_eq!((s.status, s.x.to_vec()), (Status::Converged, sine(9)));
    Ok(())
}

pub fn wrong_shapes_and_tolerances_are_errors(device: &Device) -> Outcome {
    let a = Poisson::one_d(4).build::<f64>()?.to_device(device)?;
    let wide = CsrMatrix::<f64>::from_parts(2, 3, vec![0, 0, 0], vec![], vec![])?.to_device(device)?;
    let outcomes = [
        cg(&wide, &[1.0; 2]).solve(),
        cg(&wide, &[1.0; 3]).solve(),
        cg(&a, &[1.0; 3]).solve(),
        cg(&a, &[1.0; 5]).solve(),
        cg(&a, &[1.0; 4]).x0(&[1.0; 3]).solve(),
        cg(&a, &[1.0; 4]).preconditioner(&wide).solve(),
        cg(&a, &[1.0; 4]).preconditioner(diagonal(&[1.0; 3])?.to_device(device)?).solve(),
    ];
    for (case, outcome) in outcomes.into_iter().enumerate() {
        ensure!(matches!(outcome, Err(SparseError::Shape { .. })), "case {case}: {outcome:?}");
    }
    ensure!(matches!(cg(&a, &[1.0; 4]).rtol(-1.0).solve(), Err(SparseError::Parameter { name: "rtol", .. })));
    ensure!(matches!(cg(&a, &[1.0; 4]).atol(f64::NAN).solve(), Err(SparseError::Parameter { name: "atol", .. })));
    Ok(())
}

/// Something of each crate, each by `?`.
fn of_all_crates(device: &Device, mean: f64) -> Result<f64> {
    use gpu_algos::prelude::*;
    let stream = gpu_driver::Stream::new(device)?;
    let noise = gpu_random::Philox::new(1).gen_poisson(&stream, 4, mean)?;
    let x = gpu_array::GpuArray::from_ndarray(&stream, &ndarray::array![1.0, 2.0, 3.0, 4.0])?;
    let x = (&x + &noise).eval()?;
    let a = Poisson::two_d(2, 2).build::<f64>()?.to_device(&stream)?;
    Ok(a.matvec(&x)?.sum().get()?)
}

pub fn errors_of_all_crates_become_one(device: &Device) -> Outcome {
    ensure!(of_all_crates(device, 2.0)?.is_finite());
    let refused = of_all_crates(device, -1.0).unwrap_err();
    let SparseError::Random(inner) = &refused else { return Err(format!("{refused:?}").into()) };
    ensure!(matches!(inner.downcast_ref(), Some(gpu_random::RandomError::Parameter { .. })), "{inner:?}");
    ensure!(refused.to_string() == inner.to_string() && refused.to_string().contains("-1"), "{refused}");
    Ok(())
}
