//! Other shapes of the same places.

use ndarray::{Dimension, Order};
use smallvec::SmallVec;

use super::{Layout, checked_len};
use crate::{ArrayError, INFER, Result};

impl<D: Dimension> Layout<D> {
    /// A layout of the same elements, counted in C order (or Fortran order), in another shape; an error where strides cannot say it.
    pub(crate) fn reshape<E: Dimension>(&self, dim: E, order: Order) -> Result<Layout<E>> {
        let dim = self.inferred(dim)?;
        if checked_len(dim.slice())? != self.len() {
            return Err(ArrayError::Reshape { from: self.shape().to_vec(), to: dim.slice().to_vec() });
        }
        if self.is_empty() {
            return Ok(Layout { offset: self.offset, ..Layout::c(dim)? });
        }
        let column_major = matches!(order, Order::ColumnMajor);
        let blocks = if column_major { blocks(self.axes()) } else { blocks(self.axes().rev()) };
        let mut strides = E::zeros(dim.ndim());
        let mut cut = Cut { blocks: blocks.iter(), left: 1, stride: 1 };
        for i in 0..dim.ndim() {
            let axis = if column_major { i } else { dim.ndim() - 1 - i };
            let stride = cut.axis(dim[axis]).ok_or_else(|| ArrayError::ReshapeNeedsCopy {
                from: self.shape().to_vec(),
                strides: self.strides().to_vec(),
                to: dim.slice().to_vec(),
            })?;
            strides[axis] = stride as usize;
        }
        Ok(Layout { dim, strides, offset: self.offset })
    }

    /// The shape with the length in place of [`INFER`].
    fn inferred<E: Dimension>(&self, mut dim: E) -> Result<E> {
        let mut unknown = dim.slice().iter().enumerate().filter(|&(_, &len)| len == INFER).map(|(axis, _)| axis);
        let Some(axis) = unknown.next() else { return Ok(dim) };
        let refused = || ArrayError::Infer { len: self.len(), shape: dim.slice().to_vec() };
        if unknown.next().is_some() {
            return Err(refused());
        }
        let others = dim.slice().iter().filter(|&&len| len != INFER);
        let known = others.copied().try_fold(1usize, usize::checked_mul).filter(|&known| known > 0);
        let known = known.filter(|known| self.len().is_multiple_of(*known)).ok_or_else(refused)?;
        dim[axis] = self.len() / known;
        Ok(dim)
    }
}

/// Neighbouring axes that are one in memory, fastest first; none of length 1.
fn blocks(axes: impl Iterator<Item = (usize, isize)>) -> SmallVec<[(usize, isize); 4]> {
    let mut blocks: SmallVec<[(usize, isize); 4]> = SmallVec::new();
    for (len, stride) in axes.filter(|&(len, _)| len != 1) {
        match blocks.last_mut() {
            Some((inner, inner_stride)) if stride == *inner_stride * *inner as isize => *inner *= len,
            _ => blocks.push((len, stride)),
        }
    }
    blocks
}

/// Takes axes off blocks, fastest first.
struct Cut<'a> {
    blocks: std::slice::Iter<'a, (usize, isize)>,
    /// The length that is left of the current block, and its stride.
    left: usize,
    stride: isize,
}

impl Cut<'_> {
    /// The stride of the next axis; None where it would reach from one block into another.
    fn axis(&mut self, len: usize) -> Option<isize> {
        if self.left == 1 && len != 1 {
            (self.left, self.stride) = *self.blocks.next()?;
        }
        if !self.left.is_multiple_of(len) {
            return None;
        }
        let stride = self.stride;
        self.left /= len;
        self.stride = self.stride.wrapping_mul(len as isize);
        Some(stride)
    }
}
