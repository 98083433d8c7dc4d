//! Host memory whose element type is a value.
#![expect(
    unsafe_code,
    reason = "an ndarray view ties its lifetime too tightly to stand in a graph: its pointer and borrow stand for it"
)]

use std::marker::PhantomData;

use ndarray::ArrayViewD;

use crate::{DType, layout::extent};

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
    pub(crate) fn new(view: &ArrayViewD<'a, T>) -> Self {
        let extent = extent(view.shape(), view.strides(), 0);
        Self { first: view.as_ptr(), extent, _elements: PhantomData }
    }

    pub(crate) fn first(&self) -> *const T {
        self.first
    }

    pub(crate) fn extent(&self) -> Option<(isize, isize)> {
        self.extent
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

types!(Bool bool, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64);
