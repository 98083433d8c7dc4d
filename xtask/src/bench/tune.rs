//! `cargo xtask tune`: measures a number of a kernel's policy at several values, in turn.
//!
//! A number that may be tuned stands in the code with its candidates and with the figures that depend on it, as
//!
//! ```text
//!     max_csr_blocks: 1056, // tune gpu-sparse.max_csr_blocks: 528 1056 2112; spmv/.*/gpu-sparse-csr/device
//! ```
//!
//! Each candidate is written into a copy of the checkout and built, so that the measured code is the code as it would be. Results of float sums
//! depend on such numbers, therefore they are the same for every device and are changed here, by a person or `--apply`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use clap::Args;

use super::{
    LIMIT,
    baseline::{self, Build},
    compare::{Row, Rules, Verdict, compare},
    measure::measure,
    plan::plan,
    record::Run,
    report, units,
};
use crate::{Outcome, programs, workspace_root};

/// Options of `cargo xtask tune`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The number, as `cargo xtask tune` without a name lists them.
    name: Option<String>,
    /// Starts of each program.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Seconds of each figure in each round.
    #[arg(long, default_value_t = 0.3)]
    seconds: f64,
    /// Cases to measure: `tiny`, `quick` or `full`.
    #[arg(long, default_value = "full", value_parser = ["tiny", "quick", "full"])]
    set: String,
    /// Paths to measure.
    #[arg(long, value_parser = ["cuda", "cpu", "emulated"])]
    backend: Option<String>,
    /// Measure nothing: build the candidates into this bundle, where `./xtask tune NAME` measures them.
    #[arg(long, value_name = "DIR")]
    bundle: Option<PathBuf>,
    /// Write the best value into the code: one that makes a figure faster and none slower by more than 2 %.
    #[arg(long, conflicts_with = "bundle")]
    apply: bool,
}

/// Changes smaller than this are none.
const THRESHOLD: f64 = 0.02;

/// A number in the code that may be tuned.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tunable {
    name: String,
    file: PathBuf,
    value: u64,
    candidates: Vec<u64>,
    /// A regular expression for the figures that depend on it.
    filter: String,
}

/// Runs the command with these options.
pub(crate) fn run(options: &Options) -> Outcome {
    let Some(name) = &options.name else { return list() };
    if programs::is_bundle() && (options.bundle.is_some() || options.apply) {
        return Err("a bundle measures; --bundle and --apply are for the workspace".into());
    }
    let builds = match &options.bundle {
        Some(bundle) => return into_bundle(&find(name)?, &workspace_root().join(bundle)),
        None if programs::is_bundle() => from_bundle(name)?,
        None => build(&find(name)?)?,
    };
    let Candidates { value, filter, builds } = builds;
    let plan = plan(
        &super::Options {
            filter: Some(filter),
            rounds: Some(options.rounds),
            seconds: Some(options.seconds),
            set: Some(options.set.clone()),
            backend: options.backend.clone(),
            limit: LIMIT,
            ..super::Options::default()
        },
        None,
        super::folder().join("tuned/so-far.json"),
    )?;
    let sides: Vec<_> = builds.iter().map(|(value, build)| build.side(&value.to_string())).collect();
    let runs = measure(&sides, &plan)?;
    let by_value: Vec<(u64, Run)> = builds.iter().map(|(value, _)| *value).zip(runs).collect();
    let best = judge(name, value, &by_value)?;
    save(name, &by_value)?;
    match best {
        Some(best) if options.apply => write_value(&find(name)?, &workspace_root(), best),
        _ => Ok(()),
    }
}

/// All tunables of the checkout.
fn list() -> Outcome {
    if programs::is_bundle() {
        return Err("which? the folder tune lists the ranges that this bundle can measure".into());
    }
    for Tunable { name, file, value, candidates, filter } in all(&workspace_root())? {
        println!("{name} = {value}, candidates {candidates:?}, figures {filter} ({})", file.display());
    }
    Ok(())
}

