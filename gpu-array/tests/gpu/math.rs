//! Each mathematical function over a wide range: how far the device is from the CPU, in units in the last place.

use gpu_array::{
    DType, Element, Float, GpuArray, Result,
    expression::{Backend, Expr, Gpu, Host, host, precompile},
};
use gpu_driver::Device;
use ndarray::{Array1, ArrayD, IxDyn};
use testkit::{Outcome, Test, ensure, ensure_eq, rng, tests};

use crate::random::{
    any::Known,
    build,
    program::Math,
    value::{Value, math_f32, math_f64},
};

pub const TESTS: &[Test<Device>] =
    tests![functions_of_f32_are_near, functions_of_f64_are_near, functions_of_two_are_near, integers_become_f64];

/// The error that the documentation of the method allows on a device.
fn bound(op: Math, dtype: DType) -> f64 {
    use Math::*;
    match (op, dtype) {
        (Sqrt, _) => 0.0,
        (Exp, DType::F32) => 2.0,
        // The guide says 1 for f32; 1.06 were seen.
        (Expm1, DType::F32) => 2.0,
        (Exp | Expm1 | Log | Log2 | Log1p | Cbrt, _) => 1.0,
        (Tan, DType::F32) => 4.0,
        (Sinh, DType::F32) => 3.0,
        _ => 2.0,
    }
}

/// The largest error of the C library's functions, which the emulated device has too.
fn bound_on_host(op: Math, dtype: DType) -> f64 {
    match (op, dtype) {
        (Math::Sqrt, _) => 0.0,
        (Math::Cbrt, DType::F64) => 4.0,
        _ => 2.0,
    }
}

/// Of the functions of two arguments.
const OF_TWO_ON_HOST: f64 = 1.0;

fn bound_on(device: &Device, op: Math, dtype: DType) -> f64 {
    let of_library = if device.is_emulated() { bound_on_host(op, dtype) } else { 0.0 };
    bound(op, dtype).max(of_library)
}

/// Small, huge, near where something happens, and special.
pub(crate) fn arguments(n: usize) -> Vec<f64> {
    let mut rng = rng(7);
    let mut all =
        vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, -5e-324, 1e-45, -1e-45, 1.0, -1.0];
    all.extend([
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        f32::MAX.into(),
        f32::MIN_POSITIVE.into(),
        0.5,
        -0.5,
        2.0,
        4.0,
        1e22,
    ]);
    all.extend((-40..40).map(|i| f64::from(i) * std::f64::consts::FRAC_PI_4));
    all.extend((-60..60).map(|i| 10f64.powi(i)));
    all.extend((-40..40).map(f64::from));
    all.extend((0..40).flat_map(|i| [1.0 + 0.5f64.powi(i), 1.0 - 0.5f64.powi(i)]));
    while all.len() < n {
        let x = rng.uniform() * 2.0 - 1.0;
        all.push(match rng.below(6) {
            0 => x,
            1 => 10.0 * x,
            2 => 100.0 * x,
            3 => x * 10f64.powf(rng.uniform() * 60.0 - 30.0),
            4 => 1.0 + x / 100.0,
            _ => f64::from_bits(rng.next_u64()),
        });
    }
    all
}

/// The distance of a computed value from one that is exact to much less, in units in the last place of the type.
pub(crate) fn ulps(got: f64, want: f64, dtype: DType) -> f64 {
    let (digits, least, most) = match dtype {
        DType::F32 => (23, -149, f64::from(f32::MAX)),
        _ => (52, -1074, f64::MAX),
    };
    if got.is_nan() || want.is_nan() {
        return if got.is_nan() && want.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got == want {
        return if got.is_sign_negative() == want.is_sign_negative() { 0.0 } else { f64::INFINITY };
    }
    // Just beyond the largest number, infinity is as near as that.
    let (got, want) = (got.clamp(-most, most), want.clamp(-most, most));
    let exponent = if want == 0.0 { least } else { (want.abs().log2().floor() as i32 - digits).max(least) };
    // In two factors, as the smallest unit is no normal number.
    (got - want).abs() / 2f64.powi(exponent / 2) / 2f64.powi(exponent - exponent / 2)
}

fn all_of<'a, T: Float, P: Backend>(x: &Expr<'a, T, IxDyn, P>) -> Vec<Expr<'a, T, IxDyn, P>> {
    Math::ALL.iter().map(|&op| build::math(op, x)).collect()
}

