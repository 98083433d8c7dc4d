//! Test suites whose parts are reported as *ignored* where they cannot run, and fail there when they must.
//!
//! libtest cannot decide at run time that a test is ignored, so a test that returns early without a GPU counts as passed.
//! A suite made here (a test target with `harness = false`) shows such tests as ignored with the reason, and turns them
//! into failures when an environment variable says `require`, as on machines that are there to run them.

use std::{
    collections::HashSet,
    env,
    error::Error,
    ffi::{OsStr, OsString},
    fmt::Display,
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use libtest_mimic::{Arguments, Failed};

use workers::{Case, Variable, Workers};

mod compare;
mod failures;
mod layout;
mod lengths;
mod seed;
mod sweep;
mod workers;

pub use compare::same;
pub use layout::Layout;
pub use lengths::{AWKWARD_LENGTHS, lengths_around};
pub use seed::{rng, seeds};
pub use sweep::{Operation, fallible_functions, none_forgotten, sweeps};

/// The result of a test; the error says why it failed.
pub type Outcome = Result<(), Box<dyn Error>>;

/// A named test of something that may be missing.
pub type Test<D> = (&'static str, fn(&D) -> Outcome);

/// A list of [`Test`]s from functions of those names.
#[macro_export]
macro_rules! tests {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), $name as fn(&_) -> $crate::Outcome)),*] };
}

/// A list of named functions that panic where something is wrong, for [`Suite::functions`].
#[macro_export]
macro_rules! functions {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), $name as fn())),*] };
}

/// Tests in groups, each with something it needs.
#[derive(Default)]
pub struct Suite {
    cases: Vec<Case>,
    /// How many tests were there before the last group came.
    before_last: usize,
    in_processes: bool,
    /// The variable of the processes of some tests.
    variable: Option<Variable>,
}

impl std::fmt::Debug for Suite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Suite of {} tests", self.cases.len())
    }
}

impl Suite {
    /// A suite without tests.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds tests that need `needed`, each named `group::test`. Where it is an error they are ignored, or fail when the
    /// variable `require` is set to `require`.
    pub fn group<D, E>(self, group: &str, needed: Result<D, E>, require: &str, tests: &[Test<D>]) -> Self
    where
        D: Clone + Send + 'static,
        E: Display,
    {
        let cases = tests.iter().map(|&(name, test)| (name.to_owned(), move |needed: &D| test(needed)));
        self.cases(group, needed, require, cases)
    }

