//! Random numbers: streams in cuRAND's order on a device and on the CPU.

use gpu_driver::{DevicePod, DeviceVec};
use gpu_random::{Engine, Generator, Order, PhiloxRng, Xorwow, XorwowRng};

use crate::harness::{Check, Figure, Harness, Work};

const BY: &str = "gpu-random";
/// The seed of all streams, ours and the peers'.
pub(crate) const SEED: u64 = 1234;
/// Numbers that are looked at.
const SAMPLE: usize = 1 << 16;

/// Both generators on a device or on the CPU.
pub fn figures(harness: &mut Harness) {
    of_generator::<XorwowRng>(harness, "xorwow");
    of_generator::<PhiloxRng>(harness, "philox");
    sequential(harness);
}

/// How many numbers are drawn at a time, here and by the peers.
pub(crate) fn lengths(harness: &Harness) -> &'static [usize] {
    if harness.on_gpu() {
        return harness.set().pick(&[1 << 12][..], &[1 << 20], &[1 << 16, 1 << 18, 1 << 20, 1 << 24, 1 << 28]);
    }
    harness.set().pick(&[1 << 12][..], &[1 << 20], &[1 << 20, 1 << 26])
}

/// How many are drawn after the seed was set.
pub(crate) fn first_length(harness: &Harness) -> usize {
    harness.set().pick(1 << 12, 1 << 20, 1 << 20)
}

/// A number, and how far it may be from the same stream's on the host.
trait Drawn: DevicePod + Default {
    fn is(self, host: Self) -> bool;
}
impl Drawn for u32 {
    fn is(self, host: Self) -> bool {
        self == host
    }
}
impl Drawn for f32 {
    fn is(self, host: Self) -> bool {
        (self - host).abs() <= 4e-6 * (1.0 + host.abs())
    }
}
impl Drawn for f64 {
    fn is(self, host: Self) -> bool {
        (self - host).abs() <= 1e-14 * (1.0 + host.abs())
    }
}

/// The share of numbers that are not the stream's.
fn check<T: Drawn>(got: &[T], want: &[T]) -> Check {
    let wrong = got.iter().zip(want).filter(|&(&got, &want)| !got.is(want)).count();
    Check::within(wrong as f64 / want.len().max(1) as f64, 0.0)
}

/// `$n` numbers of that type by the fill, from a stream of the generator `$R`; `$how` makes further settings of the figure.
macro_rules! figure {
    ($harness:ident, $R:ident, $operation:expr, $type:ident, $n:expr, $rng:ident, $out:ident => $fill:expr) => {
        figure!($harness, $R, $operation, $type, $n, std::convert::identity, $rng, $out => $fill)
    };
    ($harness:ident, $R:ident, $operation:expr, $type:ident, $n:expr, $how:expr, $rng:ident, $out:ident => $fill:expr) => {{
        let n: usize = $n;
        let work = Work::fills((n * size_of::<$type>()) as u64);
        let on_device = |$rng: &mut Generator<$R>, $out: &mut DeviceVec<$type>| $fill;
        let on_host = |$rng: &mut Generator<$R>, $out: &mut Vec<$type>| $fill;
        let sample = || {
            let mut want = vec![$type::default(); n.min(SAMPLE)];
            on_host(&mut Generator::new(SEED), &mut want)?;
            Ok::<_, gpu_random::RandomError>(want)
        };
        $how($harness.figure($operation, stringify!($type), n, BY).work(work)).on_gpu(
            |gpu| Ok((Generator::new(SEED), DeviceVec::zeros(gpu.stream(), n)?)),
            |(rng, out)| Ok(on_device(rng, out)?),
            |(_, out), ()| Ok(check(&out.slice(..n.min(SAMPLE))?.to_vec()?, &sample()?)),
        );
        if !$harness.on_gpu() {
            $harness.figure($operation, stringify!($type), n, BY).work(work).on_cpu(
                || Ok((Generator::new(SEED), vec![$type::default(); n])),
                |(rng, out)| Ok(on_host(rng, out)?),
                |(_, out), ()| Ok(check(&out[..n.min(SAMPLE)], &sample()?)),
            );
        }
    }};
}

