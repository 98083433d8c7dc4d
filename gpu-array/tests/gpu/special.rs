//! The special functions against a table of higher precision, and the parts of floats to the bit.

use gpu_array::{
    DType, Float, GpuArray, Result,
    expression::{Backend, Expr, Gpu, Host, Precompile, host, precompile},
};
use gpu_driver::Device;
use ndarray::{Array1, ArrayD, IxDyn};
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

use crate::math::{arguments, ulps, vector};

pub const TESTS: &[Test<Device>] = tests![
    values_are_near_those_of_the_table,
    negative_orders_are_reflected,
    parts_of_floats_are_exact,
    neighbours_and_signs_are_exact
];

/// A function and its name in the table.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Function {
    Asinh,
    Acosh,
    Atanh,
    Erf,
    Erfc,
    LogGamma,
    Gamma,
    J0,
    J1,
    Y0,
    Y1,
    Jn(i32),
    Yn(i32),
}

use Function::{Acosh, Asinh, Atanh, Erf, Erfc, Gamma, J0, J1, Jn, LogGamma, Y0, Y1, Yn};

const ALL: [(&str, Function); 17] = [
    ("asinh", Asinh),
    ("acosh", Acosh),
    ("atanh", Atanh),
    ("erf", Erf),
    ("erfc", Erfc),
    ("lgamma", LogGamma),
    ("tgamma", Gamma),
    ("j0", J0),
    ("j1", J1),
    ("y0", Y0),
    ("y1", Y1),
    ("j2", Jn(2)),
    ("j5", Jn(5)),
    ("j30", Jn(30)),
    ("y2", Yn(2)),
    ("y5", Yn(5)),
    ("y30", Yn(30)),
];

impl Function {
    fn of<'a, T: Float, P: Backend>(self, x: &Expr<'a, T, IxDyn, P>) -> Expr<'a, T, IxDyn, P> {
        match self {
            Asinh => x.asinh().cast(),
            Acosh => x.acosh().cast(),
            Atanh => x.atanh().cast(),
            Erf => x.erf().cast(),
            Erfc => x.erfc().cast(),
            LogGamma => x.log_gamma().cast(),
            Gamma => x.gamma().cast(),
            J0 => x.j0().cast(),
            J1 => x.j1().cast(),
            Y0 => x.y0().cast(),
            Y1 => x.y1().cast(),
            Jn(n) => x.jn(n).cast(),
            Yn(n) => x.yn(n).cast(),
        }
    }

    /// The error that the documentation of the method allows at `x`: in units in the last place, and as a number; the value keeps one of them.
    fn bounds(self, x: f64, dtype: DType) -> (f64, f64) {
        let f32 = dtype == DType::F32;
        let of = |of_f32, of_f64| if f32 { of_f32 } else { of_f64 };
        let epsilon = of(f64::from(f32::EPSILON), f64::EPSILON);
        match self {
            Asinh => (3.0, 0.0),
            Atanh => (of(4.0, 3.0), 0.0),
            Acosh => (of(4.0, 3.0), 0.0),
            Erf => (2.0, 0.0),
            Erfc => (5.0, 0.0),
            LogGamma => (of(6.0, 4.0), if (-11.1..-2.0).contains(&x) { 6.0 * epsilon } else { 0.0 }),
            Gamma => (of(5.0, 10.0), 0.0),
            J0 | J1 | Y0 | Y1 if x.abs() < 8.0 => (of(9.0, 7.0), epsilon),
            J0 | J1 | Y0 | Y1 => (0.0, of(2.2e-6, 5e-12)),
            Jn(_) => (of(1.0, 7.0), 1.2e-11),
            Yn(n) if f32 || x.abs() < 8.0 => (of(1.0, 2.0 + 2.5 * f64::from(n.abs())), 1.2e-11),
            Yn(_) => (1e-11 / epsilon, 1.2e-11),
        }
    }
}

fn all_of<'a, T: Float, P: Backend>(x: &Expr<'a, T, IxDyn, P>) -> Vec<Expr<'a, T, IxDyn, P>> {
    ALL.iter().map(|(_, function)| function.of(x)).collect()
}

/// The values of all functions on the device and on the host.
fn both<T: Float>(device: &Device, x: &ArrayD<T>) -> Result<Vec<[ArrayD<T>; 2]>> {
    let on_device = GpuArray::from_ndarray(device, x)?;
    let (got, want) = (all_of::<T, Gpu>(&Gpu::expr(&on_device)), all_of::<T, Host>(&host(x)));
    let list: Vec<_> = got.iter().map(|got| got as &dyn Precompile).collect();
    precompile(device, &list)?;
    got.iter().zip(&want).map(|(got, want)| Ok([got.eval()?.to_ndarray()?, want.eval()?])).collect()
}

