//! Matrix products on all threads.

use ndarray::{Array, ArrayView, ArrayViewMut2, Dimension, IxDyn, indices, s};
use rayon::prelude::*;

use crate::{
    Result,
    matmul::{MatmulDim, MatmulElement, MatmulShape},
    reference::matmul::{in_shape, matrix_at},
};

/// Rows of a result that a thread computes at once, whatever the number of threads.
const ROWS: usize = 64;

/// NumPy's `a @ b` for vectors, matrices and stacks of matrices of any layout.
///
/// Floats are multiplied by ndarray's matrix product and added in their own type; integers wrap.
///
/// # Determinism
/// Bitwise the same for any number of threads.
///
/// # Cost
/// 2 m n k operations for each matrix. Blocks of 64 rows of all results are computed by all threads.
///
/// # Errors
/// `NoAxes`, `InnerLength`, `Stacks`, as [`Matmul::matmul`](crate::Matmul::matmul).
///
/// ```
/// use gpu_algos::host;
/// use ndarray::array;
/// let a = array![[1.0, 2.0], [3.0, 4.0]];
/// assert_eq!(host::matmul(&a, a.t())?, array![[5.0, 11.0], [11.0, 25.0]]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn matmul<'a, 'b, T, D, E>(
    a: impl Into<ArrayView<'a, T, D>>,
    b: impl Into<ArrayView<'b, T, E>>,
) -> Result<Array<T, D::Product>>
where
    T: MatmulElement,
    D: MatmulDim<E>,
    E: Dimension,
{
    let (a, b) = (a.into().into_dyn(), b.into().into_dyn());
    let shape = MatmulShape::of("matmul", a.shape(), b.shape())?;
    let (a, b) = (shape.left_on_host(a), shape.right_on_host(b));
    let MatmulShape { m, n, .. } = shape;
    let mut c = vec![T::ZERO; shape.batch.iter().product::<usize>() * m * n];
    if c.is_empty() {
        return in_shape(&shape, c);
    }
    let places: Vec<IxDyn> = indices(IxDyn(&shape.batch)).into_iter().collect();
    let matrices = places.par_iter().zip(c.par_chunks_mut(m * n));
    let blocks = matrices.flat_map(|(at, c)| {
        let (a, b) = (matrix_at(&a, at.slice()), matrix_at(&b, at.slice()));
        c.par_chunks_mut(ROWS * n).enumerate().map(move |(block, c)| (a.clone(), b.clone(), block * ROWS, c))
    });
    blocks.for_each(|(a, b, first, c)| {
        let rows = c.len() / n;
        if let Ok(c) = ArrayViewMut2::from_shape((rows, n), c) {
            T::multiply(a.slice(s![first..first + rows, ..]), b, c);
        }
    });
    in_shape(&shape, c)
}
