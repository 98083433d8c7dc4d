//! `cargo xtask outside`: a user's crate, outside the workspace and its `.cargo/config.toml`.

use std::{fs, process::Command};

use crate::{Outcome, programs::target, workspace_root};

const MANIFEST: &str = include_str!("../outside-crate/Cargo.toml.in");
const MAIN: &str = include_str!("../outside-crate/main.rs");

/// Builds and runs the crate with one variable set: the folder above a `lib64` that exists on most systems. Its build stays beside our own, for the
/// next time.
pub(crate) fn run() -> Outcome {
    let root = workspace_root();
    let folder = tempfile::tempdir()?;
    let manifest = MANIFEST.replace("@WORKSPACE@", &root.display().to_string());
    fs::create_dir(folder.path().join("src"))?;
    fs::write(folder.path().join("Cargo.toml"), manifest)?;
    fs::write(folder.path().join("src/main.rs"), MAIN)?;
    fs::copy(root.join("Cargo.lock"), folder.path().join("Cargo.lock"))?;
    let mut command = Command::new(env!("CARGO"));
    command.arg("run").current_dir(folder.path());
    command.env("CARGO_TARGET_DIR", target().join("outside")).env("CUDA_LIBRARY_PATH", "/usr");
    crate::run(&mut command)
}
