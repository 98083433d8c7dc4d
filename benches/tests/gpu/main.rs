//! The bench programs in the smallest set, each figure called once, and the kernel with NVRTC; reported as ignored where something is
//! missing. The programs run as children of this one: started with a bench's name in `BENCHES_TEST_RUN`, it is that bench.
#![allow(missing_docs)]

use std::{
    collections::HashSet,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Duration,
};

use benches::{
    harness::{Check, Gpu, Harness, Work},
    programs,
};
use gpu_driver::{Device, DeviceVec, nvrtc};
use serde_json::{Value, json};
use testkit::{Outcome, Suite, ensure, ensure_eq, tests};

const RUN: &str = "BENCHES_TEST_RUN";
type Program = (&'static str, fn(&mut Harness));
const PROGRAMS: [Program; 7] = [
    ("memory", programs::memory),
    ("arrays", programs::arrays),
    ("sparse", programs::sparse),
    ("algos", programs::algos),
    ("primitives", programs::primitives),
    ("random", programs::random),
    ("clocks", clocks),
];

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(RUN) {
        let program = PROGRAMS.iter().find(|(program, _)| *program == name);
        return program.map_or(ExitCode::FAILURE, |&(_, figures)| Harness::run(figures));
    }
    let on_device = tests![
        primitives_are_measured_on_a_device,
        sparse_products_and_solves_are_measured_on_a_device,
        arrays_are_measured_on_a_device,
        copies_and_fills_are_measured_on_a_device,
        short_calls_are_timed_in_graphs,
        peers_that_are_missing_are_gaps
    ];
    let anywhere =
        tests![programs_measure_on_the_cpu, peers_on_the_cpu_are_checked, settings_that_mean_nothing_end_a_program];
    let kernels = benches::memory::KERNELS
        .checks()
        .map(|(name, instance, arch)| (name, move |_: &()| Ok(instance.compile(arch).map(drop)?)));
    Suite::new()
        .group("cpu", Ok::<_, String>(()), "", anywhere)
        .group(
            "python",
            testkit::python(&["numpy"]),
            "GPU_TESTS",
            tests![figures_that_hang_or_crash_are_gaps, times_that_clocks_contradict_are_gaps],
        )
        .group("device", Device::for_tests(), "GPU_TESTS", on_device)
        .group("cublas", with_cublas(), "", tests![emulated_products_err_at_most_twice_as_much_as_cublas])
        .cases("kernels", nvrtc::version().map(|_| ()), "GPU_COMPILE", kernels)
        .run()
}

/// The output of a program: its facts, and whether it ended well.
struct Left {
    lines: Vec<Value>,
    success: bool,
}

impl Left {
    fn ids(&self, kind: &str) -> HashSet<&str> {
        self.lines.iter().filter(|line| line["kind"] == kind).filter_map(|line| line["id"].as_str()).collect()
    }

    /// That it ended well and left one environment, each figure once, and nothing that failed.
    fn is_whole(&self, backend: &str) -> Outcome {
        ensure!(self.success && self.ids("failure").is_empty(), "{:#?}", self.lines);
        let environments: Vec<_> = self.lines.iter().filter(|line| line["kind"] == "environment").collect();
        ensure!(matches!(environments[..], [environment] if environment["backend"] == backend), "{environments:?}");
        let figures: Vec<_> = self.lines.iter().filter(|line| line["kind"] == "figure").collect();
        ensure_eq!(figures.len(), self.ids("figure").len());
        for figure in figures {
            let id = figure["id"].as_str().unwrap_or_default();
            ensure!(id.split('/').count() == 5, "{id}");
            let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
            ensure!(id.split('/').all(|part| !part.is_empty() && part.chars().all(allowed)), "{id}");
            ensure!(figure["error"].is_number(), "{figure}");
        }
        Ok(())
    }
}

