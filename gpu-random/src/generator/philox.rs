//! Philox as the engine of a stream: a turn is one block for four values, or as many blocks as it takes words for one.

use gpu_array::start_threads;
use gpu_driver::DeviceSliceMut;
use rayon::prelude::*;

use crate::{
    PhiloxRng, Result,
    device::philox as device,
    distribution::Distribution,
    engine::{Engine, FillRequest, Rules, Seed},
    philox::block,
    turns::Turn,
};

/// Values of a turn.
const VALUES: usize = 4;
/// Number of turns that a thread takes at a time.
const PART: usize = 1 << 14;

impl Engine for PhiloxRng {}

impl Rules for PhiloxRng {
    const NAME: &'static str = "Philox4x32-10";
    const GENERATORS: u32 = 65536;
    const WORD: Turn = Turn { draws: 1, values: VALUES as u32, shared: true };
    type States = device::DeviceStates;

    fn turn<D: Distribution>() -> Turn {
        Turn { draws: (D::WORDS / D::VALUES) as u32, ..Self::WORD }
    }

    fn fill_host<D: Distribution>(request: FillRequest<'_, Self>, distribution: D, out: &mut [D::Value]) {
        let skip = request.call.skip as usize;
        let (head, body) = out.split_at_mut(((VALUES - skip) % VALUES).min(out.len()));
        // A turn that was begun before, then whole ones.
        let begun = usize::from(skip > 0);
        if begun > 0 {
            let values = turn_values(&request, &distribution, 0);
            head.copy_from_slice(&values[skip..][..head.len()]);
        }
        let _ = start_threads();
        body.par_chunks_mut(VALUES * PART).enumerate().for_each(|(part, out)| {
            for (at, out) in out.chunks_mut(VALUES).enumerate() {
                let values = turn_values(&request, &distribution, (begun + part * PART + at) as u64);
                out.copy_from_slice(&values[..out.len()]);
            }
        });
    }

    fn fill_device<D: Distribution>(
        request: FillRequest<'_, Self>,
        distribution: D,
        out: DeviceSliceMut<'_, D::Value>,
    ) -> Result<()> {
        device::fill(request, distribution, out)
    }
}

/// The key of a generator.
fn seed_of(seed: &Seed, generator: u32) -> u64 {
    match seed {
        Seed::One(seed) => *seed,
        Seed::Each(seeds) => seeds[generator as usize].into(),
    }
}

/// The values of a turn of a fill.
fn turn_values<D: Distribution>(
    request: &FillRequest<'_, PhiloxRng>,
    distribution: &D,
    turn: u64,
) -> [D::Value; VALUES] {
    let generators = u64::from(request.turns.generators());
    let generator = ((u64::from(request.call.cursor) + turn % generators) % generators) as u32;
    let earlier = u128::from(turn / generators) * u128::from(request.call.draws);
    let first = request.turns.drawn(generator) + earlier;
    let seed = seed_of(request.seed, generator);
    let mut words = [0; 16];
    for (at, four) in words.chunks_exact_mut(4).enumerate().take(request.call.draws as usize) {
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
