//! `cargo xtask bench`: runs the criterion programs and those of peers in rounds, compares with a baseline, and judges.
//!
//! The module knows programs and the files that they leave, and none of our crates. `cargo xtask bench --against main` takes these steps:
//!
//! 1. `baseline.rs` resolves the name to programs (a saved name, a folder, a revision that is built in a checkout of its own) or to figures
//!    (the record, a file). `plan.rs` fills in the options that were not given.
//! 2. `measure.rs` starts each program once a round, the two revisions in turn and in reverse order in every other round, and stops programs
//!    that hang. `facts.rs` reads criterion's samples and the JSON lines of the harness and of the peers. `peers.rs` adds the programs that
//!    are not Rust, and reports the missing ones.
//! 3. `record.rs` is the run as it is written to disk, `statistics.rs` makes intervals over rounds, and `compare.rs` judges.
//! 4. `report.rs` and `page.rs` print text, Markdown and HTML. `figures.rs` writes the tables of README.md and benches/PERFORMANCE.md.
//!    `groups.rs` puts figures side by side that differ in their maker alone.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use clap::Args;
use regex::Regex;

use crate::{Outcome, programs};

mod baseline;
mod compare;
mod facts;
mod figures;
mod groups;
mod id;
mod measure;
mod page;
mod peers;
mod plan;
mod record;
mod report;
mod side;
mod statistics;
pub(crate) mod tune;
mod units;

pub(crate) use figures::update as update_figures;

use baseline::{Base, Build};
use compare::{Rules, Verdict, compare};
use plan::plan;
use record::Run;
use report::Report;
use side::Side;

/// Options of `cargo xtask bench`.
#[derive(Args, Debug, Default)]
pub(crate) struct Options {
    /// Only figures whose full id this regular expression matches, as criterion's filter.
    filter: Option<String>,
    /// Keep the figures and the programs under this name, so that `--against NAME` can run them again, in turn with newer ones.
    #[arg(long, value_parser = baseline::name)]
    save: Option<String>,
    /// Judge against a saved NAME, `record` (the newest of this device), a JSON file, a bundle or saved folder, or a revision of git,
    /// looked for in this order.
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
    /// Cases to measure: `tiny` is for tests, `quick` the default, `full` the set of a record.
    #[arg(long, value_parser = ["tiny", "quick", "full"])]
    set: Option<String>,
    /// Paths to measure: the GPU's where there is one, by default.
    #[arg(long, value_parser = ["cuda", "cpu", "emulated"])]
    backend: Option<String>,
    /// Run the peers too: cuBLAS, cuSPARSE, cuRAND, CUB, CuPy, PyTorch, … or on the CPU ndarray, sprs, faer, SciPy.
    #[arg(long)]
    peers: bool,
    /// Write `DIR/<device>/<date>-<revision>.json`, by default below benches/record. Implies `--set full --peers`.
    #[arg(long, value_name = "DIR", require_equals = true, conflicts_with = "filter")]
    record: Option<Option<PathBuf>>,
    /// Measure, for a record, only figures whose full id this regular expression matches, and the ceilings: a run has a limit of time on some machines.
    /// The file's name begins with `part-`; `--merge` makes a record of all parts.
    #[arg(long, value_name = "PATTERN", requires = "record", conflicts_with = "filter")]
    part: Option<String>,
    /// Measure nothing: make one record of the parts in these files, below benches/record. They agree on device, driver, NVRTC, host and revision.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["filter", "save", "against", "load", "record"])]
    merge: Vec<PathBuf>,
    /// Seconds of each figure in each round; the default is 0.3, and 0.06 for a record.
    #[arg(long)]
    seconds: Option<f64>,
    /// Seconds within which a further round must be expected to end, once the programs are built; the default for a record is 465, for others there
    /// is none.
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
    /// Folder for report.md, report.html and results.json.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seconds after which a program is stopped.
    #[arg(long, default_value_t = LIMIT)]
    limit: u64,
}

/// Seconds; the longest start of a program takes a sixth of it.
const LIMIT: u64 = 600;

/// Rounds of a record: as many on either side leave an interval of 97 % between two records.
const ROUNDS_OF_RECORD: usize = 4;

/// The end of a run of the command, as its exit status. 2 is a wrong command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Clean = 0,
    /// A figure is slower or gone, or a bench failed.
    Regression = 1,
    /// Nothing to judge against, or only figures that must not be compared.
    NoBaseline = 3,
}

/// The exit status when the command could not do its work.
pub(crate) const BROKEN: u8 = 4;

/// The figures, as they are measured and in the end.
const RESULTS: &str = "results.json";