fn run(program: &str, backend: &str, variables: &[(&str, &str)]) -> Result<Left, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let facts = folder.path().join("facts.jsonl");
    let mut command = Command::new(std::env::current_exe()?);
    command.env(RUN, program).env("BENCH_BACKEND", backend).env("BENCH_SET", "tiny").env("BENCH_FACTS", &facts);
    command.env("CRITERION_HOME", folder.path()).env_remove("BENCH_PEERS").envs(variables.iter().copied());
    if program == "clocks" {
        // Sampled, in the shortest time: without these arguments each figure is called once.
        command.args([
            "--bench",
            "--warm-up-time",
            "0.0001",
            "--measurement-time",
            "0.0001",
            "--nresamples",
            "10",
            "--noplot",
        ]);
    }
    let output = command.output()?;
    let lines = fs::read_to_string(&facts).unwrap_or_default();
    let lines = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    Ok(Left { lines, success: output.status.success() })
}

fn backend(device: &Device) -> &'static str {
    if device.is_emulated() { "emulated" } else { "cuda" }
}

/// A program measures each of its figures on a device, these among them, and none on the CPU.
fn measures(device: &Device, program: &str, ids: &[&str]) -> Outcome {
    let left = run(program, backend(device), &[])?;
    left.is_whole(backend(device))?;
    let figures = left.ids("figure");
    for &id in ids {
        ensure!(figures.contains(id), "{id} of {figures:?}");
    }
    ensure!(figures.iter().all(|id| !id.ends_with("/cpu")), "{figures:?}");
    Ok(())
}

fn copies_and_fills_are_measured_on_a_device(device: &Device) -> Outcome {
    let ids = [
        "copy/bytes/16384/machine/device",
        "read/bytes/16384/machine/device",
        "fill/bytes/16384/machine/device",
        "fill/u8/4096/gpu-array/wall",
        "arange/f64/4096/gpu-array/device",
        "copy/f32/4096/gpu-array/device",
        "upload/f32/4096-pageable/gpu-array/wall",
        "download/f32/4096-pinned/gpu-driver/wall",
        "download/f32/4096-fresh/gpu-array/wall",
        "launch/f32/1/gpu-array/wall",
    ];
    measures(device, "memory", &ids)
}

fn arrays_are_measured_on_a_device(device: &Device) -> Outcome {
    let ids = [
        "lincomb/f32/4096/gpu-array/device",
        "lincomb/f32/4096/gpu-algos-kernel/device",
        "lincomb/f32/4096-eval/gpu-array/wall",
        "wave/f32/4096/gpu-array/device",
        "broadcast-add/f32/64-column/gpu-array/device",
        "transpose/u8/64/gpu-array/device",
        "astype/f32/2048-to-f64/gpu-array/device",
        "expression-overhead/f32/4096-eval/gpu-array/enqueue",
    ];
    measures(device, "arrays", &ids)
}

fn sparse_products_and_solves_are_measured_on_a_device(device: &Device) -> Outcome {
    let ids = [
        "spmv/f64/poisson1d-500-variable/gpu-sparse-csr/device",
        "spmv/f32/poisson3d-6-variable/gpu-sparse-packets/wall",
        "axpby/f64/poisson1d-500-variable/gpu-sparse-csr/device",
        "cg200/f64/poisson1d-500-variable/gpu-sparse-csr/wall",
        "cg200-jacobi/f64/poisson1d-500-variable/gpu-sparse-packets/wall",
    ];
    measures(device, "sparse", &ids)
}

fn primitives_are_measured_on_a_device(device: &Device) -> Outcome {
    let ids = [
        "sum/f32/4096/gpu-algos/device",
        "sum/f64/4096/gpu-algos/wall",
        "max/f32/4096/gpu-algos/device",
        "argmax/f32/4096/gpu-algos/device",
        "dot/f64/4096/gpu-algos/device",
        "expression-sum/f32/4096/gpu-algos/device",
        "mean-var/f32/4096/gpu-algos/device",
        "reduce-axis0/f32/64/gpu-algos/device",
        "reduce-axis1/f32/64/gpu-algos/wall",
        "standardise/f32/64/gpu-algos/device",
        "softmax/f32/64/gpu-algos/device",
        "reduce-overhead/f32/4096-eval/gpu-algos/enqueue",
        "reduce-overhead/f32/4096-write/gpu-algos/enqueue",
    ];
    measures(device, "primitives", &ids)
}

