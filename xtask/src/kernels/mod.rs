//! `cargo xtask kernels`: the resources that the machine code of each kernel takes, and whether it keeps within the recorded budget.
//!
//! A kernel whose text, headers and options are those of the record takes as much as then, so it is not compiled again.

use std::{
    collections::BTreeMap,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde::Deserialize;

use crate::{Outcome, programs};

mod budgets;

use budgets::{Budgets, Findings};

/// Ampere, Hopper, Blackwell: the tests compile for them too.
const ARCHS: &str = "sm_80,sm_90,sm_100";

/// Each kernel's digest, by `crate::kernel`.
pub(crate) type Digests = BTreeMap<String, String>;

/// The kernels to look at, and whether to record their budgets.
#[derive(clap::Args, Default)]
pub(crate) struct Arguments {
    /// Only kernels whose `crate::kernel` contains this.
    filter: Option<String>,
    /// Record the resources that are found as the budgets, in benches/record/kernels.json.
    #[arg(long)]
    record: bool,
    /// Compile those too that have not changed since the record.
    #[arg(long)]
    all: bool,
}

/// A kernel, as the program `kernels` of `benches` describes it.
#[derive(Clone, Debug, Deserialize)]
struct Kernel {
    #[serde(rename = "crate")]
    package: String,
    kernel: String,
    /// Changes when anything changes that it is compiled from.
    digest: String,
    /// The compiler's version; nothing when it was not compiled.
    nvrtc: Option<String>,
    /// The resources on each architecture; None where the compiler makes no machine code for one.
    #[serde(default)]
    archs: BTreeMap<String, Option<Usage>>,
}

impl Kernel {
    /// `crate::kernel`.
    fn name(&self) -> String {
        format!("{}::{}", self.package, self.kernel)
    }
}

/// The resources that the machine code of a kernel takes; all but the registers in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
struct Usage {
    registers: u64,
    shared_bytes: u64,
    stack_bytes: u64,
    spill_store_bytes: u64,
    spill_load_bytes: u64,
    constant_bytes: u64,
    /// A hash of the instructions alone: names play no part. 0 where it is not told.
    #[serde(default)]
    code: u64,
}

/// The digest of each kernel, none of which is compiled.
pub(crate) fn digests() -> Outcome<Digests> {
    Ok(listed("")?.into_iter().map(|kernel| (kernel.name(), kernel.digest)).collect())
}

/// All kernels whose name contains the filter, not compiled.
fn listed(filter: &str) -> Outcome<Vec<Kernel>> {
    asked(&["--", filter], "")
}

/// These kernels, compiled for every architecture.
fn compiled(kernels: &[Kernel]) -> Outcome<Vec<Kernel>> {
    match kernels {
        [] => Ok(Vec::new()),
        _ => asked(
            &["--compile", ARCHS, "--named"],
            &kernels.iter().map(|kernel| kernel.name() + "\n").collect::<String>(),
        ),
    }
}

/// The kernels that the program `kernels` tells of.
fn asked(arguments: &[&str], input: &str) -> Outcome<Vec<Kernel>> {
    let program = programs::bin("benches", "kernels")?;
    let failed = |error| format!("{}: {error}", program.path.display());
    let mut command = Command::new(&program.path);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    // It reads all of them before it writes.
    child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(input.as_bytes())).map_err(failed)?;
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        return Err(format!("{}: {}", program.title(), output.status).into());
    }
    parse(&String::from_utf8(output.stdout)?)
}

fn parse(lines: &str) -> Outcome<Vec<Kernel>> {
    lines.lines().map(|line| Ok(serde_json::from_str(line).map_err(|error| format!("{line}: {error}"))?)).collect()
}

