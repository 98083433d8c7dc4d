//! What cuRAND's host API gives, as hashes and first values of its output (cuRAND 10.4).

use gpu_random::{Engine, Generator, Order, Philox, PhiloxRng, Result, Xorwow, XorwowRng};
use rand::Rng;
use sha2::{Digest, Sha256};

const LONG: usize = 1 << 20;

/// The first 128 bits of the hash, as hexadecimal digits.
fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Sha256::new();
    parts.into_iter().for_each(|part| hasher.update(part));
    hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

macro_rules! bytes {
    ($values:expr) => {
        $values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>()
    };
}

fn bits<R: Engine>(rng: &mut Generator<R>, n: usize) -> Vec<u32> {
    let mut out = vec![0; n];
    rng.fill_bits(&mut out).expect("host memory");
    out
}

fn uniform_f64<R: Engine>(rng: &mut Generator<R>, n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n];
    rng.fill_uniform(&mut out).expect("host memory");
    out
}

fn uniform_f32<R: Engine>(rng: &mut Generator<R>, n: usize) -> Vec<f32> {
    let mut out = vec![0.0; n];
    rng.fill_uniform(&mut out).expect("host memory");
    out
}

const SEEDS: [u64; 3] = [0, 1234, 0xdead_beef_cafe_f00d];

fn first_bits<R: Engine>(want: [&str; 3]) {
    for (seed, want) in SEEDS.into_iter().zip(want) {
        let got = bits(&mut Generator::<R>::new(seed), LONG);
        assert_eq!(hash([&bytes!(got)[..]]), want, "seed {seed:#x}");
    }
}

#[test]
fn bits_of_xorwow() {
    first_bits::<XorwowRng>([
        "fa13a60020cda7df8db953867f3379fd",
        "dddd6386725a775c4b038dbb3ed7b362",
        "bbda760a9e74ffe69ae7823200273119",
    ]);
    let single = [4095, 4096, 8191, 65536, 1_048_575];
    let want: [[u32; 5]; 3] = [
        [3_614_592_305, 1_883_133_293, 1_390_773_282, 1_455_376_252, 3_036_256_338],
        [3_856_448_218, 1_867_875_844, 4_244_315_369, 610_104_960, 2_288_748_017],
        [280_885_674, 557_525_116, 725_394_051, 3_751_327_127, 2_141_619_565],
    ];
    for (seed, want) in SEEDS.into_iter().zip(want) {
        let got = bits(&mut Xorwow::new(seed), LONG);
        assert_eq!(single.map(|at| got[at]), want, "seed {seed:#x}");
    }
    assert_eq!(bits(&mut Xorwow::new(0), 4), [3_179_217_846, 3_955_638_199, 167_591_721, 4_161_663_997]);
    assert_eq!(bits(&mut Xorwow::new(1234), 4), [624_778_773, 3_522_650_202, 2_363_946_744, 1_266_286_439]);
}

#[test]
fn bits_of_philox() {
    first_bits::<PhiloxRng>([
        "929387ac56e604d35144d8e1c98302f7",
        "43b223d3e415b6d3e88289b91137308f",
        "72501b2d131ff2627287b5846bf11f81",
    ]);
    assert_eq!(bits(&mut Philox::new(0), 4), [1_713_891_541, 3_781_805_453, 3_159_862_348, 2_600_524_760]);
    assert_eq!(bits(&mut Philox::new(1234), 4), [546_353_992, 3_665_621_163, 1_140_953_199, 3_419_031_310]);
}

#[test]
fn uniform_numbers() {
    let got = uniform_f32(&mut Xorwow::new(1234), LONG);
    assert_eq!(hash([&bytes!(got)[..]]), "9761df1d27df63b13c23b08add613385");
    let got = uniform_f64(&mut Xorwow::new(1234), LONG);
    assert_eq!(hash([&bytes!(got)[..]]), "d99ca0b96afd9bacbcaf0983de05c7b5");
    let got = uniform_f32(&mut Philox::new(1234), LONG);
    assert_eq!(hash([&bytes!(got)[..]]), "b5b5ee73378f7720e88745c29e5bffd4");
    let got = uniform_f64(&mut Philox::new(1234), LONG);
    assert_eq!(hash([&bytes!(got)[..]]), "ab0235406c495f284cd75ae28a110a74");
}

