//! cuRAND: XORWOW and Philox, in the library's default order, and in the one that it calls dynamic.
#![expect(unsafe_code, reason = "calls of cuRAND")]

use std::{
    mem::MaybeUninit,
    sync::atomic::{AtomicU64, Ordering},
};

use cudarc::curand::sys::{self, curandOrdering_t as Order, curandRngType_t as Kind};
use gpu_driver::{CurrentGuard, DevicePod, DeviceVec};
use gpu_random::XorwowRng;
use rand_core::{Rng, SeedableRng};

use super::library::{self, Library};
use crate::{
    harness::{Check, Gpu, Harness, Outcome, Work},
    random::{SEED, first_length, lengths},
};

static LIBRARY: Library = Library {
    name: "curand",
    is_present: sys::is_culib_present,
    opened: sys::culib,
    functions: &[
        "curandCreateGenerator",
        "curandDestroyGenerator",
        "curandGetVersion",
        "curandSetStream",
        "curandSetPseudoRandomGeneratorSeed",
        "curandSetGeneratorOrdering",
        "curandGenerate",
        "curandGenerateUniform",
        "curandGenerateUniformDouble",
        "curandGenerateNormal",
        "curandGenerateNormalDouble",
        "curandGeneratePoisson",
    ],
};

/// The library's two orders that matter: the default, and its fastest.
const ORDERS: [(&str, Order); 2] =
    [("curand", Order::CURAND_ORDERING_PSEUDO_DEFAULT), ("curand-dynamic", Order::CURAND_ORDERING_PSEUDO_DYNAMIC)];
/// Numbers that are looked at.
const SAMPLE: usize = 1 << 16;

/// Everything on the device.
pub(super) fn figures(harness: &mut Harness) {
    let Some(gpu) = harness.gpu() else { return };
    match LIBRARY.ready(gpu.device()).and_then(|()| version()) {
        Ok(version) => harness.version("curand", &version),
        Err(reason) => return harness.gap("curand", None, &reason.to_string()),
    }
    for (name, kind) in [("xorwow", Kind::CURAND_RNG_PSEUDO_XORWOW), ("philox", Kind::CURAND_RNG_PSEUDO_PHILOX4_32_10)]
    {
        for &n in lengths(harness) {
            let bits = Draw { name: "bits", dtype: "u32", generate: sys::curandGenerate, check: are_bits };
            figure(harness, name, kind, n, bits);
            let uniform = sys::curandGenerateUniform;
            figure(
                harness,
                name,
                kind,
                n,
                Draw { name: "uniform", dtype: "f32", generate: uniform, check: are_uniform },
            );
            let uniform = sys::curandGenerateUniformDouble;
            figure(
                harness,
                name,
                kind,
                n,
                Draw { name: "uniform", dtype: "f64", generate: uniform, check: are_uniform },
            );
            let normal = Draw { name: "normal", dtype: "f32", generate: normal_f32, check: are_normal };
            figure(harness, name, kind, n, normal);
            let normal = Draw { name: "normal", dtype: "f64", generate: normal_f64, check: are_normal };
            figure(harness, name, kind, n, normal);
        }
        // Seeding is no part of a captured graph.
        let first = Draw { name: "reseed", dtype: "u32", generate: reseeded, check: are_reseeded };
        figure(harness, name, kind, first_length(harness), first);
        let Some(&n) = lengths(harness).last() else { continue };
        let draw = |name, generate, check| Draw { name, dtype: "u32", generate, check };
        figure(harness, name, kind, n, draw("poisson-1", poisson::<1>, are_poisson::<1>));
        figure(harness, name, kind, n, draw("poisson-10", poisson::<10>, are_poisson::<10>));
        figure(harness, name, kind, n, draw("poisson-100", poisson::<100>, are_poisson::<100>));
        figure(harness, name, kind, n, draw("poisson-10000", poisson::<10_000>, are_poisson::<10_000>));
    }
}

/// One distribution in one type.
struct Draw<T> {
    name: &'static str,
    dtype: &'static str,
    generate: unsafe fn(sys::curandGenerator_t, *mut T, usize) -> sys::curandStatus_t,
    check: fn(&[T], Kind) -> bool,
}

