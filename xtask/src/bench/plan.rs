//! The plan of a measurement: the options, and the defaults where they say nothing.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::{Options, ROUNDS_OF_RECORD, baseline::Base};
use crate::Outcome;

/// How to measure.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) rounds: usize,
    /// A regular expression that full ids match.
    pub(super) filter: Option<String>,
    pub(super) backend: Option<String>,
    /// The set of cases: `full`, `quick`, `tiny`.
    pub(super) set: String,
    /// Seconds of one figure in one round.
    pub(super) seconds: f64,
    /// No round begins that is expected to end later than so many seconds from `began`.
    pub(super) budget: f64,
    pub(super) began: Instant,
    /// A program that takes longer is stopped.
    pub(super) limit: Duration,
    /// The file that keeps the figures so far after each round: a stopped command loses no more than one.
    pub(super) so_far: PathBuf,
    /// Folder for the files that programs write; it goes with the plan.
    pub(super) scratch: TempDir,
    /// More variables for all programs.
    pub(super) environment: Vec<(String, String)>,
}

/// The plan by the options; where they say nothing, as the figures were measured that these are to be judged by.
pub(super) fn plan(options: &Options, base: Option<&Base>, so_far: PathBuf) -> Outcome<Plan> {
    let like = match base {
        Some(Base::Figures(run)) => Some(&**run),
        _ => None,
    };
    let is_record = options.record.is_some();
    let as_record = is_record || matches!(base, Some(Base::Record));
    let set = options.set.clone().or_else(|| like.and_then(|run| run.set.clone()));
    let set = set.unwrap_or_else(|| if as_record { "full" } else { "quick" }.to_owned());
    if is_record && set == "quick" {
        return Err("a record holds the full set".into());
    }
    let seconds = options.seconds.or_else(|| like.and_then(|run| run.seconds_each));
    let seconds = seconds.unwrap_or(if as_record { 0.06 } else { 0.3 });
    if !(seconds > 0.0 && seconds < 1e3) {
        return Err(format!("--seconds {seconds}: must lie between 0 and 1000").into());
    }
    let rounds = options.rounds.unwrap_or(if is_record { ROUNDS_OF_RECORD } else { 9 });
    if rounds == 0 {
        return Err("--rounds 0 measures nothing".into());
    }
    Ok(Plan {
        rounds,
        filter: options.filter.clone().or_else(|| options.part.clone()),
        backend: options.backend.clone(),
        set,
        seconds,
        budget: options.budget.unwrap_or(if is_record { 465.0 } else { f64::INFINITY }),
        limit: Duration::from_secs(options.limit),
        began: Instant::now(),
        so_far,
        scratch: scratch()?,
        environment: Vec::new(),
    })
}

/// A folder for the files that programs write, in memory where there is such: exported matrices are large and read in every round. Folders that a
/// stopped command left there are removed.
fn scratch() -> Outcome<TempDir> {
    const NAME: &str = "xtask-bench-";
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { env::temp_dir() };
    for entry in fs::read_dir(&place)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner =
            name.strip_prefix(NAME).and_then(|rest| rest.split_once('-')).and_then(|(pid, _)| pid.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            // Another user's stays.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(tempfile::Builder::new().prefix(&format!("{NAME}{}-", process::id())).tempdir_in(place)?)
}
