//! The report that the program prints at the end.

use std::fmt;

use gpu_sparse::{Description, linalg::Solution, linalg::Status};
use serde_json::json;

use crate::{
    backend::Backend,
    options::{Options, Precond},
    system::System,
};

/// The facts of one solve.
pub(crate) struct Report {
    matrix: String,
    device: String,
    why: String,
    precond: &'static str,
    stored: Description,
    format_asked: &'static str,
    format_why: String,
    /// Bytes that one iteration has to move: the matrix as it is stored, once, and the vectors as `linalg::cg` documents.
    iteration_bytes: f64,
    iterations: usize,
    status: Status,
    rtol: f64,
    true_residual: f64,
    read_s: f64,
    build_s: f64,
    compile_s: f64,
    solve_s: f64,
}

impl Report {
    pub(crate) fn new(
        matrix: String,
        place: &Backend,
        system: &System<'_>,
        options: &Options,
        solution: &Solution<f64>,
        true_residual: f64,
        [read_s, build_s, compile_s]: [f64; 3],
    ) -> Self {
        let stored = system.description.clone();
        let (precond, vectors) = match options.precond {
            Precond::None => ("none", 10.0),
            Precond::Jacobi => ("jacobi", 12.0),
        };
        Self {
            matrix,
            device: place.name(),
            why: place.why().to_owned(),
            precond,
            iteration_bytes: stored.bytes as f64 + vectors * 8.0 * stored.rows as f64,
            stored,
            format_asked: options.format.name(),
            format_why: system.why.clone(),
            iterations: solution.iterations,
            status: solution.status,
            rtol: options.rtol,
            true_residual,
            read_s,
            build_s,
            compile_s,
            solve_s: solution.elapsed.as_secs_f64(),
        }
    }

    fn ms_per_iteration(&self) -> f64 {
        if self.iterations == 0 { 0.0 } else { self.solve_s * 1e3 / self.iterations as f64 }
    }

    fn gigabytes_per_s(&self) -> f64 {
        if self.solve_s == 0.0 { 0.0 } else { self.iteration_bytes * self.iterations as f64 / self.solve_s / 1e9 }
    }

    /// One JSON object. A residual that is not a number becomes null.
    pub(crate) fn json(&self) -> serde_json::Value {
        json!({
            "matrix": self.matrix,
            "device": self.device,
            "device_reason": self.why,
            "precond": self.precond,
            "rows": self.stored.rows,
            "nnz": self.stored.nnz,
            "format": self.stored.format.to_string(),
            "format_asked": self.format_asked,
            "format_reason": self.format_why,
            "bytes_per_nnz": self.stored.bytes_per_nonzero(),
            "iterations": self.iterations,
            "status": status_word(self.status),
            "message": self.status.to_string(),
            "rtol": self.rtol,
            "true_residual": self.true_residual,
            "read_s": self.read_s,
            "build_s": self.build_s,
            "compile_s": self.compile_s,
            "solve_s": self.solve_s,
            "ms_per_iteration": self.ms_per_iteration(),
            "gb_per_s": self.gigabytes_per_s(),
        })
    }
}

/// The outcome's name without its details.
fn status_word(status: Status) -> String {
    format!("{status:?}").chars().take_while(|c| c.is_alphanumeric()).collect()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, value: String| writeln!(f, "{name:<15} {value}");
        row("matrix", self.matrix.clone())?;
        row("device", format!("{} ({})", self.device, self.why))?;
        let matrix = &self.stored;
        let bytes = matrix.bytes_per_nonzero();
        row("rows", matrix.rows.to_string())?;
        row("nonzeros", matrix.nnz.to_string())?;
        row("format", format!("{}, {bytes:.2} bytes per nonzero ({})", matrix.format, self.format_why))?;
        row("preconditioner", self.precond.to_owned())?;
        row("iterations", self.iterations.to_string())?;
        row("outcome", self.status.to_string())?;
        row("true residual", format!("{:.3e} |b| (tolerance {:.0e})", self.true_residual, self.rtol))?;
        row("read/generate", format!("{:.3} s", self.read_s))?;
        row("build", format!("{:.3} s", self.build_s))?;
        if self.compile_s > 0.0 {
            row("kernels", format!("{:.3} s", self.compile_s))?;
        }
        row("solve", format!("{:.3} s", self.solve_s))?;
        row("per iteration", format!("{:.4} ms", self.ms_per_iteration()))?;
        write!(f, "{:<15} {:.1} GB/s", "throughput", self.gigabytes_per_s())
    }
}
