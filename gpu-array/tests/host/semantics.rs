//! The meaning of each operation, one by one. The values are those that NumPy 2.4 prints, where nothing else is said.

use std::fmt::Debug;

use gpu_array::{
    ArrayError, Element,
    expression::{
        Expr, Host, IntoExpr, Outside, arange, constant, diag, diff, diff_n, eye, eye_of, flip, host, index, linspace,
        linspace_without_end, outer, pad, repeat, roll, take, tile, tril, triu, where_,
    },
};
use ndarray::{Array2, ArrayView1, Axis, Dimension, Ix1, Ix2, array, aview1};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

fn of<T: Element>(values: &[T]) -> Expr<'_, T, Ix1, Host> {
    host(aview1(values))
}

/// With the sign of zeros, and NaN where it should be.
#[track_caller]
fn gives<'a, T: Element, D: Dimension>(got: impl IntoExpr<'a, Elem = T, Dim = D, Backend = Host>, want: &[T]) {
    let got: Vec<T> = got.into_expr().eval().unwrap().iter().copied().collect();
    assert_eq!(text(&got), text(want));
}

fn text<T: Debug>(values: &[T]) -> String {
    format!("{values:?}").replace("-NaN", "NaN")
}

#[test]
fn results_have_numpys_types() {
    // The test is that the compiler accepts them; the values are beside it.
    fn expect<V: Element>(value: Expr<'_, V, Ix1, Host>, want: &[V]) {
        gives(value, want);
    }
    expect::<i16>(of(&[200u8]) + of(&[-100i8]), &[100]);
    expect::<i32>(of(&[65535u16]) + of(&[-1i16]), &[65534]);
    expect::<i64>(of(&[u32::MAX]) + of(&[-1i32]), &[4_294_967_294]);
    expect::<f64>(of(&[u64::MAX]) + of(&[-1i64]), &[18446744073709551615.0]);
    expect::<f64>(of(&[16_777_217i32]) + of(&[0.0f32]), &[16777217.0]);
    expect::<f32>(of(&[1i16]) + of(&[0.5f32]), &[1.5]);
    expect::<f64>(of(&[1i64]) * of(&[0.5f32]), &[0.5]);
    expect::<i8>(of(&[true]) + of(&[-3i8]), &[-2]);
    expect::<f32>(of(&[true]) * of(&[2.5f32]), &[2.5]);
    expect::<f64>(of(&[3u64]) - of(&[0.5f32]), &[2.5]);
    expect::<i64>(of(&[3i8]) % of(&[2i64]), &[1]);
    // Quotients of integers, and functions of them, are f64; those of f32 are f32.
    expect::<f64>(of(&[1i8]) / of(&[3i8]), &[1.0 / 3.0]);
    expect::<f64>(of(&[1u8]) / of(&[3i64]), &[1.0 / 3.0]);
    expect::<f32>(of(&[1.0f32]) / of(&[3i16]), &[1.0 / 3.0]);
    expect::<f64>(of(&[1.0f32]) / of(&[4i32]), &[0.25]);
    expect::<f64>(of(&[2i32]).sqrt(), &[std::f64::consts::SQRT_2]);
    expect::<f32>(of(&[2f32]).sqrt(), &[std::f32::consts::SQRT_2]);
    expect::<f64>(1 / of(&[8i32]), &[0.125]);
    expect::<f64>(of(&[8i32]).recip(), &[0.125]);
    expect::<bool>(of(&[1i32]).lt(of(&[1.5f32])), &[true]);
    expect::<i8>(of(&[7i8]).floor_divide(of(&[2i8])), &[3]);
}

