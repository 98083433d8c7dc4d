//! Large graphs on a device, errors, and errors that an operator could not return.

use gpu_array::{
    ArrayError, DType, GpuArray, PinnedArray, Result,
    expression::{Expr, Gpu, Outside, constant, eval_all, index, roll, take},
};
use gpu_driver::{Device, DriverError, PARAMETER_BYTES, emulated::Emulated};
use ndarray::{Array2, Axis, Ix0, Ix1, Ix2, arr0, array, s};
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

pub const TESTS: &[Test<Device>] = tests![
    too_many_operations_are_an_error,
    as_many_arguments_as_fit_work,
    what_is_shared_is_computed_once,
    shapes_that_do_not_fit_are_told,
    what_has_no_array_needs_a_home,
    only_arrays_are_read_at_computed_places,
    a_failed_operator_is_reported_by_every_later_use,
    an_array_that_is_overwritten_has_no_failed_operator,
    a_failed_operator_on_a_view_is_reported_by_its_array,
    a_failed_operator_is_reported_by_expressions,
    failed_assignments_leave_the_array,
    empty_arrays_and_single_values,
    exchanged_buffers_are_errors,
];

/// Tests with a device of their own: the error that a drop reports would reach any other test that waits for the device.
pub const ALONE: &[Test<()>] = tests![a_failed_operator_that_nobody_asked_about_is_reported_by_the_device];

/// Safe code can give an array the buffer of another: whatever then leaves it is an error, and neither is touched.
fn exchanged_buffers_are_errors(device: &Device) -> Outcome {
    let exchanged = || -> Result<(GpuArray<f32, Ix2>, GpuArray<f32, Ix1>)> {
        let mut large = GpuArray::full(device, (3, 4), 1f32)?;
        let mut small = GpuArray::full(device, 5, 2f32)?;
        std::mem::swap(large.as_mut_device_vec(), small.as_mut_device_vec());
        Ok((large, small))
    };
    let is_told = |outcome: Result<()>, call: &str| {
        let outcome = outcome.map_err(|error| match error {
            ArrayError::Operator { source, .. } => *source,
            other => other,
        });
        let right = matches!(&outcome, Err(ArrayError::Length { expected: 12, got: 5, .. }))
            || matches!(&outcome, Err(ArrayError::Driver(DriverError::Length { .. })));
        if right { Ok(()) } else { Err(format!("{call}: {outcome:?}")) }
    };
    let (mut wrong, right) = exchanged()?;
    let other = GpuArray::full(device, (3, 4), 3f32)?;
    is_told((&wrong + 1.0).eval().map(drop), "read")?;
    is_told((&other * &wrong).eval().map(drop), "read beside another")?;
    is_told(wrong.t().to_ndarray().map(drop), "a transpose on the host")?;
    is_told(wrong.to_ndarray().map(drop), "on the host")?;
    is_told(wrong.to_owned().map(drop), "a copy")?;
    is_told(
        wrong.slice(s![2, 1..])?.to_ndarray().map(drop).map_err(|error| match error {
            ArrayError::Length { .. } | ArrayError::Driver(_) => {
                ArrayError::Length { shape: vec![], expected: 12, got: 5 }
            }
            other => other,
        }),
        "a part on the host",
    )?;
    is_told(wrong.assign(&other), "assigned")?;
    is_told(wrong.assign(constant::<f32, Gpu>(7.0)), "assigned a number")?;
    is_told(wrong.t_mut().assign(other.t()), "its transpose assigned")?;
    is_told(wrong.fill(7.0), "filled")?;
    is_told(
        wrong.slice_mut(s![.., ..;2])?.fill(7.0).map_err(|error| match error {
            ArrayError::Length { shape, got: 5, .. } => ArrayError::Length { shape, expected: 12, got: 5 },
            other => other,
        }),
        "filled in part",
    )?;
    is_told(wrong.update(|x| x + 1.0), "updated")?;
    is_told(wrong.copy_from_ndarray(&Array2::from_elem((3, 4), 9f32)), "copied to")?;
    is_told(wrong.view_mut().lower_mut().map(drop), "lowered")?;
    wrong += 1.0;
    is_told(wrong.take_error(), "added to")?;
    wrong += &other;
    is_told(wrong.take_error(), "added to by an array")?;
    // Elements that are there are all right.
    ensure_eq!(wrong.slice(s![0, ..])?.to_ndarray()?, array![2.0, 2.0, 2.0, 2.0]);
    wrong.slice_mut(s![0, ..])?.fill(4.0)?;
    ensure_eq!(right.to_ndarray()?, array![1.0, 1.0, 1.0, 1.0, 1.0]);
    ensure_eq!(right.into_device_vec().to_vec()?, vec![1.0; 12]);
    ensure_eq!(wrong.into_device_vec().to_vec()?, vec![4.0, 4.0, 4.0, 4.0, 2.0]);
    Ok(())
}

