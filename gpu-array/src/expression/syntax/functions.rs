//! Functions of arrays, views and expressions, as methods.
//!
//! `math.rs` has the mathematical functions, and says where those here keep an error bound.

use ndarray::Dimension;

use super::{
    expr::{Backend, DimOf, ElemOf, Expr, Gpu, IntoExpr, IntoOperand, Rhs},
    operators::{Common, binary},
};
use crate::{
    ComplexNumber, Element, Float, GpuArray, GpuView, GpuViewMut, Inexact, Number, Numeric, Promote,
    expression::graph::{Op, Value},
};

/// A function of one operand that stays as it is.
pub(super) fn of_same<'a, T: Element, V: Element, D: Dimension, P: Backend>(
    op: Op,
    x: Expr<'a, T, D, P>,
) -> Expr<'a, V, D, P> {
    Expr::of(Value::unary(op, V::DTYPE, x.value))
}

/// Rounding: integers are whole already.
fn rounded<'a, T: Element, D: Dimension, P: Backend>(op: Op, x: Expr<'a, T, D, P>) -> Expr<'a, T, D, P> {
    if T::DTYPE.is_float() { of_same(op, x) } else { x }
}

/// x to the power `n > 0`, by squaring: from the highest bit of n down, each step squares, and multiplies by x where the bit is 1.
fn squared<'a, T: Numeric, D: Dimension, P: Backend>(x: &Expr<'a, T, D, P>, n: u32) -> Expr<'a, T, D, P> {
    let multiply = |a: &Expr<'a, T, D, P>, b: &Expr<'a, T, D, P>| {
        Expr::of(Value::binary(Op::Multiply, T::DTYPE, T::DTYPE, a.value.clone(), b.value.clone()))
    };
    let bits = n.max(1).ilog2();
    (0..bits).rev().fold(x.clone(), |power, bit| {
        let square = multiply(&power, &power);
        if n >> bit & 1 == 1 { multiply(&square, x) } else { square }
    })
}

