//! The order in which the elements of a result are read, and blocks of them.

use std::ops::Range;

use ndarray::{ArrayView1, ArrayView2, ArrayViewD, Axis, Ix2};

use crate::operators::{LANES, Operator, Places, take_run};

/// An array whose first axes are those of the result and whose others are reduced, brought into an order that is good to read. The last axis of
/// all may be one of columns, which belongs to the result too.
pub(super) struct Walk<'a, T> {
    /// Some axes that are outer, two or more that are reduced, the last of them the fastest, and then the columns if there are.
    view: ArrayViewD<'a, T>,
    /// How many are outer.
    outer: usize,
    /// The place of the first element of each result, and how far it goes along each reduced axis.
    first: i64,
    steps: Vec<i64>,
}

impl<'a, T: Copy> Walk<'a, T> {
    /// `view` with its first `outer` axes outer, all others reduced; an operator that is not commutative takes them in the order in which they are.
    pub(super) fn new(view: ArrayViewD<'a, T>, outer: usize, commutative: bool) -> Self {
        let reduced = view.ndim() - outer;
        Self::of_reduced(view, outer, reduced, commutative)
    }

    /// [`Walk::new`] with the last of the `outer` axes as that of the columns.
    pub(super) fn over_rows(view: ArrayViewD<'a, T>, outer: usize, commutative: bool) -> Self {
        let rank = view.ndim();
        let axes: Vec<usize> = (0..rank).filter(|&axis| axis != outer - 1).chain([outer - 1]).collect();
        Self::of_reduced(view.permuted_axes(axes), outer - 1, rank - outer, commutative)
    }

    #[inline(never)]
    fn of_reduced(view: ArrayViewD<'a, T>, outer: usize, reduced: usize, commutative: bool) -> Self {
        let mut steps = vec![1; reduced];
        for axis in (1..steps.len()).rev() {
            steps[axis - 1] = steps[axis] * view.len_of(Axis(outer + axis)) as i64;
        }
        let mut walk = Self { view, outer, first: 0, steps };
        walk.drop_single();
        if commutative {
            walk.forwards();
            walk.in_memory_order();
        }
        walk.merge_reduced();
        walk.merge_kept();
        while walk.steps.len() < 2 {
            walk.view.insert_axis_inplace(Axis(walk.outer));
            walk.steps.insert(0, 0);
        }
        walk
    }

    fn len_of(&self, reduced: usize) -> usize {
        self.view.len_of(Axis(self.outer + reduced))
    }

    /// Leaves out the reduced axes of length 1.
    fn drop_single(&mut self) {
        for axis in (0..self.steps.len()).rev() {
            if self.len_of(axis) == 1 {
                self.view.index_axis_inplace(Axis(self.outer + axis), 0);
                self.steps.remove(axis);
            }
        }
    }

    /// Turns round the axes that go down in memory.
    fn forwards(&mut self) {
        for axis in 0..self.steps.len() {
            if self.view.stride_of(Axis(self.outer + axis)) < 0 {
                self.view.invert_axis(Axis(self.outer + axis));
                self.first += self.steps[axis] * (self.len_of(axis) as i64 - 1);
                self.steps[axis] = -self.steps[axis];
            }
        }
    }

    /// The axis with the smallest stride becomes the fastest, unless it is so short that a longer one is better.
    fn in_memory_order(&mut self) {
        let stride = |axis: usize| self.view.stride_of(Axis(self.outer + axis)).unsigned_abs();
        let mut order: Vec<usize> = (0..self.steps.len()).collect();
        order.sort_by_key(|&axis| std::cmp::Reverse(stride(axis)));
        let long_enough = order.iter().rposition(|&axis| self.len_of(axis) >= LANES);
        let longest = || (0..order.len()).max_by_key(|&at| self.len_of(order[at]));
        if let Some(fastest) = long_enough.or_else(longest) {
            order[fastest..].rotate_left(1);
        }
        self.steps = order.iter().map(|&axis| self.steps[axis]).collect();
        let mut axes: Vec<usize> = (0..self.view.ndim()).collect();
        axes[self.outer..].iter_mut().zip(&order).for_each(|(to, axis)| *to = self.outer + axis);
        self.view = self.view.clone().permuted_axes(axes);
    }

    /// Makes one axis of two that are one, in memory and in places.
    fn merge_reduced(&mut self) {
        for axis in (1..self.steps.len()).rev() {
            let (slow, fast) = (Axis(self.outer + axis - 1), Axis(self.outer + axis));
            if self.steps[axis - 1] == self.steps[axis] * self.view.len_of(fast) as i64
                && self.view.merge_axes(slow, fast)
            {
                self.view.index_axis_inplace(slow, 0);
                self.steps.remove(axis - 1);
            }
        }
    }

    fn merge_kept(&mut self) {
        for axis in (1..self.outer).rev() {
            if self.view.merge_axes(Axis(axis - 1), Axis(axis)) {
                self.view.index_axis_inplace(Axis(axis - 1), 0);
                self.outer -= 1;
            }
        }
    }