#[test]
fn offsets() {
    const OFFSETS: [u64; 5] = [1, 4095, 4096, (1 << 33) + 7, (1 << 40) + 12_345];
    let xorwow = [
        [3_522_650_202, 2_363_946_744, 1_266_286_439, 3_928_747_533],
        [3_856_448_218, 1_867_875_844, 3_978_931_785, 3_486_847_504],
        [1_867_875_844, 3_978_931_785, 3_486_847_504, 1_325_236_058],
        [2_948_109_222, 2_240_330_801, 2_227_534_766, 2_787_075_724],
        [1_701_449_101, 1_322_278_431, 3_189_975_317, 540_290_910],
    ];
    let philox = [
        [3_665_621_163, 1_140_953_199, 3_419_031_310, 3_507_855_656],
        [984_438_016, 2_053_518_784, 926_199_030, 78_637_884],
        [2_053_518_784, 926_199_030, 78_637_884, 3_606_568_772],
        [3_521_156_070, 3_582_762_415, 2_204_884_870, 4_067_899_159],
        [1_051_300_288, 3_741_996_608, 4_084_017_186, 483_442_881],
    ];
    for (at, offset) in OFFSETS.into_iter().enumerate() {
        assert_eq!(bits(&mut Xorwow::new(1234).with_offset(offset), 4), xorwow[at], "offset {offset}");
        assert_eq!(bits(&mut Philox::new(1234).with_offset(offset), 4), philox[at], "offset {offset}");
    }
}

/// Calls of several kinds, the integers and uniform numbers among them hashed.
fn mixed<R: Engine>() -> String {
    let mut rng = Generator::<R>::new(99);
    let mut parts = vec![
        bytes!(bits(&mut rng, 5)),
        bytes!(uniform_f64(&mut rng, 5)),
        bytes!(uniform_f32(&mut rng, 8193)),
        bytes!(uniform_f64(&mut rng, 4097)),
    ];
    rng.fill_normal(&mut [0_f32; 6][..]).expect("host memory");
    parts.push(bytes!(bits(&mut rng, 7)));
    rng.fill_normal(&mut [0_f64; 10][..]).expect("host memory");
    parts.push(bytes!(uniform_f64(&mut rng, 300_001)));
    rng.fill_normal(&mut [0_f32; 4][..]).expect("host memory");
    parts.push(bytes!(bits(&mut rng, 300_000)));
    hash(parts.iter().map(Vec::as_slice))
}

#[test]
fn mixed_calls() {
    assert_eq!(mixed::<XorwowRng>(), "02db1299b8d52dc1dda0331609729855");
    assert_eq!(mixed::<PhiloxRng>(), "594fc51d95a04c6e5d6ad443e14baa01");
}

#[test]
fn normal_numbers() {
    let close = |got: Vec<f64>, want: [f64; 8], bound: f64| {
        assert!(got.iter().zip(want).all(|(got, want)| (got - want).abs() <= bound), "{got:?}");
    };
    let single = |rng: &mut dyn FnMut(&mut [f32])| {
        let mut out = [0_f32; 8];
        rng(&mut out);
        out.map(f64::from).to_vec()
    };
    let double = |rng: &mut dyn FnMut(&mut [f64])| {
        let mut out = [0_f64; 8];
        rng(&mut out);
        out.to_vec()
    };
    let got = single(&mut |out| Xorwow::new(1234).fill_normal(out).expect("host memory"));
    let want = [0.78097355, -1.8015782, -0.28084856, 0.5635466, -1.0113329, 0.4140393, 1.4583255, -0.5621365];
    close(got, want, 1e-6);
    let got = single(&mut |out| Philox::new(1234).fill_normal(out).expect("host memory"));
    let want = [-1.6164905, 1.2291554, -1.5605404, 0.46462137, 0.5684552, -0.28589636, 0.25434285, 0.65538394];
    close(got, want, 1e-6);
    let got = double(&mut |out| Xorwow::new(1234).fill_normal(out).expect("host memory"));
    let want = [
        0.35873979852445503,
        -1.239592503223552,
        -0.09149539977360863,
        -0.38011893868395424,
        -0.6449617102012678,
        -0.03025821760553053,
        -0.34022787140638844,
        -1.4953101959599555,
    ];
    close(got, want, 1e-14);
    let got = double(&mut |out| Philox::new(1234).fill_normal(out).expect("host memory"));
    let want = [
        -0.5395266959073188,
        0.16063334644202293,
        1.0081967077372695,
        1.8322492478152392,
        0.5430548566466276,
        1.399319980560631,
        -0.23274465960590007,
        -1.3420857016510193,
    ];
    close(got, want, 1e-14);
}

