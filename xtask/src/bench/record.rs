//! The measurements of one run, as they are written to disk: `benches/record/<device>/<date>-<revision>.json`, saved baselines, results.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    id::Id,
    statistics::{median, spread},
};
use crate::{
    Outcome,
    machine::{Host, slug},
};

/// The name in ids of the machine itself, whose figures are ceilings.
pub(crate) const MACHINE: &str = "machine";

/// The version of the format; files of another one are refused.
pub(crate) const FORMAT: u32 = 1;

/// One run: its place and revision, and every figure.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Run {
    pub(crate) format: u32,
    /// UTC, as RFC 3339 has it.
    pub(crate) date: String,
    pub(crate) revision: String,
    #[serde(flatten)]
    pub(crate) place: Place,
    #[serde(default)]
    pub(crate) compiler: Compiler,
    /// Clocks and limits of the GPU before and after, as nvidia-smi names them.
    #[serde(default)]
    pub(crate) clocks: BTreeMap<String, String>,
    /// The versions of the peers.
    #[serde(default)]
    pub(crate) versions: BTreeMap<String, String>,
    /// The pattern of its ids, where it is a part of a record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) part: Option<String>,
    /// The set of cases.
    #[serde(default)]
    pub(crate) set: Option<String>,
    /// Seconds of each figure in each round.
    #[serde(default)]
    pub(crate) seconds_each: Option<f64>,
    /// Starts of each program; those of peers that are not Rust are fewer.
    pub(crate) rounds: usize,
    #[serde(default)]
    pub(crate) seconds: Option<f64>,
    /// The bandwidths that figures are set against: `copy`, `read`, `fill`, in bytes a second.
    #[serde(default)]
    pub(crate) ceilings: BTreeMap<String, f64>,
    /// By full id.
    pub(crate) figures: BTreeMap<String, Figure>,
    /// Seconds to compile, load or plan, never part of a figure; by the id without its measure.
    #[serde(default)]
    pub(crate) compile: BTreeMap<String, f64>,
    /// Peers that could not be measured.
    #[serde(default)]
    pub(crate) gaps: Vec<Gap>,
    /// Ours that failed or answered wrongly.
    #[serde(default)]
    pub(crate) failures: Vec<Failure>,
    #[serde(default)]
    pub(crate) notes: Vec<String>,
}

/// The place of a run. Figures of different places are not compared.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Place {
    /// `cuda`, `cpu` or `emulated`.
    pub(crate) backend: String,
    /// The GPU's name, or `cpu`.
    pub(crate) device: String,
    #[serde(default)]
    pub(crate) driver: Option<String>,
    pub(crate) host: Host,
}

/// The compilers of the code.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Compiler {
    #[serde(default)]
    pub(crate) rustc: Option<String>,
    #[serde(default)]
    pub(crate) nvrtc: Option<String>,
}

/// One figure over the rounds.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Figure {
    /// Seconds; each the median of a round's samples.
    pub(crate) rounds: Vec<f64>,
    #[serde(default)]
    pub(crate) median: f64,
    /// `(largest - smallest) / median` of the rounds.
    #[serde(default)]
    pub(crate) spread: f64,
    #[serde(default)]
    pub(crate) peer: bool,
    #[serde(default)]
    pub(crate) bytes: Option<f64>,
    #[serde(default)]
    pub(crate) flops: Option<f64>,
    #[serde(default)]
    pub(crate) ceiling: Option<String>,
    /// Largest relative error of the answer that was checked.
    #[serde(default)]
    pub(crate) error: Option<f64>,
    /// `graph`: replays of captured calls; `calls`: one after the other.
    #[serde(default)]
    pub(crate) timed_by: Option<String>,
}

/// A peer, or a figure of one, that is missing, and the reason.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Gap {
    pub(crate) peer: String,
    #[serde(default)]
    pub(crate) id: Option<String>,
    pub(crate) reason: String,
}

/// A failure of ours.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Failure {
    pub(crate) id: String,
    pub(crate) reason: String,
}

impl Figure {
    /// Computes the median and the spread of the rounds.
    fn derive(&mut self) {
        (self.median, self.spread) = (median(&self.rounds), spread(&self.rounds));
    }

