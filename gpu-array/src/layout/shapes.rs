//! The rules as expressions need them, where the number of axes is not in the type.

use smallvec::SmallVec;

use crate::shape::{Shape, Strides};

/// The shape of an operation between two, as NumPy has it: axes are matched from the last one, and a length of 1 fits any.
pub(crate) fn broadcast(a: &[usize], b: &[usize]) -> Option<Shape> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let mut shape = Shape::from_slice(long);
    for (length, &other) in shape.iter_mut().rev().zip(short.iter().rev()) {
        match (*length, other) {
            (a, b) if a == b => {}
            (1, b) => *length = b,
            (_, 1) => {}
            _ => return None,
        }
    }
    Some(shape)
}

/// The strides of an array in a shape of `rank` axes that it is broadcast to.
pub(crate) fn broadcast_strides(shape: &[usize], strides: &[isize], rank: usize) -> Strides {
    let mut wide: Strides = SmallVec::from_elem(0, rank);
    for ((stride, &own), &length) in wide.iter_mut().rev().zip(strides.iter().rev()).zip(shape.iter().rev()) {
        *stride = if length == 1 { 0 } else { own };
    }
    wide
}

/// The strides of an array without gaps, in C or Fortran order. Of a shape that no array has they wrap.
pub(crate) fn dense_strides(shape: &[usize], fortran: bool) -> Strides {
    let rank = shape.len();
    let mut strides: Strides = SmallVec::from_elem(0, rank);
    let mut next = 1;
    for step in 0..rank {
        let axis = if fortran { step } else { rank - 1 - step };
        strides[axis] = next;
        next = next.wrapping_mul(shape[axis].max(1) as isize);
    }
    strides
}

/// The least and the greatest of `offset + sum(strides * c)`; none where there are no coordinates or an offset does not fit.
pub(crate) fn extent(lens: &[usize], strides: &[isize], offset: isize) -> Option<(isize, isize)> {
    let (mut least, mut greatest) = (offset, offset);
    for (&len, &stride) in lens.iter().zip(strides) {
        let reach = stride.checked_mul(isize::try_from(len.checked_sub(1)?).ok()?)?;
        let bound = if reach < 0 { &mut least } else { &mut greatest };
        *bound = bound.checked_add(reach)?;
    }
    Some((least, greatest))
}
