//! Numbers of 16 bits: storage and transfer, each operation on the device and on the host against definitions in f64 and NumPy's float16.

use std::{ffi::c_void, fmt::Write as _};

use gpu_array::{
    ArrayError, Complex, DType, Element, Float, GpuArray, KERNELS, Number, Promote, bf16, concatenate,
    expression::{
        self, Backend, Expr, Gpu, Host, IntoExpr, Outside, Precompile, complex, host, index, linspace, precompile,
        take, where_,
    },
    f16,
};
use gpu_driver::{
    Arch, CHECKED_ARCHS, Definitions, Device, DevicePod, DeviceVec, DriverError, HALF, KernelSpace, LaunchConfig,
    Program, emulated::Emulated,
};
use ndarray::{Array, Array1, Array2, Axis, Dimension, Ix1, Ix2, array, s};
use testkit::{AWKWARD_LENGTHS, Outcome, Rng, Test, ensure, ensure_eq, tests};

use crate::complex_numpy::{Python, told};

pub const TESTS: &[Test<Device>] = tests![
    half_arrays_round_trip_in_any_layout,
    half_arrays_are_made_joined_and_taken,
    half_operations_follow_their_definitions,
    half_operations_run_in_every_loop,
    half_arrays_are_changed_in_place,
    every_number_of_16_bits_is_converted,
    numbers_round_once_to_16_bits,
    numbers_of_16_bits_in_users_kernels,
];

/// On the emulated device.
pub const EMULATED: &[Test<()>] = tests![cuda_s_header_stands_beside_ours];

/// With NVRTC alone.
pub const COMPILED: &[Test<()>] = tests![a_users_kernel_compiles, maps_move_16_bytes_at_once];

pub const OF_NUMPY: &[Test<Python>] = tests![half_operations_are_numpys];

