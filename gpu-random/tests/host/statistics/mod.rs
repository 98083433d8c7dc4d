//! Statistics of both generators with fixed seeds, and of streams that are bad on purpose, which each statistic has to see.

mod bad;
mod distributions;
mod measures;
mod special;

use gpu_random::{Engine, Generator, Order, PhiloxRng, XorwowRng};
use rand::Rng;

use measures::{birthday_spacings, correlation, gaps, high_bits, ranks, runs, serial_pairs};

const LONG: usize = 1 << 21;

/// Whether a fair source gives such a probability but once in thousands of times.
fn is_fair(probability: f64) -> bool {
    (1e-4..=1.0 - 1e-4).contains(&probability)
}

/// Whether no fair source gives it.
fn is_bad(probability: f64) -> bool {
    !(1e-9..=1.0 - 1e-9).contains(&probability)
}

type Measure = (&'static str, fn(&[u32]) -> f64);
const MEASURES: [Measure; 7] = [
    ("chi-square, 256 bins", |words| high_bits(words, 8)),
    ("chi-square, 65536 bins", |words| high_bits(words, 16)),
    ("runs", runs),
    ("serial pairs", serial_pairs),
    ("gaps", gaps),
    ("birthday spacings", birthday_spacings),
    ("ranks", ranks),
];

fn words<R: Engine>(seed: u64, order: Order, n: usize) -> Vec<u32> {
    let mut out = vec![0; n];
    let mut rng = Generator::<R>::new(seed).with_order(order).expect("a valid order");
    rng.fill_bits(&mut out).expect("host memory");
    out
}

fn streams<R: Engine>() {
    for order in [Order::Curand, Order::Sequential] {
        let words = words::<R>(20_260_101, order, LONG);
        for (name, measure) in MEASURES {
            let probability = measure(&words);
            assert!(is_fair(probability), "{order:?}, {name}: {probability:e}");
        }
    }
}

#[test]
fn xorwow_is_fair() {
    streams::<XorwowRng>();
}

#[test]
fn philox_is_fair() {
    streams::<PhiloxRng>();
}

/// Neighbouring subsequences, parts of one, and the calls of a stream.
fn independent<R: Engine, G: Rng>(start: impl Fn(u64, u64) -> G) {
    const N: usize = 1 << 16;
    let part = |subsequence: u64, offset: u64| -> Vec<u32> {
        let mut rng = start(subsequence, offset);
        (0..=N).map(|_| rng.next_u32()).collect()
    };
    let pairs =
        [((0, 0), (1, 0)), ((1, 0), (2, 0)), ((4094, 0), (4095, 0)), ((0, 0), (0, 1 << 16)), ((3, 0), (3, 1 << 40))];
    for (a, b) in pairs {
        let probability = correlation(&part(a.0, a.1), &part(b.0, b.1));
        assert!(is_fair(probability), "{a:?} and {b:?}: {probability:e}");
    }
    let mut rng = Generator::<R>::new(5);
    let calls: Vec<Vec<u32>> = (0..4)
        .map(|_| {
            let mut out = vec![0; N + 1];
            rng.fill_bits(&mut out).expect("host memory");
            out
        })
        .collect();
    for pair in calls.windows(2) {
        let probability = correlation(&pair[0], &pair[1]);
        assert!(is_fair(probability), "two calls: {probability:e}");
    }
}

#[test]
fn subsequences_and_calls_are_independent() {
    independent::<XorwowRng, _>(|subsequence, offset| XorwowRng::new(77, subsequence, offset));
    independent::<PhiloxRng, _>(|subsequence, offset| PhiloxRng::new(77, subsequence, offset));
}
