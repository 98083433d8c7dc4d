//! Programs of peers that are not Rust: the Python script, and CUB's, built where there is an nvcc.

use std::{env, fs, path::PathBuf, process::Command};

use super::{
    baseline::Build,
    measure::output,
    plan::Plan,
    record::Gap,
    side::{Bench, Side},
};
use crate::{
    Outcome, machine,
    programs::{self, Kind},
};

/// They take long to start, and nothing is judged by them.
const EVERY: usize = 2;

/// Adds the peers that are there to a side that runs peers; returns a gap for each that is missing.
pub(super) fn add(side: &mut Side, plan: &mut Plan, build: &Build) -> Outcome<Vec<Gap>> {
    let mut gaps = Vec::new();
    if !side.peers {
        return Ok(gaps);
    }
    let mut missing = |peer: &str, reason: String| gaps.push(Gap { peer: peer.to_owned(), id: None, reason });
    match export(plan, build) {
        Ok(folder) => plan.environment.push(("BENCH_CASES".to_owned(), folder.display().to_string())),
        Err(error) => missing("matrices for programs of peers", error.to_string()),
    }
    let python = env::var_os("BENCH_PYTHON").unwrap_or_else(|| "python3".into());
    let script = programs::root().join("benches/peers/peers.py");
    match output(Command::new(&python).arg("--version"), plan.limit) {
        Ok(_) => side.benches.push(Bench {
            name: "python".to_owned(),
            path: PathBuf::from(python),
            arguments: vec![script.display().to_string()],
            is_criterion: false,
            every: EVERY,
        }),
        Err(error) => missing("python", error.to_string()),
    }
    if plan.backend.as_deref().is_none_or(|backend| backend == "cuda") {
        match cub(&script.with_file_name("cub.cu"), plan) {
            Ok(path) => {
                side.benches.push(Bench {
                    name: "cub".to_owned(),
                    path,
                    arguments: Vec::new(),
                    is_criterion: false,
                    every: EVERY,
                });
            }
            Err(error) => missing("cub", error.to_string()),
        }
    }
    Ok(gaps)
}

/// Writes the matrices, as raw files.
fn export(plan: &Plan, build: &Build) -> Outcome<PathBuf> {
    let program = build.programs.iter().find(|program| program.kind == Kind::Bin && program.name == "export_cases");
    let program = program.ok_or("there is no program export_cases")?;
    let folder = plan.scratch.path().join("cases");
    fs::create_dir_all(&folder)?;
    let mut command = Command::new(&program.path);
    command.args(["--set", &plan.set, "--out"]).arg(&folder).envs(plan.environment.iter().cloned());
    // The cases of a GPU are larger.
    let on_cpu = plan.backend.as_ref().map_or_else(|| machine::gpu(&["name"]).is_empty(), |backend| backend == "cpu");
    command.args(on_cpu.then_some("--cpu"));
    output(&mut command, plan.limit)?;
    Ok(folder)
}

/// Builds CUB's program for the GPU that is there.
fn cub(source: &std::path::Path, plan: &Plan) -> Outcome<PathBuf> {
    let capability = machine::gpu(&["compute_cap"]).remove("compute_cap").ok_or("no GPU that nvidia-smi names")?;
    let nvcc = env::var_os("NVCC").unwrap_or_else(|| "nvcc".into());
    let program = plan.scratch.path().join("cub");
    let mut command = Command::new(nvcc);
    command.args(["-O3", "-std=c++17", &format!("-arch=sm_{}", capability.replace('.', ""))]);
    output(command.arg(source).arg("-o").arg(&program), plan.limit)?;
    Ok(program)
}
