//! Parameters of scans of a user's text.

use gpu_array::gpu_driver::{Header, joined_text, kernel_params};

kernel_params! {
    /// The parameters of a scan whose arguments have `WORDS` words.
    pub(super) struct ScanKernelParams<"int WORDS">, ScanKernelHead {
        /// The number of places.
        count: u64,
        /// The first place.
        start: i64,
        /// From one place to the next.
        step: i64,
        /// Tiles.
        tiles: u64,
        /// The address of the scratch memory.
        scratch: u64,
        /// The `n` of the texts.
        length: u64;
        /// The arguments, one after another.
        arguments: ["uint64_t"; "WORDS"],
    }
}

/// The header of the parameters.
pub(super) const PARAMS: Header = Header {
    name: "scan_kernel_params.cuh",
    text: joined_text![
        "#pragma once\n#include \"list.cuh\"\nnamespace gpu::algos::kernels {\n",
        ScanKernelHead::DEFINITION,
        "} // namespace gpu::algos::kernels\n",
    ],
};
