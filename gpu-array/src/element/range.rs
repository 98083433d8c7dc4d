//! Ranges of numbers.

use std::fmt::Display;

use super::{Float, Number, numeric::AnyFloat};
use crate::{ArrayError, DType, Result};

/// 2^53, up to which f64 counts by one.
const COUNTED: f64 = 9_007_199_254_740_992.0;

fn range_error<T: Display>(start: T, stop: T, step: T, why: &'static str) -> ArrayError {
    ArrayError::Range { start: start.to_string(), stop: stop.to_string(), step: step.to_string(), why }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Number for $type {
            type Float = f64;
            fn range_len(start: Self, stop: Self, step: Self) -> Result<usize> {
                if step == 0 {
                    return Err(range_error(start, stop, step, "the step is zero"));
                }
                // Exact: the difference of two 64-bit integers fits in 128 bits.
                let (distance, step_wide) = (i128::from(stop) - i128::from(start), i128::from(step));
                if distance == 0 || (distance < 0) != (step_wide < 0) {
                    return Ok(0);
                }
                let len = distance.unsigned_abs().div_ceil(step_wide.unsigned_abs());
                usize::try_from(len).map_err(|_| range_error(start, stop, step, "more values than can be addressed"))
            }
            fn range_value(start: Self, step: Self, i: usize) -> Self {
                start.wrapping_add((i as Self).wrapping_mul(step))
            }
        }
    )*};
}

impl AnyFloat for f32 {
    type OfParts = super::c64;
    fn rounded(value: f64) -> Self {
        value as Self
    }
}

impl AnyFloat for f64 {
    type OfParts = super::c128;
    fn rounded(value: f64) -> Self {
        value
    }
}

impl<T: AnyFloat> Float for T {
    type Complex = T::OfParts;
    fn rounded_from_f64(value: f64) -> Self {
        Self::rounded(value)
    }
}

impl<T: AnyFloat> Number for T {
    type Float = T;
    fn range_len(start: Self, stop: Self, step: Self) -> Result<usize> {
        if step.is_zero() {
            return Err(range_error(start, stop, step, "the step is zero"));
        }
        let len = ((stop.into() - start.into()) / step.into()).ceil();
        if !len.is_finite() || !step.is_finite() {
            return Err(range_error(start, stop, step, "the number of values is not finite"));
        }
        if len > COUNTED {
            return Err(range_error(start, stop, step, "more values than can be addressed"));
        }
        Ok(len.max(0.0) as usize)
    }
    fn range_value(start: Self, step: Self, i: usize) -> Self {
        Self::rounded(start.into() + i as f64 * step.into())
    }
    fn range_in_integers(start: Self, step: Self, len: usize) -> Option<(i32, i32)> {
        let (start, step): (f64, f64) = (start.into(), step.into());
        let largest = start.abs() + step.abs() * len as f64;
        let is_exact = start.fract() == 0.0 && step.fract() == 0.0 && largest <= f64::from(i32::MAX);
        // An integer has no negative zero, and is rounded to 16 bits by way of f32.
        let is_kept = !(start == 0.0 && start.is_sign_negative()) && matches!(Self::DTYPE, DType::F32 | DType::F64);
        (is_exact && is_kept).then_some((start as i32, step as i32))
    }
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_numpys() {
        // numpy.arange(start, stop, step).size
        assert_eq!(i32::range_len(0, 10, 3).unwrap(), 4);
        assert_eq!(i32::range_len(10, 0, -3).unwrap(), 4);
        assert_eq!(i32::range_len(0, 10, -1).unwrap(), 0);
        assert_eq!(u8::range_len(250, 255, 2).unwrap(), 3);
        assert_eq!(i64::range_len(i64::MIN, i64::MAX, i64::MAX).unwrap(), 3);
        assert_eq!(f64::range_len(0.0, 1.0, 0.1).unwrap(), 10);
        assert_eq!(f64::range_len(1.0, 1.3, 0.1).unwrap(), 4); // NumPy's own: 1.3 - 1 is a little over 3 steps
        assert_eq!(f32::range_len(0.0, -1.0, 0.5).unwrap(), 0);
    }

    #[test]
    fn ranges_without_an_end_are_errors() {
        assert!(i32::range_len(0, 10, 0).is_err());
        assert!(f32::range_len(0.0, 1.0, 0.0).is_err());
        assert!(f64::range_len(0.0, f64::INFINITY, 1.0).is_err());
        assert!(f64::range_len(f64::NAN, 1.0, 1.0).is_err());
        assert!(f64::range_len(0.0, 1.0, f64::INFINITY).is_err());
        assert!(f64::range_len(0.0, 1e300, 1e-300).is_err());
        assert!(f64::range_len(0.0, 1e17, 1.0).is_err());
    }
}
