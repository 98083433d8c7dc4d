//! Counterparts of PyCUDA's tests of arrays, with its sizes where they matter; `PYCUDA.md` has the table.

use gpu_array::{
    ArrayError, GpuArray, INFER, Number, Promote, Result,
    expression::{Expr, Gpu, Outside, constant, flip, host, index, take, where_},
};
use gpu_driver::{Device, LaunchConfig, emulated::Emulated};
use ndarray::{Array1, Array2, Array3, Array4, Axis, Ix1, Ix2, ShapeBuilder, Slice, arr0, array, s};
use testkit::{Outcome, Test, ensure, ensure_eq, rng, tests};

pub const TESTS: &[Test<Device>] = tests![
    pow_array,
    pow_number,
    rpow_array,
    abs,
    multiply,
    multiply_array,
    unit_multiply_array,
    addition,
    iaddition,
    substract,
    divide,
    array_comparisons,
    scalar_comparisons,
    nan_arithmetic,
    elwise_kernel,
    ranged_elwise_kernel,
    take_of_every_second,
    arange_and_ones,
    reverse,
    slice,
    two_axes_slice_c_and_f,
    where_and_if_positive,
    minimum_maximum_scalar,
    astype,
    logical,
    setitem_scalar,
    vector_fill,
    reshape,
    squeeze,
    view_and_strides,
    transpose_and_newaxis,
    copy,
    get_set,
    zeros_like,
    binary_ops_with_unequal_dtypes,
    big_array_elementwise,
    big_broadcast_elementwise,
    noncontig_transpose,
    orders_are_not_mixed_up,
];

fn to_ten() -> Array1<f32> {
    Array1::from_iter((1..=10).map(|i| i as f32))
}

fn tens() -> Array1<f32> {
    to_ten() * 10.0
}

/// In [0, 1), the same each time.
fn random(n: usize) -> Array1<f32> {
    let mut rng = rng(n as u64);
    Array1::from_shape_simple_fn(n, || rng.uniform() as f32)
}

fn close(got: f64, want: f64, relative: f64) -> Outcome {
    ensure!((got - want).abs() <= relative * want.abs(), "got {got}, want {want}");
    Ok(())
}

fn pow_array(device: &Device) -> Outcome {
    let a = Array1::from_iter((1..6).map(|i| i as f32));
    let b = a.mapv(f64::from);
    let (mut x, y) = (GpuArray::from_ndarray(device, &a)?, GpuArray::from_ndarray(device, &b)?);
    let power: GpuArray<f64, Ix1> = x.pow(&y).eval()?;
    x.update(|x| x.pow(&y).cast::<f32>())?;
    for ((&i, &power), &x) in b.iter().zip(&power.to_ndarray()?).zip(&x.to_ndarray()?) {
        close(power, i.powf(i), 1e-15)?;
        close(x.into(), i.powf(i), 1e-6)?;
    }
    Ok(())
}

fn pow_number(device: &Device) -> Outcome {
    let mut x = GpuArray::from_ndarray(device, &to_ten())?;
    ensure_eq!(x.powi(2).eval()?.to_ndarray()?, to_ten() * to_ten());
    x.update(|x| x.pow(2.0))?;
    for (&got, &want) in x.to_ndarray()?.iter().zip(&to_ten()) {
        close(got.into(), f64::from(want * want), 1e-6)?;
    }
    Ok(())
}

fn rpow_array(device: &Device) -> Outcome {
    let a = random(10).mapv(f64::from);
    let x = GpuArray::from_ndarray(device, &a)?;
    let powers = [constant::<f64, Gpu>(0.3).pow(&x).eval()?, x.pow(&x).eval()?, x.pow(0.3).eval()?];
    for (i, &a) in a.iter().enumerate() {
        for (powers, want) in powers.iter().zip([0.3f64.powf(a), a.powf(a), a.powf(0.3)]) {
            close(powers.slice(s![i])?.get()?, want, 1e-15)?;
        }
    }
    Ok(())
}

