//! Each operation against the same one of ndarray, on arrays whose elements are their own offsets.
#![expect(clippy::reversed_empty_ranges, reason = "ends below 0 count from the end")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use ndarray::{Array, ArrayD, ArrayViewD, Axis, Ix2, Ix3, IxDyn, Order, ShapeBuilder, SliceInfoElem, arr0, s};
use testkit::Rng;

use super::*;
use crate::INFER;

type Dynamic = Layout<IxDyn>;

/// Asserts that the layout leads to the elements of ndarray's view.
fn leads_to<D: Dimension>(layout: &Layout<D>, view: &ArrayViewD<'_, usize>) {
    assert_eq!(layout.shape(), view.shape());
    assert_eq!((layout.len(), layout.is_empty(), layout.ndim()), (view.len(), view.is_empty(), view.ndim()));
    for (index, &want) in view.indexed_iter() {
        let steps = index.slice().iter().zip(layout.strides()).map(|(&i, &stride)| i as isize * stride);
        assert_eq!(layout.offset() as isize + steps.sum::<isize>(), want as isize, "at {index:?} of {layout:?}");
    }
}

/// Asserts that the layout leads where ndarray's view does, and that its properties are those of the view.
fn same<D: Dimension>(layout: &Layout<D>, view: &ArrayViewD<'_, usize>) {
    leads_to(layout, view);
    let lowest = view.iter().min().map_or(layout.span(), |&lowest| lowest..*view.iter().max().unwrap() + 1);
    assert_eq!(layout.span(), lowest);
    assert_eq!(layout.is_c_contiguous(), view.is_standard_layout());
    assert_eq!(layout.is_f_contiguous(), view.t().is_standard_layout());
}

/// An array of its own offsets, in either order, with axes of all kinds of lengths.
fn array(rng: &mut Rng) -> (ArrayD<usize>, Dynamic) {
    let lengths = [1, 1, 2, 2, 3, 3, 4, 5, 6, 0];
    let shape: Vec<usize> = (0..rng.below(5)).map(|_| lengths[rng.below(10)]).collect();
    let shape = IxDyn(&shape).set_f(rng.below(2) == 0);
    let n = shape.size();
    (Array::from_shape_vec(shape.clone(), (0..n).collect()).unwrap(), Layout::of(shape).unwrap())
}

/// An end or an index of an axis, sometimes outside.
fn bound(rng: &mut Rng, len: usize) -> isize {
    rng.below(2 * len + 3) as isize - len as isize - 1
}

fn slice_elements(rng: &mut Rng, shape: &[usize]) -> Vec<SliceInfoElem> {
    let mut elements = Vec::new();
    for &len in shape {
        if rng.below(8) == 0 {
            elements.push(SliceInfoElem::NewAxis);
        }
        elements.push(match rng.below(8) {
            0 => SliceInfoElem::Index(bound(rng, len)),
            1..4 => SliceInfoElem::Slice { start: 0, end: None, step: 1 },
            _ => {
                let end = (rng.below(2) == 0).then(|| bound(rng, len));
                let step = [1, 1, 2, 3, -1, -2, -3, 7, -7, isize::MIN, isize::MAX][rng.below(11)];
                SliceInfoElem::Slice { start: bound(rng, len), end, step }
            }
        });
    }
    elements
}

/// Another shape of as many elements, most of the time.
fn other_shape(rng: &mut Rng, len: usize) -> Vec<usize> {
    let (mut left, mut shape) = (len, Vec::new());
    while left > 1 && shape.len() < 5 {
        let factor = (2..=left).filter(|factor| left.is_multiple_of(*factor)).nth(rng.below(3)).unwrap_or(left);
        shape.push(factor);
        left /= factor;
    }
    if left != 1 || rng.below(4) == 0 {
        shape.push(left);
    }
    rng.shuffle(&mut shape);
    shape
}

