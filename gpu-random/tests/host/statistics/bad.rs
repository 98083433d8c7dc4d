//! Streams that are bad on purpose, each of which a statistic has to see.

use gpu_random::{PhiloxRng, XorwowRng};
use rand::{Rng, SeedableRng};

use super::{LONG, MEASURES, is_bad, measures::*};

/// The low bits of a linear congruential generator, as words.
fn low_bits() -> Vec<u32> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state
    };
    (0..LONG).map(|_| next() << 16 | next() & 0xffff).collect()
}

/// A fair stream, every word of which `change` sees with its place.
fn changed(change: impl Fn(usize, u32) -> u32) -> Vec<u32> {
    let mut rng = PhiloxRng::seed_from_u64(3);
    (0..LONG).map(|at| change(at, rng.next_u32())).collect()
}

/// The same part again and again.
fn repeated(n: usize) -> Vec<u32> {
    let mut rng = PhiloxRng::seed_from_u64(3);
    let part: Vec<u32> = (0..n).map(|_| rng.next_u32()).collect();
    part.iter().copied().cycle().take(LONG).collect()
}

fn sees(name: &str, words: &[u32]) {
    let measure = MEASURES.iter().find(|(known, _)| *known == name).expect("a measure of that name").1;
    let probability = measure(words);
    assert!(is_bad(probability), "{name}: {probability:e}");
}

#[test]
fn low_bits_of_a_congruential_generator_are_seen() {
    let words = low_bits();
    for name in ["chi-square, 256 bins", "chi-square, 65536 bins", "serial pairs", "gaps", "birthday spacings", "ranks"]
    {
        sees(name, &words);
    }
}

#[test]
fn a_repeated_part_is_seen() {
    let words = repeated(1 << 12);
    for name in ["chi-square, 256 bins", "chi-square, 65536 bins", "serial pairs", "gaps", "birthday spacings"] {
        sees(name, &words);
    }
    sees("ranks", &repeated(96));
}

#[test]
fn every_statistic_sees_its_own_fault() {
    sees("chi-square, 256 bins", &changed(|at, word| if at % 50 == 0 { word | 1 << 31 } else { word }));
    sees("chi-square, 65536 bins", &changed(|_, word| if word >> 28 == 0 { word & !(1 << 16) } else { word }));
    // A run is longer where a word takes its first bit from the one before.
    let mut longer = changed(|_, word| word);
    for at in (1..LONG).step_by(100) {
        longer[at] = longer[at] & !(1 << 31) | longer[at - 1] & 1 << 31;
    }
    sees("runs", &longer);
    let mut alike = changed(|_, word| word);
    for at in (1..LONG).step_by(40) {
        alike[at] = alike[at - 1];
    }
    sees("serial pairs", &alike);
    sees("gaps", &changed(|at, word| if at % 9 == 0 { word >> 3 } else { word | u32::from(word < 1 << 29) << 30 }));
    sees("birthday spacings", &changed(|at, word| if at % 4 == 0 { word & 0xffff_0000 } else { word }));
    sees("ranks", &changed(|at, word| if at % 128 < 2 { 0 } else { word }));
}

#[test]
fn a_jump_by_one_too_few_is_seen() {
    let part = |offset: u64| -> Vec<u32> {
        let mut rng = XorwowRng::new(1, 0, offset);
        (0..1 << 16).map(|_| rng.next_u32()).collect()
    };
    // What should be far away begins with the same numbers, one place on.
    assert!(is_bad(correlation(&part(1000), &part(999))));
    assert!(is_bad(correlation(&part(1000), &part(1000))));
}

#[test]
fn wrong_distributions_are_seen() {
    let mut rng = PhiloxRng::seed_from_u64(4);
    let uniform: Vec<f64> =
        (0..1 << 18).map(|_| gpu_random::distribution::uniform_f32(rng.next_u32()).into()).collect();
    let skewed: Vec<f64> = uniform.iter().map(|u| u.powf(1.02)).collect();
    assert!(is_bad(distance(&skewed, |x| x)));
    let wide: Vec<f64> = uniform.iter().map(|u| 1.01 * (u - 0.5)).collect();
    assert!(is_bad(moments(&wide, 0.0, super::distributions::UNIFORM_MOMENTS)));
    // Counts of a distribution against those of another one.
    let counts = poisson(10.0, 40, 262_144.0).into_iter().map(|count| count.round() as u64).collect::<Vec<_>>();
    assert!(is_bad(fit(&counts, &poisson(10.2, 40, 262_144.0))));
}
