//! Marsaglia's XORWOW as cuRAND seeds it.

use std::{convert::Infallible, fmt};

use rand_core::{SeedableRng, TryRng};

/// XORWOW: a 160-bit xorshift plus a Weyl sequence, period (2^160 - 1) 2^32.
///
/// With `v` five words and `d` one, all arithmetic modulo 2^32, one step is
/// ```text
/// t = v0 ^ (v0 >> 2);  (v0, v1, v2, v3) = (v1, v2, v3, v4);  v4' = (v4 ^ (v4 << 4)) ^ (t ^ (t << 1))
/// d' = d + 362437;     output = d' + v4'
/// ```
/// [`SeedableRng::seed_from_u64`] is cuRAND's `curand_init(seed, 0, 0)`: the outputs are the same bit for bit, and stay so
/// in every version of this crate. Not for cryptography.
///
/// Source: G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003, page 5; the seeding is cuRAND's.
#[derive(Clone, PartialEq, Eq)]
pub struct Xorwow {
    v: [u32; 5],
    d: u32,
}

impl Xorwow {
    /// The generator whose state is these words. All zeros in `v` would stay zeros; they become Marsaglia's own state.
    pub fn from_state(v: [u32; 5], d: u32) -> Self {
        if v == [0; 5] { Self { v: MARSAGLIA, d } } else { Self { v, d } }
    }

    fn step(&mut self) -> u32 {
        let [v0, v1, v2, v3, v4] = self.v;
        let t = v0 ^ (v0 >> 2);
        let last = (v4 ^ (v4 << 4)) ^ (t ^ (t << 1));
        self.v = [v1, v2, v3, v4, last];
        self.d = self.d.wrapping_add(362_437);
        self.d.wrapping_add(last)
    }
}

const MARSAGLIA: [u32; 5] = [123_456_789, 362_436_069, 521_288_629, 88_675_123, 5_783_321];
const MARSAGLIA_D: u32 = 6_615_241;

impl TryRng for Xorwow {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.step())
    }

    /// The first draw is the low half.
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let low = u64::from(self.step());
        Ok(low | u64::from(self.step()) << 32)
    }

    /// Little-endian draws; a rest of fewer than four bytes takes a whole draw.
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(4) {
            chunk.copy_from_slice(&self.step().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

impl SeedableRng for Xorwow {
    /// `v` and `d` in little-endian order.
    type Seed = [u8; 24];

    fn from_seed(seed: [u8; 24]) -> Self {
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| seed[4 * at + byte]));
        Self::from_state(std::array::from_fn(word), word(5))
    }

    /// cuRAND's `curand_init(seed, 0, 0)`.
    fn seed_from_u64(seed: u64) -> Self {
        let (low, high) = (seed as u32 ^ 0xaad2_6b49, (seed >> 32) as u32 ^ 0xf7dc_efdd);
        let (t0, t1) = (low.wrapping_mul(1_099_087_573), high.wrapping_mul(2_591_861_531));
        let [v0, v1, v2, v3, v4] = MARSAGLIA;
        let v = [v0.wrapping_add(t0), v1 ^ t0, v2.wrapping_add(t1), v3 ^ t1, v4.wrapping_add(t0)];
        Self::from_state(v, MARSAGLIA_D.wrapping_add(t1).wrapping_add(t0))
    }
}

impl fmt::Debug for Xorwow {
    /// Without the state.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Xorwow")
    }
}

#[cfg(test)]
mod tests {
    use rand_core::Rng;

    use super::*;

    #[test]
    fn marsaglias_own_state_gives_the_known_sequence() {
        let mut rng = Xorwow::from_state(MARSAGLIA, MARSAGLIA_D);
        let got: Vec<u32> = (0..5).map(|_| rng.next_u32()).collect();
        assert_eq!(got, [246_875_399, 3_690_007_200, 1_264_581_005, 3_906_711_041, 1_866_187_943]);
    }

    #[test]
    fn seeds_give_what_curand_gives() {
        // Element 0 of curandGenerate for XORWOW in legacy order.
        assert_eq!(Xorwow::seed_from_u64(0).next_u32(), 3_179_217_846);
        assert_eq!(Xorwow::seed_from_u64(1234).next_u32(), 624_778_773);
    }

    #[test]
    fn bytes_and_wide_words_are_the_same_draws() {
        let mut words = Xorwow::seed_from_u64(7);
        let want: Vec<u8> = (0..3).flat_map(|_| words.next_u32().to_le_bytes()).collect();
        let mut bytes = [0; 11];
        Xorwow::seed_from_u64(7).fill_bytes(&mut bytes);
        assert_eq!(bytes, want[..11]);
        let wide = Xorwow::seed_from_u64(7).next_u64();
        assert_eq!(wide.to_le_bytes(), want[..8]);
    }

    #[test]
    fn no_state_is_stuck() {
        let mut rng = Xorwow::from_seed([0; 24]);
        assert_ne!(rng.next_u32(), rng.next_u32());
        assert_ne!(rng, Xorwow::from_seed([0; 24]));
    }
}
