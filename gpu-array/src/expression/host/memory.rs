//! Host memory whose element type is a value.

use ndarray::ArrayViewD;

use crate::DType;

macro_rules! types {
    ($($variant:ident $element:ident),*) => {
        /// An array of any element type, to read.
        #[derive(Clone, Debug)]
        #[doc(hidden)]
        #[expect(missing_docs, reason = "the names say it")]
        #[non_exhaustive]
        pub enum HostView<'a> {
            $($variant(ArrayViewD<'a, $element>),)*
        }

        /// Elements of any type, to write.
        #[derive(Debug)]
        #[doc(hidden)]
        #[expect(missing_docs, reason = "the names say it")]
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
            /// Where its first element is.
            pub(crate) fn address(&self) -> usize {
                match self { $(Self::$variant(view) => view.as_ptr() as usize,)* }
            }
        }

        impl<'a> HostSliceMut<'a> {
            /// Cuts off the first `len` elements, or all where there are fewer.
            pub(super) fn take_first(&mut self, len: usize) -> Self {
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
