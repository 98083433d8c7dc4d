//! Writes the sparse cases of a set as raw files: `export_cases --set full --out DIR` makes `DIR/<case>-<dtype>/` for each, for the programs of peers
//! that are not Rust. A case whose file is missing is left out, and said so.
#![forbid(unsafe_code)]

use std::{path::PathBuf, process::ExitCode};

use benches::{
    harness::{Outcome, Set},
    sparse::{self, ElementType},
};
use clap::Parser;

/// Write the matrices of the sparse benches as raw little-endian files.
#[derive(Debug, Parser)]
#[command(name = "export_cases", version)]
struct Options {
    /// The set of cases: tiny, quick or full.
    #[arg(long)]
    set: String,
    /// The folder to write into.
    #[arg(long)]
    out: PathBuf,
    /// The cases of the CPU, where those of a device are not wanted.
    #[arg(long)]
    cpu: bool,
}

fn main() -> ExitCode {
    match write(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn write(options: &Options) -> Outcome {
    for case in sparse::cases(Set::parse(&options.set)?, !options.cpu) {
        if let Some(reason) = case.missing_file() {
            eprintln!("{} is left out: {reason}", case.name);
            continue;
        }
        match case.element_type {
            ElementType::F32 => sparse::export::<f32>(&options.out.join(format!("{}-f32", case.name)), &case)?,
            ElementType::F64 => sparse::export::<f64>(&options.out.join(format!("{}-f64", case.name)), &case)?,
        }
    }
    Ok(())
}