    /// The matrix whose rows are the elements of each result, if it is one and each row is a slice.
    #[inline(never)]
    pub(super) fn as_rows(&self) -> Option<ArrayView2<'_, T>> {
        if self.outer != 1 || self.view.ndim() != 3 || self.view.shape()[1] != 1 {
            return None;
        }
        let rows = self.view.view().index_axis_move(Axis(1), 0).into_dimensionality::<Ix2>().ok()?;
        rows.row(0).is_standard_layout().then_some(rows)
    }

    /// The number of outer positions, without columns.
    pub(super) fn outer(&self) -> usize {
        self.view.shape()[..self.outer].iter().product()
    }

    /// The length of the last axis.
    pub(super) fn fastest(&self) -> usize {
        self.view.len_of(Axis(self.view.ndim() - 1))
    }

    /// The part of one result, by its number in the order of the outer axes.
    #[inline(never)]
    pub(super) fn part(&self, result: usize) -> Part<'_, T> {
        let outer = &self.view.shape()[..self.outer];
        Part { view: at(self.view.view(), outer, result), first: self.first, steps: &self.steps }
    }

    /// The places along the fastest axis.
    pub(super) fn places(&self) -> Places {
        Places { first: self.first, step: self.steps[self.steps.len() - 1] }
    }
}

/// The part at a position of the first axes, whose lengths are `lengths`, counted in C order.
fn at<'a, T>(mut view: ArrayViewD<'a, T>, lengths: &[usize], mut position: usize) -> ArrayViewD<'a, T> {
    for (axis, &length) in lengths.iter().enumerate().rev() {
        view.index_axis_inplace(Axis(axis), position % length);
        position /= length;
    }
    view
}

/// The reduced axes, and the columns, at one position of the outer axes.
pub(super) struct Part<'w, T> {
    view: ArrayViewD<'w, T>,
    /// The place of the first element, as in [`Walk`].
    first: i64,
    steps: &'w [i64],
}

impl<T: Copy> Part<'_, T> {
    /// The number of elements.
    pub(super) fn len(&self) -> usize {
        self.view.len()
    }

    /// The state of the elements with those numbers in the order of the walk.
    pub(super) fn fold<O: Operator<Value = T>>(&self, op: &O, range: Range<usize>) -> O::State {
        let fast = self.view.len_of(Axis(self.view.ndim() - 1));
        let mut state = op.identity();
        self.lanes(range.start / fast, range.end.div_ceil(fast), |lane, values, places| {
            let from = range.start.saturating_sub(lane * fast);
            let to = (range.end - lane * fast).min(fast);
            let values = values.slice_move(ndarray::s![from..to]);
            state = take_lane(op, state, values, places.from(from));
        });
        state
    }

    /// Calls with the lanes of those numbers: number, elements along the fastest axis, their places.
    fn lanes(&self, from: usize, to: usize, mut call: impl FnMut(usize, ArrayView1<'_, T>, Places)) {
        let step = self.steps[self.steps.len() - 1];
        self.planes(from, to, |first, plane, places| {
            for (row, lane) in plane.rows().into_iter().enumerate() {
                call(first + row, lane, Places { first: places.at(row), step });
            }
        });
    }

    /// Calls with the lanes of those numbers, as many as stand side by side at once: the number of the first, the lanes as rows of a matrix,
    /// and the places of their first elements.
    pub(super) fn planes<'v>(&'v self, from: usize, to: usize, mut call: impl FnMut(usize, ArrayView2<'v, T>, Places)) {
        let (slow, rows) = (self.view.ndim() - 2, self.view.shape()[self.view.ndim() - 2]);
        let mut lane = from;
        while lane < to {
            let (plane, first) = self.plane(lane / rows);
            let row = lane % rows;
            let end = rows.min(row + to - lane);
            let places = Places { first, step: self.steps[slow] };
            call(lane, plane.slice_move(ndarray::s![row..end, ..]), places.from(row));
            lane += end - row;
        }
    }

    /// The last two axes at a position of the others, and the place of its first element.
    #[inline(never)]
    fn plane(&self, mut position: usize) -> (ArrayView2<'_, T>, i64) {
        let slower = &self.view.shape()[..self.view.ndim() - 2];
        let plane = at(self.view.view(), slower, position);
        let mut first = self.first;
        for (&length, &step) in slower.iter().zip(self.steps).rev() {
            first += (position % length) as i64 * step;
            position /= length;
        }
        (plane.into_dimensionality::<Ix2>().expect("two axes are left"), first)
    }
}

/// The state with all of a lane; elements that are not side by side are brought there some at a time.
fn take_lane<O: Operator>(op: &O, state: O::State, lane: ArrayView1<'_, O::Value>, places: Places) -> O::State {
    const GATHERED: usize = 256;
    if let Some(values) = lane.to_slice() {
        return take_run(op, state, values, places);
    }
    if lane.len() < 2 * LANES {
        return lane.iter().enumerate().fold(state, |state, (i, &value)| op.take(state, value, places.at(i)));
    }
    let mut gathered = [lane[0]; GATHERED];
    lane.axis_chunks_iter(Axis(0), GATHERED).enumerate().fold(state, |state, (i, some)| {
        gathered.iter_mut().zip(some).for_each(|(to, &value)| *to = value);
        take_run(op, state, &gathered[..some.len()], places.from(i * GATHERED))
    })
}