/// Figures of each kind of clock.
fn clocks(harness: &mut Harness) {
    let buffer = |gpu: &Gpu| Ok(DeviceVec::from_slice(gpu.stream(), &[7_u32; 64])?);
    let is_zero = |buffer: &mut DeviceVec<u32>, ()| Ok(Check::equal(&buffer.to_vec()?, &[0; 64]));
    harness.figure("zero", "u32", 64, "gpu-driver").work_of(|| Ok(Work::fills(256))).on_gpu(
        buffer,
        |buffer| Ok(buffer.set_zero()?),
        is_zero,
    );
    // Waits, which cannot be captured.
    harness.figure("download", "u32", 64, "gpu-driver").on_gpu(
        buffer,
        |buffer| Ok(buffer.to_vec()?),
        |_, got| Ok(Check::equal(&got, &[7; 64])),
    );
    harness.figure("prepared", "u32", 64, "gpu-driver").wall_only().on_gpu(
        |gpu| {
            gpu.prepare(|| {
                std::thread::sleep(Duration::from_millis(3));
                Ok(())
            })
        },
        |()| Ok(()),
        |(), ()| Ok(Check::holds(true)),
    );
    harness.figure("zero", "u32", 65, "gpu-driver").enqueue_only().on_gpu(
        buffer,
        |buffer| Ok(buffer.set_zero()?),
        is_zero,
    );
}

fn short_calls_are_timed_in_graphs(device: &Device) -> Outcome {
    let left = run("clocks", backend(device), &[])?;
    left.is_whole(backend(device))?;
    let of = |kind: &str| left.lines.iter().filter(|line| line["kind"] == kind).collect::<Vec<_>>();
    let timed_by: Vec<_> = of("figure").iter().map(|line| (line["id"].clone(), line["timed_by"].clone())).collect();
    let want = [
        ("zero/u32/64/gpu-driver/device", "graph"),
        ("zero/u32/64/gpu-driver/wall", "calls"),
        ("download/u32/64/gpu-driver/device", "calls"),
        ("download/u32/64/gpu-driver/wall", "calls"),
        ("prepared/u32/64/gpu-driver/wall", "calls"),
        ("zero/u32/65/gpu-driver/enqueue", "calls"),
    ];
    ensure_eq!(timed_by, want.map(|(id, by)| (json!(id), json!(by))));
    ensure_eq!(of("figure")[0]["bytes"], json!(256));
    ensure!(of("compile")[0]["seconds"].as_f64() >= Some(0.003), "{:?}", left.lines);
    Ok(())
}

/// A device beside which there is cuBLAS, in programs that are built with it.
#[cfg(feature = "peers")]
fn with_cublas() -> Result<Device, String> {
    let device = Device::for_tests().map_err(|error| error.to_string())?;
    benches::peers::emulated::ready(&device).map_err(|error| error.to_string())?;
    Ok(device)
}

#[cfg(not(feature = "peers"))]
fn with_cublas() -> Result<Device, String> {
    Err("built without the feature `peers` of the crate benches".into())
}