#[test]
fn division_of_integers() {
    let (a, b) = ([7i8, -7, 7, -7, 0, 5, -128, -128], [3i8, 3, -3, -3, 3, 0, -1, 0]);
    gives(of(&a).floor_divide(of(&b)), &[2, -3, -3, 2, 0, 0, -128, 0]);
    gives(of(&a) % of(&b), &[1, 2, -2, -1, 0, 0, 0, 0]);
    gives(of(&a).fmod(of(&b)), &[1, -1, 1, -1, 0, 0, 0, 0]);
    let third = 2.3333333333333335;
    gives(of(&a) / of(&b), &[third, -third, -third, third, 0.0, INF, 128.0, -INF]);
    let (u, v) = ([7u8, 0, 200, 255], [3u8, 0, 0, 2]);
    gives(of(&u).floor_divide(of(&v)), &[2, 0, 0, 127]);
    gives(of(&u) % of(&v), &[1, 0, 0, 1]);
    gives(of(&u) / of(&v), &[7.0 / 3.0, NAN, INF, 127.5]);
}

#[test]
fn division_of_floats() {
    let a = [7.5, -7.5, 7.5, -7.5, 0.0, -0.0, 1.0, -1.0, 0.0, INF, 1.0, -1.0, NAN, 5.0];
    let b = [2.0, 2.0, -2.0, -2.0, 3.0, 3.0, 0.0, 0.0, 0.0, 2.0, INF, INF, 1.0, -INF];
    let floors = [3.0, -4.0, -4.0, 3.0, 0.0, -0.0, INF, -INF, NAN, NAN, 0.0, -1.0, NAN, -1.0];
    gives(of(&a).floor_divide(of(&b)), &floors);
    gives(of(&a) % of(&b), &[1.5, 0.5, -0.5, -1.5, 0.0, 0.0, NAN, NAN, NAN, NAN, 1.0, INF, NAN, -INF]);
    gives(of(&a).fmod(of(&b)), &[1.5, -1.5, 1.5, -1.5, 0.0, -0.0, NAN, NAN, NAN, NAN, 1.0, -1.0, NAN, 5.0]);
    gives(of(&a) / of(&b), &[3.75, -3.75, -3.75, 3.75, 0.0, -0.0, INF, -INF, NAN, INF, 0.0, -0.0, NAN, -0.0]);
}

#[test]
fn arithmetic_of_integers_wraps() {
    let (u, v) = ([7u8, 0, 200, 255], [3u8, 0, 0, 2]);
    gives(of(&u) - 10 * of(&v), &[233, 0, 200, 235]);
    gives(-of(&u), &[249, 0, 56, 1]);
    gives(!of(&u), &[248, 255, 55, 0]);
    gives(of(&[-128i8, -1, 5]).abs(), &[-128, 1, 5]);
    gives(of(&[i64::MAX]) + 1, &[i64::MIN]);
    gives(of(&[i64::MAX]) * 2, &[-2]);
    gives(of(&[-3i32, 0, 9]).sign(), &[-1, 0, 1]);
}

#[test]
fn shifts() {
    let i = [1i8, -1, 64, -64, 127];
    gives(of(&i) << 1, &[2, -2, -128, -128, -2]);
    gives(of(&i) << 7, &[-128, -128, 0, 0, -128]);
    gives(of(&i) << 8, &[0; 5]);
    gives(of(&i) >> 1, &[0, -1, 32, -32, 63]);
    gives(of(&[1u8, 255]) << 9, &[0, 0]);
    gives(of(&[1u8, 255]) >> 8, &[0, 0]);
    gives(1i32 << of(&[0, 5, 31, 32]), &[1, 32, i32::MIN, 0]);
    // Ours alone: by a negative number 0 as well; to the right by all bits 0 for negative numbers too (NumPy: -1).
    gives(of(&i) << -1, &[0; 5]);
    gives(of(&i) >> 8, &[0; 5]);
}

#[test]
fn bits_and_logic() {
    gives(of(&[12i32, -1]) & of(&[10, 7]), &[8, 7]);
    gives(of(&[12i32, -1]) | 3, &[15, -1]);
    gives(5u8 ^ of(&[1u8, 255]), &[4, 250]);
    let (a, b) = ([true, true, false, false], [true, false, true, false]);
    gives(of(&a) & of(&b), &[true, false, false, false]);
    gives(of(&a) | of(&b), &[true, true, true, false]);
    gives(of(&a) ^ of(&b), &[false, true, true, false]);
    gives(!of(&a), &[false, false, true, true]);
    gives(of(&a).ne(of(&b)), &[false, true, true, false]);
}

