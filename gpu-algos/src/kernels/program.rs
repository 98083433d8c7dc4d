//! What the programs of all kernels have in common.

use gpu_array::gpu_driver::{Header, Program};

/// The loop over places, and what the text of any kernel sees.
pub(super) const ELEMENTWISE: Header =
    Header { name: "elementwise.cuh", text: include_str!("elementwise/elementwise.cuh") };

/// All that a program consists of, hashed.
pub(super) fn hash(program: &Program) -> [u64; 4] {
    let digest = program.digest();
    let mut words = [0; 4];
    for (word, digits) in words.iter_mut().zip(digest.as_bytes().chunks(16)) {
        let digits = std::str::from_utf8(digits).unwrap_or_default();
        *word = u64::from_str_radix(digits, 16).unwrap_or_default();
    }
    words
}
