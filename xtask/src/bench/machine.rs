//! The machine that figures are of.

use std::{collections::BTreeMap, env, fs, path::Path, process::Command, thread};

use super::record::Host;
use crate::provenance::answer;

/// The processor's name and how many threads it runs at once.
pub(super) fn host() -> Host {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named =
        |line: &str| line.strip_prefix("model name").map(|rest| rest.trim_start_matches([' ', '\t', ':']).to_owned());
    Host {
        processor: info.lines().find_map(named).unwrap_or_else(|| env::consts::ARCH.to_owned()),
        threads: thread::available_parallelism().map_or(1, usize::from),
    }
}

/// UTC now, as RFC 3339 has it.
pub(super) fn now() -> String {
    answer(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]))
}

/// What nvidia-smi says of the first GPU for each of these fields; those it does not know are left out.
pub(super) fn gpu(fields: &[&str]) -> BTreeMap<String, String> {
    let ask = |field: &&str| {
        let mut command = Command::new("nvidia-smi");
        let said = answer(command.args([&format!("--query-gpu={field}"), "--format=csv,noheader", "--id=0"]));
        Some(((*field).to_owned(), said)).filter(|(_, said)| !said.is_empty() && !said.contains("not a valid field"))
    };
    fields.iter().filter_map(ask).collect()
}

/// The whole name of a commit.
pub(super) fn commit(folder: &Path, name: &str) -> Option<String> {
    let name = format!("{name}^{{commit}}");
    let mut git = Command::new("git");
    let said = answer(git.args(["rev-parse", "--verify", "--quiet", "--end-of-options", &name]).current_dir(folder));
    said.lines().last().map(str::to_owned)
}
