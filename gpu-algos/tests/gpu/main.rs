//! Tests of gpu-algos on a device, and its kernels with NVRTC; reported as ignored where one is missing.
#![allow(missing_docs, unreachable_pub)]

use std::process::ExitCode;

use gpu_algos::KERNELS;
use gpu_driver::{Device, DriverError, emulated::Emulated, nvrtc};
use testkit::{Suite, tests};

mod block;
mod complex;
mod einsum;
mod errors;
mod examples;
mod existing;
mod failures;
mod halves;
mod kernels_elementwise;
mod kernels_reduction;
mod kernels_scan;
mod launches;
mod layouts;
mod lazies;
mod linalg;
mod linalg_bits;
mod lines;
mod map_rows;
mod masked;
mod matmul;
mod matmul_complex;
mod matmul_doubles;
mod matmul_epilogues;
mod matmul_halves;
mod matmul_inputs;
mod matmul_integers;
mod matmul_lists;
mod matmul_older;
mod matmul_precisions;
mod matmul_random;
mod matmul_skinny;
mod numpy;
mod reductions;
mod reductions_large;
mod reductions_random;
mod reductions_streams;
mod result_hashes;
mod result_hashes_families;
mod scans;
mod scans_host;
mod scans_large;
mod scans_random;
mod selections;
mod selections_host;
mod selections_random;
mod tensordot;
mod warm;
mod within;
mod write_at;

const NEEDS_A_GPU: &str = "the emulated device has not the memory, nor the time";

/// The device, where products of f32 can be made on its tensor cores.
fn tensor_cores(device: &Result<Device, DriverError>) -> Result<Device, String> {
    let device = device.as_ref().map_err(ToString::to_string)?;
    let arch = device.arch();
    if arch.major >= 8 { Ok(device.clone()) } else { Err(format!("they need architecture 8.0, got {arch}")) }
}