#[test]
fn powers() {
    gives(of(&[2, 3, -2, 10]).pow(of(&[10, 3, 31, 10])), &[1024, 27, i32::MIN, 1_410_065_408]);
    gives(of(&[2i8, 3, -3]).pow(of(&[7i8, 5, 5])), &[-128, -13, 13]);
    gives(
        of(&[2.0, -8.0, 0.0, 4.0, -2.0]).pow(of(&[0.5, 1.0 / 3.0, 0.0, -0.5, 3.0])),
        &[2f64.sqrt(), NAN, 1.0, 0.5, -8.0],
    );
    // NumPy refuses negative powers of integers.
    gives(of(&[0, 1, -1, -1, 5, i32::MIN]).pow(of(&[-1, -7, -2, -3, -1, -1])), &[0, 1, 1, -1, 0, 0]);
    gives(of(&[2, -3]).powi(5), &[32, -243]);
    gives(of(&[2.0, -0.5]).powi(-3), &[0.125, -8.0]);
    gives(of(&[NAN, INF, 0.0]).powi(0), &[1.0; 3]);
    gives(of(&[u64::MAX, 1, 0, 2]).powi(-1), &[0, 1, 0, 0]);
    gives(of(&[u64::MAX]).powi(2), &[1]);
    gives(of(&[-1i64, -1, 2]).powi(-3), &[-1, -1, 0]);
    gives(of(&[3.0f32]).square(), &[9.0]);
    gives(of(&[1.0f64]).powi(i32::MIN), &[1.0]);
}

#[test]
fn rounding() {
    gives(of(&[0.5, 1.5, 2.5, -0.5, -1.5, 2.4999, -2.6]).round(), &[0.0, 2.0, 2.0, -0.0, -2.0, 2.0, -3.0]);
    let x = [1.5, -1.5, -0.0, 0.0, NAN, INF, -0.3];
    gives(of(&x).floor(), &[1.0, -2.0, -0.0, 0.0, NAN, INF, -1.0]);
    gives(of(&x).ceil(), &[2.0, -1.0, -0.0, 0.0, NAN, INF, -0.0]);
    gives(of(&x).trunc(), &[1.0, -1.0, -0.0, 0.0, NAN, INF, -0.0]);
    gives(of(&x).sign(), &[1.0, -1.0, 0.0, 0.0, NAN, 1.0, -1.0]);
    gives(of(&[7u8, 255]).round(), &[7, 255]);
    gives(of(&x).is_nan(), &[false, false, false, false, true, false, false]);
    gives(of(&x).is_finite(), &[true, true, true, true, false, false, true]);
}

#[test]
fn nan_in_comparisons_and_extremes() {
    let (x, y) = ([1.0, NAN, 2.0, NAN, 3.0], [2.0, 1.0, NAN, NAN, 3.0]);
    gives(of(&x).minimum(of(&y)), &[1.0, NAN, NAN, NAN, 3.0]);
    gives(of(&x).maximum(of(&y)), &[2.0, NAN, NAN, NAN, 3.0]);
    gives(of(&x).fmin(of(&y)), &[1.0, 1.0, 2.0, NAN, 3.0]);
    gives(of(&x).fmax(of(&y)), &[2.0, 1.0, 2.0, NAN, 3.0]);
    gives(of(&x).eq(of(&y)), &[false, false, false, false, true]);
    gives(of(&x).ne(of(&y)), &[true, true, true, true, false]);
    gives(of(&x).lt(of(&y)), &[true, false, false, false, false]);
    gives(of(&x).le(of(&y)), &[true, false, false, false, true]);
    gives(of(&x).gt(of(&y)), &[false; 5]);
    gives(of(&x).ge(of(&y)), &[false, false, false, false, true]);
    gives(of(&[-0.0]).eq(0.0), &[true]);
    gives(of(&[5u64, u64::MAX]).gt(5), &[false, true]);
}

