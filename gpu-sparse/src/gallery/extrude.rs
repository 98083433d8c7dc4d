//! A mesh pulled into layers.

use crate::csr::{CsrMatrix, from_row_function};
use crate::{Result, Scalar, SparseError};

/// How the unknowns of an extruded mesh are counted; `n` nodes, `layers` layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// All nodes of a layer, then the next layer: node `i` of layer `k` is row `k n + i`.
    LayerMajor,
    /// All layers of a node, then the next node: row `i layers + k`.
    ZFastest,
}

/// `A (x) I + I (x) T`: the matrix of `A` (`n` x `n`, a mesh) repeated in as many layers as `T` has rows, joined by `T`
/// (`layers` x `layers`, usually [`Poisson::one_d`](super::Poisson::one_d)).
///
/// The way from a small irregular mesh to a large matrix. The eigenvalues are all sums of one of `A` and one of `T`, so it is
/// positive definite when both are, or when one is and the other is semidefinite. Both numberings hold the same entries in a
/// different order of rows. The formula as written is [`Numbering::ZFastest`]; the other is `I (x) A + T (x) I`.
///
/// # Errors
/// `Shape` when a matrix is not square, `TooLarge` when there are more rows than `u32::MAX`.
///
/// ```
/// use gpu_sparse::gallery::{self, Numbering, Poisson};
///
/// let line = Poisson::one_d(5).build::<f64>()?;
/// let plane = gallery::extrude(&line, &Poisson::one_d(4).build()?, Numbering::LayerMajor)?;
/// assert_eq!(plane, Poisson::two_d(5, 4).build()?);
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
pub fn extrude<T: Scalar>(a: &CsrMatrix<T>, t: &CsrMatrix<T>, numbering: Numbering) -> Result<CsrMatrix<T>> {
    for matrix in [a, t] {
        if matrix.rows() != matrix.cols() {
            let (expected, got) = ("square matrices".into(), format!("{} x {}", matrix.rows(), matrix.cols()));
            return Err(SparseError::Shape { op: "gallery::extrude", expected, got });
        }
    }
    match numbering {
        Numbering::ZFastest => kronecker_sum(a, t),
        Numbering::LayerMajor => kronecker_sum(t, a),
    }
}

/// `outer (x) I + I (x) inner`: row `o m + i`, where `inner` is `m` x `m`.
fn kronecker_sum<T: Scalar>(outer: &CsrMatrix<T>, inner: &CsrMatrix<T>) -> Result<CsrMatrix<T>> {
    let m = inner.rows();
    let n = outer.rows() * m; // both fit u32
    from_row_function(n, n, |row, emit| {
        let (o, i) = (row / m, row % m);
        let (Some((outer_columns, outer_values)), Some((inner_columns, inner_values))) = (outer.row(o), inner.row(i))
        else {
            return;
        };
        let before = outer_columns.partition_point(|&c| (c as usize) < o);
        let (mut after, mut centre) = (before, None);
        if outer_columns.get(before).is_some_and(|&c| c as usize == o) {
            (after, centre) = (before + 1, Some(outer_values[before]));
        }
        for (&column, &value) in outer_columns[..before].iter().zip(&outer_values[..before]) {
            emit(column as usize * m + i, value);
        }
        for (&column, &value) in inner_columns.iter().zip(inner_values) {
            // The outer diagonal entry belongs at column i: joined with the inner one, or put in where that is not stored.
            if column as usize > i {
                centre.take().into_iter().for_each(|centre| emit(row, centre));
            }
            let joined = if column as usize == i { centre.take() } else { None };
            emit(o * m + column as usize, joined.map_or(value, |centre| value + centre));
        }
        centre.into_iter().for_each(|centre| emit(row, centre));
        for (&column, &value) in outer_columns[after..].iter().zip(&outer_values[after..]) {
            emit(column as usize * m + i, value);
        }
    })
}
