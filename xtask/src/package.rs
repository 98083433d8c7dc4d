//! `cargo xtask package`: each crate can be packed as it would be published, and needs nothing outside of itself.
//!
//! Cargo's own check compiles every package once more. Its one finding besides those of clippy is a file outside the package, so the files that
//! sources include are looked at instead.

use std::{
    fs,
    path::{Component, Path, PathBuf},
    process::{Command, Stdio},
};

use regex::Regex;

use crate::{Outcome, workspace_root};

/// Packs all crates without compiling them; fails at a warning of cargo's, and where a source includes a file of another package.
pub(crate) fn run() -> Outcome {
    let root = workspace_root();
    pack(&root)?;
    let mut outside = Vec::new();
    let included = Regex::new(r#"\binclude(?:_str|_bytes)?!\(\s*(?:concat!\(\s*)?"([^"]+)""#)?;
    for source in sources(&root)? {
        let text = fs::read_to_string(&source)?;
        let names = included.captures_iter(&text).map(|found| found.extract::<1>().1[0].to_owned());
        let foreign = names.filter(|name| package_of(&target_of(&source, name)) != package_of(&source));
        outside.extend(foreign.map(|name| format!("{} includes {name}", source.display())));
    }
    if outside.is_empty() { Ok(()) } else { Err(format!("outside the package: {}", outside.join("; ")).into()) }
}

/// Packs the workspace of a folder; an error at a warning.
fn pack(root: &Path) -> Outcome {
    let mut command = Command::new(env!("CARGO"));
    // `--quiet` would leave out the warnings.
    command.args(["package", "--workspace", "--no-verify", "--allow-dirty", "--color", "never"]).current_dir(root);
    eprintln!("$ {command:?}");
    let output = command.stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() && !said.lines().any(|line| line.starts_with("warning")) {
        return Ok(());
    }
    Err(format!("cargo package: {}\n{said}", output.status).into())
}

/// The Rust files that git knows.
fn sources(root: &Path) -> Outcome<Vec<PathBuf>> {
    let output = Command::new("git").args(["ls-files", "*.rs"]).current_dir(root).output()?;
    if !output.status.success() {
        return Err(format!("git ls-files: {}", output.status).into());
    }
    let names = String::from_utf8(output.stdout)?;
    Ok(names.lines().map(|name| root.join(name)).filter(|path| path.is_file()).collect())
}

/// The file that `name` means in `source`, without `..`.
fn target_of(source: &Path, name: &str) -> PathBuf {
    let mut target = source.parent().unwrap_or(source).to_owned();
    for part in Path::new(name).components() {
        match part {
            Component::ParentDir => drop(target.pop()),
            Component::CurDir => {}
            part => target.push(part),
        }
    }
    target
}

/// The folder of the package that a file belongs to: the nearest with a manifest.
fn package_of(file: &Path) -> Option<&Path> {
    file.ancestors().skip(1).find(|folder| folder.join("Cargo.toml").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_does_not_describe_itself_is_an_error() {
        let package = tempfile::tempdir().unwrap();
        fs::create_dir(package.path().join("src")).unwrap();
        fs::write(package.path().join("src/lib.rs"), "").unwrap();
        let packed = |more: &str| {
            let manifest =
                format!("[package]\nname = \"one\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{more}\n[workspace]\n");
            fs::write(package.path().join("Cargo.toml"), manifest).unwrap();
            pack(package.path()).map_err(|error| error.to_string())
        };
        let told = packed("").unwrap_err();
        assert!(told.contains("no description"), "{told}");
        packed("description = \"d\"\nlicense = \"MIT\"\ndocumentation = \"https://docs.rs/one\"").unwrap();
    }

    /// Crates that are not published have them too; cargo says nothing of those.
    #[test]
    fn every_crate_has_a_description_keywords_and_documentation() {
        let root = workspace_root();
        let workspace = fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let members = workspace.split("members = [").nth(1).unwrap().split(']').next().unwrap();
        let members: Vec<_> = members.split('"').skip(1).step_by(2).collect();
        assert!(members.len() >= 11 && members.contains(&"xtask"), "{members:?}");
        for member in members {
            let manifest = fs::read_to_string(root.join(member).join("Cargo.toml")).unwrap();
            let package = manifest.split("\n[").find(|section| section.starts_with("[package]")).unwrap();
            for key in ["description", "keywords", "documentation"] {
                let is_there = package.lines().any(|line| line.split(['=', '.']).next().unwrap().trim() == key);
                assert!(is_there, "{member} has no {key}");
            }
        }
    }

    #[test]
    fn a_file_of_a_package_below_or_above_is_outside() {
        let root = tempfile::tempdir().unwrap();
        for package in ["a", "a/below"] {
            fs::create_dir_all(root.path().join(package).join("src")).unwrap();
            fs::write(root.path().join(package).join("Cargo.toml"), "").unwrap();
        }
        let source = root.path().join("a/src/lib.rs");
        let is_inside = |name: &str| package_of(&target_of(&source, name)) == package_of(&source);
        assert!(is_inside("x.cu") && is_inside("../x.cu") && is_inside("./device/../x.cu") && is_inside("../tests/x"));
        assert!(!is_inside("../../x.cu") && !is_inside("../below/src/x.cu") && !is_inside("/x.cu"));
    }
}