/// Up to `depth` further operations, each compared.
fn walk(rng: &mut Rng, view: ArrayViewD<'_, usize>, layout: Dynamic, depth: usize) {
    same(&layout, &view);
    if depth == 0 {
        return;
    }
    let ndim = view.ndim();
    let axis = Axis(rng.below(ndim.max(1)));
    let has_axis = ndim > 0;
    let (view, layout) = match rng.below(13) {
        0 | 1 => match sliced(rng, &view, &layout) {
            Some(both) => both,
            None => return,
        },
        2 => (view.reversed_axes(), layout.t()),
        3 => permuted(rng, view, &layout),
        4 if has_axis => swapped(view, &layout, axis, Axis(rng.below(ndim))),
        5 if has_axis => inverted(view, &layout, axis),
        6 | 7 => return reshaped(rng, &view, &layout, depth),
        8 => squeezed(view, &layout),
        9 => {
            let axis = Axis(rng.below(ndim + 1));
            (view.insert_axis(axis), layout.insert_axis(axis).unwrap())
        }
        10 if has_axis && view.len_of(axis) > 0 => {
            let index = rng.below(view.len_of(axis));
            (view.index_axis_move(axis, index), layout.index_axis(axis, index).unwrap())
        }
        11 => return broadcast(rng, &view, &layout, depth),
        12 if has_axis => return parts(rng, view, &layout, axis, depth),
        _ => {
            same(&layout.diagonal(), &view.diag().into_dyn());
            diagonals(rng, &view, &layout);
            (view, layout)
        }
    };
    walk(rng, view, layout, depth - 1);
}

/// A diagonal of two axes, or an error.
fn diagonals(rng: &mut Rng, view: &ArrayViewD<'_, usize>, layout: &Dynamic) {
    let ndim = view.ndim();
    let (a, b, offset) = (rng.below(ndim + 1), rng.below(ndim + 1), rng.below(9) as isize - 4);
    let got = layout.diagonal_of(offset, Axis(a), Axis(b));
    if a.max(b) >= ndim || a == b {
        assert!(got.is_err(), "{a} and {b} of {ndim}");
        return;
    }
    let (row, column) = ((-offset).max(0) as usize, offset.max(0) as usize);
    let len = view.len_of(Axis(a)).saturating_sub(row).min(view.len_of(Axis(b)).saturating_sub(column));
    let others: Vec<usize> = (0..ndim).filter(|&axis| axis != a && axis != b).collect();
    let shape: Vec<usize> = others.iter().map(|&axis| view.len_of(Axis(axis))).chain([len]).collect();
    let want = ArrayD::from_shape_fn(IxDyn(&shape), |at| {
        let mut index = vec![0; ndim];
        others.iter().enumerate().for_each(|(i, &axis)| index[axis] = at[i]);
        (index[a], index[b]) = (at[ndim - 2] + row, at[ndim - 2] + column);
        view[&index[..]]
    });
    leads_to(&got.unwrap(), &want.view());
}

/// Both with the same operation done.
type Both<'v> = (ArrayViewD<'v, usize>, Dynamic);

/// A random slice; None where it leaves the array.
fn sliced<'v>(rng: &mut Rng, view: &ArrayViewD<'v, usize>, layout: &Dynamic) -> Option<Both<'v>> {
    let elements = slice_elements(rng, view.shape());
    let got = layout.slice(&&elements[..]);
    let want = catch_unwind(AssertUnwindSafe(|| view.clone().slice_move(&elements[..])));
    assert_eq!(got.is_ok(), want.is_ok(), "{elements:?} of {:?}: {got:?}", layout.shape());
    Some((want.ok()?, got.ok()?))
}

fn permuted<'v>(rng: &mut Rng, view: ArrayViewD<'v, usize>, layout: &Dynamic) -> Both<'v> {
    let mut axes: Vec<usize> = (0..view.ndim()).collect();
    rng.shuffle(&mut axes);
    (view.permuted_axes(&axes[..]), layout.permuted_axes(&IxDyn(&axes)).unwrap())
}

fn swapped<'v>(mut view: ArrayViewD<'v, usize>, layout: &Dynamic, a: Axis, b: Axis) -> Both<'v> {
    view.swap_axes(a.0, b.0);
    (view, layout.swap_axes(a, b).unwrap())
}

fn inverted<'v>(mut view: ArrayViewD<'v, usize>, layout: &Dynamic, axis: Axis) -> Both<'v> {
    view.invert_axis(axis);
    (view, layout.invert_axis(axis).unwrap())
}

fn squeezed<'v>(mut view: ArrayViewD<'v, usize>, layout: &Dynamic) -> Both<'v> {
    for axis in (0..view.ndim()).rev() {
        if view.len_of(Axis(axis)) == 1 {
            view = view.index_axis_move(Axis(axis), 0);
        }
    }
    (view, layout.squeeze())
}