/// Prints the table and compares it with the budgets, or records it.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let filter = arguments.filter.as_deref().unwrap_or_default();
    let all = listed(filter)?;
    if all.is_empty() {
        return Err(format!("no kernel's name contains `{filter}`").into());
    }
    let path = path();
    let mut recorded = Budgets::read(&path)?.unwrap_or_default();
    let changed: Vec<_> = all.iter().filter(|kernel| arguments.all || !recorded.have(kernel)).cloned().collect();
    let compiled = compiled(&changed)?;
    let nvrtc = match compiled.first() {
        Some(Kernel { nvrtc: None, .. }) if arguments.record => return Err("nothing to record without NVRTC".into()),
        Some(Kernel { nvrtc: None, .. }) => {
            println!("kernels: {}, not compiled: their budgets are not checked", compiled.len());
            return Ok(());
        }
        Some(Kernel { nvrtc: Some(nvrtc), .. }) => nvrtc.clone(),
        None => String::new(),
    };
    if !compiled.is_empty() {
        print!("{}", table(&compiled));
    }
    if arguments.record {
        if filter.is_empty() {
            recorded.keep(&all);
        }
        let others = (compiled.len() < all.len() || !filter.is_empty()).then_some(recorded);
        Budgets::of(&compiled, &nvrtc, others)?.write(&path)?;
        println!("kernels: {}, recorded in {}", compiled.len(), path.display());
        return Ok(());
    }
    let findings = Findings::of(&compiled, &all, &nvrtc, &recorded, filter);
    print!("{findings}");
    if findings.fails() { Err("kernels do not keep within their budgets".into()) } else { Ok(()) }
}

fn path() -> PathBuf {
    programs::root().join("benches/record/kernels.json")
}

/// A line for each kernel and architecture.
fn table(kernels: &[Kernel]) -> String {
    let width = kernels.iter().map(|kernel| kernel.name().len()).max().unwrap_or(0);
    let mut text = format!(
        "{:width$}  {:6}  registers  shared  stack  spilled, read back  constant   (bytes; of a block, of a thread)\n",
        "kernel", "arch"
    );
    for kernel in kernels {
        for (at, (arch, usage)) in in_order(&kernel.archs).into_iter().enumerate() {
            let name = if at == 0 { kernel.name() } else { String::new() };
            text += &format!("{name:width$}  {arch:6}  ");
            text += &usage.map_or("no machine code by this NVRTC".to_owned(), |usage| {
                let Usage {
                    registers,
                    shared_bytes,
                    stack_bytes,
                    spill_store_bytes,
                    spill_load_bytes,
                    constant_bytes,
                    ..
                } = usage;
                format!(
                    "{registers:9}  {shared_bytes:6}  {stack_bytes:5}  {:>18}  {constant_bytes:8}",
                    format!("{spill_store_bytes}, {spill_load_bytes}")
                )
            });
            text.push('\n');
        }
    }
    text
}

/// By number: sm_80 before sm_100.
fn in_order<T>(archs: &BTreeMap<String, T>) -> Vec<(&str, &T)> {
    let mut all: Vec<_> = archs.iter().map(|(arch, value)| (arch.as_str(), value)).collect();
    all.sort_by_key(|(arch, _)| (arch.len(), *arch));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = concat!(
        r#"{"archs":{"sm_100":null,"sm_80":{"constant_bytes":424,"registers":64,"shared_bytes":76,"#,
        r#""spill_load_bytes":8,"spill_store_bytes":4,"stack_bytes":16}},"#,
        r#""crate":"gpu-sparse","digest":"83","kernel":"dot<double, 256, 4>","nvrtc":"13.0","source":"steps.cu"}"#,
        "\n",
        r#"{"crate":"gpu-array","digest":"84","kernel":"gpu::array::linear<copy_u8::Expression, 256, 16, 1>","#,
        r#""source":"linear.cuh"}"#,
        "\n",
    );

    #[test]
    fn lines_are_read_and_shown() -> Outcome {
        let kernels = parse(LINES)?;
        assert_eq!(kernels[0].name(), "gpu-sparse::dot<double, 256, 4>");
        assert!(kernels[1].nvrtc.is_none() && kernels[1].archs.is_empty());
        let table = table(&kernels);
        let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[1][..], ["gpu-sparse::dot<double,", "256,", "4>", "sm_80", "64", "76", "16", "4,", "8", "424"]);
        assert_eq!(rows[2][0], "sm_100");
        assert!(table.contains("no machine code"), "{table}");
        assert!(parse("fill").unwrap_err().to_string().starts_with("fill: "));
        Ok(())
    }
}
