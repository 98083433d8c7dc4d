//! `cargo xtask bench`: runs the criterion programs and those of peers in rounds, compares with a baseline, and judges.

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use regex::Regex;

use crate::{Outcome, programs};

mod baseline;
mod compare;
mod facts;
mod figures;
mod groups;
mod measure;
mod page;
mod peers;
mod record;
mod report;
mod statistics;
pub(crate) mod tune;
mod units;

pub(crate) use figures::update as update_figures;
pub(crate) use record::Host;

use baseline::{Base, Build};
use compare::{Row, Rules, compare};
use measure::{Plan, Side};
use record::Run;
use report::Report;

/// Options of `cargo xtask bench`.
#[derive(Args, Debug, Default)]
pub(crate) struct Options {
    /// Only figures whose full id this regular expression matches, as criterion's filter.
    filter: Option<String>,
    /// Keep the figures and the programs under this name, so that `--against NAME` can run them again, in turn with newer ones.
    #[arg(long, value_parser = baseline::name)]
    save: Option<String>,
    /// Judge against: a saved NAME, a revision of git, `record` (the newest of this device), a bundle or saved folder, or a JSON file.
    /// Programs (a name, a revision, a folder) are run again in turn with these; figures from a file are only compared.
    #[arg(long, value_name = "NAME|REV|record|PATH")]
    against: Option<String>,
    /// Measure nothing: take the figures of a saved NAME, of `record`, or of a JSON file.
    #[arg(long, value_name = "NAME|record|FILE", conflicts_with_all = ["save", "record"])]
    load: Option<String>,
    /// A change counts when its whole interval lies beyond this.
    #[arg(long, default_value = "5%", value_parser = units::parse_threshold)]
    threshold: f64,
    /// Starts of each program; the default is 9, which leave an interval of 96 % when the slowest and the fastest are passed over, and
    /// 4 for a record, in every other one of which the peers run that are not Rust.
    #[arg(long)]
    rounds: Option<usize>,
    /// Which cases: `tiny` is for tests, `quick` the default, `full` what a record holds.
    #[arg(long, value_parser = ["tiny", "quick", "full"])]
    set: Option<String>,
    /// Which paths: the GPU's where there is one, by default.
    #[arg(long, value_parser = ["cuda", "cpu", "emulated"])]
    backend: Option<String>,
    /// Run the peers too: cuBLAS, cuSPARSE, cuRAND, CUB, CuPy, PyTorch, … or on the CPU ndarray, sprs, faer, SciPy.
    #[arg(long)]
    peers: bool,
    /// Write `DIR/<device>/<date>-<revision>.json`, by default below benches/record. Implies `--set full --peers`.
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with = "filter")]
    record: Option<PathBuf>,
    /// Seconds of each figure in each round; the default is 0.3, and 0.06 for a record.
    #[arg(long)]
    seconds: Option<f64>,
    /// Seconds after which no further round begins; the default for a record is 440, for others there is none.
    #[arg(long)]
    budget: Option<f64>,
    /// Figures that may be slower, or go: a regular expression; can be given several times.
    #[arg(long, value_name = "PATTERN")]
    allow: Vec<Regex>,
    /// Judge figures of different devices, drivers or hosts all the same.
    #[arg(long)]
    force: bool,
    /// Run the programs of this bundle or saved folder; by default those built here.
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
    /// Where report.md, report.html and results.json go.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seconds after which a program is stopped.
    #[arg(long, default_value_t = LIMIT)]
    limit: u64,
}

/// Seconds; the longest start of a program takes a sixth of it.
const LIMIT: u64 = 600;

/// What a run of the command ends with. 2 is a wrong command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Clean = 0,
    /// A figure is slower or gone, or a bench failed.
    Regression = 1,
    /// Nothing to judge against, or only what must not be compared.
    NoBaseline = 3,
}

/// The exit status when the command could not do its work.
pub(crate) const BROKEN: u8 = 4;

/// The figures, as they are measured and in the end.
const RESULTS: &str = "results.json";