/// The two types, and what tests ask of them.
trait Half: Float + Element<Storage = Self> + DevicePod + Default + Into<f64> {
    fn bits(self) -> u16;
    fn of_bits(bits: u16) -> Self;
}
impl Half for f16 {
    fn bits(self) -> u16 {
        self.to_bits()
    }
    fn of_bits(bits: u16) -> Self {
        Self::from_bits(bits)
    }
}
impl Half for bf16 {
    fn bits(self) -> u16 {
        self.to_bits()
    }
    fn of_bits(bits: u16) -> Self {
        Self::from_bits(bits)
    }
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn counted<T: Half, D: Dimension>(shape: impl ndarray::ShapeBuilder<Dim = D>) -> Array<T, D> {
    let mut count = 0.0;
    Array::from_shape_simple_fn(shape, || {
        count += 1.0;
        T::rounded_from_f64(count)
    })
}

fn half_arrays_round_trip_in_any_layout(device: &Device) -> Outcome {
    fn check<T: Half>(device: &Device, name: &str) -> Outcome {
        for n in AWKWARD_LENGTHS {
            let x = counted::<T, _>(n);
            ensure_eq!(GpuArray::from_ndarray(device, &x)?.to_ndarray()?, x);
        }
        let x = counted::<T, _>((5, 7, 9));
        let on_device = GpuArray::from_ndarray(device, &x)?;
        let part = s![1..;2, ..;-1, 3..];
        ensure_eq!(on_device.slice(part)?.to_ndarray()?, x.slice(part));
        ensure_eq!(
            on_device.view().permuted_axes([2, 0, 1])?.to_owned()?.to_ndarray()?,
            x.view().permuted_axes([2, 0, 1])
        );
        let mut target = GpuArray::<T, _>::zeros(device, (5, 14, 9))?;
        target.slice_mut(s![.., 1..;2, ..])?.copy_from_ndarray(&x)?;
        ensure_eq!(target.slice(s![.., 1..;2, ..])?.to_ndarray()?, x);
        ensure!(target.slice(s![.., ..;2, ..])?.to_ndarray()?.iter().all(|x| x.bits() == 0));
        ensure_eq!(format!("{target:?}"), format!("GpuArray<{name}>(shape [5, 14, 9], device 0)"));
        // Any bits are moved as they are, those of NaN too.
        let all: Array1<T> = (0..=u16::MAX).map(T::of_bits).collect();
        let moved = GpuArray::from_ndarray(device, &all)?.slice(s![..;-1])?.to_owned()?.to_ndarray()?;
        ensure!(moved.iter().rev().map(|x| x.bits()).eq(0..=u16::MAX));
        Ok(())
    }
    check::<f16>(device, "float16")?;
    check::<bf16>(device, "bfloat16")
}

fn half_arrays_are_made_joined_and_taken(device: &Device) -> Outcome {
    fn check<T: Half>(device: &Device) -> Outcome {
        let of = T::rounded_from_f64;
        for (start, len) in [(0, 40), (1, 1), (3, 2), (5, 17), (39, 1)] {
            let mut array = GpuArray::full(device, 40, of(-0.5))?;
            array.slice_mut(s![start..start + len])?.fill(of(2.25))?;
            let mut want = Array1::from_elem(40, of(-0.5));
            want.slice_mut(s![start..start + len]).fill(of(2.25));
            ensure_eq!(array.to_ndarray()?, want);
        }
        ensure_eq!(GpuArray::<T, _>::ones(device, 3)?.to_ndarray()?, Array1::from_elem(3, of(1.0)));
        ensure_eq!(GpuArray::<T, _>::eye(device, 2)?.to_ndarray()?, array![[1.0, 0.0], [0.0, 1.0]].mapv(of));
        // In f64 and rounded once, as the values of other float types.
        let (start, stop, step) = (of(0.1), of(300.0), of(0.1));
        let n = T::range_len(start, stop, step)?;
        let want: Array1<T> = (0..n).map(|i| of(start.into() + i as f64 * step.into())).collect();
        ensure_eq!(GpuArray::arange(device, start, stop, step)?.to_ndarray()?, want);
        ensure_eq!(expression::arange::<T, Host>(start, stop, step)?.eval()?, want);
        let got = linspace(of(0.0), of(1.0), 7).eval_on(device)?.to_ndarray()?;
        ensure_eq!(got, (0..7).map(|i| of(i as f64 * (1.0 / 6.0))).collect::<Array1<T>>());
        let x = counted::<T, _>((4, 9));
        let on_device = GpuArray::from_ndarray(device, &x)?;
        let reversed = concatenate(Axis(0), [on_device.slice(s![..;-1, ..])?, on_device.view()])?;
        ensure_eq!(reversed.to_ndarray()?, ndarray::concatenate(Axis(0), &[x.slice(s![..;-1, ..]), x.view()])?);
        let row = GpuArray::from_ndarray(device, &x.row(2))?;
        let places = GpuArray::from_vec(device, vec![3i64, -1, 0, 100])?;
        let taken = take(&row, &places, Outside::Value(of(-7.0))).eval()?.to_ndarray()?;
        ensure_eq!(taken, array![x[[2, 3]], of(-7.0), x[[2, 0]], of(-7.0)]);
        let mut put = row;
        put.put(&GpuArray::from_vec(device, vec![1i64, 8])?, of(0.5))?;
        let put = put.to_ndarray()?;
        ensure_eq!([put[0], put[1], put[8]], [x[[2, 0]], of(0.5), of(0.5)]);
        Ok(())
    }
    check::<f16>(device)?;
    check::<bf16>(device)
}

/// Numbers at which an operation may go wrong.
fn operands<T: Half>() -> (Array2<T>, Array2<T>) {
    let infinite = T::infinity().bits();
    let mut all: Vec<T> = [0, 1, 2, 0x3ff, 0x400, 0x401, infinite - 1, infinite, infinite + 1].map(T::of_bits).to_vec();
    let values = [1.0, 1.5, 3.0, 0.1, 1.0 / 3.0, 2.5, 0.75, 7.3, 100.0, 255.5, 1e-3, 2e-5, 1e4, 3e4];
    all.extend(values.map(T::rounded_from_f64));
    // Conversions of a device drop the sign of NaN, which copysign would show.
    let negative: Vec<T> = all.iter().filter(|x| !x.is_nan()).map(|&x| T::of_bits(x.bits() | 0x8000)).collect();
    all.extend(negative);
    let n = all.len();
    (Array2::from_shape_vec((n, 1), all.clone()).expect("n"), Array2::from_shape_vec((1, n), all).expect("n"))
}

/// The meaning of an operation: exactly this, rounded to the type; this within so many units of f32 before that; or what f32 has there.
enum Meaning {
    Exact(fn(f64, f64) -> f64),
    Near(fn(f64, f64) -> f64),
    OfF32(fn(f32, f32) -> f32),
    /// Not rounded.
    Value(fn(f64, f64) -> f64),
}
use Meaning::{Exact, Near, OfF32, Value};

type Operation<'a, P> = (&'static str, Expr<'a, f64, Ix2, P>, Meaning);

fn value<'a, T: Element, P: Backend>(of: Expr<'a, T, Ix2, P>) -> Expr<'a, f64, Ix2, P> {
    of.cast()
}