/// Neither the greatest error nor the mean square's root is more than twice that of cublasSgemm, for factors of each kind.
#[cfg(feature = "peers")]
fn emulated_products_err_at_most_twice_as_much_as_cublas(device: &Device) -> Outcome {
    use benches::peers::emulated::{Errors, Factors, beside_cublas};
    let mut worse = Vec::new();
    for lengths in
        [[512, 512, 512], [300, 1000, 77], [1024, 1024, 1024], [1024, 4096, 1024], [2048, 128, 2048], [257, 1031, 4093]]
    {
        for kind in Factors::ALL {
            let [ours, forced, theirs] = beside_cublas(device, kind, lengths)?;
            let told = format!("{kind:?} {lengths:?}: {ours:?}, on tensor cores {forced:?}, cublasSgemm {theirs:?}");
            println!("{told}");
            let is_within = |ours: Errors| ours.most <= 2.0 * theirs.most && ours.mean <= 2.0 * theirs.mean;
            if !is_within(ours) || !is_within(forced) {
                worse.push(told);
            }
        }
    }
    ensure!(worse.is_empty(), "{worse:#?}");
    Ok(())
}

#[cfg(not(feature = "peers"))]
fn emulated_products_err_at_most_twice_as_much_as_cublas(_: &Device) -> Outcome {
    Err("there is no cuBLAS".into())
}

/// On the emulated device they always are; on another each of their figures is there or a gap.
fn peers_that_are_missing_are_gaps(device: &Device) -> Outcome {
    let peers: [(&str, &[&str]); 3] =
        [("sparse", &["cusparse"]), ("algos", &["cublas", "cublaslt", "cusolver"]), ("random", &["curand"])];
    for (program, peers) in peers {
        let left = run(program, backend(device), &[("BENCH_PEERS", "1")])?;
        left.is_whole(backend(device))?;
        for &peer in peers {
            let is_gap = |line: &&Value| line["kind"] == "gap" && line["peer"] == peer && line["reason"].is_string();
            let gaps = left.lines.iter().filter(is_gap).count();
            let measured = left.ids("figure").iter().any(|id| id.contains(&format!("/{peer}")));
            ensure!(
                if device.is_emulated() { gaps == 1 && !measured } else { gaps > 0 || measured },
                "{peer}: {:#?}",
                left.lines
            );
        }
    }
    Ok(())
}

fn programs_measure_on_the_cpu(_: &()) -> Outcome {
    let want = [
        ("memory", "read/bytes/16384/machine/cpu"),
        ("sparse", "spmv/f64/poisson1d-500-variable/gpu-sparse-packets/cpu"),
        ("sparse", "cg200-jacobi/f64/poisson1d-500-variable/gpu-sparse-csr/cpu"),
        ("sparse", "coo-to-csr/f64/poisson1d-500-variable/gpu-sparse/cpu"),
        ("sparse", "mm-read/f64/poisson1d-500-variable/gpu-sparse/cpu"),
        ("algos", "dot/f32/4096/gpu-algos-rayon/cpu"),
        ("arrays", "wave/f32/4096/gpu-array-host/cpu"),
        ("random", "xorwow-bits/u32/4096/gpu-random/cpu"),
    ];
    for (program, id) in want {
        let left = run(program, "cpu", &[])?;
        left.is_whole("cpu")?;
        let figures = left.ids("figure");
        ensure!(figures.contains(id) && figures.iter().all(|id| id.ends_with("/cpu")), "{id} of {figures:?}");
    }
    Ok(())
}

fn peers_on_the_cpu_are_checked(_: &()) -> Outcome {
    for (program, by) in [("sparse", "sprs"), ("algos", "ndarray"), ("arrays", "ndarray-zip"), ("sparse", "faer")] {
        let left = run(program, "cpu", &[("BENCH_PEERS", "1")])?;
        left.is_whole("cpu")?;
        let figures: Vec<_> = left.lines.iter().filter(|line| line["peer"] == Value::Bool(true)).collect();
        let measured = figures.iter().any(|line| line["id"].to_string().contains(&format!("/{by}/")));
        let gap = left.lines.iter().any(|line| line["kind"] == "gap" && line["peer"] == by);
        ensure!(measured || (gap && by == "faer" && !cfg!(feature = "peers")), "{by}: {:#?}", left.lines);
    }
    Ok(())
}

