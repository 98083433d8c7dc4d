//! Functions of complex numbers: on the host against NumPy in higher precision, on the device against the host.

use std::fmt::Write as _;

use gpu_array::{
    Complex, GpuArray, Inexact,
    expression::{Backend, Expr, Gpu, Host, Precompile, host, precompile},
};
use gpu_driver::Device;
use ndarray::{Array1, Ix1};
use testkit::{Outcome, Test, ensure, ensure_eq, rng, tests};

use crate::complex_numpy::{Python, line, told};

pub const TESTS: &[Test<Device>] = tests![functions_are_near_those_of_the_host];
pub const OF_NUMPY: &[Test<Python>] = tests![functions_are_numpys];

/// A complex type of the tests, and its parts as f64.
pub trait Number: Inexact {
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
        [1.0 - Z::EPSILON, 1.0 + 4.0 * Z::EPSILON, 0.999, 0.5, 2.0, 2.5, 10.25, 1.0 / Z::EPSILON, 64.0 / Z::EPSILON];
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

/// Parts at which a definition branches: there no value may vanish on one side alone.
pub fn is_special<Z: Number>(z: Z) -> bool {
    let parts = [0.0, 1.0, 2.5, f64::INFINITY, Z::MAX, Z::TINY];
    z.parts().iter().all(|part| part.is_nan() || parts.contains(&part.abs()))
}

/// The rules of `complex_functions.py`, with that many units of the larger finite part: NaN where NaN is, infinities and zeros with their signs.
pub fn near<Z: Number>(got: Z, want: Z, units: f64) -> bool {
    let (got, want) = (got.parts(), want.parts());
    let size = want.into_iter().filter(|part| part.is_finite()).fold(0.0, |size: f64, part| size.max(part.abs()));
    let bound = units * Z::EPSILON * size + Z::TINY * Z::EPSILON * 4.0;
    got.into_iter().zip(want).all(|(got, want)| {
        let same_sign = got.is_sign_negative() == want.is_sign_negative();
        let exact = got.is_nan() && want.is_nan() || got == want && same_sign;
        let close = (got != 0.0 || want != 0.0) && (got - want).abs() <= bound;
        let largest = same_sign && got.abs().min(want.abs()) >= Z::MAX * (1.0 - units * Z::EPSILON);
        exact || close || largest
    })
}

fn same_zeros<Z: Number>(got: Z, want: Z) -> bool {
    got.parts().iter().zip(want.parts()).all(|(&got, want)| (got == 0.0) == (want == 0.0))
}

/// The same values with NaN of one sign: what the sign of a NaN is, no result may show.
fn with_positive_nan<Z: Number>(z: &Array1<Z>) -> Array1<Z> {
    let positive = |part: f64| if part.is_nan() { f64::NAN } else { part };
    z.mapv(|z| {
        let [re, im] = z.parts();
        Z::new(positive(re), positive(im))
    })
}

fn check<Z: Number>(device: &Device) -> Outcome {
    let z = arguments::<Z>();
    let on_device = GpuArray::from_ndarray(device, &z)?;
    let positive = with_positive_nan(&z);
    let (got, want) = (all_of::<Z, Gpu>(&Gpu::expr(&on_device)), all_of::<Z, Host>(&host(&positive)));
    let list: Vec<_> = got.iter().map(|(_, got)| got as &dyn Precompile).collect();
    precompile(device, &list)?;
    let mut bad = String::new();
    for ((name, got), (_, want)) in got.iter().zip(&want) {
        let (got, want): (Array1<Z>, Array1<Z>) = (got.eval()?.to_ndarray()?, want.eval()?);
        let wrong = z
            .iter()
            .zip(&got)
            .zip(&want)
            .filter(|&((&z, &got), &want)| !near(got, want, 20.0) || is_special(z) && !same_zeros(got, want));
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
