//! Reductions from text: operators that do not commute, structures, places, errors.

use gpu_algos::{
    AlgoError,
    gpu_array::{
        GpuArray,
        gpu_driver::{
            self, Device, DevicePod, DeviceVec, Stream,
            emulated::{Call::ModuleLoad, Emulated},
        },
    },
    kernels::{IndexRange, ReductionKernel},
    reduction_kernel,
};
use ndarray::{Array1, Array2, Axis, s};
use testkit::{Outcome, Rng, Test, ensure, ensure_eq, lengths_around, rng, tests};

pub const TESTS: &[Test<Device>] = tests![
    products_of_matrices_keep_their_order,
    operators_that_do_not_commute,
    pycuda_struct_reduce,
    pycuda_reduce_out_and_dot,
    places_in_their_order,
    operators_see_values_of_places_alone,
    options_are_the_kernel_s_own,
    wrong_reductions_are_errors,
];

/// On the emulated device, which counts calls of the driver.
pub const COUNTS: &[Test<()>] = tests![what_is_compiled_ahead_is_what_is_called];

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, DevicePod)]
#[device_pod(crate = gpu_driver)]
struct Matrix {
    a: u32,
    b: u32,
    c: u32,
    d: u32,
}

impl Matrix {
    fn times(self, other: Self) -> Self {
        let dot = |x: u32, y: u32, z: u32, w: u32| x.wrapping_mul(y).wrapping_add(z.wrapping_mul(w));
        Self {
            a: dot(self.a, other.a, self.b, other.c),
            b: dot(self.a, other.b, self.b, other.d),
            c: dot(self.c, other.a, self.d, other.c),
            d: dot(self.c, other.b, self.d, other.d),
        }
    }
}

reduction_kernel! {
    /// The product of 2x2 matrices, modulo 2^32.
    fn matrix_product(x: &[Matrix]) -> Matrix {
        unsafe {
            identity: "Matrix{1, 0, 0, 1}";
            reduce: "Matrix{a.a * b.a + a.b * b.c, a.a * b.b + a.b * b.d, a.c * b.a + a.d * b.c, a.c * b.b + a.d * b.d}";
            map: "x[i]"
        }
    }
}

const ONE: Matrix = Matrix { a: 1, b: 0, c: 0, d: 1 };

/// Around the tiles of both kernels.
fn lengths(device: &Device) -> Vec<usize> {
    let tile = 256 * 4 * 8;
    let mut all = lengths_around(tile);
    all.push(40_009);
    if !device.is_emulated() {
        all.extend([1_000_003, 10_000_019]);
    }
    all
}

pub fn products_of_matrices_keep_their_order(device: &Device) -> Outcome {
    let mut rng = rng(7);
    for n in lengths(device) {
        let matrix = |rng: &mut Rng| {
            let mut next = || rng.next_u64() as u32 | 1;
            Matrix { a: next(), b: next(), c: next(), d: next() }
        };
        let x: Vec<Matrix> = (0..n).map(|_| matrix(&mut rng)).collect();
        let want = x.iter().fold(ONE, |product, &next| product.times(next));
        let on_device = DeviceVec::from_slice(&device.stream(), &x)?;
        ensure_eq!((n, matrix_product(&on_device)?.to_vec()?), (n, vec![want]));
    }
    Ok(())
}

/// The least common multiple divides by what it is given, which is never 0 here.
pub fn operators_see_values_of_places_alone(device: &Device) -> Outcome {
    let gcd =
        "unsigned gcd(unsigned a, unsigned b) { for (unsigned rest; (rest = a % b) != 0; b = rest) a = b; return b; }";
    let multiple = || ReductionKernel::<u32>::new("const unsigned *x", "1", "a / gcd(a, b) * b", "x[i]");
    for multiple in [multiple()?.preamble(gcd), multiple()?.preamble(gcd).commutative()] {
        for n in lengths(device).into_iter().chain([100_000]) {
            let x: Vec<u32> = (0..n as u32).map(|i| 1 + i % 7).collect();
            let on_device = DeviceVec::from_slice(&device.stream(), &x)?;
            // SAFETY: the texts are an operator of positive numbers in any order and its identity element.
            let got = unsafe { multiple.call(&[(&on_device).into()])? }.to_vec()?;
            let want = [1, 1, 2, 6, 12, 60, 60, 420][n.min(7)];
            ensure_eq!((n, got), (n, vec![want]));
        }
    }
    Ok(())
}

/// The call finds what was compiled ahead of it: it loads no module.
fn what_is_compiled_ahead_is_what_is_called(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let emulation = device.emulation().ok_or("emulated")?;
    let x = DeviceVec::from_slice(&device.stream(), &[2i32; 9000])?;
    let sum = || ReductionKernel::<i32>::new("const int *x", "0", "a + b", "x[i]");
    for kernel in [sum()?, sum()?.commutative()] {
        kernel.compile(&device)?;
        let loads = emulation.calls(ModuleLoad)?;
        // SAFETY: sums, which read x at each place.
        ensure_eq!(unsafe { kernel.call(&[(&x).into()])? }.to_vec()?, [18_000]);
        ensure_eq!(emulation.calls(ModuleLoad)?, loads);
    }
    Ok(())
}

