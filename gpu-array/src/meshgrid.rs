//! Coordinates of a grid as expressions of its axes.

use ndarray::{Axis, Dim, Dimension, IntoDimension, Ix1, IxDyn, MeshIndex};

use crate::{
    ArrayError, Result,
    expression::{Expr, IntoExpr},
    layout::checked_len,
};

/// The coordinates along one axis at each place of a grid of N axes.
type Grid<'a, A, const N: usize> = Expr<'a, <A as IntoExpr<'a>>::Elem, Dim<[usize; N]>, <A as IntoExpr<'a>>::Backend>;

/// The coordinates of each place of a grid, from those along each of its axes: expressions of all arrays in the shape of the grid, as
/// `numpy.meshgrid` with `copy=False`. Nothing is copied.
///
/// # Shapes
/// Array i has its elements along axis i of the grid by [`MeshIndex::IJ`]; by [`MeshIndex::XY`], NumPy's default, the first two axes are exchanged:
/// arrays of n and m elements give expressions of shape (m, n).
///
/// # Errors
/// `TooLarge`; `NotAnArray` for an expression that is no array or view.
///
/// ```
/// use gpu_array::{expression::host, meshgrid};
/// use ndarray::{MeshIndex, array};
/// let (x, y) = (array![0, 1, 2], array![0, 1]);
/// let [columns, rows] = meshgrid([host(&x), host(&y)], MeshIndex::XY)?; // or `[&x, &y]` of a GpuArray
/// assert_eq!((rows * 10 + columns).eval()?, array![[0, 1, 2], [10, 11, 12]]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[doc(alias("mgrid", "ogrid"))]
pub fn meshgrid<'a, A: IntoExpr<'a, Dim = Ix1>, const N: usize>(
    arrays: [A; N],
    indexing: MeshIndex,
) -> Result<[Grid<'a, A, N>; N]>
where
    Dim<[usize; N]>: Dimension,
    [usize; N]: IntoDimension<Dim = Dim<[usize; N]>>,
{
    let columns = arrays.map(IntoExpr::into_expr);
    let place = |number: usize| if N > 1 && number < 2 && indexing == MeshIndex::XY { 1 - number } else { number };
    let mut shape = [0; N];
    for (number, column) in columns.iter().enumerate() {
        shape[place(number)] = column.value.as_array("meshgrid")?.shape[0];
    }
    checked_len(&shape)?;
    let grid = |(number, column): (usize, Expr<'a, A::Elem, Ix1, A::Backend>)| {
        let mut column: Expr<'a, A::Elem, IxDyn, A::Backend> = Expr::of(column.value);
        for axis in 1..N - place(number) {
            column = column.insert_axis(Axis(axis))?;
        }
        Ok(column.broadcast(shape))
    };
    let grids = columns.into_iter().enumerate().map(grid).collect::<Result<Vec<_>>>()?;
    grids.try_into().map_err(|grids: Vec<_>| ArrayError::Ndim { op: "meshgrid", expected: N, got: grids.len() })
}
