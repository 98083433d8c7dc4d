//! Where xtask runs, and the programs it can start: those of a bundle, or those that cargo builds.
//!
//! A bundle is a folder with `programs.txt` beside the xtask program; its lines are `kind package path`.

use std::{
    env, fmt, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{Outcome, cargo, workspace_root};

const LIST: &str = "programs.txt";

/// The package of the tests of the crate `cust`, in lists of programs too.
pub(crate) const CUST: &str = "cust";

/// The kind of a program, as cargo knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The unit tests of a library.
    Lib,
    /// An integration test, or the unit tests of a program.
    Test,
    Bench,
    Example,
    Bin,
}

impl Kind {
    const NAMES: [(Self, &str); 5] = [
        (Self::Lib, "lib"),
        (Self::Test, "test"),
        (Self::Bench, "bench"),
        (Self::Example, "example"),
        (Self::Bin, "bin"),
    ];

    fn parse(text: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, name)| *name == text).map(|&(kind, _)| kind)
    }

    /// Whether it is a program of tests.
    pub(crate) fn is_test(self) -> bool {
        matches!(self, Self::Lib | Self::Test)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(kind, _)| kind == self).map_or("", |&(_, name)| name);
        f.write_str(name)
    }
}

/// A program that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// The package. The program is to be started in its folder ([`folder_of`]) under [`root`].
    pub(crate) package: String,
    /// Name of the target; `unit` for the unit tests of a library, with `unit-` before it for those of a program.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The file.
    pub(crate) path: PathBuf,
}

impl Program {
    /// The path of the program in a bundle: tests find examples as in cargo's own target folder.
    pub(crate) fn place(&self) -> String {
        let Self { package, name, .. } = self;
        match self.kind {
            Kind::Example => format!("examples/{name}"),
            Kind::Bin => format!("bin/{name}"),
            Kind::Bench => format!("benches/{package}--{name}"),
            Kind::Lib | Kind::Test => format!("deps/{package}--{name}"),
        }
    }

    /// `package::name`, by which people and the evidence know it.
    pub(crate) fn title(&self) -> String {
        format!("{}::{}", self.package, self.name)
    }

    /// The folder to start it in.
    pub(crate) fn folder(&self) -> PathBuf {
        root().join(folder_of(&self.package))
    }
}

/// The folder of a package, in the workspace or in a bundle. Crates that serve `gpu-driver` stand below it, without its name before theirs; tests of
/// `cust` start in it.
pub(crate) fn folder_of(package: &str) -> PathBuf {
    if package == CUST {
        return "gpu-driver".into();
    }
    let below = package.strip_prefix("gpu-driver-").or((package == "testkit").then_some(package));
    below.map_or_else(|| package.into(), |name| Path::new("gpu-driver").join(name))
}

/// The bundle that this program lies in, if it lies in one.
fn bundle() -> Option<PathBuf> {
    let here = env::current_exe().ok()?;
    here.parent().filter(|folder| is_listed(folder)).map(Path::to_owned)
}

/// Whether xtask runs in a bundle, without cargo and sources.
pub(crate) fn is_bundle() -> bool {
    bundle().is_some()
}

/// The bundle's folder, or the workspace's. `benches/record` and the folder of each package are below either.
pub(crate) fn root() -> PathBuf {
    bundle().unwrap_or_else(workspace_root)
}

/// The folder of cargo's output when it is started in the root; in a bundle a folder in its place.
pub(crate) fn target() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map(|folder| root().join(folder));
    target.filter(|_| !is_bundle()).unwrap_or_else(|| root().join("target"))
}

/// The folder of figures and evidence, with a folder for each device.
pub(crate) fn record() -> PathBuf {
    root().join("benches/record")
}

/// A program that is no test: the bundle's, or the one that cargo builds for the test of the same name. `cargo test` has built that one, where a build
/// of the program alone would build its dependencies anew, with fewer features.
pub(crate) fn bin(package: &str, name: &str) -> Outcome<Program> {
    let all = if is_bundle() {
        listed(&root())?
    } else {
        built(false, &["test", "--no-run", "--workspace", "--test", name])?
    };
    let found = all.into_iter().find(|p| (p.kind, p.package.as_str(), p.name.as_str()) == (Kind::Bin, package, name));
    found.ok_or_else(|| format!("there is no program {name} of {package}").into())
}

