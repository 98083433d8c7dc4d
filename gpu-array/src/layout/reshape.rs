//! Other shapes of the same places.

use ndarray::{Dimension, Order};
use smallvec::SmallVec;

use super::{Layout, checked_len, extent, in_sequence};
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

    /// The elements at any strides from the first one, all among those of a layout without gaps.
    pub(crate) fn as_strided<E: Dimension>(&self, dim: E, strides: &[isize]) -> Result<Layout<E>> {
        let (op, expected, got) = ("as_strided", dim.ndim(), strides.len());
        if expected != got {
            return Err(ArrayError::Ndim { op, expected, got });
        }
        checked_len(dim.slice())?;
        let own = self.span();
        if !self.is_each_place_once() {
            return Err(ArrayError::Gaps { op, shape: self.shape().to_vec(), strides: self.strides().to_vec() });
        }
        let within = |(least, greatest)| least >= own.start as isize && greatest < own.end as isize;
        let is_empty = dim.slice().contains(&0);
        if !is_empty && !extent(dim.slice(), strides, self.offset as isize).is_some_and(within) {
            let (shape, strides) = (dim.slice().to_vec(), strides.to_vec());
            return Err(ArrayError::Strided { shape, strides, len: own.len() });
        }
        let axes = dim.slice().iter().zip(strides);
        let is_walked = |len: usize| len > 1 && !is_empty;
        Ok(Layout::build(self.offset, axes.map(|(&len, &stride)| (len, if is_walked(len) { stride } else { 0 }))))
    }

    /// The layout of the bytes as elements of `to` bytes, where these have `from`: the last axis has more of them, or fewer.
    ///
    /// # Errors
    /// The reason why they are none.
    pub(crate) fn of_other_size(&self, from: usize, to: usize) -> std::result::Result<Self, &'static str> {
        if from == to {
            return Ok(self.clone());
        }
        let last = self.ndim().checked_sub(1).ok_or("it has no axes")?;
        let (len, is_empty) = (self.dim[last], self.is_empty());
        if len > 1 && !is_empty && self.strides()[last] != 1 {
            return Err("its last axis is not contiguous");
        }
        let whole = |bytes: usize, why| if bytes.is_multiple_of(to) { Ok(bytes / to) } else { Err(why) };
        let mut other = self.clone();
        let bytes = len.checked_mul(from).ok_or("it would have too many elements")?;
        other.dim[last] = whole(bytes, "its last axis is no whole number of the new elements")?;
        checked_len(other.shape()).map_err(|_| "it would have too many elements")?;
        other.offset = if is_empty { 0 } else { whole(self.offset * from, "its first element is not aligned")? };
        for (axis, (len, stride)) in self.axes().enumerate() {
            let is_walked = len > 1 && !is_empty && axis != last;
            // Steps between elements stay within the buffer, so their bytes can be counted.
            let step = if is_walked { stride * from as isize } else { 0 };
            whole(step.unsigned_abs(), "the distance of its rows is no whole number of the new elements")?;
            other.strides[axis] = if axis == last { 1 } else { (step / to as isize) as usize };
        }
        Ok(other)
    }

    /// Whether the elements are those of a stretch of memory, each of them once, in any order. (A broadcast view can have as many elements as its
    /// stretch and leave out some of them.)
    fn is_each_place_once(&self) -> bool {
        let mut axes: SmallVec<[(usize, isize); 6]> = self
            .shape()
            .iter()
            .zip(self.strides())
            .map(|(&len, &stride)| (len, stride.unsigned_abs() as isize))
            .filter(|&(len, _)| len != 1)
            .collect();
        axes.sort_by_key(|&(_, stride)| stride);
        self.is_empty() || in_sequence(axes.into_iter())
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
