//! `cargo xtask sanitize`: the device tests under compute-sanitizer.

use std::{env, ffi::OsString, fmt, path::PathBuf, time::Instant};

use super::{
    Surroundings,
    batches::{Batch, names, side_by_side},
    gpu, is_of_device, parts,
    parts::Parts,
    record, running,
    running::Ran,
    summary,
};
use crate::{
    Outcome,
    evidence::{self, Evidence, Sanitized},
    kernels::{self, Digests},
    machine,
    programs::Program,
    provenance::Build,
};

/// Tests that provoke refusals and faults on purpose, one that asks how short calls are timed, which are none under a tool, and one that starts eight
/// processes at once, for which each of the tools has waited without end in some runs; by how their names begin.
const SKIPPED: [&str; 4] = [
    "device::error_",
    "device::fault_",
    "device::short_calls_are_timed_in_graphs",
    "device::eight_processes_start_with_one_cache",
];
/// A test that copies memory which another process wrote, of which initcheck does not know, and one that measures how much memory the process takes, to which
/// initcheck adds its notes of each allocation.
const SKIPPED_BY_INITCHECK: [&str; 2] =
    ["device::memory_and_events_are_shared_between_processes", "device::handles_come_and_go_without_growth"];
/// Tests that racecheck cannot judge, by how their names begin: it makes no progress where several host threads launch at once or where Python's libraries
/// run, ten minutes are not enough where 2^32 results are written, and kernels of cuSPARSE, which are peers, have hazards of their own.
const SKIPPED_BY_RACECHECK: [&str; 7] = [
    "device::looks_of_the_host_change_nothing",
    "device::more_than_2_to_the_32_results",
    "device::one_process_exchanges_arrays_with_cupy_and_pytorch",
    "device::peers_that_are_missing_are_gaps",
    "device::scratch_of_one_stream_in_four_threads",
    "device::sixteen_threads_at_once",
    "device::two_solves_at_once",
];
/// Tests that take racecheck or initcheck a minute and a half or more, by the ends of their names. They begin first, so that the others fill the time beside
/// them.
const SLOW: [&str; 46] = [
    "::floats_of_any_size_keep_the_bound_as_for_8_0",
    "::halves_of_any_size_keep_the_bound_as_for_8_0",
    "::precisions_of_any_size_keep_the_bound_as_for_8_0",
    "::complex_numbers_of_any_size_keep_the_bound_as_for_8_0",
    "::precisions_at_edges_of_tiles",
    "::precisions_at_edges_of_tiles_as_for_8_0",
    "::precisions_of_clusters_as_for_8_0",
    "::halves_of_clusters_as_for_8_0",
    "::the_fastest_variant_is_kept_for_later_programs",
    "::one_process_exchanges_arrays_with_cupy_and_pytorch",
    "::many_selected_around_tiles",
    "::many_selected_of_any_type",
    "::many_selected_that_are_not_aligned",
    "::many_selected_with_flags_at_every_position",
    "::many_selected_on_two_streams_and_replayed",
    "::sums_of_f64_are_chains_along_k",
    "::solves_longer_than_one_grid",
    "::products_of_equal_shares",
    "::precisions_have_the_same_bits_again_as_for_8_0",
    "::epilogues_of_precisions_as_for_8_0",
    "::epilogues_of_halves_as_for_8_0",
    "::halves_at_edges_of_tiles",
    "::halves_at_edges_of_tiles_as_for_8_0",
    "::captured_precisions_are_replayed",
    "::segments_of_recurrences",
    "::states_of_any_size",
    "::primitives_are_measured_on_a_device",
    "::sparse_products_and_solves_are_measured_on_a_device",
    "::poisson_as_on_the_cpu",
    "::wathen_as_on_the_cpu",
    "::many_values_in_segments",
    "::many_lines_and_wide_rows",
    "::pycuda_scan",
    "::scanned_matrices_keep_their_order",
    "::inverses_and_determinants_are_those_of_the_definition",
    "::lu_factors_multiply_to_the_matrix",
    "::reflections_give_orthonormal_columns",
    "::solutions_have_small_residuals",
    "::products_of_many_small_matrices",
    "::complex_products_of_every_layout",
    "::any_scale_of_matrix_and_right_hand_side",
    "::the_monitor_sees_every_iteration_in_order",
    "::vectors_on_the_device_stay_there",
    "::variable_coefficients_as_on_the_cpu",
    "::any_places_of_any_length",
    "::random_extremes_of_u8",
];
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
    /// How many processes run tests at once. Racecheck takes some hundred times as long as the tests alone.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// How many tests a process runs, one after another, before it ends; with one job, all of them.
    #[arg(long, default_value_t = 8)]
    batch: usize,
    /// A list of the tests that have passed, which grows with each batch: another run with it goes on with the others. So a tool that
    /// takes long is run in parts, of one revision.
    #[arg(long)]
    parts: Option<PathBuf>,
    /// Leaves out these tests too, by how their names begin; the evidence names them.
    #[arg(long = "skip", value_delimiter = ',')]
    skipped: Vec<String>,
}