fn find(name: &str) -> Outcome<Tunable> {
    let all = all(&workspace_root())?;
    let known: Vec<&str> = all.iter().map(|tunable| tunable.name.as_str()).collect();
    let unknown = format!("there is no `{name}` to tune; there is {}", known.join(", "));
    Ok(all.iter().find(|tunable| tunable.name == name).cloned().ok_or(unknown)?)
}

/// Reads them out of the crates' sources below `root`.
fn all(root: &Path) -> Outcome<Vec<Tunable>> {
    let mut found = Vec::new();
    // The examples in this file are none.
    let is_source = |file: &PathBuf| file.extension().is_some_and(|end| end == "rs") && !file.starts_with("xtask");
    for file in tracked(root)?.into_iter().filter(is_source) {
        let text = fs::read_to_string(root.join(&file)).unwrap_or_default();
        for line in text.lines().filter(|line| line.contains(MARK)) {
            let tunable =
                tunable(&file, line).ok_or_else(|| format!("{}: no number to tune: {line}", file.display()))?;
            found.push(tunable);
        }
    }
    Ok(found)
}

/// The mark behind the code of a number to tune.
const MARK: &str = "// tune ";

/// `field: value, // tune name: candidates; filter`. The value is the last word of the code, whatever stands before it.
fn tunable(file: &Path, line: &str) -> Option<Tunable> {
    let (code, comment) = line.split_once(MARK)?;
    let value = last_word(code)?.parse().ok()?;
    let (name, rest) = comment.split_once(": ")?;
    let (candidates, filter) = rest.split_once("; ")?;
    let candidates: Vec<u64> = candidates.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
    Some(Tunable { name: name.to_owned(), file: file.to_owned(), value, candidates, filter: filter.to_owned() })
}

/// The last word of the code, without the comma or semicolon behind it.
fn last_word(code: &str) -> Option<&str> {
    code.trim_end().trim_end_matches([',', ';']).split(' ').next_back()
}

/// The files that git knows, or would.
fn tracked(root: &Path) -> Outcome<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()?;
    if !output.status.success() {
        return Err(format!("git ls-files: {}", output.status).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect())
}

/// Puts another value in the line of the tunable.
fn write_value(tunable: &Tunable, root: &Path, value: u64) -> Outcome {
    let path = root.join(&tunable.file);
    let old = fs::read_to_string(&path)?;
    let with_value = |line: &str| match self::tunable(&tunable.file, line.trim_end()) {
        Some(found) if found == *tunable => {
            let code = line.split_once(MARK).map_or(line, |(code, _)| code).trim_end();
            let end = code.trim_end_matches([',', ';']).len();
            let start = end - last_word(code).map_or(0, str::len);
            format!("{}{value}{}", &line[..start], &line[end..])
        }
        _ => line.to_owned(),
    };
    let new: String = old.split_inclusive('\n').map(with_value).collect();
    if old == new && value != tunable.value {
        return Err(format!("{}: the line of {} was not found", path.display(), tunable.name).into());
    }
    Ok(fs::write(path, new)?)
}

/// The candidates to measure, built.
struct Candidates {
    /// The value that the code has.
    value: u64,
    filter: String,
    builds: Vec<(u64, Build)>,
}

/// Builds each candidate from a copy of the checkout, and first the code as it is.
fn build(tunable: &Tunable) -> Outcome<Candidates> {
    let folder = super::folder();
    let (root, source) = (workspace_root(), folder.join("tune-source"));
    remove_others(&source, &source, &tracked(&root)?)?;
    for file in tracked(&root)?.iter().filter(|file| root.join(file).is_file()) {
        let (from, to) = (root.join(file), source.join(file));
        // Files that have not changed keep their time, so that cargo builds little.
        if fs::read(&from)? != fs::read(&to).unwrap_or_default() || !to.exists() {
            fs::create_dir_all(to.parent().unwrap_or(&source))?;
            fs::copy(&from, &to)?;
        }
    }
    let mut values = vec![tunable.value];
    values.extend(tunable.candidates.iter().copied().filter(|&candidate| candidate != tunable.value));
    let mut current = tunable.clone();
    let mut builds = Vec::new();
    for value in values {
        write_value(&current, &source, value)?;
        current.value = value;
        let place = folder.join("tune").join(&tunable.name).join(value.to_string());
        builds.push((value, baseline::build_checkout(&source, &folder.join("build"), &place)?));
    }
    Ok(Candidates { value: tunable.value, filter: tunable.filter.clone(), builds })
}

