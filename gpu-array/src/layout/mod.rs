//! Places of an array's elements in its buffer: the rules of shapes, strides and broadcasting.
//!
//! Tests: `tests/gpu/views.rs` (ndarray's layouts), `programs.rs` (random layouts).

mod axes;
mod reshape;
mod shapes;
mod slice;
#[cfg(test)]
mod tests;

use std::ops::Range;

use ndarray::{Array, Axis, Dimension, IxDyn, ShapeBuilder};

use crate::{ArrayError, Result};

pub(crate) use shapes::{broadcast, broadcast_strides, dense_strides, extent};

/// Lengths and strides of the axes, and the place of the first element.
///
/// Element `(i, j, …)` has the offset `offset + i * strides[0] + j * strides[1] + …`, counted in elements from the start of
/// the buffer. Each layout that is made here keeps to this: the product of the lengths that are not 0 fits an `isize`; no offset of an element, and
/// no offset on the way to one, leaves the buffer that the first layout was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Layout<D> {
    dim: D,
    /// Signed numbers in a type of unsigned ones, as ndarray has them.
    strides: D,
    offset: usize,
}

impl<D: Dimension> Layout<D> {
    /// The shape in C or Fortran order, as the builder says.
    pub(crate) fn of(shape: impl ShapeBuilder<Dim = D>) -> Result<Self> {
        let shape = shape.into_shape_with_order();
        let dim = shape.raw_dim().clone();
        checked_len(dim.slice())?;
        // The order is private to ndarray, so ask an array; one of units takes no memory.
        let probe = Array::<(), D>::uninit(shape);
        let axes = probe.shape().iter().copied().zip(probe.strides().iter().copied());
        Ok(Self::build(0, axes))
    }

    /// The shape in C order: the last axis is contiguous.
    pub(crate) fn c(dim: D) -> Result<Self> {
        Self::of(dim)
    }

    /// The shape in Fortran order: the first axis is contiguous.
    pub(crate) fn f(dim: D) -> Result<Self> {
        Self::of(dim.f())
    }

    /// A layout of these lengths and strides, whose number fits `D`, of elements that are all in their buffer.
    pub(crate) fn of_parts(offset: usize, shape: &[usize], strides: &[isize]) -> Self {
        Self::build(offset, shape.iter().copied().zip(strides.iter().copied()))
    }

    /// A layout of these lengths and strides, whose number fits `D`.
    fn build(offset: usize, axes: impl ExactSizeIterator<Item = (usize, isize)>) -> Self {
        let (mut dim, mut strides) = (D::zeros(axes.len()), D::zeros(axes.len()));
        for (i, (len, stride)) in axes.enumerate() {
            dim[i] = len;
            strides[i] = stride as usize;
        }
        Self { dim, strides, offset }
    }

    /// Lengths and strides.
    fn axes(&self) -> impl DoubleEndedIterator<Item = (usize, isize)> + ExactSizeIterator + Clone {
        self.shape().iter().copied().zip(self.strides().iter().copied())
    }

    pub(crate) fn dim(&self) -> &D {
        &self.dim
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.dim.slice()
    }

    pub(crate) fn ndim(&self) -> usize {
        self.dim.ndim()
    }

    #[expect(unsafe_code, reason = "ndarray's dimension types hold strides as unsigned numbers")]
    pub(crate) fn strides(&self) -> &[isize] {
        let strides = self.strides.slice();
        // SAFETY: usize and isize have the same size and alignment, and all bits are values of both.
        unsafe { std::slice::from_raw_parts(strides.as_ptr().cast(), strides.len()) }
    }

    /// Index of the first element.
    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    /// Number of elements.
    pub(crate) fn len(&self) -> usize {
        self.dim.size()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shape().contains(&0)
    }

    /// Whether the elements lie in C order without gaps.
    pub(crate) fn is_c_contiguous(&self) -> bool {
        self.is_empty() || in_sequence(self.axes().rev())
    }

    /// Whether the elements lie in Fortran order without gaps.
    pub(crate) fn is_f_contiguous(&self) -> bool {
        self.is_empty() || in_sequence(self.axes())
    }

    /// The offsets from the lowest of an element to the highest; empty where there is none.
    pub(crate) fn span(&self) -> Range<usize> {
        if self.is_empty() {
            return self.offset..self.offset;
        }
        let (mut first, mut last) = (self.offset, self.offset);
        for (len, stride) in self.axes() {
            let reach = (len - 1) * stride.unsigned_abs();
            if stride < 0 { first -= reach } else { last += reach }
        }
        first..last + 1
    }

    /// Checks that all elements are among the first `len` of a buffer: safe code can exchange an array's buffer for a shorter one.
    ///
    /// # Errors
    /// `Length` where one is not.
    pub(crate) fn lies_within(&self, len: usize) -> Result<()> {
        let end = self.span().end;
        if self.is_empty() || end <= len {
            return Ok(());
        }
        Err(ArrayError::Length { shape: self.shape().to_vec(), expected: end, got: len })
    }

    /// A layout of the same places with a dimension type that has this number of axes.
    pub(crate) fn into_dimensionality<E: Dimension>(self) -> Result<Layout<E>> {
        match E::NDIM {
            Some(expected) if expected != self.ndim() => {
                Err(ArrayError::Ndim { op: "into_dimensionality", expected, got: self.ndim() })
            }
            _ => Ok(Layout::build(self.offset, self.axes())),
        }
    }

    pub(crate) fn into_dyn(self) -> Layout<IxDyn> {
        Layout::build(self.offset, self.axes())
    }

    /// The number of an axis, where there is such an axis.
    fn checked_axis(&self, op: &'static str, axis: Axis) -> Result<usize> {
        let ndim = self.ndim();
        if axis.0 < ndim { Ok(axis.0) } else { Err(ArrayError::Axis { op, axis: axis.0, ndim }) }
    }

    /// The index in an axis, counted from its end when negative, where the axis has it.
    fn checked_index(&self, op: &'static str, axis: usize, index: isize) -> Result<usize> {
        let len = self.dim[axis];
        let found = from_end(len, index).filter(|&found| found < len);
        found.ok_or(ArrayError::Index { op, axis, len, index })
    }

    /// The place that many steps along an axis, which has that index.
    fn offset_at(&self, axis: usize, index: usize) -> usize {
        self.offset.wrapping_add_signed((index as isize).wrapping_mul(self.strides()[axis]))
    }
}

/// The number of elements of a shape, where lengths of it can be addressed: the product of those that are not 0 counts, as in
/// ndarray.
///
/// # Errors
/// `TooLarge`.
pub fn checked_len(shape: &[usize]) -> Result<usize> {
    let product = shape.iter().filter(|&&len| len != 0).try_fold(1usize, |product, &len| product.checked_mul(len));
    match product.filter(|&product| isize::try_from(product).is_ok()) {
        Some(_) if shape.contains(&0) => Ok(0),
        Some(product) => Ok(product),
        None => Err(ArrayError::TooLarge { shape: shape.to_vec() }),
    }
}

/// Whether each axis begins where the one before it ends; one of length 1 can have any stride.
pub(crate) fn in_sequence(axes: impl Iterator<Item = (usize, isize)>) -> bool {
    let mut expected = 1;
    for (len, stride) in axes {
        if len != 1 && stride != expected {
            return false;
        }
        expected *= len as isize;
    }
    true
}

/// An index counted from the end when it is negative; None before the start.
fn from_end(len: usize, index: isize) -> Option<usize> {
    if index < 0 { len.checked_sub(index.unsigned_abs()) } else { Some(index as usize) }
}
