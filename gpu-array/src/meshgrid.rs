//! Coordinates of a grid as views of its axes.

use ndarray::{Axis, Dim, Dimension, IntoDimension, Ix1, MeshIndex};

use crate::{ArrayError, Element, GpuView, Result};

/// The coordinates of each place of a grid, from those along each of its axes: views of all arrays in the shape of the grid, as
/// `numpy.meshgrid` with `copy=False`. Nothing is copied.
///
/// # Shapes
/// Array i has its elements along axis i of the grid by [`MeshIndex::IJ`]; by [`MeshIndex::XY`], NumPy's default, the first two axes are exchanged:
/// arrays of n and m elements give views of shape (m, n).
///
/// # Errors
/// `TooLarge`.
///
/// ```no_run
/// # let device = gpu_driver::Device::first()?;
/// use gpu_array::{GpuArray, meshgrid};
/// use ndarray::{MeshIndex, array};
/// let (x, y) = (GpuArray::arange(&device, 0, 3, 1)?, GpuArray::arange(&device, 0, 2, 1)?);
/// let [columns, rows] = meshgrid([&x, &y], MeshIndex::XY)?;
/// assert_eq!((rows * 10 + columns).eval()?.to_ndarray()?, array![[0, 1, 2], [10, 11, 12]]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[doc(alias("mgrid", "ogrid"))]
pub fn meshgrid<'a, T: Element, A: Into<GpuView<'a, T, Ix1>>, const N: usize>(
    arrays: [A; N],
    indexing: MeshIndex,
) -> Result<[GpuView<'a, T, Dim<[usize; N]>>; N]>
where
    Dim<[usize; N]>: Dimension,
    [usize; N]: IntoDimension<Dim = Dim<[usize; N]>>,
{
    let views: [GpuView<'a, T, Ix1>; N] = arrays.map(Into::into);
    let place = |number: usize| if N > 1 && number < 2 && indexing == MeshIndex::XY { 1 - number } else { number };
    let mut shape = [0; N];
    for (number, view) in views.iter().enumerate() {
        shape[place(number)] = view.len();
    }
    let grid = |(number, view): (usize, GpuView<'a, T, Ix1>)| {
        let mut column = view.into_dyn();
        for _ in place(number) + 1..N {
            column = column.insert_axis(Axis(column.ndim()))?;
        }
        column.broadcast(shape)
    };
    let grids: Vec<_> = views.into_iter().enumerate().map(grid).collect::<Result<_>>()?;
    grids.try_into().map_err(|grids: Vec<_>| ArrayError::Ndim { op: "meshgrid", expected: N, got: grids.len() })
}
