//! Seeds, and the short way to random arrays, by the names of PyCUDA's module `curandom`.

use std::{
    hash::{BuildHasher, RandomState},
    time::{SystemTime, UNIX_EPOCH},
};

use gpu_array::GpuArray;
use gpu_driver::Stream;
use ndarray::ShapeBuilder;
use rand_core::{Rng, SeedableRng};

use crate::{Philox, PhiloxRng, Result, distribution::Real};

/// A seed that no other call is likely to give: of the system's random keys and the time.
pub fn random_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    RandomState::new().hash_one(now)
}

/// One random seed `n` times, for [`crate::Xorwow::with_seeds`]: PyCUDA's `seed_getter_uniform`.
pub fn seed_getter_uniform(n: usize) -> Vec<u32> {
    vec![random_seed() as u32; n]
}

/// `n` random seeds, for [`crate::Xorwow::with_seeds`]: PyCUDA's `seed_getter_unique`.
///
/// Streams of different seeds may be alike where those of one seed's subsequences are not; prefer one seed.
pub fn seed_getter_unique(n: usize) -> Vec<u32> {
    let mut rng = PhiloxRng::seed_from_u64(random_seed());
    (0..n).map(|_| rng.next_u32()).collect()
}

/// A new array of uniform numbers in (0, 1], other ones at every call: PyCUDA's `curandom.rand`. For numbers that can be had again, see
/// [`crate::Generator::gen_uniform`].
///
/// # Errors
/// `Array` for a shape that is too large; `Driver`.
///
/// ```no_run
/// let device = gpu_driver::Device::first()?;
/// let x = gpu_random::curandom::rand::<f32, _>(&device, (3, 4))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn rand<T: Real, Sh: ShapeBuilder>(home: impl Into<Stream>, shape: Sh) -> Result<GpuArray<T, Sh::Dim>> {
    Philox::new(random_seed()).gen_uniform(home, shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_differ() {
        assert_ne!(random_seed(), random_seed());
        let (same, other) = (seed_getter_uniform(5), seed_getter_unique(5));
        assert!(same.iter().all(|&seed| seed == same[0]) && same.len() == 5);
        assert!(other.iter().any(|&seed| seed != other[0]) && other.len() == 5);
    }
}