/// Options of the compiler are part of the kernel: the same text without them is another.
pub fn options_are_the_kernel_s_own(device: &Device) -> Outcome {
    let x = DeviceVec::from_slice(&device.stream(), &[1i32; 100])?;
    let weighted = || ReductionKernel::<i32>::new("const int *x", "0", "a + b", "WEIGHT * x[i]");
    for weight in [3, 5] {
        let kernel = weighted()?.commutative().option(format!("-DWEIGHT={weight}"));
        // SAFETY: sums, which read x at each place.
        ensure_eq!(unsafe { kernel.call(&[(&x).into()])? }.to_vec()?, [100 * weight]);
    }
    // SAFETY: as above.
    let error = unsafe { weighted()?.commutative().call(&[(&x).into()]) }.unwrap_err();
    ensure!(error.to_string().contains("WEIGHT"), "{error}");
    Ok(())
}

pub fn operators_that_do_not_commute(device: &Device) -> Outcome {
    // The last that is not 0; u8 that stays at 255; the same in f64 with a table and a value.
    let last = ReductionKernel::<i32>::new("const int *x", "0", "b != 0 ? b : a", "x[i]")?;
    let saturating = ReductionKernel::<u8>::new("const unsigned char *x", "0", "a + b > 255 ? 255 : a + b", "x[i]")?;
    let picked = ReductionKernel::<f64>::new(
        "double scale, const float table[], const short *at",
        "0",
        "a + b",
        "scale * table[at[i]]",
    )?;
    let picked = picked.name("picked")?.commutative();
    let mut rng = rng(8);
    for n in lengths(device) {
        let x: Vec<i32> = (0..n).map(|i| if rng.below(1000) == 0 { i as i32 } else { 0 }).collect();
        let bytes: Vec<u8> = (0..n).map(|_| u8::from(rng.below(20_000) < 100)).collect();
        let at: Vec<i16> = (0..n).map(|_| rng.below(5) as i16).collect();
        let table = [1f32, 10.0, 100.0, 1000.0, 10_000.0];
        let stream = device.stream();
        let on_device = GpuArray::from_ndarray(device, &Array1::from(x.clone()))?;
        let (dt, dat) = (DeviceVec::from_slice(&stream, &table)?, DeviceVec::from_slice(&stream, &at)?);
        let dbytes = DeviceVec::from_slice(&stream, &bytes)?;
        // SAFETY: the texts read place i of their arrays, and places of the table that are there.
        let (last, sum, picked) = unsafe {
            let picked = picked.call(&[0.5.into(), (&dt).into(), (&dat).into()])?;
            (last.call(&[(&on_device).into()])?, saturating.call(&[(&dbytes).into()])?, picked)
        };
        let want = x.iter().rev().copied().find(|&x| x != 0).unwrap_or(0);
        ensure_eq!((n, last.to_vec()?), (n, vec![want]));
        ensure_eq!((n, sum.to_vec()?), (n, vec![bytes.iter().fold(0u8, |a, &b| a.saturating_add(b))]));
        let want: f64 = at.iter().map(|&at| 0.5 * f64::from(table[at as usize])).sum();
        ensure_eq!((n, picked.to_vec()?), (n, vec![want]));
    }
    Ok(())
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, DevicePod)]
#[device_pod(crate = gpu_driver)]
struct Extrema {
    least: i32,
    greatest: i32,
}

reduction_kernel! {
    /// The least and the greatest.
    fn extrema(x: &[i32]) -> Extrema {
        unsafe {
            preamble: "Extrema merged(Extrema a, Extrema b) { return Extrema{a.least < b.least ? a.least : b.least, \
                       a.greatest > b.greatest ? a.greatest : b.greatest}; }";
            identity: "Extrema{2147483647, -2147483647 - 1}";
            reduce: "merged(a, b)";
            commutative: true;
            map: "Extrema{x[i], x[i]}"
        }
    }
}

pub fn pycuda_struct_reduce(device: &Device) -> Outcome {
    let mut rng = rng(9);
    for n in lengths(device) {
        let x = Array1::from_shape_fn(n, |_| rng.next_u64() as i32);
        let on_device = GpuArray::from_ndarray(device, &x)?;
        let (least, greatest) = x.iter().fold((i32::MAX, i32::MIN), |(l, g), &x| (l.min(x), g.max(x)));
        ensure_eq!((n, extrema(&on_device)?.to_vec()?), (n, vec![Extrema { least, greatest }]));
    }
    Ok(())
}

