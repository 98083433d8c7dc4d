//! Literals without a suffix beside arrays of every type: the types and values of NumPy's scalars of Python, on a device and on the host.

use gpu_array::{
    Complex, Element, Float, GpuArray, bf16,
    expression::{Backend, Expr, Gpu, Host, IntoExpr, complex, host, where_},
    f16,
};
use gpu_driver::Device;
use ndarray::{Array, Array1, Dimension, Ix1, array};
use testkit::{AWKWARD_LENGTHS, Outcome, Test, ensure, ensure_eq, tests};

pub const TESTS: &[Test<Device>] = tests![
    literals_beside_numbers_of_16_bits_have_their_type,
    integers_beside_floats_have_their_type,
    floats_beside_integers_make_them_f64,
    numbers_beside_masks_count_them,
    literals_are_branches_and_written_values,
    literals_round_once,
    complex_scalars_make_real_numbers_complex,
    the_type_of_a_literal_is_inferred,
];

/// Expressions of one rank, as arrays on the host.
trait Places: Backend {
    fn evaluated<T: Element, D: Dimension>(of: Expr<'_, T, D, Self>) -> gpu_array::Result<Array<T, D>>;
}
impl Places for Gpu {
    fn evaluated<T: Element, D: Dimension>(of: Expr<'_, T, D>) -> gpu_array::Result<Array<T, D>> {
        of.eval()?.to_ndarray()
    }
}
impl Places for Host {
    fn evaluated<T: Element, D: Dimension>(of: Expr<'_, T, D, Self>) -> gpu_array::Result<Array<T, D>> {
        of.eval()
    }
}

/// Asks that each line gives the values of the other, in which the scalars have the type that is given.
macro_rules! same {
    ($type:ty, $place:ty: $($literal:expr, $typed:expr;)*) => {$(
        let (got, want): (Expr<'_, $type, _, $place>, Expr<'_, $type, _, $place>) = ($literal, $typed);
        let (got, want) = (<$place>::evaluated(got)?, <$place>::evaluated(want)?);
        let both_nan = |(a, b): (&$type, &$type)| a != a && b != b;
        let same = got.shape() == want.shape() && got.iter().zip(&want).all(|pair| pair.0 == pair.1 || both_nan(pair));
        ensure!(same, "{}: {got} in place of {want}", stringify!($literal));
    )*};
}

fn literals_beside_numbers_of_16_bits_have_their_type(device: &Device) -> Outcome {
    macro_rules! check {
        ($type:ident, $place:ty, $x:expr) => {{
            let (x, of) = ($x, |value: f64| $type::rounded_from_f64(value));
            same! { $type, $place:
                x + 1.5, x + of(1.5);
                x - 3, x - of(3.0);
                x * 0.1, x * of(0.1);
                x / 3.0, x / of(3.0);
                x / 3, x / of(3.0);
                x % 2, x % of(2.0);
                1.5 + x, of(1.5) + x;
                1 - x, of(1.0) - x;
                0.1 * x, of(0.1) * x;
                2 * x, of(2.0) * x;
                1.0 / x, of(1.0) / x;
                3 % x, of(3.0) % x;
                -(2.0 * x + 1) * x, -(of(2.0) * x + of(1.0)) * x;
                x.maximum(0.0), x.maximum(of(0.0));
                x.minimum(1), x.minimum(of(1.0));
                x.fmax(0.5), x.fmax(of(0.5));
                x.pow(0.5), x.pow(of(0.5));
                x.floor_divide(0.75), x.floor_divide(of(0.75));
                x.clamp(-1, 0.5), x.clamp(of(-1.0), of(0.5));
                x.fma(0.5, 2), x.fma(of(0.5), of(2.0));
                x.atan2(0.25), x.atan2(of(0.25));
                where_(x.gt(0), x, 0.0), where_(x.gt(of(0.0)), x, of(0.0));
                where_(x.le(0.5), 0.25, x), where_(x.le(of(0.5)), of(0.25), x);
                where_(x.eq(1), 7, x), where_(x.eq(of(1.0)), of(7.0), x);
            }
        }};
    }
    for n in AWKWARD_LENGTHS.into_iter().filter(|&n| n < 1000) {
        let numbers = Array1::from_shape_fn(n, |i| f16::rounded_from_f64(i as f64 / 8.0 - 3.0));
        let others = Array1::from_shape_fn(n, |i| bf16::rounded_from_f64(i as f64 / 8.0 - 3.0));
        check!(f16, Host, &host(&numbers));
        check!(bf16, Host, &host(&others));
        check!(f16, Gpu, &GpuArray::from_ndarray(device, &numbers)?);
        let there = GpuArray::from_ndarray(device, &others)?;
        check!(bf16, Gpu, &there.view());
    }
    Ok(())
}

fn integers_beside_floats_have_their_type(device: &Device) -> Outcome {
    macro_rules! check {
        ($type:ident, $place:ty, $x:expr) => {{
            let x = $x;
            same! { $type, $place:
                x + 1, x + 1.0;
                x * -3, x * -3.0;
                x / 4, x / 4.0;
                x % 2, x % 2.0;
                2 - x, 2.0 - x;
                1 / x, 1.0 / x;
                3 * x * x - 2 * x + 1, 3.0 * x * x - 2.0 * x + 1.0;
                x.maximum(0), x.maximum(0.0);
                x.clamp(0, 1), x.clamp(0.0, 1.0);
                x.pow(2), x.pow(2.0);
                where_(x.gt(0), x, 0), where_(x.gt(0.0), x, 0.0);
                where_(x.gt(0), 1, x), where_(x.gt(0.0), 1.0, x);
            }
        }};
    }
    let (x, y): (Array1<f32>, Array1<f64>) = (array![0.5, -1.0, 3.0, f32::INFINITY], array![0.5, -1.0, 3.0, 1e300]);
    check!(f32, Host, &host(&x));
    check!(f64, Host, &host(&y));
    check!(f32, Gpu, &GpuArray::from_ndarray(device, &x)?);
    check!(f64, Gpu, &GpuArray::from_ndarray(device, &y)?);
    let z = GpuArray::from_ndarray(device, &array![Complex::new(1.0f32, 2.0), Complex::new(0.0, -1.0)])?;
    same! { Complex<f32>, Gpu:
        2 * &z + 1, 2.0 * &z + 1.0;
        1 / &z, 1.0 / &z;
        &z - 3, &z - 3.0;
        where_(z.ne(0), &z, 1), where_(z.ne(0.0), &z, Complex::new(1.0, 0.0));
    }
    // Of owned arrays.
    let owned = || GpuArray::from_ndarray(device, &x);
    same! { f32, Gpu:
        owned()? * 2, owned()? * 2.0;
        2 * owned()?, 2.0 * owned()?;
    }
    let w = complex(&owned()?, 1).eval()?;
    ensure_eq!(w.to_ndarray()?[1], Complex::new(-1.0, 1.0));
    Ok(())
}

fn floats_beside_integers_make_them_f64(device: &Device) -> Outcome {
    macro_rules! check {
        ($($type:ident)*) => {$({
            let values: Array1<$type> = array![0, 1, 2, 100, $type::MAX, $type::MIN];
            let (there, here) = (GpuArray::from_ndarray(device, &values)?, host(&values));
            macro_rules! lines {
                ($place:ty, $x:expr) => {{
                    let x = $x;
                    same! { f64, $place:
                        x * 0.5, x.cast::<f64>() * 0.5;
                        2.5 - x, 2.5 - x.cast::<f64>();
                        x / 4.0, x.cast::<f64>() / 4.0;
                        x.maximum(1.5), x.cast::<f64>().maximum(1.5);
                        where_(x.gt(1.5), x, 0.5), where_(x.cast::<f64>().gt(1.5), x.cast::<f64>(), 0.5);
                        where_(x.gt(1.5), -0.5, x), where_(x.cast::<f64>().gt(1.5), -0.5, x.cast::<f64>());
                    }
                }};
            }
            lines!(Gpu, &there);
            lines!(Host, &here);
            same! { f64, Gpu: there * 0.5, host_times_half(&values, device)?; }
        })*};
    }
    check! { i8 i16 i32 i64 u8 u16 u32 u64 }
    Ok(())
}

/// The products that the host computes, as an expression on a device.
fn host_times_half<T: Element>(values: &Array1<T>, device: &Device) -> gpu_array::Result<Expr<'static, f64, Ix1>> {
    let half = (host(values).cast::<f64>() * 0.5).eval()?;
    Ok(Gpu::owned_expr(GpuArray::from_ndarray(device, &half)?))
}