    /// Bytes a second.
    pub(crate) fn bandwidth(&self) -> Option<f64> {
        self.bytes.map(|bytes| bytes / self.median)
    }
}

impl Run {
    /// Reads a file.
    pub(crate) fn load(path: &Path) -> Outcome<Self> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut run: Self = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        if run.format != FORMAT {
            return Err(format!("{}: format {}, where {FORMAT} is read", path.display(), run.format).into());
        }
        run.derive();
        Ok(run)
    }

    /// Writes a file, through a temporary one.
    pub(crate) fn save(&self, path: &Path) -> Outcome {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let part = path.with_extension("part");
        fs::write(&part, serde_json::to_string_pretty(self)? + "\n")?;
        Ok(fs::rename(part, path)?)
    }

    /// Whether it is the same run.
    pub(crate) fn is(&self, other: &Self) -> bool {
        (&self.date, &self.revision) == (&other.date, &other.revision)
    }

    /// Medians, spreads, ceilings from the rounds.
    pub(crate) fn derive(&mut self) {
        self.figures.values_mut().for_each(Figure::derive);
        self.figures.retain(|_, figure| !figure.rounds.is_empty());
        self.ceilings.clear();
        for name in ["copy", "read", "fill"] {
            let of_machine = |(id, figure): (&String, &Figure)| {
                let mut parts = id.split('/');
                let fits = parts.next() == Some(name) && parts.nth(2) == Some(MACHINE);
                figure.bandwidth().filter(|_| fits)
            };
            if let Some(best) = self.figures.iter().filter_map(of_machine).max_by(f64::total_cmp) {
                self.ceilings.insert(name.to_owned(), best);
            }
        }
    }

    /// The part of its ceiling that a figure reaches.
    pub(crate) fn of_ceiling(&self, figure: &Figure) -> Option<f64> {
        let ceiling = self.ceilings.get(figure.ceiling.as_ref()?)?;
        Some(figure.bandwidth()? / ceiling)
    }

    /// The folder of the device in the record, and the file's name.
    pub(crate) fn record_path(&self, record: &Path) -> PathBuf {
        let day = self.date.get(..10).unwrap_or(&self.date);
        let name = match &self.part {
            None => format!("{day}-{}.json", self.revision),
            Some(pattern) => format!("part-{day}-{}-{}.json", self.revision, slug(pattern)),
        };
        record.join(self.place.folder()).join(name)
    }

    /// One run of parts that were measured one after another.
    ///
    /// Ceilings that several parts measured keep the rounds of all. The run has the day of the first part and as many rounds as the shortest.
    pub(crate) fn merge(parts: Vec<Self>) -> Outcome<Self> {
        let mut parts = parts.into_iter().enumerate();
        let Some((_, mut whole)) = parts.next() else { return Err("a record has one part at least".into()) };
        whole.clocks = of_part(0, std::mem::take(&mut whole.clocks));
        for (number, part) in parts {
            whole.add(number, part)?;
        }
        whole.part = None;
        whole.derive();
        Ok(whole)
    }

    fn add(&mut self, number: usize, part: Self) -> Outcome {
        let facts = |run: &Self| (run.revision.clone(), run.compiler.clone(), run.set.clone(), run.seconds_each);
        if let Some(difference) = self.place.differs(&part.place) {
            return Err(format!("part {} is of another place: {difference}", number + 1).into());
        }
        if facts(self) != facts(&part) {
            let (first, other) = (facts(self), facts(&part));
            return Err(format!("part {} differs from the first: {other:?}, {first:?}", number + 1).into());
        }
        for (id, figure) in part.figures {
            match self.figures.get_mut(&id) {
                None => drop(self.figures.insert(id, figure)),
                Some(known) if Id::parse(&id).by == MACHINE => known.rounds.extend(figure.rounds),
                Some(_) => return Err(format!("{id} is in two parts").into()),
            }
        }
        self.clocks.extend(of_part(number, part.clocks));
        self.versions.extend(part.versions);
        self.compile.extend(part.compile);
        self.failures.extend(part.failures);
        self.gaps.extend(part.gaps.into_iter().filter(|gap| !self.gaps.contains(gap)).collect::<Vec<_>>());
        self.notes.extend(part.notes.into_iter().filter(|note| !self.notes.contains(note)).collect::<Vec<_>>());
        self.rounds = self.rounds.min(part.rounds);
        self.seconds = self.seconds.zip(part.seconds).map(|(one, other)| one + other);
        Ok(())
    }
}

