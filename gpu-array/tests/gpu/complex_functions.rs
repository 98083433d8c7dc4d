//! Functions of complex numbers: on the host against NumPy in higher precision, on the device against the host.

use std::fmt::Write as _;

use gpu_array::{
    Complex, GpuArray, Inexact, Result,
    expression::{Backend, Expr, Gpu, Host, Precompile, host, precompile},
};
use gpu_driver::Device;
use ndarray::{Array1, Ix1};
use testkit::{Outcome, Test, ensure, ensure_eq, rng, tests};

use crate::complex_numpy::{Python, line, told};

pub const TESTS: &[Test<Device>] = tests![functions_are_near_those_of_the_host, powers_follow_their_definition];
pub const OF_NUMPY: &[Test<Python>] = tests![functions_are_numpys];

/// A complex type of the tests, and its parts as f64.
trait Number: Inexact {
    fn new(re: f64, im: f64) -> Self;
    fn parts(self) -> [f64; 2];
    const EPSILON: f64;
    const MAX: f64;
    const TINY: f64;
}

macro_rules! numbers {
    ($($part:ident)*) => {$(
        impl Number for Complex<$part> {
            fn new(re: f64, im: f64) -> Self {
                Self { re: re as $part, im: im as $part }
            }
            fn parts(self) -> [f64; 2] {
                [self.re.into(), self.im.into()]
            }
            const EPSILON: f64 = $part::EPSILON as f64;
            const MAX: f64 = $part::MAX as f64;
            const TINY: f64 = $part::MIN_POSITIVE as f64;
        }
    )*};
}
numbers! { f32 f64 }

/// All pairs of parts at which a formula may go wrong, and random ones of several sizes.
fn arguments<Z: Number>() -> Array1<Z> {
    let largest = [Z::MAX, Z::MAX / 3.0, Z::MAX.sqrt() * 2.0, Z::MAX.ln() + 0.3, Z::MAX.ln() * 2.0 - 3.0];
    let smallest = [Z::TINY, Z::TINY / 16.0, Z::TINY.sqrt() / 8.0, Z::EPSILON, Z::EPSILON * Z::EPSILON];
    let beside =
        [1.0 - Z::EPSILON, 1.0 + 4.0 * Z::EPSILON, 0.999, 0.5, 2.0, 10.25, 1.0 / Z::EPSILON, 64.0 / Z::EPSILON];
    let special = [0.0, 1.0, f64::INFINITY, f64::NAN];
    let parts: Vec<f64> =
        [&largest[..], &smallest, &beside, &special].concat().into_iter().flat_map(|x| [x, -x]).collect();
    let mut all: Vec<Z> = parts.iter().flat_map(|&re| parts.iter().map(move |&im| Z::new(re, im))).collect();
    let mut rng = rng(11);
    let mut part = |size: f64| (rng.uniform() * 2.0 - 1.0) * size;
    for size in [0.01, 1.0, 1.5, 10.0, 80.0, 1e4] {
        all.extend((0..200).map(|_| Z::new(part(size), part(size))));
        all.extend((0..50).map(|_| Z::new(part(size), part(1e-6))));
        all.extend((0..50).map(|_| Z::new(part(1e-6), part(size))));
    }
    // The circle around 0 of radius 1, where logarithms are small.
    all.extend((0..100).map(|_| part(3.2)).map(|angle| Z::new(angle.cos(), angle.sin())));
    Array1::from_vec(all)
}

fn all_of<'a, Z: Number, P: Backend>(z: &Expr<'a, Z, Ix1, P>) -> Vec<(&'static str, Expr<'a, Z, Ix1, P>)> {
    vec![
        ("sqrt", z.sqrt()),
        ("exp", z.exp()),
        ("log", z.log()),
        ("log10", z.log10()),
        ("sin", z.sin()),
        ("cos", z.cos()),
        ("tan", z.tan()),
        ("asin", z.asin()),
        ("acos", z.acos()),
        ("atan", z.atan()),
        ("sinh", z.sinh()),
        ("cosh", z.cosh()),
        ("tanh", z.tanh()),
        ("asinh", z.asinh()),
        ("acosh", z.acosh()),
        ("atanh", z.atanh()),
    ]
}

fn functions_are_numpys(python: &Python) -> Outcome {
    fn write<Z: Number>(text: &mut String, dtype: &str) -> Outcome {
        let z = arguments::<Z>();
        line(text, "operands", dtype, &z.iter().map(|z| z.parts()).collect());
        for (name, value) in all_of::<Z, Host>(&host(&z)) {
            line(text, name, dtype, &value.eval()?.iter().map(|z| z.parts()).collect());
        }
        Ok(())
    }
    let mut input = String::new();
    write::<Complex<f32>>(&mut input, "complex64")?;
    write::<Complex<f64>>(&mut input, "complex128")?;
    ensure_eq!(told(python, include_str!("complex_functions.py"), &input)?, "same");
    Ok(())
}

