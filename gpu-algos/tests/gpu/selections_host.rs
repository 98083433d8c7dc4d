//! Selections by code for either place, on the host and on a device, against the reference.

use gpu_algos::{
    AlgoError,
    gpu_array::{
        ArrayError, Complex, Element, GpuArray,
        expression::{Expr, Gpu, Host, IntoExpr, host, index},
        f16,
        gpu_driver::Device,
    },
    operators::Summand,
    prelude::*,
    reduce::Reduces,
    reference,
    select::Selects,
};
use ndarray::{Array, Array1, ArrayD, ArrayView1, ArrayViewD, Axis, Dimension, Ix1, Ix2, IxDyn, arr0, array};
use testkit::{Layout, Outcome, Rng, Test, ensure, ensure_eq, rng, same, tests};

use crate::layouts::{base, of_gpu};

pub const TESTS: &[Test<Device>] = tests![
    selections_of_every_type_have_the_same_code,
    selections_of_any_layout_have_the_same_code,
    selections_of_expressions_have_the_same_code,
    wrong_selections_are_the_same_errors,
    the_host_evaluates_selections,
];

/// A place whose arrays a test makes and reads.
trait Place: Selects {
    fn make<T: Element, D: Dimension>(device: &Device, x: &Array<T, D>) -> gpu_algos::Result<Self::Owned<T, D>>;
    fn read<T: Element, D: Dimension>(x: Self::Owned<T, D>) -> gpu_algos::Result<Array<T, D>>;
}

impl Place for Gpu {
    fn make<T: Element, D: Dimension>(device: &Device, x: &Array<T, D>) -> gpu_algos::Result<GpuArray<T, D>> {
        Ok(GpuArray::from_ndarray(device, x)?)
    }
    fn read<T: Element, D: Dimension>(x: GpuArray<T, D>) -> gpu_algos::Result<Array<T, D>> {
        Ok(x.to_ndarray()?)
    }
}

impl Place for Host {
    fn make<T: Element, D: Dimension>(_: &Device, x: &Array<T, D>) -> gpu_algos::Result<Array<T, D>> {
        Ok(x.clone())
    }
    fn read<T: Element, D: Dimension>(x: Array<T, D>) -> gpu_algos::Result<Array<T, D>> {
        Ok(x)
    }
}

/// Shape and bits, by which NaN is equal to itself.
type Bits = (Vec<usize>, Vec<[u64; 2]>);

fn bits<T: Element, D: Dimension>(x: &Array<T, D>) -> Bits {
    (x.shape().to_vec(), x.iter().map(|x| x.to_words()).collect())
}

/// The results of all selections, each once.
fn selections_of<P: Place, T: Element, D: Dimension>(
    device: &Device,
    x: &Expr<'_, T, D, P>,
    mask: &Expr<'_, bool, D, P>,
    along: &[Array1<bool>],
) -> Result<Vec<Bits>, Box<dyn std::error::Error>> {
    let (selected, others) = x.partition(mask).to_arrays()?;
    let (values, offsets, lengths) = x.run_length_encode().to_arrays()?;
    let of_values = [x.select(mask).to_array()?, selected, others, x.unique().to_array()?, values];
    let mut indices = vec![x.nonzero().to_array()?, mask.nonzero().to_array()?, offsets, lengths];
    indices.extend(x.nonzero_axes()?);
    let mut all = Vec::new();
    for values in of_values {
        all.push(bits(&P::read(values)?));
    }
    for indices in indices {
        all.push(bits(&P::read(indices)?));
    }
    for (axis, mask) in along.iter().enumerate() {
        let mask = P::make(device, mask)?;
        all.push(bits(&P::read(x.compress(&P::expr(&mask), Axis(axis))?)?));
    }
    Ok(all)
}

/// Each selection by its definition.
fn wanted<T: Summand>(
    x: ArrayViewD<'_, T>,
    mask: ArrayViewD<'_, bool>,
    along: &[Array1<bool>],
) -> gpu_algos::Result<Vec<Bits>> {
    let in_order: Vec<T> = x.iter().copied().collect();
    let runs = reference::run_length_encode(ArrayView1::from(&in_order));
    let (parted, selected) = reference::partition_by_mask(x.view(), mask.view())?;
    let (selected, others) = parted.view().split_at(Axis(0), selected);
    let select = reference::select(x.view(), mask.view())?;
    let of_values = [select, selected.to_owned(), others.to_owned(), runs.values.clone(), runs.values];
    let flat = [reference::flat_nonzero(x.view()), reference::flat_nonzero(mask), runs.offsets, runs.lengths];
    let axes = reference::nonzero(x.view())?;
    let mut all: Vec<Bits> = of_values.iter().map(bits).chain(flat.iter().chain(&axes).map(bits)).collect();
    for (axis, mask) in along.iter().enumerate() {
        all.push(bits(&reference::compress(x.view(), mask, Axis(axis))?));
    }
    Ok(all)
}

