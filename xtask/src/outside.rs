//! `cargo xtask outside`: a user's crate, outside the workspace and its `.cargo/config.toml`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use crate::{Outcome, programs::target, workspace_root};

const MANIFEST: &str = include_str!("../outside-crate/Cargo.toml.in");
const MAIN: &str = include_str!("../outside-crate/main.rs");
/// The crates that users depend on.
const CRATES: [&str; 5] = ["gpu-driver", "gpu-array", "gpu-algos", "gpu-random", "gpu-sparse"];
/// How README and each crate's page say that a crate is built where no CUDA toolkit is: the variable, and the command.
const LINE: &str = "CUDA_LIBRARY_PATH=/usr cargo build";

#[derive(clap::Args, Default)]
pub(crate) struct Arguments {
    /// Builds a crate that depends on one of ours alone, for each of them and from nothing, and prints seconds and the number of crates.
    #[arg(long)]
    each: bool,
}

/// Builds and runs a crate by the line that README and the pages give.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let root = workspace_root();
    let pages = CRATES.map(|name| root.join(name).join("src/lib.rs"));
    for page in pages.iter().chain([&root.join("README.md")]) {
        if !fs::read_to_string(page)?.contains(LINE) {
            return Err(format!("{} does not say `{LINE}`", page.display()).into());
        }
    }
    if arguments.each {
        return CRATES.iter().try_for_each(|name| alone(name));
    }
    let folder = tempfile::tempdir()?;
    write(folder.path(), &CRATES, MAIN)?;
    // Its build stays beside our own, for the next time.
    let target = target().join("outside");
    crate::run(&mut line(folder.path(), &target)?)?;
    crate::run(&mut Command::new(target.join("debug/outside")))?;
    without_cust(&target)
}

/// Checks a crate that takes ours without default features: cust is no part of it, and no variable is needed.
fn without_cust(target: &Path) -> Outcome {
    let folder = tempfile::tempdir()?;
    write_with(folder.path(), &CRATES, ", default-features = false", MAIN)?;
    let mut check = Command::new(env!("CARGO"));
    check.arg("check").env_remove("CUDA_LIBRARY_PATH").env("CARGO_TARGET_DIR", target).current_dir(folder.path());
    crate::run(&mut check)?;
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "--offline", "--prefix", "none", "--format", "{p}"]).current_dir(folder.path());
    let output = tree.stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8(output.stdout)?;
    match text
        .lines()
        .find(|line| ["cust ", "cust_raw ", "glam ", "vek ", "mint "].iter().any(|name| line.starts_with(name)))
    {
        Some(found) => Err(format!("default-features = false leaves {found} in").into()),
        None => Ok(()),
    }
}

/// Builds a crate that depends on `name` alone, in an empty target folder, and prints a row of README's table.
fn alone(name: &str) -> Outcome {
    let folder = tempfile::tempdir()?;
    write(folder.path(), &[name], "fn main() {}\n")?;
    let start = Instant::now();
    crate::run(line(folder.path(), &folder.path().join("target"))?.arg("--quiet"))?;
    let seconds = start.elapsed().as_secs_f64();
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "--offline", "--edges", "normal,build", "--prefix", "none", "--format", "{p}"]);
    let output = tree.current_dir(folder.path()).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let mut crates: Vec<_> = text.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    crates.sort_unstable();
    crates.dedup();
    // The crate itself is none of them.
    println!("| `{name}` | {} | {seconds:.0} s |", crates.len().saturating_sub(1));
    Ok(())
}

/// A crate that depends on `crates`.
fn write(folder: &Path, crates: &[&str], main: &str) -> Outcome {
    write_with(folder, crates, "", main)
}

/// A crate that depends on `crates` with those settings.
fn write_with(folder: &Path, crates: &[&str], settings: &str, main: &str) -> Outcome {
    let root = workspace_root();
    let line = |name: &&str| format!("{name} = {{ path = \"{}\"{settings} }}\n", root.join(name).display());
    let dependencies: String = crates.iter().map(line).collect();
    fs::create_dir(folder.join("src"))?;
    fs::write(folder.join("Cargo.toml"), MANIFEST.replace("@DEPENDENCIES@", &dependencies))?;
    fs::write(folder.join("src/main.rs"), main)?;
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    Ok(())
}

/// The command of [`LINE`] in a folder.
fn line(folder: &Path, target: &PathBuf) -> Outcome<Command> {
    let mut words = LINE.split(' ');
    let (variable, program) = (words.next().and_then(|word| word.split_once('=')), words.next());
    let (Some((name, value)), Some("cargo")) = (variable, program) else {
        return Err(format!("`{LINE}` is no variable and cargo").into());
    };
    let mut command = Command::new(env!("CARGO"));
    command.env(name, value).args(words).env("CARGO_TARGET_DIR", target).current_dir(folder);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readme_opens_with_the_lines_of_the_tour() {
        let read = |name: &str| fs::read_to_string(workspace_root().join(name)).unwrap();
        let (readme, tour) = (read("README.md"), read("gpu-sparse/examples/tour.rs"));
        let (_, program) = readme.split_once("```rust\n").unwrap();
        let (program, _) = program.split_once("```").unwrap();
        let of_tour: Vec<&str> = tour.lines().map(str::trim).collect();
        let missing = |line: &&str| !of_tour.contains(&line.trim()) && !line.starts_with("let device = ");
        assert_eq!(program.lines().filter(missing).collect::<Vec<_>>(), [""; 0]);
    }
}
