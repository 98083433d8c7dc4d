//! Sums of products over pairs of axes, against the reference.

use gpu_algos::{
    AlgoError,
    gpu_array::{ArrayError, GpuArray, gpu_driver::Device},
    matmul::{Precision, SummedAxes, tensordot, tensordot_into, tensordot_with_precision},
    prelude::*,
    reference,
};
use ndarray::{Array, ArrayD, Axis, Ix4, IxDyn, arr0, array, s};
use testkit::{Layout, Outcome, Rng, Test, ensure, ensure_eq, rng, tests};

use crate::layouts::{base, of_gpu};

pub const TESTS: &[Test<Device>] = tests![
    sums_over_pairs_have_numpys_values,
    sums_over_pairs_of_every_layout,
    random_sums_over_pairs,
    sums_over_pairs_of_floats_are_within_the_bound,
    sums_over_pairs_in_each_precision,
    sums_over_pairs_go_into_views,
    sums_over_pairs_of_no_elements,
    sums_over_pairs_propagate_nan,
    wrong_pairs_are_errors,
];

fn integer(rng: &mut Rng) -> i64 {
    rng.next_u64() as i64
}

/// The numbers 0, 1, 2, ….
fn counted(shape: &[usize]) -> ArrayD<i64> {
    let values = (0..shape.iter().product::<usize>() as i64).collect();
    Array::from_shape_vec(IxDyn(shape), values).unwrap_or_default()
}

pub fn sums_over_pairs_have_numpys_values(device: &Device) -> Outcome {
    let on = |shape: &[usize]| GpuArray::from_ndarray(device, &counted(shape));
    // The values of numpy.tensordot.
    let (a, b) = (on(&[3, 4, 5])?, on(&[4, 3, 2])?);
    let got = tensordot(&a, &b, ([1, 0], [0, 1]))?;
    let want = array![[4400, 4730], [4532, 4874], [4664, 5018], [4796, 5162], [4928, 5306]];
    ensure_eq!(got.to_ndarray()?, want.into_dyn());
    let (a, b) = (on(&[2, 2])?, on(&[2, 2])?);
    ensure_eq!(tensordot(&a, &b, 1)?.to_ndarray()?, array![[2, 3], [6, 11]].into_dyn());
    ensure_eq!(tensordot(&a, &b, 2)?.to_ndarray()?, arr0(14).into_dyn());
    ensure_eq!(tensordot(&a, &b, ([0, 1], [1, 0]))?.to_ndarray()?, arr0(13).into_dyn());
    let (x, y) = (on(&[2])?, on(&[3])?);
    ensure_eq!(tensordot(&x, &y, 0)?.to_ndarray()?, array![[0, 0, 0], [0, 1, 2]].into_dyn());
    ensure_eq!(tensordot(&x, &a, 1)?.to_ndarray()?, array![2, 3].into_dyn());
    Ok(())
}

/// Compares the sums of products of two arrays of integers in these layouts with the definition.
fn compare(device: &Device, rng: &mut Rng, layouts: [&Layout; 2], axes: &SummedAxes, case: &str) -> Outcome {
    let [x, y] = layouts.map(|layout| base(layout, rng, integer));
    let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    let got = tensordot(of_gpu(layouts[0], &a)?, of_gpu(layouts[1], &b)?, axes.clone())?;
    let want = reference::tensordot(layouts[0].of_host(x.view()), layouts[1].of_host(y.view()), axes.clone())?;
    ensure!(got.to_ndarray()? == want, "{case}, {axes:?}: {layouts:?}");
    ensure_eq!((case, got.is_standard_layout()), (case, true));
    Ok(())
}

pub fn sums_over_pairs_of_every_layout(device: &Device) -> Outcome {
    let mut rng = rng(81);
    let cases: [(&[usize], &[usize], SummedAxes); 3] = [
        (&[3, 17, 5], &[17, 3, 9], ([1, 0], [0, 1]).into()),
        (&[4, 33], &[6, 33, 2], ([1], [1]).into()),
        (&[5, 2, 3], &[7, 2], 0.into()),
    ];
    for (a, b, axes) in cases {
        let (left, right) = (Layout::each(a), Layout::each(b));
        // Each layout of a with one of b, and each of b with one of a.
        for i in 0..left.len().max(right.len()) {
            let ((left, on_left), (right, on_right)) = (&left[i % left.len()], &right[(3 * i + 1) % right.len()]);
            compare(device, &mut rng, [on_left, on_right], &axes, &format!("{left} by {right}"))?;
        }
    }
    Ok(())
}

/// A view of the shape whose axes lie in any order, with gaps or without.
fn layout(shape: &[usize], rng: &mut Rng) -> Layout {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    rng.shuffle(&mut order);
    let gaps = rng.below(2) == 0;
    let cut = |rng: &mut Rng| (rng.below(3), [1, 1, -1, 2, -2, 3][rng.below(6)], rng.below(2));
    let cuts: Vec<_> = shape.iter().map(|_| if gaps { cut(rng) } else { (0, 1, 0) }).collect();
    Layout::of(shape, order, &cuts)
}

