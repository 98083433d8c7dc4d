//! Scans of arrays on the host by the names of a device, beside those of a device.

use gpu_algos::{
    AlgoError,
    gpu_array::{
        ArrayError, Complex, GpuArray,
        expression::{Backend, Gpu, Host, host},
        f16,
        gpu_driver::Device,
    },
    prelude::*,
    reduce::Reduces,
};
use ndarray::{Array1, Axis, Ix1, array};
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

pub const TESTS: &[Test<Device>] = tests![scans_have_the_same_names_on_the_host];

/// Code for either place.
fn scans_of<P: Backend + Reduces<f64> + Reduces<bool>>(
    x: &P::Owned<f64, Ix1>,
) -> gpu_algos::Result<Vec<P::Owned<f64, Ix1>>> {
    let x = P::expr(x);
    let keys = x.abs().gt(20.0);
    Ok(vec![
        x.nancumsum().eval()?,
        x.nancumprod().exclusive().eval()?,
        x.nancummax().eval()?,
        x.nancummin().reverse().eval()?,
        x.nancummax().exclusive().reverse().eval()?,
        x.cummax().eval()?,
        x.cumsum().by_key(&keys).eval()?,
        x.nancummin().by_key(&keys).reverse().eval()?,
        (1 - x.nancumsum() / x.nansum()).eval()?,
        x.is_nan().cumsum().into_expr().cast::<f64>().eval()?,
        (&x * 0.5).cumsum().segments(&keys).accumulate_f64().eval()?,
    ])
}

fn scans_have_the_same_names_on_the_host(device: &Device) -> Outcome {
    for n in [0, 1, 2, 33, 1000, 40_000] {
        // Halves of whole numbers, whose sums are exact in any order; products of 1 and -1 alone are.
        let whole =
            Array1::from_shape_fn(n, |i| if i % 7 == 3 || i == 0 { f64::NAN } else { ((i * 31) % 97) as f64 - 48.0 });
        let signs = whole.mapv(|x| if x.is_nan() { x } else { x.signum() });
        for x in [whole, signs] {
            let (got, want) = (scans_of::<Host>(&x)?, scans_of::<Gpu>(&GpuArray::from_ndarray(device, &x)?)?);
            for (number, (got, want)) in got.iter().zip(&want).enumerate() {
                let want = want.to_ndarray()?;
                // Products of whole numbers overflow, and the last of the quotients round.
                let close = |a: f64, b: f64| a == b || (a - b).abs() <= 1e-15 * a.abs() || (a.is_nan() && b.is_nan());
                let is_exact = number != 1 || x.iter().all(|x| x.is_nan() || x.abs() <= 1.0);
                ensure!(got.len() == n && want.len() == n);
                ensure!(!is_exact || got.iter().zip(&want).all(|(&a, &b)| close(a, b)), "{n}, {number}: {got} {want}");
            }
        }
    }
    let z = array![Complex::new(1.0f32, 2.0), Complex::new(0.0, -1.0)];
    ensure_eq!(host(&z).cumsum().eval()?, array![Complex::new(1.0, 2.0), Complex::new(1.0, 1.0)]);
    ensure_eq!(host(&z).cumprod().reverse().eval()?[0], z[0] * z[1]);
    let h = array![[f16::ONE, f16::ONE], [f16::NEG_ONE, f16::ONE]];
    ensure_eq!(host(&h).cumsum().axis(Axis(0)).eval()?, array![[f16::ONE, f16::ONE], [f16::ZERO, f16::from_f32(2.0)]]);
    let wrong = host(&h).cumsum().axis(Axis(2)).eval();
    ensure!(matches!(wrong, Err(AlgoError::Array(ArrayError::Axis { axis: 2, ndim: 2, .. }))));
    let flags = array![[true]];
    let wrong = host(&h).cumsum().segments(host(&flags)).eval();
    ensure!(matches!(wrong, Err(AlgoError::Shape { .. })), "{wrong:?}");
    let broadcast = host(&h).broadcast((3, 2, 2));
    ensure_eq!(broadcast.cummax().eval()?.len(), 12);
    Ok(())
}
