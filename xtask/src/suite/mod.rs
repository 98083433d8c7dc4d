//! `cargo xtask suite`: all test programs, where a test that cannot run is a failure; on a GPU it leaves evidence.
//!
//! The programs are those of the workspace or of a bundle (`programs.rs`). The counts come from the output of libtest and `testkit`. A whole
//! suite that passes on a real GPU writes the evidence of that device, and `sanitize.rs` adds each tool that found nothing. Its option
//! `--jobs` runs the tests of a program in several processes, because racecheck takes some hundred times as long as the tests alone.
//!
//! Digests of kernels (`Instance::digest`) tell which kernels the evidence still covers. They leave out architecture and compiler, so they
//! are the same on every machine.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Outcome, cust,
    evidence::{self, Evidence, Passed},
    kernels, machine,
    programs::{self, Program},
    provenance::Build,
};

mod batches;
mod counts;
pub(crate) mod emulated;
mod gpu;
mod parts;
mod running;
pub(crate) mod sanitize;

use running::Ran;

/// The tests to run, and where to write that they passed.
#[derive(clap::Args)]
pub(crate) struct Tests {
    /// Only tests whose names contain this: a suite then writes no evidence, a tool names it in its own.
    filter: Option<String>,
    /// Print the names of the tests and run none.
    #[arg(long)]
    list: bool,
    /// In the workspace: with the optimisations of a bundle's programs.
    #[arg(long)]
    release: bool,
    /// Folder for the folder of the device, in place of benches/record.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// All test programs: the bundle's, or built by cargo, for `release` with its optimisations. xtask's own are not among them.
pub(crate) fn test_programs(release: bool) -> Outcome<Vec<Program>> {
    let all = if programs::is_bundle() {
        programs::listed(&programs::root())?
    } else {
        let arguments = ["test", "--no-run", "--tests", "--workspace", "--exclude", "xtask"];
        let mut all = programs::built(release, &arguments)?;
        all.push(cust::build(release)?);
        all
    };
    Ok(all.into_iter().filter(|program| program.kind.is_test()).collect())
}

/// Runs every program, also after one that fails.
pub(crate) fn run(arguments: &Tests) -> Outcome {
    let programs = test_programs(arguments.release)?;
    let gpu = gpu::real();
    let surroundings = Surroundings::new(gpu.is_some())?;
    let mut options: Vec<OsString> = arguments.list.then(|| "--list".into()).into_iter().collect();
    options.extend(arguments.filter.iter().map(OsString::from));
    let mut all = Vec::new();
    for program in &programs {
        println!("== {}", program.title());
        all.push(running::run(program.title(), surroundings.start(program, None).args(&options)));
    }
    if arguments.list {
        return Ok(());
    }
    summary(&all)?;
    let Some(gpu) = gpu else {
        println!("no evidence is written: the tests ran without a real GPU");
        return Ok(());
    };
    if arguments.filter.is_some() {
        println!("no evidence is written of a part of the tests");
        return Ok(());
    }
    let mut evidence = Evidence {
        device: gpu.device.clone(),
        driver: gpu.driver,
        revision: Build::at_hand()?.revision,
        date: machine::today(),
        kernels: kernels::digests()?,
        tests: all.into_iter().map(|ran| (ran.title, Passed::from(ran.counts))).collect(),
        sanitizer: Vec::new(),
    };
    let path = evidence::path(&record(arguments.out.as_deref()), &gpu.device);
    if let Some(old) = Evidence::read(&path)? {
        evidence.keep_sanitizer(old);
    }
    evidence.write(&path)?;
    println!("evidence: {}", path.display());
    Ok(())
}

/// The folder that has a folder for each device.
fn record(out: Option<&Path>) -> PathBuf {
    out.map_or_else(programs::record, Path::to_owned)
}

/// The environment of the programs.
struct Surroundings {
    cache: Option<tempfile::TempDir>,
    insists_on_gpu: bool,
}

impl Surroundings {
    /// With `insists_on_gpu` the emulated device does not stand in for a GPU in the programs that are about one.
    fn new(insists_on_gpu: bool) -> Outcome<Self> {
        let cache = env::var_os("GPU_CACHE_DIR").is_none().then(tempfile::tempdir).transpose()?;
        Ok(Self { cache, insists_on_gpu })
    }

    /// The command that starts a program in its package's folder, below another program if one is given.
    fn start(&self, program: &Program, below: Option<&[OsString]>) -> Command {
        let mut words = below.unwrap_or_default().iter().cloned().chain([program.path.clone().into()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(program.folder());
        // Evidence of tests that were passed over is none.
        command.envs([("GPU_TESTS", "require"), ("GPU_COMPILE", "require")]);
        if let Some(cache) = &self.cache {
            command.env("GPU_CACHE_DIR", cache.path());
        }
        if self.insists_on_gpu && is_of_device(program) {
            command.env("GPU_DEVICE", "cuda");
        } else if program.package == programs::CUST && !self.insists_on_gpu {
            // cust itself knows no device that stands in for a GPU.
            command.env("GPU_DEVICE", "emulated");
        }
        command
    }
}

/// Whether a program holds the tests that run on a device.
fn is_of_device(program: &Program) -> bool {
    program.kind == programs::Kind::Test && program.name == "gpu"
}

/// Prints the counts and the failure of each program; fails when one failed, or when no test ran.
fn summary(all: &[Ran]) -> Outcome {
    println!("\n{:32}  passed  ignored  failed", "summary");
    for Ran { title, counts, failure } in all {
        let counts::Counts { passed, ignored, failed, .. } = counts;
        println!("{title:32}  {passed:6}  {ignored:7}  {failed:6}  {}", failure.as_deref().unwrap_or_default());
    }
    for Ran { title, counts, .. } in all {
        counts.failures.iter().for_each(|test| println!("FAILED: {title} {test}"));
    }
    let failed: Vec<&str> = all.iter().filter(|ran| ran.failure.is_some()).map(|ran| ran.title.as_str()).collect();
    if !failed.is_empty() {
        return Err(format!("failed: {}", failed.join(", ")).into());
    }
    let passed: u64 = all.iter().map(|ran| ran.counts.passed).sum();
    if passed == 0 {
        return Err("no test has run".into());
    }
    println!("all programs passed, {passed} tests");
    Ok(())
}