fn near(what: &str, function: Function, x: f64, got: f64, want: f64, dtype: DType) -> Outcome {
    let (units, number) = function.bounds(x, dtype);
    let distance = ulps(got, want, dtype);
    ensure!(
        distance <= units || (got - want).abs() <= number,
        "{what} {function:?}({x:?}) of {dtype}: got {got:e}, want {want:e}, {distance} ulp, at most {units} or {number:e}"
    );
    Ok(())
}

/// The lines of the table: function, argument, value.
fn table() -> impl Iterator<Item = (Function, f64, f64)> {
    include_str!("special.txt").lines().filter(|line| !line.starts_with('#')).map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        let function = ALL.iter().find(|(name, _)| *name == fields[0]).expect("a function of the list").1;
        (function, fields[1].parse().expect("a number"), fields[2].parse().expect("a number"))
    })
}

fn values_are_near_those_of_the_table(device: &Device) -> Outcome {
    fn check<T: Float>(device: &Device) -> Outcome
    where
        f64: From<T>,
    {
        let mut count = 0;
        // Of f32 those arguments that it has, and whose value is a normal number or 0.
        let exact = |x: f64| f64::from(T::from(x).expect("a float"));
        let lines: Vec<_> = table().filter(|&(_, x, _)| exact(x) == x).collect();
        let x = vector(lines.iter().map(|&(_, x, _)| T::from(x).expect("a float")));
        let values = both(device, &x)?;
        for (i, &(function, x, want)) in lines.iter().enumerate() {
            let least = if T::DTYPE == DType::F32 { f32::MIN_POSITIVE.into() } else { f64::MIN_POSITIVE };
            if want != 0.0 && (want.abs() < least || exact(want).is_infinite()) {
                continue;
            }
            let column = ALL.iter().position(|(_, other)| *other == function).expect("a function of the list");
            for (what, values) in ["device", "host"].iter().zip(&values[column]) {
                let got = values.as_slice().expect("a vector")[i];
                near(what, function, x, got.into(), want, T::DTYPE)?;
            }
            count += 1;
        }
        ensure!(count >= if T::DTYPE == DType::F32 { 300 } else { 800 }, "only {count} values");
        Ok(())
    }
    check::<f32>(device)?;
    check::<f64>(device)
}

fn negative_orders_are_reflected(device: &Device) -> Outcome {
    let x = Array1::from_iter((1..100).map(|i| f64::from(i) / 4.0));
    let on_device = GpuArray::from_ndarray(device, &x)?;
    for n in [1, 2, 5] {
        let sign = if n % 2 == 0 { 1.0 } else { -1.0 };
        ensure_eq!(on_device.jn(-n).eval()?.to_ndarray()?, on_device.jn(n).eval()?.to_ndarray()? * sign);
        ensure_eq!(on_device.yn(-n).eval()?.to_ndarray()?, on_device.yn(n).eval()?.to_ndarray()? * sign);
        ensure_eq!(host(&x).jn(-n).eval()?, host(&x).jn(n).eval()? * sign);
    }
    Ok(())
}

/// All floats that could be special, as the bits of the larger type.
fn awkward() -> Vec<f64> {
    let mut all = arguments(2000);
    all.extend([
        f64::MIN_POSITIVE / 8.0,
        -f64::MIN_POSITIVE / 3.0,
        1e-40,
        -1e-42,
        0.999_999_999,
        -2.5,
        4_503_599_627_370_497.5,
    ]);
    all
}

fn same(what: &str, x: f64, got: impl Into<f64>, want: f64) -> Outcome {
    let got = got.into();
    ensure!(
        got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
        "{what} of {x:e}: got {got:e}, want {want:e}"
    );
    Ok(())
}

/// Mantissa and exponent by their definition: from the bits of an f64, which has every f32 as a normal number.
fn parts(x: f64) -> (f64, i32) {
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    if x.abs() < f64::MIN_POSITIVE {
        let (mantissa, exponent) = parts(x * 2f64.powi(64));
        return (mantissa, exponent - 64);
    }
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i32 - 1022;
    (f64::from_bits(x.to_bits() & !(0x7ff << 52) | 1022 << 52), exponent)
}

