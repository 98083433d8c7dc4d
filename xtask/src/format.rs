//! `cargo xtask format`: rustfmt over the Rust files, clang-format over kernel text.

use std::{
    env,
    ffi::OsString,
    process::{Command, Stdio},
};

use crate::{Outcome, cargo, run, workspace_root};

/// The major version whose format the kernels have: another one breaks lines elsewhere.
const VERSION: &str = "23";

/// Formats all files, or with `check` fails where one differs. Texts whose lines tests name have a `.clang-format` that leaves them as
/// they are. Kernel text is left out, visibly, where there is no clang-format; with `GPU_CLANG_FORMAT` it has to be there.
pub(crate) fn all(check: bool) -> Outcome {
    let mut rust = cargo(&["fmt", "--all"]);
    if check {
        rust.arg("--check");
    }
    run(&mut rust)?;
    let Some(clang_format) = tool()? else {
        println!("kernel text is not formatted: no clang-format {VERSION} (`pip install 'clang-format=={VERSION}.*'`)");
        return Ok(());
    };
    let files = kernel_files()?;
    let action: &[&str] = if check { &["--dry-run", "-Werror"] } else { &["-i"] };
    eprintln!("$ {} {} ({} files)", clang_format.display(), action.join(" "), files.len());
    let status = Command::new(&clang_format).args(action).args(&files).current_dir(workspace_root()).status()?;
    if status.success() { Ok(()) } else { Err("kernel text is not formatted: run `cargo xtask format`".into()) }
}

/// The program, if it is there in the version wanted: the one of `GPU_CLANG_FORMAT`, or of the search path.
fn tool() -> Outcome<Option<OsString>> {
    let named = env::var_os("GPU_CLANG_FORMAT").filter(|name| !name.is_empty());
    let name = named.clone().unwrap_or_else(|| "clang-format".into());
    let output = Command::new(&name).arg("--version").stderr(Stdio::null()).output();
    let version = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    if is_wanted(&version) {
        return Ok(Some(name));
    }
    match named {
        Some(name) => {
            Err(format!("GPU_CLANG_FORMAT: {} is no clang-format {VERSION} (`{}`)", name.display(), version.trim())
                .into())
        }
        None => Ok(None),
    }
}

/// Whether `clang-format --version` printed a version of [`VERSION`].
fn is_wanted(printed: &str) -> bool {
    let number = printed.split("version ").nth(1).and_then(|rest| rest.split('.').next());
    number == Some(VERSION)
}

/// The files of kernel text that git tracks, relative to the workspace.
fn kernel_files() -> Outcome<Vec<String>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--", "*.cu", "*.cuh"]).current_dir(workspace_root());
    let output = git.output().map_err(|error| format!("git: {error}"))?;
    if !output.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let text = String::from_utf8(output.stdout)?;
    Ok(text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_apart() {
        assert!(is_wanted(&format!("clang-format version {VERSION}.1.5")));
        assert!(is_wanted(&format!("Ubuntu clang-format version {VERSION}.0.0 (1ubuntu)\n")));
        for other in ["clang-format version 14.0.0", "", "version 2.3", "clang-format version 230.1"] {
            assert!(!is_wanted(other), "{other}");
        }
    }

    #[test]
    fn all_kernel_text_is_found() {
        let files = kernel_files().unwrap();
        assert!(files.iter().any(|file| file == "gpu-driver/src/prelude/prelude.cuh"), "{files:?}");
        assert!(files.len() > 40 && files.iter().all(|file| workspace_root().join(file).is_file()), "{files:?}");
    }
}
