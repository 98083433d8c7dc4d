//! Sums of products by labels of axes, against the reference.

use std::iter;

use gpu_algos::{
    AlgoError,
    einsum::{EinsumElement, einsum, einsum_with_precision, inner, kron},
    gpu_array::{Complex, GpuArray, f16, gpu_driver::Device},
    host,
    matmul::Precision,
    prelude::*,
    reference,
};
use ndarray::{ArrayD, Axis, IxDyn, arr0, array, s};
use testkit::{Layout, Outcome, Rng, Test, ensure, ensure_eq, rng, tests};

use crate::layouts::{base, of_gpu};

pub const TESTS: &[Test<Device>] = tests![
    einsums_have_numpys_values,
    einsums_of_every_layout,
    random_einsums,
    einsums_of_every_type,
    einsums_of_floats_are_within_the_bound,
    einsums_in_a_precision_are_matrix_products_in_it,
    einsums_of_no_elements,
    einsums_propagate_nan,
    kronecker_and_inner_products,
    wrong_einsums_are_errors,
];

/// Random subscripts, and the shapes of their operands.
pub struct Case {
    pub subscripts: String,
    pub shapes: Vec<Vec<usize>>,
}

impl Case {
    /// Up to three operands with up to three letters, of four, and up to two axes of an ellipsis.
    pub fn random(rng: &mut Rng) -> Self {
        const LETTERS: [char; 4] = ['i', 'j', 'B', 'k'];
        let length = |rng: &mut Rng| [1, 2, 3, 3, 4, 5, 5, if rng.below(4) == 0 { 0 } else { 2 }][rng.below(8)];
        let lengths = LETTERS.map(|_| length(rng));
        let of_ellipsis = [length(rng), length(rng)];
        let with_ellipsis = rng.below(4) == 0;
        let (mut terms, mut shapes, mut used) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..1 + rng.below(3) {
            let letters: Vec<usize> = (0..rng.below(4)).map(|_| rng.below(4)).collect();
            // A letter is broadcast on all its axes or on none.
            let own = lengths.map(|length| if rng.below(7) == 0 { 1 } else { length });
            let mut shape: Vec<usize> = letters.iter().map(|&letter| own[letter]).collect();
            let mut term: String = letters.iter().map(|&letter| LETTERS[letter]).collect();
            if with_ellipsis && rng.below(4) > 0 {
                let (place, axes) = (rng.below(letters.len() + 1), rng.below(3));
                term.insert_str(place, "...");
                let broadcast = of_ellipsis[..axes].iter().map(|&length| if rng.below(5) == 0 { 1 } else { length });
                // Counted from the last.
                let axes: Vec<usize> = broadcast.collect::<Vec<_>>().into_iter().rev().collect();
                shape.splice(place..place, axes);
            }
            used.extend(letters);
            terms.push(term);
            shapes.push(shape);
        }
        let mut subscripts = terms.join([",", " , "][rng.below(2)]);
        if rng.below(3) > 0 {
            used.sort_unstable();
            used.dedup();
            rng.shuffle(&mut used);
            used.truncate(rng.below(used.len() + 1));
            let mut output: String = used.iter().map(|&letter| LETTERS[letter]).collect();
            if with_ellipsis {
                output.insert_str(rng.below(used.len() + 1), "...");
            }
            subscripts = format!("{subscripts}->{output}");
        }
        Self { subscripts, shapes }
    }
}