fn reshaped(rng: &mut Rng, view: &ArrayViewD<'_, usize>, layout: &Dynamic, depth: usize) {
    let mut shape = other_shape(rng, view.len());
    let order = [Order::RowMajor, Order::ColumnMajor][rng.below(2)];
    let want = view.to_shape((IxDyn(&shape), order)).unwrap();
    if !view.is_empty() && !shape.is_empty() && rng.below(2) == 0 {
        let axis = rng.below(shape.len());
        shape[axis] = INFER;
    }
    match layout.reshape(IxDyn(&shape), order) {
        Ok(got) if want.is_view() => walk(rng, want.view(), got, depth - 1),
        // ndarray copies in some cases where strides would do.
        Ok(got) => leads_to(&got, &want.view()),
        Err(error) => {
            assert!(matches!(error, ArrayError::ReshapeNeedsCopy { .. }), "{error}");
            assert!(!want.is_view(), "{layout:?} to {shape:?}: {error}");
        }
    }
}

fn broadcast(rng: &mut Rng, view: &ArrayViewD<'_, usize>, layout: &Dynamic, depth: usize) {
    let added = (0..rng.below(3)).map(|_| rng.below(4)).collect::<Vec<_>>();
    let kept =
        view.shape().iter().map(|&len| if rng.below(if len == 1 { 2 } else { 12 }) == 0 { rng.below(4) } else { len });
    let mut shape: Vec<usize> = added.into_iter().chain(kept).collect();
    if rng.below(12) == 0 {
        shape.pop();
    }
    let (got, want) = (layout.broadcast(IxDyn(&shape)), view.broadcast(IxDyn(&shape)));
    assert_eq!(got.is_ok(), want.is_some(), "{:?} to {shape:?}: {got:?}", layout.shape());
    if let (Ok(got), Some(want)) = (got, want) {
        walk(rng, want, got, depth - 1);
    }
}

fn parts(rng: &mut Rng, view: ArrayViewD<'_, usize>, layout: &Dynamic, axis: Axis, depth: usize) {
    let index = rng.below(view.len_of(axis) + 1);
    let (got, want) = (layout.split_at(axis, index).unwrap(), view.split_at(axis, index));
    walk(rng, want.0, got.0, depth - 1);
    walk(rng, want.1, got.1, depth - 1);
}

#[test]
fn chains_of_operations_lead_where_those_of_ndarray_do() {
    for seed in testkit::seeds(0..6000) {
        let mut rng = Rng(seed);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let (array, layout) = array(&mut rng);
            walk(&mut rng, array.view(), layout, 4);
        }));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

#[test]
fn fixed_numbers_of_axes_work_as_dynamic_ones() {
    let array = Array::from_shape_fn((4, 5, 6), |(i, j, k)| i * 30 + j * 6 + k);
    let layout = Layout::of((4, 5, 6)).unwrap();
    let sliced: Layout<Ix2> = layout.slice(&s![-1, ..;-2, 1..-1]).unwrap();
    same(&sliced, &array.slice(s![-1, ..;-2, 1..-1]).into_dyn());
    same(
        &layout.slice(&s![.., 2, ndarray::NewAxis, 3]).unwrap(),
        &array.slice(s![.., 2, ndarray::NewAxis, 3]).into_dyn(),
    );
    same(&layout.index_axis(Axis(1), 3).unwrap(), &array.index_axis(Axis(1), 3).into_dyn());
    same(&layout.insert_axis(Axis(3)).unwrap(), &array.view().insert_axis(Axis(3)).into_dyn());
    same(&layout.broadcast(ndarray::Ix4(2, 4, 5, 6)).unwrap(), &array.broadcast((2, 4, 5, 6)).unwrap().into_dyn());
    same(&layout.reshape(Ix2(INFER, 12), Order::C).unwrap(), &array.to_shape((10, 12)).unwrap().view().into_dyn());
    same(&layout.permuted_axes(&Ix3(2, 0, 1)).unwrap(), &array.view().permuted_axes([2, 0, 1]).into_dyn());
    same(&layout.into_dyn().into_dimensionality::<Ix3>().unwrap(), &array.view().into_dyn());
    same(&Layout::c(ndarray::Ix0()).unwrap(), &arr0(0).view().into_dyn());
    same(
        &Layout::f(Ix2(3, 4)).unwrap(),
        &Array::from_shape_vec((3, 4).f(), (0..12).collect()).unwrap().view().into_dyn(),
    );
}