fn abs(device: &Device) -> Outcome {
    let x = (-&GpuArray::arange(device, 0.0f32, 111.0, 1.0)?).eval()?;
    ensure!(x.to_ndarray()?.iter().all(|&x| x <= 0.0));
    ensure_eq!(x.abs().eval()?.to_ndarray()?, Array1::from_iter((0..111).map(|i| i as f32)));
    Ok(())
}

fn multiply(device: &Device) -> Outcome {
    for n in [10, 50_000] {
        let a = Array1::from_iter((0..n).map(|i| i as f32));
        let doubled: GpuArray<f32, Ix1> = (2.0 * &GpuArray::from_ndarray(device, &a)?).eval()?;
        ensure_eq!(doubled.to_ndarray()?, a * 2.0);
    }
    Ok(())
}

fn multiply_array(device: &Device) -> Outcome {
    let (a, b) = (to_ten(), tens());
    let (x, y) = (GpuArray::from_ndarray(device, &a)?, GpuArray::from_ndarray(device, &b)?);
    let two = GpuArray::from_ndarray(device, &arr0(2i64))?;
    ensure_eq!((&x * &y).eval()?.to_ndarray()?, &a * &b);
    ensure_eq!((&y * &x).eval()?.to_ndarray()?, &a * &b);
    // Of a single element as of any: i64 with f32 is f64.
    let product: GpuArray<f64, Ix1> = (&x * &two).eval()?;
    ensure_eq!(product.to_ndarray()?, a.mapv(|a| f64::from(a) * 2.0));
    Ok(())
}

fn unit_multiply_array(device: &Device) -> Outcome {
    let x = GpuArray::from_ndarray(device, &to_ten())?;
    ensure_eq!((-&x).eval()?.to_ndarray()?, -to_ten());
    let bytes = GpuArray::from_ndarray(device, &array![0u8, 1, 255])?;
    ensure_eq!((-&bytes).eval()?.to_ndarray()?, array![0u8, 255, 1]);
    Ok(())
}

fn addition(device: &Device) -> Outcome {
    let a = to_ten();
    let (x, one) = (GpuArray::from_ndarray(device, &a)?, GpuArray::from_ndarray(device, &arr0(1.0f32))?);
    ensure_eq!((&x + &x).eval()?.to_ndarray()?, &a + &a);
    for sum in [&x + 1.0, 1.0 + &x, &x + &one, (&one + &x)] {
        ensure_eq!(sum.eval()?.to_ndarray()?, &a + 1.0);
    }
    ensure_eq!((7.0 + &x).eval()?.to_ndarray()?, &a + 7.0);
    Ok(())
}

fn iaddition(device: &Device) -> Outcome {
    let a = to_ten();
    let mut x = GpuArray::from_ndarray(device, &a)?;
    x.update(|x| &x + &x)?;
    ensure_eq!(x.to_ndarray()?, &a * 2.0);
    x += 7.0;
    ensure_eq!(x.to_ndarray()?, &a * 2.0 + 7.0);
    Ok(())
}

fn substract(device: &Device) -> Outcome {
    let (a, b) = (to_ten(), tens());
    let (x, y) = (GpuArray::from_ndarray(device, &a)?, GpuArray::from_ndarray(device, &b)?);
    let one = GpuArray::from_ndarray(device, &arr0(1.0f32))?;
    ensure_eq!((&x - &y).eval()?.to_ndarray()?, &a - &b);
    ensure_eq!((&y - &x).eval()?.to_ndarray()?, &b - &a);
    ensure_eq!((&x - &one).eval()?.to_ndarray()?, &a - 1.0);
    ensure_eq!((&one - &x).eval()?.to_ndarray()?, 1.0 - &a);
    ensure_eq!((&x - 7.0).eval()?.to_ndarray()?, &a - 7.0);
    ensure_eq!((7.0 - &x).eval()?.to_ndarray()?, 7.0 - &a);
    let bytes = GpuArray::from_ndarray(device, &array![0u8, 1, 255])?;
    ensure_eq!((&bytes - 1).eval()?.to_ndarray()?, array![255u8, 0, 254]);
    Ok(())
}

