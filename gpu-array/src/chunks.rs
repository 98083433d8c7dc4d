//! Iterators over parts of an axis.

use ndarray::{Axis, Dimension};

use crate::{Element, GpuView, GpuViewMut, Result};

macro_rules! chunks {
    ($(#[$doc:meta])* $name:ident, $view:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<'a, T: Element, D: Dimension> {
            /// None at the end.
            rest: Option<$view<'a, T, D>>,
            axis: Axis,
            size: usize,
        }

        impl<'a, T: Element, D: Dimension> $name<'a, T, D> {
            pub(crate) fn new(view: $view<'a, T, D>, axis: Axis, size: usize) -> Result<Self> {
                let len = view.layout().checked_chunks(axis, size)?;
                Ok(Self { rest: (len > 0).then_some(view), axis, size })
            }

            /// Indices of the axis that are left.
            fn left(&self) -> usize {
                self.rest.as_ref().map_or(0, |rest| rest.shape()[self.axis.0])
            }
        }

        impl<'a, T: Element, D: Dimension> Iterator for $name<'a, T, D> {
            type Item = $view<'a, T, D>;

            fn next(&mut self) -> Option<Self::Item> {
                let (left, rest) = (self.left(), self.rest.take()?);
                // Always Some: the axis has that many indices.
                let (first, others) = rest.layout().split_at(self.axis, self.size.min(left)).ok()?;
                let (first, others) = rest.with_both(first, others);
                self.rest = (left > self.size).then_some(others);
                Some(first)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                let chunks = self.left().div_ceil(self.size);
                (chunks, Some(chunks))
            }
        }

        impl<T: Element, D: Dimension> ExactSizeIterator for $name<'_, T, D> {}
    };
}

chunks!(
    /// Iterator over the parts of an axis, to read; see [`GpuArray::chunks`](crate::GpuArray::chunks).
    Chunks, GpuView
);
chunks!(
    /// Iterator over the parts of an axis, to write; see [`GpuArray::chunks_mut`](crate::GpuArray::chunks_mut).
    ChunksMut, GpuViewMut
);
