//! The machine's C++ compiler.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use gpu_driver_core::{DriverError, Result, environment};

/// A C++ compiler that answers.
#[derive(Clone, Debug)]
pub(super) struct Toolchain {
    /// The program.
    pub(super) path: PathBuf,
    /// The words of `CXX` behind the program: the compiler, where the program is one like ccache.
    pub(super) arguments: Vec<String>,
    /// Its output for `--version`.
    pub(super) version: String,
    /// Whether it is Clang; else it takes GCC's options.
    pub(super) is_clang: bool,
}

impl Toolchain {
    /// The command without options. Messages are in English whatever the user's language, since they are searched for
    /// line numbers; variables that add folders to the search for headers would bypass the cache's key.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments).env("LC_ALL", "C").env("SOURCE_DATE_EPOCH", "0");
        for name in ["CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"] {
            command.env_remove(name);
        }
        command
    }

    /// GCC's major version: the first line ends in the whole one.
    pub(super) fn gcc_major(&self) -> Option<u32> {
        let last =
            self.version.lines().next()?.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        last.filter(|_| !self.is_clang)?.split('.').next()?.parse().ok()
    }

    /// All that tells this compiler from another.
    pub(super) fn identity(&self) -> String {
        format!("{} {:?} {}", self.path.display(), self.arguments, self.version)
    }
}

/// The compiler: `CXX` if it is set, else the first of c++, g++ and clang++ in `PATH`. Found once per process.
pub(super) fn toolchain() -> Result<&'static Toolchain> {
    static FOUND: OnceLock<Result<Toolchain>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = env::split_paths(&path).collect();
        let asked = environment::text("CXX", "a command in UTF-8")?;
        search(asked.as_deref(), &folders)
    });
    found.as_ref().map_err(Clone::clone)
}

fn search(cxx: Option<&str>, folders: &[PathBuf]) -> Result<Toolchain> {
    let asked = cxx.filter(|text| !text.trim().is_empty());
    let candidates = asked.map_or(vec!["c++", "g++", "clang++"], |text| vec![text]);
    let mut searched = Vec::new();
    for candidate in candidates {
        match probe(candidate, folders) {
            Ok(found) => return Ok(found),
            Err(why) => searched.push(format!("{}{candidate} ({why})", if asked.is_some() { "CXX=" } else { "" })),
        }
    }
    Err(DriverError::NoCompiler { searched })
}

/// Asks the compiler that `words` name for its version.
fn probe(words: &str, folders: &[PathBuf]) -> Result<Toolchain, String> {
    let mut words = words.split_whitespace().map(str::to_owned);
    let program = words.next().unwrap_or_default();
    let path = locate(&program, folders).ok_or("not found")?;
    let mut found = Toolchain { path, arguments: words.collect(), version: String::new(), is_clang: false };
    let output = found.command().arg("--version").output().map_err(|error| error.to_string())?;
    found.version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    found.is_clang = found.version.contains("clang");
    if !output.status.success() || found.version.is_empty() {
        return Err(format!("`--version` failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(found)
}

/// A program by its path, or by its name in one of the folders.
fn locate(program: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return std::path::absolute(path).ok().filter(|path| path.is_file());
    }
    folders.iter().map(|folder| folder.join(path)).find(|path| path.is_file() && path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_compiler_says_what_was_tried_and_what_to_install() {
        let error = search(None, &[]).unwrap_err().to_string();
        assert!(
            error.contains("c++ (not found)") && error.contains("clang++ (not") && error.contains("CXX"),
            "{error}"
        );
        let error = search(Some("/nowhere/g++ -m64"), &[]).unwrap_err().to_string();
        assert!(error.contains("CXX=/nowhere/g++ -m64 (") && !error.contains("clang++ (not"), "{error}");
        let error = search(Some("/bin/false"), &[]).unwrap_err().to_string();
        assert!(error.contains("`--version` failed"), "{error}");
    }

    #[test]
    #[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
    fn cxx_may_hold_arguments() {
        let found = toolchain().unwrap();
        let words = [vec![found.path.display().to_string()], found.arguments.clone()].concat();
        let wrapped = search(Some(&format!("/usr/bin/env {}", words.join(" "))), &[]).unwrap();
        assert_eq!((wrapped.version, wrapped.arguments), (found.version.clone(), words));
    }
}
