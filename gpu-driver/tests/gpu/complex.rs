//! Functions of PyCUDA's complex numbers (`pycuda-complex.hpp`), compared with their definitions in f64.

use gpu_driver::{Arch, Device, DevicePod, DeviceVec, LaunchConfig, Program};
use testkit::{Outcome, ensure};

/// Each thread writes the results of one number `z`, its neighbour `w` and a real number `x`.
const TEXT: &str = r#"
#include <pycuda-complex.hpp>

template <class T> __global__ void all(const T *input, T *output, int n, int count) {
    typedef pycuda::complex<T> Z;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Z *numbers = (const Z *)input;
    Z z = numbers[i], w = numbers[(i + 1) % n], sum;
    const T x = numbers[(i + 2) % n].real();
    sum += z;
    sum *= w;
    Z same[] = {z + w, z - w, z * w, z / w, sum, -z, +z, z + x, x + z, z - x, x - z, z * x, x * z, z / x, x / z};
    Z functions[] = {real(z), imag(z), abs(z), arg(z), norm(z), conj(z), pycuda::polar(x, w.imag()), sqrt(z), exp(z),
        log(z), log10(z), pycuda::sin(z), cos(z), tan(z), sinh(z), cosh(z), tanh(z), pow(z, 3), pow(z, -2), pow(z, x),
        pow(z, w), pow(x, w), Z(pycuda::complex<double>(pycuda::complex<float>(z))), Z(z == z, z != w)};
    Z *out = (Z *)output + count * i;
    for (Z value : same) *out++ = value;
    for (Z value : functions) *out++ = value;
}
"#;

const NAMES: [&str; 39] = [
    "z + w",
    "z - w",
    "z * w",
    "z / w",
    "(0 + z) w",
    "-z",
    "+z",
    "z + x",
    "x + z",
    "z - x",
    "x - z",
    "z * x",
    "x * z",
    "z / x",
    "x / z",
    "real",
    "imag",
    "abs",
    "arg",
    "norm",
    "conj",
    "polar",
    "sqrt",
    "exp",
    "log",
    "log10",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "pow 3",
    "pow -2",
    "pow x",
    "pow w",
    "x pow w",
    "conversions",
    "== and !=",
];

type Z = [f64; 2];

fn product([a, b]: Z, [c, d]: Z) -> Z {
    [a * c - b * d, a * d + b * c]
}

fn quotient(a: Z, [c, d]: Z) -> Z {
    let size = c * c + d * d;
    let [re, im] = product(a, [c, -d]);
    [re / size, im / size]
}

fn exp([re, im]: Z) -> Z {
    [re.exp() * im.cos(), re.exp() * im.sin()]
}

fn log([re, im]: Z) -> Z {
    let (x, y) = (re.abs().max(im.abs()), re.abs().min(im.abs()));
    let near_one = ((x - 1.0) * (x + 1.0) + y * y).ln_1p() / 2.0;
    [if (0.5..2.0).contains(&x) { near_one } else { re.hypot(im).ln() }, im.atan2(re)]
}

fn pow(z: Z, power: Z) -> Z {
    exp(product(power, log(z)))
}

fn sinh([re, im]: Z) -> Z {
    [re.sinh() * im.cos(), re.cosh() * im.sin()]
}

fn cosh([re, im]: Z) -> Z {
    [re.cosh() * im.cos(), re.sinh() * im.sin()]
}

/// The results by definition.
fn want(z: Z, w: Z, x: f64) -> Vec<Z> {
    let ([a, b], r) = (z, [x, 0.0]);
    let turned = |[re, im]: Z| [-im, re];
    let back = |[re, im]: Z| [im, -re];
    let sum = |p: Z, q: Z| [p[0] + q[0], p[1] + q[1]];
    let minus = |[re, im]: Z| [-re, -im];
    let tanh = |z| quotient(sinh(z), cosh(z));
    let root = {
        let (size, angle) = (a.hypot(b).sqrt(), b.atan2(a) / 2.0);
        [size * angle.cos(), size * angle.sin()]
    };
    vec![
        sum(z, w),
        sum(z, minus(w)),
        product(z, w),
        quotient(z, w),
        product(z, w),
        minus(z),
        z,
        sum(z, r),
        sum(r, z),
        sum(z, minus(r)),
        sum(r, minus(z)),
        product(z, r),
        product(r, z),
        quotient(z, r),
        quotient(r, z),
        [a, 0.0],
        [b, 0.0],
        [a.hypot(b), 0.0],
        [b.atan2(a), 0.0],
        [a * a + b * b, 0.0],
        [a, -b],
        [x * w[1].cos(), x * w[1].sin()],
        root,
        exp(z),
        log(z),
        log(z).map(|part| part / std::f64::consts::LN_10),
        back(sinh(turned(z))),
        cosh(turned(z)),
        back(tanh(turned(z))),
        sinh(z),
        cosh(z),
        tanh(z),
        product(z, product(z, z)),
        quotient([1.0, 0.0], product(z, z)),
        pow(z, r),
        pow(z, w),
        pow(r, w),
        z,
        [1.0, f64::from(u8::from(z != w))],
    ]
}