fn too_many_operations_are_an_error(device: &Device) -> Outcome {
    let device = device.clone();
    let work = move || -> Result<()> {
        let x = GpuArray::full(&device, 3, 1.0f32)?;
        let mut sum = &x + 0.0;
        for _ in 0..200_000 {
            sum = sum + 1.0;
        }
        let error = sum.eval().map(drop);
        let told = matches!(error, Err(ArrayError::TooManyOperations { limit: 4096, got: 200_001 }));
        assert!(told, "{error:?}");
        drop(sum);
        Ok(())
    };
    // A recursion over the graph would overflow this stack.
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(work)?;
    thread.join().map_err(|_| "a panic, told above")??;
    Ok(())
}

fn as_many_arguments_as_fit_work(device: &Device) -> Outcome {
    // Of the linear loop's words, 3 are lengths and the output, 3 the array, 1 the empty list of extra words; each scalar is one.
    let most = PARAMETER_BYTES / 8 - 7;
    let x = GpuArray::from_ndarray(device, &array![1i64, 10, 100])?;
    let sum = |n: usize| (0..n).fold(&x + 0, |sum, i| sum + i as i64);
    // The machine's C++ compiler takes most of a minute for it.
    if !device.is_emulated() {
        ensure_eq!(sum(most - 1).eval()?.to_ndarray()?, array![1, 10, 100] + ((most - 1) * (most - 2) / 2) as i64);
    }
    let error = sum(most).eval().map(drop);
    let told = matches!(error, Err(ArrayError::TooManyArguments { limit: PARAMETER_BYTES, got }) if got == PARAMETER_BYTES + 8);
    ensure!(told, "{error:?}");
    let arrays = (0..300).map(|i| GpuArray::full(device, 3, i)).collect::<Result<Vec<_>>>()?;
    let sum = arrays.iter().fold(&x + 0, |sum, array| sum + array);
    let error = sum.eval().map(drop);
    ensure!(matches!(error, Err(ArrayError::TooManyArguments { .. })), "{error:?}");
    Ok(())
}

fn what_is_shared_is_computed_once(device: &Device) -> Outcome {
    // 2^100 additions if not.
    let x = GpuArray::from_ndarray(device, &array![1.0, -3.0])?;
    let doubled = (0..100).fold(&x + 0.0, |y, _| &y + &y);
    ensure_eq!(doubled.eval()?.to_ndarray()?, array![1.0, -3.0] * 2f64.powi(100));
    // One array is one argument however often it is read.
    let many = (0..1000).fold(&x + 0.0, |y, _| y + &x);
    ensure_eq!(many.eval()?.to_ndarray()?, array![1001.0, -3003.0]);
    Ok(())
}

fn shapes_that_do_not_fit_are_told(device: &Device) -> Outcome {
    let (x, y) = (GpuArray::<f32, _>::zeros(device, (3, 4))?, GpuArray::<i16, _>::zeros(device, 5)?);
    let error = (2.0 * &x + &y).eval().map(drop);
    let Err(ArrayError::Operands { left, left_dtype, right, right_dtype, expression }) = error else {
        return Err(format!("{error:?}").into());
    };
    ensure_eq!((left, right), (vec![3, 4], vec![5]));
    ensure_eq!((left_dtype, right_dtype), (DType::F32, DType::F32));
    ensure_eq!(expression, "((2 * float32[3, 4]) + float32(int16[5]))");
    let both = eval_all((&x, &y)).map(drop);
    let told = matches!(&both, Err(ArrayError::Outputs { first, other }) if *first == [3, 4] && *other == [5]);
    ensure!(told, "{both:?}");
    Ok(())
}

