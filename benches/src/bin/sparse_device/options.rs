//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::{case::Case, formats::Format};

/// Time sparse products and conjugate gradients on a device; one JSON object a line.
#[derive(Debug, Parser)]
#[command(name = "sparse_device", version)]
pub(crate) struct Options {
    /// A matrix: poisson2d:N[:f32|f64], poisson3d:N, stencil27:N, extruded:FILE:LAYERS:zfastest|layermajor, file:FILE (each with
    /// :f32 or :f64 at the end). Can be given several times.
    #[arg(long = "case", required = true, value_parser = Case::parse)]
    pub(crate) cases: Vec<Case>,
    /// What to measure: products, conjugate gradients, the host's build of packets.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [What::Spmv, What::Cg, What::Build])]
    pub(crate) what: Vec<What>,
    /// The formats on the device.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Format::Csr, Format::Packets])]
    pub(crate) formats: Vec<Format>,
    /// Measure on the emulated device: a rehearsal, whose times mean nothing.
    #[arg(long)]
    pub(crate) emulated: bool,
    /// Write the matrix and the vectors as raw little-endian files into this folder.
    #[arg(long)]
    pub(crate) export: Option<PathBuf>,
    /// Where matrix files are looked for that are not found as named.
    #[arg(long, env = "GPU_SPARSE_MATRICES")]
    pub(crate) matrices: Option<PathBuf>,
    /// Largest over smallest coefficient of the stencils; 1 makes them constant.
    #[arg(long, default_value_t = 100.0)]
    pub(crate) contrast: f64,
    /// Iterations of the conjugate gradients that are timed.
    #[arg(long, default_value_t = 200)]
    pub(crate) iterations: usize,
    /// Tolerance of the solve that is timed from start to end.
    #[arg(long, default_value_t = 1e-8)]
    pub(crate) rtol: f64,
    /// Iterations between two looks of the host at the device; the solver's own choice when not given.
    #[arg(long)]
    pub(crate) check_every: Option<usize>,
    /// Batches of products, and the most solves; medians are taken over them.
    #[arg(long, default_value_t = 25)]
    pub(crate) batches: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    Spmv,
    Cg,
    Build,
    /// Nothing; for an export alone.
    None,
}

impl Options {
    pub(crate) fn needs_device(&self) -> bool {
        self.what.iter().any(|what| matches!(what, What::Spmv | What::Cg))
    }
}
