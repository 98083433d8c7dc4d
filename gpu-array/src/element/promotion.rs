//! The type of an operation between two element types.

use half::{bf16, f16};

use super::{Element, c64, c128};
use crate::DType;

/// `Self` beside `U` in one operation gives `Output`, as NumPy's `promote_types`: the smallest type that holds the values of both, where a
/// 32-bit or longer integer beside f32 asks for f64.
///
/// NumPy has no bf16: beside other types it follows the same rule, which is that of the package `ml_dtypes`. So bf16 with i8 or u8, whose values it
/// holds, stays bf16, with f16 or a 16-bit integer it gives f32, with a longer integer f64. (JAX and PyTorch keep bf16 beside any integer.)
#[diagnostic::on_unimplemented(
    message = "no common type of `{Self}` and `{U}`",
    note = "element types are bool, i8 to i64, u8 to u64, f16, bf16, f32, f64, Complex<f32> and Complex<f64>"
)]
pub trait Promote<U: Element>: Element {
    /// The common type.
    type Output: Element;
}

/// One type with itself. For all types at once: so a type that is not known yet, but that of a literal, has a known common type with itself.
impl<T: Element> Promote<T> for T {
    type Output = T;
}

/// One row per left type; the columns are the right types in the order of the head. `_` is the type itself.
macro_rules! table {
    ($head:tt $($left:ident => $row:tt;)*) => {
        $(table!(@row $left $head $row);)*

        /// [`Promote`] between types as values.
        ///
        /// ```
        /// use gpu_array::{DType, promote};
        /// assert_eq!(promote(DType::I32, DType::F32), DType::F64);
        /// ```
        pub fn promote(left: DType, right: DType) -> DType {
            const TABLE: [[DType; 15]; 15] = [$(table!(@types $left $row)),*];
            TABLE[left as usize][right as usize]
        }
    };
    (@row $left:ident ($($right:ident)*) ($($output:tt)*)) => {
        $(table!(@cell $left $right $output);)*
    };
    (@cell $left:ident $right:ident _) => {};
    (@cell $left:ident $right:ident $output:ident) => {
        impl Promote<$right> for $left {
            type Output = $output;
        }
    };
    (@types $left:ident ($($output:tt)*)) => {
        [$(<table!(@type $left $output) as Element>::DTYPE),*]
    };
    (@type $left:ident _) => { $left };
    (@type $left:ident $output:ident) => { $output };
}

#[rustfmt::skip]
table! {
    (bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128)
    bool => (_    i8   i16  i32  i64  u8   u16  u32  u64  f16  bf16 f32  f64  c64  c128);
    i8   => (i8   _    i16  i32  i64  i16  i32  i64  f64  f16  bf16 f32  f64  c64  c128);
    i16  => (i16  i16  _    i32  i64  i16  i32  i64  f64  f32  f32  f32  f64  c64  c128);
    i32  => (i32  i32  i32  _    i64  i32  i32  i64  f64  f64  f64  f64  f64  c128 c128);
    i64  => (i64  i64  i64  i64  _    i64  i64  i64  f64  f64  f64  f64  f64  c128 c128);
    u8   => (u8   i16  i16  i32  i64  _    u16  u32  u64  f16  bf16 f32  f64  c64  c128);
    u16  => (u16  i32  i32  i32  i64  u16  _    u32  u64  f32  f32  f32  f64  c64  c128);
    u32  => (u32  i64  i64  i64  i64  u32  u32  _    u64  f64  f64  f64  f64  c128 c128);
    u64  => (u64  f64  f64  f64  f64  u64  u64  u64  _    f64  f64  f64  f64  c128 c128);
    f16  => (f16  f16  f32  f64  f64  f16  f32  f64  f64  _    f32  f32  f64  c64  c128);
    bf16 => (bf16 bf16 f32  f64  f64  bf16 f32  f64  f64  f32  _    f32  f64  c64  c128);
    f32  => (f32  f32  f32  f64  f64  f32  f32  f64  f64  f32  f32  _    f64  c64  c128);
    f64  => (f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  _    c128 c128);
    c64  => (c64  c64  c64  c128 c128 c64  c64  c128 c128 c64  c64  c64  c128 _    c128);
    c128 => (c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 _);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The type that an operation between two types gives in NumPy: by the rules, not the table.
    fn rule(a: DType, b: DType) -> DType {
        use DType::*;
        let signed = |t| matches!(t, I8 | I16 | I32 | I64);
        if a.is_complex() || b.is_complex() {
            // The parts of the one with the type of the other, in f32 at least.
            let part = if [a.part(), b.part()].iter().all(|&t| rule(t, F32) == F32) { C64 } else { C128 };
            return part;
        }
        if a == b || b == Bool {
            return a;
        }
        if a == Bool {
            return b;
        }
        if a.is_half() || b.is_half() {
            let (half, other) = if a.is_half() { (a, b) } else { (b, a) };
            // Of 11 and 8 binary digits: both hold integers of one byte, and neither the other or more.
            let held = matches!(other, I8 | U8);
            let wide = if matches!(other, F16 | BF16 | I16 | U16) { F32 } else { F64 };
            return if held {
                half
            } else if other == F32 {
                F32
            } else {
                wide
            };
        }
        let (small, large) = if (a.is_float(), a.bytes()) <= (b.is_float(), b.bytes()) { (a, b) } else { (b, a) };
        match large {
            F64 => F64,
            F32 => {
                if small.bytes() <= 2 {
                    F32
                } else {
                    F64
                }
            }
            _ if signed(small) == signed(large) => large,
            _ if small.bytes() < large.bytes() && signed(large) => large,
            // An unsigned type as long as the signed one or longer: the next longer signed type, or f64 where there is none.
            _ => match large.bytes() {
                1 => I16,
                2 => I32,
                4 => I64,
                _ => F64,
            },
        }
    }

    #[test]
    fn the_table_is_numpys() {
        for a in DType::ALL {
            for b in DType::ALL {
                assert_eq!(promote(a, b), rule(a, b), "{a} with {b}");
                assert_eq!(promote(a, b), promote(b, a));
            }
        }
        assert_eq!(promote(DType::I32, DType::F32), DType::F64);
        assert_eq!(promote(DType::U64, DType::I8), DType::F64);
        assert_eq!(promote(DType::U32, DType::I32), DType::I64);
        assert_eq!(promote(DType::I16, DType::F32), DType::F32);
    }

    #[test]
    fn types_and_values_agree() {
        fn same<A: Promote<B>, B: Element>() {
            assert_eq!(promote(A::DTYPE, B::DTYPE), <A::Output as Element>::DTYPE);
        }
        same::<i32, f32>();
        same::<bool, u8>();
        same::<u64, i64>();
        same::<f32, f64>();
        same::<i8, u8>();
        same::<f16, bf16>();
        same::<u8, bf16>();
        same::<f16, c64>();
    }
}