    /// Adds a group of [`functions!`](crate::functions) written as libtest's tests are: they panic where something is wrong. See [`Suite::group`].
    pub fn functions<E: Display>(
        self,
        group: &str,
        needed: Result<(), E>,
        require: &str,
        tests: &[(&'static str, fn())],
    ) -> Self {
        let cases = tests.iter().map(|&(name, test)| {
            let run = move |&(): &()| {
                test();
                Ok(())
            };
            (name.to_owned(), run)
        });
        self.cases(group, needed, require, cases)
    }

    /// Adds tests that are made at run time, each with its name. See [`Suite::group`].
    pub fn cases<D, E, F>(
        mut self,
        group: &str,
        needed: Result<D, E>,
        require: &str,
        cases: impl IntoIterator<Item = (String, F)>,
    ) -> Self
    where
        D: Clone + Send + 'static,
        E: Display,
        F: FnOnce(&D) -> Outcome + Send + 'static,
    {
        let must_run = requires(require);
        let slow = Duration::from_secs(number("GPU_TESTS_SLOW", u64::MAX));
        let needed = needed.map_err(|error| error.to_string());
        if let Err(why) = &needed
            && !workers::is_worker()
        {
            eprintln!("{group}: {} because: {why}", if must_run { "failing" } else { "ignored" });
        }
        self.before_last = self.cases.len();
        for (name, test) in cases {
            let needed = needed.clone();
            let ignored = needed.is_err() && !must_run;
            let name = format!("{group}::{name}");
            let told = name.clone();
            let run = move || {
                let needed = needed?;
                let start = Instant::now();
                let outcome = seed::told(|| test(&needed)).map_err(|error| Failed::from(error.to_string()));
                if start.elapsed() > slow {
                    eprintln!("{name} took {:.1} s", start.elapsed().as_secs_f64());
                }
                outcome
            };
            self.cases.push(Case { name: told, ignored, with_variable: false, run: Box::new(run) });
        }
        self
    }

    /// Adds a group of [`functions!`](crate::functions) that run with `--ignored` or `--include-ignored` alone, for the reason `why`.
    pub fn on_request(mut self, group: &str, why: &str, tests: &[(&'static str, fn())]) -> Self {
        if !workers::is_worker() {
            eprintln!("{group}: ignored without `--ignored` because: {why}");
        }
        for &(name, test) in tests {
            let run = move || {
                test();
                Ok(())
            };
            // `--ignored` filters out tests without this flag.
            let name = format!("{group}::{name}");
            self.cases.push(Case { name, ignored: true, with_variable: false, run: Box::new(run) });
        }
        self
    }

    /// Has the last group compile with few optimisations, in a third of the time, where tests run in [processes](Suite::in_processes) and NVRTC knows the
    /// option, which it does since 13.0 (`nvrtc` is its major version): such tests ask whether kernels compile, and launch none. They have processes of
    /// their own, since NVRTC keeps the option for later programs of a process.
    #[must_use]
    pub fn compiles_quickly(self, nvrtc: u32) -> Self {
        const OPTIONS: &str = "GPU_NVRTC_OPTIONS";
        let options = env::var(OPTIONS).unwrap_or_default();
        if nvrtc < 13 { self } else { self.with_variable(OPTIONS, format!("{options} --Ofast-compile=max").trim()) }
    }

    /// Runs the tests of the last group in processes of their own, which have `variable`, where tests run in [processes](Suite::in_processes) at all.
    ///
    /// # Panics
    /// When an earlier group has such a variable: there is one.
    #[must_use]
    pub fn with_variable(mut self, variable: &'static str, value: impl Into<OsString>) -> Self {
        assert!(self.variable.is_none(), "two groups have a variable");
        self.cases[self.before_last..].iter_mut().for_each(|case| case.with_variable = true);
        Self { variable: Some((variable, value.into())), ..self }
    }

    /// Spreads the tests of the last group evenly among those before it. NVRTC compiles one program at a time, so tests that compile leave cores idle
    /// where they follow each other.
    #[must_use]
    pub fn spread(mut self) -> Self {
        let last = self.cases.split_off(self.before_last);
        let (others, spread) = (self.cases.len(), last.len());
        let mut merged = Vec::with_capacity(others + spread);
        let mut before = std::mem::take(&mut self.cases).into_iter();
        for (index, case) in last.into_iter().enumerate() {
            let due = index * others / spread - (merged.len() - index);
            merged.extend(before.by_ref().take(due));
            merged.push(case);
        }
        merged.extend(before);
        Self { cases: merged, before_last: others, ..self }
    }

    /// Runs the tests, where `divide` holds, in at most as many processes of this program as there are test threads, each with a driver of its own: the
    /// emulated device runs one kernel at a time. A process starts when a test finds none idle. One that ends fails the test that it ran, and no other.
    /// `GPU_TESTS_PROCESSES=no` runs them in this process all the same, for a debugger or a profiler.
    ///
    /// # Panics
    /// When `GPU_TESTS_PROCESSES` says something else.
    #[must_use]
    pub fn in_processes(self, divide: bool) -> Self {
        Self { in_processes: !says("GPU_TESTS_PROCESSES", "no") && divide, ..self }
    }

    /// Runs the tests that the command line asks for, as libtest does.
    ///
    /// # Panics
    /// When two tests have one name, by which neither could be chosen.
    pub fn run(self) -> ExitCode {
        let mut names = HashSet::new();
        for Case { name, .. } in &self.cases {
            assert!(names.insert(name.as_str()), "two tests are called {name}");
        }
        if workers::is_worker() {
            return workers::serve(self.cases);
        }
        let workers = self.in_processes.then(Workers::default);
        let with_variable = self.variable.filter(|_| self.in_processes).map(Workers::with);
        let trial = |case: Case| match if case.with_variable { &with_variable } else { &workers }.clone() {
            Some(workers) => {
                let name = case.name.clone();
                case.trial(move |_| workers.run(&name))
            }
            None => case.trial(|run| run()),
        };
        let trials = self.cases.into_iter().map(trial).collect();
        let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
        let mut ended_well = true;
        for workers in [workers, with_variable].into_iter().flatten() {
            ended_well &= workers.end();
        }
        if ended_well { conclusion.exit_code() } else { ExitCode::FAILURE }
    }
}

/// The Python that `GPU_TEST_PYTHON` names, else `python3` where it has the modules.
///
/// A Python that was named is taken as it is, so that a module which it lacks is a failure.
///
/// # Errors
/// A message that names the modules, where no Python has them.
pub fn python(modules: &[&str]) -> Result<PathBuf, String> {
    if let Some(named) = env::var_os("GPU_TEST_PYTHON").filter(|name| !name.is_empty()) {
        return Ok(named.into());
    }
    let modules = modules.join(", ");
    let mut import = Command::new("python3");
    import.args(["-c", &format!("import {modules}")]).stdout(Stdio::null()).stderr(Stdio::null());
    match import.status() {
        Ok(status) if status.success() => Ok("python3".into()),
        _ => Err(format!("GPU_TEST_PYTHON is not set, and no python3 here has {modules}")),
    }
}

/// Whether a variable says `require`, so that a group that cannot run is a failure; false where it is not set, or has no name.
///
/// # Panics
/// For any other value: a misspelt one would let everything be ignored.
pub fn requires(variable: &str) -> bool {
    !variable.is_empty() && says(variable, "require")
}

/// Whether a variable says this word, the only one that it knows; false where it is not set, or empty.
///
/// # Panics
/// For any other value, which would be ignored where it was meant.
pub fn says(variable: &str, word: &str) -> bool {
    is_word(variable, word, &env::var_os(variable).unwrap_or_default())
}

fn is_word(variable: &str, word: &str, value: &OsStr) -> bool {
    let is_known = value.is_empty() || value == word;
    assert!(is_known, "{variable}={} is not known; expected {word}, or nothing", value.display());
    !value.is_empty()
}

/// The whole number that a variable holds, or `default` where it is not set.
///
/// # Panics
/// For any other value: a seed or a length that is not taken would show nothing, and look as if it had.
pub fn number(variable: &str, default: u64) -> u64 {
    env::var_os(variable).map_or(default, |value| number_of(variable, &value))
}

fn number_of(variable: &str, value: &OsStr) -> u64 {
    let number = value.to_str().and_then(|text| text.parse().ok());
    number.unwrap_or_else(|| panic!("{variable}={} is no whole number from 0 to {}", value.display(), u64::MAX))
}

/// `Err` with the message unless the condition holds; for tests that return [`Outcome`].
#[macro_export]
macro_rules! ensure {
    ($condition:expr $(,)?) => {
        if !$condition {
            return Err(concat!("does not hold: ", stringify!($condition)).into());
        }
    };
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+).into());
        }
    };
}

