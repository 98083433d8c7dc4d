//! Expressions that own arrays: their values, the life of the memory, and how long other arrays are borrowed.

use gpu_array::{
    ArrayError, GpuArray, Result,
    expression::{Backend, Expr, Gpu, Host, host, host_owned, where_},
};
use gpu_driver::{Device, Stream, emulated::Emulated};
use ndarray::{Array1, Array2, Ix1, array, s};
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

pub const TESTS: &[Test<Device>] = tests![
    owned_operands_give_the_values_of_borrowed_ones,
    owned_operands_of_other_types_and_ranks,
    owned_operands_outlive_their_names,
    an_expression_borrows_until_its_last_use,
    shapes_of_owned_operands_are_told,
    owned_arrays_of_either_place,
];

/// Tests of the emulated device, which counts allocations.
pub const COUNTS: &[Test<()>] = tests![memory_goes_with_the_last_expression_that_owns_it];

fn owned_operands_give_the_values_of_borrowed_ones(device: &Device) -> Outcome {
    let (a, b) = (array![7.5f64, -2.25, 0.0, 1e300], array![2.0f64, 0.5, -3.0, 1e10]);
    let (x, y) = (GpuArray::from_ndarray(device, &a)?, GpuArray::from_ndarray(device, &b)?);
    macro_rules! agree {
        ($op:tt, $x:ident, $y:ident, $a:ident, $b:ident, $scalar:expr) => {{
            let own = || Ok::<_, ArrayError>(($x.try_clone()?, $y.try_clone()?));
            let want = (host(&$a) $op host(&$b)).eval()?;
            let (p, q) = own()?;
            ensure_eq!((p $op q).eval()?.to_ndarray()?, want);
            let (p, q) = own()?;
            ensure_eq!((p $op &$y).eval()?.to_ndarray()?, want);
            ensure_eq!((&$x $op q).eval()?.to_ndarray()?, want);
            let (p, q) = own()?;
            ensure_eq!((p $op $y.slice(s![..])?).eval()?.to_ndarray()?, want);
            ensure_eq!(($x.slice(s![..])? $op q).eval()?.to_ndarray()?, want);
            ensure_eq!((host_owned($a.clone()) $op host_owned($b.clone())).eval()?, want);
            let (p, q) = own()?;
            ensure_eq!((p $op $scalar).eval()?.to_ndarray()?, (host(&$a) $op $scalar).eval()?);
            ensure_eq!(($scalar $op q).eval()?.to_ndarray()?, ($scalar $op host_owned($b.clone())).eval()?);
        }};
    }
    agree!(+, x, y, a, b, 1.5);
    agree!(-, x, y, a, b, 1.5);
    agree!(*, x, y, a, b, 1.5);
    agree!(/, x, y, a, b, 1.5);
    agree!(%, x, y, a, b, 1.5);
    let (c, d) = (array![7i32, -2, 0, 12], array![2i32, 3, 5, 1]);
    let (i, j) = (GpuArray::from_ndarray(device, &c)?, GpuArray::from_ndarray(device, &d)?);
    agree!(&, i, j, c, d, 6);
    agree!(|, i, j, c, d, 6);
    agree!(^, i, j, c, d, 6);
    agree!(<<, i, j, c, d, 3);
    agree!(>>, i, j, c, d, 3);
    agree!(/, i, j, c, d, 3);
    // Expressions and mutable views beside them, negation, and a mask.
    let mut view = j.try_clone()?;
    let view = view.view_mut();
    ensure_eq!((i.try_clone()? - &view).eval()?.to_ndarray()?, &c - &d);
    ensure_eq!((i.try_clone()? - (&j + 1)).eval()?.to_ndarray()?, &c - &d - 1);
    let sum = &j + 1;
    ensure_eq!((i.try_clone()? - &sum).eval()?.to_ndarray()?, &c - &d - 1);
    ensure_eq!((&sum - i.try_clone()?).eval()?.to_ndarray()?, &d + 1 - &c);
    ensure_eq!((-i.try_clone()?).eval()?.to_ndarray()?, -&c);
    ensure_eq!((!i.try_clone()?).eval()?.to_ndarray()?, c.mapv(|x| !x));
    ensure_eq!((!(i.gt(0).eval()?)).eval()?.to_ndarray()?, c.mapv(|x| x <= 0));
    let larger = where_(i.gt(&j), i.try_clone()?, j.try_clone()?);
    ensure_eq!(larger.eval()?.to_ndarray()?, array![7, 3, 5, 12]);
    // In place.
    let mut z = x.try_clone()?;
    z += y.try_clone()?;
    z *= 2.0 * x.try_clone()?;
    ensure_eq!(z.to_ndarray()?, (&a + &b) * (2.0 * &a));
    Ok(())
}

fn owned_operands_of_other_types_and_ranks(device: &Device) -> Outcome {
    let table = Array2::from_shape_fn((3, 4), |(i, j)| (i * 10 + j) as f32);
    let row = array![1i32, 2, 3, 4];
    let (x, y) = (GpuArray::from_ndarray(device, &table)?, GpuArray::from_ndarray(device, &row)?);
    let want = (host(&table) * host(&row)).eval()?;
    let product: GpuArray<f64, _> = (x.try_clone()? * y.try_clone()?).eval()?;
    ensure_eq!(product.to_ndarray()?, want);
    ensure_eq!((y * x.t().to_owned()?.reversed_axes()).eval()?.to_ndarray()?, want);
    let column = x.slice(s![.., ..1])?.to_owned()?;
    ensure_eq!((x - column).eval()?.to_ndarray()?, &table - &table.slice(s![.., ..1]));
    Ok(())
}

