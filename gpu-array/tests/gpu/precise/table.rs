//! The table of the largest errors.

use std::fmt::Write as _;

use gpu_array::DType;

use super::{
    cases::{Case, Region},
    reference::Errors,
};

/// The largest errors of a function on one place, and their bounds.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub case: Case,
    pub dtype: DType,
    pub place: &'static str,
    /// The number of arguments.
    pub n: usize,
    pub errors: Errors,
    pub ulps: f64,
    pub amplitude: f64,
}

impl Row {
    pub fn holds(&self) -> bool {
        self.errors.ulps <= self.ulps && self.errors.amplitude[0] <= self.amplitude
    }
}

impl Region {
    pub fn has(self, x: f64) -> bool {
        match self {
            Self::All => true,
            Self::Within(limit) => x.is_nan() || x.abs() < limit,
            Self::Beyond(limit) => x.abs() >= limit,
            Self::Between(low, high) => x.is_nan() || low <= x && x <= high,
        }
    }

    fn text(self) -> String {
        match self {
            Self::All => String::new(),
            Self::Within(limit) => format!("|x|<{limit}"),
            Self::Beyond(limit) => format!("|x|>={limit}"),
            Self::Between(low, high) => format!("{low}<=x<={high}"),
        }
    }
}

/// A line of each row; those that are too large have a mark.
pub fn table(rows: &[Row]) -> String {
    let mut text = "  function dtype place n | ulp (bound, of errors above) at x y: got, want | absolute at x | amplitude ulp (bound) at x\n".to_owned();
    for row in rows {
        let Row { case, dtype, place, n, errors: e, ulps, amplitude } = row;
        let order = if case.order > 0 { case.order.to_string() } else { String::new() };
        let allowed = case.allowed[usize::from(*dtype == DType::F64)];
        let mark = if row.holds() { ' ' } else { '!' };
        let _ = write!(
            text,
            "{mark} {}{order} {dtype} {place} {} n={n} | {} ({ulps}, {allowed:.3e})",
            case.function,
            case.region.text(),
            e.ulps
        );
        let _ = write!(text, " at {:e}", e.arguments[0]);
        if !case.y.is_empty() {
            let _ = write!(text, " {:e}", e.arguments[1]);
        }
        let _ = write!(text, ": {:e}, {:e} | {:e} at {:e}", e.got, e.want, e.absolute[0], e.absolute[1]);
        if e.amplitude[0] > 0.0 {
            let _ = write!(text, " | {} ({amplitude}) at {:e}", e.amplitude[0], e.amplitude[1]);
        }
        text.push('\n');
    }
    text
}
