//! `cargo xtask sanitize`: the device tests under compute-sanitizer.

use std::{env, ffi::OsString, fmt, path::PathBuf, thread};

use super::{Surroundings, gpu, is_of_device, record, running, summary};
use crate::{
    Outcome,
    evidence::{self, Evidence, Sanitized},
    kernels::{self, Digests},
    machine,
    programs::{self, Program},
    provenance::Build,
};

/// Tests that provoke refusals and faults on purpose, by how their names begin.
const SKIPPED: [&str; 2] = ["device::error_", "device::fault_"];
/// The group of tests that run on a device.
const GROUP: &str = "device::";

/// A tool of compute-sanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Tool {
    /// Accesses out of bounds, misaligned, after a release.
    Memcheck,
    /// Races in shared memory.
    Racecheck,
    /// Barriers that are not used as they must.
    Synccheck,
    /// Device memory that is read before anyone has written it.
    Initcheck,
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memcheck => "memcheck",
            Self::Racecheck => "racecheck",
            Self::Synccheck => "synccheck",
            Self::Initcheck => "initcheck",
        })
    }
}

/// The tests to run, and the tools.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    tests: super::Tests,
    /// The tool, or several in turn.
    #[arg(long = "tool", value_delimiter = ',', default_value = "memcheck")]
    tools: Vec<Tool>,
    /// Only programs of this package, or of these: the evidence names them.
    #[arg(long = "package", value_delimiter = ',')]
    packages: Vec<String>,
    /// In how many processes a program's tests run at once, each with a share of them. Racecheck takes some hundred times as long as the tests alone.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
}