/// Removes the files below `folder` that are not among those of the checkout, by their names from `source` on.
fn remove_others(folder: &Path, source: &Path, files: &[PathBuf]) -> Outcome {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, source, files)?;
        } else if !path.strip_prefix(source).is_ok_and(|name| files.iter().any(|file| file == name)) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Builds into `bundle/tune/<name>/<value>`, with a file of the values and the filter.
fn into_bundle(tunable: &Tunable, bundle: &Path) -> Outcome {
    let folder = bundle.join("tune").join(&tunable.name);
    let built = build(tunable)?;
    for (value, build) in &built.builds {
        build.copy_to(&folder.join(value.to_string()))?;
    }
    let values: Vec<String> = built.builds.iter().map(|(value, _)| value.to_string()).collect();
    Ok(fs::write(folder.join("tune.txt"), format!("{}\n{}\n", values.join(" "), tunable.filter))?)
}

fn from_bundle(name: &str) -> Outcome<Candidates> {
    let folder = programs::root().join("tune").join(baseline::name(name)?);
    let text = fs::read_to_string(folder.join("tune.txt")).map_err(|error| format!("{}: {error}", folder.display()))?;
    let (values, filter) = text.trim().split_once('\n').ok_or("tune.txt is damaged")?;
    let values = values.split(' ').map(str::parse).collect::<Result<Vec<u64>, _>>()?;
    let build = |value: &u64| Ok((*value, Build::listed(&folder.join(value.to_string()))?));
    let builds = values.iter().map(build).collect::<Outcome<Vec<_>>>()?;
    Ok(Candidates { value: values[0], filter: filter.to_owned(), builds })
}

/// Prints a table, and finds the value to prefer: one that makes no figure slower, and the most figures faster.
fn judge(name: &str, value: u64, runs: &[(u64, Run)]) -> Outcome<Option<u64>> {
    let Some((_, base)) = runs.iter().find(|(of, _)| *of == value) else { return Err("nothing was measured".into()) };
    if let Some(failure) = runs.iter().flat_map(|(_, run)| &run.failures).next() {
        return Err(format!("{}: {}", failure.id, failure.reason).into());
    }
    if base.figures.is_empty() {
        return Err("no figure depends on it here".into());
    }
    println!("{}\n{name} = {value}", report::place(base));
    let rules = Rules { threshold: THRESHOLD, interleaved: true, allow: Vec::new() };
    let mut best = None;
    for (candidate, run) in runs.iter().filter(|(of, _)| *of != value) {
        let rows = compare(run, base, &rules);
        for row in &rows {
            println!("{name} = {candidate}  {}", told(row));
        }
        let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
        let faster = count(Verdict::Faster);
        if count(Verdict::Slower) + count(Verdict::Gone) == 0 && faster > best.map_or(0, |(most, _)| most) {
            best = Some((faster, *candidate));
        }
    }
    let best = best.map(|(_, candidate)| candidate);
    println!("best: {name} = {}", best.unwrap_or(value));
    Ok(best)
}

fn told(row: &Row) -> String {
    let time = row.this.as_ref().map_or_else(|| "-".to_owned(), |figure| units::time(figure.median));
    let change = row.change.map_or_else(String::new, |change| {
        format!("{} [{}, {}]", units::change(change.estimate), units::change(change.low), units::change(change.high))
    });
    format!("{}  {time}  {change}  {} {}", row.id, row.verdict.text(), row.reason)
}