fn operations<'a, T, P: Backend>(a: &Expr<'a, T, Ix2, P>, b: &Expr<'a, T, Ix2, P>) -> Vec<Operation<'a, P>>
where
    T: Half + Promote<f32, Output = f32> + Promote<u8, Output = T> + Promote<i32, Output = f64>,
{
    let half = T::rounded_from_f64(0.5);
    let mut all: Vec<Operation<'a, P>> = vec![
        ("a + b", value(a + b), Exact(|a, b| a + b)),
        ("a - b", value(a - b), Exact(|a, b| a - b)),
        ("a * b", value(a * b), Exact(|a, b| a * b)),
        ("a / b", value(a / b), Exact(|a, b| a / b)),
        (
            "a % b",
            value(a % b),
            OfF32(|a, b| {
                let rest = a % b;
                if b == 0.0 || rest.is_nan() {
                    rest
                } else if rest == 0.0 {
                    0f32.copysign(b)
                } else if (rest < 0.0) != (b < 0.0) {
                    rest + b
                } else {
                    rest
                }
            }),
        ),
        ("fmod", value(a.fmod(b)), Exact(|a, b| a % b)),
        ("-a", value(-a), Exact(|a, _| -a)),
        ("abs", value(a.abs()), Exact(|a, _| a.abs())),
        ("sign", value(a.sign()), Exact(|a, _| if a.is_nan() || a == 0.0 { a.abs() } else { a.signum() })),
        ("sqrt", value(a.sqrt()), Exact(|a, _| a.sqrt())),
        ("floor", value(a.floor()), Exact(|a, _| a.floor())),
        ("ceil", value(a.ceil()), Exact(|a, _| a.ceil())),
        ("round", value(a.round()), Exact(|a, _| a.round_ties_even())),
        ("trunc", value(a.trunc()), Exact(|a, _| a.trunc())),
        ("minimum", value(a.minimum(b)), Exact(|a, b| if a <= b || a.is_nan() { a } else { b })),
        ("maximum", value(a.maximum(b)), Exact(|a, b| if a >= b || a.is_nan() { a } else { b })),
        ("fmin", value(a.fmin(b)), Exact(|a, b| if a <= b || b.is_nan() { a } else { b })),
        ("copysign", value(a.copysign(b)), Exact(|a, b| if a.is_nan() { a } else { a.copysign(b) })),
        ("square", value(a.square()), Exact(|a, _| a * a)),
        ("recip", value(a.recip()), Exact(|a, _| 1.0 / a)),
        ("a * 0.5", value(a * half), Exact(|a, _| a * 0.5)),
        ("where", value(where_(a.lt(b), a, b)), Exact(|a, b| if a < b { a } else { b })),
        ("mantissa", value(a.frexp().0), Exact(|a, _| frexp(a).0)),
        (
            "fraction",
            value(a.modf().0),
            Exact(|a, _| {
                let fraction = if a.is_infinite() { 0.0 } else { a - a.trunc() };
                fraction.copysign(a)
            }),
        ),
        ("a < b", value(a.lt(b)), Value(|a, b| (a < b).into())),
        ("a >= b", value(a.ge(b)), Value(|a, b| (a >= b).into())),
        ("a == b", value(a.eq(b)), Value(|a, b| (a == b).into())),
        ("a != b", value(a.ne(b)), Value(|a, b| (a != b).into())),
        ("is_nan", value(a.is_nan()), Value(|a, _| a.is_nan().into())),
        ("is_finite", value(a.is_finite()), Value(|a, _| a.is_finite().into())),
        ("exponent", value(a.frexp().1), Value(|a, _| frexp(a).1)),
        ("to f32", value(a.cast::<f32>()), Value(|a, _| a)),
        ("to bool", value(a.cast::<bool>()), Value(|a, _| (a != 0.0).into())),
        ("to i8", value(a.cast::<i8>()), Value(|a, _| (a as i8).into())),
        ("to i64", value(a.cast::<i64>()), Value(|a, _| (a as i64) as f64)),
        ("to u16", value(a.cast::<u16>()), Value(|a, _| (a as u16).into())),
        ("to complex", value(a.cast::<Complex<f64>>().real()), Value(|a, _| a)),
        ("complex", value(complex(a, b).imag()), Value(|_, b| b)),
        ("from bool", value(a.gt(b).cast::<T>()), Value(|a, b| (a > b).into())),
        ("from complex", value(a.cast::<Complex<f32>>().cast::<T>()), Value(|a, _| a)),
        ("with f32", value(a + b.cast::<f32>()), Value(|a, b| ((a as f32) + (b as f32)).into())),
        ("with u8", value(a + b.cast::<u8>()), Exact(|a, b| a + f64::from(b as u8))),
        ("with i32", value(a + b.cast::<i32>()), Value(|a, b| a + f64::from(b as i32))),
        ("exp", value(a.exp()), Near(|a, _| a.exp())),
        ("log", value(a.log()), Near(|a, _| a.ln())),
        ("sin", value(a.sin()), Near(|a, _| a.sin())),
        ("tanh", value(a.tanh()), Near(|a, _| a.tanh())),
        ("cbrt", value(a.cbrt()), Near(|a, _| a.cbrt())),
        ("atan2", value(a.atan2(b)), Near(|a, b| a.atan2(b))),
        ("hypot", value(a.hypot(b)), Near(|a, b| a.hypot(b))),
        ("pow", value(a.pow(b)), Near(|a, b| a.powf(b))),
        ("a // b", value(a.floor_divide(b)), OfF32(floor_divide)),
        ("fma", value(a.fma(b, half)), OfF32(|a, b| a.mul_add(b, 0.5))),
        ("nextafter", value(a.nextafter(b)), Exact(next_after::<T>)),
        ("ldexp", value(a.ldexp(3)), Exact(|a, _| a * 8.0)),
        ("ldexp far", value(a.ldexp(-100_000)), Exact(|a, _| if a.is_finite() { 0f64.copysign(a) } else { a })),
        (
            "two roundings",
            value(a * b + a),
            OfF32(|a, b| {
                let product: f64 = T::rounded_from_f64(f64::from(a) * f64::from(b)).into();
                (product as f32) + a
            }),
        ),
    ];
    // Exact in any order.
    all.push(("powi", value(a.powi(2)), Exact(|a, _| a * a)));
    all
}