fn parts_of_floats_are_exact(device: &Device) -> Outcome {
    fn check<T: Float>(device: &Device, x: &ArrayD<T>) -> Outcome
    where
        f64: From<T>,
    {
        let on_device = GpuArray::from_ndarray(device, x)?;
        let ((mantissa, exponent), (fraction, integer)) = (on_device.frexp(), on_device.modf());
        let got = (mantissa.eval()?.to_ndarray()?, exponent.eval()?.to_ndarray()?);
        let split = (fraction.eval()?.to_ndarray()?, integer.eval()?.to_ndarray()?);
        let ((m, e), (f, i)) = (host(x).frexp(), host(x).modf());
        for (place, got, split) in [("device", got, split), ("host", (m.eval()?, e.eval()?), (f.eval()?, i.eval()?))] {
            for (i, &x) in x.iter().enumerate() {
                let x = f64::from(x);
                let (mantissa, exponent) = parts(x);
                same(&format!("mantissa ({place})"), x, got.0[i], mantissa)?;
                ensure!(got.1[i] == exponent, "exponent of {x:e} ({place}): got {}, want {exponent}", got.1[i]);
                let fraction = if x.is_infinite() { 0f64.copysign(x) } else { (x % 1.0).copysign(x) };
                same(&format!("fraction ({place})"), x, split.0[i], fraction)?;
                same(&format!("integer part ({place})"), x, split.1[i], x.trunc())?;
            }
        }
        Ok(())
    }
    let x = awkward();
    check(device, &vector(x.iter().map(|&x| x as f32)))?;
    check(device, &vector(x.iter().copied()))?;

    // Scaled by powers: exact but where the result is no normal number, and there rounded once.
    let exponents: ArrayD<i32> =
        vector((0..x.len() as i32).map(|i| [0, 1, -1, 60, -60, -1074, 1100, i32::MAX, i32::MIN][i as usize % 9]));
    let all = vector(x.iter().copied());
    let (a, n) = (GpuArray::from_ndarray(device, &all)?, GpuArray::from_ndarray(device, &exponents)?);
    let (got, on_host) = (a.ldexp(&n).eval()?.to_ndarray()?, host(&all).ldexp(host(&exponents)).eval()?);
    for (((&x, &n), &got), &on_host) in all.iter().zip(&exponents).zip(&got).zip(&on_host) {
        let n = n.clamp(-3000, 3000);
        // The power in parts: the mantissa first, so that only the last product rounds.
        let (mantissa, exponent) = parts(x);
        let power = exponent + n;
        let want = if power < -1000 {
            mantissa * 2f64.powi(-500) * 2f64.powi((power + 500).max(-1070))
        } else {
            mantissa * 2f64.powi(power.min(1100) / 2) * 2f64.powi(power.min(1100) - power.min(1100) / 2)
        };
        let want = if x == 0.0 || !x.is_finite() { x } else { want };
        same(&format!("ldexp by {n} (device)"), x, got, want)?;
        same(&format!("ldexp by {n} (host)"), x, on_host, want)?;
    }
    ensure_eq!(a.cast::<f32>().ldexp(3).eval()?.to_ndarray()?.mapv(f32::to_bits)[20], (8.0 * x[20] as f32).to_bits());
    Ok(())
}

/// The next float, by the order of the bits.
fn next(x: f64, towards: f64, dtype: DType) -> f64 {
    if x.is_nan() || towards.is_nan() || x == towards {
        return if x == towards { towards } else { f64::NAN };
    }
    let up = towards > x;
    let step = |bits: i64| if (bits >= 0) == up { bits + 1 } else { bits - 1 };
    match dtype {
        DType::F32 if x == 0.0 => f64::from(f32::from_bits(1)).copysign(towards),
        DType::F32 => f32::from_bits(step((x as f32).to_bits() as i32 as i64) as i32 as u32).into(),
        _ if x == 0.0 => f64::from_bits(1).copysign(towards),
        _ => f64::from_bits(step(x.to_bits() as i64) as u64),
    }
}

fn neighbours_and_signs_are_exact(device: &Device) -> Outcome {
    fn check<T: Float>(device: &Device, values: &[T]) -> Outcome
    where
        f64: From<T>,
    {
        let a = vector(values.iter().flat_map(|&a| values.iter().map(move |_| a)));
        let b = vector(values.iter().flat_map(|_| values.iter().copied()));
        let (x, y) = (GpuArray::from_ndarray(device, &a)?, GpuArray::from_ndarray(device, &b)?);
        let (neighbour, signed) = (x.nextafter(&y).eval()?.to_ndarray()?, x.copysign(&y).eval()?.to_ndarray()?);
        let of_host = (host(&a).nextafter(host(&b)).eval()?, host(&a).copysign(host(&b)).eval()?);
        for (neighbour, signed) in [(neighbour, signed), of_host] {
            for (((&a, &b), &neighbour), &signed) in a.iter().zip(&b).zip(&neighbour).zip(&signed) {
                let (a, b) = (f64::from(a), f64::from(b));
                same(&format!("neighbour towards {b:e}"), a, neighbour, next(a, b, T::DTYPE))?;
                same(&format!("sign of {b:e}"), a, signed, a.copysign(b))?;
            }
        }
        Ok(())
    }
    let values: Vec<f64> =
        awkward().into_iter().step_by(17).chain([0.0, -0.0, 1.0, f64::NAN, f64::INFINITY, f64::MAX]).collect();
    check(device, &values)?;
    check(device, &values.iter().map(|&x| x as f32).chain([f32::MAX, f32::MIN_POSITIVE]).collect::<Vec<_>>())
}
