//! The words and numbers on a line.

use crate::Scalar;

use super::lines::is_blank;
use crate::error::{MatrixMarketErrorKind as Kind, excerpt};

/// Takes the words of a line one by one.
pub(super) struct NumberWords<'a> {
    rest: &'a [u8],
}

impl<'a> NumberWords<'a> {
    /// Starts at the first byte of a trimmed line.
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { rest: line }
    }

    /// The next word, empty at the end of the line.
    #[inline]
    pub(super) fn next_word(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|&byte| is_blank(byte)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let blanks = rest.iter().position(|&byte| !is_blank(byte)).unwrap_or(rest.len());
        self.rest = &rest[blanks..];
        word
    }

    /// Checks that nothing is left.
    #[inline]
    pub(super) fn finish(self, after: &'static str) -> Result<(), Kind> {
        if self.rest.is_empty() { Ok(()) } else { Err(Kind::ExtraText { after, found: excerpt(self.rest) }) }
    }
}

/// The value of a word of decimal digits alone; `None` for any other word and for a value that exceeds u64.
#[inline]
pub(super) fn parse_digits(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    let mut value = 0_u64;
    if word.len() <= 19 {
        // 19 digits cannot overflow.
        for &byte in word {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value * 10 + u64::from(digit);
        }
        return Some(value);
    }
    for &byte in word {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(digit.into())?;
    }
    Some(value)
}

/// A real number: any that Rust's `f64::from_str` takes (`-1.5e3`, `.5`, `nan`, `inf`), also with a D for the E as in Fortran.
#[inline]
pub(super) fn parse_real<T: Scalar>(word: &[u8]) -> Result<T, Kind> {
    let parsed = str::from_utf8(word).ok().and_then(|text| text.parse().ok());
    match parsed.or_else(|| parse_d_exponent(word)) {
        Some(value) => refuse_overflow(value, word),
        None => Err(invalid_value("real number", word)),
    }
}

fn parse_d_exponent<T: Scalar>(word: &[u8]) -> Option<T> {
    let at = memchr::memchr2(b'd', b'D', word)?;
    let mut short = [0; 48];
    let mut long = Vec::new();
    let copy = match short.get_mut(..word.len()) {
        Some(copy) => copy,
        None => {
            long.resize(word.len(), 0);
            &mut long[..]
        }
    };
    copy.copy_from_slice(word);
    copy[at] = b'e';
    str::from_utf8(copy).ok()?.parse().ok()
}

/// A whole number with an optional sign; the value of `T` nearest to it.
#[inline]
pub(super) fn parse_integer<T: Scalar>(word: &[u8]) -> Result<T, Kind> {
    let digits = match word {
        [b'+' | b'-', digits @ ..] => digits,
        digits => digits,
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(invalid_value("whole number", word));
    }
    if digits.len() > 15 {
        // A whole number is a real one too; more than 15 digits may need rounding, which only that way does once.
        return parse_real(word);
    }
    let magnitude = parse_digits(digits).unwrap_or(0) as i64;
    Ok(T::from_f64((if word[0] == b'-' { -magnitude } else { magnitude }) as f64))
}

/// An infinity may stand in the text in letters, but may not come of rounding.
#[inline]
fn refuse_overflow<T: Scalar>(value: T, word: &[u8]) -> Result<T, Kind> {
    if value.is_infinite() && word.iter().any(u8::is_ascii_digit) {
        return Err(Kind::ValueOverflow { found: excerpt(word), element: std::any::type_name::<T>() });
    }
    Ok(value)
}

#[cold]
fn invalid_value(expected: &'static str, word: &[u8]) -> Kind {
    if word.is_empty() {
        return Kind::MissingNumber { number: "value" };
    }
    Kind::InvalidValue { expected, found: excerpt(word) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reals() {
        let long = format!("0.{}1D41", "0".repeat(40));
        for (word, want) in [
            ("1", 1.0),
            ("-1.5e3", -1500.0),
            ("+.5", 0.5),
            ("2.", 2.0),
            ("1D2", 100.0),
            ("1.25d-02", 0.0125),
            (&long, 1.0),
            ("1e-999", 0.0),
            ("Infinity", f64::INFINITY),
            ("-INF", f64::NEG_INFINITY),
        ] {
            assert_eq!(parse_real::<f64>(word.as_bytes()).unwrap(), want, "{word}");
        }
        assert!(parse_real::<f64>(b"NaN").unwrap().is_nan());
        for word in ["", "1e", "1D", "D5", "1D2D3", "nand", "infd", "1,5", "0x10", "1.0+5", "--1", "1_000", "\u{661}"] {
            assert!(parse_real::<f64>(word.as_bytes()).is_err(), "{word}");
        }
    }

    #[test]
    fn overflow_is_an_error_for_the_type_it_overflows() {
        assert!(matches!(parse_real::<f64>(b"1e999"), Err(Kind::ValueOverflow { element: "f64", .. })));
        assert!(matches!(parse_real::<f64>(b"-1D999"), Err(Kind::ValueOverflow { .. })));
        assert!(matches!(parse_real::<f32>(b"1e39"), Err(Kind::ValueOverflow { element: "f32", .. })));
        assert_eq!(parse_real::<f64>(b"1e39").unwrap(), 1e39);
        assert_eq!(parse_real::<f32>(b"3.4028235e38").unwrap(), f32::MAX);
        let forty_digits = [b'9'; 40];
        assert!(matches!(parse_integer::<f32>(&forty_digits), Err(Kind::ValueOverflow { .. })));
    }

    #[test]
    fn integers_round_once() {
        assert_eq!(parse_integer::<f64>(b"9007199254740993").unwrap(), 9007199254740992.0);
        // Through f64 first this would round to even twice and give 2^60.
        let word = ((1_u64 << 60) + (1 << 36) + 1).to_string();
        assert_eq!(parse_integer::<f32>(word.as_bytes()).unwrap(), (2.0_f32).powi(60) + (2.0_f32).powi(37));
        assert_eq!(parse_integer::<f64>(b"-0").unwrap().to_bits(), 0);
        assert_eq!(parse_integer::<f64>(b"+17").unwrap(), 17.0);
        for word in ["", "+", "-", "1.0", "1e3", "nan", "inf", "+-1", "0x1"] {
            assert!(parse_integer::<f64>(word.as_bytes()).is_err(), "{word}");
        }
    }

    #[test]
    fn digits() {
        assert_eq!(parse_digits(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_digits(b"18446744073709551616"), None);
        assert_eq!(parse_digits(b"000000000000000000000000000007"), Some(7));
        for word in ["", "-1", "+1", "1.0", "1a", "999999999999999999999x"] {
            assert_eq!(parse_digits(word.as_bytes()), None, "{word}");
        }
    }
}
