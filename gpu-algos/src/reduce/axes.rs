//! The axes of a reduction, in the order in which a kernel walks them.

use smallvec::SmallVec;

use crate::common::{
    axes::{Axis, Leaves, Steps, join},
    operator::DeviceOperator,
};

/// The axes that a kernel walks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Axes {
    /// The innermost axis first.
    pub(crate) reduced: SmallVec<[Axis; 4]>,
    pub(crate) outer: SmallVec<[Axis; 4]>,
    /// Offset of the first result, in elements; `leaf_offsets` has that of each leaf's first element.
    pub(crate) result_offset: isize,
    pub(crate) leaf_offsets: SmallVec<[isize; 4]>,
    /// Whether threads go along an outer axis.
    pub(crate) along_outer: bool,
}

impl Axes {
    /// The axes of `shape` with these leaves; `outer_strides` are those of the results along each outer axis, in order.
    pub(crate) fn of(
        shape: &[usize],
        leaves: &Leaves<'_>,
        is_kept: &[bool],
        outer_strides: &[isize],
        operator: &DeviceOperator,
    ) -> Self {
        let mut all: SmallVec<[Axis; 4]> = SmallVec::new();
        let mut strides_left = outer_strides.iter();
        for (number, (&length, &outer)) in shape.iter().zip(is_kept).enumerate() {
            let own = if outer { strides_left.next().copied().unwrap_or(0) } else { 0 };
            let mut steps = Steps::new();
            steps.push(own);
            steps.extend(leaves.iter().map(|leaf| leaf.strides[number]));
            all.push(Axis { length, outer, steps });
        }
        if operator.wants_places() {
            let mut next = 1;
            for axis in all.iter_mut().rev().filter(|axis| !axis.outer) {
                axis.steps[0] = next;
                next = next.wrapping_mul(axis.length.max(1) as isize);
            }
        }
        let mut axes = Self { leaf_offsets: SmallVec::from_elem(0, leaves.len()), ..Self::default() };
        all.retain(|axis| axis.length != 1);
        let main = main_leaf(leaves, &all);
        // Indices would have to count down, and the order of a walk stays as it is where it matters.
        if operator.is_commutative() && !operator.wants_places() {
            axes.turn_falling(&mut all, main);
        }
        let distance =
            |axis: &Axis| main.map_or(usize::MAX, |leaf| axis.steps[leaf + 1].unsigned_abs().wrapping_sub(1));
        all.reverse();
        if operator.is_commutative() {
            // Axes along which the main leaf does not advance come last.
            all.sort_by_key(distance);
            axes.along_outer = all.first().is_some_and(|axis| axis.outer);
            (axes.outer, axes.reduced) = all.into_iter().partition(|axis| axis.outer);
        } else {
            let nearest = |outer: bool| all.iter().filter(|axis| axis.outer == outer).map(distance).min();
            axes.along_outer = nearest(true) < nearest(false).or(Some(usize::MAX)) && nearest(true).is_some();
            (axes.outer, axes.reduced) = all.into_iter().partition(|axis| axis.outer);
            axes.outer.sort_by_key(distance);
        }
        join(&mut axes.outer);
        join(&mut axes.reduced);
        if !axes.along_outer && axes.reduced.is_empty() {
            let steps = SmallVec::from_elem(0, 1 + leaves.len());
            axes.reduced.push(Axis { length: 1, outer: false, steps });
        }
        axes
    }

    /// Number of values of a result.
    pub(crate) fn count(&self) -> usize {
        self.reduced.iter().map(|axis| axis.length).product()
    }

    pub(crate) fn results(&self) -> usize {
        self.outer.iter().map(|axis| axis.length).product()
    }

    /// Reverses the axes along which the main leaf has a negative stride.
    fn turn_falling(&mut self, all: &mut [Axis], main: Option<usize>) {
        let Some(main) = main else { return };
        for axis in all.iter_mut().filter(|axis| axis.steps[main + 1] < 0) {
            let last = axis.length as isize - 1;
            if axis.outer {
                self.result_offset += last * axis.steps[0];
            }
            for (offset, &step) in self.leaf_offsets.iter_mut().zip(&axis.steps[1..]) {
                *offset += last * step;
            }
            axis.steps.iter_mut().for_each(|step| *step = -*step);
        }
    }
}

/// The leaf in memory with most elements, whose memory order is the order of the walk.
fn main_leaf(leaves: &Leaves<'_>, all: &[Axis]) -> Option<usize> {
    let elements = |leaf: usize| -> u128 {
        let along = all.iter().filter(|axis| axis.steps[leaf + 1] != 0);
        along.map(|axis| axis.length as u128).fold(1, u128::saturating_mul)
    };
    let in_memory = leaves.iter().enumerate().filter(|(_, leaf)| !leaf.is_place);
    in_memory.map(|(number, _)| number).fold(None, |best, next| match best {
        Some(best) if elements(best) >= elements(next) => Some(best),
        _ => Some(next),
    })
}
