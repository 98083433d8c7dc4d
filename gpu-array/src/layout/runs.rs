//! Elements in the order of their places.

use std::{cmp::Reverse, ops::Range};

use ndarray::{Dimension, IxDyn, indices};

use super::Layout;

impl<D: Dimension> Layout<D> {
    /// The offsets of all elements, in C order of their indices.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = usize> + use<D> {
        let layout = self.clone();
        indices(self.dim.clone().into_dyn()).into_iter().map(move |index| {
            let steps = index.slice().iter().zip(layout.strides());
            steps.fold(layout.offset, |place, (&i, stride)| place.wrapping_add_signed(i as isize * stride))
        })
    }

    /// The axes from the one with the longest stride to the shortest, each with whether its stride is negative.
    pub(crate) fn memory_order(&self) -> Vec<(usize, bool)> {
        let strides = self.strides();
        let mut axes: Vec<usize> = (0..self.ndim()).collect();
        axes.sort_by_key(|&axis| Reverse(strides[axis].unsigned_abs()));
        axes.into_iter().map(|axis| (axis, strides[axis] < 0)).collect()
    }

    /// The ranges of offsets in which elements lie without gaps, upwards where the elements do not overlap. All have one length.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Range<usize>> + use<D> {
        let sorted = self.memory_order().into_iter().map(|(axis, _)| {
            let (len, stride) = (self.shape()[axis], self.strides()[axis]);
            (len, stride.abs())
        });
        let mut outer: Vec<(usize, isize)> = sorted.filter(|&(len, _)| len != 1).collect();
        let mut run = 1;
        while let Some((len, _)) = outer.pop_if(|&mut (_, stride)| stride == run as isize) {
            run *= len;
        }
        if self.is_empty() {
            outer = vec![(0, 0)];
        }
        let starts = Layout::<IxDyn>::build(self.span().start, outer.into_iter());
        starts.offsets().map(move |start| start..start + run)
    }
}
