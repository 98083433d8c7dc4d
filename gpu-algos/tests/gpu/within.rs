//! Reductions and scans within expressions: values, launches, errors, on a device and on the host with the same lines.

use gpu_algos::{
    AlgoError,
    einsum::EinsumElement,
    gpu_array::{ArrayError, Complex, Numeric, Promote, f16},
    prelude::*,
    reduce::Reduces,
    reference,
};
use gpu_array::{
    GpuArray,
    expression::{Backend, Expr, Gpu, Host, host, where_},
    gpu_driver::Device,
};
use gpu_driver::{Stream, emulated::Emulated};
use ndarray::{Array1, Array2, ArrayView1, Axis, Ix1, Ix2, array};
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

use crate::launches::launches;

pub const TESTS: &[Test<Device>] = tests![
    numpy_lines_are_one_expression,
    types_and_shapes_are_numpys,
    functions_of_lazy_values_are_those_of_their_expressions,
    an_array_may_be_updated_by_its_own_reductions,
    errors_come_from_eval_and_name_the_operation,
    streams_are_those_of_the_expression,
    borrows_end_with_the_last_use,
    both_places_have_the_same_code,
    dot_products_have_the_same_code,
];

pub const COUNTS: &[Test<()>] = tests![each_computation_is_one_launch];

fn matrix() -> Array2<f64> {
    Array2::from_shape_fn((7, 5), |(i, j)| (i * 11 + j * 5) as f64 % 13.0 - 4.0)
}

fn close(got: &Array2<f64>, want: &Array2<f64>) -> Outcome {
    ensure_eq!(got.shape(), want.shape());
    for (got, want) in got.iter().zip(want) {
        ensure!((got - want).abs() <= 1e-14 * want.abs().max(1.0), "{got} in place of {want}");
    }
    Ok(())
}

