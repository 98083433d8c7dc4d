//! The machine: its processor and GPU, the time.

use std::{
    collections::BTreeMap,
    env, fs,
    path::Path,
    process::{Command, Stdio},
    thread,
};

use serde::{Deserialize, Serialize};

/// The processor.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Host {
    pub(crate) processor: String,
    pub(crate) threads: usize,
}

/// The processor's name and how many threads it runs at once.
pub(crate) fn host() -> Host {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named =
        |line: &str| line.strip_prefix("model name").map(|rest| rest.trim_start_matches([' ', '\t', ':']).to_owned());
    Host {
        processor: info.lines().find_map(named).unwrap_or_else(|| env::consts::ARCH.to_owned()),
        threads: thread::available_parallelism().map_or(1, usize::from),
    }
}

/// UTC now, as RFC 3339 has it.
pub(crate) fn now() -> String {
    answer(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]))
}

/// The day of it, as 2026-11-21.
pub(crate) fn today() -> String {
    now().chars().take(10).collect()
}

/// The answers of nvidia-smi for these fields of the first GPU; those it does not know are left out, all where there is no GPU.
pub(crate) fn gpu(fields: &[&str]) -> BTreeMap<String, String> {
    let ask = |fields: &str| {
        let mut command = Command::new("nvidia-smi");
        answer(command.args([&format!("--query-gpu={fields}"), "--format=csv,noheader", "--id=0"]))
    };
    let pair = |field: &str, said: &str| Some((field.to_owned(), said.to_owned())).filter(|(_, said)| !said.is_empty());
    let together = ask(&fields.join(","));
    let said: Vec<&str> = together.lines().next().unwrap_or("").split(", ").collect();
    if said.len() == fields.len() && fields.len() > 1 {
        return fields.iter().zip(said).filter_map(|(field, said)| pair(field, said)).collect();
    }
    // One that it does not know makes it refuse all.
    fields.iter().filter_map(|field| pair(field, &ask(field))).collect()
}

/// A device's name as a folder's: `nvidia-h200` of `NVIDIA H200`.
pub(crate) fn slug(name: &str) -> String {
    let letters = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    letters.collect::<String>().split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// The whole name of a commit.
pub(crate) fn commit(folder: &Path, name: &str) -> Option<String> {
    let name = format!("{name}^{{commit}}");
    let mut git = Command::new("git");
    let said = answer(git.args(["rev-parse", "--verify", "--quiet", "--end-of-options", &name]).current_dir(folder));
    said.lines().last().map(str::to_owned)
}

/// The output of a command, trimmed; empty when it fails.
pub(crate) fn answer(command: &mut Command) -> String {
    let output = command.stderr(Stdio::null()).output().ok().filter(|output| output.status.success());
    output.map_or_else(String::new, |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