fn flags(rng: &mut Rng, n: usize) -> Array1<bool> {
    (0..n).map(|_| rng.below(3) > 0).collect()
}

/// Both places against the definitions, for views of random elements.
fn check<T: Summand>(device: &Device, layout: &Layout, seed: u64, about: &str, element: fn(&mut Rng) -> T) -> Outcome {
    let mut rng = rng(seed);
    let (x, m) = (base(layout, &mut rng, element), base(layout, &mut rng, |rng| rng.below(2) == 0));
    let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &m)?);
    let (a, b) = (of_gpu(layout, &a)?, of_gpu(layout, &b)?);
    let (x, m) = (layout.of_host(x.view()), layout.of_host(m.view()));
    let along: Vec<Array1<bool>> = x.shape().iter().map(|&n| flags(&mut rng, n)).collect();
    let want = wanted(x.view(), m.view(), &along)?;
    let about = format!("{} of {:?}, {about}", T::DTYPE, x.shape());
    let got = selections_of::<Gpu, T, IxDyn>(device, &a.into_expr(), &b.into_expr(), &along)?;
    same(&got, &want, format!("{about}, on a device"))?;
    let got = selections_of::<Host, T, IxDyn>(device, &host(x.view()), &host(m.view()), &along)?;
    same(&got, &want, format!("{about}, on the host"))
}

fn selections_of_every_type_have_the_same_code(device: &Device) -> Outcome {
    fn each<T: Summand>(device: &Device, element: fn(&mut Rng) -> T) -> Outcome {
        for (seed, shape) in [&[0][..], &[1], &[31], &[32], &[33], &[1000], &[7, 5], &[4, 0]].into_iter().enumerate() {
            check(device, &Layout::whole(shape), seed as u64, "in C order", element)?;
        }
        Ok(())
    }
    each(device, |rng| rng.below(3) as i32 - 1)?;
    each(device, |rng| rng.below(2) as u8)?;
    each(device, |rng| [0.0, -0.0, 1.5, f64::NAN, f64::INFINITY][rng.below(5)])?;
    each(device, |rng| Complex::new(rng.below(2) as f32, [0.0, f32::NAN, 1.0][rng.below(3)]))?;
    each(device, |rng| [f16::ZERO, f16::NEG_ZERO, f16::ONE, f16::NAN][rng.below(4)])?;
    each(device, |rng| rng.below(2) == 0)
}

fn selections_of_any_layout_have_the_same_code(device: &Device) -> Outcome {
    for shape in [&[33, 5][..], &[2, 3, 4]] {
        for (name, layout) in Layout::each(shape) {
            check(device, &layout, 7, name, |rng| [0.0, 1.0, f32::NAN][rng.below(3)])?;
        }
    }
    Ok(())
}

/// Code for either place, which reduces and selects.
fn of_expressions<P: Place + Reduces<f64>>(
    device: &Device,
    x: &Array<f64, Ix2>,
) -> Result<Vec<Bits>, Box<dyn std::error::Error>> {
    let x = P::make(device, x)?;
    let x = P::expr(&x);
    let places = (index::<Ix2, P>(Axis(1)) + 3 * index::<Ix2, P>(Axis(0))).broadcast((2, 3));
    let (large, others) = (&x * 2.0).partition(x.gt(x.mean())).to_arrays()?;
    let (values, offsets, lengths) = x.gt(3.0).run_length_encode().to_arrays()?;
    let parts = (&x - 1.0).eval()?;
    let parts = P::expr(&parts).compress(P::expr(&P::make(device, &array![true, false, true])?), Axis(1))?;
    Ok(vec![
        bits(&P::read(x.select((&places % 2).eq(0)).to_array()?)?),
        bits(&P::read(large)?),
        bits(&P::read(others)?),
        bits(&P::read((&x - x.min()).nonzero().to_array()?)?),
        bits(&P::read((&x / 4.0).floor().unique().to_array()?)?),
        bits(&P::read(values)?),
        bits(&P::read(offsets)?),
        bits(&P::read(lengths)?),
        bits(&P::read(parts)?),
        bits(&P::read(x.gt(2.0).nonzero_axes()?.swap_remove(1))?),
    ])
}

