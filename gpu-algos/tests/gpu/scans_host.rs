//! Scans of arrays on the host by the names of a device, beside those of a device.

use gpu_algos::{
    AlgoError,
    gpu_array::{
        ArrayError, Complex, GpuArray,
        expression::{Backend, Expr, Gpu, Host, host, host_owned},
        f16,
        gpu_driver::Device,
    },
    prelude::*,
    reduce::Reduces,
};
use ndarray::{Array1, Array2, ArrayView1, Axis, Ix1, Ix2, array};
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

pub const TESTS: &[Test<Device>] = tests![
    scans_have_the_same_names_on_the_host,
    maps_of_scans_are_the_same_at_either_place,
    mapped_scans_have_the_types_and_errors_of_scans,
    results_of_a_scan_have_values_within_their_map_alone,
];

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
        x.is_nan().cumsum().cast::<f64>().eval()?,
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

type Tables<P> = Vec<<P as Backend>::Owned<f64, Ix2>>;
type Lines<P> = Vec<<P as Backend>::Owned<f64, Ix1>>;

/// Maps of scans, whose results are whole numbers.
fn maps_of<P: Backend + Reduces<i32> + Reduces<f64>>(
    x: &Expr<'_, i32, Ix2, P>,
    y: &Expr<'_, f64, Ix2, P>,
) -> gpu_algos::Result<(Tables<P>, Lines<P>)> {
    let rows = || x.cumsum().axis(Axis(1));
    let tables = vec![
        rows().map(|sum| sum.cast::<f64>() + y * 2.0).eval()?,
        // What comes after the map is a property of the scan still.
        rows().map(|sum| sum.cast::<f64>() + y).exclusive().reverse().eval()?,
        rows().map(|sum| &sum * &sum).map(|square| square.gt(40)).map(|large| large.cast::<f64>()).eval()?,
        rows().map(|sum| sum.cast::<f64>()).segments(y.gt(10.0)).eval()?,
        y.cummax().axis(Axis(0)).map(|most| most.clone() * 3.0 - y - most).by_key(x / 3).eval()?,
        // Other computations, another mapped scan among them, within the map; and as an operand.
        rows().map(|sum| sum.cast::<f64>() - y.sum()).eval()?,
        rows().map(|sum| x.cumsum().axis(Axis(0)).map(|down| down * 5).into_expr() + sum).map(|z| z.cast()).eval()?,
        (rows().map(|sum| sum.cast::<f64>() + y).exclusive().into_expr() * 2.0 + y).eval()?,
    ];
    let lines = vec![
        // In C order the map has the shape of the values all the same.
        x.t().cumsum().map(|sum| sum.cast::<f64>() + y.t()).eval()?,
        (1.0 + x.cumsum().exclusive().map(|sum| sum.cast::<f64>() * y)).eval()?,
    ];
    Ok((tables, lines))
}

fn maps_of_scans_are_the_same_at_either_place(device: &Device) -> Outcome {
    for (rows, cols) in [(0, 3), (1, 1), (3, 5), (40, 130)] {
        let x = Array2::from_shape_fn((rows, cols), |(i, j)| ((i * 31 + j * 7) % 11) as i32 - 4);
        let y = x.mapv(|x| f64::from(x * 5 % 17));
        let (dx, dy) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let (on_host, lines_on_host) = maps_of::<Host>(&host(&x), &host(&y))?;
        let (on_device, lines_on_device) = maps_of::<Gpu>(&Gpu::expr(&dx), &Gpu::expr(&dy))?;
        for (number, (got, want)) in on_host.iter().zip(&on_device).enumerate() {
            ensure!(*got == want.to_ndarray()?, "{rows} x {cols}, {number}: {got} {want}");
        }
        for (number, (got, want)) in lines_on_host.iter().zip(&lines_on_device).enumerate() {
            ensure!(*got == want.to_ndarray()?, "{rows} x {cols}, line {number}: {got} {want}");
        }
        // By hand.
        if let (Some(first), Some(terms)) = (x.rows().into_iter().next(), y.rows().into_iter().next()) {
            let mut sum = 0;
            let want: Vec<f64> = first.iter().zip(terms).map(|(x, y)| (sum += x, f64::from(sum) + y * 2.0).1).collect();
            ensure!(on_host[0].row(0) == ArrayView1::from(&want), "{} {want:?}", on_host[0]);
        }
    }
    Ok(())
}