fn numbers_beside_masks_count_them(device: &Device) -> Outcome {
    let mask = array![true, false, true];
    let there = GpuArray::from_ndarray(device, &mask)?;
    ensure_eq!((&there + 1).eval()?.to_ndarray()?, array![2i64, 1, 2]);
    ensure_eq!((1 - &there).eval()?.to_ndarray()?, array![0i64, 1, 0]);
    ensure_eq!((0.5 * &there).eval()?.to_ndarray()?, array![0.5, 0.0, 0.5]);
    ensure_eq!((host(&mask) * 3).eval()?, array![3i64, 0, 3]);
    ensure_eq!((host(&mask) / 2).eval()?, array![0.5, 0.0, 0.5]);
    ensure_eq!((host(&mask).eq(1)).eval()?, mask);
    Ok(())
}

fn literals_are_branches_and_written_values(device: &Device) -> Outcome {
    let mask = array![true, false, true];
    let there = GpuArray::from_ndarray(device, &mask)?;
    ensure_eq!(where_(host(&mask), 1.5, 0).eval()?, array![1.5, 0.0, 1.5]);
    ensure_eq!(where_(&there, 1, -1).eval()?.to_ndarray()?, array![1, -1, 1]);
    // Branches of two types have their common type.
    let (x, y) = (array![1i32, 2, 3], array![0.5f32, 1.5, 2.5]);
    ensure_eq!(where_(host(&mask), host(&x), host(&y)).eval()?, array![1.0, 1.5, 3.0]);
    let (x, y) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    ensure_eq!(where_(&there, &x, &y).eval()?.to_ndarray()?, array![1.0, 1.5, 3.0]);

    let mut h = GpuArray::from_ndarray(device, &array![f16::ONE, f16::ZERO, f16::NEG_ONE])?;
    h.assign_where(&there, 0.1)?;
    h += 1;
    h *= 2.0;
    let tenth = f16::rounded_from_f64(0.1);
    let two = f16::rounded_from_f64(2.0);
    let doubled = (tenth + f16::ONE) * two;
    ensure_eq!(h.to_ndarray()?, array![doubled, two, doubled]);
    h.put(&GpuArray::from_vec(device, vec![1])?, 7)?;
    ensure_eq!(h.to_ndarray()?[1], f16::rounded_from_f64(7.0));
    let mut x = y.cast::<f64>().eval()?;
    x.put(&GpuArray::from_vec(device, vec![0])?, 4)?;
    x.assign_where(&!&there, -1)?;
    x -= 1;
    ensure_eq!(x.to_ndarray()?, array![3.0, -2.0, 1.5]);
    Ok(())
}

