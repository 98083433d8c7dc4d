//! Sets of the threads of a block.

/// Most threads of a block.
const MAX_THREADS: usize = 1024;

/// A set of threads of a block. Each turn asks for its size and for a member, so both are found without a look at every word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Set {
    words: [u64; MAX_THREADS / 64],
    /// Bit i: whether word i has a member.
    used: u32,
    members: u32,
}

impl Set {
    pub(super) fn first_n(n: usize) -> Self {
        let word = |at: usize| match n.saturating_sub(at * 64) {
            0 => 0,
            bits @ 1..64 => (1 << bits) - 1,
            _ => u64::MAX,
        };
        Self { words: std::array::from_fn(word), used: (1 << n.div_ceil(64)) - 1, members: n as u32 }
    }

    pub(super) fn insert(&mut self, at: usize) {
        let (word, bit) = (&mut self.words[at / 64], 1 << (at % 64));
        self.members += u32::from(*word & bit == 0);
        *word |= bit;
        self.used |= 1 << (at / 64);
    }

    pub(super) fn remove(&mut self, at: usize) {
        let (word, bit) = (&mut self.words[at / 64], 1 << (at % 64));
        self.members -= u32::from(*word & bit != 0);
        *word &= !bit;
        self.used &= !(u32::from(*word == 0) << (at / 64));
    }

    pub(super) fn len(&self) -> usize {
        self.members as usize
    }

    pub(super) fn is_empty(&self) -> bool {
        self.used == 0
    }

    pub(super) fn first(&self) -> Option<usize> {
        self.first_of(self.used)
    }

    pub(super) fn last(&self) -> Option<usize> {
        let word = self.used.checked_ilog2()? as usize;
        Some(word * 64 + 63 - self.words[word].leading_zeros() as usize)
    }

    /// The first member from `at` on, around the end.
    pub(super) fn from(&self, at: usize) -> Option<usize> {
        let word = at / 64;
        let here = self.words[word] & (u64::MAX << (at % 64));
        if here != 0 {
            return Some(word * 64 + here.trailing_zeros() as usize);
        }
        let behind = self.used & (u32::MAX << word << 1);
        self.first_of(if behind == 0 { self.used } else { behind })
    }

    /// The first member in one of these words, of which each has one.
    fn first_of(&self, words: u32) -> Option<usize> {
        let word = words.trailing_zeros() as usize;
        Some(word * 64 + self.words.get(word)?.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_find_their_members() {
        let mut set = Set::default();
        assert!(set.is_empty() && set.first().is_none() && set.from(5).is_none());
        [3, 64, 1023].into_iter().for_each(|at| set.insert(at));
        assert_eq!((set.first(), set.last(), set.from(4), set.from(65)), (Some(3), Some(1023), Some(64), Some(1023)));
        assert_eq!(
            (Set::first_n(65).last(), Set::first_n(1024).last(), Set::first_n(0).last()),
            (Some(64), Some(1023), None)
        );
        set.remove(1023);
        assert_eq!(set.from(65), Some(3));
    }

    #[test]
    fn sets_are_those_of_the_standard_library() {
        let (mut set, mut want) = (Set::default(), std::collections::BTreeSet::new());
        for step in 0..5000_usize {
            // Members of few words, then of many.
            let at = step * 7919 % if step < 2500 { 130 } else { MAX_THREADS };
            if step * 31 % 7 < 3 {
                set.remove(at);
                want.remove(&at);
            } else {
                set.insert(at);
                want.insert(at);
            }
            let from = want.range(at..).chain(&want).next();
            assert_eq!((set.len(), set.is_empty(), set.from(at)), (want.len(), want.is_empty(), from.copied()));
            assert_eq!((set.first(), set.last()), (want.first().copied(), want.last().copied()));
        }
        assert!((0..=MAX_THREADS).all(|n| Set::first_n(n).len() == n && Set::first_n(n).last() == n.checked_sub(1)));
    }
}
