//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Solve A x = b for a sparse symmetric positive definite A by conjugate gradients.
#[derive(Debug, Parser)]
#[command(name = "solve", version)]
pub struct Options {
    /// Matrix Market file, plain or gzip; without it a built-in 3-D system of about 100,000 unknowns.
    pub matrix: Option<PathBuf>,
    /// Matrix Market file of the right-hand side; without it b[i] = sin(i + 1), i from 0.
    #[arg(long)]
    pub rhs: Option<PathBuf>,
    /// Stop when |b - A x| is at most this fraction of |b|.
    #[arg(long, default_value_t = 1e-8)]
    pub rtol: f64,
    /// Most iterations; ten times the number of unknowns when not given.
    #[arg(long)]
    pub maxiter: Option<usize>,
    /// Preconditioner.
    #[arg(long, value_enum, default_value_t = Precond::None)]
    pub precond: Precond,
    /// Where to solve. `auto`: CUDA when a driver, a device and NVRTC are there, else the CPU.
    #[arg(long, value_enum, default_value_t = Device::Auto)]
    pub device: Device,
    /// Write x to this Matrix Market file.
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Draw the residual after each iteration into this SVG file.
    #[arg(long)]
    pub plot: Option<PathBuf>,
    /// Print one JSON object in place of the table.
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Precond {
    None,
    Jacobi,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Device {
    Auto,
    Cuda,
    Emulated,
    Cpu,
}
