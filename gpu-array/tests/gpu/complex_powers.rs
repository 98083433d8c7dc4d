//! Powers of complex numbers: on the host against NumPy, on the device against the host, and a few against their definition.

use std::fmt::Write as _;

use gpu_array::{Complex, GpuArray, Result, expression::host};
use gpu_driver::Device;
use ndarray::Array1;
use testkit::{Outcome, Test, ensure, ensure_eq, rng, tests};

use crate::{
    complex_functions::{Number, near},
    complex_numpy::{Python, line, told},
};

pub const TESTS: &[Test<Device>] = tests![powers_follow_their_definition, powers_are_near_those_of_the_host];
pub const OF_NUMPY: &[Test<Python>] = tests![powers_are_numpys];

/// All pairs of parts at which a definition branches.
fn bases<Z: Number>() -> Vec<Z> {
    let positive = [0.0, 1.0, 2.5, f64::INFINITY, Z::MAX, Z::TINY];
    let parts: Vec<f64> = positive.into_iter().flat_map(|x| [x, -x]).chain([f64::NAN]).collect();
    parts.iter().flat_map(|&re| parts.iter().map(move |&im| Z::new(re, im))).collect()
}

/// The same, and integers that are powers by products, or just beyond, and halves.
fn exponents<Z: Number>() -> Vec<Z> {
    let reals = [2.0, 3.0, 4.0, 5.0, 7.0, 99.0, 100.0, 0.5, 1.5];
    let signed = reals.into_iter().flat_map(|x| [(x, 0.0), (x, -0.0), (-x, 0.0), (-x, -0.0)]);
    bases().into_iter().chain(signed.map(|(re, im)| Z::new(re, im))).collect()
}

/// All pairs of a base and an exponent.
fn pairs<Z: Number>() -> (Array1<Z>, Array1<Z>) {
    let (bases, exponents) = (bases::<Z>(), exponents::<Z>());
    let z = bases.iter().flat_map(|&z| exponents.iter().map(move |_| z)).collect();
    (z, bases.iter().flat_map(|_| exponents.iter().copied()).collect())
}

fn powers_are_numpys(python: &Python) -> Outcome {
    fn write<Z: Number>(
        text: &mut String,
        dtype: &str,
        of_reals: impl Fn(&Array1<Z>, &Array1<Z>) -> Result<Array1<Z>>,
    ) -> Outcome {
        let (z, w) = pairs::<Z>();
        line(text, "z", dtype, &bases::<Z>().into_iter().map(Number::parts).collect());
        line(text, "w", dtype, &exponents::<Z>().into_iter().map(Number::parts).collect());
        line(text, "pow", dtype, &host(&z).pow(host(&w)).eval()?.iter().map(|z| z.parts()).collect());
        line(text, "pow of reals", dtype, &of_reals(&z, &w)?.iter().map(|z| z.parts()).collect());
        Ok(())
    }
    let mut input = String::new();
    write::<Complex<f32>>(&mut input, "complex64", |z, w| host(z).pow(host(w).real()).eval())?;
    write::<Complex<f64>>(&mut input, "complex128", |z, w| host(z).pow(host(w).real()).eval())?;
    ensure_eq!(told(python, include_str!("complex_powers.py"), &input)?, "same");
    Ok(())
}

/// The error of the angle w log z in units of its last place, where the power is not one of products.
fn angle<Z: Number>(z: Z, w: Z) -> f64 {
    let ([re, im], [x, y]) = (z.parts(), w.parts());
    if y == 0.0 && x.abs() < 100.0 && x == x.trunc() { 0.0 } else { x.hypot(y) * re.hypot(im).ln().hypot(im.atan2(re)) }
}

/// The result with each part of it taken from the other, where rounding decides its sign: where the angle w log z, whose error is `error`, is so near to a
/// multiple of a right angle, and where neither part is more than that error allows.
fn without_arbitrary_signs<Z: Number>([z, w]: [Z; 2], error: f64, got: Z, want: Z) -> Z {
    let ([re, im], [x, y]) = (z.parts(), w.parts());
    let angle = y * re.hypot(im).ln() + x * im.atan2(re);
    let (unit, mut parts) = ([angle.cos(), angle.sin()], got.parts());
    let size = want.parts()[0].hypot(want.parts()[1]);
    let bound = 4.0 * error * size + 4.0 * Z::TINY * Z::EPSILON;
    for (k, part) in parts.iter_mut().enumerate() {
        let other = want.parts()[k];
        if unit[k].abs() <= error && !part.is_nan() && !other.is_nan() && part.abs().max(other.abs()) <= bound {
            *part = other;
        }
    }
    Z::new(parts[0], parts[1])
}

