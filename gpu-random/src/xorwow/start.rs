//! The states that a stream's generators have at some place of it.

use std::sync::OnceLock;

use gpu_array::start_threads;
use rayon::prelude::*;

use super::{
    WEYL,
    jump::{Polynomial, Words, step},
    seeded,
};
use crate::{
    engine::Seed,
    turns::{Piece, StreamPosition},
};

/// Most generators with a jump of their own; further ones share these, and take a second jump.
const MOST_JUMPS: u32 = 4096;

/// Jumps to the subsequences of as many generators: to subsequence `g` by element `g mod own`, then by element `own + g / own`, where `own`
/// is the number returned beside them.
pub(crate) fn subsequences(generators: u32) -> (Vec<Polynomial>, u32) {
    static OWN: OnceLock<Vec<Polynomial>> = OnceLock::new();
    let powers = |base: Polynomial, count: u32| {
        std::iter::successors(Some(Polynomial::ONE), move |power| Some(power.times(base))).take(count as usize)
    };
    let all = OWN.get_or_init(|| powers(Polynomial::subsequences(1), MOST_JUMPS).collect());
    let own = generators.min(MOST_JUMPS);
    let shared = powers(Polynomial::subsequences(own.into()), generators.div_ceil(own));
    (all.iter().copied().take(own as usize).chain(shared).collect(), own)
}

/// The linear parts of a seed's state and of those up to 159 steps behind it: words `k` to `k + 4` are that of `k` steps. By these a kernel takes a
/// jump as a sum of words.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct SeedSequence {
    words: [u32; 164],
    d: u32,
}

impl SeedSequence {
    pub(crate) fn new(seed: u64) -> Self {
        let (v, d) = seeded(seed);
        let mut states = std::iter::successors(Some(v), |&v| Some(step(v)));
        Self { words: std::array::from_fn(|_| states.next().map_or(0, |[word, ..]| word)), d }
    }
}

/// The states of all generators: six rows, of `v0` to `v4` and of `d`.
pub(crate) fn states(seed: &Seed, turns: &StreamPosition) -> Vec<u32> {
    let count = turns.generators() as usize;
    let (jumps, own) = subsequences(turns.generators());
    let own = own as usize;
    let one = match seed {
        Seed::One(seed) => seeded(*seed),
        Seed::Each(_) => seeded(0),
    };
    let pieces: Vec<(Piece, Polynomial)> =
        turns.pieces().iter().map(|&piece| (piece, Polynomial::steps(piece.draws))).collect();
    let each = |generator: usize| -> (Words, u32) {
        let (v, d) = match seed {
            Seed::One(_) => one,
            Seed::Each(seeds) => seeded(seeds[generator].into()),
        };
        let behind = pieces.partition_point(|(piece, _)| piece.from as usize <= generator);
        let (piece, jump) = pieces[behind - 1];
        let v = jumps[generator % own].apply(v);
        let v = if generator < own { v } else { jumps[own + generator / own].apply(v) };
        let v = if piece.draws == 0 { v } else { jump.apply(v) };
        (v, d.wrapping_add(WEYL.wrapping_mul(piece.draws as u32)))
    };
    let _ = start_threads();
    let all: Vec<(Words, u32)> = (0..count).into_par_iter().with_min_len(64).map(each).collect();
    let rows = (0..6).flat_map(|row| all.iter().map(move |(v, d)| v.get(row).copied().unwrap_or(*d)));
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{XorwowRng, turns::Turn};

    #[test]
    fn states_are_those_of_single_generators() {
        const PAIR: Turn = Turn { draws: 2, values: 2, shared: false };
        let turns = StreamPosition::after(4200, PAIR, 2 * (3 * 4200 + 70));
        let all = states(&Seed::One(77), &turns);
        for generator in [0, 1, 63, 64, 69, 70, 4095, 4199] {
            let drawn = turns.drawn(generator as u32) as u64;
            let (v, d) = XorwowRng::new(77, generator as u64, drawn).state();
            let got: Vec<u32> = all.chunks(4200).map(|row| row[generator]).collect();
            assert_eq!((&got[..5], got[5]), (&v[..], d), "generator {generator}");
        }
        let each = states(&Seed::Each([5, 6].into()), &StreamPosition::new(2));
        let want: Vec<_> = [(5, 0), (6, 1)].map(|(seed, generator)| XorwowRng::new(seed, generator, 0).state()).into();
        assert_eq!([each[0], each[2], each[10]], [want[0].0[0], want[0].0[1], want[0].1]);
        assert_eq!([each[1], each[3], each[11]], [want[1].0[0], want[1].0[1], want[1].1]);
    }
}
