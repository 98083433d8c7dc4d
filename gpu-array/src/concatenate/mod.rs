//! Arrays joined into one: `concatenate`, `stack` and their like.
//!
//! # From a call to its launch
//! 1. The functions of this file bring all arrays to one number of axes. `join.rs` compares their shapes and allocates the result; on the host it copies
//!    them, and that is all.
//! 2. `axes.rs` joins axes that are contiguous in the result and in each array; most joins have one axis or two then.
//! 3. `plan.rs` decides for each array whether it goes by packs of 16 bytes or by elements, counts blocks, and writes the kernel's one parameter:
//!    the axes, and a table of the arrays with their addresses and strides. The driver copies it, so a captured launch has a table of its own.
//! 4. `launch.rs` finds the kernel of `device/concatenate.cuh` for these sizes, or compiles it, and launches it after the home streams of all arrays.
//!
//! One launch takes all arrays: where the parameters have no room for the table (about a hundred flat arrays), it is copied to the device before; a
//! graph, which holds no such copy, has several launches. Large arrays that lie along another axis than the result (a transposed matrix) are copied by the
//! loop of expressions that goes through shared memory, each for itself.
//!
//! Tests: `tests/gpu/joining.rs` (ndarray's joins), `apart.rs` (arrays taken apart), `either_place.rs` (the same on the host).

mod axes;
mod join;
mod launch;
mod params;
mod plan;
mod policy;

use gpu_driver::Stream;
use ndarray::{Axis, DimMax, Dimension, Ix1, Ix2, IxDyn};

use crate::{
    ArrayError, Result,
    expression::{Backend, Expr, INTERNAL, IntoExpr},
    shape::Strides,
};

pub(crate) use join::{join, join_on_host};
pub(crate) use launch::with_samples;

/// The array at the place of `A` that joining several of them gives.
type Joined<'a, A, D> = <<A as IntoExpr<'a>>::Backend as Backend>::Owned<<A as IntoExpr<'a>>::Elem, D>;

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
/// Arrays are given as `[&x, &y]`, as views of any layout, or by any other iterator of them; those of the host as `[host(&x), host(&y)]`. An expression
/// that is no array is evaluated first.
///
/// # Shapes
/// All lengths but that of `axis` are the same; the lengths of `axis` add up. On a GPU the result has the first array's stream for home. It is in C
/// order, or on a GPU in Fortran order where all arrays are.
///
/// # Determinism
/// Elements are moved as they are: the bits are those of the arrays. A `bool` whose byte a kernel set to another value than 0 and 1 may become 1.
///
/// # Cost
/// Each element is read once and written once, on a GPU in accesses of 16 bytes where both sides allow it. One launch for all
/// of them. Beyond about 100 contiguous arrays, 80 with gaps between rows, or 40 with more axes, their addresses are copied to the device before it; in a
/// capture so many arrays have a launch each. A large array that is transposed takes a launch of its own. Does not wait. On the host one thread copies.
///
/// # Errors
/// `NoArrays` for none; `Axis` where there is no such axis; `Join` for shapes that do not fit; `Devices` for arrays of several devices; `TooLarge`; the
/// error that an operator such as `+=` on an array could not return; `OutOfMemory`, `DeviceLost`; `NoNvrtc` where the kernel cannot be
/// compiled; the errors of [`Expr::eval`] for an expression.
///
/// ```
/// use gpu_array::{concatenate, expression::host};
/// use ndarray::{Axis, array};
/// let (x, y) = (array![[1, 2], [3, 4]], array![[5, 6]]);
/// let (x, y) = (host(&x), host(&y)); // or `(&x, &y)` of a GpuArray
/// assert_eq!(concatenate(Axis(0), [&x, &y])?, array![[1, 2], [3, 4], [5, 6]]);
/// assert_eq!(concatenate(Axis(1), [&x, &y.t()])?, array![[1, 2, 5], [3, 4, 6]]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[doc(alias("append", "concat", "cat", "r_", "c_"))]
#[track_caller]
pub fn concatenate<'a, A: IntoExpr<'a>>(
    axis: Axis,
    arrays: impl IntoIterator<Item = A>,
) -> Result<Joined<'a, A, A::Dim>> {
    let arrays = arrays.into_iter().map(as_array).collect::<Result<Vec<_>>>()?;
    A::Backend::join("concatenate", axis, &arrays, INTERNAL)
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
/// ```
/// use gpu_array::{expression::host, stack};
/// use ndarray::{Axis, array};
/// let (x, y) = (array![0, 1, 2], array![3, 4, 5]);
/// let (x, y) = (host(&x), host(&y)); // or `(&x, &y)` of a GpuArray
/// assert_eq!(stack(Axis(0), [&x, &y])?, array![[0, 1, 2], [3, 4, 5]]);
/// assert_eq!(stack(Axis(1), [&x, &y])?, array![[0, 3], [1, 4], [2, 5]]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[track_caller]
pub fn stack<'a, A: IntoExpr<'a>>(
    axis: Axis,
    arrays: impl IntoIterator<Item = A>,
) -> Result<Joined<'a, A, <A::Dim as Dimension>::Larger>> {
    let widened = |array| as_array(array)?.insert_axis(axis).map_err(|error| named("stack", error));
    let arrays = arrays.into_iter().map(widened).collect::<Result<Vec<_>>>()?;
    A::Backend::join("stack", axis, &arrays, INTERNAL)
}

