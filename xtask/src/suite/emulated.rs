//! `cargo xtask emulated`: the device tests on the emulated device once more, in several processes side by side.
//!
//! The emulated device runs one launch at a time in a process, so that a program of tests whose kernels are compiled keeps one processor busy. The longest
//! program is therefore run in parts.

use std::{
    fmt,
    process::{Command, Output},
    thread,
    time::Instant,
};

use super::{
    batches::{Batch, names, side_by_side},
    counts::Counts,
};
use crate::{
    Outcome,
    programs::{self, Program},
};

/// How the emulated device runs kernels, and which tests.
#[derive(Clone, Copy)]
struct Mode {
    /// `GPU_EMULATED_CHECKS`.
    checks: &'static str,
    /// `GPU_EMULATED_BLOCKS`.
    blocks: &'static str,
    /// The name of the programs.
    program: &'static str,
    /// How the names of the tests begin.
    tests: &'static str,
    /// How the names of tests begin that it leaves out.
    without: &'static [&'static str],
}

/// With blocks that take turns, from the kernels that `cargo test` compiled, which ran them block after block. Sums of f32 and the device's own tests also
/// run without access checks, for which each kernel is compiled anew, and the latter with checks of undefined behaviour too.
const MODES: [Mode; 4] = [
    Mode { checks: "access", blocks: "interleaved", program: "gpu", tests: "device::", without: &OF_MANY_TILES },
    Mode { checks: "off", blocks: "interleaved", program: "gpu", tests: "device::sums_of_f32", without: &[] },
    Mode { checks: "off", blocks: "sequential", program: "emulated", tests: "", without: &[] },
    Mode { checks: "undefined", blocks: "sequential", program: "emulated", tests: "", without: &[] },
];

/// Tests of matrix products whose blocks meet nowhere, or as they do in shorter tests of the same kernels: products of few tiles and many terms, in every
/// layout, with the same bits again.
const OF_MANY_TILES: [&str; 8] = [
    "device::bytes_at_edges_of_tiles",
    "device::epilogues_of_precisions",
    "device::precisions_at_edges_of_tiles",
    "device::products_of_many_small_matrices",
    "device::products_of_many_tiles",
    "device::products_of_several_tiles",
    "device::random_products_of_",
    "device::sums_of_f64_are_chains_along_k",
];

/// Most tests of one process.
const MOST_TESTS: usize = 50;

/// Tests that a process runs in a mode.
struct Job<'p> {
    batch: Batch<'p>,
    mode: Mode,
}

impl fmt::Display for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mode { checks, blocks, .. } = self.mode;
        let Batch { program, tests, .. } = &self.batch;
        write!(f, "{}, {} tests, {blocks} blocks, checks: {checks}", program.title(), tests.len())
    }
}

/// Runs the tests in each mode, also after a job that failed, and prints what a failed one printed.
pub(crate) fn run() -> Outcome {
    let programs = programs::built(false, &["test", "--no-run", "--workspace", "--test", "gpu", "--test", "emulated"])?;
    let jobs = jobs(&programs)?;
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let failures = side_by_side(jobs, processors, |job, _| {
        let start = Instant::now();
        let failure = job.run().err();
        let outcome = failure.as_deref().unwrap_or("passed");
        println!("{job}: {outcome} in {:.0} s", start.elapsed().as_secs_f64());
        failure.map(|_| job.to_string())
    });
    let failed: Vec<String> = failures.into_iter().flatten().collect();
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join("; ")).into()) }
}