impl Arguments {
    /// How the names of tests begin that are left out under `tool`.
    fn skipped(&self, tool: Tool) -> Vec<String> {
        let of_tool = match tool {
            Tool::Racecheck => &SKIPPED_BY_RACECHECK[..],
            Tool::Initcheck => &SKIPPED_BY_INITCHECK,
            Tool::Memcheck | Tool::Synccheck => &[],
        };
        SKIPPED.iter().chain(of_tool).map(|&start| start.to_owned()).chain(self.skipped.iter().cloned()).collect()
    }
}

/// Runs each tool over the tests of every program, also after one that fails.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut programs = super::test_programs(arguments.tests.release)?;
    let is_asked = |program: &Program| arguments.packages.is_empty() || arguments.packages.contains(&program.package);
    programs.retain(|program| is_of_device(program) && is_asked(program));
    let surroundings = Surroundings::new(true)?;
    let filter = arguments.tests.filter.as_deref().unwrap_or_default();
    let batch = if arguments.jobs > 1 { arguments.batch.max(1) } else { usize::MAX };
    let mut of_programs = Vec::new();
    for program in programs {
        let names = names(&program, surroundings.start(&program, None))?;
        of_programs.push((program, names));
    }
    let of_tool = |&tool: &Tool| {
        let skipped = arguments.skipped(tool);
        let mut batches = batches(&of_programs, filter, &skipped, batch);
        if matches!(tool, Tool::Racecheck | Tool::Initcheck) {
            slow_first(&mut batches);
        }
        (tool, batches, skipped)
    };
    let of_tools: Vec<_> = arguments.tools.iter().map(of_tool).collect();
    if let Some((tool, ..)) = of_tools.iter().find(|(_, batches, _)| batches.is_empty()) {
        return Err(format!("there is no device test for {tool} whose name contains `{filter}`").into());
    }
    if arguments.tests.list {
        for Batch { program, tests, .. } in of_tools.iter().flat_map(|(_, batches, _)| batches) {
            tests.iter().for_each(|test| println!("{} {test}", program.title()));
        }
        return Ok(());
    }
    let sanitizer = sanitizer()?;
    let gpu =
        gpu::real().ok_or("compute-sanitizer wants a real GPU; nvidia-smi knows of none, or GPU_DEVICE hides it")?;
    let (kernels, revision) = (kernels::digests()?, Build::at_hand()?.revision);
    let mut failed = Vec::new();
    for (tool, mut batches, skipped) in of_tools {
        println!("== {tool}");
        let named = tool.to_string();
        let parts = arguments.parts.as_ref().map(|path| Parts { path, revision: &revision, tool: &named });
        let before = parts.as_ref().map_or(Ok(Vec::new()), Parts::passed)?;
        let (passed_before, warnings_before) = without_passed(&mut batches, &before);
        match run_tool(tool, &sanitizer, &batches, arguments.jobs, &surroundings, parts.as_ref()) {
            Ok((passed, warnings)) => {
                let (passed, warnings) = (passed + passed_before, warnings + warnings_before);
                let entry = Sanitized {
                    tool: named.clone(),
                    revision: revision.clone(),
                    date: machine::today(),
                    filter: arguments.tests.filter.clone(),
                    packages: arguments.packages.clone(),
                    skipped,
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

/// Runs the batches in `jobs` processes at a time: how many tests passed, and the warnings.
fn run_tool(
    tool: Tool,
    sanitizer: &OsString,
    batches: &[Batch],
    jobs: usize,
    surroundings: &Surroundings,
    parts: Option<&Parts<'_>>,
) -> Outcome<(u64, u64)> {
    if batches.is_empty() {
        return Ok((0, 0));
    }
    let mut below =
        vec![sanitizer.clone(), "--tool".into(), tool.to_string().into(), "--error-exitcode".into(), "9".into()];
    if tool == Tool::Memcheck {
        // Calls that fail are the tests' matter: some ask for things that are not there, as the parameter behind a kernel's last.
        below.extend(["--report-api-errors", "no"].map(OsString::from));
    }
    let work = |batch: &Batch<'_>, left: &dyn Fn() -> usize| {
        let start = Instant::now();
        let mut ran = run_below(batch, tool, &below, surroundings);
        if let (Some(parts), None) = (parts, &ran.0.failure)
            && let Err(error) = parts.add(&batch.program.title(), &batch.tests, ran.1)
        {
            ran.0.failure = Some(error.to_string());
        }
        let (seconds, left) = (start.elapsed().as_secs_f64(), left());
        println!("== {tool}: {seconds:.0} s, {left} batches left: {}", batch.tests.join(" "));
        ran
    };
    let (all, warnings): (Vec<_>, Vec<u64>) = side_by_side(batches, jobs, work).into_iter().unzip();
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

/// The device tests whose names contain `filter` and begin with none of `skipped`.
fn selected(names: &[String], filter: &str, skipped: &[String]) -> Vec<String> {
    let is_wanted = |name: &&String| {
        name.starts_with(GROUP) && name.contains(filter) && !skipped.iter().any(|start| name.starts_with(start))
    };
    names.iter().filter(is_wanted).cloned().collect()
}

/// The tests of each program in batches of at most `batch`.
fn batches<'p>(
    of_programs: &'p [(Program, Vec<String>)],
    filter: &str,
    skipped: &[String],
    batch: usize,
) -> Vec<Batch<'p>> {
    let mut batches = Vec::new();
    for (program, names) in of_programs {
        let tests = selected(names, filter, skipped);
        batches.extend(tests.chunks(batch).map(|tests| Batch::of(program, names, tests)));
    }
    batches
}

/// Leaves the tests out that have passed before: how many, and their warnings.
fn without_passed(batches: &mut Vec<Batch<'_>>, before: &[parts::PassedBefore]) -> (u64, u64) {
    let (mut passed, mut warnings) = (0, 0);
    for batch in batches.iter_mut() {
        let title = batch.program.title();
        let is_left = |test: &String| {
            let known = before.iter().find(|known| known.program == title && known.test == *test);
            passed += u64::from(known.is_some());
            warnings += known.map_or(0, |known| known.warnings);
            known.is_none()
        };
        let (left, gone) = std::mem::take(&mut batch.tests).into_iter().partition(is_left);
        batch.tests = left;
        batch.others.extend::<Vec<String>>(gone);
    }
    batches.retain(|batch| !batch.tests.is_empty());
    (passed, warnings)
}

/// Puts the batches with a slow test before the others; either keep their order.
fn slow_first(batches: &mut [Batch<'_>]) {
    let is_slow = |test: &String| SLOW.iter().any(|end| test.ends_with(end));
    batches.sort_by_key(|batch| !batch.tests.iter().any(is_slow));
}

/// Runs the tests of a batch below a tool: the outcome, and the number of the tool's warnings.
fn run_below(batch: &Batch<'_>, tool: Tool, below: &[OsString], surroundings: &Surroundings) -> (Ran, u64) {
    let mut command = surroundings.start(batch.program, Some(below));
    // Under a tool the longest tests of gpu-algos leave out cases that differ from others by their number of blocks alone.
    command.env("GPU_TESTS_TOOL", tool.to_string());
    // One at a time: racecheck stops making progress when several threads launch.
    command.args(["--exact", "--test-threads", "1"]).args(batch.skips());
    let (mut ran, text) = running::run_and_read(batch.program.title(), &mut command);
    let mut warnings = 0;
    match Verdict::of(&text) {
        Ok(verdict) => warnings = verdict.warnings,
        Err(why) => ran.failure = ran.failure.or(Some(why)),
    }
    let (passed, wanted) = (ran.counts.passed, batch.tests.len());
    if passed != wanted as u64 {
        ran.failure = ran.failure.or_else(|| Some(format!("{passed} of {wanted} tests passed")));
    }
    (ran, warnings)
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
    use crate::programs::Kind;

    fn program() -> Program {
        Program { package: "p".into(), name: "gpu".into(), kind: Kind::Test, path: "gpu".into() }
    }

    #[test]
    fn tests_of_the_device_are_selected() {
        let names = [
            "device::fill",
            "device::error_one",
            "device::error_two",
            "device::fault_trap",
            "device::long",
            "kernels::fill sm_90",
            "other_device::x",
        ];
        let [names, skipped] = [&names[..], &["device::error_", "device::fault_", "device::lo"]]
            .map(|names| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(selected(&names, "", &skipped), ["device::fill"]);
        assert_eq!(selected(&names, "fill", &[]), ["device::fill"]);
        assert_eq!(selected(&names, "trap", &skipped), [""; 0]);
    }

    #[test]
    fn slow_tests_begin_first() {
        let names =
            ["device::fill", "device::states_of_any_size", "device::sum", "device::pycuda_scan"].map(str::to_owned);
        let program = program();
        let mut batches: Vec<_> = names.chunks(1).map(|tests| Batch::of(&program, &names, tests)).collect();
        slow_first(&mut batches);
        let order: Vec<&str> = batches.iter().flat_map(|batch| &batch.tests).map(String::as_str).collect();
        assert_eq!(order, ["device::states_of_any_size", "device::pycuda_scan", "device::fill", "device::sum"]);
    }

    #[test]
    fn tests_that_have_passed_before_are_left_out() {
        let names = ["device::a", "device::b", "device::c"].map(str::to_owned);
        let program = program();
        let before = ["device::a", "device::b"].map(|test| parts::PassedBefore {
            program: "p::gpu".into(),
            test: test.into(),
            warnings: 2,
        });
        let mut left = vec![Batch::of(&program, &names, &names[..1]), Batch::of(&program, &names, &names[1..])];
        assert_eq!(without_passed(&mut left, &before), (2, 4));
        assert_eq!(left.iter().map(|batch| batch.tests.clone()).collect::<Vec<_>>(), [["device::c"]]);
        let skipped: Vec<&str> = left[0].skips().filter(|word| word.starts_with("device")).collect();
        assert_eq!(skipped, ["device::a", "device::b"]);
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
