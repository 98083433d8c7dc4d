//! Host memory whose element type is a value.
#![expect(
    unsafe_code,
    reason = "an ndarray view ties its lifetime too tightly to stand in a graph: its pointer and borrow stand for it"
)]

use std::{any::Any, fmt, marker::PhantomData, ptr::NonNull, sync::Arc};

use ndarray::{ArrayD, ArrayView, ArrayViewD, ArrayViewMut, Axis, Dimension, IxDyn, ShapeBuilder, StrideShape};

use half::{bf16, f16};

use super::{Numeric, c64, c128};
use crate::{
    DType, Element,
    layout::{Layout, extent},
};

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

    /// [`HostView::of_bytes`] of the array.
    pub(crate) fn of_bytes<T: Element, U: Numeric>(
        &self,
        layout: &Layout<impl Dimension>,
        first: isize,
    ) -> Option<Self> {
        Some(Self { view: self.view.of_bytes::<T, U>(layout, first)?, _owner: self._owner.clone() })
    }
}

impl<'a> HostView<'a> {
    /// Elements of `U` that have the bytes of elements of `T`, which the view's are. The layout was made of one of the view's elements by
    /// [`Layout::of_other_size`], and counts from the view's element at the offset `first`, the least of that layout. None for a view of another
    /// type, and for elements that are not aligned.
    pub(crate) fn of_bytes<T: Element, U: Numeric>(
        &self,
        layout: &Layout<impl Dimension>,
        first: isize,
    ) -> Option<Self> {
        let part: HostPart<'a, T> = self.part::<T>()?.of_kept();
        let least = part.first.wrapping_offset(first).cast::<U>();
        if !is_aligned(least, layout) {
            return None;
        }
        // SAFETY: the elements have the bytes of elements of the array, which is borrowed for 'a, they are aligned, and `U` has a value for any bytes.
        let mut view = unsafe { ArrayView::from_shape_ptr(steps_up(layout), start(least, layout)) };
        axes_down(layout).for_each(|axis| view.invert_axis(axis));
        Some(U::host_view(view.into_dyn()))
    }
}

/// The layout of a view's elements, which counts from the one with the least address, and that address.
pub(crate) fn places_mut<T, D: Dimension>(view: &mut ArrayViewMut<'_, T, D>) -> (Layout<D>, *mut T) {
    let least = extent(view.shape(), view.strides(), 0).map_or(0, |(least, _)| least);
    let layout = Layout::of_parts(least.unsigned_abs(), view.shape(), view.strides());
    (layout, view.as_mut_ptr().wrapping_offset(least))
}

/// The elements of `U` to which a layout leads that counts from `least`.
///
/// # Safety
/// The layout leads to each element once, all aligned and in memory that nobody else uses for `'v`; `U` has a value for the bytes of each, and whoever
/// owns the memory has one for the bytes of each `U`.
pub(crate) unsafe fn view_mut_of<'v, U, E: Dimension>(least: *mut U, layout: &Layout<E>) -> ArrayViewMut<'v, U, E> {
    let start = start(least.cast_const(), layout).cast_mut();
    // SAFETY: the caller promises that the elements are there and the view's alone. Steps are up from the least of them.
    let mut view = unsafe { ArrayViewMut::from_shape_ptr(steps_up(layout), start) };
    axes_down(layout).for_each(|axis| view.invert_axis(axis));
    view
}

/// Whether the elements of a layout that counts from `least` are aligned, which is so if one of them is.
pub(crate) fn is_aligned<U, E: Dimension>(least: *const U, layout: &Layout<E>) -> bool {
    start(least, layout).is_aligned()
}

/// The least address of an element of a layout that counts from `least`.
fn start<U, E: Dimension>(least: *const U, layout: &Layout<E>) -> *const U {
    if layout.is_empty() {
        return NonNull::<U>::dangling().as_ptr().cast_const();
    }
    least.wrapping_add(layout.span().start)
}

/// Lengths and strides, as they are from the least address on; those of C order where there is no element.
fn steps_up<E: Dimension>(layout: &Layout<E>) -> StrideShape<E> {
    if layout.is_empty() {
        return layout.dim().clone().into();
    }
    let mut steps = layout.dim().clone();
    for (step, stride) in steps.slice_mut().iter_mut().zip(layout.strides()) {
        *step = stride.unsigned_abs();
    }
    layout.dim().clone().strides(steps)
}

/// The axes along which addresses of elements fall.
fn axes_down<E: Dimension>(layout: &Layout<E>) -> impl Iterator<Item = Axis> {
    let (axes, is_empty) = (layout.shape().iter().zip(layout.strides()).enumerate(), layout.is_empty());
    axes.filter(move |(_, (len, stride))| !is_empty && **stride < 0 && **len > 1).map(|(axis, _)| Axis(axis))
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
