//! Wathen's finite-element mass matrix.

use rayon::prelude::*;

use super::{positive, unit_hash};
use crate::coo::MAX_DIM;
use crate::{CooMatrix, CsrMatrix, Result, Scalar, SparseError, start_threads};

/// 45 times the mass matrix of the serendipity element on the square [-1, 1]^2, density 1. Nodes run around the element from
/// one corner: corner, middle of an edge, corner and so on, in the order of [`element_nodes`].
#[rustfmt::skip]
pub(super) const ELEMENT: [[f64; 8]; 8] = [
    [ 6.0, -6.0,  2.0, -8.0,  3.0, -8.0,  2.0, -6.0],
    [-6.0, 32.0, -6.0, 20.0, -8.0, 16.0, -8.0, 20.0],
    [ 2.0, -6.0,  6.0, -6.0,  2.0, -8.0,  3.0, -8.0],
    [-8.0, 20.0, -6.0, 32.0, -6.0, 20.0, -8.0, 16.0],
    [ 3.0, -8.0,  2.0, -6.0,  6.0, -6.0,  2.0, -8.0],
    [-8.0, 16.0, -8.0, 20.0, -6.0, 32.0, -6.0, 20.0],
    [ 2.0, -8.0,  3.0, -8.0,  2.0, -6.0,  6.0, -6.0],
    [-6.0, 20.0, -8.0, 16.0, -8.0, 20.0, -6.0, 32.0],
];

/// The consistent mass matrix of `nx` x `ny` eight-node (serendipity) elements, each a square of side 2, with a density per element.
///
/// `A = sum over elements (i, j) of density(i, j) E / 45`, where `E` is the integer element matrix; it has
/// `3 nx ny + 2 nx + 2 ny + 1` rows and 8 to 21 entries in each. It is symmetric and positive definite for every positive density,
/// and the eigenvalues of `D^-1 A`, `D` its diagonal, lie in [0.25, 4.5] whatever the size: Jacobi is a perfect match.
/// Source: A. J. Wathen, Realistic eigenvalue bounds for the Galerkin mass matrix, IMA J. Numer. Anal. 7 (1987) 449-457; numbering
/// as in N. J. Higham's test matrix toolbox (`gallery('wathen', nx, ny)`).
///
/// # Errors
/// `TooLarge` when there are more rows than `u32::MAX`; `Parameter` for a density that is not positive and finite.
///
/// ```
/// let a = gpu_sparse::gallery::wathen::<f64>(49, 49, |_, _| 1.0)?;
/// assert_eq!((a.rows(), a.nnz()), (7400, 113_632));
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
pub fn wathen<T: Scalar>(nx: usize, ny: usize, density: impl Fn(usize, usize) -> f64 + Sync) -> Result<CsrMatrix<T>> {
    let n = rows(nx, ny)?;
    if nx == 0 || ny == 0 {
        return CsrMatrix::<T>::from_unsorted_parts(n, n, vec![0; n + 1], vec![], vec![]);
    }
    let mut densities = Vec::with_capacity(nx * ny);
    for j in 0..ny {
        for i in 0..nx {
            densities.push(positive("density", density(i, j))?);
        }
    }
    start_threads()?;
    let places = (0..64 * nx * ny).into_par_iter().map(|k| (k / 64, k / 8 % 8, k % 8));
    let node = |element: usize, local: usize| element_nodes(nx, element % nx, element / nx)[local] as u32;
    let row_indices = places.clone().map(|(element, a, _)| node(element, a)).collect();
    let col_indices = places.clone().map(|(element, _, b)| node(element, b)).collect();
    let values = places.map(|(element, a, b)| T::from_f64(densities[element] * ELEMENT[a][b] / 45.0)).collect();
    Ok(CooMatrix::from_triplets(n, n, row_indices, col_indices, values)?.to_csr())
}

/// [`wathen`] with densities uniform in (0, 100], as in MATLAB's gallery: a function of `seed` and the element.
///
/// # Errors
/// `TooLarge` when there are more rows than `u32::MAX`.
pub fn wathen_random<T: Scalar>(nx: usize, ny: usize, seed: u64) -> Result<CsrMatrix<T>> {
    wathen(nx, ny, |i, j| 100.0 * (1.0 - unit_hash(seed, (i + nx * j) as u64)))
}

fn rows(nx: usize, ny: usize) -> Result<usize> {
    let (x, y) = (nx as u128, ny as u128);
    let count = x.checked_mul(y).and_then(|xy| xy.checked_mul(3)).and_then(|n| n.checked_add(2 * x + 2 * y + 1));
    match count {
        Some(n) if n <= MAX_DIM as u128 => Ok(n as usize),
        _ => {
            let value = count.map_or(u64::MAX, |n| u64::try_from(n).unwrap_or(u64::MAX));
            Err(SparseError::TooLarge { quantity: "rows of Wathen's matrix", value, limit: MAX_DIM as u64 })
        }
    }
}

/// The nodes of element (i, j), counted from 0. Along each line of element corners lie `2 nx + 1` nodes, along each line of
/// middles `nx + 1`.
pub(super) fn element_nodes(nx: usize, i: usize, j: usize) -> [usize; 8] {
    let stride = 3 * nx + 2; // one line of corners and one of middles
    let (low, high) = (j * stride + 2 * i, (j + 1) * stride + 2 * i);
    let middle = j * stride + (2 * nx + 1) + i;
    [high + 2, high + 1, high, middle, low, low + 1, low + 2, middle + 1]
}
