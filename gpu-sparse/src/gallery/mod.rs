//! Matrices to test and measure with, made by formula.
//!
//! | matrix | rows | entries per row |
//! |---|---|---|
//! | [`Poisson`], 1-D to 3-D | points of the grid | 3, 5, 7, 9 or 27 |
//! | [`wathen`], a finite-element mass matrix | `3 nx ny + 2 nx + 2 ny + 1` | 8 to 21 |
//! | [`extrude`], `A (x) I + I (x) T` | product of both | sum of both, less one |
//!
//! All are functions of their arguments alone: the same bits on every machine that rounds as IEEE 754 says, and for any number
//! of threads.

mod extrude;
mod poisson;
mod wathen;

#[cfg(test)]
mod tests;

pub use extrude::{Numbering, extrude};
pub use poisson::{Mean, Poisson};
pub use wathen::{wathen, wathen_random};

/// A number in [0, 1) that depends on `seed` and `index` alone (one step of SplitMix64, Steele, Lea & Flood 2014).
fn unit_hash(seed: u64, index: u64) -> f64 {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut z = seed.wrapping_mul(0xD129_0B26_8A6D_4E8F).wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// `value` when it is positive and finite.
fn positive(name: &'static str, value: f64) -> crate::Result<f64> {
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(crate::SparseError::Parameter { name, value, range: "positive and finite" })
}