/// The arrays side by side: `numpy.hstack`. [`concatenate`] along axis 1, or along axis 0 for arrays with one axis; single values count as arrays with one.
///
/// # Errors
/// Those of [`concatenate`].
///
/// ```
/// use gpu_array::{expression::host, hstack};
/// let (x, y) = (ndarray::array![0, 1, 2], ndarray::array![3, 4]);
/// assert_eq!(hstack([host(&x), host(&y)])?.to_vec(), [0, 1, 2, 3, 4]); // or `[&x, &y]` of a GpuArray
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[track_caller]
pub fn hstack<'a, A: IntoExpr<'a, Dim: DimMax<Ix1>>>(
    arrays: impl IntoIterator<Item = A>,
) -> Result<Joined<'a, A, <A::Dim as DimMax<Ix1>>::Output>> {
    let (arrays, ndim) = at_least("hstack", 1, arrays)?;
    A::Backend::join("hstack", Axis(ndim.min(2).saturating_sub(1)), &arrays, INTERNAL)
}

/// The arrays on top of each other: `numpy.vstack`. [`concatenate`] along axis 0, for which an array with one axis is a row.
///
/// # Errors
/// Those of [`concatenate`].
///
/// ```
/// use gpu_array::{expression::host, vstack};
/// let (x, y) = (ndarray::array![0, 1, 2], ndarray::array![3, 4, 5]);
/// assert_eq!(vstack([host(&x), host(&y)])?, ndarray::array![[0, 1, 2], [3, 4, 5]]); // or `[&x, &y]` of a GpuArray
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[doc(alias = "row_stack")]
#[track_caller]
pub fn vstack<'a, A: IntoExpr<'a, Dim: DimMax<Ix2>>>(
    arrays: impl IntoIterator<Item = A>,
) -> Result<Joined<'a, A, <A::Dim as DimMax<Ix2>>::Output>> {
    A::Backend::join("vstack", Axis(0), &at_least("vstack", 2, arrays)?.0, INTERNAL)
}

/// The expression as one of an array: itself if it is that, else of the array that its evaluation gives.
fn as_array<'a, A: IntoExpr<'a>>(array: A) -> Result<Expr<'a, A::Elem, A::Dim, A::Backend>> {
    let expr = array.into_expr();
    if expr.value.is_array() { Ok(expr) } else { Ok(A::Backend::owned_expr(expr.eval()?)) }
}

/// Expressions of arrays of one place, type and rank.
type Exprs<'a, A, E> = Vec<Expr<'a, <A as IntoExpr<'a>>::Elem, E, <A as IntoExpr<'a>>::Backend>>;

/// The arrays with new axes in front, so that each has that many at least, and the number of axes of the first.
fn at_least<'a, E: Dimension, A: IntoExpr<'a>>(
    op: &'static str,
    ndim: usize,
    arrays: impl IntoIterator<Item = A>,
) -> Result<(Exprs<'a, A, E>, usize)> {
    let mut first = None;
    let mut widened = |array: A| {
        let mut expr: Expr<'a, A::Elem, IxDyn, A::Backend> = Expr::of(as_array(array)?.value);
        let own = expr.value.as_array(op)?.shape.len();
        for _ in own..ndim {
            expr = expr.insert_axis(Axis(0))?;
        }
        first.get_or_insert(own.max(ndim));
        Ok(Expr::of(expr.value))
    };
    let arrays = arrays.into_iter().map(&mut widened).collect::<Result<_>>()?;
    Ok((arrays, first.unwrap_or(ndim)))
}

/// The error of a missing axis under the name of the operation.
fn named(op: &'static str, error: ArrayError) -> ArrayError {
    match error {
        ArrayError::Axis { axis, ndim, .. } => ArrayError::Axis { op, axis, ndim },
        other => other,
    }
}