/// Runs each tool over the tests of every program, also after one that fails.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut programs = programs::tests(arguments.tests.release)?;
    let is_asked = |program: &Program| arguments.packages.is_empty() || arguments.packages.contains(&program.package);
    programs.retain(|program| is_of_device(program) && is_asked(program));
    let surroundings = Surroundings::new(true)?;
    let filter = arguments.tests.filter.as_deref().unwrap_or_default();
    let mut selections = Vec::new();
    for program in programs {
        let parts = Selection::of(&names(&program, &surroundings)?, filter, arguments.jobs);
        if parts.iter().any(|part| !part.tests.is_empty()) {
            selections.push((program, parts));
        }
    }
    if selections.is_empty() {
        return Err(format!("there is no device test whose name contains `{filter}`").into());
    }
    if arguments.tests.list {
        let names = |(program, parts): &(Program, Vec<Selection>)| {
            let tests = parts.iter().flat_map(|part| &part.tests);
            tests.for_each(|test| println!("{} {test}", program.title()));
        };
        selections.iter().for_each(names);
        return Ok(());
    }
    let sanitizer = sanitizer()?;
    let gpu =
        gpu::real().ok_or("compute-sanitizer wants a real GPU; nvidia-smi knows of none, or GPU_DEVICE hides it")?;
    let (kernels, revision) = (kernels::digests()?, Build::at_hand()?.revision);
    let mut failed = Vec::new();
    for tool in &arguments.tools {
        println!("== {tool}");
        match run_tool(*tool, &sanitizer, &selections, &surroundings) {
            Ok((passed, warnings)) => {
                let entry = Sanitized {
                    tool: tool.to_string(),
                    revision: revision.clone(),
                    date: machine::today(),
                    filter: arguments.tests.filter.clone(),
                    packages: arguments.packages.clone(),
                    skipped: SKIPPED.map(str::to_owned).into(),
                    passed,
                    warnings,
                };
                add(entry, &kernels, &gpu, arguments)?;
            }
            Err(error) => failed.push(format!("{tool}: {error}")),
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ").into()) }
}

/// How many tests passed, and the warnings.
fn run_tool(
    tool: Tool,
    sanitizer: &OsString,
    selections: &[(Program, Vec<Selection>)],
    surroundings: &Surroundings,
) -> Outcome<(u64, u64)> {
    let below = [sanitizer.clone(), "--tool".into(), tool.to_string().into(), "--error-exitcode".into(), "9".into()];
    let run_part = |program: &Program, part: &Selection| {
        let mut command = surroundings.start(program, Some(&below));
        let (mut ran, text) = running::run_and_read(program.title(), command.args(part.arguments()));
        let mut warnings = 0;
        match Verdict::of(&text) {
            Ok(verdict) => warnings = verdict.warnings,
            Err(why) => ran.failure = ran.failure.or(Some(why)),
        }
        let (passed, wanted) = (ran.counts.passed, part.tests.len());
        if passed != wanted as u64 {
            ran.failure = ran.failure.or_else(|| Some(format!("{passed} of {wanted} tests passed")));
        }
        (ran, warnings)
    };
    let mut all = Vec::new();
    for (program, parts) in selections {
        println!("== {} under {tool}", program.title());
        thread::scope(|scope| {
            let wanted = parts.iter().filter(|part| !part.tests.is_empty());
            let running: Vec<_> = wanted.map(|part| scope.spawn(|| run_part(program, part))).collect();
            all.extend(running.into_iter().filter_map(|part| part.join().ok()));
        });
    }
    let (all, warnings): (Vec<_>, Vec<u64>) = all.into_iter().unzip();
    summary(&all)?;
    Ok((all.iter().map(|ran| ran.counts.passed).sum(), warnings.iter().sum()))
}

/// Writes it into the evidence of the device.
fn add(entry: Sanitized, kernels: &Digests, gpu: &gpu::Gpu, arguments: &Arguments) -> Outcome {
    let path = evidence::path(&record(arguments.tests.out.as_deref()), &gpu.device);
    let of_no_suite = || Evidence { device: gpu.device.clone(), driver: gpu.driver.clone(), ..Evidence::default() };
    let mut evidence = Evidence::read(&path)?.unwrap_or_else(of_no_suite);
    evidence.add_sanitized(entry, kernels);
    evidence.write(&path)?;
    println!("evidence: {}", path.display());
    Ok(())
}

/// compute-sanitizer, on the path or in a toolkit.
fn sanitizer() -> Outcome<OsString> {
    const NAME: &str = "compute-sanitizer";
    let on_path = env::var_os("PATH").map(|path| env::split_paths(&path).collect::<Vec<_>>()).unwrap_or_default();
    let toolkits = ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    let toolkits = toolkits.chain(["/usr/local/cuda".into()]).map(|toolkit| toolkit.join("bin"));
    let found = on_path.into_iter().chain(toolkits).map(|folder| folder.join(NAME)).find(|file| file.is_file());
    let found = found.map(PathBuf::into_os_string);
    found.ok_or_else(|| {
        format!("{NAME} is neither on PATH nor below CUDA_PATH or /usr/local/cuda; it comes with the CUDA toolkit")
            .into()
    })
}

/// The names of all tests of a program.
fn names(program: &Program, surroundings: &Surroundings) -> Outcome<Vec<String>> {
    let output = surroundings.start(program, None).arg("--list").output();
    let output = output.map_err(|error| format!("{}: {error}", program.path.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{} --list: {}: {said}", program.title(), output.status).into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

/// The tests to run, and how to say so to a suite, which takes one part of names to run and many to skip.
#[derive(Debug, PartialEq, Eq)]
struct Selection {
    tests: Vec<String>,
    /// A part of the names, unless `skip` has whole ones.
    filter: Option<String>,
    skip: Vec<String>,
}

impl Selection {
    /// The wanted tests in `jobs` parts.
    fn of(names: &[String], filter: &str, jobs: usize) -> Vec<Self> {
        let filter = if filter.is_empty() { GROUP } else { filter };
        let matching = names.iter().filter(|name| name.contains(filter)).cloned();
        let is_wanted = |name: &String| name.starts_with(GROUP) && !SKIPPED.iter().any(|start| name.starts_with(start));
        let (tests, others) = matching.partition(is_wanted);
        let skip =
            |name: String| SKIPPED.iter().find(|start| name.starts_with(**start)).map_or(name, |s| (*s).to_owned());
        let mut skip: Vec<String> = Vec::<String>::into_iter(others).map(skip).collect();
        skip.sort();
        skip.dedup();
        if jobs <= 1 {
            return vec![Self { tests, filter: Some(filter.to_owned()), skip }];
        }
        let part = |job: usize| {
            let of_job: Vec<String> = tests.iter().skip(job).step_by(jobs).cloned().collect();
            let skip = names.iter().filter(|name| !of_job.contains(name)).cloned().collect();
            Self { tests: of_job, filter: None, skip }
        };
        (0..jobs).map(part).collect()
    }

    fn arguments(&self) -> Vec<String> {
        // One at a time: racecheck stops making progress when several threads launch.
        let mut arguments = vec![self.filter.clone().unwrap_or_else(|| "--exact".to_owned())];
        arguments.extend(["--test-threads", "1"].map(str::to_owned));
        arguments.extend(self.skip.iter().flat_map(|name| ["--skip".to_owned(), name.clone()]));
        arguments
    }
}

/// The summary that compute-sanitizer prints at its end, besides its exit code.
#[derive(Debug, PartialEq, Eq)]
struct Verdict {
    warnings: u64,
}

impl Verdict {
    /// An error where it says that it found errors, that it could not look, or nothing at all.
    fn of(text: &str) -> Result<Self, String> {
        let lines = || text.lines().filter_map(|line| line.strip_prefix("=========")).map(str::trim);
        if let Some(line) =
            lines().find(|line| line.starts_with("Error:") || line.contains("before first instrumented"))
        {
            return Err(line.to_owned());
        }
        let mut verdict = None;
        for (_, numbers) in lines().filter_map(|line| line.split_once("SUMMARY: ")) {
            let number = |word| {
                let words: Vec<&str> = numbers.split([' ', '(', ')', ',']).filter(|word| !word.is_empty()).collect();
                words.windows(2).find(|pair| pair[1].starts_with(word)).and_then(|pair| pair[0].parse::<u64>().ok())
            };
            if number("error") != Some(0) {
                return Err(numbers.to_owned());
            }
            let warnings = number("warning").unwrap_or(0);
            verdict = Some(Self { warnings: verdict.map_or(0, |verdict: Self| verdict.warnings) + warnings });
        }
        verdict.ok_or_else(|| "compute-sanitizer printed no summary".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_the_device_are_selected() {
        let names = [
            "device::fill",
            "device::error_one",
            "device::error_two",
            "device::fault_trap",
            "kernels::fill sm_90",
            "other_device::x",
        ];
        let names = names.map(str::to_owned);
        let [all] = &Selection::of(&names, "", 1)[..] else { panic!("one part") };
        assert_eq!(all.tests, ["device::fill"]);
        assert_eq!(all.skip, ["device::error_", "device::fault_", "other_device::x"]);
        let [fill] = &Selection::of(&names, "fill", 1)[..] else { panic!("one part") };
        assert_eq!(fill.arguments(), ["fill", "--test-threads", "1", "--skip", "kernels::fill sm_90"]);
        assert!(Selection::of(&names, "trap", 1)[0].tests.is_empty());
        let parts =
            Selection::of(&["device::a", "device::ab", "device::b", "device::error_c"].map(str::to_owned), "", 2);
        let tests: Vec<_> = parts.iter().map(|part| part.tests.join(" ")).collect();
        assert_eq!(tests, ["device::a device::b", "device::ab"]);
        assert_eq!(
            parts[1].arguments().join(" "),
            "--exact --test-threads 1 --skip device::a --skip device::b --skip device::error_c"
        );
    }

    #[test]
    fn a_tool_that_found_something_or_did_not_look_does_not_pass() {
        let warnings = |text: &str| Verdict::of(text).map(|verdict| verdict.warnings);
        assert_eq!(warnings("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"), Ok(0));
        let hazards =
            |errors| format!("========= RACECHECK SUMMARY: 3 hazards displayed ({errors} errors, 2 warnings)");
        assert_eq!(warnings(&hazards(0)), Ok(2));
        assert_eq!(warnings(&hazards(1)), Err("3 hazards displayed (1 errors, 2 warnings)".into()));
        assert_eq!(warnings("========= ERROR SUMMARY: 1 error"), Err("1 error".into()));
        assert!(warnings("test result: ok").is_err());
        let early = "========= Target application terminated before first instrumented API call\n========= ERROR SUMMARY: 0 errors";
        assert!(warnings(early).unwrap_err().starts_with("Target application"));
    }
}