/// Keeps the runs, by device.
fn save(name: &str, runs: &[(u64, Run)]) -> Outcome {
    for (value, run) in runs {
        let folder = super::folder().join("tuned").join(run.place.folder());
        run.save(&folder.join(format!("{name}-{value}.json")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    const LINE: &str = "    max_blocks: 2112, // tune gpu-sparse.blocks: 528 1056 2112; spmv/.*/device";

    #[test]
    fn a_line_tells_value_candidates_and_figures() {
        let found = tunable(Path::new("policy.rs"), LINE).unwrap();
        assert_eq!(
            (found.name.as_str(), found.value, &found.candidates[..]),
            ("gpu-sparse.blocks", 2112, &[528, 1056, 2112][..])
        );
        assert_eq!(found.filter, "spmv/.*/device");
        for line in
            ["max_blocks: 2112,", "max: x, // tune a: 1; b", "max: 1, // tune a: 1", "max: 1, // tune a: one; b"]
        {
            assert_eq!(tunable(Path::new("policy.rs"), line), None, "{line}");
        }
        let code = ["let n = 3;", "true => 3,", "const N: usize = 3;", "3"];
        let values =
            code.map(|code| tunable(Path::new("policy.rs"), &format!("{code} // tune a: 1 3; b")).unwrap().value);
        assert_eq!(values, [3; 4]);
    }

    /// A line that is not understood would be left out of the list.
    #[test]
    fn each_marked_line_of_the_workspace_is_understood() {
        let found = all(&crate::workspace_root()).unwrap();
        let names: Vec<&str> = found.iter().map(|tunable| tunable.name.as_str()).collect();
        assert!(
            names.contains(&"gpu-array.linear_vectors") && names.contains(&"gpu-algos.select_threads"),
            "{names:?}"
        );
    }

    #[test]
    fn another_value_is_written_into_its_line_alone() {
        let folder = tempfile::tempdir().unwrap();
        let other = "    other: 2112, // tune gpu-sparse.other: 1 2; spmv";
        fs::write(folder.path().join("policy.rs"), format!("{other}\n{LINE}\n")).unwrap();
        let found = tunable(Path::new("policy.rs"), LINE).unwrap();
        write_value(&found, folder.path(), 1056).unwrap();
        let text = fs::read_to_string(folder.path().join("policy.rs")).unwrap();
        assert_eq!(text, format!("{other}\n{}\n", LINE.replacen("2112", "1056", 1)));
        assert!(write_value(&found, folder.path(), 528).is_err(), "the line has another value now");
        let (line, changed) = ("let n = 12;  // tune a: 1; b\n", "let n = 7;  // tune a: 1; b\n");
        fs::write(folder.path().join("policy.rs"), line).unwrap();
        write_value(&tunable(Path::new("policy.rs"), line.trim_end()).unwrap(), folder.path(), 7).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("policy.rs")).unwrap(), changed);
    }

    #[test]
    fn files_that_are_gone_from_the_checkout_go_from_its_copy() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        fs::create_dir(file("src")).unwrap();
        for name in ["src/old.rs", "src/kept.rs", "old.rs"] {
            fs::write(file(name), "").unwrap();
        }
        remove_others(folder.path(), folder.path(), &[PathBuf::from("src/kept.rs")]).unwrap();
        assert!(file("src/kept.rs").exists() && !file("src/old.rs").exists() && !file("old.rs").exists());
    }

    #[test]
    fn every_tunable_of_the_workspace_has_its_value_among_the_candidates() {
        let all = all(&workspace_root()).unwrap();
        assert!(!all.is_empty());
        for tunable in all {
            assert!(tunable.candidates.contains(&tunable.value), "{tunable:?}");
            assert!(Regex::new(&tunable.filter).is_ok() && baseline::name(&tunable.name).is_ok(), "{tunable:?}");
        }
    }
}