/// Does what the options say.
pub(crate) fn run(options: &Options) -> Outcome<Ending> {
    let folder = folder();
    let base = match &options.against {
        Some(name) => match baseline::find(name, &folder, options.load.is_some())? {
            Some(base) => Some((name.as_str(), base)),
            None => {
                return Ok(no_baseline(&format!(
                    "there is no baseline `{name}`: no saved name, file, folder or revision"
                )));
            }
        },
        None => None,
    };
    let (this, base) = figures_of(options, base, &folder)?;
    let base = match base {
        Some((name, base, interleaved)) => match base {
            Some(run) => Some((name, run, interleaved)),
            None => return Ok(no_baseline(&format!("the record has nothing of {}", this.place.folder()))),
        },
        None => None,
    };
    if this.figures.is_empty() && this.failures.is_empty() {
        return Err("no figure: does any full id match the filter?".into());
    }
    if let Some((name, base, _)) = &base
        && let Some(difference) = this.place.differs(&base.place)
        && !options.force
    {
        return Ok(no_baseline(&format!(
            "`{name}` is not to be compared with these figures: {difference}; --force does"
        )));
    }
    conclude(options, &this, base.as_ref().map(|(name, base, interleaved)| (*name, base, *interleaved)), &folder)
}

/// Reports and judges.
fn conclude(options: &Options, this: &Run, base: Option<(&str, &Run, bool)>, folder: &Path) -> Outcome<Ending> {
    let interleaved = base.is_some_and(|(_, _, interleaved)| interleaved);
    let rules = Rules { threshold: options.threshold, interleaved, allow: options.allow.clone() };
    let matching = |rows: Vec<Row>| match options.filter.as_deref().map(Regex::new).transpose() {
        Ok(Some(filter)) => Ok(rows.into_iter().filter(|row| filter.is_match(&row.id)).collect()),
        Ok(None) => Ok(rows),
        Err(error) => Err(error),
    };
    let rows = base.map_or(Ok(Vec::new()), |(_, base, _)| matching(compare(this, base, &rules)))?;
    let report = Report {
        this,
        base: base.map(|(_, base, _)| base),
        base_name: base.map_or("", |(name, ..)| name),
        rows: &rows,
        threshold: rules.threshold,
        interleaved,
    };
    print!("{}", report.text());
    write_reports(&report, &out(options, folder))?;

    let slow: Vec<&str> = rows.iter().filter(|row| row.fails()).map(|row| row.id.as_str()).collect();
    if !slow.is_empty() {
        println!("FAIL: slower or gone: {}", slow.join(", "));
    }
    if !this.failures.is_empty() {
        println!("FAIL: {} benches failed", this.failures.len());
    }
    Ok(if slow.is_empty() && this.failures.is_empty() { Ending::Clean } else { Ending::Regression })
}

fn write_reports(report: &Report<'_>, out: &Path) -> Outcome {
    let mut history = record::history(&programs::record().join(report.this.place.folder()));
    if !history.iter().any(|run| (&run.date, &run.revision) == (&report.this.date, &report.this.revision)) {
        history.push(report.this.clone());
    }
    fs::create_dir_all(out)?;
    fs::write(out.join("report.md"), report.markdown())?;
    fs::write(out.join("report.html"), page::html(report, &history)?)?;
    report.this.save(&out.join(RESULTS))?;
    println!("\nreport.md, report.html and results.json are in {}", out.display());
    Ok(())
}

fn no_baseline(why: &str) -> Ending {
    println!("NO BASELINE: {why}");
    Ending::NoBaseline
}

/// The name of a baseline, its figures, and whether they were measured in turn with the others.
type Against<'a> = (&'a str, Option<Run>, bool);

