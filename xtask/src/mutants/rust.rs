//! Mutants of Rust, which `cargo-mutants` makes and tries: here are chosen functions that hold unsafe code.

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

use regex::Regex;
use serde::Deserialize;

use super::{Arguments, Fate, Mutant, Tried, files_below, shuffled, tell};
use crate::{Outcome, programs, workspace_root};

/// Functions that hold this are mutated.
const UNSAFE: &str = "unsafe {";

/// The folders of each crate's code.
const FOLDERS: [&str; 5] = ["gpu-driver/src", "gpu-array/src", "gpu-algos/src", "gpu-random/src", "gpu-sparse/src"];

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
        tried.extend(try_all(arguments, &root, &batch)?);
    }
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

fn try_all(arguments: &Arguments, root: &Path, batch: &[Listed]) -> Outcome<Vec<Tried>> {
    let out = tempfile::tempdir()?;
    let mut command = mutants(root);
    // In place, since a copy would be built from nothing.
    command.args(["--in-place", "--baseline", "skip", "--no-shuffle", "--timeout", &arguments.limit.to_string()]);
    command.args(["--build-timeout", &arguments.limit.to_string()]).arg("--output").arg(out.path());
    for mutant in batch {
        command.args(["--file", &mutant.file, "--re", &format!("^{}$", regex::escape(&mutant.name))]);
    }
    command.args(["--", "--lib", "--tests"]).envs([("GPU_DEVICE", "emulated"), ("GPU_TESTS", "require")]);
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
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into()));
    command.arg("mutants").current_dir(root).env("CARGO_TARGET_DIR", programs::target());
    command
}
