//! The element types of arrays.
//!
//! Tests: `tests/gpu/complex.rs`, `half.rs`, `retyped.rs` (bytes as another type), `literals.rs` (promotion); `tests/host/semantics.rs`.

mod half;
mod host_memory;
mod numeric;
mod promotion;
mod range;

use std::fmt::{Debug, Display};

use ::half::{bf16, f16};
use gpu_driver::DevicePod;
use ndarray::ArrayViewD;
use num_complex::Complex;

use crate::DType;

pub(crate) use self::half::{Half, ToOdd};
pub(crate) use host_memory::{HostPart, HostSliceMut, HostView, OwnedHost, is_aligned, places_mut, view_mut_of};
pub use numeric::{ComplexNumber, Inexact, Number, Numeric};
pub use promotion::{Promote, promote};

/// The element type `complex64`, under a name that macros can take.
#[expect(non_camel_case_types, reason = "a name beside those of f32 and f64")]
pub(crate) type c64 = Complex<f32>;
/// The element type `complex128`.
#[expect(non_camel_case_types, reason = "a name beside those of f32 and f64")]
pub(crate) type c128 = Complex<f64>;

/// A type that arrays can hold: `bool`, the integers of 8 to 64 bits, `f16`, `bf16`, `f32`, `f64`, `Complex<f32>`, `Complex<f64>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of a GPU array",
    note = "elements are bool, i8 to i64, u8 to u64, f16, bf16, f32, f64, Complex<f32> and Complex<f64>"
)]
pub trait Element: Copy + Send + Sync + PartialEq + Debug + Display + 'static {
    /// The type in device memory: the element type itself, and a byte for `bool` (0, or anything else for true), since not every byte is a `bool` of
    /// Rust.
    type Storage: DevicePod;

    /// The type as a value.
    const DTYPE: DType;

    /// Its form in device memory.
    fn to_storage(self) -> Self::Storage;

    /// The value that stands in device memory.
    fn from_storage(stored: Self::Storage) -> Self;

    /// The forms of many; nothing is copied where a type is its own storage.
    fn to_storage_slice(elements: &[Self]) -> std::borrow::Cow<'_, [Self::Storage]>;

    /// The elements as memory to store values into; None for `bool`, of which not every byte is a value.
    fn as_storage_mut(elements: &mut [Self]) -> Option<&mut [Self::Storage]>;

    /// The values of many; nothing is copied where a type is its own storage.
    fn from_storage_vec(stored: Vec<Self::Storage>) -> Vec<Self>;

    /// The value's bits in the low end of 64, as kernels take scalars, and 0; for a complex number the bits of both parts.
    fn to_words(self) -> [u64; 2];

    /// The view with its element type as a value.
    #[doc(hidden)]
    fn host_view(view: ArrayViewD<'_, Self>) -> HostView<'_>;

    /// The slice with its element type as a value.
    #[doc(hidden)]
    fn host_slice_mut(slice: &mut [Self]) -> HostSliceMut<'_>;

    /// The slice if it is one of this type.
    #[doc(hidden)]
    fn of_host_slice_mut(slice: HostSliceMut<'_>) -> Option<&mut [Self]>;

    /// 0 or false.
    #[doc(hidden)]
    const ZERO: Self;
}

impl Element for bool {
    type Storage = u8;
    const DTYPE: DType = DType::Bool;
    fn to_storage(self) -> u8 {
        self.into()
    }
    fn from_storage(stored: u8) -> Self {
        stored != 0
    }
    fn to_storage_slice(elements: &[Self]) -> std::borrow::Cow<'_, [u8]> {
        elements.iter().map(|&element| element.into()).collect()
    }
    fn as_storage_mut(_: &mut [Self]) -> Option<&mut [u8]> {
        None
    }
    fn from_storage_vec(stored: Vec<u8>) -> Vec<Self> {
        stored.into_iter().map(Self::from_storage).collect()
    }
    fn to_words(self) -> [u64; 2] {
        [self.into(), 0]
    }
    fn host_view(view: ArrayViewD<'_, Self>) -> HostView<'_> {
        HostView::Bool(HostPart::new(&view))
    }
    fn host_slice_mut(slice: &mut [Self]) -> HostSliceMut<'_> {
        HostSliceMut::Bool(slice)
    }
    fn of_host_slice_mut(slice: HostSliceMut<'_>) -> Option<&mut [Self]> {
        if let HostSliceMut::Bool(slice) = slice { Some(slice) } else { None }
    }
    const ZERO: Self = false;
}

