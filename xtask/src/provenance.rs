//! The provenance of the programs: the commit, the compiler, the day. A bundle carries it in `build.json`.

use std::{fs, path::Path, process::Command};

use serde::{Deserialize, Serialize};

use crate::{
    Outcome,
    machine::{answer, today},
    programs, workspace_root,
};

const FILE: &str = "build.json";

/// The provenance of programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Build {
    /// The commit, `-dirty` behind it where files differ; empty outside a repository.
    pub(crate) revision: String,
    /// `rustc 1.…`.
    pub(crate) rustc: String,
    /// The day of the build, as 2026-11-21.
    pub(crate) date: String,
}

impl Build {
    /// The provenance of the programs at hand: as the bundle tells it, or of the workspace as it is.
    pub(crate) fn at_hand() -> Outcome<Self> {
        if !programs::is_bundle() {
            return Ok(Self::of_workspace());
        }
        Self::read(&programs::root())
    }

    /// The provenance of the programs in a folder that has a list of them.
    pub(crate) fn read(folder: &Path) -> Outcome<Self> {
        let path = folder.join(FILE);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?)
    }

    /// The provenance of programs that are built from the workspace now.
    pub(crate) fn of_workspace() -> Self {
        Self::of(&workspace_root())
    }

    /// The provenance of programs that are built from a checkout now.
    pub(crate) fn of(checkout: &Path) -> Self {
        let git = |arguments: &[&str]| answer(Command::new("git").args(arguments).current_dir(checkout));
        let mut revision = git(&["rev-parse", "--short", "HEAD"]);
        // Records are written between the runs of one build.
        let changes = ["status", "--porcelain", "--untracked-files=no", "--", ".", ":!benches/record"];
        if !git(&changes).is_empty() {
            revision += "-dirty";
        }
        Self { revision, rustc: answer(Command::new("rustc").arg("--version")), date: today() }
    }

    pub(crate) fn write(&self, bundle: &Path) -> Outcome {
        Ok(fs::write(bundle.join(FILE), serde_json::to_string(self)? + "\n")?)
    }
}

/// Whether another build of this revision has the same sources.
pub(crate) fn is_commit(revision: &str) -> bool {
    !revision.is_empty() && !revision.ends_with("-dirty")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_has_a_compiler_and_a_day() {
        let build = Build::of_workspace();
        assert!(build.rustc.starts_with("rustc 1."), "{build:?}");
        assert!(build.date.len() == 10 && build.date.as_bytes()[4] == b'-', "{build:?}");
    }

    #[test]
    fn only_clean_revisions_are_commits() {
        assert!(is_commit("b2bc5ec") && !is_commit("b2bc5ec-dirty") && !is_commit(""));
    }
}