/// Runs the command with these options.
pub(crate) fn run(options: &Options) -> Outcome<Ending> {
    if !options.merge.is_empty() {
        return merged(&options.merge);
    }
    let folder = folder();
    let filter = options.filter.as_deref().map(Regex::new).transpose()?;
    let base = match &options.against {
        Some(name) => match baseline::find(name, &folder, options.load.is_some())? {
            Some(base) => Some((name.as_str(), base)),
            None => {
                return Ok(no_baseline(&format!("`{name}` is no saved name, file, folder with programs, or revision")));
            }
        },
        None => None,
    };
    let (mut this, base) = match &options.load {
        Some(name) => loaded(name, base, &folder)?,
        None => measured(options, base, &folder)?,
    };
    let wanted = |id: &str| filter.as_ref().is_none_or(|filter| filter.is_match(id));
    if options.load.is_some() {
        this.figures.retain(|id, _| wanted(id));
    }
    if this.failures.is_empty() && !this.figures.keys().any(|id| wanted(id)) {
        return Err("no figure: does any full id match the filter?".into());
    }
    let refusal = base.as_ref().and_then(|base| base.refusal(&this, options.force));
    let against = base.as_ref().filter(|_| refusal.is_none());
    let ending = conclude(options, &this, against, &wanted, &folder)?;
    // Benches that failed in the baseline were not judged.
    let failed = against.and_then(|base| base.run.as_ref()).map_or(0, |run| run.failures.len());
    let failed = (failed > 0).then(|| format!("{failed} benches failed in it"));
    Ok(match (ending, refusal.or(failed)) {
        (Ending::Clean, Some(why)) => no_baseline(&why),
        (ending, _) => ending,
    })
}

/// Makes a record of parts, and says which figures the newest record of the place has besides.
fn merged(paths: &[PathBuf]) -> Outcome<Ending> {
    let parts = paths.iter().map(|path| Run::load(path)).collect::<Outcome<Vec<Run>>>()?;
    let run = Run::merge(parts)?;
    let newest = newest(Some(&run))?;
    let path = run.record_path(&programs::record());
    run.save(&path)?;
    say(&format!("recorded: {}, {} figures", path.display(), run.figures.len()));
    let missing = newest.iter().flat_map(|newest| newest.figures.keys()).filter(|id| !run.figures.contains_key(*id));
    missing.for_each(|id| say(&format!("not in it, but in the newest record: {id}")));
    Ok(Ending::Clean)
}

/// Reports and judges.
fn conclude(
    options: &Options,
    this: &Run,
    base: Option<&Against<'_>>,
    wanted: &dyn Fn(&str) -> bool,
    folder: &Path,
) -> Outcome<Ending> {
    let interleaved = base.is_some_and(|base| base.interleaved);
    let rules = Rules { threshold: options.threshold, interleaved, allow: options.allow.clone() };
    let run = base.and_then(|base| base.run.as_ref());
    let mut rows = run.map_or_else(Vec::new, |run| compare(this, run, &rules));
    rows.retain(|row| wanted(&row.id));
    let base_name = base.map_or("", |base| base.name);
    let report = Report { this, base: run, base_name, rows: &rows, threshold: rules.threshold, interleaved };
    // Written first: the reader of the output may close it early.
    let out = out(options, folder);
    write_reports(&report, &out)?;
    say(&report.text());
    say(&format!("report.md, report.html and {RESULTS} are in {}", out.display()));

    let slow: Vec<&str> = rows.iter().filter(|row| row.fails()).map(|row| row.id.as_str()).collect();
    if !slow.is_empty() {
        say(&format!("FAIL: slower or gone: {}", slow.join(", ")));
    }
    if !this.failures.is_empty() {
        say(&format!("FAIL: {} benches failed", this.failures.len()));
    }
    if !rows.is_empty() && rows.iter().all(|row| row.verdict == Verdict::NotJudged) {
        say("NOTHING COULD BE JUDGED: more rounds, or a quieter machine, would tell");
    }
    Ok(if slow.is_empty() && this.failures.is_empty() { Ending::Clean } else { Ending::Regression })
}

fn write_reports(report: &Report<'_>, out: &Path) -> Outcome {
    let mut history = record::history(&programs::record().join(report.this.place.folder()));
    if !history.iter().any(|run| run.is(report.this)) {
        history.push(report.this.clone());
    }
    fs::create_dir_all(out)?;
    fs::write(out.join("report.md"), report.markdown())?;
    fs::write(out.join("report.html"), page::html(report, &history)?)?;
    report.this.save(&out.join(RESULTS))
}

fn no_baseline(why: &str) -> Ending {
    say(&format!("NO BASELINE: {why}"));
    Ending::NoBaseline
}

/// Prints, also where nobody listens any more.
fn say(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}

/// The figures to judge by.
struct Against<'a> {
    name: &'a str,
    /// None when the record has nothing of this place.
    run: Option<Run>,
    /// Measured in turn with the figures to judge.
    interleaved: bool,
}

impl Against<'_> {
    /// Why the figures cannot be judged by these.
    fn refusal(&self, this: &Run, force: bool) -> Option<String> {
        let Some(base) = &self.run else { return Some(format!("the record has nothing of {}", this.place.folder())) };
        if base.figures.is_empty() {
            let reasons = base.failures.iter().map(|failure| format!(": {}: {}", failure.id, failure.reason));
            return Some(format!("nothing could be measured of `{}`{}", self.name, reasons.collect::<String>()));
        }
        let sets = this.set.as_ref().zip(base.set.as_ref()).filter(|(this, base)| this != base);
        let sets = sets.map(|(this, base)| format!("set {this}, baseline {base}"));
        let difference = this.place.differs(&base.place).or(sets).filter(|_| !force)?;
        Some(format!("`{}` is not to be compared with these figures: {difference}; --force does", self.name))
    }
}