fn frexp(a: f64) -> (f64, f64) {
    if a == 0.0 || !a.is_finite() {
        return (a, 0.0);
    }
    let exponent = a.abs().log2().floor() + 1.0;
    (a / 2f64.powf(exponent), exponent)
}

/// NumPy's, in f32.
fn floor_divide(a: f32, b: f32) -> f32 {
    if b == 0.0 {
        return a / b;
    }
    let rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest != 0.0 && (b < 0.0) != (rest < 0.0) {
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return 0f32.copysign(a / b);
    }
    let floor = quotient.floor();
    if quotient - floor > 0.5 { floor + 1.0 } else { floor }
}

/// The next number by a search among all of the type.
fn next_after<T: Half>(from: f64, to: f64) -> f64 {
    if from.is_nan() || to.is_nan() || from == to {
        return if from == to { to } else { f64::NAN };
    }
    let all = (0..=u16::MAX).map(|bits| -> f64 { T::of_bits(bits).into() });
    let next = if from < to {
        all.filter(|&x| x > from).min_by(f64::total_cmp)
    } else {
        all.filter(|&x| x < from).max_by(f64::total_cmp)
    };
    next.map_or(to, |next| if next == 0.0 { 0f64.copysign(from) } else { next })
}

/// Whether a value is that of its meaning.
fn means<T: Half>(got: f64, meaning: &Meaning, a: f64, b: f64) -> Result<(), f64> {
    let rounded = |value: f64| -> f64 { T::rounded_from_f64(value).into() };
    let want = match meaning {
        Exact(of) => rounded(of(a, b)),
        Value(of) => of(a, b),
        OfF32(of) => rounded(of(a as f32, b as f32).into()),
        // A few units of f32 on either side.
        Near(of) => {
            let value = of(a, b);
            let [low, high] = [1.0 - 1e-6, 1.0 + 1e-6].map(|factor| rounded(value * factor));
            let fits = same(got, low) || same(got, high) || (low.min(high) <= got && got <= low.max(high));
            return if fits { Ok(()) } else { Err(rounded(value)) };
        }
    };
    if same(got, want) { Ok(()) } else { Err(want) }
}

