//! Expressions on a device: heads and tails, several outputs, in place, and values that are made rather than read, against the CPU.

use gpu_array::{
    ArrayMut, Element, GpuArray, Result,
    expression::{
        Backend, Expr, Gpu, Host, Outside, constant, diag, diff, eval_all, eye, eye_of, flip, gather, host, index,
        linspace, outer, pad, precompile, repeat, roll, take, tile, tril, triu, where_,
    },
};
use gpu_driver::{Device, DevicePod};
use ndarray::{Array1, Array2, Array3, ArrayD, Axis, Dimension, Ix1, Ix2, IxDyn, s};
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

use crate::random::Any;

pub const TESTS: &[Test<Device>] = tests![
    every_misalignment_writes_its_places_and_no_other,
    long_rows_of_every_misalignment,
    integers_of_64_bits_become_floats,
    several_values_come_from_one_kernel,
    signs_of_integers,
    arrays_are_updated_in_place,
    operators_assign,
    views_of_negative_strides_are_updated,
    made_arrays_are_those_of_the_host,
    orders_of_results,
    one_function_runs_on_both_places,
    masks_choose_the_elements_that_are_written,
];

/// A value at the places of a mask, of an array at that place.
fn masked<P: Backend>(
    mut x: P::Owned<f32, Ix2>,
    mask: &Expr<'_, bool, Ix2, P>,
    value: &Expr<'_, f32, Ix1, P>,
) -> Result<P::Owned<f32, Ix2>> {
    x.assign_where(mask, value)?;
    Ok(x)
}

fn masks_choose_the_elements_that_are_written(device: &Device) -> Outcome {
    let of = |(i, j): (usize, usize)| if (i + j) % 5 == 0 { f32::NAN } else { (i * 100 + j) as f32 };
    for shape in [(1, 1), (3, 7), (33, 65), (0, 4)] {
        let (h, row) = (Array2::from_shape_fn(shape, of), Array1::from_shape_fn(shape.1, |j| -(j as f32)));
        let mask = h.mapv(|x| x.is_nan() || x as i32 % 3 == 0);
        let want = Array2::from_shape_fn(shape, |(i, j)| if mask[(i, j)] { row[j] } else { h[(i, j)] });
        let text = |x: &Array2<f32>| format!("{:?}", x.mapv(f32::to_bits));
        let (x, m, r) = (
            GpuArray::from_ndarray(device, &h)?,
            GpuArray::from_ndarray(device, &mask)?,
            GpuArray::from_ndarray(device, &row)?,
        );
        let got = masked::<Gpu>(x.try_clone()?, &Gpu::expr(&m), &Gpu::expr(&r))?.to_ndarray()?;
        ensure_eq!(text(&got), text(&want));
        ensure_eq!(text(&masked::<Host>(h.clone(), &host(&mask), &host(&row))?), text(&want));
        // A scalar, and part of an array: what is beside it stays.
        let mut y = GpuArray::full(device, (shape.0 * 2, shape.1 + 1), 9f32)?;
        y.slice_mut(s![..;2, 1..])?.assign_where(&m, 5.0)?;
        let mut want = Array2::from_elem((shape.0 * 2, shape.1 + 1), 9f32);
        want.slice_mut(s![..;2, 1..]).zip_mut_with(&mask, |y, &mask| *y = if mask { 5.0 } else { *y });
        ensure_eq!(y.to_ndarray()?, want);
    }
    // A row of masks is for all rows; a mask that does not fit is an error, and changes nothing.
    let mut x = GpuArray::full(device, (2, 3), 1i64)?;
    let (ends, four) = (GpuArray::from_vec(device, [true, false, true])?, GpuArray::full(device, 4, true)?);
    x.assign_where(&ends, 0)?;
    ensure!(x.assign_where(&four, 7).is_err() && x.assign_where(&ends, &GpuArray::full(device, 4, 7i64)?).is_err());
    ensure!(x.assign_where(constant::<bool, Gpu>(true).broadcast((2, 2, 3)), 7).is_err());
    ensure_eq!(x.to_ndarray()?, ndarray::array![[0, 1, 0], [0, 1, 0]]);
    Ok(())
}

