//! Tests that need no device.
#![allow(missing_docs, unreachable_pub)]

mod errors;
mod examples;
mod known_answers;
mod statistics;

/// The crate's names stand beside those of the crate `rand`: neither hides the other.
#[test]
fn all_names_stand_beside_the_crate_rand() {
    use gpu_random::*;
    use rand::{RngExt, SeedableRng};
    let x: f64 = PhiloxRng::seed_from_u64(1234).random();
    let mut y = [0u32; 1];
    Philox::new(1234).fill_bits(&mut y[..]).unwrap();
    assert!((0.0..1.0).contains(&x) && y[0] != 0);
}