/// All jobs, those with the most tests first.
fn jobs(programs: &[Program]) -> Outcome<Vec<Job<'_>>> {
    let mut jobs = Vec::new();
    let mut all = Vec::new();
    for program in programs.iter().filter(|program| program.kind.is_test()) {
        let names = names(program, start(program, MODES[0]))?;
        for mode in MODES.into_iter().filter(|mode| mode.program == program.name) {
            let batches = shares(&names, mode).into_iter().map(|tests| Batch::of(program, &names, &tests));
            jobs.extend(batches.map(|batch| Job { batch, mode }));
        }
        all.extend(names);
    }
    let starts = MODES.iter().flat_map(|mode| mode.without.iter().chain([&mode.tests]));
    if let Some(start) = unknown(&all, starts) {
        return Err(format!("no name of a test begins with {start}").into());
    }
    if jobs.is_empty() {
        return Err("there is no device test".into());
    }
    jobs.sort_by_key(|job| std::cmp::Reverse(job.batch.tests.len()));
    Ok(jobs)
}

/// The names of a mode, in as few shares of nearly one size as have at most [`MOST_TESTS`]. Neighbours, which take about as long, go to different
/// shares.
fn shares(names: &[String], mode: Mode) -> Vec<Vec<String>> {
    let begins = |name: &str| name.starts_with(mode.tests) && !mode.without.iter().any(|start| name.starts_with(start));
    let chosen: Vec<&String> = names.iter().filter(|name| begins(name)).collect();
    let count = if mode.tests.is_empty() { 1 } else { chosen.len().div_ceil(MOST_TESTS) };
    (0..count).map(|share| chosen.iter().skip(share).step_by(count).copied().cloned().collect()).collect()
}

/// A beginning with which no name begins.
fn unknown<'s>(names: &[String], starts: impl IntoIterator<Item = &'s &'s str>) -> Option<&'s str> {
    starts.into_iter().copied().find(|start| !names.iter().any(|name| name.starts_with(start)))
}

fn start(program: &Program, mode: Mode) -> Command {
    let mut command = Command::new(&program.path);
    command.current_dir(program.folder()).env("GPU_DEVICE", "emulated").env("GPU_TESTS", "require");
    command.env("GPU_EMULATED_CHECKS", mode.checks).env("GPU_EMULATED_BLOCKS", mode.blocks);
    command
}

fn text_of(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

impl Job<'_> {
    /// An error, whose text is short, where not every test passed or was ignored; all that the program printed is shown then.
    fn run(&self) -> Result<(), String> {
        let Batch { program, tests, .. } = &self.batch;
        let output = start(program, self.mode).arg("--exact").args(self.batch.skips()).output();
        let output = output.map_err(|error| format!("{}: {error}", program.path.display()))?;
        let text = text_of(&output);
        let Counts { passed, ignored, .. } = Counts::of(&text);
        if output.status.success() && passed + ignored == tests.len() as u64 {
            return Ok(());
        }
        println!("{text}");
        Err(format!("{passed} of {} passed, {ignored} ignored, {}", tests.len(), output.status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Mode = Mode { tests: "device::", without: &[], ..MODES[0] };

    #[test]
    fn shares_have_each_test_once() {
        let names: Vec<String> = (0..250).map(|at| format!("device::{at}")).chain(["counts::a".to_owned()]).collect();
        let shares = shares(&names, ALL);
        assert_eq!(shares.iter().map(Vec::len).collect::<Vec<_>>(), [50; 5]);
        let mut all: Vec<String> = shares.concat();
        all.sort_unstable();
        all.dedup();
        assert!(all.len() == 250 && all.iter().all(|name| name.starts_with("device::")));
        assert_eq!(super::shares(&names, Mode { tests: "", ..ALL }).concat().len(), 251);
        assert!(super::shares(&names, Mode { tests: "device::sums", ..ALL }).is_empty());
        let some = super::shares(&names, Mode { without: &["device::1", "device::24"], ..ALL }).concat();
        assert!(some.len() == 250 - 111 - 11 && some.contains(&"device::2".to_owned()));
    }

    #[test]
    fn names_left_out_are_known() {
        let names = ["device::a".to_owned(), "device::b_of_c".to_owned()];
        assert!(unknown(&names, &["device::a", "device::b_"]).is_none());
        assert_eq!(unknown(&names, &["device::a", "device::c"]), Some("device::c"));
    }
}