fn every_misalignment_writes_its_places_and_no_other(device: &Device) -> Outcome {
    fn check<T>(device: &Device, of: fn(usize) -> T, old: T) -> Outcome
    where
        T: gpu_array::Number<Storage = T> + DevicePod,
    {
        let a = Array1::from_shape_fn(160, of);
        let b = Array1::from_shape_fn(160, |i| of(i * 7 % 31));
        let (x, y) = (GpuArray::from_ndarray(device, &a)?, GpuArray::from_ndarray(device, &b)?);
        for out in 0..17 {
            for read in [0, 1, 3, out] {
                for len in [0, 1, 2, 5, 15, 16, 17, 33, 100] {
                    let mut z = GpuArray::full(device, 160, old)?;
                    let value = x.slice(s![read..read + len])? + y.slice(s![out..out + len])?;
                    z.slice_mut(s![out..out + len])?.assign(value)?;
                    let mut want = Array1::from_elem(160, old);
                    let sum = host(a.slice(s![read..read + len])) + host(b.slice(s![out..out + len]));
                    want.slice_mut(s![out..out + len]).assign(&sum.eval()?);
                    ensure!(z.to_ndarray()? == want, "{} from {read} to {out}, {len} elements", T::DTYPE);
                }
            }
        }
        Ok(())
    }
    check(device, |i| i as u8, 201)?;
    check(device, |i| i as u16, 201)?;
    check(device, |i| i as f32 / 3.0, -1.0)?;
    check(device, |i| i as f64 / 3.0, -1.0)
}

