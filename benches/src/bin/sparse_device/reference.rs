//! What the device's answers are held against: sums in f64 on the host.

use gpu_sparse::{CsrMatrix, Scalar};
use rayon::prelude::*;

/// Over the rows, the largest `|y - A x| / (|A| |x|)`; NaN when `y` holds one, or is too short.
pub(crate) fn largest_error<T: Scalar>(a: &CsrMatrix<T>, x: &[T], y: &[T]) -> f64 {
    if y.len() != a.rows() {
        return f64::NAN;
    }
    let row_error = |row: usize| {
        let (sum, bound) = product(a, row, x);
        let difference = (Scalar::to_f64(y[row]) - sum).abs();
        if difference == 0.0 { 0.0 } else { difference / bound }
    };
    // f64::max would drop a NaN.
    let larger = |a: f64, b: f64| if a.is_nan() || a > b { a } else { b };
    (0..a.rows()).into_par_iter().map(row_error).reduce(|| 0.0, larger)
}

/// `|b - A x| / |b|`; NaN when the lengths do not fit.
pub(crate) fn relative_residual<T: Scalar>(a: &CsrMatrix<T>, x: &[T], b: &[T]) -> f64 {
    if (x.len(), b.len()) != (a.cols(), a.rows()) {
        return f64::NAN;
    }
    let difference = |row: usize| Scalar::to_f64(b[row]) - product(a, row, x).0;
    let residual: f64 = (0..a.rows()).into_par_iter().map(|row| difference(row).powi(2)).sum();
    let scale: f64 = b.par_iter().map(|&b| Scalar::to_f64(b).powi(2)).sum();
    (residual / scale).sqrt()
}

/// A row of `A x`, and of `|A| |x|`.
fn product<T: Scalar>(a: &CsrMatrix<T>, row: usize, x: &[T]) -> (f64, f64) {
    let (columns, values) = a.row(row).unwrap_or_default();
    columns.iter().zip(values).fold((0.0, 0.0), |(sum, bound), (&column, &value)| {
        let term = Scalar::to_f64(value) * Scalar::to_f64(x[column as usize]);
        (sum + term, bound + term.abs())
    })
}

#[cfg(test)]
mod tests {
    use gpu_sparse::gallery::Poisson;

    use super::*;
    use crate::Outcome;

    #[test]
    fn errors_are_seen() -> Outcome {
        let a: CsrMatrix<f64> = Poisson::two_d(9, 7).build()?;
        let x = crate::case::random_vector(63);
        let mut y = a.matvec(&x)?.to_vec();
        assert!(largest_error(&a, &x, &y) < 1e-15);
        y[40] += 0.1;
        assert!(largest_error(&a, &x, &y) > 1e-3);
        y[3] = f64::NAN;
        assert!(largest_error(&a, &x, &y).is_nan());
        assert!(largest_error(&a, &x, &y[1..]).is_nan());
        Ok(())
    }

    #[test]
    fn residuals_are_relative() -> Outcome {
        let a: CsrMatrix<f64> = Poisson::one_d(2).build()?;
        // A x = (1, 1)
        assert_eq!(relative_residual(&a, &[1.0, 1.0], &[1.0, 1.0]), 0.0);
        let got = relative_residual(&a, &[1.0, 1.0], &[4.0, 5.0]);
        assert!((got - 5.0 / 41.0_f64.sqrt()).abs() < 1e-15, "{got}");
        assert!(relative_residual(&a, &[1.0], &[4.0, 5.0]).is_nan());
        Ok(())
    }
}
