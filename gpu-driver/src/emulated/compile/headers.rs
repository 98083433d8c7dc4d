//! The headers that give CUDA C++ its meaning on a CPU.

/// Name and text of each; `emulated.h` is the one that a program begins with.
pub(super) const HEADERS: &[(&str, &str)] = &[("abi.h", include_str!("../cuda/abi.h"))];

/// Whether a header is one of CUDA's own: where a program brings its own copy, ours is taken, as the other speaks of
/// things that only a GPU's compiler knows.
pub(super) fn is_cudas(name: &str) -> bool {
    name.starts_with("cuda_")
        || matches!(name, "cooperative_groups.h" | "mma.h" | "vector_types.h" | "vector_functions.h")
}
