//! Philox as the recipe of a stream: a turn is one block for four values, or as many blocks as it takes words for one.

use gpu_driver::DeviceSliceMut;
use rayon::prelude::*;

use super::{PhiloxRng, block};
use crate::{
    Result,
    device::philox as device,
    distribution::Distribution,
    generator::Seed,
    recipe::{Rules, Stream},
    turns::Turn,
};

/// Values of a turn.
pub(crate) const VALUES: usize = 4;
/// Turns that a thread takes at a time.
const PART: usize = 1 << 14;

impl Rules for PhiloxRng {
    const NAME: &'static str = "Philox4x32-10";
    const GENERATORS: u32 = 65536;
    const WORD: Turn = Turn { draws: 1, values: VALUES as u32, shared: true };
    type States = device::DeviceStates;

    fn turn<D: Distribution>() -> Turn {
        Turn { draws: (D::WORDS / D::VALUES) as u32, ..Self::WORD }
    }

    fn fill_host<D: Distribution>(stream: Stream<'_, Self>, distribution: D, out: &mut [D::Value]) {
        let skip = stream.call.skip as usize;
        let (head, body) = out.split_at_mut(((VALUES - skip) % VALUES).min(out.len()));
        // A turn that was begun before, then whole ones.
        let begun = usize::from(skip > 0);
        if begun > 0 {
            let values = turn_values(&stream, distribution, 0);
            head.copy_from_slice(&values[skip..][..head.len()]);
        }
        body.par_chunks_mut(VALUES * PART).enumerate().for_each(|(part, out)| {
            for (at, out) in out.chunks_mut(VALUES).enumerate() {
                let values = turn_values(&stream, distribution, (begun + part * PART + at) as u64);
                out.copy_from_slice(&values[..out.len()]);
            }
        });
    }

    fn fill_device<D: Distribution>(
        stream: Stream<'_, Self>,
        distribution: D,
        out: DeviceSliceMut<'_, D::Value>,
    ) -> Result<()> {
        device::fill(stream, distribution, out)
    }
}

/// The key of a generator.
pub(crate) fn seed_of(seed: &Seed, generator: u32) -> u64 {
    match seed {
        Seed::One(seed) => *seed,
        Seed::Each(seeds) => seeds[generator as usize].into(),
    }
}

/// The values of a turn of a fill.
fn turn_values<D: Distribution>(stream: &Stream<'_, PhiloxRng>, distribution: D, turn: u64) -> [D::Value; VALUES] {
    let generators = u64::from(stream.turns.generators());
    let generator = ((u64::from(stream.call.cursor) + turn % generators) % generators) as u32;
    let earlier = u128::from(turn / generators) * u128::from(stream.call.draws);
    let first = stream.turns.drawn(generator) + earlier;
    let seed = seed_of(stream.seed, generator);
    let mut words = [0; 16];
    for (at, four) in words.chunks_exact_mut(4).enumerate().take(stream.call.draws as usize) {
        four.copy_from_slice(&block(seed, generator.into(), first + at as u128));
    }
    let mut values = [D::Value::default(); VALUES];
    for (own, out) in words.chunks_exact(D::WORDS).zip(values.chunks_mut(D::VALUES)) {
        let mut four = [0; 4];
        four[..D::WORDS].copy_from_slice(own);
        out.copy_from_slice(&distribution.values(four)[..out.len()]);
    }
    values
}