macro_rules! pods {
    ($($type:ty, $dtype:ident, |$value:ident| $words:expr, $zero:expr);*) => {$(
        impl Element for $type {
            type Storage = Self;
            const DTYPE: DType = DType::$dtype;
            fn to_storage(self) -> Self {
                self
            }
            fn from_storage(stored: Self) -> Self {
                stored
            }
            fn to_storage_slice(elements: &[Self]) -> std::borrow::Cow<'_, [Self]> {
                elements.into()
            }
            fn as_storage_mut(elements: &mut [Self]) -> Option<&mut [Self]> {
                Some(elements)
            }
            fn from_storage_vec(stored: Vec<Self>) -> Vec<Self> {
                stored
            }
            fn to_words(self) -> [u64; 2] {
                let $value = self;
                $words
            }
            fn host_view(view: ArrayViewD<'_, Self>) -> HostView<'_> {
                HostView::$dtype(HostPart::new(&view))
            }
            fn host_slice_mut(slice: &mut [Self]) -> HostSliceMut<'_> {
                HostSliceMut::$dtype(slice)
            }
            fn of_host_slice_mut(slice: HostSliceMut<'_>) -> Option<&mut [Self]> {
                if let HostSliceMut::$dtype(slice) = slice { Some(slice) } else { None }
            }
            const ZERO: Self = $zero;
        }
    )*};
}

pods! {
    i8, I8, |x| [x as u64, 0], 0; i16, I16, |x| [x as u64, 0], 0; i32, I32, |x| [x as u64, 0], 0; i64, I64, |x| [x as u64, 0], 0;
    u8, U8, |x| [x.into(), 0], 0; u16, U16, |x| [x.into(), 0], 0; u32, U32, |x| [x.into(), 0], 0; u64, U64, |x| [x, 0], 0;
    f16, F16, |x| [x.to_bits().into(), 0], f16::ZERO; bf16, BF16, |x| [x.to_bits().into(), 0], bf16::ZERO;
    f32, F32, |x| [x.to_bits().into(), 0], 0.0; f64, F64, |x| [x.to_bits(), 0], 0.0;
    c64, C64, |x| [x.re.to_bits().into(), x.im.to_bits().into()], c64::new(0.0, 0.0);
    c128, C128, |x| [x.re.to_bits(), x.im.to_bits()], c128::new(0.0, 0.0)
}

/// `f16`, `bf16`, `f32` or `f64`.
///
/// # Numbers of 16 bits
/// `f16` and `bf16` are those of the crate `half`, re-exported here. They follow NumPy's `float16`: each operation and each function of expressions is
/// computed in f32 and rounded to nearest even, so sums, products, quotients and roots have the correctly rounded value, on the host and on a device.
/// Functions with a bound in ulp have that bound in f32 and are rounded then: their error is barely more than half a unit in the last place of the
/// 16-bit result. `fma` rounds twice, to f32 and from there. Conversions from any number round once. The bits of a NaN are not told.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no floating-point type",
    note = "this is defined for f16, bf16, f32 and f64; `.cast::<f64>()` makes one of them"
)]
pub trait Float: Number<Float = Self> + num_traits::Float {
    /// Complex numbers that hold this type: `Complex<f64>` for f64, else `Complex<f32>`.
    type Complex: ComplexNumber;

    /// The nearest number, ties to even. (The conversions of `num_traits` round some f64 to another f16 or bf16.)
    fn rounded_from_f64(value: f64) -> Self;
}

/// An integer of 8 to 64 bits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no integer type",
    note = "this is defined for i8 to i64 and u8 to u64"
)]
pub trait Integer: Number + Bits {}

/// Element types with bit operations: `bool` and the integers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no bit operations",
    note = "they are defined for bool (logic) and for i8 to i64 and u8 to u64"
)]
pub trait Bits: Element + Promote<Self, Output = Self> {}
impl Bits for bool {}

macro_rules! integer_traits {
    ($($type:ty)*) => {$(
        impl Integer for $type {}
        impl Bits for $type {}
    )*};
}
integer_traits! { i8 i16 i32 i64 u8 u16 u32 u64 }
