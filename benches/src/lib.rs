//! What the benchmarks share.
#![deny(unsafe_code)]

pub mod data;
pub mod harness;
pub mod memory;

use gpu_sparse::{CsrMatrix, Result, gallery::Poisson};

/// The 7-point Poisson matrix of `n`^3 unknowns and the right-hand side `b[i] = sin(i + 1)`.
///
/// # Errors
/// `TooLarge` when the unknowns cannot be counted in u32.
pub fn poisson(n: usize) -> Result<(CsrMatrix<f64>, Vec<f64>)> {
    let a = Poisson::three_d(n, n, n).build()?;
    let b = (0..a.rows()).map(|i| ((i + 1) as f64).sin()).collect();
    Ok((a, b))
}

/// Bytes that a product with `a` has to move: matrix once, x read once, y written once.
pub fn product_bytes(a: &CsrMatrix<f64>) -> u64 {
    (a.nnz() * (8 + 4) + (a.rows() + 1) * 8 + (a.rows() + a.cols()) * 8) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_moves_its_matrix_and_two_vectors() -> Result<()> {
        let (a, b) = poisson(3)?;
        assert_eq!((a.rows(), a.nnz(), b.len()), (27, 27 + 2 * 3 * 18, 27));
        assert_eq!(product_bytes(&a), (135 * 12 + 28 * 8 + 54 * 8) as u64);
        Ok(())
    }
}
