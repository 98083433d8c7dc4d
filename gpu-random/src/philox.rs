//! Philox4x32-10 as cuRAND seeds it.

use std::{convert::Infallible, fmt};

use rand_core::{SeedableRng, TryRng, utils};

/// Ten rounds of Philox on a counter of four words under a key of two: four random words.
///
/// A bijection of the counters for each key, so blocks of different counters are independent of each other and computed in any order.
///
/// ```
/// assert_eq!(gpu_random::philox4x32([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
/// ```
/// Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, doi:10.1145/2063384.2063405.
#[inline]
pub fn philox4x32(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let [mut k0, mut k1] = key;
    for _ in 0..10 {
        let (low, high) = (u64::from(c0) * 0xd251_1f53, u64::from(c2) * 0xcd9e_8d57);
        (c0, c1, c2, c3) = ((high >> 32) as u32 ^ c1 ^ k0, high as u32, (low >> 32) as u32 ^ c3 ^ k1, low as u32);
        (k0, k1) = (k0.wrapping_add(0x9e37_79b9), k1.wrapping_add(0xbb67_ae85));
    }
    [c0, c1, c2, c3]
}

/// The block of a subsequence: counter words 0 and 1 count blocks, 2 and 3 subsequences, and the count carries over.
#[inline]
pub(crate) fn block(seed: u64, subsequence: u64, block: u128) -> [u32; 4] {
    let counter = (u128::from(subsequence) << 64).wrapping_add(block);
    let counter = [0, 32, 64, 96].map(|shift| (counter >> shift) as u32);
    philox4x32(counter, [seed as u32, (seed >> 32) as u32])
}

/// Philox4x32-10: four words are a function of the seed and of a 128-bit counter. One sequence, on the host; [`crate::Philox`] fills
/// arrays from many.
///
/// [`PhiloxRng::new`] is cuRAND's `curand_init(seed, subsequence, offset)`: the outputs are the same bit for bit, and stay so in every
/// version of this crate. A subsequence has 2^66 draws. Not for cryptography.
///
/// ```
/// use gpu_random::PhiloxRng;
/// use rand::{Rng, SeedableRng};
/// let mut rng = PhiloxRng::seed_from_u64(1234);
/// assert_eq!([rng.next_u32(), rng.next_u32()], [546_353_992, 3_665_621_163]);
/// rng.set_position(1 << 100); // at once
/// ```
#[derive(Clone)]
pub struct PhiloxRng {
    seed: u64,
    subsequence: u64,
    position: u128,
    /// The block that holds the word at the position; stale where the position is a multiple of four.
    words: [u32; 4],
}

impl PhiloxRng {
    /// cuRAND's `curand_init(seed, subsequence, offset)`.
    pub fn new(seed: u64, subsequence: u64, offset: u64) -> Self {
        let mut rng = Self { seed, subsequence, position: 0, words: [0; 4] };
        rng.set_position(offset.into());
        rng
    }

    /// Skips `draws` words.
    pub fn jump(&mut self, draws: u128) {
        self.set_position(self.position.wrapping_add(draws));
    }

    /// Goes on by so many subsequences, 2^66 draws each. The position, which counts within the subsequence, stays.
    pub fn jump_subsequence(&mut self, subsequences: u64) {
        self.subsequence = self.subsequence.wrapping_add(subsequences);
        self.set_position(self.position);
    }

    /// Draws since the start of the subsequence, modulo 2^128.
    pub fn position(&self) -> u128 {
        self.position
    }

    /// Goes to a position.
    pub fn set_position(&mut self, position: u128) {
        self.position = position;
        if !position.is_multiple_of(4) {
            self.fetch();
        }
    }

    fn fetch(&mut self) {
        self.words = block(self.seed, self.subsequence, self.position / 4);
    }

    #[inline]
    fn step(&mut self) -> u32 {
        let at = (self.position % 4) as usize;
        if at == 0 {
            self.fetch();
        }
        self.position = self.position.wrapping_add(1);
        self.words[at]
    }
}

impl TryRng for PhiloxRng {
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

impl SeedableRng for PhiloxRng {
    /// The seed and the subsequence, in little-endian order.
    type Seed = [u8; 16];

    fn from_seed(seed: [u8; 16]) -> Self {
        let [seed, subsequence] = utils::read_words(&seed);
        Self::new(seed, subsequence, 0)
    }

    /// cuRAND's `curand_init(seed, 0, 0)`.
    fn seed_from_u64(seed: u64) -> Self {
        Self::new(seed, 0, 0)
    }
}

impl PartialEq for PhiloxRng {
    /// Whether both give the same numbers from here on.
    fn eq(&self, other: &Self) -> bool {
        (self.seed, self.subsequence, self.position) == (other.seed, other.subsequence, other.position)
    }
}

impl Eq for PhiloxRng {}

impl fmt::Debug for PhiloxRng {
    /// Without the state.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PhiloxRng").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use rand_core::Rng;

    use super::*;

    #[test]
    fn the_function_gives_the_published_answers() {
        // The known answers of Random123: counters and keys of zeros, of ones, and of the digits of pi.
        assert_eq!(philox4x32([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox4x32([!0; 4], [!0; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let (counter, key) = ([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]);
        assert_eq!(philox4x32(counter, key), [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }

    #[test]
    fn seeds_give_what_curand_gives() {
        let first = |seed| {
            let mut rng = PhiloxRng::seed_from_u64(seed);
            std::array::from_fn(|_| rng.next_u32())
        };
        assert_eq!(first(0), [1_713_891_541, 3_781_805_453, 3_159_862_348, 2_600_524_760]);
        assert_eq!(first(1234), [546_353_992, 3_665_621_163, 1_140_953_199, 3_419_031_310]);
    }

    #[test]
    fn positions_are_reached_from_both_sides() {
        for offset in 0..9 {
            let mut rng = PhiloxRng::new(5, 6, offset);
            let mut stepped = PhiloxRng::new(5, 6, 0);
            for _ in 0..offset {
                stepped.next_u32();
            }
            assert_eq!(rng, stepped);
            assert_eq!(rng.next_u64(), stepped.next_u64());
            rng.set_position(2);
            assert_eq!(rng.next_u32(), PhiloxRng::new(5, 6, 2).next_u32());
        }
        // The count of blocks carries into the subsequence.
        let mut last = PhiloxRng::new(5, 6, 0);
        last.jump(1 << 66);
        assert_eq!(last.next_u32(), PhiloxRng::new(5, 7, 0).next_u32());
        let mut next = PhiloxRng::new(5, 6, 3);
        next.jump_subsequence(1);
        assert_eq!(next, PhiloxRng::new(5, 7, 3));
        assert_eq!(next.next_u32(), PhiloxRng::new(5, 7, 3).next_u32());
    }

    #[test]
    fn bytes_and_wide_words_are_the_same_draws() {
        let mut words = PhiloxRng::seed_from_u64(7);
        let want: Vec<u8> = (0..5).flat_map(|_| words.next_u32().to_le_bytes()).collect();
        let mut bytes = [0; 18];
        PhiloxRng::seed_from_u64(7).fill_bytes(&mut bytes);
        assert_eq!(bytes, want[..18]);
        assert_eq!(PhiloxRng::seed_from_u64(7).next_u64().to_le_bytes(), want[..8]);
        assert_eq!(PhiloxRng::from_seed([0; 16]), PhiloxRng::new(0, 0, 0));
    }
}
