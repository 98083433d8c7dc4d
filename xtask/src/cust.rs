//! `cargo xtask cust`: the tests of the crate `cust`, through our table of driver functions.
//!
//! Cargo runs no tests of a dependency. So a copy of cust's sources becomes a package of its own, whose tests link `gpu-driver`, which defines the
//! symbols that cust calls. On a machine without a GPU they run on the emulated device.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    Outcome, cargo,
    programs::{self, CUST, Kind, Program, target},
    workspace_root,
};

/// Builds the tests and runs them: on the emulated device, unless `GPU_DEVICE` names another.
pub(crate) fn run() -> Outcome {
    let program = build(false)?;
    let mut command = Command::new(&program.path);
    if env::var_os("GPU_DEVICE").is_none() {
        command.env("GPU_DEVICE", "emulated");
    }
    crate::run(command.current_dir(folder()))
}

/// The program of cust's tests.
pub(crate) fn build(release: bool) -> Outcome<Program> {
    let (sources, folder) = (sources()?, folder());
    copy(&sources.join("src"), &folder.join("src"))?;
    copy(&sources.join("resources"), &folder.join("resources"))?;
    let library = fs::read_to_string(sources.join("src/lib.rs"))?;
    // Warnings about others' code are of no use here.
    let library = format!(
        "#![allow(warnings)]
{library}
#[cfg(test)]
extern crate gpu_driver;
"
    );
    write(&folder.join("src/lib.rs"), library)?;
    let root = workspace_root();
    let manifest =
        manifest(&fs::read_to_string(sources.join("Cargo.toml"))?, &fs::read_to_string(root.join("Cargo.toml"))?)?;
    write(&folder.join("Cargo.toml"), manifest)?;
    write(&folder.join("Cargo.lock"), fs::read(root.join("Cargo.lock"))?)?;
    let mut command = cargo(&["test", "--no-run", "--lib", "--quiet"]);
    command.args(release.then_some("--release")).current_dir(&folder);
    command.env("CARGO_TARGET_DIR", target()).env("CUDA_LIBRARY_PATH", root.join("gpu-driver/stub"));
    let built = programs::built_by(&mut command)?;
    let found = built.into_iter().find(|program| program.kind == Kind::Lib).ok_or("cust has no tests")?;
    Ok(Program { package: CUST.to_owned(), ..found })
}

/// The folder of the copy.
fn folder() -> PathBuf {
    target().join("cust-suite")
}

/// The folder of the sources that cargo builds.
fn sources() -> Outcome<PathBuf> {
    let output = cargo(&["metadata", "--format-version", "1"]).stderr(Stdio::inherit()).output()?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().ok_or("cargo names no packages")?;
    let manifest =
        packages.iter().find(|package| package["name"] == CUST).and_then(|cust| cust["manifest_path"].as_str());
    let manifest = manifest.ok_or("cust is no dependency")?;
    Ok(Path::new(manifest).parent().map(Path::to_owned).unwrap_or_default())
}

/// cust's manifest, with the profiles of the workspace's, and with our crate in place of the one that its examples need.
fn manifest(of_cust: &str, of_workspace: &str) -> Outcome<String> {
    const EXAMPLES: &str = "[dev-dependencies.image]\nversion = \"0.23.14\"\n";
    if !of_cust.contains(EXAMPLES) {
        return Err(format!("cust's manifest has no {EXAMPLES}").into());
    }
    let driver = workspace_root().join("gpu-driver");
    let ours = format!("[dev-dependencies.gpu-driver]\npath = \"{}\"\n", driver.display());
    let sections = of_workspace.split("\n[").filter(|section| section.starts_with("profile."));
    let is_here = |section: &&str| {
        let name = section.split(']').next().unwrap_or_default();
        let package = name.split_once(".package.").map(|(_, package)| package);
        package.is_none_or(|package| package == "\"*\"" || package.starts_with("gpu-driver"))
    };
    let profiles: String = sections.filter(is_here).map(|section| format!("\n[{section}\n")).collect();
    Ok(of_cust.replace(EXAMPLES, &ours) + "\n[workspace]\n" + &profiles)
}

fn copy(from: &Path, to: &Path) -> Outcome {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &target)?;
        } else if !path.ends_with("src/lib.rs") {
            write(&target, &fs::read(&path)?)?;
        }
    }
    Ok(())
}

/// Writes a file that is not the same already, which cargo would compile again.
fn write(path: &Path, contents: impl AsRef<[u8]>) -> Outcome {
    let is_same = fs::read(path).is_ok_and(|old| old == contents.as_ref());
    if is_same { Ok(()) } else { Ok(fs::write(path, contents)?) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_has_our_crate_and_its_profiles() -> Outcome {
        let of_cust = "[package]\nname = \"cust\"\n[dev-dependencies.image]\nversion = \"0.23.14\"\n[features]\n";
        let of_workspace = "[workspace]\n[profile.dev]\nopt-level = 1\n\n[profile.dev.package.xtask]\nopt-level = 0\n\n\
            [profile.dev.package.gpu-driver-core]\nopt-level = 3\n\n[profile.dev.package.\"*\"]\nopt-level = 2\n";
        let text = manifest(of_cust, of_workspace)?;
        assert!(text.contains("[dev-dependencies.gpu-driver]\npath = \"") && !text.contains("image"), "{text}");
        assert!(text.contains("\n[workspace]\n") && text.contains("[profile.dev]\nopt-level = 1\n"), "{text}");
        assert!(text.contains("package.gpu-driver-core]\nopt-level = 3") && text.contains("\"*\"]\nopt-level = 2"));
        assert!(!text.contains("xtask]") && manifest("[package]\n", of_workspace).is_err());
        Ok(())
    }
}
