//! A run of a tool in parts: the tests that have passed so far, in a file.
//!
//! A line holds revision, tool, program, warnings and test.

use std::{fs, io::Write, path::Path};

use crate::{Outcome, provenance, text_if_there};

/// The file of a run in parts.
pub(super) struct Parts<'a> {
    pub(super) path: &'a Path,
    pub(super) revision: &'a str,
    pub(super) tool: &'a str,
}

/// A test that has passed in an earlier part.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PassedBefore {
    pub(super) program: String,
    pub(super) test: String,
    pub(super) warnings: u64,
}

impl Parts<'_> {
    /// The tests of this revision that have passed under this tool. Without a commit's name none: the sources may be others.
    pub(super) fn passed(&self) -> Outcome<Vec<PassedBefore>> {
        if !provenance::is_commit(self.revision) {
            return Ok(Vec::new());
        }
        let text = text_if_there(self.path)?.unwrap_or_default();
        Ok(text.lines().filter_map(|line| self.passed_of(line)).collect())
    }

    fn passed_of(&self, line: &str) -> Option<PassedBefore> {
        let mut words = line.splitn(5, ' ');
        let of_this_run = words.next()? == self.revision && words.next()? == self.tool;
        let (program, warnings, test) = (words.next()?, words.next()?.parse().ok()?, words.next()?);
        of_this_run.then(|| PassedBefore { program: program.to_owned(), test: test.to_owned(), warnings })
    }

    /// Adds tests of a program, which have passed together; their warnings are noted with the first.
    pub(super) fn add(&self, program: &str, tests: &[String], warnings: u64) -> Outcome {
        let Self { path, revision, tool } = self;
        let line = |(at, test): (usize, &String)| {
            let warnings = if at == 0 { warnings } else { 0 };
            format!("{revision} {tool} {program} {warnings} {test}\n")
        };
        let lines: String = tests.iter().enumerate().map(line).collect();
        let mut file = fs::OpenOptions::new().create(true).append(true).open(path)?;
        Ok(file.write_all(lines.as_bytes())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_these_sources_and_this_tool_have_passed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("parts");
        let of = |revision, tool| Parts { path: &path, revision, tool };
        let parts = of("0123abc", "racecheck");
        assert_eq!(parts.passed().unwrap(), []);
        let tests = ["device::a", "device::b, of two"].map(str::to_owned);
        parts.add("p::gpu", &tests, 3).unwrap();
        let passed = |test: &str, warnings| PassedBefore { program: "p::gpu".into(), test: test.into(), warnings };
        assert_eq!(parts.passed().unwrap(), [passed("device::a", 3), passed("device::b, of two", 0)]);

        // Other sources, another tool, sources without a name.
        assert_eq!(of("4567def", "racecheck").passed().unwrap(), []);
        assert_eq!(of("0123abc", "memcheck").passed().unwrap(), []);
        let unknown = of("0123abc-dirty", "racecheck");
        unknown.add("p::gpu", &tests, 0).unwrap();
        assert_eq!(unknown.passed().unwrap(), []);
    }
}