fn complex_scalars_make_real_numbers_complex(device: &Device) -> Outcome {
    type C64 = Complex<f32>;
    type C128 = Complex<f64>;
    macro_rules! check {
        ($complex:ty, $place:ty, $x:expr, $zero:expr) => {{
            let (x, i) = ($x, Complex::new(0.5, 2.0));
            same! { $complex, $place:
                x * i, complex(x, $zero) * <$complex>::new(0.5, 2.0);
                x + i, complex(x, $zero) + <$complex>::new(0.5, 2.0);
                x / i, complex(x, $zero) / <$complex>::new(0.5, 2.0);
                i - x, <$complex>::new(0.5, 2.0) - complex(x, $zero);
                i / x, <$complex>::new(0.5, 2.0) / complex(x, $zero);
            }
        }};
    }
    let (narrow, wide) = (array![1.5f32, -2.0, 3.0], array![1.5f64, -2.0, 3.0]);
    let (x, y) = (GpuArray::from_ndarray(device, &narrow)?, GpuArray::from_ndarray(device, &wide)?);
    check!(C64, Gpu, &x, 0.0f32);
    check!(C64, Host, &host(&narrow), 0.0f32);
    check!(C128, Gpu, &y, 0.0f64);
    check!(C128, Host, &host(&wide), 0.0f64);
    // Numbers of 16 bits give complex64, i32 and i64 complex128, as NumPy's arrays do.
    let halves = GpuArray::from_ndarray(device, &array![f16::from_f32(1.5), f16::from_f32(-2.0)])?;
    let got: GpuArray<C64, _> = (&halves * Complex::new(0.0, 1.0)).eval()?;
    ensure_eq!(got.to_ndarray()?, array![C64::new(0.0, 1.5), C64::new(0.0, -2.0)]);
    let whole = GpuArray::from_ndarray(device, &array![3i64, -4])?;
    let got: GpuArray<C128, _> = (C128::new(1.0, 1.0) * &whole).eval()?;
    ensure_eq!(got.to_ndarray()?, array![C128::new(3.0, 3.0), C128::new(-4.0, -4.0)]);
    // An array that is owned.
    let got: GpuArray<C64, _> = (x * Complex::new(0.0, 1.0)).eval()?;
    ensure_eq!(got.to_ndarray()?, array![C64::new(0.0, 1.5), C64::new(0.0, -2.0), C64::new(0.0, 3.0)]);
    Ok(())
}

