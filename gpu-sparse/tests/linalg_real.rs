//! Conjugate gradients on real matrices, against the iterations that SciPy 1.17.1 needs for the same systems.
//!
//! The files are no part of the repository: `GPU_SPARSE_MATRICES` names their folder. Without it the tests are reported as ignored.

use std::path::{Path, PathBuf};

use gpu_sparse::io::read_matrix_market;
use gpu_sparse::linalg::{self, Identity, Jacobi, Preconditioner};
use gpu_sparse::{CsrMatrix, gallery};
use libtest_mimic::{Arguments, Failed, Trial};

/// File, rows, entries, iterations of SciPy without and with Jacobi, for rtol = 1e-8, x0 = 0, b[i] = sin(i + 1).
type Case = (&'static str, usize, usize, usize, usize);

const SPD: [Case; 8] = [
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

fn main() {
    let folder = std::env::var_os("GPU_SPARSE_MATRICES").map(PathBuf::from);
    let place = folder.clone().unwrap_or_default();
    let file = move |name: &str| place.join(format!("{name}.mtx.gz"));
    let mut trials: Vec<Trial> = Vec::new();
    for case in SPD {
        let path = file(case.0);
        trials
            .push(Trial::test(format!("iterations_are_those_of_scipy::{}", case.0), move || compare_both(&path, case)));
    }
    let wathen = file("wathen_small");
    trials.push(Trial::test("wathen_small_has_the_pattern_of_the_gallery", move || compare_wathen(&wathen)));
    let trials = trials.into_iter().map(|trial| trial.with_ignored_flag(folder.is_none())).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn compare_both(path: &Path, (name, rows, nnz, plain, jacobi): Case) -> Result<(), Failed> {
    let a = read_matrix_market::<f64>(path)?;
    if (a.rows(), a.nnz()) != (rows, nnz) || !a.is_symmetric(0.0) {
        return Err(format!("{name}: {} rows, {} entries, {:?}", a.rows(), a.nnz(), a.symmetry()).into());
    }
    compare(name, &a, "plain", Identity, plain)?;
    compare(name, &a, "Jacobi", Jacobi, jacobi)
}

fn compare_wathen(path: &Path) -> Result<(), Failed> {
    let (file, made) = (read_matrix_market::<f64>(path)?, gallery::wathen::<f64>(49, 49, |_, _| 1.0)?);
    let same = (file.row_starts(), file.columns()) == (made.row_starts(), made.columns());
    if same { Ok(()) } else { Err("the patterns differ".into()) }
}

/// Solves, and says what is wrong, if anything is.
fn compare(
    name: &str,
    a: &CsrMatrix<f64>,
    label: &str,
    preconditioner: impl Preconditioner<f64>,
    scipy: usize,
) -> Result<(), Failed> {
    let b: Vec<f64> = (0..a.rows()).map(|i| ((i + 1) as f64).sin()).collect();
    let solution = linalg::cg(a, &b).rtol(RTOL).preconditioner(preconditioner).solve()?;
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
