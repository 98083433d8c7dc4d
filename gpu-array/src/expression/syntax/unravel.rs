//! Places counted along all axes of a shape, and their coordinates.

use ndarray::{Dimension, IntoDimension};

use super::{
    expr::{Expr, IntoExpr},
    make::{as_i64, integers},
};
use crate::{
    ArrayError, DType, Element,
    element::Integer,
    expression::graph::{Op, Value},
    layout::dense_strides,
};

/// The coordinates of places that are counted in C order through `shape`, an expression for each axis: NumPy's `unravel_index`.
///
/// Coordinate d of place p is `floor(p / stride[d]) mod shape[d]`, but for the first one, which is not reduced: it lies outside of its axis where p lies
/// outside of the shape, so [`gather`](super::gather) and others find it there. NumPy has an error for such a place. A shape without axes has no coordinates.
///
/// ```
/// use gpu_array::expression::{host, unravel_index};
/// use ndarray::array;
///
/// let places = array![0, 5, 11];
/// let [row, column] = &unravel_index(host(&places), (3, 4))[..] else { unreachable!("two axes") };
/// assert_eq!((row.eval()?, column.eval()?), (array![0, 1, 2], array![0, 1, 3]));
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub fn unravel_index<'a, A>(places: A, shape: impl IntoDimension) -> Vec<Expr<'a, i64, A::Dim, A::Backend>>
where
    A: IntoExpr<'a, Elem: Integer>,
{
    let (places, dim) = (as_i64(&places.into_expr().value, A::Elem::DTYPE), shape.into_dimension());
    let along = |(axis, (&length, stride)): (usize, (&usize, isize))| {
        let whole = integers(Op::FloorDivide, places.clone(), stride as i64);
        Expr::of(if axis == 0 { whole } else { integers(Op::Wrap, whole, length as i64) })
    };
    dim.slice().iter().zip(dense_strides(dim.slice(), false)).enumerate().map(along).collect()
}

/// The places of coordinates, counted in C order through `shape`: NumPy's `ravel_multi_index`, the inverse of [`unravel_index`].
///
/// The coordinates are of any integer type, one for all axes, and are broadcast. They are not compared with the lengths of the axes.
///
/// # Errors
/// `eval` reports `Ndim` unless there is a coordinate for each axis, and at least one.
///
/// ```
/// use gpu_array::expression::{host, ravel_multi_index};
/// use ndarray::array;
///
/// let (row, column) = (array![0, 1, 2], array![0, 1, 3]);
/// let places = ravel_multi_index(&[host(&row), host(&column)], (3, 4));
/// assert_eq!(places.eval()?, array![0, 5, 11]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[doc(alias = "ravel_index")]
pub fn ravel_multi_index<'a, I: Integer, D: Dimension, P: super::Backend>(
    coordinates: &[Expr<'a, I, D, P>],
    shape: impl IntoDimension,
) -> Expr<'a, i64, D, P> {
    let dim = shape.into_dimension();
    let steps = coordinates.iter().zip(dense_strides(dim.slice(), false));
    let steps =
        steps.map(|(coordinate, stride)| integers(Op::Multiply, as_i64(&coordinate.value, I::DTYPE), stride as i64));
    let sum = steps.reduce(|sum, step| Value::binary(Op::Add, DType::I64, DType::I64, sum, step));
    let (expected, got) = (dim.ndim(), coordinates.len());
    let wrong = || Value::failed(ArrayError::Ndim { op: "ravel_multi_index", expected, got }, DType::I64);
    Expr::of(sum.filter(|_| expected == got).unwrap_or_else(wrong))
}