/// Rows of 64 packs and more with a row, a column and an index: in whole packs where all of them are aligned, else not.
fn long_rows_of_every_misalignment(device: &Device) -> Outcome {
    fn check<T>(device: &Device, columns: usize, of: fn(usize) -> T, old: T) -> Outcome
    where
        T: gpu_array::Number<Storage = T> + DevicePod,
    {
        let pack = 16 / size_of::<T>();
        let a = Array2::from_shape_fn((3, columns + pack), |(i, j)| of(i * 5 + j * 3));
        let b = Array1::from_shape_fn(columns + pack, |j| of(j * 7 % 31));
        let c = Array2::from_shape_fn((3, 1), |(i, _)| of(i));
        let (x, y) = (GpuArray::from_ndarray(device, &a)?, GpuArray::from_ndarray(device, &b)?);
        let z = GpuArray::from_ndarray(device, &c)?;
        // Where matrix, row and result begin, and how much longer the result's rows are.
        for [matrix, row, to, longer] in
            [[0, 0, 0, 0], [pack, 0, pack, pack], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
        {
            let (of_x, of_y) = (s![.., matrix..matrix + columns], s![row..row + columns]);
            let sum = x.slice(of_x)? + y.slice(of_y)?;
            let value = where_(index::<Ix2, _>(Axis(1)).gt(7), sum, &z);
            let mut got = GpuArray::full(device, (3, columns + pack + longer), old)?;
            got.slice_mut(s![.., to..to + columns])?.assign(value)?;
            let sum = host(a.slice(of_x)) + host(b.slice(of_y));
            let value = where_(index::<Ix2, _>(Axis(1)).gt(7), sum, host(&c));
            let mut want = Array2::from_elem((3, columns + pack + longer), old);
            want.slice_mut(s![.., to..to + columns]).assign(&value.eval()?);
            ensure!(got.to_ndarray()? == want, "{} from {matrix} and {row} to {to}, {longer}", T::DTYPE);
        }
        Ok(())
    }
    check(device, 1024 + 16, |i| i as u8, 201)?;
    check(device, 256 + 4, |i| i as f32 / 3.0, -1.0)?;
    check(device, 128 + 2, |i| i as f64 / 3.0, -1.0)
}

/// Around every power of 2, halfway between two floats and next to that, and random ones of every length, as Rust rounds them.
fn integers_of_64_bits_become_floats(device: &Device) -> Outcome {
    let mut rng = testkit::Rng(5);
    let mut x = vec![0, i64::MIN, i64::MAX];
    for bit in 0..63 {
        let power = 1i64 << bit;
        let half = power >> 53.min(bit);
        for near in [power - 1, power, power.wrapping_add(1), power | half, (power | half) - 1, (power | half) + 1] {
            x.extend([near, near.wrapping_neg()]);
        }
        x.extend((0..40).map(|_| rng.next_u64() as i64 >> bit));
    }
    let y = GpuArray::from_vec(device, x.clone())?;
    let got = as_expr(&y).cast::<f64>().eval()?.to_ndarray()?;
    let wrong = x.iter().zip(&got).find(|&(&x, got)| (x as f64).to_bits() != got.to_bits());
    ensure!(wrong.is_none(), "{wrong:?}");
    Ok(())
}

type Three<P, D> = (<P as Backend>::Owned<f64, D>, <P as Backend>::Owned<bool, D>, <P as Backend>::Owned<u8, D>);

/// Values of three types that share a part.
fn three<P: Backend, D>(x: &Expr<'_, f32, D, P>, y: &Expr<'_, u8, D, P>) -> Result<Three<P, D>>
where
    D: Dimension + ndarray::DimMax<D, Output = D>,
{
    let shared = x.square();
    let a = (&shared + y).cast::<f64>() * 0.5;
    eval_all((a, shared.gt(100.0), y + y))
}

fn several_values_come_from_one_kernel(device: &Device) -> Outcome {
    let shape = [67, 130];
    let x = Array2::from_shape_fn(shape, |(i, j)| (i as f32 - j as f32) / 3.0);
    let y = Array2::from_shape_fn(shape, |(i, j)| (i * j) as u8);
    let (dx, dy) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    // Of the linear loop, the strided one, the tiled one.
    for (rows, columns) in [(0..67, 0..130), (3..60, 1..100), (0..64, 0..64)] {
        let slice = s![rows, columns];
        let (hx, hy) = (x.slice(slice), y.slice(slice));
        let want = three::<Host, Ix2>(&host(hx), &host(hy))?;
        let (vx, vy) = (dx.slice(slice)?, dy.slice(slice)?);
        let got = three::<Gpu, Ix2>(&as_expr(vx), &as_expr(vy))?;
        ensure_eq!((got.0.to_ndarray()?, got.1.to_ndarray()?, got.2.to_ndarray()?), want);
    }
    let (square, square_t) = (dx.slice(s![..64, ..64])?, dy.slice(s![..64, ..64])?.t());
    let got = three::<Gpu, Ix2>(&as_expr(square), &as_expr(square_t))?;
    let want = three::<Host, Ix2>(&host(x.slice(s![..64, ..64])), &host(y.slice(s![..64, ..64]).reversed_axes()))?;
    ensure_eq!((got.0.to_ndarray()?, got.1.to_ndarray()?, got.2.to_ndarray()?), want);
    let two = eval_all((&dx, dx.lt(0.0)))?;
    ensure_eq!((two.0.to_ndarray()?, two.1.to_ndarray()?), (x.clone(), x.mapv(|x| x < 0.0)));
    let six = eval_all((&dx, -&dx, &dx + 1.0, &dx * 2.0, dx.abs(), dx.cast::<i64>()))?;
    ensure_eq!(six.5.to_ndarray()?, x.mapv(|x| x as i64));
    ensure_eq!((six.1.to_ndarray()?, six.4.to_ndarray()?), (x.mapv(|x| -x), x.mapv(f32::abs)));
    Ok(())
}

fn as_expr<'a, E: gpu_array::expression::IntoExpr<'a>>(x: E) -> Expr<'a, E::Elem, E::Dim, E::Backend> {
    x.into_expr()
}

fn signs_of_integers(device: &Device) -> Outcome {
    fn check<T: gpu_array::Number<Storage = T> + DevicePod>(device: &Device, values: [T; 4]) -> Outcome {
        let x = Array1::from(values.to_vec());
        let got = GpuArray::from_ndarray(device, &x)?.sign().eval()?.to_ndarray()?;
        ensure_eq!(got, host(&x).sign().eval()?);
        Ok(())
    }
    check(device, [-3i8, 0, 9, i8::MIN])?;
    check(device, [-3i16, 0, 9, i16::MIN])?;
    check(device, [-3i32, 0, 9, i32::MIN])?;
    check(device, [-3i64, 0, 9, i64::MIN])?;
    check(device, [3u32, 0, 9, u32::MAX])
}

