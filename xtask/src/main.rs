//! Project automation; `cargo xtask` lists the commands.

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

mod symbols;

/// Result of a command: the error is a message for the person who ran it.
type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Project automation.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Generate gpu-driver's forwarders of the CUDA driver API from cust_raw's declarations.
    Symbols {
        /// Change nothing; fail when the generated file is out of date.
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Symbols { check } => symbols::run(check),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The folder that holds the workspace's Cargo.toml.
fn workspace_root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().map(PathBuf::from).unwrap_or_default()
}
