//! Fills of device memory.

mod constants;
mod entries;
mod jumps;
pub(crate) mod philox;
mod policy;
mod table;
pub(crate) mod xorwow;

use gpu_driver::Header;

pub use entries::{KERNELS, warm};

const REAL: Header = Header { name: "real.cuh", text: include_str!("real.cuh") };
const NUMBERS: Header = Header { name: "numbers.cuh", text: include_str!("numbers.cuh") };
const PHILOX: Header = Header { name: "philox.cuh", text: include_str!("philox.cuh") };
const XORWOW: Header = Header { name: "xorwow.cuh", text: include_str!("xorwow.cuh") };
const XORWOW_STATES: Header = Header { name: "xorwow_states.cuh", text: include_str!("xorwow_states.cuh") };
const XORWOW_JUMPS: Header = Header { name: "xorwow_jumps.cuh", text: include_str!("xorwow_jumps.cuh") };
const XORWOW_RNG: Header = Header { name: "xorwow_rng.cuh", text: include_str!("xorwow_rng.cuh") };
const DISTRIBUTIONS: Header = Header { name: "distributions.cuh", text: include_str!("distributions.cuh") };

/// Headers for kernels with generators of their own: `#include "xorwow_rng.cuh"` brings `gpu_random::Xorwow`, `#include "philox.cuh"`
/// `gpu_random::Philox`.
///
/// A thread has a generator as it has any other variable, or keeps it in memory:
/// ```text
/// rng.init(seed, subsequence, offset)     as curand_init
/// rng.next()                              32 random bits
/// rng.uniform(), uniform_double()         in (0, 1]
/// rng.normal(), normal_double()           standard normal
/// rng.log_normal(mean, deviation), log_normal_double(mean, deviation)
/// ```
/// The numbers are those of cuRAND's device API, bit for bit, where the program's options leave floating point at its defaults.
///
/// ```
/// use gpu_driver::Program;
/// let text = r#"
/// #include "philox.cuh"
/// __global__ void points(uint64_t seed, float *x, uint64_t n) {
///     gpu_random::Philox rng;
///     rng.init(seed, gpu::first_index(), 0);
///     for (uint64_t i = gpu::first_index(); i < n; i += gpu::index_step()) x[i] = rng.normal();
/// }"#;
/// let program = gpu_random::HEADERS.iter().fold(Program::new("points.cu", text), |program, header| program.header(header.name, header.text));
/// # let _ = program.name_expression("points");
/// ```
pub const HEADERS: [Header; 6] = [REAL, NUMBERS, PHILOX, XORWOW, XORWOW_JUMPS, XORWOW_RNG];

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use crate::xorwow::jump::Polynomial;

    /// The table of jumps by powers of two as it stands in the file.
    fn table() -> String {
        let powers = (0..64).map(|power| Polynomial::steps(1 << power));
        let subsequences = (0..64).map(|power| Polynomial::subsequences(1 << power));
        let mut text = String::from(
            "// Jumps of XORWOW: x^(2^i) modulo the characteristic polynomial of a step for i below 64, then\n\
             // x^(2^(67 + i)), in the digits that `jump` takes. Written by the test\n\
             // `jumps_in_kernels_are_those_of_the_host`.\n\
             #pragma once\n#include \"prelude.cuh\"\n\nnamespace gpu_random {\n\n\
             __device__ const uint32_t XORWOW_JUMPS[128][8] = {\n",
        );
        for jump in powers.chain(subsequences) {
            let digits = jump.digits().map(|word| format!("{word:#010x}"));
            // As clang-format breaks the line.
            let (line, last) = (digits[..7].join(", "), &digits[7]);
            writeln!(text, "    {{{line},\n     {last}}},").expect("a string takes it");
        }
        text += "};\n\n__device__ __forceinline__ uint32_t xorwow_jump(int power, int word) {\n    return XORWOW_JUMPS[power][word];\n}\n\n\
                 } // namespace gpu_random\n";
        text
    }

    #[test]
    fn jumps_in_kernels_are_those_of_the_host() {
        if testkit::says("GPU_RANDOM_WRITE", "1") {
            std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/device/xorwow_jumps.cuh"), table())
                .expect("written");
        }
        assert_eq!(super::XORWOW_JUMPS.text, table(), "GPU_RANDOM_WRITE=1 writes it anew");
    }
}