/// Calls of these lengths against one call.
fn split<R: Engine, T: Copy + PartialEq + Default + std::fmt::Debug>(
    order: Order,
    lengths: &[usize],
    fill: impl Fn(&mut Generator<R>, &mut [T]) -> Result<()>,
) {
    let all = lengths.iter().sum();
    let start = || Generator::<R>::new(7).with_order(order).expect("a valid order");
    let mut want = vec![T::default(); all];
    fill(&mut start(), &mut want).expect("host memory");
    let mut got = vec![T::default(); all];
    let (mut rng, mut rest) = (start(), &mut got[..]);
    for &length in lengths {
        let (part, behind) = rest.split_at_mut(length);
        fill(&mut rng, part).expect("host memory");
        rest = behind;
    }
    assert!(got == want, "{order:?}, {lengths:?}");
}

#[test]
fn calls_of_any_length_continue() {
    let lengths = [5, 7, 4096, 0, 1, 100, 8193, 3, 300_001, 17];
    for order in [Order::Curand, Order::Sequential, Order::Generators(3), Order::Generators(100)] {
        split::<XorwowRng, u32>(order, &lengths, |rng, out| rng.fill_bits(out));
        split::<PhiloxRng, u32>(order, &lengths, |rng, out| rng.fill_bits(out));
        split::<XorwowRng, f32>(order, &lengths, |rng, out| rng.fill_normal(out));
        split::<PhiloxRng, f32>(order, &lengths, |rng, out| rng.fill_normal(out));
        split::<XorwowRng, f64>(order, &lengths, |rng, out| rng.fill_log_normal(out, 0.5, 0.25));
        split::<PhiloxRng, f64>(order, &lengths, |rng, out| rng.fill_uniform(out));
        split::<XorwowRng, u64>(order, &lengths, |rng, out| rng.fill_range(out, 3..77));
        split::<PhiloxRng, i64>(order, &lengths, |rng, out| rng.fill_range(out, -3..77));
        split::<PhiloxRng, u32>(order, &lengths[..7], |rng, out| rng.fill_poisson(out, 30.0));
    }
}

#[test]
fn elements_come_from_the_subsequences_in_turn() {
    for generators in [1, 3, 100, 5000] {
        let order = Order::Generators(generators);
        let n = 3 * generators as usize + 1;
        let got = bits(&mut Xorwow::new(5).with_order(order).unwrap().with_offset(2), n);
        for at in [0, 1, n / 2, n - 1] {
            let (row, generator) = ((at + 2) as u64 / u64::from(generators), (at + 2) as u64 % u64::from(generators));
            assert_eq!(got[at], XorwowRng::new(5, generator, row).next_u32(), "{generators}, {at}");
        }
        let got = bits(&mut Philox::new(5).with_order(order).unwrap().with_offset(2), 4 * n);
        for at in [0, 1, 2, 3, 2 * n, 4 * n - 1] {
            let (group, word) = ((at + 2) as u64 / 4, (at + 2) as u64 % 4);
            let (row, generator) = (group / u64::from(generators), group % u64::from(generators));
            assert_eq!(got[at], PhiloxRng::new(5, generator, 4 * row + word).next_u32(), "{generators}, {at}");
        }
    }
}

#[test]
fn an_odd_normal_number_is_kept_for_its_kind_alone() {
    let normal = |rng: &mut Xorwow, n: usize| {
        let mut out = vec![0_f32; n];
        rng.fill_normal(&mut out).expect("host memory");
        out
    };
    let whole = normal(&mut Xorwow::new(3), 8);
    let mut rng = Xorwow::new(3);
    let (first, second) = (normal(&mut rng, 3), normal(&mut rng, 5));
    assert_eq!([first, second].concat(), whole);

    let mut rng = Xorwow::new(3);
    normal(&mut rng, 3);
    let got = bits(&mut rng, 1);
    assert_eq!(got[0], XorwowRng::new(3, 2, 0).next_u32(), "two generators have had their turn");
    assert_eq!(normal(&mut rng, 1)[0], normal(&mut Xorwow::new(3).with_offset(3), 1)[0]);
}

#[test]
fn positions_are_gone_back_to() {
    let mut rng = Xorwow::new(11);
    bits(&mut rng, 10);
    uniform_f64(&mut rng, 5000);
    let (position, twin) = (rng.position(), rng.clone());
    let want = bits(&mut rng, 9000);
    rng.set_position(&position).unwrap();
    assert_eq!(rng, twin);
    assert_eq!(bits(&mut rng, 9000), want);
    assert!(Xorwow::new(1).with_order(Order::Sequential).unwrap().set_position(&position).is_err());
    rng.set_seed(1234);
    assert_eq!(bits(&mut rng, 1), [624_778_773]);
}