pub fn random_sums_over_pairs(device: &Device) -> Outcome {
    let mut rng = rng(82);
    for case in 0..if device.is_emulated() { 40 } else { 200 } {
        let length = |rng: &mut Rng| [1, 2, 3, 5, 8, 9][rng.below(6)];
        let (free, pairs) = ([rng.below(3), rng.below(3)], rng.below(3));
        let summed: Vec<usize> = (0..pairs).map(|_| length(&mut rng)).collect();
        // Each summed axis is inserted somewhere, and those behind it move by one.
        let [(a, on_a), (b, on_b)] = free.map(|free| {
            let mut shape: Vec<(usize, Option<usize>)> = (0..free).map(|_| (length(&mut rng), None)).collect();
            for (pair, &length) in summed.iter().enumerate() {
                shape.insert(rng.below(shape.len() + 1), (length, Some(pair)));
            }
            let place = |pair| shape.iter().position(|&(_, of)| of == Some(pair)).unwrap_or_default();
            let axes: Vec<usize> = (0..pairs).map(place).collect();
            (shape.iter().map(|&(length, _)| length).collect::<Vec<_>>(), axes)
        });
        let layouts = [a, b].map(|shape| layout(&shape, &mut rng));
        compare(device, &mut rng, layouts.each_ref(), &SummedAxes::Pairs(on_a, on_b), &format!("case {case}"))?;
    }
    Ok(())
}

pub fn sums_over_pairs_of_floats_are_within_the_bound(device: &Device) -> Outcome {
    let mut rng = rng(83);
    let mut element = || rng.uniform() - 0.5;
    let x = ArrayD::from_shape_simple_fn(IxDyn(&[11, 13, 7]), &mut element);
    let y = ArrayD::from_shape_simple_fn(IxDyn(&[7, 10, 11]), &mut element);
    let axes = ([0, 2], [2, 0]);
    let (narrow_x, narrow_y) = (x.mapv(|x| x as f32), y.mapv(|y| y as f32));
    let (a, b) = (GpuArray::from_ndarray(device, &narrow_x)?, GpuArray::from_ndarray(device, &narrow_y)?);
    let got = tensordot(&a, &b, axes)?.to_ndarray()?;
    let (wide_x, wide_y) = (narrow_x.mapv(f64::from), narrow_y.mapv(f64::from));
    let want = reference::tensordot(&wide_x, &wide_y, axes)?;
    let sizes = reference::tensordot(&wide_x.mapv(f64::abs), &wide_y.mapv(f64::abs), axes)?;
    ensure_eq!(got.shape(), [13, 10]);
    let terms = 77.0 * f64::from(f32::EPSILON) / 2.0;
    for ((&got, &want), &size) in got.iter().zip(&want).zip(&sizes) {
        let error = (f64::from(got) - want).abs();
        ensure!(error <= 1.01 * terms / (1.0 - terms) * size, "got {got}, want {want}, sizes {size}");
    }
    // The same bits once more.
    ensure_eq!(tensordot(&a, &b, axes)?.to_ndarray()?.mapv(f32::to_bits), got.mapv(f32::to_bits));
    Ok(())
}

pub fn sums_over_pairs_in_each_precision(device: &Device) -> Outcome {
    let mut rng = rng(84);
    let mut random = |shape: &[usize]| ArrayD::from_shape_simple_fn(IxDyn(shape), || rng.uniform() as f32 - 0.5);
    let (x, y) = (random(&[16, 8, 40]), random(&[40, 8, 24]));
    let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    let axes = ([1, 2], [1, 0]);
    let want = reference::tensordot(&x.mapv(f64::from), &y.mapv(f64::from), axes)?;
    let strict = tensordot(&a, &b, axes)?.to_ndarray()?;
    for (precision, bound) in [(Precision::Strict, 1e-5), (Precision::Emulated, 1e-5), (Precision::Tf32, 1e-1)] {
        let got = tensordot_with_precision(precision.forced(), &a, &b, axes)?.to_ndarray()?;
        ensure!(got.iter().zip(&want).all(|(&got, want)| (f64::from(got) - want).abs() < bound), "{precision:?}");
        // Older devices have no such tensor cores.
        let is_strict = precision == Precision::Strict || device.arch().number() < 80;
        ensure_eq!((precision, got == strict), (precision, is_strict));
    }
    Ok(())
}

