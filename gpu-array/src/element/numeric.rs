//! Elements with arithmetic: real numbers and complex ones. `range.rs` counts in them.

use gpu_driver::DevicePod;

use super::{Element, Float, Promote, c64, c128};
use crate::Result;

/// An element with `+ - * /` and unary `-`: each [`Number`], `Complex<f32>` and `Complex<f64>`.
///
/// # Complex numbers
/// They follow NumPy. A sum is that of the parts. A product is `(ac - bd) + (ad + bc)i`, so one that overflows or meets an infinity may have NaN
/// parts: C99's annex G, which recovers infinities, is not followed. A quotient is Smith's, which scales by the larger part of the divisor: it
/// overflows only where the quotient nearly does, and tiny quotients may lose bits; by zero it gives each part divided by +0, infinities or NaN. Each
/// operation on parts rounds once and none is contracted, so host and device give the same bits, up to which NaN. A real operand becomes a complex number
/// with the imaginary part +0 first. Equality is that of both parts. There is no order.
///
/// ```
/// use gpu_array::{Complex, expression::host};
/// let z = ndarray::array![Complex::new(1f64, 2.0), Complex::new(3.0, -4.0)];
/// let quotient = (10.0 / host(&z)).eval()?;
/// assert_eq!(quotient, ndarray::array![Complex::new(2.0, -4.0), Complex::new(1.2, 1.6)]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
/// Comparisons of order do not compile:
/// ```compile_fail,E0277
/// # use gpu_array::{Complex, GpuArray};
/// # fn test(z: GpuArray<Complex<f32>, ndarray::Ix1>) {
/// let less = z.lt(&z); // z.abs().lt(z.abs())
/// # }
/// ```
///
/// Source of the quotient: R. L. Smith, Algorithm 116: Complex division, 1962.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no arithmetic",
    note = "arithmetic is defined for i8 to i64, u8 to u64, f16, bf16, f32, f64, Complex<f32> and Complex<f64>",
    note = "for masks there are `&`, `|`, `^`, `!` and `.cast::<i32>()`"
)]
pub trait Numeric: Element<Storage = Self> + DevicePod + num_traits::One + Promote<Self, Output = Self> {
    /// The type of quotients, as in NumPy: `f64` for integers, the type itself for others.
    type Inexact: Numeric;
    /// The type of absolute values: that of the parts of a complex number, the type itself for others.
    type Real: Number;
}

/// An element that one can calculate with: the integers and the floats, not `bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no number",
    note = "arithmetic is defined for i8 to i64, u8 to u64, f16, bf16, f32 and f64; for masks there are `&`, `|`, `^`, `!` and `.cast::<i32>()`"
)]
pub trait Number: Numeric<Real = Self, Inexact = <Self as Number>::Float> + PartialOrd {
    /// The type of quotients and of the results of mathematical functions, as in NumPy: `f64` for integers, a float's own type.
    type Float: Float;

    /// How many values `start + i * step` lie before `stop`.
    ///
    /// # Errors
    /// `Range` for a step of zero, for values that are not finite, and for more values than can be addressed.
    fn range_len(start: Self, stop: Self, step: Self) -> Result<usize>;

    /// `start + i * step`: integers wrap (they never do within a range), floats are computed in f64 and rounded once.
    fn range_value(start: Self, step: Self, i: usize) -> Self;

    /// `start` and `step` of floats as integers, where all of the `len` values are integers of 32 bits: a GPU converts these four times as fast as those of
    /// 64 bits, and needs neither a product nor a sum of f64 for each.
    #[doc(hidden)]
    fn range_in_integers(_start: Self, _step: Self, _len: usize) -> Option<(i32, i32)> {
        None
    }
}

/// A [`Numeric`] type that holds quotients: `f16`, `bf16`, `f32`, `f64`, `Complex<f32>`, `Complex<f64>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a floating-point type nor a complex one",
    note = "this is defined for f16, bf16, f32, f64, Complex<f32> and Complex<f64>; `.cast::<f64>()` makes one of them"
)]
pub trait Inexact: Numeric<Inexact = Self> {}
impl<T: Numeric<Inexact = T>> Inexact for T {}

/// `Complex<f32>` or `Complex<f64>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no complex type",
    note = "this is defined for Complex<f32> and Complex<f64>; `.cast::<Complex<f64>>()` makes one of them"
)]
pub trait ComplexNumber: Numeric<Inexact = Self> {}

/// f16, bf16, f32 and f64. [`Number`] is implemented for all of them at once: so the float type of a literal, which is not known yet, is known to be its own
/// [`Number::Float`].
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type of number that this takes",
    note = "arithmetic is defined for i8 to i64, u8 to u64, f16, bf16, f32 and f64; functions of floats for the last four",
    note = "for masks there are `&`, `|`, `^`, `!` and `.cast::<i32>()`"
)]
pub trait AnyFloat: Element<Storage = Self> + DevicePod + num_traits::Float + Into<f64> {
    type OfParts: ComplexNumber;
    fn rounded(value: f64) -> Self;
}

impl<T: AnyFloat> Numeric for T {
    type Inexact = T;
    type Real = T;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Numeric for $type {
            type Inexact = f64;
            type Real = Self;
        }
    )*};
}
integers! { i8 i16 i32 i64 u8 u16 u32 u64 }

macro_rules! complex {
    ($($type:ty, $part:ty;)*) => {$(
        impl Numeric for $type {
            type Inexact = Self;
            type Real = $part;
        }
        impl ComplexNumber for $type {}
    )*};
}
complex! { c64, f32; c128, f64; }
