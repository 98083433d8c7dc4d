//! Axes in another order, added, removed, reversed, and broadcasting.

use ndarray::{Axis, Dimension, Ix1, IxDyn};

use super::{Layout, checked_len};
use crate::{ArrayError, Result};

impl<D: Dimension> Layout<D> {
    /// The axes in reverse order: the transpose.
    pub(crate) fn t(&self) -> Self {
        Self::build(self.offset, self.axes().rev())
    }

    /// Axis `i` of the result is axis `axes[i]`.
    pub(crate) fn permuted_axes(&self, axes: &D) -> Result<Self> {
        let mut sorted = axes.slice().to_vec();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..self.ndim()) {
            return Err(ArrayError::Permutation { axes: axes.slice().to_vec(), ndim: self.ndim() });
        }
        Ok(Self::build(self.offset, axes.slice().iter().map(|&axis| (self.dim[axis], self.strides()[axis]))))
    }

    pub(crate) fn swap_axes(&self, a: Axis, b: Axis) -> Result<Self> {
        let (a, b) = (self.checked_axis("swap_axes", a)?, self.checked_axis("swap_axes", b)?);
        let mut swapped = self.clone();
        swapped.dim.slice_mut().swap(a, b);
        swapped.strides.slice_mut().swap(a, b);
        Ok(swapped)
    }

    /// The elements of an axis in reverse order.
    pub(crate) fn invert_axis(&self, axis: Axis) -> Result<Self> {
        let axis = self.checked_axis("invert_axis", axis)?;
        let mut inverted = self.clone();
        inverted.offset = self.offset_at(axis, self.dim[axis].saturating_sub(1));
        inverted.strides[axis] = self.strides[axis].wrapping_neg();
        Ok(inverted)
    }

    /// Without the axes of length 1.
    pub(crate) fn squeeze(&self) -> Layout<IxDyn> {
        let kept: Vec<_> = self.axes().filter(|&(len, _)| len != 1).collect();
        Layout::build(self.offset, kept.into_iter())
    }

    /// With a new axis of length 1 that becomes axis number `axis`.
    pub(crate) fn insert_axis(&self, axis: Axis) -> Result<Layout<D::Larger>> {
        let ndim = self.ndim();
        if axis.0 > ndim {
            return Err(ArrayError::Axis { op: "insert_axis", axis: axis.0, ndim: ndim.saturating_add(1) });
        }
        let mut axes: Vec<_> = self.axes().collect();
        axes.insert(axis.0, (1, 0));
        Ok(Layout::build(self.offset, axes.into_iter()))
    }

    /// The places whose indices are all the same.
    pub(crate) fn diagonal(&self) -> Layout<Ix1> {
        let len = self.shape().iter().copied().min().unwrap_or(1);
        let stride = if len > 1 { self.strides().iter().sum() } else { 0 };
        Layout::build(self.offset, std::iter::once((len, stride)))
    }

    /// The places whose indices in `a` and in `b` differ by `offset`, along a last axis in place of those two.
    pub(crate) fn diagonal_of(&self, offset: isize, a: Axis, b: Axis) -> Result<Layout<D::Smaller>> {
        let op = "diagonal_of";
        let (a, b) = (self.checked_axis(op, a)?, self.checked_axis(op, b)?);
        if a == b {
            return Err(ArrayError::RepeatedAxis { op, axis: a });
        }
        // The first place on the diagonal.
        let (row, column) = if offset < 0 { (offset.unsigned_abs(), 0) } else { (0, offset.unsigned_abs()) };
        let len = self.dim[a].saturating_sub(row).min(self.dim[b].saturating_sub(column));
        let strides = self.strides();
        let start = if len == 0 {
            self.offset
        } else {
            let along = |axis: usize, index: usize| (index as isize).wrapping_mul(strides[axis]);
            self.offset.wrapping_add_signed(along(a, row)).wrapping_add_signed(along(b, column))
        };
        let stride = if len > 1 { strides[a] + strides[b] } else { 0 };
        let others = self.axes().enumerate().filter(|&(axis, _)| axis != a && axis != b).map(|(_, axis)| axis);
        let axes: Vec<_> = others.chain([(len, stride)]).collect();
        Ok(Layout::build(start, axes.into_iter()))
    }

    /// The shape `dim`, in which each element stands as often as needed: axes are compared from the last; one of length 1, or one that
    /// is missing, takes any length with stride 0.
    pub(crate) fn broadcast<E: Dimension>(&self, dim: E) -> Result<Layout<E>> {
        checked_len(dim.slice())?;
        let refused = || ArrayError::Broadcast { from: self.shape().to_vec(), to: dim.slice().to_vec() };
        let missing = dim.ndim().checked_sub(self.ndim()).ok_or_else(refused)?;
        let mut strides = E::zeros(dim.ndim());
        for (i, (len, stride)) in self.axes().enumerate() {
            match dim[missing + i] {
                wanted if wanted == len => strides[missing + i] = stride as usize,
                _ if len == 1 => {}
                _ => return Err(refused()),
            }
        }
        Ok(Layout { dim, strides, offset: self.offset })
    }
}
