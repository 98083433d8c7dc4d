//! `cargo xtask bundle`: the files that a GPU machine without a Rust toolchain needs.
//!
//! One folder: this program as `xtask`, others under `deps/`, `examples/`, `benches/` and `bin/` with their list, the data files of each package's
//! tests, the programs of peers and the records under `benches`, and the provenance of the build in `build.json`.

use std::{fs, path::Path, process::Command};

use crate::{
    Outcome, cust, mutants,
    programs::{self, Program},
    provenance::Build,
    run, workspace_root,
};

/// Builds, copies, strips, and writes the list of programs.
pub(crate) fn create(out: &Path) -> Outcome {
    let programs = build()?;
    let xtask = programs::built(true, &["build", "--package", "xtask"])?;
    let [xtask] = &xtask[..] else { return Err(format!("xtask is {} programs", xtask.len()).into()) };
    let out = workspace_root().join(out);
    if programs::is_listed(&out) {
        fs::remove_dir_all(&out)?;
    } else if fs::read_dir(&out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(format!("{} is no bundle, and not empty", out.display()).into());
    }
    for folder in ["deps", "examples", "benches", "bin"] {
        fs::create_dir_all(out.join(folder))?;
    }
    for program in &programs {
        copy_program(program, &out.join(program.place()))?;
        copy_test_data(&program.package, &out)?;
    }
    copy_program(xtask, &out.join("xtask"))?;
    programs::write_list(&out, &programs)?;
    Build::of_workspace().write(&out)?;
    // Kernels, of which `mutants` makes others.
    let kernels = mutants::kernels::AREAS.map(|(folder, _)| folder);
    for folder in ["benches/peers", "benches/record"].into_iter().chain(kernels) {
        copy_data(&workspace_root().join(folder), &out.join(folder))?;
    }
    println!("{} programs in {}", programs.len(), out.display());
    Ok(())
}

fn copy_program(program: &Program, to: &Path) -> Outcome {
    fs::copy(&program.path, to)?;
    run(Command::new("strip").arg(to))
}

/// Builds all test, bench, example and program targets in release. Two commands: `cargo test --examples` would make tests of
/// the examples.
fn build() -> Outcome<Vec<Program>> {
    let mut programs = Vec::new();
    for command in [&["test", "--no-run", "--tests"][..], &["build", "--examples", "--benches", "--bins"]] {
        programs.extend(programs::built(
            true,
            &[command, &["--workspace", "--exclude", "xtask", "--features", "benches/peers"]].concat(),
        )?);
    }
    programs.push(cust::build(true)?);
    programs::once(&mut programs);
    Ok(programs)
}

/// Copies the files that the package's tests read.
fn copy_test_data(package: &str, out: &Path) -> Outcome {
    let folder = programs::folder_of(package);
    let (from, to) = (workspace_root().join(&folder).join("tests"), out.join(&folder).join("tests"));
    // Each program is started in its package's folder.
    fs::create_dir_all(out.join(&folder))?;
    if from.is_dir() && !to.exists() { copy_data(&from, &to) } else { Ok(()) }
}

/// Copies everything below `from` but Rust files and Python's caches.
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