fn half_operations_follow_their_definitions(device: &Device) -> Outcome {
    fn check<T>(device: &Device) -> Outcome
    where
        T: Half + Promote<f32, Output = f32> + Promote<u8, Output = T> + Promote<i32, Output = f64>,
    {
        let (a, b) = operands::<T>();
        let shape = (a.len(), b.len());
        let wanted = |name: &str, got: &Array2<f64>, meaning: &Meaning, place: &str| -> Outcome {
            for ((i, j), &got) in got.indexed_iter() {
                let (a, b): (f64, f64) = (a[[i, 0]].into(), b[[0, j]].into());
                if let Err(want) = means::<T>(got, meaning, a, b) {
                    return Err(
                        format!("{name} of {a} and {b} in {} on the {place}: {got}, want {want}", T::DTYPE).into()
                    );
                }
            }
            Ok(())
        };
        for (name, value, meaning) in operations::<T, Host>(&host(&a).broadcast(shape), &host(&b).broadcast(shape)) {
            wanted(name, &value.eval()?, &meaning, "host")?;
        }
        let (da, db) = (GpuArray::from_ndarray(device, &a)?, GpuArray::from_ndarray(device, &b)?);
        let (da, db) = (IntoExpr::into_expr(&da).broadcast(shape), IntoExpr::into_expr(&db).broadcast(shape));
        let all = operations::<T, Gpu>(&da, &db);
        precompile(device, &all.iter().map(|(_, value, _)| value as &dyn Precompile).collect::<Vec<_>>())?;
        for (name, value, meaning) in &all {
            wanted(name, &value.eval()?.to_ndarray()?, meaning, "device")?;
        }
        Ok(())
    }
    check::<f16>(device)?;
    check::<bf16>(device)
}

/// Linear with every misalignment, strided, and tiled; the results are numbers of 16 bits, f32 and masks.
fn half_operations_run_in_every_loop(device: &Device) -> Outcome {
    fn check<T: Half + Promote<f32, Output = f32>>(device: &Device) -> Outcome {
        let mut rng = Rng(5);
        let mut random = || T::rounded_from_f64(rng.uniform() * 4.0 - 2.0);
        let x = Array2::from_shape_simple_fn((70, 75), &mut random);
        let y = Array2::from_shape_simple_fn((70, 75), || -> f32 { random().into() as f32 });
        let (dx, dy) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let two = T::rounded_from_f64(2.0);
        for start in 0..10 {
            let part = s![3, start..];
            let got = (dx.slice(part)? * two + dx.slice(part)?).eval()?.to_ndarray()?;
            ensure_eq!(got, (host(x.slice(part)) * two + host(x.slice(part))).eval()?);
        }
        for part in [s![.., 1..], s![1..;2, ..], s![..;-3, 3..]] {
            let got = (dx.slice(part)? / two - dx.slice(part)? * dx.slice(part)?).eval()?.to_ndarray()?;
            ensure_eq!(got, (host(x.slice(part)) / two - host(x.slice(part)) * host(x.slice(part))).eval()?);
            let got = (dx.slice(part)? * dy.slice(part)?).eval()?.to_ndarray()?;
            ensure_eq!(got, (host(x.slice(part)) * host(y.slice(part))).eval()?);
        }
        let (square, own) = (s![.., ..70], x.slice(s![.., ..70]));
        let (t, d) = (dx.slice(square)?, dx.slice(square)?);
        ensure_eq!((t.t() * dx.slice(square)?).eval()?.to_ndarray()?, (host(own.t()) * host(own)).eval()?);
        ensure_eq!(t.t().lt(&d).eval()?.to_ndarray()?, host(own.t()).lt(host(own)).eval()?);
        let first = (host(&x) * index::<Ix2, Host>(Axis(1)).cast::<T>()).eval()?;
        ensure_eq!((&dx * index::<Ix2, Gpu>(Axis(1)).cast::<T>()).eval()?.to_ndarray()?, first);
        Ok(())
    }
    check::<f16>(device)?;
    check::<bf16>(device)
}

