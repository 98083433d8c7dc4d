//! Lengths and strides of axes, as expressions and layouts have them.

use smallvec::SmallVec;

/// In a shape for `reshape`: the length that the number of elements leaves for this axis, NumPy's -1.
pub const INFER: usize = usize::MAX;

/// Lengths of axes.
pub(crate) type Shape = SmallVec<[usize; 4]>;

/// Distances of neighbours along each axis, in elements.
pub(crate) type Strides = SmallVec<[isize; 4]>;