/// Sums of a half unit and less that f32 does not hold, and the greatest integers.
fn literals_round_once(_: &Device) -> Outcome {
    let above = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
    let one = array![f16::ZERO];
    ensure_eq!((host(&one) + above).eval()?, array![f16::from_bits(0x3c01)]);
    ensure_eq!((above + host(&one)).eval()?, array![f16::from_bits(0x3c01)]);
    ensure_eq!((host(&one) + i32::MAX).eval()?, array![f16::INFINITY]);
    let zero = array![bf16::ZERO];
    ensure_eq!((host(&zero) + ((1 << 24) + (1 << 16) + 1)).eval()?[0].to_bits(), 0x4b81);
    ensure_eq!((host(&array![0f32]) + i32::MAX).eval()?, array![2f32.powi(31)]);
    Ok(())
}

/// Lines without any type: the elements are literals too.
fn the_type_of_a_literal_is_inferred(device: &Device) -> Outcome {
    let x = GpuArray::from_ndarray(device, &array![1.0, 2.0])?;
    ensure_eq!((&x + 1.0).eval()?.to_ndarray()?, array![2.0, 3.0]);
    ensure_eq!((&x * 2.0).sqrt().eval()?.to_ndarray()?, array![2f64.sqrt(), 2.0]);
    let counted = GpuArray::from_ndarray(device, &array![1.0, 2.0])?;
    ensure_eq!((&counted * 2).eval()?.to_ndarray()?, array![2.0, 4.0]);
    let i = GpuArray::from_ndarray(device, &array![1, 2])?;
    ensure_eq!((&i + 1).eval()?.to_ndarray()?, array![2, 3]);
    ensure_eq!((&i - 1).abs().eval()?.to_ndarray()?, array![0, 1]);
    let chosen = where_(x.gt(1.0), &x, 0.0).eval()?;
    ensure_eq!(where_(x.gt(1.0), 0.5, &chosen).eval()?.to_ndarray()?, array![0.0, 0.5]);
    // Of a type parameter a scalar is one of the same type.
    fn scaled<'a, T: gpu_array::Numeric>(
        x: impl IntoExpr<'a, Elem = T, Dim = Ix1, Backend = Gpu>,
        by: T,
    ) -> Expr<'a, T, Ix1> {
        let x = x.into_expr();
        where_(x.ne(T::ZERO), &x * by, T::ZERO)
    }
    ensure_eq!(scaled(&i, 5).eval()?.to_ndarray()?, array![5, 10]);
    Ok(())
}