/// The arrays are those of the function alone.
fn polynomial(device: &Device, n: usize) -> Result<Expr<'static, f64, Ix1>> {
    let x = GpuArray::arange(device, 0.0, n as f64, 1.0)?;
    let c = GpuArray::full(device, n, 3.0)?;
    let x = x * 0.5;
    Ok(&x * &x + c - x)
}

fn owned_operands_outlive_their_names(device: &Device) -> Outcome {
    let value = polynomial(device, 1000)?;
    let again = value.clone();
    // Others would have the memory by now.
    let others = (0..8).map(|i| GpuArray::full(device, 1000, f64::from(i))).collect::<Result<Vec<_>>>()?;
    let want = Array1::from_shape_fn(1000, |i| 0.25 * (i * i) as f64 + 3.0 - 0.5 * i as f64);
    ensure_eq!(value.eval()?.to_ndarray()?, want);
    drop(value);
    let more = (0..8).map(|i| GpuArray::full(device, 1000, f64::from(-i))).collect::<Result<Vec<_>>>()?;
    ensure_eq!(again.eval()?.to_ndarray()?, want);
    drop((others, more, again));
    // An owned array of another stream, which goes before the kernel has run.
    let stream = Stream::new(device)?;
    let y = GpuArray::from_ndarray(device, &Array1::from_elem(1000, 1.0))?;
    for i in 0..20 {
        let sum = (&y + GpuArray::full(&stream, 1000, f64::from(i))?).eval()?;
        drop(GpuArray::full(&stream, 1000, -1.0)?);
        ensure_eq!(sum.to_ndarray()?, Array1::from_elem(1000, f64::from(i) + 1.0));
    }
    Ok(())
}

fn an_expression_borrows_until_its_last_use(device: &Device) -> Outcome {
    let mut x = GpuArray::from_ndarray(device, &array![1.0, 2.0])?;
    let c = GpuArray::from_ndarray(device, &array![0.5, 1.0])?;
    let diff = &x - &c;
    let twice = &diff + &diff;
    ensure_eq!(twice.eval()?.to_ndarray()?, array![1.0, 2.0]);
    // `diff` and `twice` are dropped at the end, and used no more.
    x.fill(0.0)?;
    drop(c);
    ensure_eq!(x.to_ndarray()?, array![0.0, 0.0]);
    // On the host, and for a chain that is dropped without recursion.
    let mut h = array![1.0, 2.0];
    let chain = (0..1000).fold(host(&h) + 0.0, |sum, _| sum + 1.0);
    ensure_eq!(chain.eval()?, array![1001.0, 1002.0]);
    h[0] = 3.0;
    ensure_eq!(h, array![3.0, 2.0]);
    Ok(())
}

fn shapes_of_owned_operands_are_told(device: &Device) -> Outcome {
    let (x, y) = (GpuArray::<f32, _>::zeros(device, (3, 4))?, GpuArray::<i16, _>::zeros(device, 5)?);
    let error = (x + y).eval().map(drop);
    let told = matches!(&error, Err(ArrayError::Operands { expression, .. }) if expression == "(float32[3, 4] + float32(int16[5]))");
    ensure!(told, "{error:?}");
    let mut wrong = GpuArray::full(device, (3, 4), 1f32)?;
    *wrong.as_mut_device_vec() = GpuArray::full(device, 5, 2f32)?.into_device_vec();
    ensure!(matches!((wrong + 1.0).eval(), Err(ArrayError::Length { expected: 12, got: 5, .. })));
    Ok(())
}

/// x / (1 + |x|), of an array that is given up.
fn squashed<P: Backend>(x: P::Owned<f32, Ix1>) -> Result<P::Owned<f32, Ix1>> {
    let x = P::owned_expr(x);
    (&x / (1.0 + x.abs())).eval()
}

fn owned_arrays_of_either_place(device: &Device) -> Outcome {
    let h = Array1::from_shape_fn(1000, |i| i as f32 - 500.5);
    let on_device = squashed::<Gpu>(GpuArray::from_ndarray(device, &h)?)?;
    ensure_eq!(on_device.to_ndarray()?, squashed::<Host>(h.clone())?);
    // Layouts of arrays on the host: the parts that an owner keeps.
    let mut table = Array2::from_shape_fn((4, 6), |(i, j)| (i * 10 + j) as i64).reversed_axes();
    table.slice_collapse(s![1..;2, ..;-1]);
    let want = table.mapv(|x| x + 1);
    let sum = host_owned(table) + 1;
    ensure_eq!(sum.eval()?, want);
    ensure_eq!((&sum * &sum).eval()?, &want * &want);
    Ok(())
}

fn memory_goes_with_the_last_expression_that_owns_it(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let live = || device.emulation().map_or(Ok(usize::MAX), |emulation| emulation.live_allocations());
    let x = GpuArray::full(&device, 100, 1.0)?;
    drop((&x + x.try_clone()? + 2.0).eval()?);
    let before = live()?;
    let sum = &x + x.try_clone()?;
    let (twice, negative) = (&sum * 2.0, -sum);
    ensure_eq!(live()?, before + 1);
    drop(negative);
    ensure_eq!(live()?, before + 1);
    let value = twice.eval()?;
    ensure_eq!(live()?, before + 2);
    drop((twice, value));
    ensure_eq!(live()?, before);
    // Neither an expression that is never evaluated nor one that fails keeps it.
    drop(x.try_clone()? * x.try_clone()?);
    drop((x.try_clone()? + GpuArray::full(&device, 7, 1.0)?).eval().err());
    ensure_eq!(live()?, before);
    Ok(())
}
