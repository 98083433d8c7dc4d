//! The definitions of dot products and norms, in f64.

use ndarray::{ArrayView, Dimension};

use crate::{Result, common::shape::same_shape, operators::checks::check_lengths};

/// `sum x[i] * y[i]`, from left to right.
///
/// # Errors
/// `Length` when the arrays differ in length.
pub fn dot<T: Copy + Into<f64>>(x: &[T], y: &[T]) -> Result<f64> {
    check_lengths("dot", x.len(), y.len())?;
    Ok(x.iter().zip(y).map(|(&x, &y)| x.into() * y.into()).sum())
}

/// `sum x[i] * y[i]` over all positions of two arrays of one shape, in C order. Vectors of integers that wrap, and of complex numbers, are
/// multiplied by [`inner`](super::inner), the conjugates of the first ones for NumPy's `vdot`.
///
/// # Errors
/// `Shape` when the arrays differ in shape.
pub fn vdot<'a, 'b, T: Copy + Into<f64> + 'a + 'b, D: Dimension>(
    x: impl Into<ArrayView<'a, T, D>>,
    y: impl Into<ArrayView<'b, T, D>>,
) -> Result<f64> {
    let (x, y) = (x.into(), y.into());
    same_shape("vdot", x.shape(), y.shape())?;
    Ok(x.iter().zip(&y).map(|(&x, &y)| x.into() * y.into()).sum())
}

/// `sqrt(sum x[i]^2)`, from left to right; squares may overflow or underflow.
pub fn norm2<T: Copy + Into<f64>>(x: &[T]) -> f64 {
    x.iter().map(|&x| x.into() * x.into()).sum::<f64>().sqrt()
}
