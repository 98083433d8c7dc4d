//! Leaves of any strides, places as values, elements at computed offsets.

use ndarray::{ArrayD, Axis, IxDyn, Slice};
use testkit::Rng;

use super::*;
use crate::expression::host::plan::Plan;

/// An array with elements that are all different.
fn numbered(shape: &[usize]) -> ArrayD<i32> {
    let len = shape.iter().product::<usize>() as i32;
    ArrayD::from_shape_vec(IxDyn(shape), (1..=len).collect()).unwrap()
}

/// Cuts, reverses and permutes axes, and drops some of them to length 1.
fn cut<'a>(rng: &mut Rng, base: &'a ArrayD<i32>) -> ArrayViewD<'a, i32> {
    let mut view = base.view();
    for axis in 0..base.ndim() {
        let len = view.len_of(Axis(axis));
        let start = rng.below(len.max(1)).min(len);
        let step = [1, 1, 2, 3, -1, -2][rng.below(6)];
        match rng.below(4) {
            0 => view.slice_axis_inplace(Axis(axis), Slice::new(start as isize, None, step)),
            1 => view.slice_axis_inplace(Axis(axis), Slice::new(0, None, step)),
            2 if len > 0 => view.slice_axis_inplace(Axis(axis), Slice::from(start..=start)),
            _ => {}
        }
    }
    let mut order: Vec<usize> = (0..base.ndim()).collect();
    if rng.below(2) == 0 {
        rng.shuffle(&mut order);
    }
    view.permuted_axes(order)
}

#[test]
fn any_strides() {
    let mut rng = Rng(7);
    let mut kinds = [0; 3];
    for round in 0..2000 {
        let ndim = rng.below(6);
        let longest = [3, 5, 9, 40, 200][rng.below(5)].min([usize::MAX, 30_000, 200, 40, 9, 5][ndim]);
        // An axis of length 0 now and then.
        let base_shape: Vec<usize> =
            (0..ndim).map(|_| rng.below(longest + 1).max(usize::from(round % 10 != 0))).collect();
        let base = numbered(&base_shape);
        let view = cut(&mut rng, &base);
        let mut shape: Vec<usize> =
            view.shape().iter().map(|&len| if len == 1 { 1 + rng.below(4) } else { len }).collect();
        if rng.below(3) == 0 {
            shape.insert(0, rng.below(4));
        }
        let wide = view.broadcast(IxDyn(&shape)).unwrap();
        kinds[usize::from(wide.is_standard_layout()) + usize::from(wide.is_empty())] += 1;
        let want: Vec<i32> = wide.iter().copied().collect();

        // The view itself is the memory.
        let mut b = Builder::new(&shape);
        b.leaf_at(view.clone(), 0, wide.strides());
        assert_eq!(b.last::<i32>().unwrap(), want, "shape {shape:?}, strides {:?}", wide.strides());
        // The array that it was cut from is.
        let mut b = Builder::new(&shape);
        let offset = (view.as_ptr() as isize - base.as_ptr() as isize) / 4;
        let leaf = b.leaf_at(base.view(), offset, wide.strides());
        b.step(Op::Negate, DType::I32, &[leaf]);
        let negative: Vec<i32> = want.iter().map(|value| -value).collect();
        assert_eq!(
            b.last::<i32>().unwrap(),
            negative,
            "shape {shape:?}, strides {:?}, offset {offset}",
            wide.strides()
        );
        // The offsets themselves.
        let mut b = Builder::new(&shape);
        b.index(offset, wide.strides());
        let offsets: Vec<i64> = want.iter().map(|value| i64::from(value - 1)).collect();
        assert_eq!(b.last::<i64>().unwrap(), offsets, "shape {shape:?}, strides {:?}, offset {offset}", wide.strides());
    }
    assert!(kinds.iter().all(|&count| count > 50), "{kinds:?}");
}

/// Strides that no cut of an array has: windows that overlap, diagonals.
#[test]
fn overlapping_strides() {
    let base = numbered(&[60]);
    for strides in [[1, 1, 1], [4, 1, 1], [1, 3, 1], [2, 2, 2], [0, 5, 5], [20, 5, 1], [9, 3, 1], [-1, 1, 0]] {
        let (shape, offset) = ([2, 3, 5], 5);
        let at = |i: isize| offset + strides[0] * (i / 15) + strides[1] * (i / 5 % 3) + strides[2] * (i % 5);
        let want: Vec<i32> = (0..30).map(|i| at(i) as i32 + 1).collect();
        let mut b = Builder::new(&shape);
        b.leaf_at(base.view(), offset, &strides);
        assert_eq!(b.last::<i32>().unwrap(), want, "{strides:?}");
        let mut b = Builder::new(&shape);
        b.index(offset, &strides);
        assert_eq!(b.last::<i64>().unwrap(), (0..30).map(|i| at(i) as i64).collect::<Vec<_>>(), "{strides:?}");
    }
}

