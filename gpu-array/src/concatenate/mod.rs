//! Arrays joined into one: `concatenate`, `stack` and their like.
//!
//! # From a call to its launch
//! 1. The functions of this file bring all arrays to one number of axes. `join` compares their shapes and allocates the result.
//! 2. `axes.rs` joins axes that are contiguous in the result and in each array; most joins have one axis or two then.
//! 3. `plan.rs` decides for each array whether it goes by packs of 16 bytes or by elements, counts blocks, and writes the kernel's one parameter:
//!    the axes, and a table of the arrays with their addresses and strides. The driver copies it, so a captured launch has a table of its own.
//! 4. `launch.rs` finds the kernel of `device/concatenate.cuh` for these sizes, or compiles it, and launches it after the home streams of all arrays.
//!
//! One launch takes as many arrays as `policy.rs` finds room for in the parameters; the arrays beyond get the next launch. Large arrays that lie along
//! another axis than the result (a transposed matrix) are copied by the loop of expressions that goes through shared memory, each for itself.

mod axes;
mod join;
mod launch;
mod params;
mod plan;
mod policy;

use gpu_driver::Stream;
use ndarray::{Axis, DimMax, Dimension, Ix1, Ix2};

use crate::{ArrayError, Element, GpuArray, GpuView, Result, shape::Strides};

pub(crate) use launch::with_samples;

/// An array that is copied to its place in the result.
#[derive(Clone, Debug)]
struct JoinPart<'s> {
    /// The address of its first element.
    from: u64,
    /// The address of the place of that element.
    to: u64,
    /// Length of the axis along which arrays are joined.
    length: usize,
    strides: Strides,
    home: &'s Stream,
}

/// The arrays one after the other along an axis that they have: `numpy.concatenate`.
///
/// Arrays are given as `[&x, &y]`, as views of any layout, or by any other iterator of them.
///
/// # Shapes
/// All lengths but that of `axis` are the same; the lengths of `axis` add up. The result has the first array's stream for home. It is in C order, or
/// in Fortran order where all arrays are.
///
/// # Determinism
/// Elements are moved as they are: the bits are those of the arrays. A `bool` whose byte a kernel set to another value than 0 and 1 may become 1.
///
/// # Cost
/// Each element is read once and written once, in accesses of 16 bytes where both sides allow it. One launch for about 100 contiguous arrays, 80
/// with gaps between rows, or 40 with more axes; one more for each further number of that. A large array that is transposed takes a launch of its own.
/// Does not wait.
///
/// # Errors
/// `NoArrays` for none; `Axis` where there is no such axis; `Join` for shapes that do not fit; `Devices` for arrays of several devices; `TooLarge`; the
/// error that an operator such as `+=` on an array could not return; `OutOfMemory`, `DeviceLost`; `NoNvrtc` where the kernel cannot be
/// compiled.
///
/// ```no_run
/// # let device = gpu_driver::Device::first()?;
/// use gpu_array::{GpuArray, concatenate};
/// use ndarray::{Axis, array};
/// let x = GpuArray::from_ndarray(&device, &array![[1, 2], [3, 4]])?;
/// let y = GpuArray::from_ndarray(&device, &array![[5, 6]])?;
/// assert_eq!(concatenate(Axis(0), [&x, &y])?.to_ndarray()?, array![[1, 2], [3, 4], [5, 6]]);
/// assert_eq!(concatenate(Axis(1), [x.view(), y.t()])?.to_ndarray()?, array![[1, 2, 5], [3, 4, 6]]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[doc(alias("append", "concat", "cat", "r_", "c_"))]
#[track_caller]
pub fn concatenate<'a, T: Element, D: Dimension, A: Into<GpuView<'a, T, D>>>(
    axis: Axis,
    arrays: impl IntoIterator<Item = A>,
) -> Result<GpuArray<T, D>> {
    let views: Vec<GpuView<'a, T, D>> = arrays.into_iter().map(Into::into).collect();
    join::join("concatenate", axis, &views)
}