/// A library of which the dot products of f32 hang, in a call that nothing interrupts, and those of f64 end the process.
const ENDING: &str = "
class Ending(NumPy):
    name = 'ending'

    def dot(self, v):
        import ctypes, os
        wait = lambda depth: wait(depth - 1) if depth else sleep()
        def sleep():
            ctypes.PyDLL(None).sleep(100)
        wait(9) if v.dtype == 'f32' else os.abort()

ALL = {'ending': Ending}
";

/// A library of which each call takes 4 ms, and whose events say 0.1 ms of calls with f32.
const LYING: &str = "
class Lying(NumPy):
    name, backend = 'lying', 'cuda'

    def norm2(self, v):
        import time
        call = super().norm2(v)
        self.said = 1e-4 if v.dtype == 'f32' else 4e-3
        return lambda: (time.sleep(4e-3), call())[1]

    def batch(self, call, runs):
        for _ in range(runs):
            call()
        return runs * self.said

ALL = {'lying': Lying}
";

/// The lines of a copy of Python's peers whose modules end with more text.
fn python_with(
    python: &PathBuf,
    texts: &[(&str, &str)],
    filter: &str,
    backend: &str,
) -> Result<Left, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join("peer"))?;
    for name in ["", "peer"] {
        for entry in fs::read_dir(Path::new("peers").join(name))? {
            let from = entry?.path();
            if from.extension().is_some_and(|extension| extension == "py") {
                fs::copy(&from, folder.path().join(from.strip_prefix("peers")?))?;
            }
        }
    }
    for (name, text) in texts {
        let mut file = fs::OpenOptions::new().append(true).open(folder.path().join("peer").join(name))?;
        file.write_all(text.as_bytes())?;
    }
    let mut command = Command::new(python);
    command.arg(folder.path().join("peers.py")).args(["--seconds", "0.01", "--filter", filter]);
    command.env_remove("BENCH_FACTS").env_remove("BENCH_CASES");
    let output = command.env("BENCH_BACKEND", backend).env("BENCH_SET", "tiny").output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    Ok(Left { lines, success: true })
}

fn figures_that_hang_or_crash_are_gaps(python: &PathBuf) -> Outcome {
    let texts = [("libraries.py", ENDING), ("figures.py", "\nLIMIT_S = 2\n")];
    let left = python_with(python, &texts, "^(dot|norm2)/", "cpu")?;
    let gaps: Vec<_> = left.lines.iter().filter(|line| line["kind"] == "gap").collect();
    ensure_eq!(left.ids("gap"), HashSet::from(["dot/f32/4096/ending/cpu", "dot/f64/4096/ending/cpu"]));
    ensure_eq!(gaps.len(), 2);
    // The reason tells the innermost call.
    let hanging = gaps.iter().find(|gap| gap["id"].to_string().contains("f32")).map(|gap| gap["reason"].to_string());
    ensure!(hanging.as_ref().is_some_and(|reason| reason.contains(" in sleep")), "{hanging:?}");
    // Those behind are measured.
    ensure_eq!(left.ids("figure"), HashSet::from(["norm2/f32/4096/ending/cpu", "norm2/f64/4096/ending/cpu"]));
    Ok(())
}

fn times_that_clocks_contradict_are_gaps(python: &PathBuf) -> Outcome {
    let left = python_with(python, &[("libraries.py", LYING)], "^norm2/", "cuda")?;
    ensure_eq!(left.ids("gap"), HashSet::from(["norm2/f32/4096/lying/device"]));
    let [wall, both] = ["norm2/f32/4096/lying/wall", "norm2/f64/4096/lying/wall"];
    ensure_eq!(left.ids("figure"), HashSet::from([wall, both, "norm2/f64/4096/lying/device"]));
    Ok(())
}

fn settings_that_mean_nothing_end_a_program(_: &()) -> Outcome {
    ensure!(!run("random", "gpu", &[])?.success);
    ensure!(!run("random", "cpu", &[("BENCH_SET", "huge")])?.success);
    ensure!(!run("random", "cpu", &[("BENCH_FACTS", "/nonexistent/facts")])?.success);
    Ok(())
}