fn half_arrays_are_changed_in_place(device: &Device) -> Outcome {
    let of = f16::rounded_from_f64;
    let mut x = GpuArray::from_vec(device, vec![of(1.0), of(2.0), of(1024.0)])?;
    x += of(0.25);
    x *= &GpuArray::from_vec(device, vec![1i8, 2, -3])?;
    x -= &GpuArray::from_vec(device, vec![bf16::ONE; 3])?.cast::<f16>().eval()?;
    ensure_eq!(x.to_ndarray()?, array![0.25, 3.5, -3072.0].mapv(of));
    x.update(|x| x.abs())?;
    x.assign_where(&x.gt(of(1000.0)).eval()?, of(9.0))?;
    ensure_eq!(x.to_ndarray()?, array![0.25, 3.5, 9.0].mapv(of));
    let sum = x + GpuArray::full(device, 3, 1f32)?;
    ensure_eq!(format!("{sum:?}").contains("float16"), true);
    ensure_eq!(sum.eval()?.to_ndarray()?, array![1.25f32, 4.5, 10.0]);
    let text = format!("{:?}", host(&array![of(1.0)]) * of(1.5));
    ensure_eq!(text, "Expr<float16>((float16[1] * 1.5))");
    let (long, short) = (GpuArray::<f16, _>::zeros(device, 3)?, GpuArray::<bf16, _>::zeros(device, 2)?);
    ensure!(matches!((&long + &short).eval(), Err(ArrayError::Operands { .. })));
    let bytes = long.view_as::<u16>()?.to_ndarray()?;
    ensure_eq!(bytes, array![0, 0, 0]);
    Ok(())
}

fn every_number_of_16_bits_is_converted(device: &Device) -> Outcome {
    fn check<T: Half>(device: &Device) -> Outcome {
        let all: Array1<T> = (0..=u16::MAX).map(T::of_bits).collect();
        let wide = GpuArray::from_ndarray(device, &all)?.cast::<f32>().eval()?;
        let on_host = host(&all).cast::<f32>().eval()?;
        let want = |x: T| -> f64 { x.into() };
        for ((&x, &got), &host) in all.iter().zip(&wide.to_ndarray()?).zip(&on_host) {
            ensure!(same(got.into(), want(x)) && same(host.into(), want(x)), "{x}: {got}, {host}");
        }
        let back = wide.cast::<T>().eval()?.to_ndarray()?;
        ensure!(all.iter().zip(&back).all(|(x, back)| x.bits() == back.bits() || x.is_nan() && back.is_nan()));
        Ok(())
    }
    check::<f16>(device)?;
    check::<bf16>(device)
}

/// From every type: numbers halfway between two of 16 bits and next to that, and random ones. All bits are those of the host, NaN's too.
fn numbers_round_once_to_16_bits(device: &Device) -> Outcome {
    fn check<T: Half, U: Element>(device: &Device, x: Vec<U>) -> Outcome {
        let x = Array1::from_vec(x);
        let got = GpuArray::from_ndarray(device, &x)?.cast::<T>().eval()?.to_ndarray()?;
        let want = host(&x).cast::<T>().eval()?;
        let other = got.iter().zip(&want).zip(&x).find(|((got, want), _)| got.bits() != want.bits());
        ensure!(other.is_none(), "{} to {}: {other:?}", U::DTYPE, T::DTYPE);
        Ok(())
    }
    fn check_type<T: Half>(device: &Device) -> Outcome {
        let mut rng = Rng(11);
        let mut doubles = vec![f64::NAN, f64::INFINITY, f64::MIN, f64::MAX, 5e-324, -1e-300, 0.0, -0.0];
        for bits in (0..0x7c00u16).step_by(7).chain([0x7bfe, 0x7bff, 0x7f7e]) {
            let [a, b]: [f64; 2] = [bits, bits + 1].map(|bits| T::of_bits(bits).into());
            let middle = (a + b) / 2.0;
            doubles
                .extend([a, middle.next_down(), middle, middle.next_up()].map(|x| if bits % 2 == 0 { x } else { -x }));
        }
        doubles.extend((0..3000).map(|_| f64::from_bits(rng.next_u64())));
        let floats: Vec<f32> = doubles
            .iter()
            .map(|&x| x as f32)
            .chain((0..30000).map(|_| f32::from_bits(rng.next_u64() as u32)))
            .collect();
        check::<T, _>(device, floats)?;
        check::<T, _>(device, doubles)?;
        let mut integers = vec![0i64, 1, -1, i64::MIN, i64::MAX, 65519, 65520, 65521, -65520];
        for power in 8..63 {
            let (number, half) = (1i64 << power, 1i64 << (power - 8));
            integers.extend([
                number + half - 1,
                number + half,
                number + half + 1,
                -number - half - 1,
                number + 3 * half,
            ]);
        }
        integers.extend((0..1000).map(|_| rng.next_u64() as i64));
        check::<T, _>(device, integers.iter().map(|&x| x as i32).collect())?;
        check::<T, _>(device, integers.iter().map(|&x| x as u32).collect())?;
        check::<T, _>(device, integers.iter().map(|&x| x as u64).collect())?;
        check::<T, _>(device, integers.iter().map(|&x| x as i16).collect())?;
        check::<T, _>(device, integers.iter().map(|&x| x as u8).collect())?;
        check::<T, _>(device, integers)
    }
    check_type::<f16>(device)?;
    check_type::<bf16>(device)
}