fn selections_of_expressions_have_the_same_code(device: &Device) -> Outcome {
    let x = array![[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]];
    let want = vec![
        bits(&array![0.0, 2.0, 4.0]),
        bits(&array![6.0, 8.0, 10.0]),
        bits(&array![0.0, 2.0, 4.0]),
        bits(&array![1i64, 2, 3, 4, 5]),
        bits(&array![0.0, 1.0]),
        bits(&array![false, true]),
        bits(&array![0i64, 4]),
        bits(&array![4i64, 2]),
        bits(&array![[-1.0, 1.0], [2.0, 4.0]]),
        bits(&array![0i64, 1, 2]),
    ];
    same(&of_expressions::<Host>(device, &x)?, &want, "on the host")?;
    same(&of_expressions::<Gpu>(device, &x)?, &want, "on a device")
}

/// The errors of wrong selections.
fn errors_of<P: Place>(device: &Device) -> Result<Vec<Option<AlgoError>>, Box<dyn std::error::Error>> {
    let x = P::make(device, &Array::<f32, Ix2>::ones((4, 5)))?;
    let turned = P::make(device, &Array::from_elem((5, 4), true))?;
    let long = P::make(device, &Array1::from_elem(4, true))?;
    let (short, scalar) = (P::make(device, &Array::<f32, Ix1>::ones(3))?, P::make(device, &arr0(1.0f32))?);
    let (x, turned, long, short, scalar) =
        (P::expr(&x), P::expr(&turned), P::expr(&long), P::expr(&short), P::expr(&scalar));
    let wrong = &x + &short;
    Ok(vec![
        x.unique().to_array().err(),
        x.select(&turned).to_array().err(),
        x.partition(&turned).to_arrays().err(),
        x.compress(&long, Axis(1)).err(),
        x.compress(&long, Axis(2)).err(),
        (&x + 1.0).compress(&long, Axis(0)).err(),
        scalar.nonzero_axes().err(),
        wrong.unique().to_array().err(),
        wrong.nonzero().to_array().err(),
        wrong.nonzero_axes().err(),
        wrong.run_length_encode().to_arrays().err(),
        wrong.select(wrong.gt(0.0)).to_array().err(),
    ])
}

fn wrong_selections_are_the_same_errors(device: &Device) -> Outcome {
    use AlgoError::{Array, Length, Shape};
    let (on_host, on_device) = (errors_of::<Host>(device)?, errors_of::<Gpu>(device)?);
    for errors in [&on_host, &on_device] {
        let [
            None,
            Some(Shape { .. }),
            Some(Shape { .. }),
            Some(Length { op: "compress", left: 5, right: 4 }),
            Some(Array(ArrayError::Axis { op: "compress", axis: 2, ndim: 2 })),
            Some(Array(ArrayError::NotAnArray { .. })),
            Some(Array(ArrayError::Axis { op: "nonzero", axis: 0, ndim: 0 })),
            further @ ..,
        ] = &errors[..]
        else {
            return Err(format!("{errors:?}").into());
        };
        ensure!(further.iter().all(|error| matches!(error, Some(Array(ArrayError::Operands { .. })))), "{further:?}");
    }
    let texts = |errors: Vec<Option<AlgoError>>| errors.into_iter().flatten().map(|error| error.to_string()).collect();
    let (got, want): (Vec<String>, Vec<String>) = (texts(on_host), texts(on_device));
    same(&got, &want, "errors")
}

fn the_host_evaluates_selections(_: &Device) -> Outcome {
    let x = array![[3, 3, 1], [1, 0, 0]];
    let y = host(&x);
    ensure_eq!(y.nonzero().eval()?, array![0, 1, 2, 3]);
    ensure_eq!(host(x.t()).unique().eval()?, array![3, 1, 3, 0, 1, 0]);
    ensure_eq!(y.select(y.gt(1)).eval()?, array![3, 3]);
    ensure_eq!(y.partition(y.lt(3)).eval()?, (array![1, 1, 0, 0, 3, 3], 4));
    let runs = (&y * 2).run_length_encode().eval()?;
    ensure_eq!((runs.values, runs.offsets, runs.lengths), (array![6, 2, 0], array![0, 2, 4], array![2, 2, 2]));
    let one = arr0(f64::NAN);
    ensure_eq!((host(&one).nonzero().eval()?, host(&one).unique().eval()?.len()), (array![0], 1));
    let dynamic: ArrayD<i32> = x.clone().into_dyn();
    ensure_eq!(host(&dynamic).compress(host(&array![false, true]), Axis(0))?, array![[1, 0, 0]].into_dyn());
    // An array that a view broadcasts has its elements once.
    let broadcast = x.broadcast((2, 2, 3)).ok_or("a shape")?;
    ensure_eq!(host(broadcast).nonzero().eval()?, array![0, 1, 2, 3, 6, 7, 8, 9]);
    Ok(())
}
