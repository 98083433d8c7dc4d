//! Host memory whose element type is a value.
#![expect(
    unsafe_code,
    reason = "an ndarray view ties its lifetime too tightly to stand in a graph: its pointer and borrow stand for it"
)]

use std::{any::Any, fmt, marker::PhantomData, sync::Arc};

use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn, ShapeBuilder};

use half::{bf16, f16};

use super::{c64, c128};
use crate::{DType, Element, layout::extent};

/// A borrowed array: where its first element is, and how far the others are from it.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct HostPart<'a, T> {
    first: *const T,
    /// The least and the greatest offset of an element; None for an array without elements.
    extent: Option<(isize, isize)>,
    _elements: PhantomData<&'a T>,
}

// SAFETY: it reads elements as a shared reference does.
unsafe impl<T: Sync> Send for HostPart<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for HostPart<'_, T> {}

impl<'a, T> HostPart<'a, T> {
    /// A part for as long as the caller keeps its elements.
    fn of_kept<'k>(self) -> HostPart<'k, T> {
        HostPart { first: self.first, extent: self.extent, _elements: PhantomData }
    }

    pub(crate) fn new(view: &ArrayViewD<'a, T>) -> Self {
        let extent = extent(view.shape(), view.strides(), 0);
        Self { first: view.as_ptr(), extent, _elements: PhantomData }
    }

    /// The elements at `offset + sum(strides * c)`; None where they lead out of the array.
    ///
    /// # Safety
    /// They are elements of the array, not memory in gaps between these.
    pub(crate) unsafe fn array(&self, shape: &[usize], strides: &[isize], offset: isize) -> Option<ArrayViewD<'a, T>> {
        let (least, greatest) = extent(shape, strides, offset)?;
        if self.extent.is_none_or(|(first, last)| least < first || greatest > last) {
            return None;
        }
        // From the element with the least address, with steps up; then those axes are turned that go down.
        let down = |axis: usize| strides[axis] < 0 && shape[axis] > 1;
        let steps: Vec<usize> = strides.iter().map(|stride| stride.unsigned_abs()).collect();
        let start = (0..shape.len()).filter(|&axis| down(axis)).map(|axis| strides[axis] * (shape[axis] - 1) as isize);
        // SAFETY: each offset is between those of elements of the array, so it is in its allocation, and the caller promises that it is an element. The
        // array is borrowed for 'a.
        let mut view = unsafe {
            let first = self.first.offset(offset + start.sum::<isize>());
            ArrayViewD::from_shape_ptr(IxDyn(shape).strides(IxDyn(&steps)), first)
        };
        (0..shape.len()).filter(|&axis| down(axis)).for_each(|axis| view.invert_axis(Axis(axis)));
        Some(view)
    }

    pub(crate) fn first(&self) -> *const T {
        self.first
    }

    pub(crate) fn extent(&self) -> Option<(isize, isize)> {
        self.extent
    }
}

/// An array that many may read and that goes with the last of them.
#[derive(Clone)]
pub(crate) struct OwnedHost {
    /// A view of `_owner`, whose elements stay at their address. Nobody gets it for longer than this structure is borrowed.
    view: HostView<'static>,
    _owner: Arc<dyn Any + Send + Sync>,
}

impl OwnedHost {
    pub(crate) fn new<T: Element>(array: ArrayD<T>) -> Self {
        let owner = Arc::new(array);
        Self { view: T::host_view(owner.view()).of_kept(), _owner: owner }
    }

    pub(crate) fn view(&self) -> &HostView<'_> {
        &self.view
    }
}

impl fmt::Debug for OwnedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view.fmt(f)
    }
}

macro_rules! types {
    ($($variant:ident $element:ident),*) => {
        /// An array of any element type, to read.
        #[derive(Clone, Debug)]
        #[doc(hidden)]
        #[non_exhaustive]
        pub enum HostView<'a> {
            $($variant(HostPart<'a, $element>),)*
        }

        /// Elements of any type, to write.
        #[derive(Debug)]
        #[doc(hidden)]
        #[non_exhaustive]
        pub enum HostSliceMut<'a> {
            $($variant(&'a mut [$element]),)*
        }

        impl HostView<'_> {
            /// The element type.
            #[must_use]
            pub fn dtype(&self) -> DType {
                match self { $(Self::$variant(_) => DType::$variant,)* }
            }
        }

        impl HostView<'_> {
            /// The view for as long as the caller keeps its array.
            fn of_kept(self) -> HostView<'static> {
                match self { $(Self::$variant(part) => HostView::$variant(part.of_kept()),)* }
            }

            /// The part, if its elements have the type `T`, which is the only one with its [`DType`].
            pub(crate) fn part<T: Element>(&self) -> Option<HostPart<'_, T>> {
                if self.dtype() != T::DTYPE {
                    return None;
                }
                Some(match self {
                    $(Self::$variant(part) => {
                        HostPart { first: part.first.cast(), extent: part.extent, _elements: PhantomData }
                    })*
                })
            }

            /// The address of its first element.
            pub(crate) fn address(&self) -> usize {
                match self { $(Self::$variant(part) => part.first() as usize,)* }
            }
        }

        impl<'a> HostSliceMut<'a> {
            /// Cuts off the first `len` elements, or all where there are fewer.
            pub(crate) fn take_first(&mut self, len: usize) -> Self {
                match self {
                    $(Self::$variant(slice) => {
                        let len = len.min(slice.len());
                        let (first, rest) = std::mem::take(slice).split_at_mut(len);
                        *slice = rest;
                        Self::$variant(first)
                    })*
                }
            }

            /// The element type.
            #[must_use]
            pub fn dtype(&self) -> DType {
                match self { $(Self::$variant(_) => DType::$variant,)* }
            }

            /// Number of elements.
            #[must_use]
            pub fn len(&self) -> usize {
                match self { $(Self::$variant(slice) => slice.len(),)* }
            }

            /// Whether there is none.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }
    };
}

types!(Bool bool, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F16 f16, BF16 bf16, F32 f32, F64 f64, C64 c64, C128 c128);