#[repr(C)]
#[derive(Clone, Copy, Debug, DevicePod)]
struct Sample {
    weight: bf16,
    height: f16,
    value: f32,
}

/// Runs a kernel of one thread with these buffers.
fn run(device: &Device, space: &'static KernelSpace, program: Program, buffers: &[u64]) -> Outcome {
    let kernel = device.generated_kernel(space, &[space.word()], || Ok(program))?;
    let config = LaunchConfig { grid: 1.into(), block: 1.into(), shared_bytes: 0 };
    let mut buffers = buffers.to_vec();
    let mut values: Vec<*mut c_void> = buffers.iter_mut().map(|address| (&raw mut *address).cast()).collect();
    let stream = device.stream();
    #[expect(unsafe_code, reason = "a kernel of the test's own")]
    // SAFETY: the kernel has these parameters, and stays within the buffers.
    unsafe {
        kernel.launch_with(config, &mut values, &[&stream], &stream)?;
    }
    Ok(())
}

/// Both types in structures and arrays; the operators of the header, beside each other and beside other numbers.
fn users_program() -> Result<Program, DriverError> {
    let definitions = Definitions::of::<Sample>()?;
    let text = format!(
        "{}
        extern \"C\" __global__ void f(gpu::f16 *out, const Sample *samples) {{
            const gpu::f16 h = samples[0].height, k = samples[1].height;
            out[0] = h + k;
            out[1] = h * k - h / k;
            out[2] = -h;
            out[3] = samples[0].weight + samples[1].weight;
            out[4] = h + samples[0].value;
            out[5] = (h + k) - 2048.0f;
            out[6] = 2 * h;
            out[7] = h < k && k > 1 && !(h == k) && h != 0.5 ? 1 : 0;
            out[8] = 2049;
            out[8] += 1;
            out[9] = (1ll << 40) - 1;
            out[10] = 0.7182818284590452;
            out[10] *= gpu::f16(2);
            gpu::bf16 b = 1.0f;
            b += 0.00390625f;
            b -= gpu::bf16(1);
            out[11] = b;
            out[12].bits = k.bits;
            out[12] /= 3u;
        }}",
        definitions.text()
    );
    let program = Program::new("halves.cu", text);
    let program =
        definitions.headers().iter().fold(program, |program, header| program.header(header.name, header.text));
    Ok(program.name_expression("f"))
}

fn a_users_kernel_compiles(_: &()) -> Outcome {
    for arch in CHECKED_ARCHS {
        users_program()?.compile(arch)?;
    }
    Ok(())
}

/// Each thread of a map over numbers of 16 bits, or over complex ones, loads and stores in one access, as of f32.
fn maps_move_16_bytes_at_once(_: &()) -> Outcome {
    let mut seen = 0;
    for instance in KERNELS.instances() {
        let name = instance.expression();
        if !["linear<float16", "linear<bfloat16", "linear<complex64", "linear<lincomb"]
            .iter()
            .any(|map| name.contains(map))
        {
            continue;
        }
        // PTX, which is text, for an architecture that is not there yet.
        let ptx = instance.compile(Arch::new(99, 0))?;
        let ptx = String::from_utf8_lossy(ptx.image()).into_owned();
        ensure!(ptx.contains("ld.global.v4") && ptx.contains("st.global.wb.v4"), "{name}");
        seen += 1;
    }
    ensure_eq!(seen, 4);
    Ok(())
}