/// The fills of one generator: those of cuRAND at all lengths, others at the longest.
fn of_generator<R: Engine>(harness: &mut Harness, name: &str) {
    let lengths = lengths(harness);
    let (bits, uniform, normal) = (format!("{name}-bits"), format!("{name}-uniform"), format!("{name}-normal"));
    for &n in lengths {
        figure!(harness, R, &bits, u32, n, rng, out => rng.fill_bits(out));
        figure!(harness, R, &uniform, f32, n, rng, out => rng.fill_uniform(out));
        figure!(harness, R, &uniform, f64, n, rng, out => rng.fill_uniform(out));
        figure!(harness, R, &normal, f32, n, rng, out => rng.fill_normal(out));
        figure!(harness, R, &normal, f64, n, rng, out => rng.fill_normal(out));
    }
    reseed::<R>(harness, &format!("{name}-reseed"));
    let Some(&n) = lengths.last() else { return };
    figure!(harness, R, &format!("{name}-lognormal"), f32, n, rng, out => rng.fill_log_normal(out, 0.0, 1.0));
    figure!(harness, R, &format!("{name}-exponential"), f32, n, rng, out => rng.fill_exponential(out, 1.0));
    figure!(harness, R, &format!("{name}-range"), u32, n, rng, out => rng.fill_range(out, 0..1000));
    // Whole calls: each copies its table to the device.
    macro_rules! poisson {
        ($($mean:literal),*) => {$(
            let operation = format!("{name}-poisson-{}", $mean);
            figure!(harness, R, &operation, u32, n, Figure::whole_calls, rng, out => rng.fill_poisson(out, $mean.into()));
        )*};
    }
    poisson!(1, 10, 100, 10_000);
}

/// Numbers behind a new seed. Each call has another one than that before: a library may make nothing of a seed that it has already.
fn reseed<R: Engine>(harness: &mut Harness, operation: &str) {
    let n = first_length(harness);
    let work = Work::fills(4 * n as u64);
    let drawn = |got: &[u32], seed: u64| {
        let mut want = vec![0; got.len()];
        Generator::<R>::new(seed).fill_bits(&mut want)?;
        Ok(check(got, &want))
    };
    // Whole calls, as of cuRAND, which seeds outside of a captured graph.
    harness.figure(operation, "u32", n, BY).work(work).whole_calls().on_gpu(
        |gpu| Ok((Generator::<R>::new(0), DeviceVec::<u32>::zeros(gpu.stream(), n)?, SEED)),
        |(rng, out, seed)| {
            *seed += 1;
            rng.set_seed(*seed);
            Ok(rng.fill_bits(out)?)
        },
        |(_, out, seed), ()| drawn(&out.slice(..n.min(SAMPLE))?.to_vec()?, *seed),
    );
    if !harness.on_gpu() {
        harness.figure(operation, "u32", n, BY).work(work).on_cpu(
            || Ok((Generator::<R>::new(0), vec![0; n], SEED)),
            |(rng, out, seed)| {
                *seed += 1;
                rng.set_seed(*seed);
                Ok(rng.fill_bits(out)?)
            },
            |(_, out, seed), ()| drawn(&out[..n.min(SAMPLE)], *seed),
        );
    }
}

/// One subsequence alone.
fn sequential(harness: &mut Harness) {
    let Some(&n) = lengths(harness).last() else { return };
    harness.figure("xorwow-sequential", "u32", n, BY).work(Work::fills(4 * n as u64)).on_gpu(
        |gpu| Ok((Xorwow::new(SEED).with_order(Order::Sequential)?, DeviceVec::<u32>::zeros(gpu.stream(), n)?)),
        |(rng, out)| Ok(rng.fill_bits(out)?),
        |(_, out), ()| Ok(Check::equal(&out.slice(..1)?.to_vec()?, &[624_778_773])),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_numbers_are_seen() {
        assert!(check(&[1.0_f32, -3.5], &[1.000_001, -3.5]).is_right() && check::<u32>(&[7], &[7]).is_right());
        assert!(!check(&[1.0_f32, -3.5], &[1.0, -3.49]).is_right() && !check::<u32>(&[7], &[8]).is_right());
        assert!(!check(&[f64::NAN], &[0.0]).is_right());
    }
}
