//! Marsaglia's XORWOW as cuRAND seeds it.

pub(crate) mod host;
pub(crate) mod jump;
pub(crate) mod start;

use std::{convert::Infallible, fmt};

use rand_core::{SeedableRng, TryRng, utils};

use jump::{Polynomial, Words};

/// XORWOW: a 160-bit xorshift plus a Weyl sequence, period (2^160 - 1) 2^32. One sequence, on the host; [`crate::Xorwow`] fills arrays from many.
///
/// With `v` five words and `d` one, all arithmetic modulo 2^32, one step is
/// ```text
/// t = v0 ^ (v0 >> 2);  (v0, v1, v2, v3) = (v1, v2, v3, v4);  v4' = (v4 ^ (v4 << 4)) ^ (t ^ (t << 1))
/// d' = d + 362437;     output = d' + v4'
/// ```
/// [`XorwowRng::new`] is cuRAND's `curand_init(seed, subsequence, offset)`: the outputs are the same bit for bit, and stay so
/// in every version of this crate. Not for cryptography; the two lowest bits are weak (linear complexity 162 and 323), so take high bits,
/// or [`crate::PhiloxRng`].
///
/// ```
/// use gpu_random::XorwowRng;
/// use rand::{Rng, RngExt, SeedableRng};
/// let mut rng = XorwowRng::seed_from_u64(1234);
/// assert_eq!(rng.next_u32(), 624_778_773);
/// assert!(rng.random_range(1..=6) <= 6);
/// rng.set_position(1 << 40); // in microseconds
/// ```
/// Source: G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003, page 5; the seeding is cuRAND's.
#[derive(Clone)]
pub struct XorwowRng {
    v: Words,
    d: u32,
    position: u128,
}

const MARSAGLIA: Words = [123_456_789, 362_436_069, 521_288_629, 88_675_123, 5_783_321];
const MARSAGLIA_D: u32 = 6_615_241;
/// The number that a step adds to `d`.
pub(crate) const WEYL: u32 = 362_437;

impl XorwowRng {
    /// cuRAND's `curand_init(seed, subsequence, offset)`: subsequences of a seed are 2^67 draws apart, and `offset` draws of this one are
    /// skipped.
    ///
    /// # Cost
    /// A few hundred microseconds, whatever the numbers; [`SeedableRng::seed_from_u64`] jumps nowhere and is done at once.
    pub fn new(seed: u64, subsequence: u64, offset: u64) -> Self {
        let mut rng = Self::seed_from_u64(seed);
        rng.jump_subsequence(subsequence);
        rng.jump(offset.into());
        rng
    }

    /// The generator whose state is these words. All zeros in `v` would stay zeros; they become Marsaglia's own state.
    pub fn from_state(v: [u32; 5], d: u32) -> Self {
        Self { v: if v == [0; 5] { MARSAGLIA } else { v }, d, position: 0 }
    }

    /// `v` and `d`: with [`XorwowRng::from_state`], a checkpoint.
    pub fn state(&self) -> ([u32; 5], u32) {
        (self.v, self.d)
    }

    /// Skips `draws` words.
    ///
    /// # Cost
    /// Some tens of microseconds for large numbers.
    pub fn jump(&mut self, draws: u128) {
        self.v = Polynomial::steps(draws).apply(self.v);
        self.d = self.d.wrapping_add(WEYL.wrapping_mul(draws as u32));
        self.position = self.position.wrapping_add(draws);
    }

    /// Goes on by so many subsequences, 2^67 draws each. The position, which counts within the subsequence, stays.
    pub fn jump_subsequence(&mut self, subsequences: u64) {
        // 2^67 is a multiple of the period of d.
        self.v = Polynomial::subsequences(subsequences).apply(self.v);
    }

    /// Draws since the start of the subsequence, modulo 2^128.
    pub fn position(&self) -> u128 {
        self.position
    }

    /// Goes to a position, forwards or back.
    pub fn set_position(&mut self, position: u128) {
        if let Some(back) = self.position.checked_sub(position) {
            self.v = Polynomial::steps_back(back).apply(self.v);
            self.d = self.d.wrapping_sub(WEYL.wrapping_mul(back as u32));
            self.position = position;
        } else {
            self.jump(position - self.position);
        }
    }

    #[inline]
    fn step(&mut self) -> u32 {
        self.v = jump::step(self.v);
        self.d = self.d.wrapping_add(WEYL);
        self.position = self.position.wrapping_add(1);
        self.d.wrapping_add(self.v[4])
    }
}

