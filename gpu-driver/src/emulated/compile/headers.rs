//! The headers that give CUDA C++ its meaning on a CPU.

/// Name and text of each file of `emulated/cuda` that is named.
macro_rules! headers {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../cuda/", $name)))),*]
    };
}

/// All of them; `emulated.h` is the one that a program begins with.
pub(super) const HEADERS: &[(&str, &str)] = headers!["abi.h"];

/// Whether a header of ours stands for one of CUDA's. Where a program brings its own copy of that along, ours is taken: the
/// other speaks of things that only a GPU's compiler knows.
pub(super) fn is_cudas(name: &str) -> bool {
    !name.starts_with("gpu_emulated_") && !matches!(name, "abi.h" | "emulated.h")
}