#[test]
fn clamp_where_and_fma() {
    gives(of(&[-5.0, 0.5, 5.0, NAN]).clamp(0.0, 1.0), &[0.0, 0.5, 1.0, NAN]);
    gives(of(&[1, 5, 9]).clamp(4, 6), &[4, 5, 6]);
    gives(of(&[1, 5, 9]).clamp(6, 4), &[4, 4, 4]);
    gives(of(&[1, 5, 9]).clamp(of(&[0, 6, 0]), of(&[9, 9, 8])), &[1, 6, 8]);
    let mask = [true, false, true];
    gives(where_(of(&mask), of(&[1, 2, 3]), 0), &[1, 0, 3]);
    gives(where_(of(&mask), 1.5, of(&[NAN, 2.0, NAN])), &[1.5, 2.0, 1.5]);
    gives(where_(of(&mask), false, true), &[false, true, false]);
    // 2^-60 is lost where the product is rounded first.
    let x = 1.0 + 2f64.powi(-30);
    gives(of(&[x]).fma(x, -1.0 - 2f64.powi(-29)), &[2f64.powi(-60)]);
    gives(of(&[x]) * x - (1.0 + 2f64.powi(-29)), &[0.0]);
}

#[test]
fn casts() {
    gives(of(&[300, -1, 128, -129]).cast::<i8>(), &[44, -1, -128, 127]);
    gives(of(&[-1, 300]).cast::<u8>(), &[255, 44]);
    gives(of(&[3.9f32, -3.9, 2147483520.0]).cast::<i32>(), &[3, -3, 2147483520]);
    gives(of(&[0.0, -0.0, NAN, 2.0]).cast::<bool>(), &[false, false, true, true]);
    gives(of(&[0, 256, -1]).cast::<bool>(), &[false, true, true]);
    gives(of(&[true, false]).cast::<f32>(), &[1.0, 0.0]);
    gives(
        of(&[16777217i64, 16777219, -9007199254740993]).cast::<f32>(),
        &[16777216.0, 16777220.0, -9007199254740992.0],
    );
    gives(of(&[u64::MAX]).cast::<f32>(), &[18446744073709551616.0]);
    gives(of(&[0.1]).cast::<f32>(), &[0.1f32]);
    // Beyond the range NumPy's values depend on the machine; ours saturate.
    gives(of(&[300.7, -1e20, NAN, INF]).cast::<i8>(), &[127, -128, 0, 127]);
    gives(of(&[-1.5, 1e20, NAN, -0.9]).cast::<u64>(), &[0, u64::MAX, 0, 0]);
}

#[test]
fn functions_of_two() {
    let pi = std::f64::consts::PI;
    gives(of(&[0.0, -0.0, 0.0, -0.0, 1.0]).atan2(of(&[1.0, 1.0, -1.0, -1.0, 0.0])), &[0.0, -0.0, pi, -pi, pi / 2.0]);
    gives(of(&[INF, 3.0]).hypot(of(&[NAN, 4.0])), &[INF, 5.0]);
    let large: ndarray::Array1<f64> = of(&[3e200]).hypot(4e200).eval().unwrap();
    assert!((large[0] / 5e200 - 1.0).abs() < 1e-15);
}

