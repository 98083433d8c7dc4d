//! The evidence of runs on a real GPU, and `cargo xtask evidence`: which kernels have changed since.

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    Outcome, json_if_there,
    kernels::{self, Digests},
    machine, programs, provenance,
};

const FILE: &str = "evidence.json";

/// A whole suite of tests that passed on a GPU, and the tools that found nothing to complain of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Evidence {
    pub(crate) device: String,
    pub(crate) driver: String,
    /// The revision that the suite ran from; empty where only tools have run.
    pub(crate) revision: String,
    /// The day it ran.
    pub(crate) date: String,
    /// The kernels it ran.
    pub(crate) kernels: Digests,
    /// By program.
    pub(crate) tests: BTreeMap<String, Passed>,
    /// All of one revision, which need not be the suite's.
    pub(crate) sanitizer: Vec<Sanitized>,
}

/// The tests of a program; none of them failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Passed {
    pub(crate) passed: u64,
    pub(crate) ignored: u64,
}

/// The device tests under a tool of compute-sanitizer, without an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sanitized {
    pub(crate) tool: String,
    pub(crate) revision: String,
    pub(crate) date: String,
    /// Only tests whose names contain it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) filter: Option<String>,
    /// Only programs of these packages; all where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) packages: Vec<String>,
    /// How the names of the tests begin that were left out.
    pub(crate) skipped: Vec<String>,
    pub(crate) passed: u64,
    pub(crate) warnings: u64,
}

impl Evidence {
    /// Nothing where there is no file.
    pub(crate) fn read(path: &Path) -> Outcome<Option<Self>> {
        json_if_there(path)
    }

    pub(crate) fn write(&self, path: &Path) -> Outcome {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        Ok(fs::write(path, serde_json::to_string_pretty(self)? + "\n")?)
    }

    /// Takes over the passes of tools, if they were with these very sources.
    pub(crate) fn keep_sanitizer(&mut self, old: Self) {
        let is_ours = |entry: &Sanitized| {
            entry.revision == self.revision && (provenance::is_commit(&self.revision) || old.kernels == self.kernels)
        };
        self.sanitizer = old.sanitizer.into_iter().filter(is_ours).collect();
    }

    /// Adds a pass of a tool; passes with other sources, or the same one before, go.
    pub(crate) fn add_sanitized(&mut self, entry: Sanitized, kernels: &Digests) {
        let is_known = provenance::is_commit(&entry.revision) || self.kernels == *kernels;
        let same =
            |old: &Sanitized| (&old.tool, &old.filter, &old.packages) == (&entry.tool, &entry.filter, &entry.packages);
        self.sanitizer.retain(|old| is_known && old.revision == entry.revision && !same(old));
        self.sanitizer.push(entry);
    }
}

/// The file of a device, below the folder that has a folder for each.
pub(crate) fn path(record: &Path, device: &str) -> PathBuf {
    record.join(machine::slug(device)).join(FILE)
}

/// Prints how far the evidence of each device still holds for the kernels at hand. It informs: whatever is missing is said.
pub(crate) fn report() {
    let now = match kernels::digests() {
        Ok(digests) => digests,
        Err(error) => return println!("the evidence is not compared: {error}"),
    };
    let mut folders: Vec<PathBuf> =
        fs::read_dir(programs::record()).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    folders.sort();
    let mut found = 0;
    for path in folders.into_iter().map(|folder| folder.join(FILE)).filter(|path| path.is_file()) {
        found += 1;
        match Evidence::read(&path) {
            Ok(Some(evidence)) => print!("{}", Compared { evidence: &evidence, changes: Changes::of(&evidence, &now) }),
            Ok(None) => {}
            Err(error) => println!("{error}"),
        }
    }
    if found == 0 {
        println!("no device has evidence: no suite that passed on a real GPU is recorded");
    }
}

/// Kernels by their change since the evidence.
#[derive(Debug, Default, PartialEq, Eq)]
struct Changes {
    same: usize,
    changed: Vec<String>,
    new: Vec<String>,
    removed: Vec<String>,
}

impl Changes {
    fn of(evidence: &Evidence, now: &Digests) -> Self {
        let mut changes = Self::default();
        for (name, digest) in now {
            match evidence.kernels.get(name) {
                Some(old) if old == digest => changes.same += 1,
                Some(_) => changes.changed.push(name.clone()),
                None => changes.new.push(name.clone()),
            }
        }
        changes.removed = evidence.kernels.keys().filter(|name| !now.contains_key(*name)).cloned().collect();
        changes
    }
}

struct Compared<'a> {
    evidence: &'a Evidence,
    changes: Changes,
}

impl fmt::Display for Compared<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Evidence { device, driver, revision, date, tests, sanitizer, .. } = self.evidence;
        let passed: u64 = tests.values().map(|tests| tests.passed).sum();
        if tests.is_empty() {
            writeln!(f, "{device}: no whole suite has passed")?;
        } else {
            writeln!(f, "{device}: {passed} tests of {revision} passed on {date}, driver {driver}")?;
        }
        for Sanitized { tool, revision, date, filter, packages, passed, warnings, .. } in sanitizer {
            let mut part =
                filter.as_ref().map_or_else(String::new, |filter| format!(" whose names contain `{filter}`"));
            if !packages.is_empty() {
                part += &format!(" of {}", packages.join(", "));
            }
            writeln!(f, "  {tool}: {passed} tests of {revision}{part} passed on {date}, {warnings} warnings")?;
        }
        let Changes { same, changed, new, removed } = &self.changes;
        let counts = format!("{} changed, {} new, {} removed", changed.len(), new.len(), removed.len());
        writeln!(f, "  kernels since they last ran there: {same} as they were, {counts}")?;
        for (change, names) in [("changed", changed), ("new", new), ("removed", removed)] {
            for (name, instances) in by_template(names) {
                writeln!(f, "    {change}: {name} ({instances})")?;
            }
        }
        Ok(())
    }
}

