//! The axes that the parts of a launch have in common, in the order of the result's memory, with contiguous axes joined.

use smallvec::SmallVec;

use super::JoinPart;
use crate::shape::{Shape, Strides};

/// Axes, innermost first. Axis 0 is contiguous in the result.
#[derive(Debug, PartialEq)]
pub(super) struct JoinAxes {
    /// The lengths; 0 for the axis along which those of the parts differ.
    pub(super) lengths: Shape,
    /// The strides of the result.
    pub(super) strides: Strides,
    /// The axis along which the lengths of the parts differ.
    pub(super) along: usize,
    /// Elements of one index of that axis in each part: the lengths of the axes that were joined into it.
    pub(super) scale: usize,
    /// The strides of each part.
    pub(super) parts: Vec<Strides>,
}

impl JoinAxes {
    /// The axes of copying `parts` to a result whose axes are `order`, innermost first. Lengths other than that of the axis `along` are those of
    /// `shape`, and none is 0.
    pub(super) fn of(
        parts: &[JoinPart<'_>],
        shape: &[usize],
        strides: &[isize],
        order: &[usize],
        along: usize,
    ) -> Self {
        let none = parts.iter().map(|_| Strides::new()).collect();
        let mut axes = Self { lengths: Shape::new(), strides: Strides::new(), along: 0, scale: 1, parts: none };
        // The lengths of 1 play no part.
        for &axis in order.iter().filter(|&&axis| axis == along || shape[axis] != 1) {
            let joined = axes.continues(parts, strides, axis, along);
            if !joined {
                axes.push(parts, shape[axis], strides[axis], axis);
            }
            let last = axes.lengths.len() - 1;
            if axis == along {
                // Joined axes of all parts have the same length, which is 1 if there is none.
                axes.scale = if joined { axes.lengths[last] } else { 1 };
                (axes.along, axes.lengths[last]) = (last, 0);
            } else if joined {
                axes.lengths[last] *= shape[axis];
            }
        }
        axes
    }

    fn push(&mut self, parts: &[JoinPart<'_>], length: usize, stride: isize, axis: usize) {
        self.lengths.push(length);
        self.strides.push(stride);
        for (own, part) in self.parts.iter_mut().zip(parts) {
            own.push(part.strides[axis]);
        }
    }

    /// Whether an axis continues the last one, in the result and in each part.
    fn continues(&self, parts: &[JoinPart<'_>], strides: &[isize], axis: usize, along: usize) -> bool {
        let Some((&length, &inner)) = self.lengths.last().zip(self.strides.last()) else { return false };
        // Behind an axis whose lengths differ no two parts go on alike.
        if length == 0 || strides[axis] != inner * length as isize {
            return false;
        }
        parts.iter().zip(&self.parts).all(|(part, own)| {
            let inner = own.last().copied().unwrap_or(0);
            (axis == along && part.length == 1) || part.strides[axis] == inner * length as isize
        })
    }

    pub(super) fn rank(&self) -> usize {
        self.lengths.len()
    }

    /// The lengths of the axes of a part.
    pub(super) fn lengths_of<'a>(&'a self, part: &JoinPart<'_>) -> impl Iterator<Item = usize> + 'a {
        let own = part.length * self.scale;
        self.lengths.iter().enumerate().map(move |(axis, &length)| if axis == self.along { own } else { length })
    }
}

/// The axes of an array from the innermost in memory outwards.
pub(super) fn memory_order(ndim: usize, fortran: bool) -> SmallVec<[usize; 4]> {
    if fortran { (0..ndim).collect() } else { (0..ndim).rev().collect() }
}