/// Whether a folder has a list of programs.
pub(crate) fn is_listed(folder: &Path) -> bool {
    folder.join(LIST).is_file()
}

/// The programs that a bundle's list names.
pub(crate) fn listed(folder: &Path) -> Outcome<Vec<Program>> {
    let list = folder.join(LIST);
    let text = fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let parse =
        |line| parse_line(folder, line).ok_or_else(|| format!("{}: unknown line `{line}`", list.display()).into());
    text.lines().filter(|line| !line.trim().is_empty()).map(parse).collect()
}

/// The list of these programs, for a bundle that has each at its [`Program::place`].
pub(crate) fn write_list(folder: &Path, programs: &[Program]) -> Outcome {
    let lines = programs.iter().map(|program| format!("{} {} {}\n", program.kind, program.package, program.place()));
    Ok(fs::write(folder.join(LIST), lines.collect::<String>())?)
}

fn parse_line(folder: &Path, line: &str) -> Option<Program> {
    let mut words = line.splitn(3, ' ');
    let (kind, package, path) = (Kind::parse(words.next()?)?, words.next()?, words.next()?);
    let file = path.rsplit('/').next()?;
    let name = file.strip_prefix(package).and_then(|rest| rest.strip_prefix("--")).unwrap_or(file);
    Some(Program { package: package.to_owned(), name: name.to_owned(), kind, path: folder.join(path) })
}

/// The programs that the command of cargo builds, each once.
pub(crate) fn built(release: bool, arguments: &[&str]) -> Outcome<Vec<Program>> {
    let mut command = cargo(arguments);
    built_by(command.args(release.then_some("--release")))
}

/// The programs that a command of cargo builds in any checkout, each once.
pub(crate) fn built_by(command: &mut Command) -> Outcome<Vec<Program>> {
    let output = command.args(["--message-format", "json-render-diagnostics"]).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", output.status).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let mut programs: Vec<_> = text.lines().filter_map(|line| announced(&serde_json::from_str(line).ok()?)).collect();
    once(&mut programs);
    Ok(programs)
}

/// Sorts, and leaves one of each place: a program that tests start is announced by more than one command.
pub(crate) fn once(programs: &mut Vec<Program>) {
    programs.sort_by_key(Program::place);
    programs.dedup_by_key(|program| program.place());
}

/// The program that a message of cargo announces, if it does.
fn announced(message: &serde_json::Value) -> Option<Program> {
    let path = PathBuf::from(message["executable"].as_str().or_else(|| library(message))?);
    let package = package_of(message["package_id"].as_str()?)?.to_owned();
    let target = message["target"]["name"].as_str()?;
    let is_test = message["profile"]["test"] == true;
    let (kind, name) = match Kind::parse(message["target"]["kind"][0].as_str()?)? {
        Kind::Lib => (Kind::Lib, "unit".to_owned()),
        Kind::Bin if is_test => (Kind::Test, format!("unit-{target}")),
        // A test finds it by the name of the file.
        Kind::Example if library(message).is_some() => (Kind::Example, path.file_name()?.to_str()?.to_owned()),
        kind => (kind, target.to_owned()),
    };
    Some(Program { package, name, kind, path })
}

/// The file of an example that is a library for programs in other languages.
fn library(message: &serde_json::Value) -> Option<&str> {
    let is_library = message["target"]["kind"][0] == "example" && message["target"]["crate_types"][0] == "cdylib";
    is_library.then(|| message["filenames"][0].as_str()).flatten()
}

