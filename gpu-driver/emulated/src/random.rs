//! The generator behind every random order: SplitMix64 (Steele, Lea and Flood 2014), small and reproducible.

#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 when `n` is 0.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        // The high half of a 128-bit product: even enough for orders, and without a division.
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}

/// An order of `0..n` that visits each once, without a list: `i -> (factor * i + shift) mod n`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Affine {
    factor: u64,
    shift: u64,
    n: u64,
}

impl Affine {
    pub(super) fn identity(n: u64) -> Self {
        Self { factor: 1, shift: 0, n }
    }

    pub(super) fn reversed(n: u64) -> Self {
        Self { factor: n.saturating_sub(1).max(1), shift: n.saturating_sub(1), n }
    }

    pub(super) fn random(n: u64, random: &mut Random) -> Self {
        fn common_divisor(a: u64, b: u64) -> u64 {
            if b == 0 { a } else { common_divisor(b, a % b) }
        }
        let factor = (0..64).map(|_| random.below(n).max(1)).find(|&factor| common_divisor(factor, n) == 1);
        Self { factor: factor.unwrap_or(1), shift: random.below(n), n }
    }

    pub(super) fn at(self, i: u64) -> u64 {
        ((u128::from(i) * u128::from(self.factor) + u128::from(self.shift)) % u128::from(self.n.max(1))) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_of_blocks_visit_each_once() {
        let mut random = Random::new(5);
        for n in [1, 2, 3, 31, 32, 1000] {
            for order in [Affine::identity(n), Affine::reversed(n), Affine::random(n, &mut random)] {
                let mut seen: Vec<u64> = (0..n).map(|i| order.at(i)).collect();
                seen.sort_unstable();
                assert!(seen.into_iter().eq(0..n), "{order:?}");
            }
        }
        assert_eq!(Affine::reversed(5).at(0), 4);
    }
}