fn main() -> ExitCode {
    use failures::no_fallible_function_is_forgotten;
    let compiler = || nvrtc::version().map(|_| ());
    let device = Device::for_tests();
    // What is counted, and fails on demand, is so on the emulated device; where a GPU does the tests it is not asked for.
    let on_gpu = device.as_ref().is_ok_and(|device| !device.is_emulated());
    let require = if on_gpu { "" } else { "GPU_TESTS" };
    let emulated = || {
        device.as_ref().map_err(ToString::to_string)?;
        Emulated::new().open().map(|_| ()).map_err(|error| error.to_string())
    };
    let gpu = device.clone().map_err(|error| error.to_string());
    let gpu = if on_gpu { gpu } else { Err(NEEDS_A_GPU.to_owned()) };
    let kernels =
        KERNELS.checks().map(|(name, instance, arch)| (name, move |_: &()| Ok(instance.compile(arch).map(drop)?)));
    // The longest test comes first: at the end it would run alone.
    Suite::new()
        .group("numpy", numpy::python(), "GPU_TESTS", lines::TESTS)
        .group("numpy", testkit::python(&["numpy", "scipy"]), "GPU_TESTS", lines::OF_SCIPY)
        .group("numpy", lines::sources(), "", lines::PAGE)
        .group("numpy", numpy::python(), "GPU_TESTS", numpy::TESTS)
        .group("device", device.clone(), "GPU_TESTS", reductions::TESTS)
        .group("device", device.clone(), "GPU_TESTS", reductions_streams::TESTS)
        .group("device", device.clone(), "GPU_TESTS", reductions_random::TESTS)
        .group("device", device.clone(), "GPU_TESTS", scans::TESTS)
        .group("device", device.clone(), "GPU_TESTS", scans_host::TESTS)
        .group("device", device.clone(), "GPU_TESTS", scans_random::TESTS)
        .group("device", device.clone(), "GPU_TESTS", selections::TESTS)
        .group("device", device.clone(), "GPU_TESTS", selections_host::TESTS)
        .group("device", device.clone(), "GPU_TESTS", selections_random::TESTS)
        .group("device", device.clone(), "GPU_TESTS", masked::TESTS)
        .group("device", device.clone(), "GPU_TESTS", halves::TESTS)
        .group("device", device.clone(), "GPU_TESTS", complex::TESTS)
        .group("device", device.clone(), "GPU_TESTS", write_at::TESTS)
        .group("device", device.clone(), "GPU_TESTS", existing::TESTS)
        .group("device", device.clone(), "GPU_TESTS", errors::TESTS)
        .group("device", device.clone(), "GPU_TESTS", matmul::TESTS)
        .group("device", device.clone(), "GPU_TESTS", matmul_complex::TESTS)
        .group("device", device.clone(), "GPU_TESTS", matmul_doubles::TESTS)
        .group("device", device.clone(), "GPU_TESTS", matmul_epilogues::TESTS)
        .group("device", device.clone(), "GPU_TESTS", matmul_inputs::TESTS)
        .group("device", tensor_cores(&device), "", matmul_inputs::OF_TENSOR_CORES)
        .group("device", device.clone(), "GPU_TESTS", matmul_random::TESTS)
        .group("device", device.clone(), "GPU_TESTS", matmul_skinny::TESTS)
        .group("device", device.clone(), "GPU_TESTS", tensordot::TESTS)
        .group("device", device.clone(), "GPU_TESTS", linalg::TESTS)
        .group("device", device.clone(), "GPU_TESTS", linalg_bits::TESTS)
        .group("device", device.clone(), "GPU_TESTS", einsum::TESTS)
        .group("device", device.clone(), "GPU_TESTS", matmul_halves::TESTS)
        .group("device", device.clone(), "GPU_TESTS", matmul_integers::TESTS)
        .group("device", device.clone(), "GPU_TESTS", matmul_lists::TESTS)
        .group("device", device.clone(), "GPU_TESTS", matmul_precisions::TESTS)
        .cases("device", tensor_cores(&device), "", matmul_older::cases(!on_gpu))
        .group("device", device.clone(), "GPU_TESTS", kernels_reduction::TESTS)
        .group("device", device.clone(), "GPU_TESTS", kernels_scan::TESTS)
        .group("device", device.clone(), "GPU_TESTS", kernels_elementwise::TESTS)
        .group("device", device.clone(), "GPU_TESTS", block::TESTS)
        .group("device", device.clone(), "GPU_TESTS", examples::TESTS)
        .group("device", device.clone(), "GPU_TESTS", warm::TESTS)
        .group("device", device.clone(), "GPU_TESTS", within::TESTS)
        .group("device", device.clone(), "GPU_TESTS", map_rows::TESTS)
        .group(
            "device",
            result_hashes::recorded(device.clone().map_err(|error| error.to_string())),
            // Of a GPU there may be no record; of the emulated device there is one.
            require,
            result_hashes::TESTS,
        )
        .group("counts", emulated(), require, kernels_elementwise::COUNTS)
        .group("counts", emulated(), require, kernels_reduction::COUNTS)
        .group("counts", emulated(), require, warm::COUNTS)
        .group("counts", emulated(), require, lazies::TESTS)
        .group("counts", emulated(), require, within::COUNTS)
        .group("counts", emulated(), require, map_rows::COUNTS)
        .group("counts", emulated(), require, masked::COUNTS)
        .group("counts", emulated(), require, matmul_epilogues::COUNTS)
        .group("counts", emulated(), require, matmul_halves::COUNTS)
        .group("counts", emulated(), require, matmul_lists::COUNTS)
        .group("device", device.clone(), "GPU_TESTS", reductions_large::FEW_BLOCKS)
        .group("large", gpu.clone(), if on_gpu { "GPU_TESTS" } else { "" }, reductions_large::TESTS)
        .group("large", gpu.clone(), if on_gpu { "GPU_TESTS" } else { "" }, scans_large::TESTS)
        .group("large", gpu.clone(), if on_gpu { "GPU_TESTS" } else { "" }, kernels_scan::LARGE)
        .group("large", gpu, if on_gpu { "GPU_TESTS" } else { "" }, kernels_elementwise::LARGE)
        .cases("failures", emulated(), require, failures::cases())
        .group("failures", emulated(), require, tests![no_fallible_function_is_forgotten])
        .cases("kernels", compiler(), "GPU_COMPILE", kernels)
        .compiles_quickly(nvrtc::version().map_or(0, |(version, _)| version.major))
        .spread()
        .in_processes(!on_gpu)
        .run()
}