pub fn pycuda_reduce_out_and_dot(device: &Device) -> Outcome {
    let x = Array2::from_shape_fn((20, 333), |(i, j)| ((i * 333 + j) % 101) as f32);
    let on_device = GpuArray::from_ndarray(device, &x)?;
    let largest = ReductionKernel::<f32>::new("const float *in", "-1e30f", "a > b ? a : b", "in[i]")?;
    let mut out = GpuArray::<f32, _>::zeros(device, 20)?;
    for (row, part) in (0..20).map(|row| (row, on_device.index_axis(Axis(0), row))) {
        // SAFETY: the text reads place i of its array.
        unsafe { largest.call_into(out.index_axis_mut(Axis(0), row)?, IndexRange::all(), &[part?.into()])? };
    }
    ensure_eq!(out.to_ndarray()?, x.map_axis(Axis(1), |row| row.iter().copied().fold(-1e30, f32::max)));
    // A function of the preamble may be called what the kernel around it calls its own.
    let joined = ReductionKernel::<f32>::new("const float *x", "identity()", "join(a, b)", "map(x[i])")?
        .preamble("float identity() { return -1e30f; } float join(float a, float b) { return a > b ? a : b; } float map(float x) { return x; }");
    // SAFETY: as above.
    let got = unsafe { joined.call(&[on_device.index_axis(Axis(0), 3)?.into()])? };
    ensure_eq!(got.to_vec()?, vec![100.0]);
    // Of another stream, into an array of the first.
    let side = Stream::new(device)?;
    let there = GpuArray::from_ndarray(&side, &x.row(3))?;
    // SAFETY: as above.
    unsafe { largest.call_into(out.index_axis_mut(Axis(0), 0)?, IndexRange::all(), &[(&there).into()])? };
    ensure_eq!(out.to_ndarray()?[0], 100.0);
    let dot = ReductionKernel::<f32>::new("const float *x, const float *y", "0", "a + b", "x[i] * y[i]")?.commutative();
    for n in [2, 20, 333] {
        let part = on_device.reshape(20 * 333)?;
        let part = part.slice(ndarray::s![..n])?;
        // SAFETY: as above.
        let got = unsafe { dot.call(&[part.view().into(), part.into()])? };
        ensure_eq!(got.to_vec()?, vec![(0..n).map(|i| (i % 101 * (i % 101)) as f32).sum::<f32>()]);
    }
    Ok(())
}

pub fn places_in_their_order(device: &Device) -> Outcome {
    let last = ReductionKernel::<i64>::new("const long *x", "-1", "b < 0 ? a : b", "x[i] + n * 0")?;
    let x = GpuArray::from_ndarray(device, &Array1::from_iter(0..10_000i64))?;
    let cases = [
        (IndexRange::range(5, 9000, 7), 8993),
        (IndexRange::slice(None, None, -1), 0),
        (IndexRange::slice(-3, None, 1), 9999),
        (IndexRange::slice(9000, 100, -13), 108),
        (IndexRange::range(4, 4, 1), -1),
    ];
    for (places, want) in cases {
        // SAFETY: the text reads place i of its array.
        let got = unsafe { last.call_over(places, &[(&x).into()])? };
        ensure_eq!((places.to_string(), got.to_vec()?), (places.to_string(), vec![want]));
    }
    Ok(())
}

pub fn wrong_reductions_are_errors(device: &Device) -> Outcome {
    let new = |arguments: &str| ReductionKernel::<f32>::new(arguments, "0", "a + b", "x[i]");
    ensure!(matches!(new("float *x"), Err(AlgoError::Argument { .. })));
    ensure!(matches!(new("const float *i"), Err(AlgoError::Argument { .. })));
    let sum = new("const float *x")?;
    let doubles = GpuArray::<f64, _>::zeros(device, 5)?;
    let x = GpuArray::<f32, _>::zeros(device, 5)?;
    let mut two = GpuArray::<f32, _>::zeros(device, 2)?;
    let gaps = x.slice(s![..;2])?;
    let named = new("const float *x")?.name("total")?;
    // SAFETY: none of these runs.
    unsafe {
        let told = "kernel `total`: `const float *x` was given an array of shape [3] with strides [2]";
        ensure!(named.call(&[(&gaps).into()]).is_err_and(|error| error.to_string().starts_with(told)));
        ensure!(matches!(sum.call(&[(&doubles).into()]), Err(AlgoError::ArgumentType { .. })));
        ensure!(matches!(sum.call(&[]), Err(AlgoError::ArgumentCount { .. })));
        let outside = sum.call_over(IndexRange::range(0, 6, 1), &[(&x).into()]);
        ensure!(matches!(outside, Err(AlgoError::IndexRange { .. })));
        let wide = sum.call_into(&mut two, IndexRange::all(), &[(&x).into()]);
        ensure!(matches!(wide, Err(AlgoError::ArgumentLength { .. })));
        let broken = ReductionKernel::<f32>::new("const float *x", "0", "a + ", "x[i]")?;
        let refused = broken.call(&[(&x).into()]);
        ensure!(refused.is_err_and(|error| error.to_string().contains("reduction.cu")));
    }
    Ok(())
}