fn run<T: DevicePod>(device: &Device, input: &[T], name: &str) -> Result<Vec<T>, Box<dyn std::error::Error>> {
    let program = Program::new("complex.cu", TEXT).name_expression(name);
    let (function, stream) = (device.compile(program)?.function(name)?, device.stream());
    let (n, x) = (input.len() / 2, DeviceVec::from_slice(&stream, input)?);
    let mut y = DeviceVec::<T>::zeros(&stream, 2 * n * NAMES.len())?;
    let arguments = (x.input(), y.output(), i32::try_from(n)?, i32::try_from(NAMES.len())?);
    // SAFETY: each of n threads reads x, and writes its own NAMES.len() pairs of y.
    unsafe { function.launch(LaunchConfig::for_elements(n), arguments, &stream)? };
    Ok(y.to_vec()?)
}

/// Numbers in all quadrants and on the axes, near 1, small and large.
fn numbers() -> Vec<Z> {
    let parts = [-2.75f64, -1.0, -0.125, 0.0, 1e-3, 0.6, 0.999, 3.5];
    let mut all: Vec<Z> = parts.iter().flat_map(|&a| parts.map(|b| [a, b])).filter(|z| *z != [0.0; 2]).collect();
    all.extend([[0.8, 0.6], [0.6, -0.8], [1.0, 1e-4], [-7.0, 9.0], [12.0, -0.3], [1e-5, -1e-5], [20.0, 2.0]]);
    // So that the device has the very same ones.
    all.iter().map(|z| z.map(|part| f64::from(part as f32))).collect()
}

pub fn functions_of_pycuda_s_complex_numbers(device: &Device) -> Outcome {
    let all = numbers();
    let compare = |got: &[f64], bound: f64, of: &str| -> Outcome {
        for (i, got) in got.chunks(2 * NAMES.len()).enumerate() {
            let (z, w, x) = (all[i], all[(i + 1) % all.len()], all[(i + 2) % all.len()][0]);
            for ((got, want), name) in got.chunks(2).zip(want(z, w, x)).zip(NAMES) {
                if (name == "z / x" || name == "pow x" || name == "x pow w") && x <= 0.0 {
                    continue; // on the branch cut, or divided by 0
                }
                let size = want[0].hypot(want[1]);
                // Powers double the error of a logarithm by their size.
                let bound = if name.contains("pow") { 60.0 * bound } else { bound };
                let difference = (got[0] - want[0]).hypot(got[1] - want[1]);
                ensure!(difference <= bound * size.max(1e-30), "{name} of {z:?}, {w:?}, {x} in {of}: {got:?} {want:?}");
            }
        }
        Ok(())
    };
    let single: Vec<f32> = all.iter().flatten().map(|&part| part as f32).collect();
    let got: Vec<f64> = run(device, &single, "all<float>")?.into_iter().map(f64::from).collect();
    compare(&got, 2e-6, "float")?;
    let double: Vec<f64> = all.iter().flatten().copied().collect();
    // Conversions go through float, which has these numbers.
    compare(&run(device, &double, "all<double>")?, 1e-14, "double")?;
    // Roots, absolute values and logarithms at the ends of the numbers; sqrt(0) is 0, and 0 to powers.
    let ends =
        [[1e30f32, -1e30], [3e38, 3e38], [1e-30, 1e-30], [-1e-38, 0.0], [0.0, 0.0], [30.0, 1.0], [88.9, 1.5707964]];
    let got = run(device, &ends.concat(), "all<float>")?;
    for (z, got) in ends.iter().zip(got.chunks(2 * NAMES.len())) {
        let z = z.map(f64::from);
        let want = want(z, [1.0, 0.0], 1.0);
        for name in ["abs", "sqrt", "log", "exp", "tanh"] {
            let at = NAMES.iter().position(|known| *known == name).ok_or("a name")?;
            let (got, want) = ([got[2 * at], got[2 * at + 1]].map(f64::from), want[at]);
            let overflows = want.iter().any(|part| part.abs() > f64::from(f32::MAX) || part.is_nan());
            let difference = (got[0] - want[0]).hypot(got[1] - want[1]);
            ensure!(overflows || difference <= 4e-6 * want[0].hypot(want[1]), "{name} of {z:?}: {got:?} {want:?}");
        }
    }
    Ok(())
}

pub fn functions_of_pycuda_s_complex_numbers_compile_for_gpus(_: &()) -> Outcome {
    let program = Program::new("complex.cu", TEXT).name_expression("all<float>").name_expression("all<double>");
    ensure!(program.compile(Arch::new(9, 0))?.image().starts_with(b"\x7fELF"), "no cubin");
    let narrowing = "#include <pycuda-complex.hpp>\n__global__ void f(pycuda::complex<float> *x) { pycuda::complex<float> y = pycuda::complex<double>(1); *x = y; }";
    ensure!(Program::from(narrowing).compile(Arch::new(9, 0)).is_err(), "double becomes float without a word");
    Ok(())
}