/// The values of all functions on both places.
fn both<T: Float>(device: &Device, x: &ArrayD<T>) -> Result<Vec<[ArrayD<T>; 2]>> {
    let on_device = GpuArray::from_ndarray(device, x)?;
    let (got, want) = (all_of::<T, Gpu>(&Gpu::expr(&on_device)), all_of::<T, Host>(&host(x)));
    let list: Vec<_> = got.iter().map(|got| got as &dyn gpu_array::expression::Precompile).collect();
    precompile(device, &list)?;
    got.iter().zip(&want).map(|(got, want)| Ok([got.eval()?.to_ndarray()?, want.eval()?])).collect()
}

pub(crate) fn vector<T: Element>(x: impl IntoIterator<Item = T>) -> ArrayD<T> {
    Array1::from_iter(x).into_dyn()
}

fn near(op: &str, x: &str, got: f64, want: f64, dtype: DType, bound: f64) -> Outcome {
    let distance = ulps(got, want, dtype);
    ensure!(distance <= bound, "{op}({x}) of {dtype}: got {got:e}, want {want:e}, {distance} ulp, at most {bound}");
    Ok(())
}

/// Both compared with the function of f64, whose own error is nothing here.
fn functions_of_f32_are_near(device: &Device) -> Outcome {
    let x = vector(arguments(20_000).into_iter().map(|x| x as f32));
    for (&op, [got, host]) in Math::ALL.iter().zip(both(device, &x)?) {
        for ((&x, &got), &host) in x.iter().zip(&got).zip(&host) {
            let exact = math_f64(op, x.into());
            let exact = if op == Math::Sqrt { math_f32(op, x).into() } else { exact };
            near(&format!("{op:?}"), &x.to_string(), got.into(), exact, DType::F32, bound_on(device, op, DType::F32))?;
            near(
                &format!("{op:?} on the host"),
                &x.to_string(),
                host.into(),
                exact,
                DType::F32,
                bound_on_host(op, DType::F32),
            )?;
        }
    }
    Ok(())
}

fn functions_of_f64_are_near(device: &Device) -> Outcome {
    let x = vector(arguments(20_000));
    for (&op, [got, want]) in Math::ALL.iter().zip(both(device, &x)?) {
        for ((&x, &got), &want) in x.iter().zip(&got).zip(&want) {
            let bound = bound_on(device, op, DType::F64) + bound_on_host(op, DType::F64);
            near(&format!("{op:?}"), &x.to_string(), got, want, DType::F64, bound)?;
        }
    }
    Ok(())
}

fn of_two<'a, T: Float, P: Backend>(
    a: &Expr<'a, T, IxDyn, P>,
    b: &Expr<'a, T, IxDyn, P>,
) -> [Expr<'a, T, IxDyn, P>; 3] {
    [a.pow(b), a.atan2(b), a.hypot(b)]
}

fn functions_of_two_are_near(device: &Device) -> Outcome {
    fn check<T: Float + Known>(device: &Device, values: &[T], bounds: [f64; 3]) -> Outcome
    where
        f64: From<T>,
    {
        let a = vector(values.iter().flat_map(|&a| values.iter().map(move |_| a)));
        let b = vector(values.iter().flat_map(|_| values.iter().copied()));
        let (x, y) = (GpuArray::from_ndarray(device, &a)?, GpuArray::from_ndarray(device, &b)?);
        let got = of_two(&Gpu::expr(&x), &Gpu::expr(&y));
        precompile(device, &[&got[0], &got[1], &got[2]])?;
        let want = of_two::<T, Host>(&host(&a), &host(&b));
        for (i, op) in ["pow", "atan2", "hypot"].into_iter().enumerate() {
            let (got, want) = (got[i].eval()?.to_ndarray()?, want[i].eval()?);
            for (((&a, &b), &got), &want) in a.iter().zip(&b).zip(&got).zip(&want) {
                near(op, &format!("{a}, {b}"), got.into(), want.into(), T::DTYPE, bounds[i] + OF_TWO_ON_HOST)?;
            }
        }
        Ok(())
    }
    let values = arguments(600);
    let few: Vec<f64> = values.iter().copied().step_by(4).chain([3.0, -3.0, 0.5, 1e300]).collect();
    check(device, &few.iter().map(|&x| x as f32).collect::<Vec<_>>(), [8.0, 3.0, 3.0])?;
    check(device, &few, [2.0, 2.0, 2.0])
}

fn integers_become_f64(device: &Device) -> Outcome {
    let x = Array1::from_iter(0..50i16);
    let on_device = GpuArray::from_ndarray(device, &x)?;
    let root: GpuArray<f64, _> = on_device.sqrt().eval()?;
    ensure_eq!(root.to_ndarray()?, x.mapv(|x| f64::from(x).sqrt()));
    let value = Value::F64(root.slice(ndarray::s![2])?.get()?);
    ensure!(value.same(Value::F64(std::f64::consts::SQRT_2)), "{value:?}");
    Ok(())
}