fn powers_are_near_those_of_the_host(device: &Device) -> Outcome {
    fn check<Z: Number>(device: &Device) -> Outcome {
        let (z, w) = pairs::<Z>();
        let [got, want] = on_both(device, &z, &w)?;
        let (mut bad, mut count) = (String::new(), 0);
        for (((&z, &w), &got), &want) in z.iter().zip(&w).zip(&got).zip(&want) {
            let angle = angle(z, w);
            // The signs and the parts are arbitrary where no digit of the angle is known, but not the absolute value.
            let lost = angle.is_finite() && angle * Z::EPSILON > 0.125;
            let size = |z: Z| {
                if z.parts().iter().any(|part| part.is_nan()) { f64::NAN } else { z.parts()[0].hypot(z.parts()[1]) }
            };
            let fits = if lost {
                near(Z::new(size(got), 0.0), Z::new(size(want), 0.0), 0.1 / Z::EPSILON)
            } else {
                let known = if angle.is_finite() { angle } else { 0.0 };
                let error = (8.0 + 8.0 * known) * Z::EPSILON;
                near(without_arbitrary_signs([z, w], error, got, want), want, 200.0 + 8.0 * known)
            };
            if !fits {
                count += 1;
                if count <= 100 {
                    let _ = writeln!(
                        bad,
                        "{:?} to {:?} of {}: got {:?}, want {:?}",
                        z.parts(),
                        w.parts(),
                        Z::DTYPE,
                        got.parts(),
                        want.parts()
                    );
                }
            }
        }
        ensure!(count == 0, "{count} of {}:\n{bad}", z.len());
        Ok(())
    }
    check::<Complex<f32>>(device)?;
    check::<Complex<f64>>(device)
}

/// Powers on the device and on the host.
fn on_both<Z: Number>(device: &Device, z: &Array1<Z>, w: &Array1<Z>) -> Result<[Array1<Z>; 2]> {
    let (a, b) = (GpuArray::from_ndarray(device, z)?, GpuArray::from_ndarray(device, w)?);
    Ok([a.pow(&b).eval()?.to_ndarray()?, host(z).pow(host(w)).eval()?])
}

fn powers_follow_their_definition(device: &Device) -> Outcome {
    type Z = Complex<f64>;
    let mut rng = rng(5);
    let mut part = |size: f64| (rng.uniform() * 2.0 - 1.0) * size;
    let z = Array1::from_iter((0..500).map(|_| Z::new(part(3.0), part(3.0))));
    let w = Array1::from_iter((0..500).map(|_| Z::new(part(3.0), part(3.0))));
    let integers = Array1::from_iter((0..500).map(|i| Z::new(f64::from(i % 23 - 11), 0.0)));
    for got in on_both(device, &z, &w)? {
        for ((z, w), &got) in z.iter().zip(&w).zip(&got) {
            let power = w * Z::new(z.re.hypot(z.im).ln(), z.im.atan2(z.re));
            let want = Z::new(power.re.exp() * power.im.cos(), power.re.exp() * power.im.sin());
            ensure!(near(got, want, 200.0), "{z} to {w}: got {got}");
        }
    }
    for got in on_both(device, &z, &integers)? {
        for ((z, w), &got) in z.iter().zip(&integers).zip(&got) {
            ensure!(near(got, z.powi(w.re as i32), 100.0), "{z} to {w}: got {got}");
        }
    }
    // Of 0, to 0, and beyond the repeated products.
    let (zero, one, nan) = (Z::new(0.0, -0.0), Z::new(1.0, 0.0), Z::new(f64::NAN, f64::NAN));
    let cases = [
        (zero, zero, one),
        (nan, zero, one),
        (zero, Z::new(2.5, 0.0), Z::new(0.0, 0.0)),
        (zero, Z::new(-1.0, 0.0), nan),
        (zero, Z::new(1.0, 1.0), Z::new(0.0, 0.0)),
        (zero, Z::new(0.0, 1.0), nan),
        (Z::new(0.0, 1.0), Z::new(2.0, 0.0), Z::new(-1.0, 0.0)),
        (Z::new(0.0, 2.0), Z::new(-2.0, 0.0), Z::new(-0.25, 0.0)),
        (Z::new(1.5, 0.0), Z::new(120.0, 0.0), Z::new(1.5f64.powi(120), 0.0)),
    ];
    let (z, w) = (cases.iter().map(|case| case.0).collect(), cases.iter().map(|case| case.1).collect());
    for got in on_both(device, &z, &w)? {
        for ((z, w, want), &got) in cases.iter().zip(&got) {
            let (got, wanted) = (got.parts(), want.parts());
            let same = (0..2)
                .all(|k| (got[k] - wanted[k]).abs() <= 1e-13 * want.l1_norm() || got[k].is_nan() && wanted[k].is_nan());
            ensure!(same, "{z} to {w}: got {got:?}, want {want}");
        }
    }
    Ok(())
}
