//! The real matrices, and what SciPy 1.17.1 needs for them: shared by the tests of the CPU and of the device.
//!
//! The files are no part of the repository: `GPU_SPARSE_MATRICES` names their folder.

use std::error::Error;
use std::path::PathBuf;

use gpu_sparse::CsrMatrix;
use gpu_sparse::io::read_matrix_market;
use gpu_sparse::linalg::{self, Identity, Jacobi, LinearOperator, Preconditioner};

/// File, rows, entries, iterations of SciPy without and with Jacobi, for rtol = 1e-8, x0 = 0, b[i] = sin(i + 1).
pub(crate) type Case = (&'static str, usize, usize, usize, usize);

pub(crate) const SPD: [Case; 8] = [
    ("bcsstk16", 4884, 290_378, 474, 184),
    ("wathen_small", 7400, 113_632, 215, 38),
    ("lsc_f2", 5890, 82_582, 163, 145),
    ("1138_bus", 1138, 4054, 2924, 1016),
    ("ani4", 3081, 20_971, 378, 377),
    ("mesh_4elt", 15_606, 107_362, 222, 194),
    ("mesh_brack2", 62_631, 795_749, 269, 197),
    ("mesh_mdual", 258_569, 1_284_833, 192, 159),
];

const RTOL: f64 = 1e-8;

/// The folder of the files, where there is one.
pub(crate) fn folder() -> Option<PathBuf> {
    std::env::var_os("GPU_SPARSE_MATRICES").map(PathBuf::from)
}

/// The matrix of that name.
pub(crate) fn read(name: &str) -> Result<CsrMatrix<f64>, Box<dyn Error>> {
    let folder = folder().ok_or("GPU_SPARSE_MATRICES is not set")?;
    Ok(read_matrix_market::<f64>(folder.join(format!("{name}.mtx.gz")))?)
}

/// Reads, brings the matrix to where it is to be solved, and solves without and with Jacobi.
pub(crate) fn compare_both<A: LinearOperator<f64>>(
    case: Case,
    place: impl FnOnce(&CsrMatrix<f64>) -> gpu_sparse::Result<A>,
) -> Result<(), Box<dyn Error>> {
    let (name, _, _, plain, jacobi) = case;
    let a = read_case(case)?;
    let placed = place(&a)?;
    compare(name, (&a, &placed), "plain", Identity, plain)?;
    compare(name, (&a, &placed), "Jacobi", Jacobi, jacobi)
}

/// As [`compare_both`], for a device that is too slow for both.
#[allow(dead_code, reason = "the CPU is never too slow")]
pub(crate) fn compare_jacobi<A: LinearOperator<f64>>(
    case: Case,
    place: impl FnOnce(&CsrMatrix<f64>) -> gpu_sparse::Result<A>,
) -> Result<(), Box<dyn Error>> {
    let a = read_case(case)?;
    compare(case.0, (&a, &place(&a)?), "Jacobi", Jacobi, case.4)
}

fn read_case((name, rows, nnz, ..): Case) -> Result<CsrMatrix<f64>, Box<dyn Error>> {
    let a = read(name)?;
    if (a.rows(), a.nnz()) != (rows, nnz) || !a.is_symmetric(0.0) {
        return Err(format!("{name}: {} rows, {} entries, {:?}", a.rows(), a.nnz(), a.symmetry()).into());
    }
    Ok(a)
}

/// Solves, and says what is wrong, if anything is.
fn compare(
    name: &str,
    (a, placed): (&CsrMatrix<f64>, &impl LinearOperator<f64>),
    label: &str,
    preconditioner: impl Preconditioner<f64>,
    scipy: usize,
) -> Result<(), Box<dyn Error>> {
    let b: Vec<f64> = (0..a.rows()).map(|i| ((i + 1) as f64).sin()).collect();
    let solution = linalg::cg(placed, &b).rtol(RTOL).preconditioner(preconditioner).solve()?;
    println!("{name:13} {label:6} scipy {scipy:4}  {solution}");
    // 1138_bus is so badly conditioned without preconditioner that the order of additions moves the count.
    let share = if (name, label) == ("1138_bus", "plain") { 0.10 } else { 0.05 };
    let allowed = (share * scipy as f64).max(5.0);
    let difference = solution.iterations.abs_diff(scipy) as f64;
    let norm_b = b.iter().map(|b| b * b).sum::<f64>().sqrt();
    let residual = a.matvec(&solution.x)?.iter().zip(&b).map(|(ax, b)| (b - ax).powi(2)).sum::<f64>().sqrt();
    let sound = solution.is_converged() && residual <= 2.0 * RTOL * norm_b && difference <= allowed;
    if sound {
        return Ok(());
    }
    Err(format!("{name} {label}: {solution}; SciPy needs {scipy}; residual found {residual:e}").into())
}