/// The rules of `complex_functions.py`, with that many units of the larger part.
fn near<Z: Number>(z: Z, got: Z, want: Z, units: f64) -> bool {
    let (got, want) = (got.parts(), want.parts());
    if got.iter().any(|part| part.is_infinite()) && want.iter().any(|part| part.is_infinite()) {
        return true;
    }
    let size = want[0].abs().max(want[1].abs());
    (0..2).all(|k| {
        let (got, want) = (got[k], want[k]);
        let close = (got - want).abs() <= units * Z::EPSILON * size + Z::TINY * Z::EPSILON * 4.0;
        let largest = got.is_infinite() && want.abs() >= Z::MAX * (1.0 - units * Z::EPSILON);
        let open = z.parts().iter().any(|part| part.is_nan());
        let side = open || want != 0.0 || got != 0.0 || want.is_sign_negative() == got.is_sign_negative();
        (got == want || got.is_nan() && want.is_nan() || close || largest) && side
    })
}

fn check<Z: Number>(device: &Device) -> Outcome {
    let z = arguments::<Z>();
    let on_device = GpuArray::from_ndarray(device, &z)?;
    let (got, want) = (all_of::<Z, Gpu>(&Gpu::expr(&on_device)), all_of::<Z, Host>(&host(&z)));
    let list: Vec<_> = got.iter().map(|(_, got)| got as &dyn Precompile).collect();
    precompile(device, &list)?;
    let mut bad = String::new();
    for ((name, got), (_, want)) in got.iter().zip(&want) {
        let (got, want): (Array1<Z>, Array1<Z>) = (got.eval()?.to_ndarray()?, want.eval()?);
        let wrong = z.iter().zip(&got).zip(&want).filter(|((z, got), want)| !near(**z, **got, **want, 20.0));
        for ((z, got), want) in wrong.take(4) {
            let _ = writeln!(
                bad,
                "{name}({:?}) of {}: got {:?}, want {:?}",
                z.parts(),
                Z::DTYPE,
                got.parts(),
                want.parts()
            );
        }
    }
    ensure!(bad.is_empty(), "{bad}");
    Ok(())
}

fn functions_are_near_those_of_the_host(device: &Device) -> Outcome {
    check::<Complex<f32>>(device)?;
    check::<Complex<f64>>(device)
}

fn powers_follow_their_definition(device: &Device) -> Outcome {
    fn powers<Z: Number>(device: &Device, z: &Array1<Z>, w: &Array1<Z>) -> Result<[Array1<Z>; 2]> {
        let (a, b) = (GpuArray::from_ndarray(device, z)?, GpuArray::from_ndarray(device, w)?);
        Ok([a.pow(&b).eval()?.to_ndarray()?, host(z).pow(host(w)).eval()?])
    }
    type Z = Complex<f64>;
    let mut rng = rng(5);
    let mut part = |size: f64| (rng.uniform() * 2.0 - 1.0) * size;
    let z = Array1::from_iter((0..500).map(|_| Z::new(part(3.0), part(3.0))));
    let w = Array1::from_iter((0..500).map(|_| Z::new(part(3.0), part(3.0))));
    let integers = Array1::from_iter((0..500).map(|i| Z::new(f64::from(i % 23 - 11), 0.0)));
    for got in powers(device, &z, &w)? {
        for ((z, w), &got) in z.iter().zip(&w).zip(&got) {
            let power = w * Z::new(z.re.hypot(z.im).ln(), z.im.atan2(z.re));
            let want = Z::new(power.re.exp() * power.im.cos(), power.re.exp() * power.im.sin());
            ensure!(near(*z, got, want, 200.0), "{z} to {w}: got {got}");
        }
    }
    for got in powers(device, &z, &integers)? {
        for ((z, w), &got) in z.iter().zip(&integers).zip(&got) {
            ensure!(near(*z, got, z.powi(w.re as i32), 100.0), "{z} to {w}: got {got}");
        }
    }
    // Of 0, to 0, and beyond the repeated products.
    let (zero, one, nan) = (Z::new(0.0, -0.0), Z::new(1.0, 0.0), Z::new(f64::NAN, f64::NAN));
    let cases = [
        (zero, zero, one),
        (nan, zero, one),
        (zero, Z::new(2.5, 0.0), Z::new(0.0, 0.0)),
        (zero, Z::new(-1.0, 0.0), nan),
        (zero, Z::new(1.0, 1.0), nan),
        (Z::new(0.0, 1.0), Z::new(2.0, 0.0), Z::new(-1.0, 0.0)),
        (Z::new(0.0, 2.0), Z::new(-2.0, 0.0), Z::new(-0.25, 0.0)),
        (Z::new(1.5, 0.0), Z::new(120.0, 0.0), Z::new(1.5f64.powi(120), 0.0)),
    ];
    let (z, w) = (cases.iter().map(|case| case.0).collect(), cases.iter().map(|case| case.1).collect());
    for got in powers(device, &z, &w)? {
        for ((z, w, want), &got) in cases.iter().zip(&got) {
            let (got, wanted) = (got.parts(), want.parts());
            let same = (0..2)
                .all(|k| (got[k] - wanted[k]).abs() <= 1e-13 * want.l1_norm() || got[k].is_nan() && wanted[k].is_nan());
            ensure!(same, "{z} to {w}: got {got:?}, want {want}");
        }
    }
    Ok(())
}