fn divide(device: &Device) -> Outcome {
    let (a, b) = (tens(), Array1::from_elem(10, 10.0f32));
    let (x, y) = (GpuArray::from_ndarray(device, &a)?, GpuArray::from_ndarray(device, &b)?);
    ensure_eq!((&x / &y).eval()?.to_ndarray()?, &a / &b);
    ensure_eq!((&y / &x).eval()?.to_ndarray()?, &b / &a);
    ensure_eq!((&x / 2.0).eval()?.to_ndarray()?, &a / 2.0);
    ensure_eq!((2.0 / &x).eval()?.to_ndarray()?, 2.0 / &a);
    let whole = GpuArray::from_ndarray(device, &array![7, 8])?;
    ensure_eq!((&whole / 2).eval()?.to_ndarray()?, array![3.5, 4.0]);
    Ok(())
}

fn array_comparisons(device: &Device) -> Outcome {
    let x = GpuArray::from_ndarray(device, &array![5.0f32, 10.0, 1.0])?;
    let y = GpuArray::from_ndarray(device, &array![2.0f32, 10.0, 2.0])?;
    let masks = [x.gt(&y), x.lt(&y), x.ge(&y), x.le(&y), x.eq(&y), x.ne(&y)];
    let want = [[true, false, false], [false, false, true], [true, true, false], [false, true, true]];
    let want = want.into_iter().chain([[false, true, false], [true, false, true]]);
    for (mask, want) in masks.iter().zip(want) {
        ensure_eq!(mask.eval()?.to_ndarray()?.to_vec(), want);
    }
    Ok(())
}

fn scalar_comparisons(device: &Device) -> Outcome {
    let a = array![1.0, 0.25, 0.1, -0.1, 0.0];
    let x = GpuArray::from_ndarray(device, &a)?;
    ensure_eq!(x.gt(0.25).eval()?.to_ndarray()?, a.mapv(|a| a > 0.25));
    ensure_eq!(x.le(0.25).eval()?.to_ndarray()?, a.mapv(|a| a <= 0.25));
    ensure_eq!(x.eq(0.25).eval()?.to_ndarray()?, a.mapv(|a| a == 0.25));
    ensure_eq!(x.eq(1.0).cast::<f64>().eval()?.to_ndarray()?, array![1.0, 0.0, 0.0, 0.0, 0.0]);
    Ok(())
}

fn nan_arithmetic(device: &Device) -> Outcome {
    let n = 1 << 20;
    let mut rng = rng(1);
    let mut spoilt = |mut a: Array1<f32>| {
        (0..n / 10).for_each(|_| a[rng.below(n)] = f32::NAN);
        a
    };
    let (a, b) = (spoilt(random(n)), spoilt(random(n) - 0.5));
    let (x, y) = (GpuArray::from_ndarray(device, &a)?, GpuArray::from_ndarray(device, &b)?);
    let got = (&x * &y).eval()?.to_ndarray()?;
    let bits = |a: &Array1<f32>| a.mapv(|x| if x.is_nan() { 0 } else { x.to_bits() });
    ensure!(bits(&got) == bits(&(&a * &b)));
    ensure_eq!(x.is_nan().eval()?.to_ndarray()?, a.mapv(f32::is_nan));
    Ok(())
}

fn elwise_kernel(device: &Device) -> Outcome {
    let (a, b) = (random(50), random(50) + 0.25);
    let (x, y) = (GpuArray::from_ndarray(device, &a)?, GpuArray::from_ndarray(device, &b)?);
    let mut z = GpuArray::zeros(device, 50)?;
    z.assign(5.0 * &x + 6.0 * &y)?;
    ensure_eq!(z.to_ndarray()?, 5.0 * &a + 6.0 * &b);
    Ok(())
}

