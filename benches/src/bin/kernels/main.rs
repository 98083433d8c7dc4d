//! Every kernel of every registry, a JSON object each: `kernels --compile sm_80,sm_90,sm_100`.
//!
//! `{"crate", "kernel", "source", "digest"}`; the digest changes when anything changes that the kernel is compiled from. With
//! `--compile` the object has `nvrtc`, the compiler's version, and `archs`, where each architecture has the figures of `ptxas` for the machine code:
//! see [`ptxas::Usage`], and [`code::hash`]. Nothing is launched, so no GPU is needed. `cargo xtask kernels` reads it.
#![forbid(unsafe_code)]

mod code;
mod ptxas;

use std::{
    collections::HashSet,
    env,
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Parser;
use gpu_driver::{Arch, BinaryKind, Instance, Registry, nvrtc};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

/// The registries; a crate with kernels adds its own here.
fn registries() -> [&'static Registry; 5] {
    [&gpu_algos::KERNELS, &gpu_array::KERNELS, &gpu_random::KERNELS, &gpu_sparse::KERNELS, &benches::memory::KERNELS]
}

/// Lists the kernels of all crates.
#[derive(Parser)]
struct Options {
    /// Compile them for these architectures, such as sm_90, and tell the registers and memory that the machine code takes.
    #[arg(long, value_delimiter = ',', value_parser = arch)]
    compile: Vec<Arch>,
    /// Write the machine code of each there too, for nvdisasm.
    #[arg(long, requires = "compile")]
    out: Option<PathBuf>,
    /// Only kernels whose `crate::kernel` is a line of the standard input.
    #[arg(long)]
    named: bool,
    /// Only kernels whose `crate::kernel` contains this.
    filter: Option<String>,
}

fn arch(text: &str) -> Result<Arch, String> {
    let number: Option<u32> = text.strip_prefix("sm_").and_then(|digits| digits.parse().ok());
    number.map(|number| Arch::new(number / 10, number % 10)).ok_or_else(|| "no architecture; one is sm_90".to_owned())
}

fn main() -> ExitCode {
    let mut options = Options::parse();
    let mut version = None;
    if !options.compile.is_empty() {
        match nvrtc::version() {
            Ok((found, _)) => version = Some(found.to_string()),
            Err(error) => {
                eprintln!("the kernels are not compiled: {error}");
                // Any other value than `require` is a mistake, which must not let all pass.
                if env::var_os("GPU_COMPILE").is_some_and(|value| !value.is_empty()) {
                    return ExitCode::FAILURE;
                }
                options.compile.clear();
            }
        }
    }
    let names = match options.named.then(|| io::stdin().lines().collect::<Result<HashSet<_>, _>>()).transpose() {
        Ok(names) => names,
        Err(error) => {
            eprintln!("error: standard input: {error}");
            return ExitCode::FAILURE;
        }
    };
    let filter = options.filter.take().unwrap_or_default();
    let is_wanted = |name: &String| name.contains(&filter) && names.as_ref().is_none_or(|names| names.contains(name));
    let all = registries().into_iter().flat_map(Registry::instances);
    let all: Vec<&Instance> = all.filter(|instance| is_wanted(&name(instance))).collect();
    let lines: Vec<_> = all.par_iter().map(|instance| describe(instance, &options, version.as_deref())).collect();
    let mut code = ExitCode::SUCCESS;
    for (instance, line) in all.iter().zip(lines) {
        match line {
            Ok(line) => println!("{line}"),
            Err(error) => {
                eprintln!("error: {}: {error}", name(instance));
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

fn name(instance: &Instance) -> String {
    format!("{}::{}", instance.registry(), instance.expression())
}

fn describe(
    instance: &Instance,
    options: &Options,
    version: Option<&str>,
) -> Result<Value, Box<dyn Error + Send + Sync>> {
    let mut line = json!({
        "crate": instance.registry(),
        "kernel": instance.expression(),
        "source": instance.source_name(),
        "digest": instance.digest(),
    });
    if let Some(version) = version {
        let usages = options
            .compile
            .iter()
            .filter(|&&arch| instance.is_for(arch))
            .map(|&arch| Ok((arch.to_string(), usage(instance, arch, options.out.as_deref())?)));
        line["archs"] = Value::Object(usages.collect::<Result<Map<_, _>, Box<dyn Error + Send + Sync>>>()?);
        line["nvrtc"] = version.into();
    }
    Ok(line)
}

/// The resources that the machine code takes, which is kept in `out`; null where this NVRTC makes none for the architecture.
fn usage(instance: &Instance, arch: Arch, out: Option<&Path>) -> Result<Value, Box<dyn Error + Send + Sync>> {
    let binary = instance.compile_with_report(arch)?;
    if binary.kind() != BinaryKind::Cubin {
        return Ok(Value::Null);
    }
    if let Some(loss) = ptxas::loss(binary.log()) {
        return Err(format!("{arch}: {loss}").into());
    }
    if let Some(out) = out {
        let name = format!("{}-{arch}", name(instance)).replace(|c: char| !c.is_alphanumeric() && c != '-', "_");
        // A name of a file has at most 255 bytes.
        fs::write(out.join(name.chars().take(240).collect::<String>() + ".cubin"), binary.image())?;
    }
    let kernel = binary.names().first().map_or(instance.expression(), |(_, mangled)| mangled);
    let usage = ptxas::usage(binary.log(), kernel);
    let usage = usage.ok_or_else(|| format!("{arch}: the compiler's log tells nothing of it:\n{}", binary.log()))?;
    let mut line = usage.to_json();
    line["code"] = code::hash(binary.image()).into();
    Ok(line)
}