fn numbers_of_16_bits_in_users_kernels(device: &Device) -> Outcome {
    static SPACE: KernelSpace = KernelSpace::new();
    let sample = |weight: f64, height: f64, value: f32| Sample {
        weight: bf16::rounded_from_f64(weight),
        height: f16::rounded_from_f64(height),
        value,
    };
    let stream = device.stream();
    let samples = DeviceVec::from_slice(&stream, &[sample(256.0, 1.5, 0.1), sample(1.0, 2048.0, 0.0)])?;
    let out = DeviceVec::<f16>::zeros(&stream, 13)?;
    run(device, &SPACE, users_program()?, &[out.as_raw(), samples.as_raw()])?;
    let got: Vec<f64> = out.to_vec()?.into_iter().map(f64::from).collect();
    // 1.5 + 2048 is halfway between 2048 and 2052 less a quarter: 2050 is the nearest with 11 digits.
    let digits = f64::from(f16::rounded_from_f64(0.7182818284590452));
    let third = f64::from(f16::rounded_from_f64(2048.0 / 3.0));
    let small = f64::from(f16::rounded_from_f64(1.6));
    let want = [2050.0, 3072.0, -1.5, 256.0, small, 2.0, 3.0, 1.0, 2048.0, f64::INFINITY, 2.0 * digits, 0.0, third];
    ensure_eq!(got, want);
    Ok(())
}

/// The types of cuda_fp16.h, which the emulated device brings; NVRTC has it where a CUDA toolkit is.
fn cuda_s_header_stands_beside_ours(_: &()) -> Outcome {
    static SPACE: KernelSpace = KernelSpace::new();
    let device = &Emulated::new().open()?;
    let text = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include \"half.cuh\"\n\
        extern \"C\" __global__ void f(uint32_t *differing) {
            for (uint32_t bits = 0; bits < 65536; bits++) {
                const __half theirs = __ushort_as_half(uint16_t(bits));
                gpu::f16 ours;
                ours.bits = uint16_t(bits);
                const __nv_bfloat16 their_brain = __ushort_as_bfloat16(uint16_t(bits));
                gpu::bf16 our_brain;
                our_brain.bits = uint16_t(bits);
                const float x = __uint_as_float(bits * 65521u);
                const bool same = __float_as_uint(__half2float(theirs)) == __float_as_uint(float(ours)) &&
                                  __half_as_ushort(__float2half(x)) == gpu::f16(x).bits &&
                                  (__float_as_uint(__bfloat162float(their_brain)) == __float_as_uint(float(our_brain)) || x != x || float(our_brain) != float(our_brain)) &&
                                  __bfloat16_as_ushort(__float2bfloat16(x)) == gpu::bf16(x).bits &&
                                  __half_as_ushort(theirs * theirs) == (ours * ours).bits;
                if (!same) differing[0]++;
            }
        }";
    let program = Program::new("beside.cu", text).header(HALF.name, HALF.text).name_expression("f");
    let differing = DeviceVec::<u32>::zeros(&device.stream(), 1)?;
    run(device, &SPACE, program, &[differing.as_raw()])?;
    ensure_eq!(differing.to_vec()?, [0]);
    Ok(())
}

/// The host's operations at each pair of awkward values, beside those of float16.
fn half_operations_are_numpys(python: &Python) -> Outcome {
    let (a, b) = operands::<f16>();
    let shape = (a.len(), b.len());
    let mut input = String::new();
    let mut line = |name: &str, values: &mut dyn Iterator<Item = f64>| {
        let _ = write!(input, "{name}\t");
        values.flat_map(f64::to_le_bytes).for_each(|byte| {
            let _ = write!(input, "{byte:02x}");
        });
        input.push('\n');
    };
    line("operands", &mut a.iter().map(|&x| x.into()));
    for (name, value, _) in operations::<f16, Host>(&host(&a).broadcast(shape), &host(&b).broadcast(shape)) {
        line(name, &mut value.eval()?.into_iter());
    }
    ensure_eq!(told(python, include_str!("half_check.py"), &input)?, "same");
    Ok(())
}

#[allow(dead_code, reason = "their types are checked")]
fn types(x: &GpuArray<f16, Ix1>, y: &GpuArray<bf16, Ix1>, z: &GpuArray<Complex<f32>, Ix1>) {
    let _: Expr<'_, f32, Ix1> = x + y;
    let _: Expr<'_, Complex<f32>, Ix1> = x * z;
    let _: Expr<'_, Complex<f32>, Ix1> = complex(x, x);
    let _: [DType; 2] = [f16::DTYPE, <bf16 as Number>::Float::DTYPE];
}
