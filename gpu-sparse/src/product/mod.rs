//! Products of a sparse matrix with a dense vector: one file for each format on the host, and `device` for both on a GPU.
//!
//! The methods `matvec`, `matvec_into` and `axpby_into` of the matrices stand here, with the parts of a product that solvers need. Formats
//! know nothing of their products.

use ndarray::{ArrayView1, ArrayViewMut1};

use crate::vector::contiguous;
use crate::{Result, Scalar, SparseError, start_threads};

mod csr;
pub(crate) mod device;
mod fused;
mod packets;

/// Runs a product of a matrix of that shape on slices: checks the lengths, and packs vectors that are not in one piece.
pub(crate) fn on_slices<T: Scalar>(
    op: &'static str,
    (rows, cols): (usize, usize),
    x: ArrayView1<'_, T>,
    mut y: ArrayViewMut1<'_, T>,
    product: impl FnOnce(&[T], &mut [T]),
) -> Result<()> {
    start_threads()?;
    check_length(op, "x", x.len(), cols)?;
    check_length(op, "y", y.len(), rows)?;
    let x = contiguous(&x);
    if let Some(y) = y.as_slice_mut() {
        product(&x, y);
        return Ok(());
    }
    let mut packed = y.to_vec();
    product(&x, &mut packed);
    y.assign(&ArrayView1::from(&packed));
    Ok(())
}

/// The step of `y = alpha A x + beta y` from a row's sum and an element of `y`, which is not read where `beta` is zero.
pub(crate) fn axpby<T: Scalar>(alpha: T, beta: T) -> impl Fn(f64, &mut T) + Sync {
    let (alpha, scale): (f64, f64) = (alpha.into(), beta.into());
    move |sum, y| *y = T::from_f64(if beta.is_zero() { alpha * sum } else { alpha * sum + scale * (*y).into() })
}

pub(crate) fn check_length(op: &'static str, name: &'static str, got: usize, expected: usize) -> Result<()> {
    if got == expected {
        return Ok(());
    }
    let (expected, got) = (format!("{name} of length {expected}"), got.to_string());
    Err(SparseError::Shape { op, expected, got })
}