fn ranged_elwise_kernel(device: &Device) -> Outcome {
    // Python's 3000:5:-1 goes down from 3000; ndarray's slices are turned round after they are cut.
    let slices = [
        Slice::from(5..20_000),
        Slice::new(5, Some(20_000), 17),
        Slice::new(6, Some(3001), -1),
        Slice::new(1000, Some(-1), 1),
    ];
    for slice in slices {
        let info = [ndarray::SliceInfoElem::from(slice)];
        let mut x = GpuArray::<f32, Ix1>::zeros(device, 50_000)?.into_dyn();
        x.slice_mut(&info[..])?.assign(constant::<_, Gpu>(7.0))?;
        let mut want = Array1::<f32>::zeros(50_000).into_dyn();
        want.slice_mut(&info[..]).fill(7.0);
        ensure!(x.to_ndarray()? == want, "{slice:?}");
    }
    Ok(())
}

fn take_of_every_second(device: &Device) -> Outcome {
    let i = GpuArray::arange(device, 0i64, 10_000, 2)?;
    let x = GpuArray::arange(device, 0u32, 600_000, 1)?.cast::<f32>().eval()?;
    let taken = take(&x, &i, Outside::Clip).eval()?.to_ndarray()?;
    ensure_eq!(taken, Array1::from_iter((0..5000).map(|i| 2.0 * i as f32)));
    Ok(())
}

fn arange_and_ones(device: &Device) -> Outcome {
    let range = GpuArray::arange(device, 0.0f32, 12.0, 1.0)?;
    ensure_eq!(range.to_ndarray()?, Array1::from_iter((0..12).map(|i| i as f32)));
    ensure_eq!(GpuArray::full(device, 10, 1.0)?.to_ndarray()?, Array1::<f64>::ones(10));
    Ok(())
}

fn reverse(device: &Device) -> Outcome {
    let x = GpuArray::from_ndarray(device, &to_ten())?;
    let want = to_ten().slice_move(s![..;-1]);
    ensure_eq!(x.slice(s![..;-1])?.to_ndarray()?, want);
    ensure_eq!(flip(&x, Axis(0)).eval()?.to_ndarray()?, want);
    Ok(())
}

fn slice(device: &Device) -> Outcome {
    let a = random(20_000);
    let x = GpuArray::from_ndarray(device, &a)?;
    let mut rng = rng(5);
    for _ in 0..200 {
        let start = rng.below(20_000);
        let end = start + rng.below(20_000 - start);
        let doubled = (x.slice(s![start..end])? * 2.0).eval()?;
        ensure!(doubled.to_ndarray()? == &a.slice(s![start..end]) * 2.0, "{start}..{end}");
    }
    Ok(())
}

fn two_axes_slice_c_and_f(device: &Device) -> Outcome {
    let a = random(300_000).into_shape_with_order((1000, 300))?;
    let x = GpuArray::from_ndarray(device, &a)?;
    let f = GpuArray::from_ndarray(device, &a)?.reversed_axes();
    let mut rng = rng(6);
    for _ in 0..100 {
        let start = rng.below(1000);
        let end = start + rng.below(1000 - start);
        ensure!(x.slice(s![start..end, ..])?.to_ndarray()? == a.slice(s![start..end, ..]), "{start}..{end}");
        let columns = f.slice(s![.., start..end])?;
        ensure!(columns.to_ndarray()? == a.slice(s![start..end, ..]).t(), "{start}..{end}");
        ensure!(end < start + 2 || columns.strides() == [1, 300], "{columns:?}");
    }
    Ok(())
}

