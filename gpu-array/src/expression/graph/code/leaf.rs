//! The operands that an expression reads.

use ndarray::{ArrayViewD, Dimension};

use super::LeafMemory;
use crate::{
    DType, Element, Numeric, Result,
    layout::{Layout, extent},
    shape::{Shape, Strides},
    view::{NOT_ALIGNED, layout_of_bytes, refused_bytes},
};

/// The elements that an expression reads: at the place with the coordinates `c` that at `offset + sum(strides * c)` in `memory`.
#[derive(Debug)]
pub(crate) struct Leaf<'a> {
    pub(crate) memory: LeafMemory<'a>,
    pub(crate) dtype: DType,
    pub(crate) offset: isize,
    pub(crate) shape: Shape,
    pub(crate) strides: Strides,
}

impl Clone for Leaf<'_> {
    // `SmallVec::clone` appends element by element.
    fn clone(&self) -> Self {
        let (shape, strides) = (Shape::from_slice(&self.shape), Strides::from_slice(&self.strides));
        Self { memory: self.memory.clone(), dtype: self.dtype, offset: self.offset, shape, strides }
    }
}

/// Elements that an expression reads at computed offsets from the first.
#[derive(Clone, Debug)]
pub(crate) struct TakeTable<'a> {
    pub(crate) memory: LeafMemory<'a>,
    pub(crate) dtype: DType,
    /// The offset of the first element.
    pub(crate) offset: isize,
}

impl Leaf<'_> {
    /// The places of the elements as a layout, and the least offset of an element, from which the layout counts.
    pub(crate) fn layout<D: Dimension>(&self) -> (Layout<D>, isize) {
        let first = extent(&self.shape, &self.strides, self.offset).map_or(self.offset, |(least, _)| least);
        let offset = (self.offset - first).cast_unsigned();
        (Layout::of_parts(offset, &self.shape, &self.strides), first)
    }

    /// Other elements of its memory, by a layout that was made of [`Leaf::layout`] and counts from `first`.
    pub(crate) fn with_layout<D: Dimension>(&self, layout: &Layout<D>, first: isize) -> Self {
        let (shape, strides) = (Shape::from_slice(layout.shape()), Strides::from_slice(layout.strides()));
        Self {
            memory: self.memory.clone(),
            dtype: self.dtype,
            offset: first + layout.offset() as isize,
            shape,
            strides,
        }
    }

    /// The bytes of its elements, which are of the type `T`, as elements of another one; None for elements that are not in memory yet.
    ///
    /// # Errors
    /// `ViewAs`.
    pub(crate) fn of_bytes<T: Element, U: Numeric, D: Dimension>(&self) -> Result<Option<Self>> {
        let (layout, first) = self.layout::<D>();
        let other = layout_of_bytes::<T, U, D>(&layout)?;
        let refused = || refused_bytes::<T, U, D>(&layout, NOT_ALIGNED);
        let (memory, offset) = match &self.memory {
            LeafMemory::Deferred(_) | LeafMemory::Nowhere => return Ok(None),
            LeafMemory::Host(view) => (LeafMemory::Host(view.of_bytes::<T, U>(&other, first).ok_or_else(refused)?), 0),
            LeafMemory::OwnedHost(array) => {
                (LeafMemory::OwnedHost(array.of_bytes::<T, U>(&other, first).ok_or_else(refused)?), 0)
            }
            device @ (LeafMemory::Device { .. } | LeafMemory::OwnedDevice(_)) => {
                let bytes = if layout.is_empty() { 0 } else { first * size_of::<T::Storage>() as isize };
                let is_aligned = device.address(bytes, DType::U8).is_multiple_of(U::CUDA_ALIGN as u64);
                if !is_aligned || bytes % size_of::<U>() as isize != 0 {
                    return Err(refused());
                }
                (device.clone(), bytes / size_of::<U>() as isize + other.offset() as isize)
            }
        };
        let (shape, strides) = (Shape::from_slice(other.shape()), Strides::from_slice(other.strides()));
        Ok(Some(Self { memory, dtype: U::DTYPE, offset, shape, strides }))
    }

    /// Its elements with axes of length 1 in front, so that there are that many at least.
    pub(crate) fn with_rank(&self, rank: usize) -> Self {
        let mut wide = self.clone();
        while wide.shape.len() < rank {
            wide.shape.insert(0, 1);
            wide.strides.insert(0, 0);
        }
        wide
    }

    /// The array in host memory that it reads, of elements of the type `T`.
    #[expect(unsafe_code, reason = "the places of a leaf lead to elements of its array")]
    pub(crate) fn host_array<T: Element>(&self) -> Option<ArrayViewD<'_, T>> {
        let view = match &self.memory {
            LeafMemory::Host(view) => view,
            LeafMemory::OwnedHost(array) => array.view(),
            _ => return None,
        };
        let part = view.part::<T>()?;
        // SAFETY: shape, strides and offset are those of a view of the array: each place is one of its elements.
        unsafe { part.array(&self.shape, &self.strides, self.offset) }
    }

    /// The address in device memory of the element at an offset; outside device memory the offset itself.
    pub(crate) fn address(&self, offset: isize) -> u64 {
        self.memory.address(offset, self.dtype)
    }

    /// Whether both have the same values at each place: those of an array, or the places themselves.
    pub(crate) fn reads_as(&self, other: &Leaf<'_>) -> bool {
        let places = matches!((&self.memory, &other.memory), (LeafMemory::Nowhere, LeafMemory::Nowhere));
        self.same_as(other)
            || places && self.offset == other.offset && self.shape == other.shape && self.strides == other.strides
    }

    /// Whether both are the same elements in the same shape.
    pub(crate) fn same_as(&self, other: &Leaf<'_>) -> bool {
        self.dtype == other.dtype
            && self.offset == other.offset
            && self.memory.same_as(&other.memory)
            && self.shape == other.shape
            && self.strides == other.strides
    }
}
