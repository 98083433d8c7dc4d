//! The seams that other crates build on: expressions in loops of their own, and values that are made.

use gpu_array::{
    GpuArray,
    expression::{Gpu, Host, Source, host, roll, source},
    gpu_driver::{DeviceVec, Header, KernelSpace, LaunchConfig, Program},
};
use gpu_driver::Device;
use ndarray::{Array2, Axis, s};
use testkit::{Outcome, ensure_eq};

/// One thread adds up the value at every place of a matrix.
const LOOP: &str = "
template <class E> __global__ void total(const __grid_constant__ gpu::Words<64> words) {
    const uint64_t *word = words.word;
    const uint64_t rows = word[0], columns = word[1];
    const uint64_t *leaf = word + 3, *scalars = leaf + 3 * E::Leaves::SIZE, *extra = scalars + E::SCALARS;
    double sum = 0;
    for (uint64_t i = 0; i < rows; i++) {
        for (uint64_t j = 0; j < columns; j++) {
            typename E::Leaves x;
            typename E::Outputs y;
            gpu::each(x, [&](auto k, auto &value) {
                const uint64_t *own = leaf + 3 * decltype(k)::value;
                gpu::Pack<typename gpu::plain<decltype(value)>::type, 1> one;
                gpu::load(one, own[0], gpu::STRIDED, int64_t(i * own[1] + j * own[2]), 1);
                value = one.lane[0];
            });
            E::apply(scalars, extra, x, y);
            sum += double(gpu::get<0>(y));
        }
    }
    *reinterpret_cast<double *>(word[2]) = sum;
}
";

pub fn another_crate_s_loop_fuses_an_expression(device: &Device) -> Outcome {
    let x = Array2::from_shape_fn((5, 7), |(i, j)| (i * 10 + j) as f32);
    let dx = GpuArray::from_ndarray(device, &x)?;
    let sum = DeviceVec::<f64>::zeros(dx.stream(), 1)?;
    let value = dx.t() * 2.0 + roll(&dx.slice(s![..;-1, ..])?.t(), 1, Axis(0)).sqrt();
    let lowered = value.lower()?;
    ensure_eq!((lowered.shape(), lowered.dtype().name()), (&[7, 5][..], "float32"));

    let text = format!("#include \"loop.cuh\"\n{}{LOOP}", lowered.functor("Value"));
    let program = Program::new("total.cu", text).option("-default-device").name_expression("total<Value>");
    let program = lowered.headers().iter().fold(program, |program, header| program.header(header.name, header.text));
    static SPACE: KernelSpace = KernelSpace::new();
    let mut key = vec![SPACE.word()];
    lowered.write_key(&mut key);
    let kernel = device.generated_kernel(&SPACE, &key, || Ok(program))?;

    let mut words = vec![7, 5, sum.as_raw()];
    for leaf in lowered.leaves() {
        words.extend([leaf.address, leaf.strides[0] as u64, leaf.strides[1] as u64]);
    }
    words.extend(lowered.scalars());
    words.extend(lowered.extra());
    words.resize(64, 0);
    let homes: Vec<_> = lowered.homes().chain([sum.home()]).collect();
    let config = LaunchConfig { grid: 1.into(), block: 1.into(), shared_bytes: 0 };
    // SAFETY: one thread reads the leaves within their shape and writes the sum; all homes are named.
    unsafe { kernel.launch(config, &words, &homes, lowered.stream()?)? };

    let rolled = roll(host(x.slice(s![..;-1, ..]).reversed_axes()), 1, Axis(0)).sqrt();
    let want: f64 = (host(x.t()) * 2.0 + rolled).eval()?.iter().map(|&value| f64::from(value)).sum();
    ensure_eq!(sum.to_vec()?, [want]);
    Ok(())
}

/// Weyl's sequence: multiples of an odd number.
#[derive(Debug)]
struct Weyl {
    factor: u64,
    start: u64,
}

// SAFETY: it computes from its arguments and two words.
unsafe impl Source<u32> for Weyl {
    fn header(&self) -> Header {
        const TEXT: &str = "#pragma once\n#include \"prelude.cuh\"\n__device__ inline uint32_t weyl(const uint64_t *words, \
                            uint64_t place) { return uint32_t((words[1] + place * words[0]) >> 32); }\n";
        Header { name: "weyl.cuh", text: TEXT }
    }
    fn function(&self) -> &'static str {
        "weyl"
    }
    fn words(&self) -> Vec<u64> {
        vec![self.factor, self.start]
    }
    fn value(&self, place: u64) -> u32 {
        (self.start.wrapping_add(place.wrapping_mul(self.factor)) >> 32) as u32
    }
}

pub fn made_values_are_the_same_on_either_place(device: &Device) -> Outcome {
    let weyl = |start| Weyl { factor: 0x9e37_79b9_7f4a_7c15, start };
    let shape = (33, 130);
    for start in [0, 7] {
        let on_device = (source::<u32, _, Gpu>(weyl(start), shape) ^ 5).eval_on(device)?;
        let on_host = (source::<u32, _, Host>(weyl(start), shape) ^ 5).eval()?;
        ensure_eq!(on_device.to_ndarray()?, on_host);
        ensure_eq!(on_host[(0, 1)], weyl(start).value(1) ^ 5);
        ensure_eq!(on_host[(32, 129)], weyl(start).value(33 * 130 - 1) ^ 5);
    }
    // Two sources in one expression, beside an array that lies along the other axis.
    let x = Array2::from_shape_fn((130, 33), |(i, j)| (i * 100 + j) as u32);
    let dx = GpuArray::from_ndarray(device, &x)?;
    let got = (source::<u32, _, Gpu>(weyl(1), shape) ^ source::<u32, _, Gpu>(weyl(2), shape) ^ dx.t()).eval()?;
    let want = source::<u32, _, Host>(weyl(1), shape) ^ source::<u32, _, Host>(weyl(2), shape) ^ host(x.t());
    ensure_eq!(got.to_ndarray()?, want.eval()?);
    Ok(())
}