/// All methods, for one type of receiver.
macro_rules! functions {
    (impl [$($generics:tt)*] $type:ty, $place:ty, fn [$($life:tt)*], [$($ref:tt)*] $self:ident) => {
        impl<$($generics)*> $type {
            /// In another element type: integers wrap, floats are cut to integers and saturate (NaN gives 0), integers are rounded to the
            /// nearest float; to `bool` every value but 0 gives true. To a complex type the imaginary part is 0; from one to a real type the real part
            /// is cast, as in NumPy.
            #[doc(alias = "astype")]
            #[must_use = "it is computed by `eval`"]
            pub fn cast<$($life)* U: Element>($($ref)* $self) -> Expr<'a, U, D, $place> {
                Expr::of($self.to_expr().value.cast(U::DTYPE))
            }

            /// The absolute value. Of the least signed integer that integer itself. Of a complex number sqrt(re * re + im * im), as by
            /// [`hypot`](Self::hypot): infinity where a part is infinite.
            #[must_use = "it is computed by `eval`"]
            pub fn abs<$($life)*>($($ref)* $self) -> Expr<'a, T::Real, D, $place>
            where
                T: Numeric,
            {
                of_same(Op::Absolute, $self.to_expr())
            }

            /// -1, 0 or 1; NaN for NaN, 0 for -0.
            #[must_use = "it is computed by `eval`"]
            pub fn sign<$($life)*>($($ref)* $self) -> Expr<'a, T, D, $place>
            where
                T: Number,
            {
                of_same(Op::Sign, $self.to_expr())
            }

            /// x * x.
            #[must_use = "it is computed by `eval`"]
            pub fn square<$($life)*>($($ref)* $self) -> Expr<'a, T, D, $place>
            where
                T: Numeric,
            {
                squared(&$self.to_expr(), 2)
            }

            /// 1 / x, as a float or a complex number.
            #[must_use = "it is computed by `eval`"]
            pub fn recip<$($life)*>($($ref)* $self) -> Expr<'a, T::Inexact, D, $place>
            where
                T: Numeric,
            {
                let dtype = T::Inexact::DTYPE;
                let one = Value::scalar(<T::Inexact as num_traits::One>::one());
                Expr::of(Value::binary(Op::Divide, dtype, dtype, one, $self.to_expr().value))
            }

            /// x^n by repeated squaring, rounded at each product, so with the same bits everywhere; 1 for n = 0. For n < 0 it is 1 / x^-n for floats
            /// and complex numbers, and for integers 1 for x = 1, 1 or -1 for x = -1, else 0.
            #[must_use = "it is computed by `eval`"]
            pub fn powi<$($life)*>($($ref)* $self, n: i32) -> Expr<'a, T, D, $place>
            where
                T: Numeric,
            {
                let x = $self.to_expr();
                let one = || Value::scalar(T::one());
                if n == 0 {
                    // Of the shape of x, whatever x is: x == x or not, the value is 1.
                    let mask = binary::<T, bool, _, _, _, _>(Op::Equal, x.clone(), &x);
                    return Expr::of(Value::ternary(Op::Select, T::DTYPE, [mask.value, one(), one()]));
                }
                let power = squared(&x, n.unsigned_abs());
                if n > 0 {
                    power
                } else if T::DTYPE.is_float() || T::DTYPE.is_complex() {
                    Expr::of(Value::binary(Op::Divide, T::DTYPE, T::DTYPE, one(), power.value))
                } else if T::DTYPE == crate::DType::U64 {
                    // Its largest value would be -1 as an i64.
                    Expr::of(binary::<T, bool, _, _, _, _>(Op::Equal, x, T::one()).value.cast(T::DTYPE))
                } else {
                    let dtype = crate::DType::I64;
                    let wide = Value::binary(Op::Power, dtype, dtype, x.value, Value::scalar(i64::from(n)));
                    Expr::of(wide.cast(T::DTYPE))
                }
            }

            /// The largest integer that is not larger.
            #[must_use = "it is computed by `eval`"]
            pub fn floor<$($life)*>($($ref)* $self) -> Expr<'a, T, D, $place>
            where
                T: Number,
            {
                rounded(Op::Floor, $self.to_expr())
            }

            /// The smallest integer that is not smaller.
            #[must_use = "it is computed by `eval`"]
            pub fn ceil<$($life)*>($($ref)* $self) -> Expr<'a, T, D, $place>
            where
                T: Number,
            {
                rounded(Op::Ceil, $self.to_expr())
            }

            /// The nearest integer, and of two the even one, as in NumPy.
            #[doc(alias = "rint")]
            #[doc(alias = "round_ties_even")]
            #[must_use = "it is computed by `eval`"]
            pub fn round<$($life)*>($($ref)* $self) -> Expr<'a, T, D, $place>
            where
                T: Number,
            {
                rounded(Op::Round, $self.to_expr())
            }

            /// The integer part.
            #[must_use = "it is computed by `eval`"]
            pub fn trunc<$($life)*>($($ref)* $self) -> Expr<'a, T, D, $place>
            where
                T: Number,
            {
                rounded(Op::Truncate, $self.to_expr())
            }

            /// Whether each element is NaN, for complex numbers either part.
            #[doc(alias = "isnan")]
            #[must_use = "it is computed by `eval`"]
            pub fn is_nan<$($life)*>($($ref)* $self) -> Expr<'a, bool, D, $place>
            where
                T: Inexact,
            {
                of_same(Op::IsNan, $self.to_expr())
            }

            /// Whether each element is neither NaN nor infinite, for complex numbers both parts.
            #[must_use = "it is computed by `eval`"]
            pub fn is_finite<$($life)*>($($ref)* $self) -> Expr<'a, bool, D, $place>
            where
                T: Inexact,
            {
                of_same(Op::IsFinite, $self.to_expr())
            }

            /// The real part of complex numbers.
            ///
            /// ```
            /// use gpu_array::{Complex, expression::host};
            /// let z = ndarray::array![Complex::new(3.0, -4.0)];
            /// let z = host(&z);
            /// assert_eq!((z.real() + z.imag() + z.abs()).eval()?, ndarray::array![4.0]);
            /// assert_eq!((z.conj() * Complex::i()).eval()?, ndarray::array![Complex::new(-4.0, 3.0)]);
            /// # Ok::<(), gpu_array::ArrayError>(())
            /// ```
            #[must_use = "it is computed by `eval`"]
            pub fn real<$($life)*>($($ref)* $self) -> Expr<'a, T::Real, D, $place>
            where
                T: ComplexNumber,
            {
                of_same(Op::Real, $self.to_expr())
            }

            /// The imaginary part of complex numbers.
            #[must_use = "it is computed by `eval`"]
            pub fn imag<$($life)*>($($ref)* $self) -> Expr<'a, T::Real, D, $place>
            where
                T: ComplexNumber,
            {
                of_same(Op::Imag, $self.to_expr())
            }

            /// The conjugate of complex numbers: the imaginary part has the other sign. Real numbers stay as they are.
            #[doc(alias = "conjugate")]
            #[must_use = "it is computed by `eval`"]
            pub fn conj<$($life)*>($($ref)* $self) -> Expr<'a, T, D, $place>
            where
                T: Numeric,
            {
                let x = $self.to_expr();
                if T::DTYPE.is_complex() { of_same(Op::Conj, x) } else { x }
            }

            /// NumPy's name of [`arg`](Self::arg).
            #[must_use = "it is computed by `eval`"]
            pub fn angle<$($life)*>($($ref)* $self) -> Expr<'a, T::Real, D, $place>
            where
                T: ComplexNumber,
            {
                $self.arg()
            }

            /// The angle of complex numbers in radians, from -pi to pi: [`atan2`](Self::atan2) of imaginary and real part.
            #[must_use = "it is computed by `eval`"]
            pub fn arg<$($life)*>($($ref)* $self) -> Expr<'a, T::Real, D, $place>
            where
                T: ComplexNumber,
            {
                of_same(Op::Arg, $self.to_expr())
            }

            /// `low` where it is smaller than that, `high` where it is larger: the minimum of `high` and the maximum of it and `low`. NaN stays.
            #[doc(alias = "clip")]
            #[must_use = "it is computed by `eval`"]
            pub fn clamp<$($life)* L, H>($($ref)* $self, low: L, high: H) -> Expr<'a, T, H::Dim, $place>
            where
                T: Number,
                L: Rhs<'a, T, D, $place, Promoted = T>,
                H: Rhs<'a, T, L::Dim, $place, Promoted = T>,
            {
                let above = binary::<T, T, _, _, _, _>(Op::Maximum, $self.to_expr(), low);
                binary::<T, T, _, _, _, _>(Op::Minimum, above, high)
            }

            /// x * b + c, rounded once.
            #[doc(alias = "mul_add")]
            #[must_use = "it is computed by `eval`"]
            pub fn fma<$($life)* B, C>($($ref)* $self, b: B, c: C) -> Expr<'a, T, C::Dim, $place>
            where
                T: Float,
                B: Rhs<'a, T, D, $place, Promoted = T>,
                C: Rhs<'a, T, B::Dim, $place, Promoted = T>,
            {
                let args = [$self.to_expr().value, b.into_promoted().0, c.into_promoted().0];
                Expr::of(Value::ternary(Op::Fma, T::DTYPE, args))
            }
        }

        functions! { @binary [$($generics)*] $type, $place, [$($life)*] [$($ref)*] $self, Number, Common<T, R::Promoted>;
            /// The smaller of the two; NaN where one of them is.
            minimum Minimum;
            /// The larger of the two; NaN where one of them is.
            maximum Maximum;
            /// The smaller of the two; where one is NaN the other.
            fmin Fmin;
            /// The larger of the two; where one is NaN the other.
            fmax Fmax;
            /// NumPy's `//`: the floor of the quotient, in the common type. Integers: 0 where the divisor is 0.
            floor_divide FloorDivide;
            /// C's `fmod`, Rust's `%`: the remainder that has the sign of the dividend. Integers: 0 where the divisor is 0. The operator `%` is
            /// NumPy's, which has the sign of the divisor.
            fmod Fmod;
        }
        functions! { @binary [$($generics)*] $type, $place, [$($life)*] [$($ref)*] $self, Numeric, Common<T, R::Promoted>;
            /// x to the power of the other. Integers wrap; to a negative power they give 1 for x = 1, 1 or -1 for x = -1, else 0. Floats within 8 ulp
            /// for f32 and 2 for f64.
            ///
            /// Of complex numbers it is NumPy's `power`, also at infinities, NaN and zeros of either sign:
            /// - To 0 it is 1, of NaN too; to 1 it is x. A power of 0 is 0 where the exponent's real part is positive, else both parts are NaN.
            /// - Real integer powers of absolute values below 100 are repeated products, so that infinite parts may give NaN, and negative ones 1 / them.
            /// - Others are exp(other * log(x)), whose error grows with the product, also where x and the exponent are real. This product alone is C99's
            ///   (G.5.1): infinite where an operand is.
            /// - Of a zero exp(-inf + i NaN), both parts are +0; C99 leaves their signs open (G.6.3.1), and NumPy's are those that its NaN happens to have.
            ///
            /// NumPy's operator `**` takes `sqrt`, `square` and `reciprocal` for the Python scalars 0.5, 2 and -1: [`sqrt`](Self::sqrt) and
            /// [`recip`](Self::recip) are these.
            #[doc(alias = "power")]
            pow Power;
        }
        functions! { @binary [$($generics)*] $type, $place, [$($life)*] [$($ref)*] $self, Element, bool;
            /// Whether both are equal, at each place. NaN equals nothing.
            eq Equal;
            /// Whether they differ, at each place.
            ne NotEqual;
        }
        functions! { @binary [$($generics)*] $type, $place, [$($life)*] [$($ref)*] $self, Number, bool;
            /// Whether it is less than the other, at each place.
            lt Less;
            /// Whether it is less than the other or equal, at each place.
            le LessEqual;
            /// Whether it is greater than the other, at each place.
            gt Greater;
            /// Whether it is greater than the other or equal, at each place.
            ge GreaterEqual;
        }
        functions! { @binary [$($generics)*] $type, $place, [$($life)*] [$($ref)*] $self, Number, <Common<T, R::Promoted> as Number>::Float;
            /// x with the sign of the other, also of -0 and of NaN; exact.
            copysign CopySign;
            /// The next floating-point number from x towards the other: the other itself where they are equal, NaN where one is; exact.
            nextafter NextAfter;
            /// The angle of the point (other, it) in radians, from -pi to pi. Within 3 ulp (f64: 2).
            atan2 Atan2;
            /// sqrt(x * x + other * other) without overflow between. Within 3 ulp (f64: 2).
            hypot Hypot;
        }
    };

    (@binary $generics:tt $type:ty, $place:ty, $life:tt $ref:tt $self:ident, $kind:ident, $value:ty;
        $($(#[$doc:meta])* $name:ident $op:ident;)*) => {
        $(functions! { @one_binary $generics $type, $place, $life $ref $self, $kind, $value; $(#[$doc])* $name $op })*
    };
    (@one_binary [$($generics:tt)*] $type:ty, $place:ty, [$($life:tt)*] [$($ref:tt)*] $self:ident, $kind:ident, $value:ty;
        $(#[$doc:meta])* $name:ident $op:ident) => {
        impl<$($generics)*> $type {
            $(#[$doc])*
            #[must_use = "it is computed by `eval`"]
            pub fn $name<$($life)* R>($($ref)* $self, other: R) -> Expr<'a, $value, R::Dim, $place>
            where
                R: Rhs<'a, T, D, $place>,
                T: Promote<R::Promoted, Output: $kind>,
            {
                functions!(@call $op, $value, $self, other)
            }
        }
    };
    // The operands of these have the type of the value, of all others the common type.
    (@call Atan2, $value:ty, $self:ident, $other:ident) => {
        binary::<$value, $value, _, _, _, _>(Op::Atan2, $self.to_expr(), $other)
    };
    (@call CopySign, $value:ty, $self:ident, $other:ident) => {
        binary::<$value, $value, _, _, _, _>(Op::CopySign, $self.to_expr(), $other)
    };
    (@call NextAfter, $value:ty, $self:ident, $other:ident) => {
        binary::<$value, $value, _, _, _, _>(Op::NextAfter, $self.to_expr(), $other)
    };
    (@call Hypot, $value:ty, $self:ident, $other:ident) => {
        binary::<$value, $value, _, _, _, _>(Op::Hypot, $self.to_expr(), $other)
    };
    (@call $op:ident, $value:ty, $self:ident, $other:ident) => {
        binary::<Common<T, R::Promoted>, $value, _, _, _, _>(Op::$op, $self.to_expr(), $other)
    };
}

functions! { impl ['a, T: Element, D: Dimension, P: Backend] Expr<'a, T, D, P>, P, fn [], [&] self }
functions! { impl [T: Element, D: Dimension] GpuArray<T, D>, Gpu, fn ['a,], [&'a] self }
functions! { impl ['a, T: Element, D: Dimension] GpuView<'a, T, D>, Gpu, fn [], [&] self }
functions! { impl ['v, T: Element, D: Dimension] GpuViewMut<'v, T, D>, Gpu, fn ['a,], [&'a] self }

/// `a` where the condition holds, else `b`, in their common type. Each may be a scalar, whose type follows the other's ([`Rhs`]).
///
/// ```
/// use gpu_array::expression::{host, where_};
/// let x = ndarray::array![-1.0, 4.0, 9.0];
/// let x = host(&x);
/// assert_eq!(where_(x.ge(0.0), x.sqrt(), 0.0).eval()?, ndarray::array![0.0, 2.0, 3.0]);
/// assert_eq!(where_(x.ge(0.0), 1, &x).eval()?, ndarray::array![-1.0, 1.0, 1.0]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[doc(alias = "where")]
#[expect(clippy::type_complexity, reason = "the type of each branch follows that of the other")]
pub fn where_<'a, C, A, B>(condition: C, a: A, b: B) -> Expr<'a, Common<A::Promoted, B::Promoted>, B::Dim, C::Backend>
where
    C: IntoExpr<'a, Elem = bool>,
    A: IntoOperand<'a, C::Dim, C::Backend>,
    B: IntoOperand<'a, DimOf<'a, A, C::Dim, C::Backend>, C::Backend>,
    A: Rhs<'a, ElemOf<'a, B, DimOf<'a, A, C::Dim, C::Backend>, C::Backend>, C::Dim, C::Backend>,
    B: Rhs<'a, ElemOf<'a, A, C::Dim, C::Backend>, DimOf<'a, A, C::Dim, C::Backend>, C::Backend>,
    A::Promoted: Promote<B::Promoted>,
{
    let dtype = <Common<A::Promoted, B::Promoted> as Element>::DTYPE;
    let [a, b] = [a.into_promoted().0, b.into_promoted().0].map(|value| value.cast(dtype));
    Expr::of(Value::ternary(Op::Select, dtype, [condition.into_expr().value, a, b]))
}

/// The complex numbers of real and imaginary parts; each may be a scalar. Parts of f16 and bf16 give `Complex<f32>`. Unlike `re + im * i` it rounds nothing
/// and keeps NaN, infinities and signs of zeros.
///
/// ```
/// use gpu_array::{Complex, expression::{complex, host}};
/// let x = ndarray::array![1.0, 2.0];
/// let z = complex(host(&x), -0.5).eval()?;
/// assert_eq!(z, ndarray::array![Complex::new(1.0, -0.5), Complex::new(2.0, -0.5)]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub fn complex<'a, A, B>(re: A, im: B) -> Expr<'a, <A::Elem as Float>::Complex, B::Dim, A::Backend>
where
    A: IntoExpr<'a, Elem: Float>,
    B: Rhs<'a, A::Elem, A::Dim, A::Backend, Promoted = A::Elem>,
{
    let dtype = <A::Elem as Float>::Complex::DTYPE;
    Expr::of(Value::binary(Op::Complex, dtype, dtype.part(), re.into_expr().value, im.into_promoted().0))
}
