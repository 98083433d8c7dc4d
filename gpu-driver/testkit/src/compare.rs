//! Comparisons of many values.

use std::fmt::{Debug, Display};

use crate::{Outcome, ensure};

/// `Err` with the first difference, unless both are equal: not with all of thousands of values.
pub fn same<T: PartialEq + Debug>(got: &[T], want: &[T], case: impl Display) -> Outcome {
    let at = (0..got.len().max(want.len())).find(|&at| got.get(at) != want.get(at));
    let (of, wanted) = (got.len(), want.len());
    ensure!(
        at.is_none(),
        "{case}: value {at:?} of {of}: got {:?}, want {:?} of {wanted}",
        at.and_then(|at| got.get(at)),
        at.and_then(|at| want.get(at))
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_told() {
        assert!(same(&[1, 2], &[1, 2], "").is_ok() && same::<u8>(&[], &[], "").is_ok());
        let error = |got: &[u8], want: &[u8]| same(got, want, "case").unwrap_err().to_string();
        assert_eq!(error(&[1, 2, 3], &[1, 5, 6]), "case: value Some(1) of 3: got Some(2), want Some(5) of 3");
        assert_eq!(error(&[1], &[1, 5]), "case: value Some(1) of 1: got None, want Some(5) of 2");
        assert!(same(&[f32::NAN], &[f32::NAN], "").is_err());
    }
}
