//! The reference answers: sums in f64 on the host.

use gpu_sparse::{CsrMatrix, Scalar};
use rayon::prelude::*;

use crate::harness::Check;

/// Over the rows, the largest `|y - z| / size` with `z = alpha A x + beta y0`, `size` the same sum of magnitudes; NaN when `y` holds one,
/// or is too short.
pub fn largest_error<T: Scalar>(a: &CsrMatrix<T>, (alpha, x): (T, &[T]), (beta, y0): (T, &[T]), y: &[T]) -> f64 {
    if y.len() != a.rows() {
        return f64::NAN;
    }
    let (alpha, beta) = (Scalar::to_f64(alpha), Scalar::to_f64(beta));
    let row_error = |row: usize| {
        let (sum, size) = product(a, row, x);
        let old = beta * y0.get(row).map_or(0.0, |&y| Scalar::to_f64(y));
        let difference = (Scalar::to_f64(y[row]) - (alpha * sum + old)).abs();
        if difference == 0.0 { 0.0 } else { difference / (alpha.abs() * size + old.abs()) }
    };
    (0..a.rows()).into_par_iter().map(row_error).reduce(|| 0.0, Check::larger)
}

/// The check of a product: one rounding of the type per addition of the longest row, at most.
pub fn check_product<T: Scalar>(a: &CsrMatrix<T>, x: &[T], y: &[T]) -> Check {
    Check::within(largest_error(a, (T::one(), x), (T::zero(), &[]), y), product_bound(a))
}

/// The error bound of a product, by the longest row added up in the element type.
pub(crate) fn product_bound<T: Scalar>(a: &CsrMatrix<T>) -> f64 {
    let longest = a.row_starts().windows(2).map(|row| row[1] - row[0]).max().unwrap_or(0);
    (longest + 2) as f64 * Scalar::to_f64(T::epsilon())
}

/// `|b - A x| / |b|`; NaN when the lengths do not fit.
pub fn relative_residual<T: Scalar>(a: &CsrMatrix<T>, x: &[T], b: &[T]) -> f64 {
    if (x.len(), b.len()) != (a.cols(), a.rows()) {
        return f64::NAN;
    }
    let difference = |row: usize| Scalar::to_f64(b[row]) - product(a, row, x).0;
    let residual: f64 = (0..a.rows()).into_par_iter().map(|row| difference(row).powi(2)).sum();
    let scale: f64 = b.par_iter().map(|&b| Scalar::to_f64(b).powi(2)).sum();
    (residual / scale).sqrt()
}

/// The check of a solve that was cut off: the residual that it claims is that of its `x`. The error is their difference relative to
/// the claim. `x` has to have come closer to the solution than the start, which the energy `x . A x / 2 - b . x` tells; else it is NaN.
pub fn check_solve<T: Scalar>(a: &CsrMatrix<T>, x: &[T], b: &[T], claimed: f64) -> Check {
    let energy: f64 = (0..a.rows().min(x.len()).min(b.len()))
        .into_par_iter()
        .map(|row| (product(a, row, x).0 / 2.0 - Scalar::to_f64(b[row])) * Scalar::to_f64(x[row]))
        .sum();
    let residual = relative_residual(a, x, b);
    // The recurrence drifts from the true residual by roundings of the type, relative to the largest residual on the way.
    let bound = Scalar::to_f64(T::epsilon()).sqrt().max(1e-6) * 100.0;
    let error = if energy < 0.0 { (residual - claimed).abs() / claimed.max(f64::MIN_POSITIVE) } else { f64::NAN };
    Check::within(error, bound)
}

/// A row of `A x`, and of `|A| |x|`.
fn product<T: Scalar>(a: &CsrMatrix<T>, row: usize, x: &[T]) -> (f64, f64) {
    let (columns, values) = a.row(row).unwrap_or_default();
    columns.iter().zip(values).fold((0.0, 0.0), |(sum, bound), (&column, &value)| {
        let term = Scalar::to_f64(value) * x.get(column as usize).map_or(f64::NAN, |&x| Scalar::to_f64(x));
        (sum + term, bound + term.abs())
    })
}

#[cfg(test)]
mod tests {
    use gpu_sparse::gallery::Poisson;

    use super::*;
    use crate::harness::Outcome;

    #[test]
    fn errors_are_seen() -> Outcome {
        let a: CsrMatrix<f64> = Poisson::two_d(9, 7).build()?;
        let x = crate::data::uniform(63);
        let mut y = a.matvec(&x)?.to_vec();
        let plain = |y: &[f64]| largest_error(&a, (1.0, &x), (0.0, &[]), y);
        assert!(plain(&y) < 1e-15 && check_product(&a, &x, &y).is_right());
        let old = crate::data::sines::<f64>(63);
        let mut mixed = old.clone();
        a.axpby_into(0.5, &x, -0.25, &mut mixed)?;
        assert!(largest_error(&a, (0.5, &x), (-0.25, &old), &mixed) < 1e-15);
        assert!(largest_error(&a, (0.5, &x), (0.25, &old), &mixed) > 1e-3);
        y[40] += 0.1;
        assert!(plain(&y) > 1e-3 && !check_product(&a, &x, &y).is_right());
        y[3] = f64::NAN;
        assert!(plain(&y).is_nan() && plain(&y[1..]).is_nan());
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
        assert!(check_solve(&a, &[1.0, 1.0], &[4.0, 5.0], got).is_right());
        assert!(!check_solve(&a, &[1.0, 1.0], &[4.0, 5.0], got * 1.1).is_right());
        assert!(!check_solve(&a, &[0.0, 0.0], &[4.0, 5.0], 1.0).is_right());
        Ok(())
    }
}
