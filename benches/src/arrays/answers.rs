//! Right answers.

use gpu_array::{Complex, Element};
use rayon::prelude::*;

use crate::harness::Check;

/// Compares each element with the pair that `want` gives for its place: the value, and the size that its error is relative to.
pub(crate) fn near<T: Copy + Sync + Into<f64>>(
    got: &[T],
    n: usize,
    bound: f64,
    want: impl Fn(usize) -> (f64, f64) + Sync,
) -> Check {
    let error = |(i, &got): (usize, &T)| {
        let (want, size) = want(i);
        Check::close(got.into(), want, size, bound).error
    };
    let largest = got.par_iter().enumerate().map(error).reduce(|| 0.0, Check::larger);
    if got.len() == n { Check::within(largest, bound) } else { Check::holds(false) }
}

/// Each element is the very one that `want` gives for its place.
pub(super) fn same<T: Element>(got: &[T], n: usize, want: impl Fn(usize) -> T + Sync) -> Check {
    let differ = got.par_iter().enumerate().filter(|&(i, &got)| got != want(i)).count();
    Check::within(if got.len() == n { differ as f64 / n.max(1) as f64 } else { 1.0 }, 0.0)
}

/// `5 x + 6 y`: two products and a sum in the element type, or the second of them rounded together with the sum.
pub(super) fn check_lincomb<T: Copy + Sync + Into<f64>>(x: &[T], y: &[T], got: &[T]) -> Check {
    near(got, x.len(), rounding::<T>(), |i| {
        let (a, b) = (5.0 * x[i].into(), 6.0 * y[i].into());
        (a + b, a.abs() + b.abs())
    })
}

/// `5 x + 6 y` of each part.
pub(super) fn check_complex_lincomb(x: &[Complex<f32>], y: &[Complex<f32>], got: &[Complex<f32>]) -> Check {
    let parts = |z: &[Complex<f32>]| z.iter().flat_map(|z| [z.re, z.im]).collect::<Vec<f32>>();
    check_lincomb(&parts(x), &parts(y), &parts(got))
}

/// `exp(x) sin(y) + sqrt(|x|)`.
pub(super) fn check_wave(x: &[f32], y: &[f32], got: &[f32]) -> Check {
    near(got, x.len(), 4.0 * rounding::<f32>(), |i| {
        let (x, y) = (f64::from(x[i]), f64::from(y[i]));
        let (a, b) = (x.exp() * y.sin(), x.abs().sqrt());
        (a + b, a.abs() + b)
    })
}

/// A few units in the last place.
pub(crate) fn rounding<T>() -> f64 {
    4.0 * match size_of::<T>() {
        2 => f64::from(gpu_array::f16::EPSILON),
        4 => f64::from(f32::EPSILON),
        _ => f64::EPSILON,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_elements_are_seen() {
        let (x, y) = (vec![0.5_f32, -0.25, 0.75], vec![-0.125_f32, 1.0, 0.5]);
        let right: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 5.0 * x + 6.0 * y).collect();
        assert!(check_lincomb(&x, &y, &right).is_right() && !check_lincomb(&x, &y, &right[..2]).is_right());
        assert!(!check_lincomb(&x, &y, &[right[0], right[1] + 1e-4, right[2]]).is_right());
        let complex = |x: &[f32]| [Complex::new(x[0], x[1]), Complex::new(x[2], x[0])];
        let (zx, zy, mut zs) = (complex(&x), complex(&y), complex(&right));
        assert!(check_complex_lincomb(&zx, &zy, &zs).is_right());
        zs[1].im += 1e-4;
        assert!(!check_complex_lincomb(&zx, &zy, &zs).is_right());
        let waves: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x.exp() * y.sin() + x.abs().sqrt()).collect();
        assert!(check_wave(&x, &y, &waves).is_right() && !check_wave(&x, &y, &right).is_right());
        assert!(!check_wave(&x, &y, &[waves[0], f32::NAN, waves[2]]).is_right());
        assert!(
            same(&x, 3, |i| x[i]).is_right() && !same(&x, 3, |i| y[i]).is_right() && !same(&x, 4, |i| x[i]).is_right()
        );
    }
}
