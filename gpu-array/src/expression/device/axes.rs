//! The axes of a launch, in the order of the output's memory, with contiguous axes joined.

use smallvec::{SmallVec, smallvec};

use crate::{expression::graph::Code, shape::Strides};

/// Axes with the strides of the output and of each leaf; the output's neighbours lie along the first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axes {
    /// Number of strides of an axis: the output's, then those of the leaves.
    width: usize,
    lengths: SmallVec<[usize; 4]>,
    strides: SmallVec<[isize; 24]>,
    /// Offset of the first element, for the output and each leaf.
    pub(crate) offsets: SmallVec<[isize; 6]>,
}

impl Axes {
    /// The axes of evaluating `code` into elements with these strides and this offset; None if there is no element.
    pub(crate) fn of(code: &Code<'_>, out_strides: &Strides, out_offset: isize) -> Option<Self> {
        let width = 1 + code.leaves.len();
        let mut offsets: SmallVec<[isize; 6]> = smallvec![out_offset];
        for leaf in &code.leaves {
            offsets.push(leaf.offset);
        }
        let mut axes = Self { width, lengths: SmallVec::new(), strides: SmallVec::new(), offsets };
        if code.shape.contains(&0) {
            return None;
        }
        // Innermost first; the lengths of 1 play no part.
        let mut order: SmallVec<[usize; 4]> =
            (0..code.shape.len()).rev().filter(|&axis| code.shape[axis] != 1).collect();
        order.sort_by_key(|&axis| out_strides[axis].unsigned_abs());
        for axis in order {
            axes.push(code, out_strides, axis);
        }
        Some(axes)
    }

    fn push(&mut self, code: &Code<'_>, out_strides: &Strides, axis: usize) {
        let length = code.shape[axis];
        let own = |operand: usize| match operand {
            0 => out_strides[axis],
            leaf => code.leaves[leaf - 1].strides[axis],
        };
        // A negative stride of the output reverses the walk of every operand.
        let sign = if own(0) < 0 { -1 } else { 1 };
        if sign < 0 {
            for (operand, offset) in self.offsets.iter_mut().enumerate() {
                *offset += (length as isize - 1) * own(operand);
            }
        }
        let behind = self.lengths.last().is_some_and(|&inner| {
            let last = &self.strides[self.strides.len() - self.width..];
            (0..self.width).all(|operand| sign * own(operand) == last[operand] * inner as isize)
        });
        if behind {
            // The axis continues the one before it: both become one.
            if let Some(inner) = self.lengths.last_mut() {
                *inner *= length;
            }
        } else {
            self.lengths.push(length);
            for operand in 0..self.width {
                self.strides.push(sign * own(operand));
            }
        }
    }

    pub(crate) fn rank(&self) -> usize {
        self.lengths.len()
    }

    pub(crate) fn length(&self, axis: usize) -> usize {
        self.lengths[axis]
    }

    /// Number of elements.
    pub(crate) fn places(&self) -> usize {
        self.lengths.iter().product()
    }

    /// The strides of an axis: the output's, then those of the leaves.
    pub(crate) fn strides(&self, axis: usize) -> &[isize] {
        &self.strides[axis * self.width..(axis + 1) * self.width]
    }

    /// Brings an axis to another position.
    pub(crate) fn move_axis(&mut self, from: usize, to: usize) {
        let length = self.lengths.remove(from);
        self.lengths.insert(to, length);
        let strides: SmallVec<[isize; 8]> = self.strides.drain(from * self.width..(from + 1) * self.width).collect();
        self.strides.insert_many(to * self.width, strides);
    }

    /// The axes without the outermost one, at one of its indices.
    pub(crate) fn at_outermost(&self, place: usize) -> Self {
        let mut inner = self.clone();
        inner.lengths.pop();
        let strides: SmallVec<[isize; 8]> = inner.strides.drain(self.strides.len() - self.width..).collect();
        for (offset, stride) in inner.offsets.iter_mut().zip(strides) {
            *offset += place as isize * stride;
        }
        inner
    }
}