fn standardised(x: &Array2<f64>) -> Array2<f64> {
    let of_columns = |of: fn(ArrayView1<'_, f64>) -> f64| x.map_axis(Axis(0), of);
    (x - &of_columns(|column| reference::mean(column))) / of_columns(|column| reference::std(column, 0))
}

fn softmax(x: &Array2<f64>) -> Array2<f64> {
    let mut e = x.clone();
    for mut row in e.rows_mut() {
        let top = reference::max(row.view()).unwrap();
        row.mapv_inplace(|x| (x - top).exp());
        let sum = reference::sum(row.view());
        row.mapv_inplace(|x| x / sum);
    }
    e
}

fn numpy_lines_are_one_expression(device: &Device) -> Outcome {
    let h = matrix();
    let x = GpuArray::from_ndarray(device, &h)?;
    let got = ((&x - x.mean().axis(Axis(0))) / x.std(0).axis(Axis(0))).eval()?;
    close(&got.to_ndarray()?, &standardised(&h))?;
    let got = ((host(&h) - host(&h).mean().axis(Axis(0))) / host(&h).std(0).axis(Axis(0))).eval()?;
    close(&got, &standardised(&h))?;

    let e = (&x - x.max().axis(Axis(1)).keep_dims()).exp();
    let got = (&e / e.sum().axis(Axis(1)).keep_dims()).eval()?;
    close(&got.to_ndarray()?, &softmax(&h))?;
    let e = (host(&h) - host(&h).max().axis(Axis(1)).keep_dims()).exp();
    close(&(&e / e.sum().axis(Axis(1)).keep_dims()).eval()?, &softmax(&h))?;

    let v = array![1.0f64, 3.0, 4.0];
    let x = GpuArray::from_ndarray(device, &v)?;
    ensure_eq!((&x / x.sum()).eval()?.to_ndarray()?, array![0.125, 0.375, 0.5]);
    ensure_eq!((host(&v) / host(&v).sum()).eval()?, array![0.125, 0.375, 0.5]);
    // A scan, and a scan of a reduction's expression.
    ensure_eq!((x.cumsum() / x.sum()).eval()?.to_ndarray()?, array![0.125, 0.5, 1.0]);
    ensure_eq!((1.0 - x.cumsum() / x.sum()).eval()?.to_ndarray()?, array![0.875, 0.5, 0.0]);
    let share = (&x / x.sum()).cumsum().eval()?;
    ensure_eq!(share.to_ndarray()?, array![0.125, 0.5, 1.0]);
    // A reduction on either side, beside another, and of one.
    ensure_eq!((x.max() - x.min()).eval()?.get()?, 3.0);
    ensure_eq!((2.0 * x.sum() - 1.0).eval()?.get()?, 15.0);
    ensure_eq!((-x.sum()).eval()?.get()?, -8.0);
    ensure_eq!((&x - x.mean()).square().mean().get()?, x.var(0).get()?);
    ensure_eq!(where_(x.gt(2.0), &x, x.min()).eval()?.to_ndarray()?, array![1.0, 3.0, 4.0]);
    ensure_eq!(x.lt(x.mean()).eval()?.to_ndarray()?, array![true, false, false]);
    Ok(())
}

/// Whether each function of a lazy value is that of its expression, by the texts of the results: NaN is equal to NaN.
macro_rules! ensure_same_functions {
    ($lazy:expr; $($call:tt)*) => { ensure_same_functions! { @each ($lazy) $($call)* } };
    (@each ($lazy:expr) $($name:ident $arguments:tt)*) => {$(
        let [lazy, expression] = [$lazy.$name $arguments.eval()?, $lazy.into_expr().$name $arguments.eval()?].map(|values| format!("{values:?}"));
        ensure!(lazy == expression, "{}: {lazy}, expected {expression}", stringify!($name));
    )*};
}

fn functions_of_lazy_values_are_those_of_their_expressions(device: &Device) -> Outcome {
    let x = array![[0.25, -1.5, 3.0], [f64::INFINITY, 0.0, 0.5]];
    let x = host(&x);
    ensure_same_functions! { x.mean().axis(Axis(0));
        abs() sign() floor() ceil() round() trunc() square() conj() is_nan() is_finite()
        recip() sqrt() exp() log() log10() sin() cos() tan() asin() acos() atan() sinh() cosh() tanh() asinh() acosh() atanh()
        exp2() expm1() log2() log1p() cbrt() erf() erfc() log_gamma() gamma() powi(3)
        minimum(0.5) maximum(&x) pow(x.max()) eq(0.25) ne(0.25) lt(0.5) le(0.5) gt(0.5) ge(&x) clamp(-1.0, 1.0)
    }
    ensure_same_functions! { x.cumsum().axis(Axis(1)).exclusive(); sqrt() minimum(0.5) ge(0.0) clamp(x.min(), 1.0) powi(-1) }
    ensure_eq!(x.sum().cast::<f32>().eval()?[()], f32::INFINITY);
    let z = array![Complex::new(3.0, -4.0), Complex::new(1.0, 1.0)];
    let z = host(&z);
    ensure_same_functions! { z.sum(); abs() real() imag() arg() conj() sqrt() pow(0.5) eq(Complex::new(4.0, -3.0)) }
    let a = GpuArray::from_ndarray(device, &array![[1.0f32, -2.0], [0.5, 4.0]])?;
    let want = a.matmul(&a).into_expr().maximum(0.0).eval()?.to_ndarray()?;
    ensure_eq!(a.matmul(&a).maximum(0.0).eval()?.to_ndarray()?, want);
    ensure_eq!(a.matmul(&a).cast::<i32>().eval()?.to_ndarray()?, array![[0, -10], [2, 15]]);
    Ok(())
}

fn types_and_shapes_are_numpys(device: &Device) -> Outcome {
    let x = GpuArray::from_ndarray(device, &array![[1i32, 2], [3, 6]])?;
    // i32 minus f64, i32 plus i64.
    let centred: GpuArray<f64, Ix2> = (&x - x.mean()).eval()?;
    ensure_eq!(centred.to_ndarray()?, array![[-2.0, -1.0], [0.0, 3.0]]);
    let more: GpuArray<i64, Ix2> = (&x + x.sum().axis(Axis(0))).eval()?;
    ensure_eq!(more.to_ndarray()?, array![[5, 10], [7, 14]]);
    let flags: GpuArray<bool, Ix1> = x.max().axis(Axis(1)).ge(3).eval()?;
    ensure_eq!(flags.to_ndarray()?, array![false, true]);
    // Between an outer axis and a kept one.
    let table: GpuArray<i64, Ix2> = (x.sum().axis(Axis(0)) * x.sum().axis(Axis(1)).keep_dims()).eval()?;
    ensure_eq!(table.to_ndarray()?, array![[12, 24], [36, 72]]);
    // Of transposed and reversed views, and of arrays that the expression owns.
    let got = (x.t() - x.t().max().axis(Axis(0))).eval()?;
    ensure_eq!(got.to_ndarray()?, array![[-1, -3], [0, 0]]);
    let owned = (x.try_clone()? - x.min()).eval()?;
    ensure_eq!(owned.to_ndarray()?, array![[0, 1], [2, 5]]);
    let empty = GpuArray::<f32, _>::zeros(device, (0, 3))?;
    let got = (&empty - empty.sum().axis(Axis(0))).eval()?;
    ensure_eq!(got.shape(), [0, 3]);
    ensure_eq!((&empty - empty.sum().axis(Axis(0))).shape()?, [0, 3]);
    Ok(())
}

fn an_array_may_be_updated_by_its_own_reductions(device: &Device) -> Outcome {
    let mut x = GpuArray::from_ndarray(device, &array![1.0, 2.0, 6.0])?;
    x.update(|x| &x - x.mean())?;
    ensure_eq!(x.to_ndarray()?, array![-2.0, -1.0, 3.0]);
    let y = GpuArray::from_ndarray(device, &array![1.0, 2.0, 5.0])?;
    x += y.sum();
    ensure_eq!(x.to_ndarray()?, array![6.0, 7.0, 11.0]);
    x.assign(&y - y.min())?;
    ensure_eq!(x.to_ndarray()?, array![0.0, 1.0, 4.0]);
    // One that lives longer than the evaluation gives the values of each time.
    let centred = &y - y.mean();
    ensure_eq!(centred.eval()?.to_ndarray()?, centred.eval()?.to_ndarray()?);
    Ok(())
}

fn errors_come_from_eval_and_name_the_operation(device: &Device) -> Outcome {
    let x = GpuArray::<f32, _>::zeros(device, (4, 0))?;
    let expression = &x - x.max();
    match expression.eval().map(drop) {
        Err(error @ ArrayError::Deferred { .. }) => {
            ensure_eq!(error.to_string(), "a reduction: max of no values");
        }
        other => return Err(format!("{other:?}").into()),
    }
    ensure!(matches!((&x - x.sum().axis(Axis(2))).eval(), Err(ArrayError::Axis { axis: 2, ndim: 2, .. })));
    let (x, y) = (GpuArray::<f32, _>::zeros(device, (4, 3))?, GpuArray::<f32, _>::zeros(device, (4, 2))?);
    ensure!(matches!((&x - (&x + &y).sum()).eval(), Err(ArrayError::Operands { .. })));
    ensure!(matches!((&x - y.sum().axis(Axis(0))).eval(), Err(ArrayError::Operands { .. })));
    // The operator that failed on an operand of the reduction is told, and only by an evaluation.
    let mut z = GpuArray::<f32, _>::zeros(device, 3)?;
    z += &y;
    let lazy = &x - z.sum();
    ensure_eq!(lazy.shape()?, [4, 3]);
    ensure!(matches!(lazy.eval(), Err(ArrayError::Operator { op: "+=", .. })));
    drop(lazy);
    let _ = z.take_error();
    // Too deep.
    let mut deep = x.sum().axes(&[]).into_expr();
    for _ in 0..20 {
        deep = deep.sum().axes(&[]).into_expr();
    }
    let error = deep.eval().map(drop);
    ensure!(matches!(error, Err(ArrayError::TooDeep { limit: 16, .. })), "{error:?}");
    let error: AlgoError = (&x - x.sum().axis(Axis(2))).sum().get().err().ok_or("an axis")?;
    ensure!(matches!(error, AlgoError::Array(ArrayError::Axis { axis: 2, .. })));
    Ok(())
}

fn streams_are_those_of_the_expression(device: &Device) -> Outcome {
    let other = Stream::new(device)?;
    let x = GpuArray::from_ndarray(device, &Array1::from_iter((0..1000).map(f64::from)))?;
    let got = (&x - x.mean()).eval_on(&other)?;
    ensure!(got.stream() == &other);
    ensure_eq!(got.to_ndarray()?, Array1::from_iter((0..1000).map(|i| f64::from(i) - 499.5)));
    let places = gpu_array::expression::arange::<i64, Gpu>(0, 5, 1)?;
    let total = places.sum().on(&other);
    ensure_eq!((total * 2i64).eval()?.get()?, 20);
    let total = gpu_array::expression::arange::<i64, Gpu>(0, 5, 1)?.sum();
    ensure!(matches!((total * 2i64).eval(), Err(ArrayError::NoHome)));
    Ok(())
}

fn borrows_end_with_the_last_use(device: &Device) -> Outcome {
    let mut x = GpuArray::from_ndarray(device, &array![1.0, 3.0])?;
    let centred = &x - x.mean();
    let got = centred.eval()?;
    // The expression is dropped at the end of the scope, and borrows nothing until then.
    x.fill(0.0)?;
    ensure_eq!(got.to_ndarray()?, array![-1.0, 1.0]);
    Ok(())
}

/// Code that is generic over the place.
fn normalised<P: Backend + Reduces<f64>>(x: &P::Owned<f64, Ix2>) -> gpu_array::Result<P::Owned<f64, Ix2>> {
    let x: Expr<'_, f64, Ix2, P> = P::expr(x);
    ((&x - x.min().axis(Axis(0))) / (x.max().axis(Axis(0)) - x.min().axis(Axis(0)))).eval()
}

fn both_places_have_the_same_code(device: &Device) -> Outcome {
    let h = matrix();
    let x = GpuArray::from_ndarray(device, &h)?;
    ensure_eq!(normalised::<Gpu>(&x)?.to_ndarray()?, normalised::<Host>(&h)?);
    // Every reduction, by the same name.
    let y = host(&h);
    macro_rules! same {
        ($($name:ident($($argument:expr)?))*) => {$(
            let (on_host, on_device) = (y.$name($($argument)?).get()?, x.$name($($argument)?).get()?);
            ensure!(format!("{on_host:.12?}") == format!("{on_device:.12?}"), "{}: {on_host:?}, {on_device:?}", stringify!($name));
            let on_host = y.$name($($argument)?).axis(Axis(1)).eval();
            let on_device = x.$name($($argument)?).axis(Axis(1)).eval();
            ensure_eq!(on_host.is_ok(), on_device.is_ok());
        )*};
    }
    same! {
        sum() nansum() prod() nanprod() mean() nanmean() var(1) nanvar(1) std(1) nanstd(1) mean_var(1) nanmean_var(0) min() max() nanmin() nanmax()
        min_max() nanmin_max() argmin() argmax() nanargmin() nanargmax() any() all() count() norm_l2() norm_l1() norm_inf()
    }
    let kept = y.sum().axis(Axis(0)).keep_dims().eval()?;
    ensure_eq!((kept.shape(), reference::sum(&kept)), (&[1, 5][..], reference::sum(&h)));
    let reversed = h.slice(ndarray::s![..;-1, ..;2]);
    let got = host(reversed).sum().axis(Axis(0)).eval()?;
    ensure_eq!(got, reversed.map_axis(Axis(0), reference::sum));
    ensure!(matches!(host(&Array1::<f64>::zeros(0)).max().get(), Err(AlgoError::Empty { op: "max" })));
    Ok(())
}

/// Dot products for either place, and their error for vectors of two lengths.
fn products_of<T: Numeric + Promote<T, Output = T>, P: Backend + Reduces<T>>(
    x: &P::Owned<T, Ix1>,
    y: &P::Owned<T, Ix1>,
    short: &P::Owned<T, Ix1>,
) -> Result<(T, T, Option<AlgoError>), AlgoError> {
    let (x, y) = (P::expr(x), P::expr(y));
    Ok((x.dot(&y).get()?, (&x + &y).vdot(&y).get()?, x.dot(P::expr(short)).get().err()))
}

fn dot_products_have_the_same_code(device: &Device) -> Outcome {
    fn check<T>(device: &Device, element: fn(usize) -> T) -> Outcome
    where
        T: EinsumElement + Promote<T, Output = T>,
        Host: Reduces<T>,
    {
        for n in [0, 1, 31, 33, 1000, 20_000] {
            let (x, y) =
                (Array1::from_shape_fn(n, |i| element(i * 7)), Array1::from_shape_fn(n, |i| element(i * 3 + 1)));
            let short = Array1::from_shape_fn(n + 2, element);
            let sum = (host(&x) + host(&y)).eval()?;
            // The definition of products of any type, whose sums wrap in the type of the elements.
            let want = (reference::inner(&x, &y)?[[]], reference::inner(&sum, &y)?[[]]);
            let (dot, vdot, error) = products_of::<T, Host>(&x, &y, &short)?;
            ensure_eq!((dot, vdot), want);
            ensure!(matches!(error, Some(AlgoError::Array(ArrayError::Operands { .. }))), "{error:?}");
            let on_device = |x| GpuArray::from_ndarray(device, x);
            let (dot, vdot, of_device) = products_of::<T, Gpu>(&on_device(&x)?, &on_device(&y)?, &on_device(&short)?)?;
            ensure_eq!((dot, vdot), want);
            ensure_eq!(error.map(|error| error.to_string()), of_device.map(|error| error.to_string()));
        }
        Ok(())
    }
    // Sums of integers wrap in their type, those of eighths are exact.
    check(device, |i| (i as i32).wrapping_mul(123_456_789))?;
    check(device, |i| i as u8)?;
    check(device, |i| (i % 13) as f64 / 8.0 - 0.75)?;
    check(device, |i| f16::from_f64((i % 13) as f64 / 8.0 - 0.75))?;
    let z = array![Complex::new(1.0f32, 2.0), Complex::new(3.0, -1.0)];
    ensure_eq!(
        (host(&z).dot(host(&z)).get()?, host(&z).vdot(host(&z)).get()?),
        (Complex::new(5.0, -2.0), 15f32.into())
    );
    // Of two types, in their common one.
    let (i, x) = (array![1, 2, 3], array![0.5, 0.25, 2.0]);
    ensure_eq!((host(&i).dot(host(&x)).get()?, (host(&x) - host(&i).dot(host(&x))).eval()?[0]), (7.0, -6.5));
    Ok(())
}

fn each_computation_is_one_launch(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let launches = |work: &dyn Fn() -> gpu_array::Result<()>| launches(&device, work);
    let x = GpuArray::from_ndarray(&device, &matrix())?;
    // The mean and the deviation in one.
    let n = launches(&|| ((&x - x.mean().axis(Axis(0))) / x.std(0).axis(Axis(0))).eval().map(drop))?;
    ensure_eq!(n, 2);
    let n = launches(&|| ((&x - 1.0 - (&x - 1.0).mean()) / (&x - 1.0).std(0)).eval().map(drop))?;
    ensure_eq!(n, 2);
    let n = launches(&|| ((&x - x.min()) / (x.max() - x.min())).eval().map(drop))?;
    ensure_eq!(n, 2);
    // The same computation, written twice, or of one expression.
    let n = launches(&|| ((&x - x.mean()) * (&x + x.mean())).eval().map(drop))?;
    ensure_eq!(n, 2);
    let n = launches(&|| {
        let e = (&x - x.max().axis(Axis(1)).keep_dims()).exp();
        (&e / e.sum().axis(Axis(1)).keep_dims()).eval().map(drop)
    })?;
    ensure_eq!(n, 1);
    // Other axes, other operands, other numbers are others.
    let n = launches(&|| (&x - x.mean().axis(Axis(0)) - x.mean().axis(Axis(1)).keep_dims()).eval().map(drop))?;
    ensure_eq!(n, 3);
    let n = launches(&|| (&x - (&x + 1.0).mean() - (&x + 2.0).mean()).eval().map(drop))?;
    ensure_eq!(n, 3);
    let n = launches(&|| (&x - x.var(0) - x.var(1)).eval().map(drop))?;
    ensure_eq!(n, 3);
    Ok(())
}
