//! The headers that give CUDA C++ its meaning on a CPU.

/// Name and text of each file of `emulated/src/cuda` that is named.
macro_rules! headers {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../cuda/", $name)))),*]
    };
}

/// All of them; `emulated.h` is the one that a program begins with.
pub(super) const HEADERS: &[(&str, &str)] = headers![
    "abi.h",
    "cuda_bf16.h",
    "cuda_fp16.h",
    "cuda_runtime.h",
    "device_launch_parameters.h",
    "emulated.h",
    "gpu_emulated_atomics.h",
    "gpu_emulated_casts.h",
    "gpu_emulated_hooks.h",
    "gpu_emulated_integer.h",
    "gpu_emulated_language.h",
    "gpu_emulated_math.h",
    "gpu_emulated_memory.h",
    "gpu_emulated_module.h",
    "gpu_emulated_nv_atomics.h",
    "gpu_emulated_report.h",
    "gpu_emulated_rounding.h",
    "gpu_emulated_shared.h",
    "gpu_emulated_small_float.h",
    "gpu_emulated_small_functions.h",
    "gpu_emulated_special.h",
    "gpu_emulated_sync.h",
    "gpu_emulated_textures.h",
    "gpu_emulated_types.h",
    "gpu_emulated_undefined.h",
    "gpu_emulated_warp.h",
    "math_constants.h",
    "vector_types.h",
];

/// Whether a header of ours stands for one of CUDA's. Where a program brings its own copy of that along, ours is taken: the
/// other speaks of things that only a GPU's compiler knows.
pub(super) fn is_cudas(name: &str) -> bool {
    !name.starts_with("gpu_emulated_") && !matches!(name, "abi.h" | "emulated.h")
}

/// Whether a program finds one of CUDA's headers of that name here.
pub fn has_header(name: &str) -> bool {
    is_cudas(name) && HEADERS.iter().any(|(own, _)| *own == name)
}

/// The text of CUDA's `math_constants.h`, which GPUs take too.
pub const MATH_CONSTANTS: &str = include_str!("../cuda/math_constants.h");
