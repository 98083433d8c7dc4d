//! Times conjugate gradients on the 7-point Poisson matrix and prints one line of JSON:
//! `cargo run --release -p gpu-sparse --example cg_poisson -- 128 40 5`.
//!
//! Arguments: points per axis (128), iterations (40), repetitions (5, the median counts).
use gpu_sparse::{gallery::Poisson, linalg};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = std::env::args().skip(1).map(|a| a.parse()).collect::<Result<Vec<usize>, _>>()?;
    let argument = |position: usize, default| arguments.get(position).copied().unwrap_or(default);
    let (n, iterations, repetitions) = (argument(0, 128), argument(1, 40), argument(2, 5));
    let a = Poisson::three_d(n, n, n).build::<f64>()?;
    let b: Vec<f64> = (0..a.rows()).map(|i| ((i + 1) as f64).sin()).collect();
    let mut times = Vec::new();
    for _ in 0..repetitions.max(1) {
        let solution = linalg::cg(&a, &b).rtol(0.0).maxiter(iterations).solve()?;
        if solution.iterations != iterations {
            return Err(format!("stopped early: {solution}").into());
        }
        times.push(solution.elapsed.as_secs_f64() * 1e3 / iterations as f64);
    }
    times.sort_by(f64::total_cmp);
    let (median, threads) = (times[times.len() / 2], rayon::current_num_threads());
    println!(
        r#"{{"peer": "gpu-sparse cg (cpu)", "matrix": "poisson 7-point {n}^3", "dtype": "f64", "iterations": {iterations}, "threads": {threads}, "ms_per_iteration": {median:.4}}}"#
    );
    Ok(())
}