/// A figure for each order.
fn figure<T: DevicePod>(harness: &mut Harness, generator: &str, kind: Kind, n: usize, draw: Draw<T>) {
    let operation = format!("{generator}-{}", draw.name);
    for (by, order) in ORDERS {
        let figure = harness.figure(&operation, draw.dtype, n, by).work(Work::fills((n * size_of::<T>()) as u64));
        // Neither seeding nor the making of a table is part of a captured graph.
        let is_whole = draw.name == "reseed" || draw.name.starts_with("poisson");
        let figure = if is_whole { figure.whole_calls() } else { figure };
        figure.on_gpu(
            |gpu| Ok((DeviceVec::<T>::zeros(gpu.stream(), n)?, Generator::new(gpu, kind, order)?)),
            |(numbers, generator)| {
                // SAFETY: the buffer has room for n numbers, and is on the generator's stream.
                let status = unsafe { (draw.generate)(generator.raw, numbers.as_raw() as *mut T, n) };
                ok("curandGenerate", status)
            },
            |(numbers, _), ()| {
                let sample = numbers.slice(..n.min(SAMPLE))?.to_vec()?;
                Ok(Check::holds((draw.check)(&sample, kind)))
            },
        );
    }
}

/// The seed that was set last.
static LAST_SEED: AtomicU64 = AtomicU64::new(SEED);

/// The first numbers of a seed, which is another one at each call: the library might see that it has it already.
///
/// # Safety
/// As the library's function: room for `n` numbers.
unsafe fn reseeded(generator: sys::curandGenerator_t, to: *mut u32, n: usize) -> sys::curandStatus_t {
    let seed = LAST_SEED.fetch_add(1, Ordering::Relaxed) + 1;
    // SAFETY: the generator is alive, and the caller's promise.
    unsafe {
        match sys::curandSetPseudoRandomGeneratorSeed(generator, seed) {
            sys::curandStatus_t::CURAND_STATUS_SUCCESS => sys::curandGenerate(generator, to, n),
            failed => failed,
        }
    }
}

/// Standard normal numbers.
///
/// # Safety
/// As the library's function: room for `n` numbers.
unsafe fn normal_f32(generator: sys::curandGenerator_t, to: *mut f32, n: usize) -> sys::curandStatus_t {
    // SAFETY: the caller's promise.
    unsafe { sys::curandGenerateNormal(generator, to, n, 0.0, 1.0) }
}

/// Standard normal numbers in f64.
///
/// # Safety
/// As the library's function: room for `n` numbers.
unsafe fn normal_f64(generator: sys::curandGenerator_t, to: *mut f64, n: usize) -> sys::curandStatus_t {
    // SAFETY: the caller's promise.
    unsafe { sys::curandGenerateNormalDouble(generator, to, n, 0.0, 1.0) }
}

/// Numbers of Poisson's distribution.
///
/// # Safety
/// As the library's function: room for `n` numbers.
unsafe fn poisson<const MEAN: u32>(generator: sys::curandGenerator_t, to: *mut u32, n: usize) -> sys::curandStatus_t {
    // SAFETY: the caller's promise.
    unsafe { sys::curandGeneratePoisson(generator, to, n, MEAN.into()) }
}

/// Mean and variance of Poisson's distribution.
fn are_poisson<const MEAN: u32>(got: &[u32], _: Kind) -> bool {
    let (want, n) = (f64::from(MEAN), got.len());
    let variance = got.iter().map(|&x| (f64::from(x) - want).powi(2)).sum::<f64>() / n as f64;
    is_near(mean(got, |x| x), want, want.sqrt(), n) && is_near(variance, want, (want + 2.0 * want * want).sqrt(), n)
}

/// Half the bits are ones; XORWOW begins as ours does.
fn are_bits(got: &[u32], kind: Kind) -> bool {
    are_bits_of(SEED, got, kind)
}

fn are_reseeded(got: &[u32], kind: Kind) -> bool {
    are_bits_of(LAST_SEED.load(Ordering::Relaxed), got, kind)
}

fn are_bits_of(seed: u64, got: &[u32], kind: Kind) -> bool {
    let ones: u64 = got.iter().map(|word| u64::from(word.count_ones())).sum();
    let first =
        kind != Kind::CURAND_RNG_PSEUDO_XORWOW || got.first() == Some(&XorwowRng::seed_from_u64(seed).next_u32());
    first && is_near(ones as f64 / (32 * got.len()) as f64, 0.5, 0.5, 32 * got.len())
}

