//! Slices and single indices of axes.

use ndarray::{Axis, Dimension, RemoveAxis, SliceArg, SliceInfoElem};

use super::{Layout, from_end};
use crate::{ArrayError, Result};

/// The most parts of an axis in one list: some hundred megabytes.
const MOST_PARTS: usize = 1 << 20;

impl<D: Dimension> Layout<D> {
    /// The part that `s![…]` selects, by ndarray's rules.
    pub(crate) fn slice<I: SliceArg<D>>(&self, info: &I) -> Result<Layout<I::OutDim>> {
        if info.in_ndim() != self.ndim() {
            return Err(ArrayError::Ndim { op: "slice", expected: self.ndim(), got: info.in_ndim() });
        }
        let (mut dim, mut strides) = (I::OutDim::zeros(info.out_ndim()), I::OutDim::zeros(info.out_ndim()));
        let (mut rest, mut axis, mut new_axis) = (self.clone(), 0, 0);
        for &element in info.as_ref() {
            match element {
                SliceInfoElem::Slice { start, end, step } => {
                    rest.narrow(axis, start, end, step)?;
                    (dim[new_axis], strides[new_axis]) = (rest.dim[axis], rest.strides[axis]);
                }
                SliceInfoElem::Index(index) => {
                    let index = rest.checked_index("slice", axis, index)?;
                    rest.offset = rest.offset_at(axis, index);
                }
                SliceInfoElem::NewAxis => dim[new_axis] = 1,
            }
            axis += usize::from(!matches!(element, SliceInfoElem::NewAxis));
            new_axis += usize::from(!matches!(element, SliceInfoElem::Index(_)));
        }
        Ok(Layout { dim, strides, offset: rest.offset })
    }

    /// Keeps each `step`-th element of `start..end`, from the last one down when the step is negative.
    fn narrow(&mut self, axis: usize, start: isize, end: Option<isize>, step: isize) -> Result<()> {
        let len = self.dim[axis];
        let outside = ArrayError::Slice { axis, len, start, end, step };
        let first = from_end(len, start).filter(|&first| first <= len && step != 0);
        let last = end.map_or(Some(len), |end| from_end(len, end)).filter(|&last| last <= len);
        let (Some(first), Some(last)) = (first, last) else { return Err(outside) };
        let width = last.saturating_sub(first);
        if width > 0 {
            self.offset = self.offset_at(axis, if step < 0 { last - 1 } else { first });
        }
        self.dim[axis] = width.div_ceil(step.unsigned_abs());
        // The product of a stride that leads to no other element could overflow.
        let stride = if self.dim[axis] > 1 { self.strides()[axis] * step } else { 0 };
        self.strides[axis] = stride as usize;
        Ok(())
    }

    /// The places with one index of an axis, without that axis.
    pub(crate) fn index_axis(&self, axis: Axis, index: usize) -> Result<Layout<D::Smaller>>
    where
        D: RemoveAxis,
    {
        let axis = self.checked_axis("index_axis", axis)?;
        let index = self.checked_index("index_axis", axis, saturated(index))?;
        let kept: Vec<_> = self.axes().enumerate().filter(|&(i, _)| i != axis).map(|(_, kept)| kept).collect();
        Ok(Layout::build(self.offset_at(axis, index), kept.into_iter()))
    }

    /// The places before an index of an axis, and those from it on.
    pub(crate) fn split_at(&self, axis: Axis, index: usize) -> Result<(Self, Self)> {
        let axis = self.checked_axis("split_at", axis)?;
        let len = self.dim[axis];
        if index > len {
            return Err(ArrayError::Index { op: "split_at", axis, len, index: saturated(index) });
        }
        Ok((self.part(axis, 0, index), self.part(axis, index, len)))
    }

    /// Equal parts of an axis.
    pub(crate) fn split(&self, axis: Axis, parts: usize) -> Result<Vec<Self>> {
        let axis = self.checked_axis("split", axis)?;
        let len = self.dim[axis];
        if parts == 0 || !len.is_multiple_of(parts) {
            return Err(ArrayError::Split { op: "split", axis, len, parts });
        }
        self.parts("split", axis, parts)
    }

    /// Parts of an axis, of which the first ones have an index more where they cannot be equal.
    pub(crate) fn array_split(&self, axis: Axis, parts: usize) -> Result<Vec<Self>> {
        self.parts("array_split", self.checked_axis("array_split", axis)?, parts)
    }

    fn parts(&self, op: &'static str, axis: usize, parts: usize) -> Result<Vec<Self>> {
        let len = self.dim[axis];
        let refused = || ArrayError::Split { op, axis, len, parts };
        let (size, longer) = (len.checked_div(parts).ok_or_else(refused)?, len.checked_rem(parts).ok_or_else(refused)?);
        // The list would take memory before anyone could refuse it.
        if parts > MOST_PARTS {
            return Err(ArrayError::TooManyParts { op, parts, limit: MOST_PARTS });
        }
        let start = |part: usize| part * size + part.min(longer);
        Ok((0..parts).map(|part| self.part(axis, start(part), start(part + 1))).collect())
    }

    /// The parts of an axis before, between and behind some indices.
    pub(crate) fn split_at_indices(&self, axis: Axis, indices: &[usize]) -> Result<Vec<Self>> {
        let axis = self.checked_axis("split_at_indices", axis)?;
        let len = self.dim[axis];
        let ends = indices.iter().copied().chain([len]).map(|end| end.min(len));
        let starts = std::iter::once(0).chain(ends.clone());
        Ok(starts.zip(ends).map(|(start, end)| self.part(axis, start, end.max(start))).collect())
    }

    /// The length of an axis, where it can be cut into parts of `size`.
    pub(crate) fn checked_chunks(&self, axis: Axis, size: usize) -> Result<usize> {
        let axis = self.checked_axis("chunks", axis)?;
        let len = self.dim[axis];
        if size > 0 { Ok(len) } else { Err(ArrayError::Chunk { axis, len }) }
    }

    /// The indices `start..end` of an axis, which has them.
    pub(crate) fn part(&self, axis: usize, start: usize, end: usize) -> Self {
        let mut part = self.clone();
        part.dim[axis] = end - start;
        if start < end {
            part.offset = self.offset_at(axis, start);
        }
        part
    }
}

/// No axis is as long as the largest `isize`, so an index that does not fit is outside too.
fn saturated(index: usize) -> isize {
    isize::try_from(index).unwrap_or(isize::MAX)
}
