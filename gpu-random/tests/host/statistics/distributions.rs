//! Values against their distributions.

use gpu_random::{Discrete, Engine, Generator, PhiloxRng, Result, XorwowRng, distribution::Real};

use super::{is_fair, measures::*, special::normal_below};

const N: usize = 1 << 18;
/// Expected first four central moments of a uniform number, and their deviations for one value.
pub const UNIFORM_MOMENTS: [(f64, f64); 4] =
    [(0.0, 0.288_675_1), (1.0 / 12.0, 0.074_535_6), (0.0, 0.047_245_6), (1.0 / 80.0, 0.016_666_7)];
/// Those of a normal one.
const NORMAL_MOMENTS: [(f64, f64); 4] =
    [(0.0, 1.0), (1.0, std::f64::consts::SQRT_2), (0.0, 3.872_983_3), (3.0, 9.797_959)];

/// Expected first four central moments of a Poisson number of this mean, and their deviations for one value: the square roots of
/// `m_2k - m_k^2`. The central moments follow by `m_(k+1) = lambda sum_(j < k) binomial(k, j) m_j` (j from 0), a series of positive terms.
fn moments_of_poisson(lambda: f64) -> [(f64, f64); 4] {
    let mut central = vec![1.0, 0.0];
    for k in 1..8 {
        let (mut sum, mut ways) = (0.0, 1.0);
        for (j, moment) in central.iter().enumerate().take(k) {
            sum += ways * moment;
            ways *= (k - j) as f64 / (j + 1) as f64;
        }
        central.push(lambda * sum);
    }
    [1, 2, 3, 4].map(|k: usize| (central[k], (central[2 * k] - central[k] * central[k]).sqrt()))
}

fn values<R: Engine, T: Clone + Default + Into<f64>>(
    seed: u64,
    fill: impl FnOnce(&mut Generator<R>, &mut Vec<T>) -> Result<()>,
) -> Vec<f64> {
    let mut out = vec![T::default(); N];
    fill(&mut Generator::new(seed), &mut out).expect("host memory");
    out.into_iter().map(Into::into).collect()
}

fn fair(name: &str, probability: f64) {
    assert!(is_fair(probability), "{name}: {probability:e}");
}

fn reals<R: Engine, T: Real + Into<f64>>() {
    let narrow = |x: f64| T::from(x).expect("a float of any width");
    let uniform = values::<R, T>(1, |rng, out| rng.fill_uniform(out));
    fair("uniform", distance(&uniform, |x| x));
    fair("moments of uniform numbers", moments(&uniform, 0.5, UNIFORM_MOMENTS));
    fair("half open", distance(&values::<R, T>(2, |rng, out| rng.fill_half_open(out)), |x| x));
    let normal = values::<R, T>(3, |rng, out| rng.fill_normal(out));
    fair("normal", distance(&normal, normal_below));
    fair("moments of normal numbers", moments(&normal, 0.0, NORMAL_MOMENTS));
    let other = values::<R, T>(4, |rng, out| rng.fill_normal_with(out, narrow(-3.0), narrow(0.5)));
    fair("normal of mean -3", distance(&other, |x| normal_below((x + 3.0) / 0.5)));
    let log = values::<R, T>(5, |rng, out| rng.fill_log_normal(out, narrow(0.5), narrow(0.25)));
    fair("log-normal", distance(&log, |x| normal_below((x.ln() - 0.5) / 0.25)));
    let exponential = values::<R, T>(6, |rng, out| rng.fill_exponential(out, narrow(2.0)));
    fair("exponential", distance(&exponential, |x| 1.0 - (-x / 2.0).exp()));
}

fn integers<R: Engine>() {
    let counts = |values: Vec<f64>, bins: usize| {
        let mut counts = vec![0; bins];
        values.into_iter().for_each(|value| counts[(value as usize).min(bins - 1)] += 1);
        counts
    };
    let n = N as f64;
    let dice = counts(values::<R, u32>(7, |rng, out| rng.fill_range(out, 0..6)), 6);
    fair("range", fit(&dice, &[n / 6.0; 6]));
    let coins = counts(values::<R, u8>(8, |rng, out| rng.fill_bernoulli(out, 0.3)), 2);
    fair("Bernoulli", fit(&coins, &[0.7 * n, 0.3 * n]));
    for (lambda, bins) in
        [(0.1, 8), (1.0, 12), (3.5, 25), (10.0, 40), (40.0, 100), (100.0, 200), (300.0, 500), (1e4, 11_000)]
    {
        let drawn = values::<R, u32>(9, |rng, out| rng.fill_poisson(out, lambda));
        fair("moments of Poisson numbers", moments(&drawn, lambda, moments_of_poisson(lambda)));
        fair("Poisson", fit(&counts(drawn, bins), &poisson(lambda, bins, n)));
    }
    let heads = counts(values::<R, u32>(11, |rng, out| rng.fill_binomial(out, 20, 0.3)), 21);
    let mut ways = 1.0;
    let expected = |k: i32| {
        let probability = ways * 0.3f64.powi(k) * 0.7f64.powi(20 - k);
        ways *= f64::from(20 - k) / f64::from(k + 1);
        n * probability
    };
    fair("binomial", fit(&heads, &(0..=20).map(expected).collect::<Vec<_>>()));
    let weights = [3.0, 0.0, 1.0, 4.0, 1.0, 5.0];
    let chosen = counts(
        values::<R, u32>(12, |rng, out| rng.fill_discrete(out, &Discrete::new(&[3.0, 0.0, 1.0, 4.0, 1.0, 5.0])?)),
        6,
    );
    assert_eq!(chosen[1], 0);
    let of = |all: &[u64]| [0, 2, 3, 4, 5].map(|i: usize| all[i]);
    fair("discrete", fit(&of(&chosen), &[0, 2, 3, 4, 5].map(|i: usize| n * weights[i] / 14.0)));
    let large = values::<R, u32>(10, |rng, out| rng.fill_poisson(out, 1e8));
    fair("Poisson of 1e8", distance(&large, |x| normal_below((x + 0.5 - 1e8) / 1e4)));
}

#[test]
fn real_numbers_are_of_their_distributions() {
    reals::<XorwowRng, f32>();
    reals::<XorwowRng, f64>();
    reals::<PhiloxRng, f32>();
    reals::<PhiloxRng, f64>();
}

#[test]
fn integers_are_of_their_distributions() {
    integers::<XorwowRng>();
    integers::<PhiloxRng>();
}
