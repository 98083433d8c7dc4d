//! The device's numbers: no bit may differ.
#![expect(unsafe_code, reason = "launches and calls of cuRAND")]

use std::{marker::PhantomData, sync::LazyLock};

use gpu_driver::{Device, DevicePod, DeviceVec, Dim3, Entry, In, InOut, Registry, Source};
use gpu_random::{Engine, Generator, PhiloxRng, Result, XorwowRng};
use testkit::{Outcome, Test, ensure, tests};

use super::library::{Curand, Kind, Number, PHILOX, XORWOW};

pub const ON_DEVICE: &[Test<(Device, Curand)>] =
    tests![bits_uniform_and_normal_numbers, calls_in_turn, log_normal_numbers];

static SOURCE: Source = Source { name: "differ.cu", text: include_str!("differ.cu"), headers: &[] };

struct Differ<T>(PhantomData<T>);

impl<T: DevicePod> Entry for Differ<T> {
    type Policy = ();
    type Args<'a> = (In<'a, T>, In<'a, T>, u64, InOut<'a, u32>);
    const SOURCE: &'static Source = &SOURCE;
    const NAME: &'static str = "differ";
    fn template(_: &()) -> String {
        T::CUDA_NAME.to_owned()
    }
    fn block(_: &()) -> Dim3 {
        256.into()
    }
}

static KERNELS: LazyLock<Registry> = LazyLock::new(|| {
    let registry = Registry::new("gpu-random tests").with::<Differ<u32>>(&());
    registry.with::<Differ<f32>>(&()).with::<Differ<f64>>(&())
});

fn differing<T: DevicePod>(a: &DeviceVec<T>, b: &DeviceVec<T>) -> Result<u32, gpu_driver::DriverError> {
    let stream = a.home();
    let mut count = DeviceVec::zeros(stream, 1)?;
    let kernel = KERNELS.kernel::<Differ<T>>(stream.device(), &())?;
    // SAFETY: both have as many elements as is said, and `count` has one.
    unsafe { kernel.launch(1056, (a.input(), b.input(), a.len() as u64, count.in_out()), stream)? };
    Ok(count.to_vec()?[0])
}

/// Our stream, and cuRAND's on the same device.
struct Both<'a, R: Engine> {
    device: &'a Device,
    curand: &'a Curand,
    kind: i32,
    ours: Generator<R>,
    theirs: super::library::Theirs,
    told: String,
}

impl<'a, R: Engine> Both<'a, R> {
    fn new(device: &'a Device, curand: &'a Curand, kind: i32, seed: u64, offset: u64) -> Outcome2<Self> {
        let _current = device.make_current()?;
        // SAFETY: the device's main stream lives as long as the device.
        let theirs = unsafe { curand.on_device(kind, seed, offset, device.stream().as_raw().cast())? };
        let told = format!("generator {kind}, seed {seed:#x}, offset {offset}");
        Ok(Self { device, curand, kind, ours: Generator::new(seed).with_offset(offset), theirs, told })
    }

    fn compare<T: DevicePod + Number>(
        &mut self,
        kind: Kind,
        n: usize,
        fill: impl FnOnce(&mut Generator<R>, &mut DeviceVec<T>) -> Result<()>,
    ) -> Outcome {
        let _current = self.device.make_current()?;
        let stream = self.device.stream();
        let (mut got, want) = (DeviceVec::<T>::zeros(&stream, n)?, DeviceVec::<T>::zeros(&stream, n)?);
        fill(&mut self.ours, &mut got)?;
        // SAFETY: there is room for n numbers on the device of the generator, and the buffer is written by nothing else.
        unsafe { T::fill(&mut self.theirs, kind, want.as_raw() as *mut T, n)? };
        let differ = differing(&got, &want)?;
        ensure!(differ == 0, "{}: {differ} of {n} {} {kind:?} differ", self.told, T::CUDA_NAME);
        Ok(())
    }

    /// One call of each kind, each on a stream of its own at the same place.
    fn each(&mut self, n: usize, seed: u64, offset: u64) -> Outcome {
        let again = || Self::new(self.device, self.curand, self.kind, seed, offset);
        again()?.compare::<u32>(Kind::Bits, n, |rng, out| rng.fill_bits(out))?;
        again()?.compare::<f32>(Kind::Uniform, n, |rng, out| rng.fill_uniform(out))?;
        again()?.compare::<f64>(Kind::Uniform, n, |rng, out| rng.fill_uniform(out))?;
        again()?.compare::<f32>(Kind::Normal, n, |rng, out| rng.fill_normal(out))?;
        again()?.compare::<f64>(Kind::Normal, n, |rng, out| rng.fill_normal(out))
    }
}

type Outcome2<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const SEEDS: [u64; 3] = [0, 1234, 0xdead_beef_cafe_f00d];

fn bits_uniform_and_normal_numbers((device, curand): &(Device, Curand)) -> Outcome {
    for seed in SEEDS {
        for offset in [0, 1, 4095, 4096, (1 << 33) + 7] {
            Both::<XorwowRng>::new(device, curand, XORWOW, seed, offset)?.each(1 << 26, seed, offset)?;
            Both::<PhiloxRng>::new(device, curand, PHILOX, seed, offset)?.each(1 << 26, seed, offset)?;
        }
    }
    Ok(())
}

/// Calls of mixed kinds and lengths on one stream. Normal numbers of cuRAND come in even numbers.
fn calls_in_turn((device, curand): &(Device, Curand)) -> Outcome {
    fn of<R: Engine>(device: &Device, curand: &Curand, kind: i32) -> Outcome {
        let mut random = testkit::rng(9);
        for seed in SEEDS {
            let mut both = Both::<R>::new(device, curand, kind, seed, seed % 5000)?;
            for _ in 0..60 {
                let most = [100, 10_000, 3_000_000][random.below(3)];
                let n = 2 * random.below(most / 2) + 2;
                match random.below(5) {
                    0 => both.compare::<u32>(Kind::Bits, n - 1, |rng, out| rng.fill_bits(out))?,
                    1 => both.compare::<f32>(Kind::Uniform, n - 1, |rng, out| rng.fill_uniform(out))?,
                    2 => both.compare::<f64>(Kind::Uniform, n - 1, |rng, out| rng.fill_uniform(out))?,
                    3 => both.compare::<f32>(Kind::Normal, n, |rng, out| rng.fill_normal(out))?,
                    _ => both.compare::<f64>(Kind::Normal, n, |rng, out| rng.fill_normal(out))?,
                }
            }
        }
        Ok(())
    }
    of::<XorwowRng>(device, curand, XORWOW)?;
    of::<PhiloxRng>(device, curand, PHILOX)
}

fn log_normal_numbers((device, curand): &(Device, Curand)) -> Outcome {
    let n = 1 << 22;
    for seed in SEEDS {
        let mut both = Both::<XorwowRng>::new(device, curand, XORWOW, seed, 5)?;
        both.compare::<f32>(Kind::LogNormal, n, |rng, out| rng.fill_log_normal(out, 0.5, 0.25))?;
        both.compare::<f64>(Kind::LogNormal, n, |rng, out| rng.fill_log_normal(out, 0.5, 0.25))?;
        let mut both = Both::<PhiloxRng>::new(device, curand, PHILOX, seed, 5)?;
        both.compare::<f32>(Kind::LogNormal, n, |rng, out| rng.fill_log_normal(out, 0.5, 0.25))?;
        both.compare::<f64>(Kind::LogNormal, n, |rng, out| rng.fill_log_normal(out, 0.5, 0.25))?;
    }
    Ok(())
}
