//! The numbers of one subsequence, as a thread of a kernel draws them.
#![expect(unsafe_code, reason = "a kernel launch")]

use std::marker::PhantomData;

use gpu_driver::{Device, DevicePod, DeviceVec, Dim3, DriverError, Entry, Out, Registry, Source};
use gpu_random::{
    HEADERS, PhiloxRng, XorwowRng,
    distribution::{normal_f32, normal_f64, uniform_f32, uniform_f64},
};
use rand::Rng;

/// Seed, subsequence, offset.
pub(crate) type Start = (u64, u64, u64);

/// A generator of the host, and its twin in kernels.
pub(crate) trait Twin: Rng + 'static {
    const CUDA: &'static str;
    fn start(start: Start) -> Self;
    fn uniform_f64(&mut self) -> f64;
}

impl Twin for XorwowRng {
    const CUDA: &'static str = "gpu_random::Xorwow";
    fn start((seed, subsequence, offset): Start) -> Self {
        Self::new(seed, subsequence, offset)
    }
    fn uniform_f64(&mut self) -> f64 {
        uniform_f64(self.next_u32(), self.next_u32())
    }
}

impl Twin for PhiloxRng {
    const CUDA: &'static str = "gpu_random::Philox";
    fn start((seed, subsequence, offset): Start) -> Self {
        Self::new(seed, subsequence, offset)
    }
    // Of one word, unlike the host API's.
    fn uniform_f64(&mut self) -> f64 {
        (f64::from(self.next_u32()) + 1.0) / 4_294_967_296.0
    }
}

/// A kind of numbers, on both sides.
pub(crate) trait Draw: 'static {
    type Value: DevicePod + Default;
    /// The structure in C++.
    const CUDA: &'static str;
    /// One number, or two.
    fn draw<R: Twin>(rng: &mut R, out: &mut Vec<Self::Value>);
}

pub(crate) struct RawBits;
pub(crate) struct UniformNumbers<T>(PhantomData<T>);
pub(crate) struct NormalNumbers<T>(PhantomData<T>);

macro_rules! draw {
    ($kind:ty, $value:ty, $cuda:literal, $rng:ident => $numbers:expr) => {
        impl Draw for $kind {
            type Value = $value;
            const CUDA: &'static str = $cuda;
            fn draw<R: Twin>($rng: &mut R, out: &mut Vec<$value>) {
                out.extend($numbers);
            }
        }
    };
}
draw!(RawBits, u32, "Bits", rng => [rng.next_u32()]);
draw!(UniformNumbers<f32>, f32, "UniformFloat", rng => [uniform_f32(rng.next_u32())]);
draw!(UniformNumbers<f64>, f64, "UniformDouble", rng => [rng.uniform_f64()]);
draw!(NormalNumbers<f32>, f32, "NormalFloat", rng => normal_f32(rng.next_u32(), rng.next_u32()));
draw!(NormalNumbers<f64>, f64, "NormalDouble", rng => normal_f64(std::array::from_fn(|_| rng.next_u32())));

static SOURCE: Source = Source { name: "of_thread.cu", text: include_str!("of_thread.cu"), headers: &HEADERS };

struct Numbers<R, D>(PhantomData<(R, D)>);

impl<R: Twin, D: Draw> Entry for Numbers<R, D> {
    type Policy = ();
    type Args<'a> = (u64, u64, u64, Out<'a, D::Value>, u64);
    const SOURCE: &'static Source = &SOURCE;
    const NAME: &'static str = "numbers";
    fn template(_: &()) -> String {
        format!("{}, {}, {}", R::CUDA, D::CUDA, D::Value::CUDA_NAME)
    }
    fn block(_: &()) -> Dim3 {
        1.into()
    }
}

/// The first numbers, of the host or of a device's thread.
pub(crate) fn numbers<R: Twin, D: Draw>(
    start: Start,
    count: usize,
    device: Option<&Device>,
) -> Result<Vec<D::Value>, DriverError> {
    let Some(device) = device else {
        let (mut rng, mut out) = (R::start(start), Vec::with_capacity(count + 1));
        while out.len() < count {
            D::draw(&mut rng, &mut out);
        }
        out.truncate(count);
        return Ok(out);
    };
    let (seed, subsequence, offset) = start;
    let stream = device.stream();
    let mut out = DeviceVec::zeros(&stream, count)?;
    let registry = Registry::new("generate").with::<Numbers<R, D>>(&());
    let kernel = registry.kernel::<Numbers<R, D>>(device, &())?;
    // SAFETY: one thread writes `count` numbers.
    unsafe { kernel.launch(1, (seed, subsequence, offset, out.output(), count as u64), &stream)? };
    out.to_vec()
}