impl Place {
    /// `nvidia-h200`, `cpu-2-cores`, `emulated`: figures of the CPU never lie among those of a GPU.
    pub(crate) fn folder(&self) -> String {
        match self.backend.as_str() {
            "cuda" => slug(&self.device),
            "cpu" => format!("cpu-{}-cores", self.host.threads),
            other => slug(other),
        }
    }

    /// Why figures of the two must not be compared.
    pub(crate) fn differs(&self, other: &Self) -> Option<String> {
        let driver = |place: &Self| place.driver.clone().unwrap_or_else(|| "none".to_owned());
        let host = |place: &Self| format!("{}, {} threads", place.host.processor, place.host.threads);
        let pairs = [
            ("backend", self.backend.clone(), other.backend.clone()),
            ("device", self.device.clone(), other.device.clone()),
            ("driver", driver(self), driver(other)),
            ("host", host(self), host(other)),
        ];
        let different = pairs.into_iter().filter(|(_, this, base)| this != base);
        let said: Vec<String> = different.map(|(fact, this, base)| format!("{fact} {this}, baseline {base}")).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

/// The clocks of a part, by its number.
fn of_part(number: usize, clocks: BTreeMap<String, String>) -> BTreeMap<String, String> {
    clocks.into_iter().map(|(name, value)| (format!("{name}, part {}", number + 1), value)).collect()
}

/// The runs in a folder of the record, oldest first; none where there is no folder. A file that cannot be read is said and passed over:
/// it must not hide the figures that were just measured.
pub(crate) fn history(folder: &Path) -> Vec<Run> {
    let read = |path: PathBuf| Run::load(&path).inspect_err(|error| eprintln!("passed over: {error}")).ok();
    let mut runs: Vec<Run> = files(folder).into_iter().filter_map(read).collect();
    // One that holds notes alone has no place in a history of figures.
    runs.retain(|run| !run.figures.is_empty());
    runs.sort_by(|a, b| (&a.date, &a.revision).cmp(&(&b.date, &b.revision)));
    runs
}

/// The newest run of each device in the record.
pub(crate) fn newest_of_each(record: &Path) -> Outcome<Vec<Run>> {
    let entries = fs::read_dir(record).map_err(|error| format!("{}: {error}", record.display()))?;
    let mut newest = Vec::new();
    for entry in entries {
        newest.extend(history(&entry?.path()).pop());
    }
    Ok(newest)
}

/// Whether a file has the name of a whole run.
fn is_run(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".json") && name.starts_with(|c: char| c.is_ascii_digit())
}

/// `<date>-<revision>.json`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| is_run(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Run {
        let figure = |bytes, ceiling: Option<&str>, rounds: &[f64]| Figure {
            rounds: rounds.to_vec(),
            bytes: Some(bytes),
            ceiling: ceiling.map(str::to_owned),
            ..Figure::default()
        };
        Run {
            format: FORMAT,
            date: "2026-01-02T03:04:05Z".to_owned(),
            revision: "abc".to_owned(),
            place: Place { backend: "cuda".to_owned(), device: "NVIDIA H200 (a)".to_owned(), ..Place::default() },
            figures: BTreeMap::from([
                ("copy/bytes/9/machine/device".to_owned(), figure(8.0, None, &[2.0, 4.0, 3.0])),
                ("copy/bytes/99/machine/device".to_owned(), figure(80.0, None, &[20.0])),
                ("copy/f32/99/gpu-array/device".to_owned(), figure(80.0, Some("copy"), &[40.0])),
                ("empty/f32/99/gpu-array/device".to_owned(), figure(80.0, Some("copy"), &[])),
            ]),
            ..Run::default()
        }
    }

    #[test]
    fn a_run_survives_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = run().record_path(folder.path());
        assert!(path.ends_with("nvidia-h200-a/2026-01-02-abc.json"), "{path:?}");
        run().save(&path).unwrap();
        let read = Run::load(&path).unwrap();
        assert_eq!(read.place, run().place);
        assert_eq!(read.figures["copy/bytes/9/machine/device"].median, 3.0);
        assert_eq!(read.figures.len(), 3);
        assert_eq!(history(path.parent().unwrap()).len(), 1);
        fs::write(&path, "{\"format\": 7}").unwrap();
        assert!(Run::load(&path).is_err() && history(path.parent().unwrap()).is_empty());
    }

    #[test]
    fn parts_become_one_record() {
        let part = |pattern: &str, id: &str, rounds: usize| {
            let (mut run, figure) = (run(), Figure { rounds: vec![1.0; rounds], ..Figure::default() });
            run.figures.retain(|id, _| id.contains("/machine/"));
            run.figures.insert(id.to_owned(), figure);
            run.clocks = BTreeMap::from([("clocks.sm before".to_owned(), pattern.to_owned())]);
            Run { part: Some(pattern.to_owned()), rounds, seconds: Some(10.0), ..run }
        };
        let parts = || [part("^sum/", "sum/f32/9/ours/device", 3), part("^scan/", "scan/f32/9/ours/device", 2)];
        let path = parts()[0].record_path(Path::new(""));
        assert!(!is_run(&path), "a part is none of the runs of a record: {path:?}");
        let whole = Run::merge(parts().into()).unwrap();
        assert_eq!((whole.rounds, whole.seconds, whole.part.clone(), whole.figures.len()), (2, Some(20.0), None, 4));
        assert_eq!(whole.figures["copy/bytes/9/machine/device"].rounds.len(), 6);
        assert_eq!(whole.clocks["clocks.sm before, part 2"], "^scan/");
        assert_eq!(whole.ceilings, BTreeMap::from([("copy".to_owned(), 4.0)]));
        assert_eq!(Run::merge(vec![whole.clone()]).unwrap().figures.len(), 4);

        let twice = [parts()[0].clone(), parts()[0].clone()];
        assert!(Run::merge(twice.into()).unwrap_err().to_string().contains("sum/f32/9/ours/device is in two parts"));
        let [first, mut second] = parts();
        second.revision = "def".to_owned();
        assert!(Run::merge(vec![first.clone(), second.clone()]).is_err(), "another revision");
        second.revision = first.revision.clone();
        second.compiler.nvrtc = Some("13.1".to_owned());
        assert!(Run::merge(vec![first.clone(), second.clone()]).is_err(), "another NVRTC");
        second.compiler = first.compiler.clone();
        second.place.driver = Some("600".to_owned());
        assert!(Run::merge(vec![first, second]).unwrap_err().to_string().contains("another place"));
        assert!(Run::merge(Vec::new()).is_err());
    }

    #[test]
    fn every_file_of_the_record_can_be_read() {
        let record = crate::workspace_root().join("benches/record");
        let folders: Vec<PathBuf> = fs::read_dir(record).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!folders.is_empty());
        for path in folders.iter().flat_map(|folder| files(folder)) {
            Run::load(&path).unwrap();
        }
    }

    #[test]
    fn ceilings_are_the_best_that_the_machine_did_itself() {
        let mut run = run();
        run.derive();
        assert_eq!(run.ceilings, BTreeMap::from([("copy".to_owned(), 4.0)]));
        assert_eq!(run.of_ceiling(&run.figures["copy/f32/99/gpu-array/device"]), Some(0.5));
        assert_eq!(run.of_ceiling(&run.figures["copy/bytes/9/machine/device"]), None);
    }

    #[test]
    fn places_differ_by_driver_too() {
        let place = run().place;
        let other = Place { driver: Some("580".to_owned()), ..place.clone() };
        assert_eq!(place.differs(&place.clone()), None);
        assert!(place.differs(&other).unwrap().contains("driver none, baseline 580"));
    }
}