pub fn sums_over_pairs_go_into_views(device: &Device) -> Outcome {
    let mut rng = rng(85);
    let mut random = |shape: &[usize]| ArrayD::from_shape_simple_fn(IxDyn(shape), || integer(&mut rng));
    let (x, y, c) = (random(&[3, 4, 5]), random(&[5, 2, 6]), random(&[3, 4, 9, 7]));
    let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    let product = reference::tensordot(&x, &y, 1)?;
    // The axes of a and of b can be joined; those of b cannot; the target is reversed.
    let parts = [s![.., .., 3..5, ..6;1], s![.., .., ..;8, 1..], s![..;-1, .., 6..8, ..6;1]];
    for (case, part) in parts.into_iter().enumerate() {
        let (mut target, mut want) = (GpuArray::from_ndarray(device, &c)?.into_dimensionality::<Ix4>()?, c.clone());
        tensordot_into(&a, &b, 1, target.slice_mut(part)?)?;
        want.slice_mut(part).assign(&product);
        ensure!(target.to_ndarray()?.into_dyn() == want, "case {case}");
    }
    let mut whole = GpuArray::<i64, _>::zeros(device, (3, 4, 2, 6))?;
    tensordot_into(&a, &b, 1, &mut whole)?;
    ensure_eq!(whole.to_ndarray()?.into_dyn(), product);
    // A scalar, sums of no terms, and no sums.
    let ones = |shape: &[usize]| GpuArray::<i64, _>::full(device, IxDyn(shape), 1);
    for (a, b, result, want) in
        [(&[4][..], &[4][..], &[][..], 4), (&[2, 0], &[0, 3], &[2, 3], 0), (&[0, 3], &[3, 2], &[0, 2], 0)]
    {
        let mut target = GpuArray::<i64, _>::full(device, IxDyn(result), 7)?;
        tensordot_into(&ones(a)?, &ones(b)?, 1, &mut target)?;
        ensure!(target.to_ndarray()? == ArrayD::from_elem(IxDyn(result), want), "{a:?} by {b:?}");
    }
    let mut other = GpuArray::<i64, _>::full(device, (3, 4, 6, 2), 5)?;
    let refused = tensordot_into(&a, &b, 1, &mut other);
    ensure!(matches!(refused, Err(AlgoError::OutShape { .. })), "{refused:?}");
    ensure!(other.to_ndarray()?.iter().all(|&value| value == 5));
    Ok(())
}

pub fn sums_over_pairs_of_no_elements(device: &Device) -> Outcome {
    let on = |shape: &[usize]| GpuArray::<i32, _>::full(device, IxDyn(shape), 1);
    ensure_eq!(tensordot(&on(&[2, 0])?, &on(&[0, 3])?, 1)?.to_ndarray()?, ArrayD::zeros(IxDyn(&[2, 3])));
    ensure_eq!(tensordot(&on(&[2, 0, 4])?, &on(&[4, 0, 3])?, ([1, 2], [1, 0]))?.raw_dim(), IxDyn(&[2, 3]));
    ensure_eq!(tensordot(&on(&[0])?, &on(&[0])?, 1)?.get()?, 0);
    ensure_eq!(tensordot(&on(&[0, 4])?, &on(&[4, 3])?, 1)?.raw_dim(), IxDyn(&[0, 3]));
    ensure_eq!(tensordot(&on(&[])?, &on(&[3])?, 0)?.to_ndarray()?, array![1, 1, 1].into_dyn());
    ensure_eq!(tensordot(&on(&[])?, &on(&[])?, 0)?.get()?, 1);
    Ok(())
}

pub fn sums_over_pairs_propagate_nan(device: &Device) -> Outcome {
    let x = GpuArray::from_ndarray(device, &array![[[1.0, f64::NAN], [2.0, 3.0]], [[0.0, 1.0], [f64::INFINITY, 0.0]]])?;
    let y = GpuArray::from_ndarray(device, &array![[1.0, 2.0], [3.0, 0.0]])?;
    let got = tensordot(&x, &y, ([0, 1], [0, 1]))?.to_ndarray()?;
    ensure!(got[[0]].is_nan() && got[[1]].is_nan(), "{got}");
    let got = tensordot(x.slice(s![.., 0, ..])?, y.index_axis(Axis(0), 0)?, ([0], [0]))?.to_ndarray()?;
    ensure!(got[[0]] == 1.0 && got[[1]].is_nan(), "{got}");
    Ok(())
}

pub fn wrong_pairs_are_errors(device: &Device) -> Outcome {
    let (a, b) = (GpuArray::<i64, _>::full(device, (2, 3), 1)?, GpuArray::full(device, (4, 3), 1)?);
    let error = tensordot(&a, &b, 1).err();
    ensure!(
        matches!(error, Some(AlgoError::AxisLengths { left_axis: 1, right_axis: 0, ref left, ref right, .. })
            if left[..] == [2, 3] && right[..] == [4, 3]),
        "{error:?}"
    );
    let error = tensordot(&a, &b, 3).err();
    let is_axis =
        |axis| matches!(error, Some(AlgoError::Array(ArrayError::Axis { axis: got, ndim: 2, .. })) if got == axis);
    ensure!(is_axis(2), "{error:?}");
    let error = tensordot(&a, &b, ([1, 1], [1, 1])).err();
    ensure!(matches!(error, Some(AlgoError::RepeatedAxis { op: "tensordot", axis: 1 })), "{error:?}");
    let lists: (&[usize], &[usize]) = (&[1], &[]);
    let error = tensordot(&a, &b, lists).err();
    ensure!(matches!(error, Some(AlgoError::AxisPairs { left: 1, right: 0, .. })), "{error:?}");
    // They are right as pairs of columns.
    ensure_eq!(tensordot(&a, &b, ([1], [1]))?.to_ndarray()?, (&a).matmul(b.t()).eval()?.to_ndarray()?.into_dyn());
    Ok(())
}