/// Subsequence 0 of a seed.
pub(crate) fn seeded(seed: u64) -> (Words, u32) {
    let (low, high) = (seed as u32 ^ 0xaad2_6b49, (seed >> 32) as u32 ^ 0xf7dc_efdd);
    let (t0, t1) = (low.wrapping_mul(1_099_087_573), high.wrapping_mul(2_591_861_531));
    let [v0, v1, v2, v3, v4] = MARSAGLIA;
    let v = [v0.wrapping_add(t0), v1 ^ t0, v2.wrapping_add(t1), v3 ^ t1, v4.wrapping_add(t0)];
    (v, MARSAGLIA_D.wrapping_add(t1).wrapping_add(t0))
}

impl TryRng for XorwowRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.step())
    }

    /// The first draw is the low half.
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        utils::next_u64_via_u32(self)
    }

    /// Little-endian draws; a rest of fewer than four bytes takes a whole draw.
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        utils::fill_bytes_via_next_word(bytes, || self.try_next_u32())
    }
}

impl SeedableRng for XorwowRng {
    /// `v` and `d` in little-endian order.
    type Seed = [u8; 24];

    fn from_seed(seed: [u8; 24]) -> Self {
        let [v0, v1, v2, v3, v4, d] = utils::read_words(&seed);
        Self::from_state([v0, v1, v2, v3, v4], d)
    }

    /// cuRAND's `curand_init(seed, 0, 0)`.
    fn seed_from_u64(seed: u64) -> Self {
        let (v, d) = seeded(seed);
        Self::from_state(v, d)
    }
}

impl PartialEq for XorwowRng {
    /// Whether both give the same numbers from here on.
    fn eq(&self, other: &Self) -> bool {
        self.state() == other.state()
    }
}

impl Eq for XorwowRng {}

impl fmt::Debug for XorwowRng {
    /// Without the state.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("XorwowRng").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use rand_core::Rng;

    use super::*;

    #[test]
    fn marsaglias_own_state_gives_the_known_sequence() {
        let mut rng = XorwowRng::from_state(MARSAGLIA, MARSAGLIA_D);
        let got: Vec<u32> = (0..5).map(|_| rng.next_u32()).collect();
        assert_eq!(got, [246_875_399, 3_690_007_200, 1_264_581_005, 3_906_711_041, 1_866_187_943]);
    }

    #[test]
    fn seeds_give_what_curand_gives() {
        // Element 0 of curandGenerate for XORWOW in legacy order.
        assert_eq!(XorwowRng::seed_from_u64(0).next_u32(), 3_179_217_846);
        assert_eq!(XorwowRng::seed_from_u64(1234).next_u32(), 624_778_773);
        // Subsequences 1 to 3, and offsets 1 to 3.
        let subsequences = [1, 2, 3].map(|subsequence| XorwowRng::new(1234, subsequence, 0).next_u32());
        assert_eq!(subsequences, [3_522_650_202, 2_363_946_744, 1_266_286_439]);
        let offsets = [1, 2, 3].map(|offset| XorwowRng::new(1234, 0, offset).next_u32());
        assert_eq!(offsets, [1_867_875_844, 3_739_671_282, 1_954_919_316]);
        // curand_init with large numbers.
        assert_eq!(XorwowRng::new(1234, 5, 7).next_u32(), 3_351_265_907);
        assert_eq!(XorwowRng::new((1 << 63) + 9, (1 << 40) + 3, (1 << 50) + 1).next_u32(), 4_116_865_934);
    }

    #[test]
    fn positions_are_reached_from_both_sides() {
        let mut rng = XorwowRng::new(99, 3, 17);
        assert_eq!(rng.position(), 17);
        let start = rng.clone();
        for _ in 0..100 {
            rng.next_u32();
        }
        assert_eq!(rng.position(), 117);
        let mut jumped = start.clone();
        jumped.jump(100);
        assert_eq!(jumped, rng);
        rng.set_position(17);
        assert_eq!(rng, start);
        rng.set_position(1 << 100);
        assert_ne!(rng, start);
        rng.set_position(17);
        assert_eq!((rng.clone(), rng.position()), (start, 17));
        rng.set_position(117);
        assert_eq!(rng, jumped);
    }

    #[test]
    fn bytes_and_wide_words_are_the_same_draws() {
        let mut words = XorwowRng::seed_from_u64(7);
        let want: Vec<u8> = (0..3).flat_map(|_| words.next_u32().to_le_bytes()).collect();
        let mut bytes = [0; 11];
        XorwowRng::seed_from_u64(7).fill_bytes(&mut bytes);
        assert_eq!(bytes, want[..11]);
        let wide = XorwowRng::seed_from_u64(7).next_u64();
        assert_eq!(wide.to_le_bytes(), want[..8]);
    }

    #[test]
    fn no_state_is_stuck() {
        let mut rng = XorwowRng::from_seed([0; 24]);
        assert_ne!(rng.next_u32(), rng.next_u32());
        assert_ne!(rng, XorwowRng::from_seed([0; 24]));
    }
}