/// Figures that were measured before.
fn loaded<'a>(name: &str, base: Option<(&'a str, Base)>, folder: &Path) -> Outcome<(Run, Option<Against<'a>>)> {
    let this = match baseline::find(name, folder, true)? {
        Some(Base::Figures(run)) => *run,
        Some(Base::Record) => newest(None)?.ok_or("the record is empty")?,
        _ => return Err(format!("`{name}` names no figures: a saved name, `record`, or a JSON file does").into()),
    };
    let against = base.map(|(name, base)| stored(name, base, &this)).transpose()?;
    Ok((this, against))
}

/// Figures that are measured now, with those of the baseline where it has programs.
fn measured<'a>(
    options: &Options,
    base: Option<(&'a str, Base)>,
    folder: &Path,
) -> Outcome<(Run, Option<Against<'a>>)> {
    let peers = options.peers || options.record.is_some();
    let build = match &options.programs {
        Some(folder) => Build::listed(folder)?,
        None => Build::at_hand(peers)?,
    };
    let mut sides = vec![Side { peers, ..build.side("this") }];
    if let Some((name, Base::Programs(build))) = &base {
        sides.push(build.side(name));
    }
    let mut plan = plan(options, base.as_ref().map(|(_, base)| base), out(options, folder).join(RESULTS))?;
    let gaps = peers::add(&mut sides[0], &mut plan, &build)?;
    let mut runs = measure::measure(&sides, &plan)?.into_iter();
    let mut this = runs.next().ok_or("nothing was measured")?;
    this.gaps.extend(gaps);
    if let Some(name) = &options.save {
        baseline::save(name, folder, &build, &this)?;
        say(&format!("saved as {name}"));
    }
    if let Some(record) = &options.record {
        let record = record.clone().unwrap_or_else(programs::record);
        this.part = options.part.clone();
        let path = this.record_path(&record);
        this.save(&path)?;
        say(&format!("recorded: {}", path.display()));
        if this.rounds < ROUNDS_OF_RECORD {
            say(&format!("INCOMPLETE: {} rounds; to be judged by, a record needs {ROUNDS_OF_RECORD}", this.rounds));
        }
    }
    let against = match (base, runs.next()) {
        (Some((name, Base::Programs(_))), run) => Some(Against { name, run, interleaved: true }),
        (Some((name, base)), _) => Some(stored(name, base, &this)?),
        (None, _) => None,
    };
    Ok((this, against))
}

/// Figures that were measured some other time.
fn stored<'a>(name: &'a str, base: Base, this: &Run) -> Outcome<Against<'a>> {
    let run = match base {
        Base::Figures(run) => Some(*run),
        Base::Record => newest(Some(this))?,
        Base::Programs(_) => return Err(format!("`{name}` has to be measured: leave --load out").into()),
    };
    Ok(Against { name, run, interleaved: false })
}

/// The newest run in the record: of the place of `this` and another one, or of a GPU, or of any place.
fn newest(this: Option<&Run>) -> Outcome<Option<Run>> {
    let record = programs::record();
    if let Some(this) = this {
        let mut runs = record::history(&record.join(this.place.folder()));
        runs.retain(|run| !run.is(this));
        // One with another driver is better than none: it can be forced.
        let same = runs.iter().rposition(|run| run.place.differs(&this.place).is_none());
        return Ok(same.map(|at| runs.swap_remove(at)).or_else(|| runs.pop()));
    }
    let all = record::newest_of_each(&record)?;
    Ok(all.into_iter().max_by_key(|run| (run.place.backend == "cuda", run.date.clone())))
}

/// The folder of baselines and reports: in cargo's target folder, or in the bundle.
fn folder() -> PathBuf {
    programs::target().join("bench")
}

/// The folder of the reports.
fn out(options: &Options, folder: &Path) -> PathBuf {
    options.out.clone().unwrap_or_else(|| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn a_record_goes_where_it_is_told_or_to_its_place() {
        let record = |words: &[&str]| {
            let line = Line::try_parse_from([&["bench"], words].concat());
            line.map(|line| line.options.record).map_err(|error| error.kind())
        };
        assert_eq!(record(&[]), Ok(None));
        assert_eq!(record(&["--record", "--backend", "cpu"]), Ok(Some(None)));
        assert_eq!(record(&["--record=here"]), Ok(Some(Some(PathBuf::from("here")))));
        assert!(record(&["--record", "spmv"]).is_err(), "a part is no record");
        assert_eq!(record(&["--record", "--part", "spmv"]), Ok(Some(None)));
        assert!(record(&["--part", "spmv"]).is_err(), "a part of nothing");
        assert!(record(&["--load", "a", "--save", "b"]).is_err());
        assert!(record(&["--merge", "a", "b", "--record"]).is_err());
    }
}
