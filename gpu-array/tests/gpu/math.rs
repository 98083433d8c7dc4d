//! Arguments of mathematical functions and distances of their values; functions of integers.

use gpu_array::{DType, Element, GpuArray};
use gpu_driver::Device;
use ndarray::{Array1, ArrayD};
use testkit::{Outcome, Test, ensure, ensure_eq, rng, tests};

use crate::random::value::Value;

pub const TESTS: &[Test<Device>] = tests![integers_become_f64];

/// Zeros, infinities, NaN, powers, multiples of pi / 4, and numbers near 1.
pub(crate) fn special_arguments() -> Vec<f64> {
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
    all
}

/// Special ones, and `n` with them that are small, huge, or near where something happens.
pub(crate) fn arguments(n: usize) -> Vec<f64> {
    let (mut rng, mut all) = (rng(7), special_arguments());
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

pub(crate) fn vector<T: Element>(x: impl IntoIterator<Item = T>) -> ArrayD<T> {
    Array1::from_iter(x).into_dyn()
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
