//! Random numbers.

use gpu_random::Xorwow;
use rand_core::{Rng, SeedableRng};

use crate::{
    harness::{Check, Harness, Work},
    peers,
};

/// XORWOW on the CPU, and cuRAND's generators.
pub fn figures(harness: &mut Harness) {
    for &n in harness.set().pick(&[1 << 12][..], &[1 << 20], &[1 << 20, 1 << 26]) {
        harness.figure("xorwow-bits", "u32", n, "gpu-random").work(Work::fills(4 * n as u64)).on_cpu(
            || Ok((Xorwow::seed_from_u64(1234), vec![0_u32; n])),
            |(rng, numbers)| {
                numbers.fill_with(|| rng.next_u32());
                Ok(())
            },
            // What cuRAND gives for this seed.
            |(_, numbers), ()| Ok(Check::equal(&numbers[..1], &[624_778_773])),
        );
    }
    peers::random(harness);
}
