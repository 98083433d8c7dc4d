//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Solve A x = b for a sparse symmetric positive definite A by conjugate gradients.
#[derive(Debug, Parser)]
#[command(name = "solve", version)]
pub(crate) struct Options {
    /// Matrix Market file, plain or gzip; without it a built-in 3-D system of about 100,000 unknowns.
    pub(crate) matrix: Option<PathBuf>,
    /// Matrix Market file of the right-hand side; without it b[i] = sin(i + 1), i from 0.
    #[arg(long)]
    pub(crate) rhs: Option<PathBuf>,
    /// Stop when |b - A x| is at most this fraction of |b|.
    #[arg(long, default_value_t = 1e-8, allow_negative_numbers = true)]
    pub(crate) rtol: f64,
    /// Most iterations; ten times the number of unknowns when not given.
    #[arg(long)]
    pub(crate) maxiter: Option<usize>,
    /// Preconditioner.
    #[arg(long, value_enum, default_value_t = Precond::None)]
    pub(crate) precond: Precond,
    /// The place of the solve. `auto`: CUDA when a driver, a device and NVRTC are there, else the CPU.
    #[arg(long, value_enum, default_value_t = Device::Auto)]
    pub(crate) device: Device,
    /// How the matrix is stored: compressed rows or packets of slices. `auto`: on a device the one expected to be faster, on the CPU csr.
    #[arg(long, value_enum, default_value_t = Format::Auto)]
    pub(crate) format: Format,
    /// Write x to this Matrix Market file.
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// Draw the residual after each iteration into this SVG file.
    #[arg(long)]
    pub(crate) plot: Option<PathBuf>,
    /// Print one JSON object in place of the table.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Precond {
    None,
    Jacobi,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Device {
    Auto,
    Cuda,
    Emulated,
    Cpu,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Auto,
    Csr,
    Packets,
}

impl Format {
    /// The format's name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Csr => "csr",
            Self::Packets => "packets",
        }
    }
}