/// All in (0, 1], and their mean that of a fair generator.
fn are_uniform<T: Copy + Into<f64>>(got: &[T], _: Kind) -> bool {
    let inside = got.iter().all(|&x| (0.0..=1.0).contains(&x.into()));
    inside && is_near(mean(got, |x| x), 0.5, (1.0_f64 / 12.0).sqrt(), got.len())
}

/// Mean 0, and variance 1.
fn are_normal<T: Copy + Into<f64>>(got: &[T], _: Kind) -> bool {
    let n = got.len();
    is_near(mean(got, |x| x), 0.0, 1.0, n) && is_near(mean(got, |x| x * x), 1.0, 2.0_f64.sqrt(), n)
}

fn mean<T: Copy + Into<f64>>(numbers: &[T], of: fn(f64) -> f64) -> f64 {
    numbers.iter().map(|&x| of(x.into())).sum::<f64>() / numbers.len() as f64
}

/// Whether a mean of `n` numbers with that deviation lies within six of its own deviations.
fn is_near(mean: f64, want: f64, deviation: f64, n: usize) -> bool {
    (mean - want).abs() <= 6.0 * deviation / (n as f64).sqrt()
}

fn ok(call: &str, status: sys::curandStatus_t) -> Outcome {
    library::check(call, status, sys::curandStatus_t::CURAND_STATUS_SUCCESS)
}

fn version() -> Outcome<String> {
    let mut version = 0;
    // SAFETY: the pointer is valid for the call.
    ok("curandGetVersion", unsafe { sys::curandGetVersion(&mut version) })?;
    Ok(format!("{}.{}.{}", version / 1000, version / 100 % 10, version % 100))
}

/// A generator on the stream, with the device's context current as long as it is used.
struct Generator {
    raw: sys::curandGenerator_t,
    _current: CurrentGuard,
}

impl Generator {
    fn new(gpu: &Gpu, kind: Kind, order: Order) -> Outcome<Self> {
        let current = gpu.device().make_current()?;
        let mut raw = MaybeUninit::uninit();
        // SAFETY: the pointer is valid for the call.
        ok("curandCreateGenerator", unsafe { sys::curandCreateGenerator(raw.as_mut_ptr(), kind) })?;
        // SAFETY: written by the call that succeeded.
        let generator = Self { raw: unsafe { raw.assume_init() }, _current: current };
        // SAFETY: the generator is alive.
        ok("curandSetOrdering", unsafe { sys::curandSetGeneratorOrdering(generator.raw, order) })?;
        // SAFETY: both are alive.
        ok("curandSetStream", unsafe { sys::curandSetStream(generator.raw, gpu.stream().as_raw().cast()) })?;
        // SAFETY: the generator is alive.
        ok("curandSetSeed", unsafe { sys::curandSetPseudoRandomGeneratorSeed(generator.raw, SEED) })?;
        Ok(generator)
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed once.
        unsafe { sys::curandDestroyGenerator(self.raw) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_random_is_seen() {
        let kind = Kind::CURAND_RNG_PSEUDO_XORWOW;
        let mut ours = XorwowRng::seed_from_u64(SEED);
        let mut bits: Vec<u32> = (0..10_000).map(|_| ours.next_u32()).collect();
        assert!(are_bits(&bits, kind) && are_bits(&bits[1..], Kind::CURAND_RNG_PSEUDO_PHILOX4_32_10));
        let uniform: Vec<f64> = bits.iter().map(|&word| f64::from(word) / 2.0_f64.powi(32)).collect();
        assert!(are_uniform(&uniform, kind) && !are_normal(&uniform, kind));
        bits.reverse();
        assert!(!are_bits(&bits, kind) && !are_bits(&[0; 10_000], Kind::CURAND_RNG_PSEUDO_PHILOX4_32_10));
        let mut counts = vec![0u32; 10_000];
        gpu_random::Philox::new(3).fill_poisson(&mut counts, 10.0).unwrap();
        assert!(are_poisson::<10>(&counts, kind) && !are_poisson::<11>(&counts, kind));
        assert!(!are_uniform(&[1.5_f32; 100], kind) && !are_uniform(&[0.25_f32; 10_000], kind));
    }
}
