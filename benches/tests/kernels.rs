//! The list of kernels. Tests that need NVRTC are reported as ignored where there is none.
#![allow(missing_docs)]

use std::{
    collections::HashSet,
    path::PathBuf,
    process::{Command, ExitCode, Output},
};

use gpu_driver::nvrtc;
use serde_json::Value;
use testkit::{Suite, functions};

fn main() -> ExitCode {
    let anywhere = functions![every_kernel_of_every_registry_is_listed_once, without_nvrtc_it_lists_or_fails_as_asked];
    let compiled = functions![machine_code_is_described_and_ptx_is_not];
    Suite::new()
        .functions("anywhere", Ok::<(), &str>(()), "", anywhere)
        .functions("nvrtc", nvrtc::version().map(|_| ()), "GPU_COMPILE", compiled)
        .run()
}

/// As cargo built it, or in the bundle.
fn program() -> Command {
    let built = PathBuf::from(env!("CARGO_BIN_EXE_kernels"));
    let here = std::env::current_exe().unwrap_or_default();
    let bundled = here.ancestors().nth(2).map(|bundle| bundle.join("bin/kernels"));
    Command::new(bundled.filter(|_| !built.exists()).unwrap_or(built))
}

fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

fn every_kernel_of_every_registry_is_listed_once() {
    let output = program().output().unwrap();
    assert!(output.status.success());
    let lines = lines(&output);
    let registries = [
        &gpu_algos::KERNELS,
        &gpu_array::KERNELS,
        &gpu_random::KERNELS,
        &gpu_sparse::KERNELS,
        &benches::memory::KERNELS,
    ];
    let want = registries.map(|registry| registry.instances().len()).iter().sum::<usize>();
    assert_eq!(lines.len(), want);
    let of = |key: &str| lines.iter().map(|line| line[key].as_str().unwrap().to_owned()).collect::<HashSet<_>>();
    assert_eq!(of("digest").len(), want);
    assert_eq!(
        of("crate"),
        ["benches", "gpu-algos", "gpu-array", "gpu-random", "gpu-sparse"].map(str::to_owned).into()
    );
    assert!(lines.iter().all(|line| line.get("archs").is_none()));
}

fn machine_code_is_described_and_ptx_is_not() {
    for again in [false, true] {
        // The second answer comes from the cache.
        let output = program().args(["--compile", "sm_90,sm_250", "linear<copy_f32::"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = lines(&output);
        assert_eq!(lines.len(), 1, "again: {again}");
        assert!(lines[0]["archs"]["sm_90"]["registers"].as_u64() > Some(4), "again: {again}, {}", lines[0]);
        assert!(lines[0]["archs"]["sm_250"].is_null() && lines[0]["nvrtc"].is_string(), "{}", lines[0]);
    }
    let refused = program().args(["--compile", "sm_20", "linear<copy_f32::"]).output().unwrap();
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("sm_20"));
}

fn without_nvrtc_it_lists_or_fails_as_asked() {
    let run = |require: &str| {
        let mut program = program();
        program.args(["--compile", "sm_90", "linear<copy_f32::"]);
        program.env("GPU_NVRTC", "/nonexistent").env("GPU_COMPILE", require).output().unwrap()
    };
    let listed = run("");
    assert!(listed.status.success() && String::from_utf8_lossy(&listed.stderr).contains("not compiled: no NVRTC"));
    assert!(lines(&listed).len() == 1 && lines(&listed)[0].get("archs").is_none());
    let failed = run("require");
    assert!(!failed.status.success() && failed.stdout.is_empty());
}
