//! The element types, as the loops and the registers need them.

use crate::{
    DType, Element,
    element::{HostPart, HostSliceMut, HostView, c64, c128},
};
use half::{bf16, f16};

/// An element type of the evaluator: the way from types as values to types.
pub(super) trait Lane: Element + Default {
    fn from_words(words: [u64; 2]) -> Self;
    fn registers(all: &Registers) -> &[Vec<Self>];
    fn registers_mut(all: &mut Registers) -> &mut [Vec<Self>];
    fn view<'a>(view: &HostView<'a>) -> Option<HostPart<'a, Self>>;
    fn slice<'s>(slice: &'s HostSliceMut<'_>) -> Option<&'s [Self]>;
    fn into_slice(slice: HostSliceMut<'_>) -> Option<&mut [Self]>;
}

/// Evaluates an expression with `$T` as the type that a [`DType`] stands for.
macro_rules! by_type {
    ($dtype:expr, $T:ident => $body:expr) => {
        by_type!(@arms $dtype, $T, $body, Bool bool, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64,
            F16 half::f16, BF16 half::bf16, F32 f32, F64 f64, C64 crate::element::c64, C128 crate::element::c128)
    };
    // All but the numbers of 16 bits, for which `$none` stands.
    (@wide $dtype:expr, $T:ident => $body:expr, $none:expr) => {
        by_type!(@arms $dtype, $T, $body, Bool bool, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64,
            F32 f32, F64 f64, C64 crate::element::c64, C128 crate::element::c128; _ => $none)
    };
    (@arms $dtype:expr, $T:ident, $body:expr, $($variant:ident $element:ty),* $(; _ => $none:expr)?) => {
        match $dtype {
            $(crate::DType::$variant => {
                type $T = $element;
                $body
            })*
            $(_ => $none,)?
        }
    };
}
pub(super) use by_type;

macro_rules! lanes {
    ($($variant:ident $element:ident |$words:ident| $value:expr),*) => {
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
            fn from_words($words: [u64; 2]) -> Self {
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
    Bool bool |words| words[0] != 0,
    I8 i8 |words| words[0] as i8, I16 i16 |words| words[0] as i16, I32 i32 |words| words[0] as i32, I64 i64 |words| words[0] as i64,
    U8 u8 |words| words[0] as u8, U16 u16 |words| words[0] as u16, U32 u32 |words| words[0] as u32, U64 u64 |words| words[0],
    F16 f16 |words| f16::from_bits(words[0] as u16), BF16 bf16 |words| bf16::from_bits(words[0] as u16),
    F32 f32 |words| f32::from_bits(words[0] as u32), F64 f64 |words| f64::from_bits(words[0]),
    C64 c64 |words| { let [re, im] = words.map(|word| f32::from_bits(word as u32)); Self { re, im } },
    C128 c128 |words| { let [re, im] = words.map(f64::from_bits); Self { re, im } }
}