#[test]
fn shapes_are_broadcast() {
    let (row, column) = (array![1.0, 2.0], array![[1.0], [10.0]]);
    let table: Array2<f64> = (host(&row) * host(&column)).eval().unwrap();
    assert_eq!(table, array![[1.0, 2.0], [10.0, 20.0]]);
    assert_eq!((host(&column) - constant(1.0)).shape().unwrap(), [2, 1]);
    assert_eq!(host(&row).broadcast((3, 2)).eval().unwrap(), array![[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]);
    let none = Array2::<f64>::zeros((0, 1));
    assert_eq!((host(&none) + host(&row)).eval().unwrap().shape(), [0, 2]);
    assert_eq!(constant::<i32, Host>(7).eval().unwrap(), ndarray::arr0(7));
}

/// 0 to 11 in rows of 4.
fn table() -> Array2<i64> {
    Array2::from_shape_fn((3, 4), |(i, j)| (i * 4 + j) as i64)
}

#[test]
fn elements_are_taken() {
    let (x, i) = (of(&[10, 20, 30]), [-4i64, -1, 0, 2, 5]);
    gives(take(&x, of(&i), Outside::Wrap), &[30, 30, 10, 30, 30]);
    gives(take(&x, of(&i), Outside::Clip), &[10, 10, 10, 30, 30]);
    gives(take(&x, of(&i), Outside::Value(-1)), &[-1, -1, 10, 30, -1]);
    // Any integer type; an index that no i64 holds is behind the end.
    gives(take(&x, of(&[-4i8, -1, 5]), Outside::Clip), &[10, 10, 30]);
    gives(take(&x, of(&[0u8, 2, 255]), Outside::Value(-1)), &[10, 30, -1]);
    gives(take(&x, of(&[2u64, u64::MAX, 1 << 63]), Outside::Clip), &[30, 30, 30]);
    gives(take(&x, of(&[2u64, u64::MAX, 1 << 63]), Outside::Value(-1)), &[30, -1, -1]);
    let none: [i32; 0] = [];
    gives(take(of(&none), of(&i), Outside::Wrap), &[0; 5]);
    gives(take(of(&none), of(&i), Outside::Value(3)), &[3; 5]);
    let m = table();
    gives(roll(host(&m), 1, Axis(0)), &[8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7]);
    gives(roll(host(&m), -5, Axis(1)), &[1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8]);
    gives(roll(host(&m), i64::MIN, Axis(1)), &(0..12).collect::<Vec<_>>());
    gives(flip(host(&m), Axis(1)), &[3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8]);
    let corner = m.slice(ndarray::s![..2, ..2]);
    gives(tile(host(corner), 2, Axis(1)), &[0, 1, 0, 1, 4, 5, 4, 5]);
    gives(repeat(host(corner), 2, Axis(0)), &[0, 1, 0, 1, 4, 5, 4, 5]);
    gives(repeat(host(corner), 2, Axis(1)), &[0, 0, 1, 1, 4, 4, 5, 5]);
    gives(pad(host(corner), 1, 2, Axis(1), Outside::Value(9)), &[9, 0, 1, 9, 9, 9, 4, 5, 9, 9]);
    gives(pad(host(corner), 1, 1, Axis(0), Outside::Clip), &[0, 1, 0, 1, 4, 5, 4, 5]);
    gives(pad(of(&[1, 2, 3]), 4, 4, Axis(0), Outside::Reflect), &[1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3]);
    gives(pad(of(&[7]), 1, 2, Axis(0), Outside::Reflect), &[7; 4]);
    gives(pad(of(&none), 1, 1, Axis(0), Outside::Reflect), &[0; 2]);
    gives(pad(host(m.slice(ndarray::s![..1, ..3])), 2, 2, Axis(1), Outside::Wrap), &[1, 2, 0, 1, 2, 0, 1]);
}

#[test]
fn differences_and_triangles() {
    let m = table();
    let squares = &m * &m;
    gives(diff(host(&squares), Axis(0)), &[16, 24, 32, 40, 48, 56, 64, 72]);
    gives(diff(of(&[5u8, 3, 200]), Axis(0)), &[254, 197]);
    gives(diff(of(&[1.0]), Axis(0)), &[]);
    gives(diff_n(of(&[5u8, 3, 200, 7]), 3, Axis(0)), &[179]);
    gives(diff_n(of(&[5u8, 3]), 0, Axis(0)), &[5, 3]);
    gives(diff_n(of(&[5u8, 3]), 2, Axis(0)), &[]);
    assert!(matches!(
        diff_n(of(&[0u8; 200]), 91, Axis(0)).eval(),
        Err(ArrayError::TooManyOperations { got: 4186, .. })
    ));
    gives(tril(host(&m), 0), &[0, 0, 0, 0, 4, 5, 0, 0, 8, 9, 10, 0]);
    gives(triu(host(&m), 1), &[0, 1, 2, 3, 0, 0, 6, 7, 0, 0, 0, 11]);
    gives(tril(host(&m), -1), &[0, 0, 0, 0, 4, 0, 0, 0, 8, 9, 0, 0]);
    gives(eye::<u8, Host>(3), &[1, 0, 0, 0, 1, 0, 0, 0, 1]);
    let stack = [[[1.0, f64::NAN], [3.0, 4.0]], [[5.0, f64::INFINITY], [7.0, 8.0]]];
    gives(tril(host(&ndarray::arr3(&stack)), 0), &[1.0, 0.0, 3.0, 4.0, 5.0, 0.0, 7.0, 8.0]);
    gives(triu(host(&Array2::<u8>::zeros((0, 3))), i64::MIN), &[]);
}

#[test]
fn diagonals_and_outer_products() {
    gives(eye_of::<i32, Host>(3, 2, -1), &[0, 0, 1, 0, 0, 1]);
    gives(eye_of::<f32, Host>(1, 2, 2), &[0.0, 0.0]);
    gives(diag(of(&[1u8, 2]), 0), &[1, 0, 0, 2]);
    gives(diag(of(&[1u8, 2]), 1), &[0, 1, 0, 0, 0, 2, 0, 0, 0]);
    gives(diag(of(&[f64::NAN]), -1).is_nan(), &[false, false, true, false]);
    gives(diag(of::<f64>(&[]), 1), &[0.0]);
    gives(diag(of::<f64>(&[]), 0), &[]);
    assert!(matches!(diag(of(&[1u8]), i64::MIN).eval(), Err(ArrayError::TooLarge { .. })));
    assert!(matches!(diag(of(&[1.0]) + 1.0, 0).eval(), Err(ArrayError::NotAnArray { op: "diag", .. })));
    gives(outer(of(&[1i32, -2]), of(&[0.5f32, 2.0]) + 1.0), &[1.5f64, 3.0, -3.0, -6.0]);
    let m = table();
    gives(outer(host(m.slice(ndarray::s![..;-1, 1])), host(m.slice(ndarray::s![0, ..2]))), &[0, 9, 0, 5, 0, 1]);
    gives(outer(of::<f64>(&[]), of(&[1.0])), &[]);
    assert!(matches!(outer(of(&[1.0]) * 2.0, of(&[1.0])).eval(), Err(ArrayError::NotAnArray { op: "outer", .. })));
}

#[test]
fn ranges() -> Result<(), ArrayError> {
    gives(linspace::<f64, Host>(0.0, 1.0, 5), &[0.0, 0.25, 0.5, 0.75, 1.0]);
    gives(linspace_without_end::<f64, Host>(0.0, 1.0, 4), &[0.0, 0.25, 0.5, 0.75]);
    gives(linspace_without_end::<f32, Host>(1.0, 0.0, 1), &[1.0]);
    gives(linspace_without_end::<f64, Host>(0.0, 1.0, 0), &[]);
    gives(linspace::<f64, Host>(0.0, 1.0, 1), &[0.0]);
    gives(linspace::<f64, Host>(0.0, 1.0, 0), &[]);
    gives(linspace::<f32, Host>(0.1, 0.7, 4), &[0.1, 0.3, 0.5, 0.7]);
    gives(arange::<f64, Host>(0.0, 1.0, 0.3)?, &[0.0, 0.3, 0.6, 0.8999999999999999]);
    gives(arange::<i32, Host>(5, -5, -3)?, &[5, 2, -1, -4]);
    assert!(matches!(arange::<i32, Host>(5, -5, 0), Err(ArrayError::Range { .. })));
    gives(index::<Ix2, Host>(Axis(1)).broadcast((2, 3)), &[0, 1, 2, 0, 1, 2]);
    gives(
        index::<Ix2, Host>(Axis(0)) * 10 + index::<Ix2, Host>(Axis(1)) + host(&Array2::<i64>::zeros((2, 2))),
        &[0, 1, 10, 11],
    );
    Ok(())
}

#[test]
fn views_of_any_layout_are_read() {
    let m = table();
    let view: ArrayView1<'_, i64> = m.slice(ndarray::s![..;-1, 1]);
    gives(host(view) * 2, &[18, 10, 2]);
    gives(host(m.t()) + 0, &[0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
}