/// The figures to judge, and those to judge them by.
fn figures_of<'a>(
    options: &Options,
    base: Option<(&'a str, Base)>,
    folder: &Path,
) -> Outcome<(Run, Option<Against<'a>>)> {
    if let Some(name) = &options.load {
        let this = match baseline::find(name, folder, true)? {
            Some(Base::Figures(run)) => *run,
            Some(Base::Record) => newest(None)?.ok_or("the record is empty")?,
            _ => return Err(format!("`{name}` names no figures: a saved name, `record`, or a JSON file does").into()),
        };
        let against = base.map(|(name, base)| stored(name, base, &this)).transpose()?;
        return Ok((this, against));
    }
    let peers = options.peers || options.record.is_some();
    let build = match &options.programs {
        Some(folder) => Build::listed(folder)?,
        None => Build::at_hand(peers)?,
    };
    let mut sides = vec![Side { peers, ..build.side("this") }];
    if let Some((name, Base::Programs(build))) = &base {
        sides.push(build.side(name));
    }
    let Prepared { plan, scratch } = plan(options)?;
    let so_far = out(options, folder).join(RESULTS);
    let mut plan = Plan { scratch: scratch.path().to_owned(), so_far, ..plan };
    let gaps = peers::add(&mut sides[0], &mut plan, &build)?;
    let mut runs = measure::measure(&sides, &plan)?.into_iter();
    let mut this = runs.next().ok_or("nothing was measured")?;
    this.gaps.extend(gaps);
    if let Some(name) = &options.save {
        baseline::save(name, folder, &build, &this)?;
        println!("saved as {name}");
    }
    if let Some(record) = &options.record {
        let record = if record.as_os_str().is_empty() { programs::record() } else { record.clone() };
        let path = this.record_path(&record);
        this.save(&path)?;
        println!("recorded: {}", path.display());
    }
    let against = match (base, runs.next()) {
        (Some((name, Base::Programs(_))), run) => Some((name, run, true)),
        (Some((name, base)), _) => Some(stored(name, base, &this)?),
        (None, _) => None,
    };
    Ok((this, against))
}

/// Figures that were measured some other time.
fn stored<'a>(name: &'a str, base: Base, this: &Run) -> Outcome<Against<'a>> {
    Ok(match base {
        Base::Figures(run) => (name, Some(*run), false),
        Base::Record => (name, newest(Some(this))?, false),
        Base::Programs(_) => return Err(format!("`{name}` has to be measured: leave --load out").into()),
    })
}

/// The newest run in the record: of the place of `this` and another one, or of a GPU, or of any place.
fn newest(this: Option<&Run>) -> Outcome<Option<Run>> {
    let record = programs::record();
    if let Some(this) = this {
        let mut runs = record::history(&record.join(this.place.folder()));
        runs.retain(|run| (&run.date, &run.revision) != (&this.date, &this.revision));
        return Ok(runs.pop());
    }
    let mut all = Vec::new();
    for entry in fs::read_dir(&record).map_err(|error| format!("{}: {error}", record.display()))? {
        all.extend(record::history(&entry?.path()).pop());
    }
    Ok(all.into_iter().max_by_key(|run| (run.place.backend == "cuda", run.date.clone())))
}

struct Prepared {
    plan: Plan,
    scratch: tempfile::TempDir,
}

fn plan(options: &Options) -> Outcome<Prepared> {
    let is_record = options.record.is_some();
    let set = options.set.clone().unwrap_or_else(|| if is_record { "full" } else { "quick" }.to_owned());
    if is_record && set == "quick" {
        return Err("a record holds the full set".into());
    }
    let seconds = options.seconds.unwrap_or(if is_record { 0.06 } else { 0.3 });
    if !(seconds > 0.0 && seconds < 1e3) {
        return Err(format!("--seconds {seconds}: must lie between 0 and 1000").into());
    }
    let rounds = options.rounds.unwrap_or(if is_record { 4 } else { 9 });
    if rounds == 0 {
        return Err("--rounds 0 measures nothing".into());
    }
    if let Some(filter) = &options.filter {
        Regex::new(filter)?;
    }
    // Exported matrices are large and read in every round.
    let memory = Path::new("/dev/shm");
    let scratch = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }?;
    let plan = Plan {
        rounds,
        filter: options.filter.clone(),
        backend: options.backend.clone(),
        set,
        seconds,
        budget: options.budget.unwrap_or(if is_record { 440.0 } else { f64::INFINITY }),
        limit: Duration::from_secs(options.limit),
        so_far: PathBuf::new(),
        scratch: PathBuf::new(),
        environment: Vec::new(),
    };
    Ok(Prepared { plan, scratch })
}

/// Where baselines and reports are kept: beside what cargo builds, or in the bundle.
fn folder() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    target.filter(|_| !programs::is_bundle()).unwrap_or_else(|| programs::root().join("target")).join("bench")
}

/// Where the reports go.
fn out(options: &Options, folder: &Path) -> PathBuf {
    options.out.clone().unwrap_or_else(|| folder.to_owned())
}