#[test]
fn mistakes_are_errors_with_facts() {
    let layout = Layout::of((3, 4)).unwrap();
    assert!(matches!(layout.slice(&s![3, ..]), Err(ArrayError::Index { axis: 0, len: 3, index: 3, .. })));
    assert!(matches!(layout.slice(&s![.., -5]), Err(ArrayError::Index { axis: 1, len: 4, index: -5, .. })));
    let error = layout.slice(&s![.., 2..5]).unwrap_err();
    assert!(matches!(error, ArrayError::Slice { axis: 1, len: 4, start: 2, end: Some(5), step: 1 }));
    assert_eq!(error.to_string(), "slice from 2 to 5 by 1 of axis 1, which has length 4");
    let zero_step = [SliceInfoElem::Slice { start: 0, end: None, step: 0 }, SliceInfoElem::Index(0)];
    let zero_step = layout.into_dyn().slice(&&zero_step[..]);
    assert!(matches!(zero_step, Err(ArrayError::Slice { axis: 0, step: 0, .. })));
    let too_few = layout.into_dyn().slice(&&[SliceInfoElem::Index(0)][..]);
    assert!(matches!(too_few, Err(ArrayError::Ndim { op: "slice", expected: 2, got: 1 })));
    let smallest = [SliceInfoElem::Index(isize::MIN), SliceInfoElem::Index(0)];
    assert!(layout.into_dyn().slice(&&smallest[..]).is_err());

    assert!(matches!(layout.index_axis(Axis(2), 0), Err(ArrayError::Axis { axis: 2, ndim: 2, .. })));
    assert!(matches!(layout.index_axis(Axis(1), usize::MAX), Err(ArrayError::Index { axis: 1, len: 4, .. })));
    assert!(matches!(layout.insert_axis(Axis(3)), Err(ArrayError::Axis { axis: 3, ndim: 3, .. })));
    assert!(matches!(layout.swap_axes(Axis(0), Axis(2)), Err(ArrayError::Axis { axis: 2, .. })));
    assert!(matches!(layout.invert_axis(Axis(9)), Err(ArrayError::Axis { axis: 9, .. })));
    assert!(matches!(layout.split_at(Axis(0), 4), Err(ArrayError::Index { index: 4, .. })));
    assert!(matches!(layout.checked_chunks(Axis(0), 0), Err(ArrayError::Chunk { axis: 0, len: 3 })));
    assert!(matches!(layout.permuted_axes(&Ix2(1, 1)), Err(ArrayError::Permutation { .. })));
    let dynamic = layout.into_dyn();
    assert!(matches!(dynamic.permuted_axes(&IxDyn(&[0, 1, 2])), Err(ArrayError::Permutation { .. })));
    assert!(matches!(dynamic.into_dimensionality::<Ix3>(), Err(ArrayError::Ndim { expected: 3, got: 2, .. })));

    assert!(matches!(layout.reshape(Ix2(5, 2), Order::C), Err(ArrayError::Reshape { .. })));
    let error = layout.reshape(Ix2(INFER, 5), Order::C).unwrap_err();
    assert_eq!(error.to_string(), "no length for INFER in shape [INFER, 5] of 12 elements");
    assert!(matches!(layout.reshape(Ix2(INFER, INFER), Order::C), Err(ArrayError::Infer { .. })));
    let error = layout.t().reshape(ndarray::Ix1(12), Order::C).unwrap_err();
    assert!(matches!(error, ArrayError::ReshapeNeedsCopy { .. }));
    assert!(error.to_string().contains("copy it first"));
    assert!(layout.t().reshape(ndarray::Ix1(12), Order::F).is_ok());
}

#[test]
fn sizes_beyond_the_address_space_are_errors() {
    let too_large = |result: Result<Dynamic>| matches!(result, Err(ArrayError::TooLarge { .. }));
    assert!(too_large(Layout::c(IxDyn(&[usize::MAX, 2]))));
    assert!(too_large(Layout::c(IxDyn(&[isize::MAX as usize + 1]))));
    assert!(too_large(Layout::c(IxDyn(&[0, usize::MAX]))), "ndarray refuses it, too");
    assert!(too_large(Layout::f(IxDyn(&[1 << 40, 1 << 40]))));
    let one = Layout::c(IxDyn(&[1])).unwrap();
    assert!(too_large(one.broadcast(IxDyn(&[1 << 40, 1 << 40]))));
    assert_eq!(one.broadcast(IxDyn(&[1 << 40])).unwrap().len(), 1 << 40);
    assert!(one.reshape(IxDyn(&[1 << 40, 1 << 40]), Order::C).is_err());
    assert!(matches!(one.reshape(IxDyn(&[INFER, 1 << 40, 1 << 40]), Order::C), Err(ArrayError::Infer { .. })));
    assert_eq!(checked_len(&[2, 0, 4]).unwrap(), 0);
}