fn mapped_scans_have_the_types_and_errors_of_scans(device: &Device) -> Outcome {
    let h = array![f16::ONE, f16::from_f32(0.5), f16::NEG_ONE];
    let dh = GpuArray::from_ndarray(device, &h)?;
    let want = array![f16::from_f32(2.0), f16::from_f32(3.0), f16::ONE];
    ensure_eq!(host(&h).cumsum().map(|sum| &sum + &sum).eval()?, want);
    ensure_eq!(dh.cumsum().map(|sum| &sum + &sum).eval()?.to_ndarray()?, want);
    let z = array![Complex::new(1.0f32, 2.0), Complex::new(0.0, -1.0)];
    let dz = GpuArray::from_ndarray(device, &z)?;
    let want = array![Complex::new(1.0f32, -2.0), Complex::new(1.0, -1.0)];
    ensure_eq!(host(&z).cumsum().map(|sum| sum.conj()).eval()?, want);
    ensure_eq!(dz.cumsum().map(|sum| sum.conj()).eval()?.to_ndarray()?, want);
    let mut target = Array1::zeros(2);
    host(&z).cumsum().map(|sum| sum.real()).write_into(&mut target)?;
    ensure_eq!(target, array![1.0, 1.0]);
    // A map in another shape is an error, on either.
    let wide = |error: Option<AlgoError>| format!("{error:?}");
    let three = array![[1.0f32], [2.0], [3.0]].broadcast((3, 2)).ok_or("rows")?.to_owned();
    let dthree = GpuArray::from_ndarray(device, &three)?;
    let row = array![[1.0f32, 2.0]];
    let drow = GpuArray::from_ndarray(device, &row)?;
    let on_host = host(&row).cumsum().axis(Axis(1)).map(|sum| sum + host(&three)).eval().err();
    let on_device = drow.cumsum().axis(Axis(1)).map(|sum| sum + &dthree).eval().err();
    ensure!(matches!(on_host, Some(AlgoError::Shape { .. })), "{on_host:?}");
    ensure_eq!(wide(on_host), wide(on_device));
    // The scan's values are not there: neither are the results.
    let axis = host(&row).cumsum().axis(Axis(5)).map(|sum| sum * 2.0).eval().err();
    ensure!(matches!(axis, Some(AlgoError::Array(ArrayError::Axis { axis: 5, .. }))), "{axis:?}");
    Ok(())
}

/// The errors of maps whose argument is read before the results are there, or elsewhere.
fn misused_maps<P: Backend + Reduces<f64>>(x: &P::Owned<f64, Ix1>) -> Vec<(&'static str, Option<AlgoError>)> {
    let x = P::expr(x);
    let scan = || x.cumsum();
    let (mut kept, mut total) = (None, None);
    let twice = scan().map(|sum| {
        (kept, total) = (Some(sum.clone()), (&sum + &x).sum().get().err());
        sum * 2.0
    });
    let kept = kept.unwrap_or_else(|| x.clone());
    let array = |error: ArrayError| AlgoError::from(error);
    vec![
        ("a reduction", scan().map(|sum| &sum / sum.max()).eval().err()),
        ("a reduction of an expression", scan().map(|sum| &sum / (&sum * &x + 1.0).mean()).eval().err()),
        ("a reduction after another map", scan().map(|sum| sum * 2.0).map(|sum| &sum - sum.sum()).eval().err()),
        ("a scan", scan().map(|sum| sum.cumsum().into_expr()).eval().err()),
        ("a scan's map", scan().map(|sum| scan().map(|inner| inner * &sum).into_expr()).eval().err()),
        ("two levels", scan().map(|sum| &sum / (&x - sum.min()).sum()).eval().err()),
        ("an operand", (scan().map(|sum| &sum / sum.max()).into_expr() + &x).eval().err().map(array)),
        ("a reduction of the map", scan().map(|sum| &sum / sum.max()).into_expr().sum().get().err()),
        ("evaluated within", total),
        ("evaluated outside", (&kept + &x).eval().err().map(array)),
        ("in the map of another scan", scan().map(|sum| sum + &kept).eval().err()),
        ("in the same scan, written once more", scan().segments(kept.gt(1.0)).eval().err()),
        ("the map itself", twice.eval().err()),
    ]
}

fn results_of_a_scan_have_values_within_their_map_alone(device: &Device) -> Outcome {
    let x = array![1.0, 2.0, 3.0, -5.0];
    let dx = GpuArray::from_ndarray(device, &x)?;
    let (on_host, on_device) = (misused_maps::<Host>(&x), misused_maps::<Gpu>(&dx));
    for ((name, on_host), (_, on_device)) in on_host.iter().zip(&on_device) {
        for error in [on_host, on_device] {
            match error {
                None => ensure!(*name == "the map itself", "{name} is no error"),
                Some(AlgoError::Array(error @ ArrayError::OutOfScope { op: "Scan::map", .. })) => {
                    let told = error.to_string();
                    ensure!(told.contains("write `f(scan.into_expr())` in place of `scan.map(f)`"), "{told}");
                }
                Some(other) => return Err(format!("{name}: {other:?}").into()),
            }
        }
        ensure_eq!(on_host.is_none(), on_device.is_none());
    }
    // Nothing is written.
    let (mut target, mut dtarget) = (Array1::from_elem(4, 7.0), GpuArray::full(device, 4, 7.0)?);
    ensure!(host(&x).cumsum().map(|sum| &sum / sum.max()).write_into(&mut target).is_err());
    ensure!(dx.cumsum().map(|sum| &sum / sum.max()).write_into(&mut dtarget).is_err());
    ensure!(dtarget.assign(dx.cumsum().map(|sum| &sum / sum.max())).is_err());
    ensure_eq!(target, array![7.0, 7.0, 7.0, 7.0]);
    ensure_eq!(dtarget.to_ndarray()?, target);
    // The program that the error names.
    let (f, want) = (|sum: Expr<'static, f64, Ix1, Host>| &sum / sum.max(), array![1.0 / 6.0, 0.5, 1.0, 1.0 / 6.0]);
    ensure_eq!(f(host_owned(x.clone()).cumsum().into_expr()).eval()?, want);
    let f = |sum: Expr<'_, f64, Ix1>| (&sum / sum.max()).eval();
    ensure_eq!(f(dx.cumsum().into_expr())?.to_ndarray()?, want);
    Ok(())
}