fn what_has_no_array_needs_a_home(device: &Device) -> Outcome {
    let seven: Expr<'_, i32, Ix0> = constant(7);
    ensure!(matches!(seven.eval(), Err(ArrayError::NoHome)));
    ensure_eq!((&seven * 2).eval_on(device)?.to_ndarray()?, arr0(14));
    let places = index::<Ix2, Gpu>(Axis(0)) - index::<Ix2, _>(Axis(1));
    ensure!(matches!(places.eval_on(device), Err(ArrayError::NoShape)));
    ensure!(matches!(places.broadcast((2, 2)).eval(), Err(ArrayError::NoHome)));
    ensure_eq!(places.broadcast((2, 2)).eval_on(device)?.to_ndarray()?, array![[0, -1], [1, 0]]);
    let wrong = index::<Ix1, Gpu>(Axis(1)).broadcast(3).eval_on(device);
    ensure!(matches!(wrong, Err(ArrayError::Axis { axis: 1, ndim: 1, .. })));
    Ok(())
}

fn only_arrays_are_read_at_computed_places(device: &Device) -> Outcome {
    let x = GpuArray::from_ndarray(device, &array![1.0, 2.0])?;
    let i = GpuArray::from_ndarray(device, &array![1i64, 0])?;
    let sum = take(&x + 1.0, &i, Outside::Wrap).eval().map(drop);
    let told = matches!(&sum, Err(ArrayError::NotAnArray { expression, .. }) if expression == "(float64[2] + 1)");
    ensure!(told, "{sum:?}");
    // Nor the array that is written: another thread may have been there.
    let mut y = x.try_clone()?;
    let rolled = y.update(|y| roll(y, 1, Axis(0)));
    ensure!(matches!(rolled, Err(ArrayError::NotAnArray { op: "roll", .. })), "{rolled:?}");
    ensure_eq!(y.to_ndarray()?, array![1.0, 2.0]);
    Ok(())
}

fn host() -> Array2<f32> {
    array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
}

