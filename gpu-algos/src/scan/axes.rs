//! The axes of a scan: those that are scanned, and those along which the lines lie.

use smallvec::SmallVec;

/// Distances of neighbours in elements: of the target, then of each leaf.
pub(crate) type Steps = SmallVec<[isize; 5]>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    pub(crate) length: usize,
    pub(crate) steps: Steps,
}

/// What a kernel walks, the innermost axis of each list first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Axes {
    pub(crate) scanned: SmallVec<[Axis; 4]>,
    pub(crate) lines: SmallVec<[Axis; 4]>,
    /// Where the first value is, in elements: of the target, then of each leaf.
    pub(crate) offsets: Steps,
}

impl Axes {
    /// `axis` is scanned, or without one all axes are, in C order; `target` and `leaves` are the strides of each operand. From the last value to the first
    /// where `reverse`.
    pub(crate) fn of(
        shape: &[usize],
        target: &[isize],
        leaves: &[&[isize]],
        axis: Option<usize>,
        reverse: bool,
    ) -> Self {
        let mut axes = Self { offsets: SmallVec::from_elem(0, 1 + leaves.len()), ..Self::default() };
        for (number, &length) in shape.iter().enumerate().rev().filter(|(_, length)| **length != 1) {
            let mut steps: Steps = SmallVec::from_slice(&[target[number]]);
            steps.extend(leaves.iter().map(|strides| strides[number]));
            if reverse {
                // Lines too, so that what lies densely in memory still does.
                for (offset, step) in axes.offsets.iter_mut().zip(&mut steps) {
                    *offset += (length as isize - 1).wrapping_mul(*step);
                    *step = -*step;
                }
            }
            let list = if axis.is_none_or(|axis| axis == number) { &mut axes.scanned } else { &mut axes.lines };
            list.push(Axis { length, steps });
        }
        join(&mut axes.scanned);
        join(&mut axes.lines);
        if axes.scanned.is_empty() {
            axes.scanned.push(Axis { length: 1, steps: SmallVec::from_elem(0, 1 + leaves.len()) });
        }
        axes
    }

    /// Values of a line.
    pub(crate) fn length(&self) -> usize {
        self.scanned.iter().map(|axis| axis.length).product()
    }

    /// How many lines there are.
    pub(crate) fn line_count(&self) -> usize {
        self.lines.iter().map(|axis| axis.length).product()
    }

    /// The step of each operand from value to value through all lines, where there is one.
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

/// Joins axes that lie behind one another for every operand.
fn join(axes: &mut SmallVec<[Axis; 4]>) {
    let mut joined: SmallVec<[Axis; 4]> = SmallVec::new();
    for axis in axes.drain(..) {
        match joined.last_mut() {
            Some(inner) if follows(&axis, inner) => inner.length *= axis.length,
            _ => joined.push(axis),
        }
    }
    *axes = joined;
}

fn follows(axis: &Axis, inner: &Axis) -> bool {
    let length = inner.length as isize;
    axis.steps.iter().zip(&inner.steps).all(|(&outer, &inner)| Some(outer) == inner.checked_mul(length))
}
