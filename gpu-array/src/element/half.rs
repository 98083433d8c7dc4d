//! Numbers of 16 bits: conversions with one rounding, the same bits as on a device, and the next number.
//!
//! They are branch-free, so that loops over them use vector instructions. The crate `half` has others, of which those from f64 do not always give the
//! nearest number.

use half::{bf16, f16};

use super::numeric::AnyFloat;

/// `f16` or `bf16`.
pub(crate) trait Half: AnyFloat {
    /// The number as f32.
    fn widened(self) -> f32;
    /// The nearest number, ties to even; NaN gives 0x7fff.
    fn narrowed(value: f32) -> Self;
    /// The next number from it towards another; that one where they are equal, NaN where one is.
    fn next_after(self, other: Self) -> Self;
}

/// Numbers that round to 16 bits.
pub(crate) trait ToOdd {
    /// The number as a float whose last bit is set where digits were lost ("rounded to odd"). Rounding that to 16 bits is as rounding the number itself.
    ///
    /// Source: S. Boldo, G. Melquiond, Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd, 2008.
    fn to_odd(self) -> f32;
}

impl ToOdd for f32 {
    #[inline]
    fn to_odd(self) -> f32 {
        self
    }
}

macro_rules! to_odd {
    ($($type:ident by $exact:ident),*) => {$(
        impl ToOdd for $type {
            #[inline]
            fn to_odd(self) -> f32 {
                let near = self as f32;
                let (back, exact) = (near as $exact, self as $exact);
                // Towards zero: the nearest one, or the one before it.
                let beyond = (exact < 0 as $exact && back < exact) || (exact > 0 as $exact && back > exact);
                f32::from_bits((near.to_bits() - u32::from(beyond)) | u32::from(back != exact))
            }
        }
    )*};
}
to_odd!(f64 by f64, i32 by f64, u32 by f64, i64 by i128, u64 by i128);

impl Half for f16 {
    #[inline]
    fn widened(self) -> f32 {
        let bits = u32::from(self.to_bits());
        let (sign, size) = ((bits & 0x8000) << 16, bits & 0x7fff);
        // 2^-14 more than a subnormal number is, so that it is a normal one.
        let small = (f32::from_bits((size << 13) + 0x3880_0000) - f32::from_bits(0x3880_0000)).to_bits();
        let normal = (size << 13) + 0x3800_0000;
        let large = normal + 0x3800_0000;
        let positive = if size < 0x400 { small } else { normal };
        // NaN becomes a quiet one, as any operation makes it.
        let quiet = if size > 0x7c00 { 0x40_0000 } else { 0 };
        f32::from_bits(sign | quiet | if size < 0x7c00 { positive } else { large })
    }

    #[inline]
    fn narrowed(value: f32) -> Self {
        let bits = value.to_bits();
        let (sign, size) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
        // Subnormal numbers are multiples of 2^-24, to which floats beside 1/2 are rounded.
        let small = (f32::from_bits(size) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
        let normal = size.wrapping_sub(0x3800_0000).wrapping_add(0xfff + (size >> 13 & 1)) >> 13;
        let finite = if size < 0x3880_0000 { small } else { normal };
        let number = sign | if size < 0x477f_f000 { finite } else { 0x7c00 };
        Self::from_bits(if size <= 0x7f80_0000 { number } else { 0x7fff } as u16)
    }

    fn next_after(self, other: Self) -> Self {
        Self::from_bits(next_after(self.widened(), other.widened(), self.to_bits(), other.to_bits()))
    }
}

impl Half for bf16 {
    #[inline]
    fn widened(self) -> f32 {
        let bits = u32::from(self.to_bits());
        let quiet = if bits & 0x7fff > 0x7f80 { 0x40_0000 } else { 0 };
        f32::from_bits(bits << 16 | quiet)
    }

    #[inline]
    fn narrowed(value: f32) -> Self {
        let bits = value.to_bits();
        let number = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
        Self::from_bits(if bits & 0x7fff_ffff <= 0x7f80_0000 { number } else { 0x7fff } as u16)
    }

    fn next_after(self, other: Self) -> Self {
        Self::from_bits(next_after(self.widened(), other.widened(), self.to_bits(), other.to_bits()))
    }
}

/// The bits of the next number, by the numbers and their bits.
fn next_after(from: f32, to: f32, bits: u16, to_bits: u16) -> u16 {
    if from.is_nan() || to.is_nan() {
        0x7fff
    } else if from == to {
        to_bits
    } else if from == 0.0 {
        // The least number, with the sign of the other one.
        to_bits & 0x8000 | 1
    } else if (from < to) == (from > 0.0) {
        bits + 1
    } else {
        bits - 1
    }
}

macro_rules! any_float {
    ($($type:ident),*) => {$(
        impl AnyFloat for $type {
            type OfParts = super::c64;
            fn rounded(value: f64) -> Self {
                Self::narrowed(value.to_odd())
            }
        }
    )*};
}
any_float!(f16, bf16);

#[cfg(test)]
mod tests {
    use super::*;