fn arrays_are_updated_in_place(device: &Device) -> Outcome {
    let x = Array2::from_shape_fn((33, 70), |(i, j)| i as f32 - j as f32 / 4.0);
    let v = Array1::from_iter((0..70).map(|j| j as f32));
    let (mut dx, dv) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &v)?);
    dx.update(|x| where_(x.lt(0.0), &dv * 2.0, x + 1.0))?;
    let mut want = x.clone();
    for ((_, j), x) in want.indexed_iter_mut() {
        *x = if *x < 0.0 { v[j] * 2.0 } else { *x + 1.0 };
    }
    ensure_eq!(dx.to_ndarray()?, want);
    // A function that does not read the array.
    dx.update(|_| &dv + 0.0)?;
    ensure_eq!(dx.to_ndarray()?, v.broadcast((33, 70)).ok_or("shape")?);
    dx.assign(dv.slice(s![3])?)?;
    ensure!(dx.to_ndarray()?.iter().all(|&x| x == 3.0));
    // Twice the same array, at once.
    dx.update(|x| &x * &x + x)?;
    ensure!(dx.to_ndarray()?.iter().all(|&x| x == 12.0));
    Ok(())
}

fn operators_assign(device: &Device) -> Outcome {
    macro_rules! each {
        ($x:expr, $y:expr, $scalar:expr; $($op:tt $plain:tt)*) => {$(
            let mut got = GpuArray::from_ndarray(device, &$x)?;
            let y = GpuArray::from_ndarray(device, &$y)?;
            got $op &y;
            got $op $scalar;
            got $op &y $plain $scalar;
            let want = (host(&$x) $plain host(&$y)).eval()?;
            let want = (host(&want) $plain $scalar).eval()?;
            let want = (host(&want) $plain (host(&$y) $plain $scalar)).eval()?;
            ensure_eq!(got.to_ndarray()?, want);
        )*};
    }
    let x = Array2::from_shape_fn((5, 7), |(i, j)| i as f32 * 3.5 - j as f32);
    let y = Array1::from_iter((1..8).map(|i| i as f32 * 0.7));
    each!(x, y, 3.0; += + -= - *= * /= / %= %);
    let x = Array2::from_shape_fn((5, 7), |(i, j)| i as i64 * 300 - j as i64 * 7);
    let y = Array1::from_iter(1..8i64);
    each!(x, y, 2; += + -= - *= * %= % &= & |= | ^= ^ <<= << >>= >>);
    let mask = Array1::from_iter((0..40).map(|i| i % 3 == 0));
    let other = Array1::from_iter((0..40).map(|i| i % 2 == 0));
    each!(mask, other, true; &= & |= | ^= ^);
    // The left type stays; a smaller one is brought to it.
    let mut wide = GpuArray::from_ndarray(device, &x)?;
    wide += &GpuArray::from_ndarray(device, &Array1::from_iter(0..7u8))?;
    ensure_eq!(wide.to_ndarray()?, &x + &Array1::from_iter(0..7i64));
    Ok(())
}

fn views_of_negative_strides_are_updated(device: &Device) -> Outcome {
    let mut x = Array2::from_shape_fn((20, 33), |(i, j)| (i * 100 + j) as i64);
    let mut dx = GpuArray::from_ndarray(device, &x)?;
    let add = Array2::from_shape_fn((33, 7), |(i, j)| (i * 7 + j) as i64);
    let dadd = GpuArray::from_ndarray(device, &add)?;
    let slice = s![..;-3, ..;-1];
    let mut turned = dx.slice_mut(slice)?;
    let turned = turned.t_mut();
    // A view that can be written to is an operand on either side.
    ensure_eq!((&turned * 3 - 2 * &turned).eval()?.to_ndarray()?, turned.to_ndarray()?);
    turned.update(|x| x * 2 + &dadd)?;
    let mut view = x.slice_mut(slice).reversed_axes();
    for (place, x) in view.indexed_iter_mut() {
        *x = *x * 2 + add[place];
    }
    ensure_eq!(dx.to_ndarray()?, x);
    Ok(())
}