fn where_and_if_positive(device: &Device) -> Outcome {
    let x = GpuArray::from_ndarray(device, &array![1i64, 0, -1])?;
    let (two, three) = (GpuArray::full(device, 3, 2i64)?, GpuArray::full(device, 3, 3i64)?);
    ensure_eq!(where_(x.cast::<bool>(), &two, &three).eval()?.to_ndarray()?, array![2, 3, 2]);
    ensure_eq!(where_(x.gt(0), &two, &three).eval()?.to_ndarray()?, array![2, 3, 3]);
    let (a, b) = (random(20), random(20).slice_move(s![..;-1]));
    let (x, y) = (GpuArray::from_ndarray(device, &a)?, GpuArray::from_ndarray(device, &b)?);
    ensure_eq!(x.maximum(&y).eval()?.to_ndarray()?, ndarray::Zip::from(&a).and(&b).map_collect(|&a, &b| a.max(b)));
    ensure_eq!(x.minimum(&y).eval()?.to_ndarray()?, ndarray::Zip::from(&a).and(&b).map_collect(|&a, &b| a.min(b)));
    Ok(())
}

fn minimum_maximum_scalar(device: &Device) -> Outcome {
    let a = random(20) - 0.5;
    let x = GpuArray::from_ndarray(device, &a)?;
    ensure_eq!(x.maximum(0.0).eval()?.to_ndarray()?, a.mapv(|a| a.max(0.0)));
    ensure_eq!(x.minimum(0.0).eval()?.to_ndarray()?, a.mapv(|a| a.min(0.0)));
    let whole = GpuArray::from_ndarray(device, &array![-2, 5])?;
    ensure_eq!(whole.maximum(0).eval()?.to_ndarray()?, array![0, 5]);
    Ok(())
}

fn astype(device: &Device) -> Outcome {
    let a = random(2000);
    let x = GpuArray::from_ndarray(device, &a)?;
    ensure_eq!(x.cast::<f64>().eval()?.to_ndarray()?, a.mapv(f64::from));
    let a = a.mapv(|a| f64::from(a) / 3.0);
    let x = GpuArray::from_ndarray(device, &a)?;
    ensure_eq!(x.cast::<f32>().eval()?.to_ndarray()?, a.mapv(|a| a as f32));
    Ok(())
}

fn logical(device: &Device) -> Outcome {
    let a = random(40).mapv(|a| if a < 0.5 { 0.0 } else { a }).into_shape_with_order((10, 4))?;
    let b = a.slice(s![..;-1, ..]).to_owned();
    let (x, y) = (GpuArray::from_ndarray(device, &a)?, GpuArray::from_ndarray(device, &b)?);
    let (p, q) = (x.cast::<bool>(), y.cast::<bool>());
    let zip = |f: fn(bool, bool) -> bool| ndarray::Zip::from(&a).and(&b).map_collect(|&a, &b| f(a != 0.0, b != 0.0));
    ensure_eq!((&p & &q).eval()?.to_ndarray()?, zip(|a, b| a && b));
    ensure_eq!((&p | &q).eval()?.to_ndarray()?, zip(|a, b| a || b));
    ensure_eq!((&p & true).eval()?.to_ndarray()?, zip(|a, _| a));
    ensure_eq!((&p | true).eval()?.to_ndarray()?, zip(|_, _| true));
    ensure_eq!((!p).eval()?.to_ndarray()?, zip(|a, _| !a));
    Ok(())
}

fn setitem_scalar(device: &Device) -> Outcome {
    let mut x = (&GpuArray::<f64, _>::zeros(device, 5)? + 42.0).eval()?;
    ensure_eq!(x.to_ndarray()?, Array1::from_elem(5, 42.0));
    x.fill(1729.0)?;
    ensure_eq!(x.to_ndarray()?, Array1::from_elem(5, 1729.0));
    x.slice_mut(s![..;2])?.assign(constant::<_, Gpu>(1.0))?;
    ensure_eq!(x.to_ndarray()?, array![1.0, 1729.0, 1.0, 1729.0, 1.0]);
    Ok(())
}

