//! `cargo xtask bundle`: what a GPU machine without a Rust toolchain needs.
//!
//! One folder: programs under `deps/`, `examples/`, `benches/` and `bin/`, the data files of each package's tests, `run.sh`, and the
//! programs of peers under `peers/` with the revision that they are compared with.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{Outcome, cargo, run, workspace_root};

/// One program that cargo built.
struct Program {
    package: String,
    /// Name of the target; `unit` for the unit tests of a library, with `unit-` before it for those of a program.
    name: String,
    kind: String,
    path: PathBuf,
}

impl Program {
    /// Where it goes: tests find examples as in cargo's own target folder.
    fn place(&self) -> String {
        match self.kind.as_str() {
            "example" => format!("examples/{}", self.name),
            "bin" => format!("bin/{}", self.name),
            "bench" => format!("benches/{}--{}", self.package, self.name),
            _ => format!("deps/{}--{}", self.package, self.name),
        }
    }
}

/// Builds, copies, strips, and writes the script.
pub(crate) fn create(out: &Path) -> Outcome {
    let programs = build()?;
    let out = workspace_root().join(out);
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    for folder in ["deps", "examples", "benches", "bin"] {
        fs::create_dir_all(out.join(folder))?;
    }
    let mut list = String::new();
    for program in &programs {
        let place = program.place();
        let target = out.join(&place);
        fs::copy(&program.path, &target)?;
        run(Command::new("strip").arg(&target))?;
        list += &format!("{} {} {place}\n", program.kind, program.package);
        copy_test_data(&program.package, &out)?;
    }
    fs::write(out.join("programs.txt"), list)?;
    let script = out.join("run.sh");
    fs::write(&script, include_str!("../bundle/run.sh"))?;
    run(Command::new("chmod").arg("+x").arg(&script))?;
    copy_data(&workspace_root().join("benches/peers"), &out.join("peers"))?;
    fs::write(out.join("revision.txt"), revision())?;
    println!("{} programs in {}", programs.len(), out.display());
    Ok(())
}

/// The commit that the programs are built from, `-dirty` where files differ from it; nothing outside a repository.
fn revision() -> String {
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--dirty"]).current_dir(workspace_root()).stderr(Stdio::null());
    git.output().map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Builds all test, bench, example and program targets in release and lists their programs. Two commands: `cargo test --examples`
/// would make tests of the examples.
fn build() -> Outcome<Vec<Program>> {
    let mut programs = Vec::new();
    for what in [&["test", "--no-run", "--tests"][..], &["build", "--examples", "--benches", "--bins"]] {
        let mut command = cargo(what);
        command.args(["--release", "--workspace", "--exclude", "xtask", "--message-format", "json"]);
        let output = command.stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(format!("{command:?}: {}", output.status).into());
        }
        let text = String::from_utf8(output.stdout)?;
        programs.extend(text.lines().filter_map(|line| program(&serde_json::from_str(line).ok()?)));
    }
    // A program that tests start is announced by both commands.
    programs.sort_by_key(Program::place);
    programs.dedup_by_key(|program| program.place());
    Ok(programs)
}

/// The program that a message of cargo announces, if it does.
fn program(message: &serde_json::Value) -> Option<Program> {
    let path = PathBuf::from(message["executable"].as_str()?);
    let manifest = PathBuf::from(message["manifest_path"].as_str()?);
    let package = manifest.parent()?.file_name()?.to_str()?.to_owned();
    let target = message["target"]["name"].as_str()?;
    let (kind, name) = match message["target"]["kind"][0].as_str()? {
        "lib" => ("lib", "unit".to_owned()),
        "bin" if message["profile"]["test"] == true => ("test", format!("unit-{target}")),
        kind => (kind, target.to_owned()),
    };
    Some(Program { package, name, kind: kind.to_owned(), path })
}

/// Copies what the package's tests read.
fn copy_test_data(package: &str, out: &Path) -> Outcome {
    let from = workspace_root().join(package).join("tests");
    let to = out.join(package).join("tests");
    // The script starts each program in its package's folder.
    fs::create_dir_all(out.join(package))?;
    if from.is_dir() && !to.exists() { copy_data(&from, &to) } else { Ok(()) }
}

/// Copies everything below `from` but Rust files and what Python leaves behind.
fn copy_data(from: &Path, to: &Path) -> Outcome {
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.ends_with("__pycache__") {
            continue;
        } else if path.is_dir() {
            copy_data(&path, &target)?;
        } else if path.extension().is_none_or(|extension| extension != "rs") {
            fs::create_dir_all(to)?;
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}
