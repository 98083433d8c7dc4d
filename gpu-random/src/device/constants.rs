//! Numbers that launches and kernels share, defined once.

use gpu_driver::{Header, joined_text, kernel_constants};

use crate::{
    PhiloxRng, XorwowRng,
    engine::Rules,
    xorwow::{WEYL, start::SeedSequence},
};

kernel_constants! {
    const CONSTANTS: &str;
    /// Generators of XORWOW in cuRAND's order.
    pub(super) const XORWOW_GENERATORS: u32 = 4096;
    /// Threads of a block of `xorwow_fill`, each of which has two generators.
    pub(super) const FILL_THREADS: u32 = 256;
    /// Threads of a block of `xorwow_fill_few`, each of which has a generator.
    pub(super) const FEW_THREADS: u32 = 64;
    /// Generators of a block of `xorwow_fill_first`.
    pub(super) const FIRST_GENERATORS: u32 = 32;
    /// Threads of a block of `xorwow_fill_any`.
    pub(super) const ANY_THREADS: u32 = 128;
    /// The step of the Weyl sequence that XORWOW adds.
    const XORWOW_WEYL: u32 = 362437;
    /// Words of the table of a jump.
    pub(super) const JUMP_TABLE_WORDS: usize = 5120;
    /// Bytes of a `SeedSequence`.
    const SEED_SEQUENCE_BYTES: usize = 660;
    /// Generators of Philox in cuRAND's order.
    const PHILOX_GENERATORS: u32 = 65536;
    /// Threads of a block of the fills from Philox.
    pub(super) const PHILOX_THREADS: u32 = 256;
    /// Blocks of words that each of these threads makes.
    pub(super) const PHILOX_BLOCKS: u32 = 4;
}
const _: () = assert!(XORWOW_GENERATORS == XorwowRng::GENERATORS, "the host has as many generators");
const _: () = assert!(XORWOW_WEYL == WEYL, "the host takes the same steps");
const _: () = assert!(PHILOX_GENERATORS == PhiloxRng::GENERATORS, "the host has as many generators");
const _: () = assert!(SEED_SEQUENCE_BYTES == size_of::<SeedSequence>(), "the structure is the same in both languages");

/// The header of these numbers.
pub(super) const CONSTANTS_HEADER: Header = Header {
    name: "constants.cuh",
    text: joined_text![
        "#pragma once\n#include \"prelude.cuh\"\nnamespace gpu_random {\n",
        CONSTANTS,
        "} // namespace gpu_random\n",
    ],
};
