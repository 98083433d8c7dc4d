//! `cargo xtask emulated`: device tests on the emulated device once more, with other checks than `cargo test` has, in processes side by side.

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

/// A kind of checks, and the tests that run with it.
#[derive(Clone, Copy)]
struct Mode {
    /// `GPU_EMULATED_CHECKS`.
    checks: &'static str,
    /// The name of the programs.
    program: &'static str,
    /// How the names of the tests begin.
    tests: &'static str,
}

/// Sums of f32 and the emulated device's own tests run without access checks, for which each kernel is compiled anew, and the latter with checks of
/// undefined behaviour too.
const MODES: [Mode; 3] = [
    Mode { checks: "off", program: "emulated", tests: "" },
    Mode { checks: "undefined", program: "emulated", tests: "" },
    Mode { checks: "off", program: "gpu", tests: "device::sums_of_f32" },
];

/// Tests that a process runs in a mode.
struct Job<'p> {
    batch: Batch<'p>,
    mode: Mode,
}

impl fmt::Display for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Batch { program, tests, .. } = &self.batch;
        write!(f, "{}, {} tests, checks: {}", program.title(), tests.len(), self.mode.checks)
    }
}

/// Runs the tests in each mode, also after a job that failed, and prints the output of a failed one.
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

/// A job for each program and mode that has tests.
fn jobs(programs: &[Program]) -> Outcome<Vec<Job<'_>>> {
    let mut jobs = Vec::new();
    for mode in MODES {
        let before = jobs.len();
        for program in programs.iter().filter(|program| program.kind.is_test() && program.name == mode.program) {
            let names = names(program, start(program, mode))?;
            let tests = chosen(&names, mode);
            if !tests.is_empty() {
                jobs.push(Job { batch: Batch::of(program, &names, &tests), mode });
            }
        }
        if jobs.len() == before {
            return Err(
                format!("no program {} has a test whose name begins with `{}`", mode.program, mode.tests).into()
            );
        }
    }
    Ok(jobs)
}

fn chosen(names: &[String], mode: Mode) -> Vec<String> {
    names.iter().filter(|name| name.starts_with(mode.tests)).cloned().collect()
}

fn start(program: &Program, mode: Mode) -> Command {
    let mut command = Command::new(&program.path);
    command.current_dir(program.folder()).env("GPU_DEVICE", "emulated").env("GPU_TESTS", "require");
    command.env("GPU_EMULATED_CHECKS", mode.checks);
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

    #[test]
    fn tests_are_chosen_by_the_beginning_of_their_names() {
        let names = ["device::sums_of_f32_keep", "device::sums_of_f64", "counts::sums_of_f32"].map(str::to_owned);
        assert_eq!(chosen(&names, MODES[2]), names[..1]);
        assert_eq!(chosen(&names, MODES[0]), names);
    }

    #[test]
    fn a_mode_without_a_test_is_an_error() {
        let error = jobs(&[]).err().unwrap().to_string();
        assert!(error.contains("no program emulated has a test"), "{error}");
    }
}
