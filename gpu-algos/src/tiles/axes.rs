//! The axes of a scan or selection: the scanned ones, and those along which the lines lie.

use smallvec::SmallVec;

use crate::common::axes::{Axis, Steps, follows, join};

/// The axes that a kernel walks, the innermost axis of each list first.
#[derive(Clone, Debug, Default)]
pub(crate) struct TileAxes {
    pub(crate) scanned: SmallVec<[Axis; 4]>,
    pub(crate) lines: SmallVec<[Axis; 4]>,
    /// Offset of the first value, in elements: of the target, then of each leaf.
    pub(crate) offsets: Steps,
}

impl TileAxes {
    /// The axes of a scan along `axis`, or of all values in C order; `target` and `leaves` are the strides of each operand.
    /// `reverse` walks from the last value to the first.
    pub(crate) fn of(
        shape: &[usize],
        target: &[isize],
        leaves: &[&[isize]],
        axis: Option<usize>,
        reverse: bool,
    ) -> Self {
        // Lines are reversed too, so that operands that are dense in memory stay dense.
        let turned = |_: usize| reverse;
        let mut axes = Self::parted(shape, target, leaves, axis, turned);
        join(&mut axes.scanned);
        join(&mut axes.lines);
        if axes.scanned.is_empty() {
            axes.scanned.push(Axis { length: 1, outer: false, steps: SmallVec::from_elem(0, 1 + leaves.len()) });
        }
        axes
    }

    /// The axes of a scan along `axis` if neighbours in memory lie along another axis, which is then the innermost axis of the lines.
    /// None if they do not, or if lines have one value.
    pub(crate) fn across(
        shape: &[usize],
        target: &[isize],
        leaves: &[&[isize]],
        axis: usize,
        reverse: bool,
    ) -> Option<Self> {
        let mut axes = Self::parted(shape, target, leaves, Some(axis), |number| reverse && number == axis);
        // The first leaf, which is scanned, decides. If it does not advance, the target does.
        let main = usize::from(!leaves.is_empty());
        let distance = |axis: &Axis| match axis.steps[main] {
            0 => axis.steps[0].unsigned_abs(),
            step => step.unsigned_abs(),
        };
        axes.lines.sort_by_key(distance);
        join(&mut axes.lines);
        let (scanned, inner) = (axes.scanned.first()?, axes.lines.first()?);
        (distance(inner) == 1 && distance(scanned) != 1).then_some(axes)
    }

    /// The axes of more than one element, the last axis first; `turned` selects axes that are walked from their end.
    fn parted(
        shape: &[usize],
        target: &[isize],
        leaves: &[&[isize]],
        axis: Option<usize>,
        turned: impl Fn(usize) -> bool,
    ) -> Self {
        let mut axes = Self { offsets: SmallVec::from_elem(0, 1 + leaves.len()), ..Self::default() };
        for (number, &length) in shape.iter().enumerate().rev().filter(|(_, length)| **length != 1) {
            let mut steps: Steps = SmallVec::from_slice(&[target[number]]);
            steps.extend(leaves.iter().map(|strides| strides[number]));
            if turned(number) {
                for (offset, step) in axes.offsets.iter_mut().zip(&mut steps) {
                    *offset += (length as isize - 1).wrapping_mul(*step);
                    *step = -*step;
                }
            }
            let outer = axis.is_some_and(|axis| axis != number);
            let list = if outer { &mut axes.lines } else { &mut axes.scanned };
            list.push(Axis { length, outer, steps });
        }
        axes
    }

    /// Number of values of a line.
    pub(crate) fn length(&self) -> usize {
        self.scanned.iter().map(|axis| axis.length).product()
    }

    /// Number of lines.
    pub(crate) fn line_count(&self) -> usize {
        self.lines.iter().map(|axis| axis.length).product()
    }

    /// The step of each operand from value to value through all lines, if it is constant.
    pub(crate) fn step_along(&self) -> Option<&Steps> {
        let [scanned] = &self.scanned[..] else { return None };
        match &self.lines[..] {
            [] => Some(&scanned.steps),
            // A line of one value has no step of its own.
            [lines] if scanned.length == 1 => Some(&lines.steps),
            [lines] if follows(lines, scanned) => Some(&scanned.steps),
            _ => None,
        }
    }
}
