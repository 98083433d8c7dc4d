//! Mutants of Rust, which `cargo-mutants` makes and tries: here are chosen functions that hold unsafe code.

use std::{
    collections::BTreeSet,
    env, fs, iter,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use regex::Regex;
use serde::Deserialize;

use super::{Arguments, Fate, Mutant, Tried, limit, shuffled, tell};
use crate::{Outcome, files_below, programs, workspace_root};

/// Functions that hold this are mutated.
const UNSAFE: &str = "unsafe {";

/// The folders of each crate's code.
const FOLDERS: [&str; 7] = [
    "gpu-driver/core/src",
    "gpu-driver/emulated/src",
    "gpu-driver/src",
    "gpu-array/src",
    "gpu-algos/src",
    "gpu-random/src",
    "gpu-sparse/src",
];

/// The tests of a package that are run, as cargo knows them, and their surroundings.
const TESTS: [&str; 2] = ["--lib", "--tests"];
const VARIABLES: [(&str, &str); 2] = [("GPU_DEVICE", "emulated"), ("GPU_TESTS", "require")];

/// A mutant as `cargo mutants --list --json` tells it.
#[derive(Clone, Debug, Deserialize)]
struct Listed {
    name: String,
    file: String,
    function: Option<Function>,
    span: Span,
}

#[derive(Clone, Debug, Deserialize)]
struct Function {
    span: Span,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Span {
    start: Position,
    end: Position,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Position {
    line: usize,
}

/// The file `outcomes.json` of `cargo mutants`.
#[derive(Deserialize)]
struct Outcomes {
    outcomes: Vec<Ended>,
}

#[derive(Deserialize)]
struct Ended {
    scenario: serde_json::Value,
    summary: String,
    #[serde(default)]
    phase_results: Vec<Phase>,
}

#[derive(Deserialize)]
struct Phase {
    phase: String,
    duration: f64,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<Vec<Tried>> {
    if programs::is_bundle() {
        return Err("mutants of Rust need the workspace: `--rust 0`".into());
    }
    let root = workspace_root();
    let listed = listed(arguments, &root)?;
    println!("{} places in functions with unsafe code", listed.len());
    let mut waiting = shuffled(listed, arguments.seed).into_iter();
    if arguments.list {
        waiting.take(arguments.rust).for_each(|mutant| println!("{}", mutant.name));
        return Ok(Vec::new());
    }
    let mut tried = Vec::new();
    loop {
        let viable = tried.iter().filter(|tried: &&Tried| tried.fate != Fate::Unviable).count();
        let batch: Vec<_> = waiting.by_ref().take(arguments.rust.saturating_sub(viable)).collect();
        if batch.is_empty() {
            return Ok(tried);
        }
        for package in packages(&batch) {
            println!("{package} without mutants");
            // As `cargo mutants` builds: with the examples, which some tests start.
            let mut build = cargo(&root);
            build.args(["test", "--no-run"]).args(tested_by(package).map(|name| format!("--package={name}")));
            crate::run(&mut build)?;
            passes(package, &mut tests_of(&root, package), limit(arguments))?;
        }
        for package in packages(&batch) {
            tried.extend(try_all(arguments, &root, package, &batch)?);
        }
    }
}

/// The packages that the mutants are in: the folder of each has its name. Crates below `gpu-driver` count as parts of it.
fn packages(batch: &[Listed]) -> BTreeSet<&str> {
    batch.iter().filter_map(|mutant| package_of(&mutant.file)).collect()
}

fn package_of(file: &str) -> Option<&str> {
    file.split('/').next()
}

/// The command that `cargo mutants` tries each mutant of a package with.
fn tests_of(root: &Path, package: &str) -> Command {
    let mut command = cargo(root);
    command.arg("test").args(tested_by(package).map(|name| format!("--package={name}"))).args(TESTS).envs(VARIABLES);
    command
}

/// The packages whose tests look for the mutants of a package, and of the crates below it.
fn tested_by(package: &str) -> impl Iterator<Item = &str> {
    let below: &[&str] = if package == "gpu-driver" { &["gpu-driver-core", "gpu-driver-emulated"] } else { &[] };
    iter::once(package).chain(below.iter().copied())
}

/// Checks that a package's tests pass as they are, and in time: else every mutant would count as caught.
fn passes(package: &str, tests: &mut Command, limit: Duration) -> Outcome {
    let began = Instant::now();
    let status = tests.status()?;
    if !status.success() {
        return Err(format!("the tests of {package} fail without any mutant: {status}").into());
    }
    if began.elapsed() > limit {
        return Err(format!("the tests of {package} take more than {} s without any mutant", limit.as_secs()).into());
    }
    Ok(())
}

/// The mutants of functions that hold unsafe code.
fn listed(arguments: &Arguments, root: &Path) -> Outcome<Vec<Listed>> {
    let mut command = mutants(root);
    command.args(["--list", "--json"]);
    for folder in FOLDERS {
        for file in files_below(root, folder, &[".rs"])? {
            let is_unsafe = fs::read_to_string(root.join(&file))?.contains(UNSAFE);
            if file.contains(&arguments.file) && !file.contains("test") && is_unsafe {
                command.args(["--file", &file]);
            }
        }
    }
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("cargo mutants: {} (`cargo install cargo-mutants`)", output.status).into());
    }
    let all: Vec<Listed> = serde_json::from_slice(&output.stdout)?;
    let holds_unsafe = |mutant: &Listed| {
        let span = mutant.function.as_ref()?.span;
        let text = fs::read_to_string(root.join(&mutant.file)).ok()?;
        let lines = text.lines().skip(span.start.line - 1).take(span.end.line + 1 - span.start.line);
        Some(lines.into_iter().any(|line| line.contains(UNSAFE)))
    };
    Ok(all.into_iter().filter(|mutant| holds_unsafe(mutant) == Some(true)).collect())
}

/// Tries the mutants of a batch that are in a package, or below it.
fn try_all(arguments: &Arguments, root: &Path, package: &str, batch: &[Listed]) -> Outcome<Vec<Tried>> {
    let out = tempfile::tempdir()?;
    let mut command = mutants(root);
    // In place, since a copy would be built from nothing. Its baseline would not name the package that fails; `passes` has done so.
    command.args(["--in-place", "--baseline", "skip", "--no-shuffle", "--timeout", &arguments.limit.to_string()]);
    command.args(["--build-timeout", &arguments.limit.to_string()]).arg("--output").arg(out.path());
    command.args(tested_by(package).map(|name| format!("--test-package={name}")));
    for mutant in batch.iter().filter(|mutant| package_of(&mutant.file) == Some(package)) {
        command.args(["--file", &mutant.file, "--re", &format!("^{}$", regex::escape(&mutant.name))]);
    }
    command.arg("--").args(TESTS).envs(VARIABLES);
    // Nonzero when a mutant was missed; whether it worked is told by the file that it leaves.
    eprintln!("$ {command:?}");
    command.status()?;
    let text = fs::read_to_string(out.path().join("mutants.out/outcomes.json"))?;
    let ended: Outcomes = serde_json::from_str(&text)?;
    let place = Regex::new(r"^[^:]*:\d+:\d+: ")?;
    let mut tried = Vec::new();
    for ended in ended.outcomes {
        let Some(mutant) = ended.scenario.get("Mutant") else { continue };
        let mutant: Listed = serde_json::from_value(mutant.clone())?;
        // One that was not built in time has shown nothing.
        let is_tested = ended.phase_results.iter().any(|phase| phase.phase == "Test");
        let fate = match ended.summary.as_str() {
            _ if !is_tested => Fate::Unviable,
            "CaughtMutant" => Fate::Caught("the package's tests".to_owned()),
            "Timeout" => Fate::Caught(format!("no end in {} s", arguments.limit)),
            "MissedMutant" => Fate::Survived,
            _ => Fate::Unviable,
        };
        let seconds = ended.phase_results.iter().map(|phase| phase.duration).sum();
        let change = place.replace(&mutant.name, "").into_owned();
        let mutant = Mutant { file: mutant.file, line: mutant.span.start.line, change };
        let one = Tried { mutant, fate, seconds };
        tell(&one);
        tried.push(one);
    }
    Ok(tried)
}

fn mutants(root: &Path) -> Command {
    let mut command = cargo(root);
    command.arg("mutants");
    command
}

fn cargo(root: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into()));
    command.current_dir(root).env("CARGO_TARGET_DIR", programs::target());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(file: &str) -> Listed {
        let position = Position { line: 1 };
        let span = Span { start: position, end: position };
        Listed { name: String::new(), file: file.to_owned(), function: None, span }
    }

    #[test]
    fn each_package_of_a_batch_is_named_once() {
        let files = ["gpu-driver/src/buffer.rs", "gpu-array/src/pool.rs", "gpu-driver/emulated/src/image.rs"];
        let batch = files.map(mutant);
        assert_eq!(packages(&batch).into_iter().collect::<Vec<_>>(), ["gpu-array", "gpu-driver"]);
    }

    #[test]
    fn tests_that_fail_or_take_too_long_unmutated_end_the_run() {
        let run = |program: &str, seconds| {
            let ended = passes("gpu-array", Command::new(program).arg("0.01"), Duration::from_secs(seconds));
            ended.map_err(|error| error.to_string())
        };
        assert_eq!(run("true", 60), Ok(()));
        assert!(run("false", 60).is_err_and(|said| said.contains("gpu-array fail without any mutant")));
        assert!(run("sleep", 0).is_err_and(|said| said.contains("gpu-array take more than 0 s")));
    }
}