fn vector_fill(device: &Device) -> Outcome {
    let mut x = GpuArray::<f32, _>::zeros(device, (10, 3))?;
    x.assign(&GpuArray::from_vec(device, vec![1.0, 2.0, 3.0])?)?;
    let want = Array2::from_shape_fn((10, 3), |(_, field)| field as f32 + 1.0);
    ensure_eq!(x.to_ndarray()?, want);
    ensure_eq!(x.slice(s![.., 2])?.to_ndarray()?, Array1::from_elem(10, 3.0));
    let turn = device.compile(
        "extern \"C\" __global__ void turn(float3 *x, int n) {
            int i = threadIdx.x;
            if (i < n) x[i] = make_float3(x[i].y, x[i].z, x[i].x);
        }",
    )?;
    let turn = turn.function("turn")?;
    let stream = x.stream().clone();
    #[expect(unsafe_code, reason = "the launch of a kernel from a string")]
    // SAFETY: the kernel reads and writes ten vectors of three, which the array has, each by its own thread.
    unsafe {
        turn.launch(LaunchConfig::for_elements(10), (&mut x, 10), &stream)?;
    }
    ensure_eq!(x.slice(s![7, ..])?.to_ndarray()?.to_vec(), [2.0, 3.0, 1.0]);
    Ok(())
}

fn reshape(device: &Device) -> Outcome {
    let a = Array2::from_shape_fn((8, 16), |(i, j)| (i * 16 + j) as f32);
    let x = GpuArray::from_ndarray(device, &a)?;
    ensure_eq!(x.reshape((4, 32))?.shape().to_vec(), [4, 32]);
    ensure_eq!(x.reshape((INFER, 32))?.shape().to_vec(), [4, 32]);
    ensure_eq!(x.reshape((32, INFER))?.shape().to_vec(), [32, 4]);
    ensure_eq!(x.reshape((8, INFER, 4))?.shape().to_vec(), [8, 4, 4]);
    ensure!(matches!(x.reshape((INFER, INFER, 4)), Err(ArrayError::Infer { .. })));
    // By index, not by place in memory: in Fortran order too.
    let f = GpuArray::from_ndarray(device, &a.t())?;
    ensure_eq!(f.to_owned()?.to_ndarray()?, a.t());
    ensure!(matches!(f.reshape((4, 32)), Err(ArrayError::ReshapeNeedsCopy { .. })));
    let mut c = GpuArray::<f32, _>::zeros(device, (16, 8))?;
    c.assign(&f)?;
    let want = a.t().as_standard_layout().into_owned().into_shape_with_order((4, 32))?;
    ensure_eq!(c.reshape((4, 32))?.to_ndarray()?, want);
    Ok(())
}

fn squeeze(device: &Device) -> Outcome {
    let a = Array4::from_shape_fn((40, 2, 5, 100), |(i, j, k, l)| (i * 1000 + j * 500 + k * 100 + l) as f64);
    let x = GpuArray::from_ndarray(device, &a)?;
    let rows = x.slice(s![0..1, 1..2, .., ..])?;
    ensure!(rows.is_contiguous() && rows.squeeze().is_contiguous());
    ensure_eq!(rows.squeeze().to_ndarray()?, a.slice(s![0, 1, .., ..]).into_dyn());
    let gaps = x.slice(s![.., .., 2..3, ..])?;
    ensure!(!gaps.is_contiguous() && !gaps.squeeze().is_contiguous());
    ensure_eq!(gaps.squeeze().to_ndarray()?, a.slice(s![.., .., 2, ..]).into_dyn());
    Ok(())
}

fn view_and_strides(device: &Device) -> Outcome {
    let a = random(50).into_shape_with_order((5, 10))?;
    let x = GpuArray::from_ndarray(device, &a)?;
    let part = x.slice(s![..3, ..5])?;
    ensure_eq!((part.shape().to_vec(), part.strides().to_vec()), (vec![3, 5], vec![10, 1]));
    ensure_eq!(part.to_ndarray()?, a.slice(s![..3, ..5]));
    Ok(())
}

fn cube(lengths: (usize, usize, usize)) -> Array3<f32> {
    Array3::from_shape_fn(lengths, |(i, j, k)| (i * 10_000 + j * 100 + k) as f32)
}