/// `Err` with both values unless they are equal.
#[macro_export]
macro_rules! ensure_eq {
    ($got:expr, $want:expr $(,)?) => {
        let (got, want) = (&$got, &$want);
        if got != want {
            return Err(format!("{}: got {got:?}, want {want:?}", stringify!($got)).into());
        }
    };
}

/// A small reproducible generator (SplitMix64, Steele, Lea and Flood 2014) for test data and orders.
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next_u64() % n as u64) as usize
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Whole numbers from -8 to 8, whose sums as floats are exact in any order.
    pub fn whole_numbers(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.below(17) as f32 - 8.0).collect()
    }

    /// Brings the items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use libtest_mimic::Trial;

    use super::*;

    fn nothing() {}

    #[test]
    fn tests_on_request_run_where_ignored_ones_do() {
        let suite = Suite::new().functions("always", Ok::<(), &str>(()), "", functions![nothing]);
        let suite = suite.on_request("speed", "it measures", functions![nothing]);
        let run_by = |arguments: &[&str]| {
            let arguments = Arguments::from_iter(std::iter::once("suite").chain(arguments.iter().copied()));
            let is_run = |trial: &&Trial| !arguments.is_filtered_out(trial) && !arguments.is_ignored(trial);
            let of = |case: &Case| Trial::test(case.name.clone(), || Ok(())).with_ignored_flag(case.ignored);
            let trials: Vec<_> = suite.cases.iter().map(of).collect();
            trials.iter().filter(is_run).map(|trial| trial.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(run_by(&[]), ["always::nothing"]);
        assert_eq!(run_by(&["--ignored"]), ["speed::nothing"]);
        assert_eq!(run_by(&["--ignored", "speed"]), ["speed::nothing"]);
        assert_eq!(run_by(&["--include-ignored"]), ["always::nothing", "speed::nothing"]);
        assert!(run_by(&["speed"]).is_empty());
    }

    #[test]
    fn the_last_group_is_spread_among_the_others() {
        let names = |others: usize, last: usize| {
            let cases = |count: usize| (0..count).map(|index| (index.to_string(), |&(): &()| Ok(())));
            let suite = Suite::new().cases("a", Ok::<(), &str>(()), "", cases(others));
            let suite = suite.cases("b", Ok::<(), &str>(()), "", cases(last)).spread();
            suite.cases.iter().map(|case| case.name.replace("::", "")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(4, 2), "b0 a0 a1 b1 a2 a3");
        assert_eq!(names(2, 4), "b0 b1 a0 b2 b3 a1");
        assert_eq!(names(3, 2), "b0 a0 b1 a1 a2");
        assert_eq!((names(2, 0).as_str(), names(0, 2).as_str()), ("a0 a1", "b0 b1"));
    }

    #[test]
    fn values_that_are_no_number_are_refused() {
        use std::{os::unix::ffi::OsStrExt, panic::catch_unwind};
        assert_eq!(number("TESTKIT_NOBODY_SETS_THIS", 7), 7);
        assert_eq!(number_of("SEED", OsStr::new("18446744073709551615")), u64::MAX);
        for wrong in [&b"ten"[..], b"", b"-1", b"1.5", b" 1", b"18446744073709551616", b"\xff"] {
            let refused = catch_unwind(|| number_of("SEED", OsStr::from_bytes(wrong)));
            let message = refused.map_err(|panic| *panic.downcast::<String>().unwrap()).unwrap_err();
            assert!(message.starts_with("SEED=") && message.contains("no whole number"), "{message}");
        }
    }

    #[test]
    fn words_that_are_not_known_are_refused() {
        use std::{os::unix::ffi::OsStrExt, panic::catch_unwind};
        assert!(!says("TESTKIT_NOBODY_SETS_THIS", "all") && !requires(""));
        assert!(is_word("CYCLES", "all", OsStr::new("all")) && !is_word("CYCLES", "all", OsStr::new("")));
        for wrong in [&b"ALL"[..], b"1", b" all", b"al", b"\xff", b"all\xff"] {
            let refused = catch_unwind(|| is_word("CYCLES", "all", OsStr::from_bytes(wrong)));
            let message = refused.map_err(|panic| *panic.downcast::<String>().unwrap()).unwrap_err();
            let shown = String::from_utf8_lossy(wrong);
            assert_eq!(message, format!("CYCLES={shown} is not known; expected all, or nothing"));
        }
    }

    #[test]
    fn splitmix_known_answers() {
        // First outputs for seed 1234567, as in the reference implementation's test.
        let mut rng = Rng(1234567);
        assert_eq!(rng.next_u64(), 6457827717110365317);
        assert_eq!(rng.next_u64(), 3203168211198807973);
    }

    #[test]
    fn shuffle_keeps_the_items() {
        let mut items: Vec<u32> = (0..100).collect();
        Rng(1).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
