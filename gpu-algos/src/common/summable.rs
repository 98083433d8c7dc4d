//! Element types that can be added up, and the operators of their sums and products.

use gpu_array::{Element, Float, Number};

use super::operator::OperatorKind;

/// An element type that can be added up.
pub trait Summable: Element {
    /// The type of sums and products, NumPy's: `i64` for signed integers and `bool`, `u64` for unsigned integers, a float's own.
    type Sum: Number;
    /// The type of means and standard deviations: `f64` for integers and `bool`, a float's own.
    type Mean: Float;
}

/// f32 and f64. [`Summable`] is implemented for both at once: so the float type of a literal, which is not known yet, is known to be that of its sums.
pub trait FloatSum: Float {}
impl FloatSum for f32 {}
impl FloatSum for f64 {}

impl<T: FloatSum> Summable for T {
    type Sum = T;
    type Mean = T;
}

macro_rules! summable {
    ($($element:ty: $sum:ty, $mean:ty;)*) => {$(
        impl Summable for $element {
            type Sum = $sum;
            type Mean = $mean;
        }
    )*};
}

summable! {
    bool: i64, f64; i8: i64, f64; i16: i64, f64; i32: i64, f64; i64: i64, f64;
    u8: u64, f64; u16: u64, f64; u32: u64, f64; u64: u64, f64;
}

pub(crate) fn sum<T: Summable>() -> OperatorKind {
    OperatorKind::Sum { carried: T::Sum::DTYPE, result: T::Sum::DTYPE }
}

pub(crate) fn product_of<T: Summable>() -> OperatorKind {
    OperatorKind::Product { carried: T::Sum::DTYPE, result: T::Sum::DTYPE }
}