/// The arrays one after the other along a new axis: `numpy.stack`.
///
/// # Shapes
/// All arrays have one shape. The result has one axis more, which becomes number `axis`, and as many indices of it as there are arrays.
/// Stream, order and cost are those of [`concatenate`].
///
/// # Errors
/// Those of [`concatenate`]; `Axis` beyond the number of axes.
///
/// ```no_run
/// # let device = gpu_driver::Device::first()?;
/// use gpu_array::{GpuArray, stack};
/// use ndarray::{Axis, array};
/// let (x, y) = (GpuArray::arange(&device, 0, 3, 1)?, GpuArray::arange(&device, 3, 6, 1)?);
/// assert_eq!(stack(Axis(0), [&x, &y])?.to_ndarray()?, array![[0, 1, 2], [3, 4, 5]]);
/// assert_eq!(stack(Axis(1), [&x, &y])?.to_ndarray()?, array![[0, 3], [1, 4], [2, 5]]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[track_caller]
pub fn stack<'a, T: Element, D: Dimension, A: Into<GpuView<'a, T, D>>>(
    axis: Axis,
    arrays: impl IntoIterator<Item = A>,
) -> Result<GpuArray<T, D::Larger>> {
    let widened = |view: GpuView<'a, T, D>| {
        let ndim = view.ndim() + 1;
        let missing = |_| ArrayError::Axis { op: "stack", axis: axis.0, ndim };
        view.insert_axis(axis).map_err(missing)
    };
    let views = arrays.into_iter().map(|array| widened(array.into())).collect::<Result<Vec<_>>>()?;
    join::join("stack", axis, &views)
}

/// The arrays side by side: `numpy.hstack`. [`concatenate`] along axis 1, or along axis 0 for arrays with one axis; single values count as arrays with one.
///
/// # Errors
/// Those of [`concatenate`].
///
/// ```no_run
/// # let device = gpu_driver::Device::first()?;
/// use gpu_array::{GpuArray, hstack};
/// let (x, y) = (GpuArray::arange(&device, 0, 3, 1)?, GpuArray::arange(&device, 3, 5, 1)?);
/// assert_eq!(hstack([&x, &y])?.to_ndarray()?.to_vec(), [0, 1, 2, 3, 4]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[track_caller]
pub fn hstack<'a, T: Element, D: DimMax<Ix1> + Dimension, A: Into<GpuView<'a, T, D>>>(
    arrays: impl IntoIterator<Item = A>,
) -> Result<GpuArray<T, <D as DimMax<Ix1>>::Output>> {
    let views = at_least(1, arrays)?;
    let axis = views.first().map_or(0, |first: &GpuView<'_, T, _>| first.ndim().min(2) - 1);
    join::join("hstack", Axis(axis), &views)
}

/// The arrays on top of each other: `numpy.vstack`. [`concatenate`] along axis 0, for which an array with one axis is a row.
///
/// # Errors
/// Those of [`concatenate`].
///
/// ```no_run
/// # let device = gpu_driver::Device::first()?;
/// use gpu_array::{GpuArray, vstack};
/// let (x, y) = (GpuArray::arange(&device, 0, 3, 1)?, GpuArray::arange(&device, 3, 6, 1)?);
/// assert_eq!(vstack([&x, &y])?.to_ndarray()?, ndarray::array![[0, 1, 2], [3, 4, 5]]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[doc(alias = "row_stack")]
#[track_caller]
pub fn vstack<'a, T: Element, D: DimMax<Ix2> + Dimension, A: Into<GpuView<'a, T, D>>>(
    arrays: impl IntoIterator<Item = A>,
) -> Result<GpuArray<T, <D as DimMax<Ix2>>::Output>> {
    join::join("vstack", Axis(0), &at_least(2, arrays)?)
}

/// Views of the arrays with new axes in front, so that each has that many at least.
fn at_least<'a, T: Element, D: Dimension, E: Dimension, A: Into<GpuView<'a, T, D>>>(
    ndim: usize,
    arrays: impl IntoIterator<Item = A>,
) -> Result<Vec<GpuView<'a, T, E>>> {
    let widened = |array: A| {
        let mut view = array.into().into_dyn();
        while view.ndim() < ndim {
            view = view.insert_axis(Axis(0))?;
        }
        view.into_dimensionality()
    };
    arrays.into_iter().map(widened).collect()
}
