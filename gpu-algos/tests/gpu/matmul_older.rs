//! Matrix products by the kernels for tensor cores that are not Hopper's, which newer devices run too: tests of the other kernels once more.

use gpu_algos::{
    as_for,
    gpu_array::gpu_driver::{Arch, Device},
};
use testkit::Outcome;

use crate::{
    matmul_complex, matmul_doubles, matmul_epilogues, matmul_halves, matmul_inputs, matmul_integers, matmul_precisions,
};

/// Those that the emulated device has time for: each operand order, edge and type, sums that are scaled and added, and stores of an epilogue.
const SOON: [&str; 12] = [
    "halves_at_edges_of_tiles",
    "halves_of_every_layout",
    "halves_are_scaled_and_added",
    "precisions_at_edges_of_tiles",
    "precisions_of_stacks",
    "precisions_with_alpha_and_beta",
    "bytes_of_every_layout",
    "epilogues_of_halves",
    "chains_of_f64_are_scaled_and_added",
    "emulated_sums_have_bits_of_their_own",
    "sums_of_complex_f64_are_chains_of_fours",
    "complex_products_are_scaled_and_added",
];

/// The tests that compute by that kernel, with other names.
pub fn cases(is_emulated: bool) -> impl Iterator<Item = (String, impl FnOnce(&Device) -> Outcome)> {
    let again = matmul_halves::TESTS.iter().chain(matmul_precisions::TESTS).chain(matmul_integers::TESTS);
    let again = again.chain(matmul_epilogues::TESTS).chain(matmul_doubles::TESTS).chain(matmul_inputs::TESTS);
    let again = again.chain(matmul_complex::TESTS).chain(matmul_inputs::OF_TENSOR_CORES);
    let again = again.filter(move |(name, _)| !is_emulated || SOON.contains(name));
    assert!(!is_emulated || again.clone().count() == SOON.len(), "a test has another name");
    again.map(|&(name, test)| {
        let run = move |device: &Device| as_for(Arch::new(8, 0), || test(device));
        (format!("{name}_as_for_8_0"), run)
    })
}