#[test]
fn contiguous_leaves_are_read_in_place() {
    let base = numbered(&[6, 4, 5]);
    let mut reversed = base.view();
    reversed.invert_axis(Axis(2));
    let rows = base.slice_axis(Axis(0), Slice::from(2..5));
    let columns = base.slice_axis(Axis(1), Slice::from(1..3));
    let same = base.index_axis(Axis(0), 0).index_axis_move(Axis(0), 0).index_axis_move(Axis(0), 0);
    let same = same.broadcast(IxDyn(&[2, 2, 2])).unwrap();
    for (view, registers) in [(base.view(), 0), (rows, 0), (same.view(), 0), (columns, 1), (reversed.view(), 1)] {
        let mut b = Builder::new(view.shape());
        let leaf = b.leaf(view);
        let sum = b.step(Op::Add, DType::I32, &[leaf, leaf]);
        b.code.outputs.push(sum);
        assert_eq!(Plan::new(&b.code).unwrap().register_count(), registers);
    }
}

#[test]
fn long_rows_over_many_chunks() {
    let base = numbered(&[70, 3000]);
    let (transposed, mut reversed) = (base.t(), base.view());
    reversed.invert_axis(Axis(1));
    let row = base.index_axis(Axis(0), 3);
    let row = row.broadcast(IxDyn(&[70, 3000])).unwrap();
    let column = base.slice_axis(Axis(1), Slice::from(5..6));
    let column = column.broadcast(IxDyn(&[70, 3000])).unwrap();
    for view in [reversed, row.view(), column.view(), transposed.into_dyn()] {
        let mut b = Builder::new(view.shape());
        let leaf = b.leaf(view.clone());
        b.step(Op::Add, DType::I32, &[leaf, leaf]);
        let want: Vec<i32> = view.iter().map(|value| 2 * value).collect();
        assert!(b.last::<i32>().unwrap() == want, "strides {:?}", view.strides());
    }
}

#[test]
fn leaves_outside_of_their_array_are_errors() {
    let base = numbered(&[4, 5]);
    for (offset, strides) in
        [(1, [5, 1]), (-1, [5, 1]), (0, [5, -1]), (0, [6, 1]), (0, [isize::MAX, 1]), (isize::MAX, [0, 0])]
    {
        let mut b = Builder::new(&[4, 5]);
        b.leaf_at(base.view(), offset, &strides);
        assert!(b.last::<i32>().is_err(), "{offset} {strides:?}");
    }
    let mut b = Builder::new(&[4, 5]);
    b.leaf_at(base.view(), 0, &[1]);
    assert!(b.last::<i32>().is_err());
}

#[test]
fn gather() {
    let base = numbered(&[6, 4]);
    let mut rng = Rng(11);
    for n in [1, 5, 1000, 10_000] {
        let offsets: Vec<i64> = (0..n).map(|_| rng.below(40) as i64 - 8).collect();
        let inside: Vec<bool> = offsets.iter().map(|offset| (0..24).contains(offset)).collect();
        let mut b = Builder::new(&[n]);
        let (table, offset, inside) = (b.table(base.view(), 0), b.slice(&offsets), b.slice(&inside));
        b.step(Op::Gather, DType::I32, &[table, offset, inside]);
        let want: Vec<i32> =
            offsets.iter().map(|&offset| if (0..24).contains(&offset) { offset as i32 + 1 } else { 0 }).collect();
        assert_eq!(b.last::<i32>().unwrap(), want);
    }
}

#[test]
fn gather_of_views_and_of_nothing() {
    let base = numbered(&[6, 4]);
    let mut reversed = base.view();
    reversed.invert_axis(Axis(0));
    let (offsets, yes) = ([-20i64, -17, 3], true);
    let mut b = Builder::new(&[3]);
    // The element with index [5, 0] is the first of the array in memory.
    let (table, offset, inside) = (b.table(reversed.view(), 0), b.slice(&offsets), b.scalar(yes));
    b.step(Op::Gather, DType::I32, &[table, offset, inside]);
    assert_eq!(b.last::<i32>().unwrap(), [1, 4, 24]);
    let mut b = Builder::new(&[3]);
    let (table, offset, inside) = (b.table(base.view(), 20), b.slice(&offsets), b.scalar(yes));
    b.step(Op::Gather, DType::I32, &[table, offset, inside]);
    assert_eq!(b.last::<i32>().unwrap(), [1, 4, 24]);

    let empty = numbered(&[0, 4]);
    let mut b = Builder::new(&[3]);
    let (table, offset, inside) = (b.table(empty.view(), 0), b.slice(&offsets), b.scalar(false));
    b.step(Op::Gather, DType::I32, &[table, offset, inside]);
    assert_eq!(b.last::<i32>().unwrap(), [0; 3]);
    // The same at all places.
    let mut b = Builder::new(&[3]);
    let (table, offset, inside) = (b.table(base.view(), 1), b.scalar(3i64), b.scalar(true));
    b.step(Op::Gather, DType::I32, &[table, offset, inside]);
    assert_eq!(b.last::<i32>().unwrap(), [5; 3]);
}
