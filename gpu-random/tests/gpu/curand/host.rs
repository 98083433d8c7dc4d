//! The host's numbers, against cuRAND's generators for host memory, which need no GPU: random cases. Integers and uniform numbers have the
//! same bits; normal numbers are made with the library's own sines and logarithms.

use gpu_random::{Engine, Generator, PhiloxRng, XorwowRng};
use testkit::{Outcome, Rng, Test, ensure, rng, tests};

use super::library::{Curand, Kind, Number, PHILOX, Theirs, XORWOW};

pub const HOST: &[Test<Curand>] = tests![random_cases];

const CASES: usize = 1000;

fn random_cases(curand: &Curand) -> Outcome {
    let mut random = rng(20);
    for case in 0..CASES {
        let seed = [random.next_u64(), random.next_u64() >> 40][random.below(2)];
        let offset = [0, random.below(10_000) as u64, random.next_u64() >> random.below(60)][random.below(3)];
        let (kind, of) = [(XORWOW, true), (PHILOX, false)][case % 2];
        let theirs = curand.on_host(kind, seed, offset)?;
        let told = format!("generator {kind}, seed {seed:#x}, offset {offset}");
        if of {
            calls(Generator::<XorwowRng>::new(seed).with_offset(offset), theirs, &mut random, &told)?;
        } else {
            calls(Generator::<PhiloxRng>::new(seed).with_offset(offset), theirs, &mut random, &told)?;
        }
    }
    Ok(())
}

/// Some calls on one stream.
fn calls<R: Engine>(mut ours: Generator<R>, mut theirs: Theirs, random: &mut Rng, told: &str) -> Outcome {
    for _ in 0..random.below(6) + 1 {
        let most = [10, 100, 9000][random.below(3)];
        let n = 2 * random.below(most) + 2;
        match random.below(6) {
            0 => {
                let mut got = vec![0_u32; n - 1];
                ours.fill_bits(&mut got)?;
                ensure!(got == theirs.numbers::<u32>(Kind::Bits, n - 1)?, "{told}: {n} bits");
            }
            1 => {
                let mut got = vec![0_f32; n - 1];
                ours.fill_uniform(&mut got)?;
                ensure!(got == theirs.numbers::<f32>(Kind::Uniform, n - 1)?, "{told}: {n} uniform f32");
            }
            2 => {
                let mut got = vec![0_f64; n - 1];
                ours.fill_uniform(&mut got)?;
                ensure!(got == theirs.numbers::<f64>(Kind::Uniform, n - 1)?, "{told}: {n} uniform f64");
            }
            3 => {
                let mut got = vec![0_f32; n];
                ours.fill_normal(&mut got)?;
                near(&got, &theirs.numbers(Kind::Normal, n)?, 4e-6, told)?;
            }
            4 => {
                let mut got = vec![0_f64; n];
                ours.fill_normal(&mut got)?;
                near(&got, &theirs.numbers(Kind::Normal, n)?, 1e-14, told)?;
            }
            _ => {
                let mut got = vec![0_f32; n];
                ours.fill_log_normal(&mut got, 0.5, 0.25)?;
                near(&got, &theirs.numbers(Kind::LogNormal, n)?, 4e-6, told)?;
            }
        }
    }
    Ok(())
}

fn near<T: Number + Copy + Into<f64>>(got: &[T], want: &[T], bound: f64, told: &str) -> Outcome {
    let far = got.iter().zip(want).position(|(&got, &want)| {
        let (got, want) = (got.into(), want.into());
        (got - want).abs() > bound * (1.0 + want.abs())
    });
    ensure!(far.is_none(), "{told}: normal number {far:?} of {}", got.len());
    Ok(())
}
