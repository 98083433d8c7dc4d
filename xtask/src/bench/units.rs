//! Numbers for people.

/// `377.0 us`, with four digits.
pub(crate) fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s if s >= 1e-6 => (s * 1e6, "us"),
        s => (s * 1e9, "ns"),
    };
    format!("{} {unit}", digits(value))
}

/// Bytes a second.
pub(crate) fn bandwidth(bytes_per_second: f64) -> String {
    format!("{} GB/s", digits(bytes_per_second / 1e9))
}

/// Operations a second.
pub(crate) fn rate(flops_per_second: f64) -> String {
    format!("{} GFLOP/s", digits(flops_per_second / 1e9))
}

/// `+12.6 %` for the factor 1.126.
pub(crate) fn change(factor: f64) -> String {
    format!("{:+.1} %", 100.0 * (factor - 1.0))
}

/// `93 %`, below ten `2.5 %`.
pub(crate) fn percent(part: f64) -> String {
    let decimals = usize::from(part < 0.0995);
    format!("{:.decimals$} %", 100.0 * part)
}

/// `96.5 %`: a part that has a floor.
pub(crate) fn share(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

/// `1.69x`.
pub(crate) fn times(ratio: f64) -> String {
    format!("{ratio:.2}x")
}

/// Four digits, or all before the point.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// Reads `5%`, `5 %` or `0.05`.
pub(crate) fn parse_threshold(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    let value = number.trim().parse::<f64>().map_err(|error| format!("{error}"))? * scale;
    match value {
        // Who writes 5 means 5 %.
        v if v >= 1.0 && scale == 1.0 => Err(format!("{text} would be {:.0} %: write {text}%", 100.0 * value)),
        v if v > 0.0 && v < 10.0 => Ok(value),
        _ => Err("between 0 and 1000 %, both excluded".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(time(0.000_377), "377.0 us");
        assert_eq!(time(12.0), "12.00 s");
        assert_eq!(time(0.018_402), "18.40 ms");
        assert_eq!(time(3e-9), "3.000 ns");
        assert_eq!(bandwidth(3.87e12), "3870 GB/s");
        assert_eq!((change(1.126), change(0.95)), ("+12.6 %".to_owned(), "-5.0 %".to_owned()));
        assert_eq!((percent(0.934), percent(0.025)), ("93 %".to_owned(), "2.5 %".to_owned()));
        assert_eq!(times(1.688), "1.69x");
    }

    #[test]
    fn thresholds_come_in_percent_or_not() {
        assert_eq!(["5%", "5 %", "0.05"].map(parse_threshold), [Ok(0.05), Ok(0.05), Ok(0.05)]);
        for wrong in ["", "%", "x", "0", "-5%", "NaN", "2000%", "5", "1"] {
            assert!(parse_threshold(wrong).is_err(), "{wrong}");
        }
    }
}
