//! Project automation; `cargo xtask` lists the commands.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{self, ExitCode},
};

use clap::{Parser, Subcommand};
use serde::de::DeserializeOwned;

mod bench;
mod bundle;
mod ci;
mod cust;
mod evidence;
mod format;
mod kernels;
mod machine;
#[cfg(test)]
mod modules;
mod mutants;
mod outside;
mod package;
#[cfg(test)]
mod pages;
mod programs;
mod provenance;
mod suite;
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
    /// Format, generated files, packages, clippy, docs, kernels and their budgets, the emulated device without checks, the tests of cust, a crate
    /// outside the workspace, each benchmark once, the main program: all must pass.
    Ci,
    /// Format Rust files with rustfmt and kernel text with clang-format.
    Format {
        /// Change nothing; fail when a file is not formatted.
        #[arg(long)]
        check: bool,
    },
    /// Compile every kernel of every registry for sm_80, sm_90 and sm_100, print the resources that the machine code takes, and fail where it takes
    /// more than its recorded budget (says that it cannot without NVRTC).
    Kernels(kernels::Arguments),
    /// Run the emulated device's own tests without access checks and with checks of undefined behaviour, and sums of f32 without access checks.
    Emulated,
    /// Build the release test, bench, example and measuring programs, with those of peers, into a folder that runs without a Rust
    /// toolchain.
    Bundle {
        /// The folder, relative to the workspace.
        #[arg(long, default_value = "bundle")]
        out: PathBuf,
    },
    /// Run the benchmarks in rounds, compare with a baseline, judge: 0 clean, 1 a figure slower or gone or a bench that failed, 3 no
    /// baseline, 4 not carried out.
    Bench(Box<bench::Options>),
    /// Measure a number of a kernel's policy at several values, in turn; without a name, list the numbers that can be tuned.
    Tune(bench::tune::Options),
    /// Write the tables of README.md and benches/PERFORMANCE.md from the newest records.
    Figures {
        /// Change nothing; fail when a table is out of date.
        #[arg(long)]
        check: bool,
    },
    /// Run all test programs; a missing GPU or NVRTC is a failure. Passed as a whole on a real GPU they leave evidence.
    Suite(suite::Tests),
    /// Run the device tests under compute-sanitizer, without those that provoke refusals and faults on purpose.
    Sanitize(suite::sanitize::Arguments),
    /// Change one place of a kernel or of unsafe code at a time and see whether a test fails; write a report.
    Mutants(mutants::Arguments),
    /// Print which kernels have changed since they last ran on a real GPU.
    Evidence,
    /// Pack each crate as it would be published; fail at a warning, or where a crate needs a file outside of itself.
    Package,
    /// Build and run a crate outside the workspace that depends on ours, by the line that README and the crates' pages give.
    Outside(outside::Arguments),
    /// Run the tests of the crate cust through our table of driver functions, on the emulated device unless `GPU_DEVICE` names another.
    Cust,
    /// Generate gpu-driver's forwarders of the CUDA driver API from cust_raw's declarations.
    Symbols {
        /// Change nothing; fail when the generated file is out of date.
        #[arg(long)]
        check: bool,
    },
}

impl Command {
    /// Whether it builds or reads the sources, also where the programs are there.
    fn needs_sources(&self) -> bool {
        matches!(
            self,
            Self::Ci
                | Self::Format { .. }
                | Self::Emulated
                | Self::Bundle { .. }
                | Self::Package
                | Self::Outside(_)
                | Self::Cust
                | Self::Symbols { .. }
                | Self::Figures { .. }
        )
    }
}

fn main() -> ExitCode {
    let command = Arguments::parse().command;
    if programs::is_bundle() && command.needs_sources() {
        eprintln!("error: this is a command of the workspace, not of a bundle");
        return ExitCode::FAILURE;
    }
    let outcome = match command {
        Command::Ci => ci::all(),
        Command::Format { check } => format::all(check),
        Command::Kernels(arguments) => kernels::run(&arguments),
        Command::Emulated => suite::emulated::run(),
        Command::Bundle { out } => bundle::create(&out),
        Command::Bench(options) => {
            return match bench::run(&options) {
                Ok(ending) => ExitCode::from(ending as u8),
                Err(error) => {
                    eprintln!("error: {error}");
                    ExitCode::from(bench::BROKEN)
                }
            };
        }
        Command::Tune(options) => bench::tune::run(&options),
        Command::Figures { check } => bench::update_figures(check),
        Command::Suite(arguments) => suite::run(&arguments),
        Command::Sanitize(arguments) => suite::sanitize::run(&arguments),
        Command::Mutants(arguments) => mutants::run(&arguments),
        Command::Evidence => {
            evidence::report();
            Ok(())
        }
        Command::Package => package::run(),
        Command::Outside(arguments) => outside::run(&arguments),
        Command::Cust => cust::run(),
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

/// A cargo command in the workspace.
fn cargo(arguments: &[&str]) -> process::Command {
    let mut command = process::Command::new(env!("CARGO"));
    command.args(arguments).current_dir(workspace_root());
    command
}

/// Files of the folders with one of the extensions, relative to the root, in order.
pub(crate) fn files_below(root: &Path, folder: &str, extensions: &[&str]) -> Outcome<Vec<String>> {
    let mut found = Vec::new();
    let path = root.join(folder);
    if path.is_file() {
        return Ok(vec![folder.to_owned()]);
    }
    for entry in fs::read_dir(&path).map_err(|error| format!("{}: {error}", path.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let below = format!("{folder}/{name}");
        if root.join(&below).is_dir() {
            found.extend(files_below(root, &below, extensions)?);
        } else if extensions.iter().any(|extension| name.ends_with(extension)) {
            found.push(below);
        }
    }
    found.sort();
    Ok(found)
}

/// The text of a file; nothing where there is none.
fn text_if_there(path: &Path) -> Outcome<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display()).into()),
    }
}

/// The value in a file of JSON; nothing where there is no file.
fn json_if_there<T: DeserializeOwned>(path: &Path) -> Outcome<Option<T>> {
    let parse =
        |text: String| serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()).into());
    text_if_there(path)?.map(parse).transpose()
}

/// Runs a command, shown first; fails when it does.
fn run(command: &mut process::Command) -> Outcome {
    eprintln!("$ {command:?}");
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
}
