//! Element types that can be added up, and the operators of their sums and products.

use gpu_array::{Complex, DType, Element, Float, Inexact, Numeric, bf16, f16};

use super::operator::OperatorKind;

/// An element type that can be added up.
pub trait Summable: Element {
    /// The type of sums and products, NumPy's: `i64` for signed integers and `bool`, `u64` for unsigned integers, a float's own (`f16` and `bf16` are
    /// carried in f32 or f64 and rounded once).
    type Sum: Numeric;
    /// The type of means: `f64` for integers and `bool`, a float's or complex number's own.
    type Mean: Inexact;
    /// The type of variances and standard deviations: that of means, and of complex numbers that of their parts.
    type Spread: Float;
}

/// An element type with an order: all but complex numbers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no order",
    note = "the least and the greatest are defined for bool and real numbers; `z.abs().max()` is one of sizes"
)]
pub trait Ordered: Element + PartialOrd {}
impl<T: Element + PartialOrd> Ordered for T {}

/// The floats. [`Summable`] is implemented for all of them at once: so the float type of a literal, which is not known yet, is known to be that of its sums.
pub trait FloatSum: Float {}
impl FloatSum for f16 {}
impl FloatSum for bf16 {}
impl FloatSum for f32 {}
impl FloatSum for f64 {}

impl<T: FloatSum> Summable for T {
    type Sum = T;
    type Mean = T;
    type Spread = T;
}

/// The type of literals within is known to be that of variances, as for floats.
impl<F: FloatSum> Summable for Complex<F>
where
    Self: Inexact,
{
    type Sum = Self;
    type Mean = Self;
    type Spread = F;
}

macro_rules! summable {
    ($($element:ty: $sum:ty;)*) => {$(
        impl Summable for $element {
            type Sum = $sum;
            type Mean = f64;
            type Spread = f64;
        }
    )*};
}

summable! {
    bool: i64; i8: i64; i16: i64; i32: i64; i64: i64;
    u8: u64; u16: u64; u32: u64; u64: u64;
}

pub(crate) fn sum<T: Summable>() -> OperatorKind {
    OperatorKind::Sum { carried: carried(T::Sum::DTYPE), result: T::Sum::DTYPE }
}

pub(crate) fn product_of<T: Summable>() -> OperatorKind {
    OperatorKind::Product { carried: carried(T::Sum::DTYPE), result: T::Sum::DTYPE }
}

/// The type that sums of a type are carried in: f32 for numbers of 16 bits.
pub(crate) fn carried(sum: DType) -> DType {
    if sum.is_half() { DType::F32 } else { sum }
}
