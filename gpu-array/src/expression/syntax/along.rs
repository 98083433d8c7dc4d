//! Elements of arrays at computed places of one axis.

use ndarray::{Axis, Dimension, Ix1};
use smallvec::SmallVec;

use super::{
    expr::{Expr, IntoExpr},
    make::{Outside, as_i64, gathered},
};
use crate::{
    ArrayError, DType, Element, Integer, Result,
    expression::graph::{Leaf, NodeKind, Value},
};

/// The parts of an array at computed places of an axis: NumPy's `take(x, i, axis)`, and `x[i, :]` for axis 0. Indices are of any integer type.
///
/// The result has the shape of the array, with the number of indices in place of the axis. With [`Outside::Wrap`] an index of -1 is the last place. The
/// device cannot report an index that is outside, so `outside` gives its meaning beforehand; [`GpuArray::put`](crate::GpuArray::put), which writes,
/// reports it.
///
/// # Cost
/// One kernel, or no one of its own within an expression. Each element and each index is read once.
///
/// # Errors
/// `eval` reports `NotAnArray` when `array` or `indices` is not an array or a view, `Axis` where there is no such axis.
///
/// ```
/// use gpu_array::expression::{Outside, host, take_axis};
/// use ndarray::{Axis, array};
/// let (x, i) = (array![[1, 2, 3], [4, 5, 6]], array![-1i32, 0, 0]);
/// let rows = take_axis(host(&x), host(&i), Axis(0), Outside::Wrap).eval()?;
/// assert_eq!(rows, array![[4, 5, 6], [1, 2, 3], [1, 2, 3]]);
/// assert_eq!(take_axis(host(&x), host(&i), Axis(1), Outside::Wrap).eval()?, array![[3, 1, 1], [6, 4, 4]]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[doc(alias("take", "x[i, :]", "fancy"))]
pub fn take_axis<'a, A, I>(
    array: A,
    indices: I,
    axis: Axis,
    outside: Outside<A::Elem>,
) -> Expr<'a, A::Elem, A::Dim, A::Backend>
where
    A: IntoExpr<'a>,
    I: IntoExpr<'a, Elem: Integer, Dim = Ix1, Backend = A::Backend>,
{
    let (array, indices) = (array.into_expr().value, indices.into_expr().value);
    let build = || {
        let op = "take_axis";
        let leaf = array.as_array(op)?;
        let behind = check_axis(op, leaf, axis)?;
        // Indices along that axis, the same along those behind it.
        let mut along = indices.as_array(op)?.clone();
        let mut shape = leaf.shape.clone();
        shape[axis.0] = along.shape.first().copied().unwrap_or(1);
        along.shape.extend(std::iter::repeat_n(1, behind));
        along.strides.extend(std::iter::repeat_n(0, behind));
        let mut places = own_places(leaf.shape.len());
        places[axis.0] = (as_i64(&Value::leaf(along), I::Elem::DTYPE), true);
        Ok(gathered(&array, &places, outside)?.broadcast(&shape))
    };
    failed_or(build(), A::Elem::DTYPE)
}

/// The elements of an array at computed places of an axis, with places of their own for each line: NumPy's `take_along_axis`.
///
/// `indices` has the rank of the array, and the result has its shape: element `(i, j)` along axis 1 is `array[i, indices[i, j]]`. Lengths of the
/// other axes are those of the array. Otherwise as [`take_axis`].
///
/// # Errors
/// `eval` reports `NotAnArray` when one of both is not an array or a view, `Axis` where there is no such axis, `Ndim` for indices of another rank,
/// `Shape` for other lengths of the other axes.
///
/// ```
/// use gpu_array::expression::{Outside, host, take_along_axis};
/// use ndarray::{Axis, array};
/// let (x, order) = (array![[30, 10, 20], [4, 6, 5]], array![[1, 2, 0], [0, 2, -2]]);
/// let sorted = take_along_axis(host(&x), host(&order), Axis(1), Outside::Wrap).eval()?;
/// assert_eq!(sorted, array![[10, 20, 30], [4, 5, 6]]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub fn take_along_axis<'a, A, I>(
    array: A,
    indices: I,
    axis: Axis,
    outside: Outside<A::Elem>,
) -> Expr<'a, A::Elem, A::Dim, A::Backend>
where
    A: IntoExpr<'a>,
    I: IntoExpr<'a, Elem: Integer, Dim = A::Dim, Backend = A::Backend>,
{
    let (array, indices) = (array.into_expr().value, indices.into_expr().value);
    let build = || {
        let op = "take_along_axis";
        let (leaf, along) = (array.as_array(op)?, indices.as_array(op)?);
        check_axis(op, leaf, axis)?;
        let (expected, got) = (leaf.shape.len(), along.shape.len());
        if expected != got {
            return Err(ArrayError::Ndim { op, expected, got });
        }
        let mut shape = leaf.shape.clone();
        shape[axis.0] = along.shape[axis.0];
        if shape != along.shape {
            return Err(ArrayError::Shape { op, expected: shape.to_vec(), got: along.shape.to_vec() });
        }
        let mut places = own_places(shape.len());
        places[axis.0] = (as_i64(&indices, I::Elem::DTYPE), true);
        Ok(gathered(&array, &places, outside)?.broadcast(&shape))
    };
    failed_or(build(), A::Elem::DTYPE)
}

/// The number of axes behind one.
fn check_axis(op: &'static str, leaf: &Leaf<'_>, axis: Axis) -> Result<usize> {
    let ndim = leaf.shape.len();
    // An axis may be any number, `-1 as usize` too.
    if axis.0 < ndim { Ok(ndim - 1 - axis.0) } else { Err(ArrayError::Axis { op, axis: axis.0, ndim }) }
}

/// Places that read an array of so many axes where the result is.
fn own_places<'a>(ndim: usize) -> SmallVec<[(Value<'a>, bool); 4]> {
    (0..ndim).map(|axis| (Value::new(NodeKind::FromLast(ndim - 1 - axis), DType::I64), false)).collect()
}

fn failed_or<'a, T: Element, D: Dimension, P: super::expr::Backend>(
    value: Result<Value<'a>>,
    dtype: DType,
) -> Expr<'a, T, D, P> {
    Expr::of(value.unwrap_or_else(|error| Value::failed(error, dtype)))
}