    /// The finite numbers of a type in order, each an f64, by the definition of the format.
    fn numbers<T: Half>(exponent_bits: u32, fraction_bits: u32) -> Vec<(u16, f64)> {
        let bias = (1 << (exponent_bits - 1)) - 1;
        let infinite = ((1u32 << exponent_bits) - 1) << fraction_bits;
        let value = |bits: u32| {
            let (exponent, fraction) = (bits >> fraction_bits, bits & ((1 << fraction_bits) - 1));
            let digits = if exponent == 0 { fraction } else { fraction | 1 << fraction_bits };
            f64::from(digits) * 2f64.powi(exponent.max(1) as i32 - bias - fraction_bits as i32)
        };
        (0..infinite).map(|bits| (bits as u16, value(bits))).collect()
    }

    fn check_numbers<T: Half>(bits: fn(T) -> u16, of: fn(u16) -> T, exponent_bits: u32, fraction_bits: u32) {
        let numbers = numbers::<T>(exponent_bits, fraction_bits);
        let infinite = numbers.len() as u16;
        let narrowed = |value: f64| bits(T::rounded(value));
        for (i, &(number, value)) in numbers.iter().enumerate() {
            for sign in [0, 0x8000] {
                let signed = if sign == 0 { value } else { -value };
                assert_eq!(f64::from(of(number | sign).widened()), signed);
                assert_eq!(of(number | sign).widened().is_sign_negative(), sign != 0);
                assert_eq!(narrowed(signed), number | sign);
                // Halfway to the next number, and a little less and more, of which f32 knows nothing.
                let next = numbers.get(i + 1).map_or(2.0 * value - numbers[i.saturating_sub(1)].1, |next| next.1);
                let middle = (value + next) / 2.0;
                let even = number + (number & 1);
                for (between, want) in [(middle.next_down(), number), (middle, even), (middle.next_up(), number + 1)] {
                    let between = if sign == 0 { between } else { -between };
                    assert_eq!(narrowed(between), want | sign, "{between:e}");
                }
                // A value that f32 holds exactly rounds from there, too.
                let middle = if sign == 0 { middle } else { -middle } as f32;
                assert_eq!(bits(T::narrowed(middle)), even | sign);
            }
        }
        for sign in [0, 0x8000] {
            assert!(of(infinite | sign).widened().is_infinite());
            assert_eq!(bits(T::narrowed(of(infinite | sign).widened())), infinite | sign);
            assert_eq!(narrowed(if sign == 0 { f64::MAX } else { f64::MIN }), infinite | sign);
        }
        for nan in (infinite + 1..0x8000).flat_map(|nan| [nan, nan | 0x8000]) {
            assert!(of(nan).widened().is_nan());
        }
        assert_eq!([narrowed(f64::NAN), narrowed(-f64::NAN), bits(T::narrowed(f32::NAN))], [0x7fff; 3]);
    }

    #[test]
    fn each_number_and_each_middle_is_rounded_once() {
        check_numbers(f16::to_bits, f16::from_bits, 5, 10);
        check_numbers(bf16::to_bits, bf16::from_bits, 8, 7);
    }

    #[test]
    fn floats_round_as_the_crate_half_rounds_them() {
        for bits in (0..=u32::MAX).step_by(997) {
            let x = f32::from_bits(bits);
            let (got, want) = (f16::narrowed(x), f16::from_f32(x));
            assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{x:e}");
            let (got, want) = (bf16::narrowed(x), bf16::from_f32(x));
            assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{x:e}");
        }
    }

    #[test]
    fn integers_round_once() {
        // 2^30 + 2^22 is halfway between two numbers of bf16; one more is nearer to the upper one, which f32 does not see.
        let middle = (1i64 << 30) + (1 << 22);
        let of = |x: i64| bf16::narrowed(x.to_odd()).widened();
        assert_eq!([of(middle - 1), of(middle), of(middle + 1)], [1073741824.0, 1073741824.0, 1082130432.0]);
        assert_eq!(of(-middle - 1), -1082130432.0);
        assert_eq!(bf16::narrowed(((1i32 << 30) + (1 << 22) + 1).to_odd()).widened(), 1082130432.0);
        let large = |x: u64| bf16::narrowed(x.to_odd()).widened();
        assert_eq!(large((1 << 63) + (1 << 55)), 2f32.powi(63));
        assert_eq!(large((1 << 63) + (1 << 55) + 1), 2f32.powi(63) + 2f32.powi(56));
        assert_eq!([large(u64::MAX), of(i64::MIN)], [2f32.powi(64), -2f32.powi(63)]);
        assert_eq!(f16::narrowed(65519i32.to_odd()).widened(), 65504.0);
        assert!(f16::narrowed(65520u32.to_odd()).widened().is_infinite());
        assert_eq!(f16::narrowed(2049i64.to_odd()).widened(), 2048.0);
    }
}