/// An expression of any rank, as one of dynamic rank.
fn any<'a, T: Element, D: Dimension, P: Backend>(x: Expr<'a, T, D, P>) -> Result<Any<'a, P>>
where
    Any<'a, P>: From<Expr<'a, T, IxDyn, P>>,
{
    let shape = x.shape()?;
    Ok(x.broadcast(IxDyn(&shape)).into())
}

fn made<'a, P: Backend>(
    x: &'a P::Owned<f32, ndarray::Ix3>,
    v: &'a P::Owned<f64, Ix1>,
    i: &'a P::Owned<i64, Ix1>,
    m: &'a P::Owned<u8, Ix2>,
) -> Result<Vec<(&'static str, Any<'a, P>)>> {
    let (x, v, i, m) = (P::expr(x), P::expr(v), P::expr(i), P::expr(m));
    let places = (index::<Ix2, P>(Axis(0)) * 100).broadcast((6, 9)) - index::<Ix2, P>(Axis(1));
    Ok(vec![
        ("index", any(places)?),
        ("index of an array", any(&m + index::<Ix2, P>(Axis(1)))?),
        ("take, wrapped", any(take(&v, &i, Outside::Wrap))?),
        ("take, clipped", any(take(&v, &i, Outside::Clip))?),
        ("take, or a value", any(take(&v, &i, Outside::Value(f64::NAN)))?),
        ("take of a computed place", any(take(&v, (&i * 3) % 11, Outside::Wrap) + 1.0)?),
        ("take by bytes", any(take(&v, &m, Outside::Wrap))?),
        ("take by words", any(take(&v, i.cast::<u64>(), Outside::Clip))?),
        ("gather", any(gather(&m, &[i.clone(), &i + 1], Outside::Wrap))?),
        ("gather, or a value", any(gather(&m, &[i.clone(), &i + 1], Outside::Value(9)))?),
        ("roll", any(roll(&x, 2, Axis(0)))?),
        ("roll back", any(roll(&x, -13, Axis(2)))?),
        ("flip", any(flip(&x, Axis(1)))?),
        ("tile", any(tile(&m, 3, Axis(0)))?),
        ("repeat", any(repeat(&m, 3, Axis(1)))?),
        ("repeat no times", any(repeat(&m, 0, Axis(1)))?),
        ("pad with a value", any(pad(&m, 2, 3, Axis(1), Outside::Value(7)))?),
        ("pad with the edge", any(pad(&m, 2, 3, Axis(0), Outside::Clip))?),
        ("pad around", any(pad(&x, 2, 3, Axis(2), Outside::Wrap))?),
        ("diff", any(diff(&x, Axis(1)))?),
        ("diff of bytes", any(diff(&m, Axis(0)))?),
        ("tril", any(tril(&x, -1))?),
        ("triu", any(triu(&m, 2))?),
        ("diag", any(diag(&v, -2))?),
        ("outer", any(outer(&v, &i) + eye_of::<f64, P>(11, 60, 2))?),
        ("mean of neighbours", any((roll(&v, 1, Axis(0)) + &v + roll(&v, -1, Axis(0))) / 3.0)?),
    ])
}