/// How many instances of each template: `fill` for `fill<float, 256>`.
fn by_template(names: &[String]) -> BTreeMap<&str, usize> {
    let mut templates = BTreeMap::new();
    for name in names {
        *templates.entry(name.split('<').next().unwrap_or_default()).or_default() += 1;
    }
    templates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digests(pairs: &[(&str, &str)]) -> Digests {
        pairs.iter().map(|(name, digest)| ((*name).to_owned(), (*digest).to_owned())).collect()
    }

    fn sanitized(tool: &str, revision: &str, passed: u64) -> Sanitized {
        Sanitized { tool: tool.into(), revision: revision.into(), passed, ..Sanitized::default() }
    }

    fn evidence(revision: &str, kernels: &[(&str, &str)]) -> Evidence {
        let (device, kernels) = ("NVIDIA H200".to_owned(), digests(kernels));
        Evidence { device, revision: revision.into(), kernels, ..Evidence::default() }
    }

    #[test]
    fn a_device_has_a_folder_of_its_own() -> Outcome {
        let folder = tempfile::tempdir()?;
        let path = path(folder.path(), "NVIDIA GeForce RTX 4090 (24 GB)");
        assert!(path.ends_with("nvidia-geforce-rtx-4090-24-gb/evidence.json"), "{}", path.display());
        assert_eq!(Evidence::read(&path)?, None);
        let mut written = evidence("abc", &[("c::f", "1")]);
        written.tests.insert("c::gpu".into(), Passed { passed: 3, ignored: 1 });
        written.sanitizer.push(Sanitized { filter: Some("f".into()), ..sanitized("memcheck", "abc", 2) });
        written.write(&path)?;
        assert_eq!(Evidence::read(&path)?, Some(written));
        fs::write(&path, "[]")?;
        assert!(Evidence::read(&path).unwrap_err().to_string().contains("evidence.json"));
        Ok(())
    }

    #[test]
    fn changes_are_told_apart() {
        let old = evidence("abc", &[("c::f<int>", "1"), ("c::g<int>", "2"), ("c::h", "3")]);
        let now = digests(&[("c::f<int>", "1"), ("c::g<int>", "9"), ("c::k<int>", "4"), ("c::k<float>", "5")]);
        let changes = Changes::of(&old, &now);
        assert_eq!((changes.same, changes.changed.len(), changes.new.len(), changes.removed.len()), (1, 1, 2, 1));
        let text = Compared { evidence: &old, changes }.to_string();
        for line in
            ["1 as they were, 1 changed, 2 new, 1 removed", "changed: c::g (1)", "new: c::k (2)", "removed: c::h (1)"]
        {
            assert!(text.contains(line), "{text}");
        }
        assert!(text.contains("no whole suite"), "{text}");
    }

    #[test]
    fn tools_of_another_revision_go() {
        let mut evidence = evidence("abc", &[("f", "1")]);
        let now = evidence.kernels.clone();
        evidence.add_sanitized(sanitized("memcheck", "abc", 5), &now);
        evidence.add_sanitized(sanitized("racecheck", "abc", 5), &now);
        evidence.add_sanitized(sanitized("memcheck", "abc", 6), &now);
        assert_eq!(evidence.sanitizer, [sanitized("racecheck", "abc", 5), sanitized("memcheck", "abc", 6)]);
        evidence.add_sanitized(sanitized("memcheck", "def", 7), &digests(&[("f", "2")]));
        evidence.add_sanitized(sanitized("racecheck", "def", 7), &digests(&[("f", "2")]));
        assert_eq!(evidence.sanitizer, [sanitized("memcheck", "def", 7), sanitized("racecheck", "def", 7)]);
        assert_eq!((evidence.revision.as_str(), evidence.kernels["f"].as_str()), ("abc", "1"));
    }

    #[test]
    fn changed_files_that_are_in_no_commit_are_known_by_their_kernels() {
        let mut evidence = evidence("abc-dirty", &[("f", "1")]);
        let now = evidence.kernels.clone();
        evidence.add_sanitized(sanitized("memcheck", "abc-dirty", 5), &now);
        evidence.add_sanitized(sanitized("racecheck", "abc-dirty", 5), &now);
        assert_eq!(evidence.sanitizer.len(), 2);
        evidence.add_sanitized(sanitized("synccheck", "abc-dirty", 5), &digests(&[("f", "2")]));
        assert_eq!(evidence.sanitizer.len(), 1);
    }

    #[test]
    fn a_suite_keeps_what_tools_have_passed_with_its_own_sources() {
        let mut old = evidence("abc", &[]);
        old.sanitizer = vec![sanitized("memcheck", "def", 5)];
        let after = |revision: &str, old: &Evidence| {
            let mut new = evidence(revision, &[("f", "1")]);
            new.keep_sanitizer(old.clone());
            new.sanitizer.len()
        };
        assert_eq!((after("def", &old), after("abc", &old)), (1, 0));
        old.sanitizer = vec![sanitized("memcheck", "abc-dirty", 5)];
        assert_eq!(after("abc-dirty", &old), 0);
        old.kernels = digests(&[("f", "1")]);
        assert_eq!(after("abc-dirty", &old), 1);
    }
}
