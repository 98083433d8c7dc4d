//! The baselines that figures are judged by, and their origins: saved names, revisions, the record, files.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{self, Command},
};

use super::{
    record::Run,
    side::{Bench, Side},
};
use crate::{
    Outcome, machine,
    programs::{self, Kind, Program},
    provenance,
};

const FIGURES: &str = "run.json";

/// A baseline.
pub(super) enum Base {
    /// Programs, to be run in turn with those they are compared with.
    Programs(Build),
    /// Figures of another time.
    Figures(Box<Run>),
    /// The newest figures in the record, of whichever place turns out to be this one.
    Record,
}

/// The programs of one revision.
#[derive(Clone, Debug)]
pub(super) struct Build {
    pub(super) programs: Vec<Program>,
    pub(super) provenance: provenance::Build,
}

impl Build {
    /// The programs of this bundle, or built here, with the libraries of peers or without.
    pub(super) fn at_hand(peers: bool) -> Outcome<Self> {
        if programs::is_bundle() {
            return Self::listed(&programs::root());
        }
        Ok(Self {
            programs: programs::built_by(build(&mut crate::cargo(&[])).args(peers.then_some("--features=peers")))?,
            provenance: provenance::Build::of_workspace(),
        })
    }

    /// The programs in a bundle, or in a folder that this command made.
    pub(super) fn listed(folder: &Path) -> Outcome<Self> {
        Ok(Self { programs: programs::listed(folder)?, provenance: provenance::Build::read(folder)? })
    }

    /// The side of a comparison that measures its bench programs.
    pub(super) fn side(&self, label: &str) -> Side {
        let bench = |program: &Program| Bench {
            name: program.name.clone(),
            path: program.path.clone(),
            arguments: Vec::new(),
            is_criterion: true,
            every: 1,
        };
        let benches = self.programs.iter().filter(|program| program.kind == Kind::Bench).map(bench).collect();
        let provenance::Build { revision, rustc, .. } = self.provenance.clone();
        let rustc = Some(rustc).filter(|rustc| !rustc.is_empty());
        Side { label: label.to_owned(), revision, rustc, benches, peers: false }
    }

    /// Copies the programs into a folder from which they are run again.
    pub(super) fn copy_to(&self, folder: &Path) -> Outcome {
        let programs: Vec<Program> =
            self.programs.iter().filter(|program| matches!(program.kind, Kind::Bench | Kind::Bin)).cloned().collect();
        for program in &programs {
            let place = folder.join(program.place());
            fs::create_dir_all(place.parent().unwrap_or(folder))?;
            fs::copy(&program.path, place)?;
        }
        programs::write_list(folder, &programs)?;
        self.provenance.write(folder)
    }
}

/// Adds the arguments to a command of cargo that build the criterion programs, and those that prepare matrices.
fn build(cargo: &mut Command) -> &mut Command {
    cargo.args(["build", "--release", "--package", "benches", "--benches", "--bins"])
}

/// Checks a name to save under.
pub(super) fn name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    match text {
        "record" => Err("`record` is the record's name".to_owned()),
        "" => Err("a name has letters".to_owned()),
        _ if text.starts_with('.') || !text.chars().all(fits) => {
            Err("letters, digits, `.`, `_`, `-` make a name".to_owned())
        }
        _ => Ok(text.to_owned()),
    }
}

/// Keeps figures and programs below `folder`, in place of those that had the name.
pub(super) fn save(name: &str, folder: &Path, build: &Build, run: &Run) -> Outcome {
    let place = saved(folder, name);
    // Beside it first: the programs may be those that had the name.
    let part = place.with_extension(format!("{}.part", process::id()));
    fs::create_dir_all(&part)?;
    build.copy_to(&part)?;
    run.save(&part.join(FIGURES))?;
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    Ok(fs::rename(part, place)?)
}

fn saved(folder: &Path, name: &str) -> PathBuf {
    folder.join("saved").join(name)
}

/// The baseline that `name` stands for; `None` when it stands for nothing. With `stored` only figures are looked for, no programs.
pub(super) fn find(name: &str, folder: &Path, stored: bool) -> Outcome<Option<Base>> {
    if name == "record" {
        return Ok(Some(Base::Record));
    }
    let figures = |path: &Path| Ok(Some(Base::Figures(Box::new(Run::load(path)?))));
    let saved = Some(saved(folder, name)).filter(|place| self::name(name).is_ok() && place.is_dir());
    let path = saved.unwrap_or_else(|| PathBuf::from(name));
    if path.is_file() {
        figures(&path)
    } else if stored && path.join(FIGURES).is_file() {
        figures(&path.join(FIGURES))
    } else if !stored && programs::is_listed(&path) {
        Ok(Some(Base::Programs(Build::listed(&path)?)))
    } else if programs::is_bundle() || stored {
        Ok(None)
    } else {
        let commit = machine::commit(&programs::root(), name);
        commit.map(|commit| of_commit(&commit, folder).map(Base::Programs)).transpose()
    }
}

/// Builds the programs of a commit in a checkout of their own; those built before are kept.
fn of_commit(commit: &str, folder: &Path) -> Outcome<Build> {
    let place = folder.join("revisions").join(commit);
    if let Ok(build) = Build::listed(&place) {
        return Ok(build);
    }
    let checkout = tempfile::tempdir()?;
    let source = checkout.path().join("source");
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(programs::root());
        command
    };
    // Removes the worktrees that a stopped command left registered.
    crate::run(&mut git(&["worktree", "prune"]))?;
    crate::run(git(&["worktree", "add", "--quiet", "--detach"]).args([&source, &PathBuf::from(commit)]))?;
    let built = build_checkout(&source, &folder.join("build"), &place);
    let removed = crate::run(git(&["worktree", "remove", "--force"]).arg(&source));
    let built = built?;
    removed.map(|()| built)
}

/// Builds a checkout with that target folder, and copies the programs to `place`.
pub(super) fn build_checkout(source: &Path, target: &Path, place: &Path) -> Outcome<Build> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(source).env("CARGO_TARGET_DIR", target);
    eprintln!("building {} in {}", source.display(), target.display());
    let build = Build { programs: programs::built_by(build(&mut cargo))?, provenance: provenance::Build::of(source) };
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    fs::create_dir_all(place)?;
    build.copy_to(place)?;
    Build::listed(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        assert!(["main", "a-1.2_b"].iter().all(|text| name(text).is_ok()));
        assert!(["", "record", "..", ".a", "a/b", "a b"].iter().all(|text| name(text).is_err()));
    }

    #[test]
    fn what_was_saved_is_found_with_figures_and_programs() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, "").unwrap();
        let program = Program { package: "benches".into(), name: "sparse".into(), kind: Kind::Bench, path: program };
        let provenance = provenance::Build { revision: "abc".into(), ..provenance::Build::default() };
        let build = Build { programs: vec![program], provenance };
        let run = Run { format: super::super::record::FORMAT, ..Run::default() };
        save("main", folder.path(), &build, &run).unwrap();
        save("main", folder.path(), &build, &run).unwrap();
        let Some(Base::Programs(found)) = find("main", folder.path(), false).unwrap() else { panic!("no programs") };
        assert_eq!(found.side("x").revision, "abc");
        assert_eq!(found.side("x").benches[0].name, "sparse");
        assert!(found.side("x").benches[0].path.is_file());
        assert!(matches!(find("main", folder.path(), true).unwrap(), Some(Base::Figures(_))));
        assert!(find("no-such-name-or-revision", folder.path(), false).unwrap().is_none());
        assert!(find("HEAD", folder.path(), true).unwrap().is_none());
    }
}