/// The package's name in an identifier of cargo's: `path+file:///w/gpu-array#0.1.0`, or `…/w/gpu-driver/core#gpu-driver-core@0.1.0` where the folder
/// has another name.
fn package_of(identifier: &str) -> Option<&str> {
    let (folder, version) = identifier.rsplit_once('#')?;
    version.split_once('@').map(|(name, _)| name).or_else(|| folder.rsplit('/').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(kind: Kind, package: &str, name: &str) -> Program {
        let mut program = Program { package: package.into(), name: name.into(), kind, path: PathBuf::new() };
        program.path = Path::new("/b").join(program.place());
        program
    }

    #[test]
    fn a_list_names_what_was_written() -> Outcome {
        let folder = tempfile::tempdir()?;
        let programs = [
            program(Kind::Lib, "gpu-array", "unit"),
            program(Kind::Test, "gpu-sparse", "gpu"),
            program(Kind::Bench, "benches", "sparse"),
            program(Kind::Example, "gpu-sparse", "solve"),
            program(Kind::Bin, "benches", "kernels"),
        ];
        write_list(folder.path(), &programs)?;
        let want: Vec<_> = programs.map(|p| Program { path: folder.path().join(p.place()), ..p }).into();
        assert_eq!(listed(folder.path())?, want);
        assert!(want.iter().filter(|p| p.kind.is_test()).count() == 2 && want[1].title() == "gpu-sparse::gpu");
        Ok(())
    }

    #[test]
    fn a_list_of_something_else_is_an_error() -> Outcome {
        let folder = tempfile::tempdir()?;
        assert!(listed(folder.path()).unwrap_err().to_string().contains(LIST));
        fs::write(folder.path().join(LIST), "test gpu-array deps/gpu-array--gpu\n\nnot a program\n")?;
        assert!(listed(folder.path()).unwrap_err().to_string().contains("`not a program`"));
        Ok(())
    }

    #[test]
    fn an_example_may_be_a_library() -> Outcome {
        let message = |kind: &str, executable: &str| {
            format!(
                "{{\"package_id\": \"path+file:///w/gpu-array#0.1.0\", \"profile\": {{\"test\": false}}, \"executable\": {executable}, \
                 \"filenames\": [\"/t/examples/libpython.so\"], \"target\": {{\"name\": \"python\", \"kind\": [\"example\"], \
                 \"crate_types\": [\"{kind}\"]}}}}"
            )
        };
        let told = |kind, executable| {
            Ok::<_, serde_json::Error>(announced(&serde_json::from_str(&message(kind, executable))?))
        };
        let library = told("cdylib", "null")?.ok_or("no library")?;
        assert_eq!((library.place().as_str(), library.kind), ("examples/libpython.so", Kind::Example));
        assert_eq!(told("rlib", "null")?, None);
        let program = told("bin", "\"/t/examples/python\"")?.ok_or("no program")?;
        assert_eq!((program.place().as_str(), program.path), ("examples/python", "/t/examples/python".into()));
        Ok(())
    }

    #[test]
    fn each_package_has_a_folder() {
        let folders = ["gpu-driver", "gpu-driver-emulated", "testkit"].map(folder_of);
        assert_eq!(folders, ["gpu-driver", "gpu-driver/emulated", "gpu-driver/testkit"].map(PathBuf::from));
        assert_eq!(package_of("path+file:///w/gpu-driver/core#gpu-driver-core@0.1.0"), Some("gpu-driver-core"));
        assert_eq!(package_of("path+file:///w/gpu-array#0.1.0"), Some("gpu-array"));
    }

    #[test]
    fn messages_of_cargo_announce_programs() {
        let message = |kind: &str, name: &str, test: bool| {
            announced(&serde_json::json!({
                "reason": "compiler-artifact", "package_id": "path+file:///w/gpu-array#0.1.0", "executable": "/t/x-12ab",
                "target": {"kind": [kind], "name": name}, "profile": {"test": test},
            }))
        };
        let of = |found: Option<Program>| found.map(|p| (p.kind, p.title(), p.path));
        let path = PathBuf::from("/t/x-12ab");
        assert_eq!(of(message("lib", "gpu_array", true)), Some((Kind::Lib, "gpu-array::unit".into(), path.clone())));
        assert_eq!(of(message("bin", "a", true)), Some((Kind::Test, "gpu-array::unit-a".into(), path.clone())));
        assert_eq!(of(message("bin", "a", false)), Some((Kind::Bin, "gpu-array::a".into(), path.clone())));
        assert_eq!(of(message("bench", "b", true)), Some((Kind::Bench, "gpu-array::b".into(), path)));
        assert_eq!(of(message("custom-build", "build-script-build", false)), None);
        assert_eq!(announced(&serde_json::json!({"reason": "build-finished", "success": true})), None);
    }
}