fn integer(rng: &mut Rng) -> i64 {
    rng.next_u64() as i64
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

/// Compares an einsum of operands in these layouts, on the device and on the host, with the definition, to which it is equal.
fn compare<T: EinsumElement>(
    device: &Device,
    rng: &mut Rng,
    subscripts: &str,
    layouts: &[Layout],
    element: fn(&mut Rng) -> T,
) -> Outcome {
    let bases: Vec<ArrayD<T>> = layouts.iter().map(|layout| base(layout, rng, element)).collect();
    let on_device = bases.iter().map(|base| GpuArray::from_ndarray(device, base)).collect::<Result<Vec<_>, _>>()?;
    let views = || iter::zip(layouts, &bases).map(|(layout, base)| layout.of_host(base.view())).collect::<Vec<_>>();
    let operands = iter::zip(layouts, &on_device).map(|(layout, base)| of_gpu(layout, base));
    let got = einsum(subscripts, operands.collect::<Result<Vec<_>, _>>()?)?;
    let want = reference::einsum(subscripts, views())?;
    ensure!(got.to_ndarray()? == want, "`{subscripts}` of {layouts:?}: got {got}, want {want}");
    ensure!(got.is_standard_layout(), "`{subscripts}` of {layouts:?}");
    ensure!(host::einsum(subscripts, views())? == want, "`{subscripts}` of {layouts:?} on the host");
    Ok(())
}

pub fn einsums_have_numpys_values(device: &Device) -> Outcome {
    let (a, b) = (array![[1i64, 2, 3], [4, 5, 6]], array![[1i64, 0], [2, 1], [0, -1]]);
    let x = array![10i64, 1];
    let (ga, gb) = (GpuArray::from_ndarray(device, &a)?, GpuArray::from_ndarray(device, &b)?);
    let gx = GpuArray::from_ndarray(device, &x)?;
    ensure_eq!(einsum("ij,jk->ik", (&ga, &gb))?.to_ndarray()?, reference::matmul(&a, &b)?.into_dyn());
    ensure_eq!(einsum("ij,jk->ki", [&ga, &gb])?.to_ndarray()?, reference::matmul(&b.t(), &a.t())?.into_dyn());
    ensure_eq!(einsum("ji", [&ga])?.to_ndarray()?, a.t().to_owned().into_dyn());
    ensure_eq!(einsum("ij->", [&ga])?.get()?, 21);
    ensure_eq!(einsum("ii", [ga.slice(s![.., 1..])?])?.get()?, 2 + 6);
    ensure_eq!(einsum("ii->i", [ga.slice(s![.., ..2])?])?.to_ndarray()?, array![1, 5].into_dyn());
    ensure_eq!(einsum("i,j->ji", (&gx, &gx))?.to_ndarray()?, array![[100, 10], [10, 1]].into_dyn());
    let all = reference::matmul(&reference::matmul(&x, &a)?, &reference::matmul(&b, &x)?)?;
    ensure_eq!(einsum("i,ij,jk,k", (&gx, &ga, &gb, &gx))?.get()?, all[()]);
    // The axis of the ellipsis is one in both.
    let want = (&a * &b.t()).map_axis(Axis(1), reference::sum);
    ensure_eq!(einsum("...j,j...", (&ga, &gb))?.to_ndarray()?, want.into_dyn());
    ensure_eq!(host::einsum("i,ij", (&x, a.view()))?, reference::matmul(&x, &a)?.into_dyn());
    Ok(())
}

pub fn einsums_of_every_layout(device: &Device) -> Outcome {
    let mut rng = rng(91);
    let cases: [(&str, &[&[usize]]); 6] = [
        ("ij,jk->ki", &[&[17, 9], &[9, 5]]),
        ("bij,bjk->ikb", &[&[2, 5, 3], &[2, 3, 33]]),
        ("ijk,kjl->li", &[&[4, 3, 5], &[5, 3, 7]]),
        ("iji,j->j", &[&[6, 17, 6], &[1]]),
        ("ij,kj->k", &[&[9, 33], &[4, 33]]),
        ("ij,j,i->ji", &[&[7, 8], &[8], &[7]]),
    ];
    for (subscripts, shapes) in cases {
        let each: Vec<_> = shapes.iter().map(|shape| Layout::each(shape)).collect();
        for i in 0..8 {
            // Each layout of the first, with one of the others.
            let layouts: Vec<Layout> = each
                .iter()
                .enumerate()
                .map(|(operand, each)| each[((2 * operand + 1) * i + operand) % 8].1.clone())
                .collect();
            compare(device, &mut rng, subscripts, &layouts, integer)?;
        }
    }
    Ok(())
}

pub fn random_einsums(device: &Device) -> Outcome {
    let mut rng = rng(92);
    for _ in 0..if device.is_emulated() { 60 } else { 200 } {
        let Case { subscripts, shapes } = Case::random(&mut rng);
        let layouts: Vec<Layout> = shapes.iter().map(|shape| layout(shape, &mut rng)).collect();
        compare(device, &mut rng, &subscripts, &layouts, integer)?;
    }
    Ok(())
}

pub fn einsums_of_every_type(device: &Device) -> Outcome {
    let mut rng = rng(93);
    let cases: [(&str, &[&[usize]]); 3] =
        [("ij,jk->ki", &[&[5, 9], &[9, 3]]), ("ii->", &[&[6, 6]]), ("aij,jk,a->ai", &[&[2, 4, 3], &[3, 5], &[2]])];
    for (subscripts, shapes) in cases {
        let layouts: Vec<Layout> = shapes.iter().map(|shape| Layout::whole(shape)).collect();
        // Small whole numbers, whose sums are exact in each type.
        let small = |rng: &mut Rng| rng.below(5) as f32 - 2.0;
        compare(device, &mut rng, subscripts, &layouts, |rng| rng.next_u64() as i8)?;
        compare(device, &mut rng, subscripts, &layouts, |rng| rng.next_u64() as u32)?;
        compare(device, &mut rng, subscripts, &layouts, |rng| f16::from_f32(rng.below(5) as f32 - 2.0))?;
        compare(device, &mut rng, subscripts, &layouts, small)?;
        compare(device, &mut rng, subscripts, &layouts, |rng| {
            Complex::new(rng.below(5) as f64 - 2.0, rng.below(5) as f64 - 2.0)
        })?;
    }
    Ok(())
}

pub fn einsums_of_floats_are_within_the_bound(device: &Device) -> Outcome {
    let mut rng = rng(94);
    let shapes: [&[usize]; 3] = [&[11, 13], &[13, 7, 10], &[7]];
    let operands = shapes.map(|shape| ArrayD::from_shape_simple_fn(IxDyn(shape), || rng.uniform() as f32 - 0.5));
    let on = |array: &ArrayD<f32>| GpuArray::from_ndarray(device, array);
    let (a, b, c) = (on(&operands[0])?, on(&operands[1])?, on(&operands[2])?);
    let subscripts = "ij,jkl,k->li";
    let got = einsum(subscripts, [&a, &b, &c])?.to_ndarray()?;
    let wide = operands.each_ref().map(|array| array.mapv(f64::from));
    let want = reference::einsum(subscripts, wide.each_ref())?;
    let sizes = reference::einsum(subscripts, wide.each_ref().map(|array| array.mapv(f64::abs)).each_ref())?;
    ensure_eq!(got.shape(), [10, 11]);
    for ((&got, &want), &size) in got.iter().zip(&want).zip(&sizes) {
        // 13 and 7 terms one after another.
        let error = (f64::from(got) - want).abs();
        ensure!(error <= 1.01 * 20.0 * f64::from(f32::EPSILON) / 2.0 * size, "got {got}, want {want}, sizes {size}");
    }
    // The same bits once more.
    ensure_eq!(einsum(subscripts, [&a, &b, &c])?.to_ndarray()?.mapv(f32::to_bits), got.mapv(f32::to_bits));
    Ok(())
}

pub fn einsums_in_a_precision_are_matrix_products_in_it(device: &Device) -> Outcome {
    let mut rng = rng(96);
    let mut on = |shape: &[usize]| {
        let element = || rng.uniform() as f32 - 0.5;
        GpuArray::from_ndarray(device, &ArrayD::from_shape_simple_fn(IxDyn(shape), element))
    };
    let (a, b) = (on(&[2, 65, 40])?, on(&[2, 33, 40])?);
    for precision in [Precision::Strict, Precision::Tf32, Precision::Emulated] {
        // Where the device has a kernel of the precision.
        let got = einsum_with_precision(precision.forced(), "bij,bkj->bik", [&a, &b])?.to_ndarray()?;
        let want = (&a).matmul(b.swap_axes(Axis(1), Axis(2))?).precision(precision.forced()).eval()?.to_ndarray()?;
        ensure_eq!(got.mapv(f32::to_bits), want.mapv(f32::to_bits));
        let sums = einsum_with_precision(precision, "bij->i", [&a])?.to_ndarray()?;
        ensure_eq!(sums, einsum("bij->i", [&a])?.to_ndarray()?);
    }
    Ok(())
}

pub fn einsums_of_no_elements(device: &Device) -> Outcome {
    let on = |shape: &[usize]| GpuArray::<i32, _>::full(device, IxDyn(shape), 1);
    ensure_eq!(einsum("ij,jk", [&on(&[2, 0])?, &on(&[0, 3])?])?.to_ndarray()?, ArrayD::zeros(IxDyn(&[2, 3])));
    ensure_eq!(einsum("ij,jk", [&on(&[0, 4])?, &on(&[4, 3])?])?.raw_dim(), IxDyn(&[0, 3]));
    ensure_eq!(einsum("i,i", [&on(&[0])?, &on(&[1])?])?.get()?, 0);
    ensure_eq!(einsum("i,j->ij", [&on(&[0])?, &on(&[3])?])?.raw_dim(), IxDyn(&[0, 3]));
    ensure_eq!(einsum("ii->i", [&on(&[0, 0])?])?.raw_dim(), IxDyn(&[0]));
    ensure_eq!(einsum("ij->i", [&on(&[3, 0])?])?.to_ndarray()?, array![0, 0, 0].into_dyn());
    ensure_eq!(einsum(",->", [&on(&[])?, &on(&[])?])?.to_ndarray()?, arr0(1).into_dyn());
    Ok(())
}

pub fn einsums_propagate_nan(device: &Device) -> Outcome {
    let x = GpuArray::from_ndarray(device, &array![[1.0, f64::NAN], [f64::INFINITY, 3.0]])?;
    let y = GpuArray::from_ndarray(device, &array![2.0, 0.0])?;
    let got = einsum("ij,j->i", (&x, &y))?.to_ndarray()?;
    ensure!(got[[0]].is_nan() && got[[1]] == f64::INFINITY, "{got}");
    let got = einsum("ij->j", [&x])?.to_ndarray()?;
    ensure!(got[[0]] == f64::INFINITY && got[[1]].is_nan(), "{got}");
    let got = einsum("ii->i", [&x])?.to_ndarray()?;
    ensure_eq!(got, array![1.0, 3.0].into_dyn());
    let got = einsum("ij,j->ij", (&x, &y))?.to_ndarray()?;
    ensure!(got[[0, 1]].is_nan() && got[[1, 1]] == 0.0, "{got}");
    Ok(())
}

pub fn kronecker_and_inner_products(device: &Device) -> Outcome {
    let mut rng = rng(95);
    let shapes: [(&[usize], &[usize]); 5] =
        [(&[4, 3], &[2, 3]), (&[5], &[2, 5]), (&[2, 0, 3], &[3]), (&[], &[2, 3]), (&[7, 33], &[1, 33])];
    for (a, b) in shapes {
        let layouts = [layout(a, &mut rng), layout(b, &mut rng)];
        let [x, y] = layouts.each_ref().map(|layout| base(layout, &mut rng, integer));
        let (on_a, on_b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let views = || (layouts[0].of_host(x.view()), layouts[1].of_host(y.view()));
        let (want, (left, right)) = (reference::kron(views().0, views().1)?, views());
        let got = kron(of_gpu(&layouts[0], &on_a)?, of_gpu(&layouts[1], &on_b)?)?;
        ensure!(got.to_ndarray()? == want, "{layouts:?}: {got}, want {want}");
        ensure!(host::kron(left, right)? == want, "{layouts:?}");
        let (want, (left, right)) = (reference::inner(views().0, views().1)?, views());
        let got = inner(of_gpu(&layouts[0], &on_a)?, of_gpu(&layouts[1], &on_b)?)?;
        ensure!(got.to_ndarray()? == want, "{layouts:?}: {got}, want {want}");
        ensure!(host::inner(left, right)? == want, "{layouts:?}");
    }
    let (x, y) = (array![[f64::NAN, 2.0]], array![[0.0, f64::INFINITY]]);
    let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
    let got = kron(&a, &b)?.to_ndarray()?;
    ensure!(
        got[[0, 0]].is_nan() && got[[0, 1]].is_nan() && got[[0, 2]] == 0.0 && got[[0, 3]] == f64::INFINITY,
        "{got}"
    );
    ensure!(inner(&a, &b)?.to_ndarray()?[[0, 0]].is_nan());
    let error = inner(&a, a.t()).err();
    ensure!(
        matches!(error, Some(AlgoError::AxisLengths { op: "inner", left_axis: 1, right_axis: 1, .. })),
        "{error:?}"
    );
    let one = GpuArray::<u8, _>::full(device, 1, 1)?;
    ensure!(matches!(kron(one.broadcast(1 << 40)?, one.broadcast(1 << 30)?), Err(AlgoError::Array(_))));
    Ok(())
}

pub fn wrong_einsums_are_errors(device: &Device) -> Outcome {
    let (a, x) = (GpuArray::<i64, _>::full(device, (2, 3), 1)?, GpuArray::full(device, 4, 1)?);
    let error = einsum("ij,j", (&a, &x)).err();
    ensure!(
        matches!(error, Some(AlgoError::LabelLength { ref label, operand: 1, got: 4, other: 0, expected: 3, .. })
            if label == "`j`"),
        "{error:?}"
    );
    let error = einsum("ij,j", [&a]).err();
    ensure!(matches!(error, Some(AlgoError::SubscriptOperands { expected: 2, got: 1, .. })), "{error:?}");
    let error = einsum("i", [&a]).err();
    ensure!(matches!(error, Some(AlgoError::SubscriptAxes { operand: 0, labels: 1, .. })), "{error:?}");
    let error = einsum("ij->k", [&a]).err();
    ensure!(matches!(error, Some(AlgoError::Subscripts { ref found, .. }) if found == "k"), "{error:?}");
    // A product that no array can have, of views that repeat an element.
    let one = GpuArray::<i64, _>::full(device, 1, 1)?;
    let (many, more) = (one.broadcast(1 << 40)?, one.broadcast(1 << 30)?);
    ensure!(matches!(einsum("i,j->ij", (&many, &more)), Err(AlgoError::Array(_))));
    ensure!(matches!(
        host::einsum("i,j->ij", (&array![1].broadcast(1 << 40).ok_or("1")?, &array![1].broadcast(1 << 30).ok_or("1")?)),
        Err(AlgoError::Array(_))
    ));
    // They are right in the other order.
    ensure_eq!(einsum("ij,kj->ik", [&a, &a])?.to_ndarray()?, (&a).matmul(a.t()).eval()?.to_ndarray()?.into_dyn());
    ensure_eq!(einsum("ij->i", [&a])?.to_ndarray()?, a.sum().axis(Axis(1)).eval()?.to_ndarray()?.into_dyn());
    Ok(())
}
