//! Solves a sparse symmetric positive definite system by conjugate gradients and tells how it went.
//!
//! `cargo run --release -p gpu-sparse --example solve` solves a built-in system; `-- --help` lists the options.

#[path = "solve/ahead.rs"]
mod ahead;
#[path = "solve/place.rs"]
mod backend;
#[path = "solve/options.rs"]
mod options;
#[path = "solve/output.rs"]
mod output;
#[path = "solve/plot.rs"]
mod plot;
#[path = "solve/progress.rs"]
mod progress;
#[path = "solve/report.rs"]
mod report;
#[path = "solve/system.rs"]
mod system;

use std::{
    error::Error,
    io::{self as streams, Write},
    path::Path,
    process::ExitCode,
    time::Instant,
};

use clap::Parser;
use gpu_algos::host::norm2;
use gpu_sparse::{
    CsrMatrix, gallery, io,
    linalg::{self, Cg, Jacobi, LinearOperator, Solution},
};

use ahead::Ahead;
use backend::Backend;
use options::{Options, Precond};
use report::Report;
use system::System;

/// Why the program ends without a solution, for its user.
type Outcome<T> = Result<T, Box<dyn Error>>;

/// Edge of the built-in system: 47^3 = 103,823 unknowns.
const BUILT_IN_EDGE: usize = 47;
const BUILT_IN_SEED: u64 = 1;
/// Largest over smallest diffusion coefficient.
const BUILT_IN_CONTRAST: f64 = 100.0;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // Where standard error is closed as well there is nobody to tell.
            let _ = writeln!(streams::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Solves and reports; whether it converged.
fn run(options: &Options) -> Outcome<bool> {
    gpu_sparse::start_threads()?;
    let ahead = Ahead::start(options);
    let place = Backend::choose(options.device)?;
    let started = Instant::now();
    let (name, a) = matrix(options.matrix.as_deref())?;
    let b = right_hand_side(&a, options.rhs.as_deref())?;
    let read_s = started.elapsed().as_secs_f64();
    check_symmetric(&a)?;
    let started = Instant::now();
    let system = System::build(&a, &place, options.format)?;
    let build_s = started.elapsed().as_secs_f64();
    let (solution, compile_s) = solve(system.operator.as_ref(), &b, options, ahead)?;
    let true_residual = true_residual(&a, &b, &solution)?;

    if let Some(path) = &options.out {
        output::vector(path, &solution.x.to_vec())?;
    }
    let picture = options.plot.as_ref().map(|path| {
        let svg = plot::residuals(&name, &solution.history, norm2(&b))?;
        output::text(path, &svg)
    });
    let report = Report::new(name, &place, &system, options, &solution, true_residual, [read_s, build_s, compile_s]);
    output::line(&if options.json { report.json().to_string() } else { report.to_string() })?;
    // A picture that cannot be written is told behind the report, and loses nothing.
    picture.transpose()?;
    Ok(solution.is_converged())
}

/// The matrix of the file, or the built-in one; with its name.
fn matrix(path: Option<&Path>) -> Outcome<(String, CsrMatrix<f64>)> {
    if let Some(path) = path {
        let name =
            path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
        return Ok((name, io::read_matrix_market(path)?));
    }
    let n = BUILT_IN_EDGE;
    let built_in = gallery::Poisson::three_d(n, n, n).random_coefficients(BUILT_IN_SEED, BUILT_IN_CONTRAST);
    Ok((format!("built-in: 3-D diffusion, random coefficients, {n} x {n} x {n}"), built_in.build()?))
}

/// The vector of the file, or b[i] = sin(i + 1).
fn right_hand_side(a: &CsrMatrix<f64>, path: Option<&Path>) -> Outcome<Vec<f64>> {
    let Some(path) = path else { return Ok((0..a.rows()).map(|i| ((i + 1) as f64).sin()).collect()) };
    let b = io::read_vector(path)?;
    if b.len() != a.rows() {
        return Err(format!("{}: {} numbers for a matrix with {} rows", path.display(), b.len(), a.rows()).into());
    }
    Ok(b)
}

/// Conjugate gradients say nothing true about a matrix that is not symmetric, so it is refused before.
fn check_symmetric(a: &CsrMatrix<f64>) -> Outcome<()> {
    /// Asymmetry allowed, relative to the largest element: writing a symmetric matrix with few digits may cost that much.
    const TOLERANCE: f64 = 1e-12;
    if a.rows() != a.cols() {
        return Err(format!("the matrix is {} x {}; conjugate gradients need a square one", a.rows(), a.cols()).into());
    }
    if let Some((row, col, value)) = a.first_non_finite() {
        return Err(format!("the matrix's element ({}, {}) is {value}; all must be finite", row + 1, col + 1).into());
    }
    let symmetry = a.symmetry()?;
    let largest = a.values().iter().fold(0.0, |largest: f64, v| largest.max(v.abs()));
    if symmetry.largest > TOLERANCE * largest {
        let (row, col) = (symmetry.row + 1, symmetry.col + 1);
        let message = format!(
            "the matrix is not symmetric: elements ({row}, {col}) and ({col}, {row}) differ by {:.1e}; \
             conjugate gradients need a symmetric positive definite one",
            symmetry.largest
        );
        return Err(message.into());
    }
    Ok(())
}

/// The solution, and the seconds that it waited for its kernels to be compiled and loaded; 0 on the CPU.
fn solve(
    system: &dyn LinearOperator<f64>,
    b: &[f64],
    options: &Options,
    ahead: Ahead,
) -> Outcome<(Solution<f64>, f64)> {
    let progress = progress::Bar::new(options.rtol);
    let mut cg: Cg<'_, f64> = linalg::cg(&system, b).rtol(options.rtol).monitor(|state| progress.show(state));
    if let Some(maxiter) = options.maxiter {
        cg = cg.maxiter(maxiter);
    }
    if options.precond == Precond::Jacobi {
        cg = cg.preconditioner(Jacobi);
    }
    let started = Instant::now();
    if system.on_device().is_some() {
        progress.waits("compiling and loading the kernels");
    }
    drop(ahead);
    cg.load_kernels()?;
    let compile_s = system.on_device().map_or(0.0, |_| started.elapsed().as_secs_f64());
    Ok((cg.solve()?, compile_s))
}

/// |b - A x| / |b|, computed on the CPU from the solver's `x`.
fn true_residual(a: &CsrMatrix<f64>, b: &[f64], solution: &Solution<f64>) -> Outcome<f64> {
    let ax = a.matvec(&solution.x)?;
    let residual: Vec<f64> = ax.iter().zip(b).map(|(ax, b)| b - ax).collect();
    // Norms that keep their digits where squares would overflow, or vanish.
    let norm = norm2(&residual);
    Ok(if norm == 0.0 { 0.0 } else { norm / norm2(b) })
}
