//! Addresses of the elements of a leaf, place by place in C order.

use std::ops::Range;

use smallvec::SmallVec;

use crate::layout::extent;

/// The offsets `offset + sum(strides * c)` of all places of a shape; neighbouring axes that run on into each other are one.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    lens: SmallVec<[usize; 4]>,
    strides: SmallVec<[isize; 4]>,
    offset: isize,
}

impl Rows {
    /// `shape` has no axis of length 0.
    pub(super) fn new(shape: &[usize], strides: &[isize], offset: isize) -> Self {
        let mut rows = Self { lens: SmallVec::new(), strides: SmallVec::new(), offset };
        for (&len, &stride) in shape.iter().zip(strides).filter(|(len, _)| **len != 1) {
            if let (Some(last_len), Some(last)) = (rows.lens.last_mut(), rows.strides.last_mut())
                && *last == stride.wrapping_mul(len as isize)
            {
                *last_len *= len;
                *last = stride;
            } else {
                rows.lens.push(len);
                rows.strides.push(stride);
            }
        }
        rows
    }

    /// Whether all places have the same offset.
    pub(super) fn is_uniform(&self) -> bool {
        self.strides.iter().all(|&stride| stride == 0)
    }

    /// The offset of the first place if those of the others follow one by one.
    pub(super) fn contiguous(&self) -> Option<isize> {
        (self.strides.as_slice() == [1]).then_some(self.offset)
    }

    /// The least and the greatest offset; none where they do not fit an `isize`.
    pub(super) fn extent(&self) -> Option<(isize, isize)> {
        extent(&self.lens, &self.strides, self.offset)
    }

    /// Calls `row(places, offset, stride)` for pieces of the places `start..start + len`, in order: the first of `places` (counted from
    /// `start`) has that offset, the others follow at that stride.
    pub(super) fn for_each(&self, start: usize, len: usize, mut row: impl FnMut(Range<usize>, isize, isize)) {
        let (Some((&row_len, lens)), Some((&stride, strides))) = (self.lens.split_last(), self.strides.split_last())
        else {
            return row(0..len, self.offset, 0);
        };
        let (mut rest, mut within) = (start / row_len, start % row_len);
        let mut coordinates: SmallVec<[usize; 4]> = SmallVec::from_elem(0, lens.len());
        let mut offset = self.offset;
        for axis in (0..lens.len()).rev() {
            coordinates[axis] = rest % lens[axis];
            rest /= lens[axis];
            offset = offset.wrapping_add(strides[axis].wrapping_mul(coordinates[axis] as isize));
        }
        let mut done = 0;
        while done < len {
            let end = len.min(done + (row_len - within));
            row(done..end, offset.wrapping_add(stride.wrapping_mul(within as isize)), stride);
            (done, within) = (end, 0);
            for axis in (0..lens.len()).rev() {
                coordinates[axis] += 1;
                offset = offset.wrapping_add(strides[axis]);
                if coordinates[axis] < lens[axis] {
                    break;
                }
                offset = offset.wrapping_sub(strides[axis].wrapping_mul(lens[axis] as isize));
                coordinates[axis] = 0;
            }
        }
    }
}