fn transpose_and_newaxis(device: &Device) -> Outcome {
    let a = cube((10, 20, 30));
    let x = GpuArray::from_ndarray(device, &a)?;
    ensure_eq!(x.t().to_ndarray()?, a.t());
    ensure_eq!((x.t() + 0.0).eval()?.to_ndarray()?, a.t());
    let wider = x.insert_axis(Axis(1))?;
    ensure_eq!(wider.shape(), [10, 1, 20, 30]);
    ensure_eq!(wider.to_ndarray()?, a.view().insert_axis(Axis(1)));
    Ok(())
}

/// Also with more than two axes that have gaps, which PyCUDA does not copy.
fn copy(device: &Device) -> Outcome {
    let a = Array4::from_shape_fn((3, 3, 3, 3), |(i, j, k, l)| (i * 1000 + j * 100 + k * 10 + l) as f32);
    let x = GpuArray::from_ndarray(device, &a)?;
    for (start, stop, step) in [(0, 3, 1), (1, 2, 1), (0, 3, 2), (0, 3, 3)] {
        let part = s![start..stop;step, .., start..stop;step, start..stop;step];
        ensure_eq!(x.slice(part)?.to_owned()?.to_ndarray()?, a.slice(part));
        let (turned, want) = (x.permuted_axes([1, 2, 0, 3])?, a.view().permuted_axes([1, 2, 0, 3]));
        ensure_eq!(turned.slice(part)?.to_ndarray()?, want.slice(part));
        ensure_eq!((turned.slice(part)? * 1.0).eval()?.to_ndarray()?, want.slice(part));
    }
    Ok(())
}

fn get_set(device: &Device) -> Outcome {
    let a = cube((4, 4, 4)).permuted_axes([1, 2, 0]);
    let mut x = GpuArray::from_ndarray(device, &a)?;
    ensure_eq!(x.to_ndarray()?, a);
    ensure_eq!(x.slice(s![1..3, 1..3, 1..3])?.to_ndarray()?, a.slice(s![1..3, 1..3, 1..3]));
    x.copy_from_ndarray(&a.t())?;
    ensure_eq!(x.to_ndarray()?, a.t());
    Ok(())
}

fn zeros_like(device: &Device) -> Outcome {
    let c = GpuArray::from_ndarray(device, &random(256).into_shape_with_order((16, 16))?)?;
    let f = GpuArray::<f32, Ix2>::zeros(device, (16, 16).f())?;
    let (like_c, like_f, other) = ((&c * 0.0).eval()?, (&f * 0.0).eval()?, f.cast::<f64>().eval()?);
    ensure_eq!((like_c.strides(), like_f.strides(), other.strides()), (&[16, 1][..], &[1, 16][..], &[1, 16][..]));
    Ok(())
}

fn binary_ops_with_unequal_dtypes(device: &Device) -> Outcome {
    /// Each operator against the CPU's, and the type against the one that NumPy has.
    fn check<T: Number + Promote<U, Output = V>, U: Number, V: Number>(
        device: &Device,
        left: fn(i8) -> T,
        right: fn(i8) -> U,
    ) -> Outcome {
        let mut rng = rng(3);
        let mut small = || rng.below(84) as i8 - 42;
        let a = Array2::from_shape_simple_fn((10, 4), || left(small()));
        let b = Array2::from_shape_simple_fn((10, 4), || right(small()));
        let (x, y) = (GpuArray::from_ndarray(device, &a)?, GpuArray::from_ndarray(device, &b)?);
        let sum: Expr<'_, V, Ix2> = &x + &y;
        ensure_eq!(sum.eval()?.to_ndarray()?, (host(&a) + host(&b)).eval()?);
        ensure_eq!((&x - &y).eval()?.to_ndarray()?, (host(&a) - host(&b)).eval()?);
        ensure_eq!((&x * &y).eval()?.to_ndarray()?, (host(&a) * host(&b)).eval()?);
        let (got, want) = ((&x / &y).eval()?.to_ndarray()?, (host(&a) / host(&b)).eval()?);
        ensure_eq!(format!("{got:?}").replace("-NaN", "NaN"), format!("{want:?}").replace("-NaN", "NaN"));
        Ok(())
    }
    check::<i32, i64, i64>(device, Into::into, Into::into)?;
    check::<i32, f32, f64>(device, Into::into, Into::into)?;
    check::<f32, i64, f64>(device, Into::into, Into::into)?;
    check::<f32, f64, f64>(device, Into::into, Into::into)?;
    check::<i64, i64, i64>(device, Into::into, Into::into)
}