type Call = (&'static str, fn(&mut GpuArray<f32, Ix2>) -> Result<()>);

/// Calls that read or write an array.
const CALLS: &[Call] = &[
    ("to_ndarray", |x| x.to_ndarray().map(drop)),
    ("copy_to_ndarray", |x| x.copy_to_ndarray(&mut Array2::zeros((2, 3)))),
    ("copy_from_ndarray", |x| x.copy_from_ndarray(&host())),
    ("get", |x| x.slice(s![0, 0])?.get().map(drop)),
    ("to_owned", |x| x.t().to_owned().map(drop)),
    ("try_clone", |x| x.try_clone().map(drop)),
    ("fill", |x| x.slice_mut(s![0, ..1])?.fill(1.0)),
    ("fill of all", |x| x.fill(1.0)),
    ("upload", |x| x.upload(PinnedArray::from_ndarray(x.device(), &host())?)?.wait().map(drop)),
    ("download", |x| x.download(PinnedArray::zeros(x.device(), (2, 3))?)?.wait().map(drop)),
    ("eval", |x| (&*x + 1.0).eval().map(drop)),
    ("eval of a view", |x| (x.t() * 2.0).eval().map(drop)),
    ("eval_all", |x| eval_all((&*x, x.sqrt())).map(drop)),
    ("take", |x| take(x.slice(s![0, ..])?, index::<Ix1, Gpu>(Axis(0)).broadcast(3), Outside::Clip).eval().map(drop)),
    ("assign", |x| x.assign(constant::<_, Gpu>(1.0).broadcast(3))),
    ("assign to a view", |x| x.slice_mut(s![.., 1])?.assign(constant::<_, Gpu>(1.0))),
    ("update", |x| x.update(|x| x * 1.0)),
    ("update of a view", |x| x.slice_mut(s![.., 1])?.update(|x| x * 1.0)),
];

/// Whether the error is that of `op` for an array of shape [2, 3] with one of shape [5], and tells the line on which it stands.
fn is_of(outcome: &Result<()>, wanted: &str, line: u32) -> bool {
    let Err(error @ ArrayError::Operator { op, location, source }) = outcome else { return false };
    let shapes = matches!(&**source, ArrayError::Operands { left, right, .. } if *left == [2, 3] && *right == [5]);
    let text = format!("`{wanted}` at {}:{line}:", file!());
    shapes && *op == wanted && location.line() == line && error.to_string().starts_with(&text)
}

/// The calls of [`CALLS`] that overwrite all of an array.
const OVERWRITING: [&str; 4] = ["copy_from_ndarray", "upload", "assign", "fill of all"];

fn a_failed_operator_is_reported_by_every_later_use(device: &Device) -> Outcome {
    let five = GpuArray::<f32, _>::zeros(device, 5)?;
    for (name, call) in CALLS {
        let mut x = GpuArray::from_ndarray(device, &host())?;
        let line = line!() + 1;
        x += &five;
        x *= 2.0; // not done either: the error comes first
        let first = call(&mut x);
        ensure!(is_of(&first, "+=", line), "{name}: {first:?}");
        x -= 1.0; // nor is this
        let printed = x.to_string();
        ensure!(printed.contains("+=") && printed.contains("[5]"), "{name}: {printed}");
        for (other, another) in CALLS.iter().filter(|(other, _)| !OVERWRITING.contains(other)) {
            let later = another(&mut x);
            ensure!(is_of(&later, "+=", line), "{name}, then {other}: {later:?}");
        }
        let taken = x.take_error();
        ensure!(is_of(&taken, "+=", line) && x.take_error().is_ok(), "{name}: {taken:?}");
        ensure!(x.to_ndarray()? == host(), "{name}: {x}");
        let second = call(&mut x);
        ensure!(second.is_ok(), "{name}, again: {second:?}");
    }
    // Each use told it, and the array is gone: nobody else is told.
    drop(five);
    device.synchronize()?;
    Ok(())
}

fn an_array_that_is_overwritten_has_no_failed_operator(device: &Device) -> Outcome {
    let five = GpuArray::<f32, _>::zeros(device, 5)?;
    for (name, call) in CALLS.iter().filter(|(name, _)| OVERWRITING.contains(name)) {
        let mut x = GpuArray::from_ndarray(device, &host())?;
        let line = line!() + 1;
        x -= &five;
        let first = call(&mut x);
        ensure!(is_of(&first, "-=", line), "{name}: {first:?}");
        call(&mut x)?;
        x.to_ndarray()?;
        x += 1.0;
        x.take_error()?;
    }
    // A part is not all, and a value that reads the array is no new one.
    let mut x = GpuArray::from_ndarray(device, &host())?;
    x += &five;
    ensure!(x.take_error().is_err());
    x += &five;
    ensure!(x.to_ndarray().is_err());
    ensure!(x.slice_mut(s![.., 1..])?.fill(1.0).is_err() && x.update(|x| x * 0.0).is_err());
    x.view_mut().assign(constant::<f32, Gpu>(1.0))?;
    ensure_eq!(x.to_ndarray()?, Array2::ones((2, 3)));
    Ok(())
}

fn a_failed_operator_on_a_view_is_reported_by_its_array(device: &Device) -> Outcome {
    let mut x = GpuArray::from_ndarray(device, &host())?;
    let five = GpuArray::<f32, _>::zeros(device, 5)?;
    let mut column = x.slice_mut(s![.., ..;2])?;
    column += 1.0;
    column *= &GpuArray::full(device, 2, 10f32)?;
    ensure_eq!(x.to_ndarray()?, array![[20.0, 2.0, 40.0], [50.0, 5.0, 70.0]]);
    let mut all = x.t_mut();
    let line = line!() + 1;
    all /= &five;
    ensure!(matches!(all.to_ndarray(), Err(ArrayError::Operator { op: "/=", .. })));
    let Err(ArrayError::Operator { location, .. }) = x.to_ndarray() else { return Err("no error".into()) };
    ensure_eq!((location.line(), location.file()), (line, file!()));
    ensure!(x.take_error().is_err());
    ensure_eq!(x.to_ndarray()?, array![[20.0, 2.0, 40.0], [50.0, 5.0, 70.0]]);
    Ok(())
}

fn a_failed_operator_that_nobody_asked_about_is_reported_by_the_device(&(): &()) -> Outcome {
    let device = &Emulated::new().open()?;
    let lose: [fn(GpuArray<f32, Ix2>); 7] = [
        drop,
        |x| drop(x.into_device_vec()),
        |x| drop(x.into_shape(7)),
        |x| drop(-x),
        |x| drop(-(x + 1.0)),
        // A value that is lowered and never evaluated, and a shape.
        |x| drop((&x + 1.0).lower_deferred()),
        |x| drop((&x + 1.0).shape()),
    ];
    for lose in lose {
        let (mut x, mut sound) = (GpuArray::from_ndarray(device, &host())?, GpuArray::from_ndarray(device, &host())?);
        let line = line!() + 1;
        x += &GpuArray::<f32, _>::zeros(device, 5)?;
        lose(x);
        // An operator has no result to return it by, and is not what failed.
        sound += 1.0;
        let text = device.synchronize().map_err(|error| error.to_string());
        let place = format!("while dropping an array: `+=` at {}:{line}:", file!());
        ensure!(matches!(&text, Err(text) if text.starts_with(&place) && text.contains("[5]")), "{text:?}");
        device.synchronize()?;
        ensure_eq!(sound.to_ndarray()?, host() + 1.0);
    }
    Ok(())
}

fn a_failed_operator_is_reported_by_expressions(device: &Device) -> Outcome {
    let (mut x, y) = (GpuArray::from_ndarray(device, &host())?, GpuArray::from_ndarray(device, &host())?);
    x -= &GpuArray::<f32, _>::zeros(device, 5)?;
    // Another array's expression that reads it, and one that does not.
    ensure_eq!((&y + &y).eval()?.to_ndarray()?, host() * 2.0);
    ensure!(matches!((&y + &x).eval(), Err(ArrayError::Operator { .. })));
    // It is the error of an operator that reads the array, too.
    let mut z = y.try_clone()?;
    z += &x;
    let Err(ArrayError::Operator { op: "+=", source, .. }) = z.take_error() else { return Err("no error".into()) };
    ensure!(matches!(*source, ArrayError::Operator { op: "-=", .. }), "{source:?}");
    // It stays with the array when that changes its shape, or becomes part of an expression.
    let x = x.into_shape(6)?.into_dyn();
    ensure!(matches!(x.to_ndarray(), Err(ArrayError::Operator { .. })));
    let sum = x + 1.0;
    ensure!(matches!(sum.eval(), Err(ArrayError::Operator { .. })));
    ensure!(matches!(sum.eval(), Err(ArrayError::Operator { .. })));
    Ok(())
}

fn failed_assignments_leave_the_array(device: &Device) -> Outcome {
    let mut x = GpuArray::from_ndarray(device, &host())?;
    let (wide, five) = (GpuArray::<f32, _>::zeros(device, (2, 2, 3))?, GpuArray::<f32, _>::zeros(device, 5)?);
    ensure!(matches!(x.assign(&five), Err(ArrayError::Operands { .. })));
    ensure!(x.assign(&wide).is_err());
    ensure!(x.update(|x| x + &five).is_err());
    ensure!(x.slice_mut(s![.., ..1])?.assign(&wide).is_err());
    // An array is not broadcast by a value that is assigned to it.
    let mut row = GpuArray::<f32, _>::zeros(device, (1, 3))?;
    ensure!(row.assign(&x).is_err());
    ensure_eq!((x.to_ndarray()?, row.to_ndarray()?), (host(), Array2::zeros((1, 3))));
    Ok(())
}

fn empty_arrays_and_single_values(device: &Device) -> Outcome {
    let mut none = GpuArray::<f32, _>::zeros(device, (0, 3))?;
    ensure_eq!((&none + 1.0).eval()?.to_ndarray()?, Array2::zeros((0, 3)));
    none += 1.0;
    none.assign(constant::<_, Gpu>(1.0))?;
    let one = GpuArray::from_ndarray(device, &arr0(2.5f64))?;
    ensure_eq!((&one * &one).eval()?.get()?, 6.25);
    ensure_eq!((&none + one.cast::<f32>()).eval()?.shape().to_vec(), [0, 3]);
    Ok(())
}
