//! The element types, as the loops and the registers need them.

use crate::{
    DType, Element,
    element::{HostPart, HostSliceMut, HostView},
};

/// An element type of the evaluator: the way from types as values to types.
pub(super) trait Lane: Element + PartialOrd + Default {
    fn from_word(word: u64) -> Self;
    fn registers(all: &Registers) -> &[Vec<Self>];
    fn registers_mut(all: &mut Registers) -> &mut [Vec<Self>];
    fn view<'a>(view: &HostView<'a>) -> Option<HostPart<'a, Self>>;
    fn slice<'s>(slice: &'s HostSliceMut<'_>) -> Option<&'s [Self]>;
    fn into_slice(slice: HostSliceMut<'_>) -> Option<&mut [Self]>;
}

/// Evaluates an expression with `$T` as the type that a [`DType`] stands for.
macro_rules! by_type {
    ($dtype:expr, $T:ident => $body:expr) => {
        by_type!(@arms $dtype, $T, $body, Bool bool, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64)
    };
    (@arms $dtype:expr, $T:ident, $body:expr, $($variant:ident $element:ident),*) => {
        match $dtype {
            $(crate::DType::$variant => {
                type $T = $element;
                $body
            })*
        }
    };
}
pub(super) use by_type;

macro_rules! lanes {
    ($($variant:ident $element:ident |$word:ident| $value:expr),*) => {
        /// Values of a chunk between the steps, by type.
        #[derive(Debug, Default)]
        pub(super) struct Registers {
            $($element: Vec<Vec<$element>>,)*
        }

        impl Registers {
            /// Registers of `len` elements each; `counts` has their number for each type (by [`DType`]).
            pub(super) fn new(counts: &[usize; DType::ALL.len()], len: usize) -> Self {
                Self { $($element: vec![vec![$element::default(); len]; counts[DType::$variant as usize]],)* }
            }
        }

        $(impl Lane for $element {
            fn from_word($word: u64) -> Self {
                $value
            }
            fn registers(all: &Registers) -> &[Vec<Self>] {
                &all.$element
            }
            fn registers_mut(all: &mut Registers) -> &mut [Vec<Self>] {
                &mut all.$element
            }
            fn view<'a>(view: &HostView<'a>) -> Option<HostPart<'a, Self>> {
                if let HostView::$variant(part) = view { Some(*part) } else { None }
            }
            fn slice<'s>(slice: &'s HostSliceMut<'_>) -> Option<&'s [Self]> {
                if let HostSliceMut::$variant(slice) = slice { Some(slice) } else { None }
            }
            fn into_slice(slice: HostSliceMut<'_>) -> Option<&mut [Self]> {
                if let HostSliceMut::$variant(slice) = slice { Some(slice) } else { None }
            }
        })*
    };
}

lanes! {
    Bool bool |word| word != 0,
    I8 i8 |word| word as i8, I16 i16 |word| word as i16, I32 i32 |word| word as i32, I64 i64 |word| word as i64,
    U8 u8 |word| word as u8, U16 u16 |word| word as u16, U32 u32 |word| word as u32, U64 u64 |word| word,
    F32 f32 |word| f32::from_bits(word as u32), F64 f64 |word| f64::from_bits(word)
}