fn made_arrays_are_those_of_the_host(device: &Device) -> Outcome {
    let x = Array3::from_shape_fn((5, 6, 7), |(i, j, k)| (i * 100 + j * j * 10 + k) as f32 / 7.0);
    let v = Array1::from_iter((0..11).map(|i| f64::from(i) * 1.5));
    let i = Array1::from_iter((-30..30i64).map(|i| i * 3 / 2));
    let m = Array2::from_shape_fn((4, 9), |(i, j)| (i * 9 + j) as u8);
    let on_device = (
        GpuArray::from_ndarray(device, &x)?,
        GpuArray::from_ndarray(device, &v)?,
        GpuArray::from_ndarray(device, &i)?,
        GpuArray::from_ndarray(device, &m)?,
    );
    let got = made::<Gpu>(&on_device.0, &on_device.1, &on_device.2, &on_device.3)?;
    let want = made::<Host>(&x, &v, &i, &m)?;
    let all: Vec<_> = got.iter().skip(1).map(|(_, got)| got.as_precompile()).collect();
    precompile(device, &all)?;
    for ((name, got), (_, want)) in got.iter().zip(&want).skip(1) {
        let difference = got.eval()?.difference(&want.eval()?);
        ensure!(difference.is_none(), "{name}: {difference:?}\n{got:?}");
    }
    fn here<T: Element, D: Dimension>(device: &Device, got: &Expr<'_, T, D>, want: &Expr<'_, T, D, Host>) -> Outcome {
        ensure_eq!(got.eval_on(device)?.to_ndarray()?, want.eval()?);
        Ok(())
    }
    let places = index::<Ix2, Gpu>(Axis(0)) * 100 - index::<Ix2, Gpu>(Axis(1));
    let want = index::<Ix2, Host>(Axis(0)) * 100 - index::<Ix2, Host>(Axis(1));
    here(device, &places.broadcast((6, 9)), &want.broadcast((6, 9)))?;
    here(device, &linspace(-1.0f32, 3.0, 77), &linspace(-1.0f32, 3.0, 77))?;
    here(device, &linspace(0.1f64, 0.9, 10), &linspace(0.1f64, 0.9, 10))?;
    here(device, &eye::<f32, _>(9), &eye::<f32, _>(9))
}

/// C order, but Fortran order where all arrays of the full shape are in that.
fn orders_of_results(device: &Device) -> Outcome {
    let x = Array2::from_shape_fn((3, 4), |(i, j)| (i * 4 + j) as i64);
    let row = GpuArray::from_ndarray(device, &Array1::from_iter(0..4i64))?;
    let c = GpuArray::from_ndarray(device, &x)?;
    let f = GpuArray::from_ndarray(device, &x.t().as_standard_layout())?.reversed_axes();
    let order = |expr: Expr<'_, i64, Ix2>| -> Result<Vec<isize>> { Ok(expr.eval()?.strides().to_vec()) };
    ensure_eq!(order(&c + &c)?, [4, 1]);
    ensure_eq!(order(&f + &f)?, [1, 3]);
    ensure_eq!(order(&f + &row)?, [1, 3]);
    ensure_eq!(order(&f + 1)?, [1, 3]);
    ensure_eq!(order(&c + &f)?, [4, 1]);
    ensure_eq!((&c + &f).eval()?.to_ndarray()?, &x * 2);
    ensure_eq!((&f * 2).eval()?.to_ndarray()?, &x * 2);
    Ok(())
}

/// The steps of a damped oscillator, for any place.
fn oscillate<P: Backend>(x: &P::Owned<f64, IxDyn>, v: &P::Owned<f64, IxDyn>) -> Result<P::Owned<f64, IxDyn>> {
    let (mut x, mut v) = (P::expr(x), P::expr(v));
    for _ in 0..10 {
        v = &v - &x * 0.1 - &v * 0.01;
        x = &x + &v * 0.1;
    }
    where_(v.gt(0.0), &x, -&x).eval()
}

fn one_function_runs_on_both_places(device: &Device) -> Outcome {
    let x = ArrayD::from_shape_fn(IxDyn(&[7, 11]), |place| place[0] as f64 - place[1] as f64 / 3.0);
    let v = ArrayD::from_elem(IxDyn(&[11]), 0.5);
    let (dx, dv) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &v)?);
    ensure_eq!(oscillate::<Gpu>(&dx, &dv)?.to_ndarray()?, oscillate::<Host>(&x, &v)?);
    let mut target = GpuArray::zeros(device, IxDyn(&[7, 11]))?;
    target.assign_value(Gpu::expr(&dx) * 2.0)?;
    let mut want = ArrayD::zeros(IxDyn(&[7, 11]));
    want.assign_value(Host::expr(&x) * 2.0)?;
    ensure_eq!(target.to_ndarray()?, want);
    Ok(())
}