/// More elements than 32 bits count.
fn big_array_elementwise(device: &Device) -> Outcome {
    let n = (1usize << 32) + 5;
    let low = |device: &Device| -> Result<GpuArray<u8, Ix1>> {
        index::<Ix1, Gpu>(Axis(0)).cast::<u8>().broadcast(n).eval_on(device)
    };
    // The emulated device runs the blocks at both ends, of 2^14 elements each.
    let own = Emulated::new().open();
    let x = if device.is_emulated() {
        let own = own?;
        own.emulation().ok_or("emulated")?.run_only_blocks(&[0..2, 262_142..262_145])?;
        low(&own)?
    } else {
        low(device)?
    };
    for start in [0, (1 << 32) - 300, n - 300] {
        let want = Array1::from_iter((start..start + 300).map(|i| i as u8));
        ensure!(x.slice(s![start..start + 300])?.to_ndarray()? == want, "from {start}");
    }
    Ok(())
}

/// Rows that cannot be joined, more than 32 bits count: the place of each is found by a division.
fn big_broadcast_elementwise(device: &Device) -> Outcome {
    let n = 70_000usize;
    let own = Emulated::new().open();
    let device = if device.is_emulated() { &own? } else { device };
    let value = |at: usize| (at * 7 % 251) as u8;
    let rows = GpuArray::from_ndarray(device, &Array3::from_shape_fn((n, 1, 3), |(at, ..)| value(at)))?;
    let columns = GpuArray::from_ndarray(device, &Array3::from_shape_fn((1, n, 3), |(_, at, _)| value(at) / 3))?;
    let places = [(0, 0), (22_845, 11_000), (61_000, 1), (n - 1, n - 1)];
    if let Some(emulation) = device.emulation() {
        // A block has some power of two of the rows of three.
        let around = |(row, column): (usize, usize)| (0..=12).map(move |log| ((row * n + column) >> log) as u64);
        let mut blocks: Vec<u64> = places.into_iter().flat_map(around).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let blocks: Vec<_> = blocks.into_iter().map(|block| block..block + 1).collect();
        emulation.run_only_blocks(&blocks)?;
    }
    let sum = (&rows + &columns).eval()?;
    for (row, column) in places {
        let want = Array1::from_elem(3, value(row).wrapping_add(value(column) / 3));
        ensure_eq!((row, column, sum.slice(s![row, column, ..])?.to_ndarray()?), (row, column, want));
    }
    Ok(())
}

fn noncontig_transpose(device: &Device) -> Outcome {
    let a = cube((100, 15, 204));
    let x = GpuArray::from_ndarray(device, &a)?;
    let part = x.slice(s![.., 7..9, ..])?;
    let want = a.slice(s![.., 7..9, ..]).permuted_axes([1, 0, 2]);
    ensure_eq!((part.permuted_axes([1, 0, 2])? * 1.0).eval()?.to_ndarray()?, want);
    Ok(())
}

/// PyCUDA's issue 330: operands in C and in Fortran order.
fn orders_are_not_mixed_up(device: &Device) -> Outcome {
    let a = Array2::from_shape_fn((5, 7), |(i, j)| (i * 7 + j) as f32);
    let c = GpuArray::from_ndarray(device, &a)?;
    let f = GpuArray::from_ndarray(device, &a.t().as_standard_layout())?.reversed_axes();
    ensure_eq!((&c - &f).eval()?.to_ndarray()?, Array2::zeros((5, 7)));
    ensure_eq!((&f * &c).eval()?.to_ndarray()?, &a * &a);
    Ok(())
}
