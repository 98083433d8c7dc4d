//! Expressions of matrices: the identity, diagonals, triangles, outer products.

use ndarray::{Axis, Dimension, Ix1, Ix2};
use smallvec::smallvec;

use super::{
    expr::{Backend, Expr, IntoExpr},
    make::{Outside, gathered, index},
};
use crate::{
    ArrayError, DType, Element, Numeric, Promote, Result,
    expression::graph::{NodeKind, Op, Value},
};

/// The identity matrix of n rows.
///
/// ```no_run
/// # let device = gpu_array::gpu_driver::Device::first()?;
/// use gpu_array::{GpuArray, expression::eye};
/// let unit: GpuArray<f32, _> = eye(3).eval_on(&device)?;
/// assert_eq!(unit.to_ndarray()?, ndarray::Array2::eye(3));
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[doc(alias = "identity")]
pub fn eye<T: Numeric, P: Backend>(n: usize) -> Expr<'static, T, Ix2, P> {
    let diagonal = index::<Ix2, P>(Axis(0)).eq(index::<Ix2, P>(Axis(1)));
    Expr::<T, Ix2, P>::of(diagonal.value.cast(T::DTYPE)).broadcast((n, n))
}

/// A matrix with ones on its k-th diagonal (0 is the main one, 1 the one above it) and zeros elsewhere: NumPy's `eye(rows, columns, k)`.
///
/// ```
/// use gpu_array::expression::{Host, eye_of};
/// let above = eye_of::<i32, Host>(2, 3, 1).eval()?;
/// assert_eq!(above, ndarray::array![[0, 1, 0], [0, 0, 1]]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub fn eye_of<T: Numeric, P: Backend>(rows: usize, columns: usize, k: i64) -> Expr<'static, T, Ix2, P> {
    let diagonal = on_diagonals(Op::Equal, k);
    Expr::<T, Ix2, P>::of(diagonal.cast(T::DTYPE)).broadcast((rows, columns))
}

/// A matrix with a vector on its k-th diagonal and zeros elsewhere, of n + |k| rows and columns: NumPy's `diag(v, k)`.
///
/// The diagonal of a matrix, the other meaning of NumPy's function, is the view `x.diagonal_of(k, Axis(0), Axis(1))?`.
///
/// # Errors
/// `eval` reports `NotAnArray` when `vector` is not an array or a view; `TooLarge`.
///
/// ```
/// use gpu_array::expression::{diag, host};
/// let v = ndarray::array![1, 2];
/// assert_eq!(diag(host(&v), -1).eval()?, ndarray::array![[0, 0, 0], [1, 0, 0], [0, 2, 0]]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[doc(alias("diagflat", "diagonal"))]
pub fn diag<'a, A>(vector: A, k: i64) -> Expr<'a, A::Elem, Ix2, A::Backend>
where
    A: IntoExpr<'a, Dim = Ix1>,
{
    let vector = vector.into_expr().value;
    let build = || {
        let shape = &vector.as_array("diag")?.shape;
        let n = shape.iter().product::<usize>();
        let too_large = || ArrayError::TooLarge { shape: shape.to_vec() };
        let n = usize::try_from(k.unsigned_abs()).ok().and_then(|k| n.checked_add(k)).ok_or_else(too_large)?;
        // The row or the column, whichever begins with the vector.
        let place = Value::new(NodeKind::FromLast(if k < 0 { 0 } else { 1 }), DType::I64);
        let elements = gathered(&vector, &[(place, true)], Outside::<A::Elem>::Clip)?;
        let zero = Value::scalar(A::Elem::ZERO);
        Ok(Value::ternary(Op::Select, A::Elem::DTYPE, [on_diagonals(Op::Equal, k), elements, zero]).broadcast(&[n, n]))
    };
    Expr::of(build().unwrap_or_else(|error| Value::failed(error, A::Elem::DTYPE)))
}

/// A matrix, or each of a stack, with zeros above its k-th diagonal (0 is the main one, 1 the one above it): NumPy's `tril`.
///
/// Rows and columns are the last two axes. Elements above are not multiplied by 0: NaN there gives 0.
///
/// # Errors
/// `eval` reports `Ndim` for fewer than two axes.
///
/// ```
/// use gpu_array::expression::{host, tril};
/// let x = ndarray::array![[1, 2, 3], [4, 5, 6]];
/// assert_eq!(tril(host(&x), 0).eval()?, ndarray::array![[1, 0, 0], [4, 5, 0]]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub fn tril<'a, A>(matrix: A, k: i64) -> Expr<'a, A::Elem, A::Dim, A::Backend>
where
    A: IntoExpr<'a>,
{
    triangle(matrix.into_expr(), Op::LessEqual, k)
}

/// A matrix, or each of a stack, with zeros below its k-th diagonal, as [`tril`]: NumPy's `triu`.
///
/// # Errors
/// `eval` reports `Ndim` for fewer than two axes.
pub fn triu<'a, A>(matrix: A, k: i64) -> Expr<'a, A::Elem, A::Dim, A::Backend>
where
    A: IntoExpr<'a>,
{
    triangle(matrix.into_expr(), Op::GreaterEqual, k)
}

/// The elements where `column - row`, along the last two axes, compares with k; 0 elsewhere.
fn triangle<'a, T: Element, D: Dimension, P: Backend>(
    matrix: Expr<'a, T, D, P>,
    compare: Op,
    k: i64,
) -> Expr<'a, T, D, P> {
    if let Some(ndim @ 0..2) = D::NDIM {
        return Expr::of(Value::failed(ArrayError::Ndim { op: "tril, triu", expected: 2, got: ndim }, T::DTYPE));
    }
    let zero = Value::scalar(T::ZERO);
    Expr::of(Value::ternary(Op::Select, T::DTYPE, [on_diagonals(compare, k), matrix.value, zero]))
}

/// Whether `column - row`, along the last two axes, compares with k.
fn on_diagonals<'a>(compare: Op, k: i64) -> Value<'a> {
    let place = |axis| Value::new(NodeKind::FromLast(axis), DType::I64);
    let distance = Value::binary(Op::Subtract, DType::I64, DType::I64, place(0), place(1));
    Value::binary(compare, DType::Bool, DType::I64, distance, Value::scalar(k))
}

/// The products of all pairs of elements of two vectors, `x[i] * y[j]`: NumPy's `outer`, in their common type.
///
/// It is an expression like any other: `a += 2.0 * outer(&x, &y)` is BLAS's ger, in one kernel that reads and writes a once.
///
/// # Errors
/// `eval` reports `NotAnArray` when `x` is not an array or a view; y may be any expression.
///
/// ```
/// use gpu_array::expression::{host, outer};
/// let (x, y) = (ndarray::array![1, 2], ndarray::array![3, 4, 5]);
/// assert_eq!(outer(host(&x), host(&y)).eval()?, ndarray::array![[3, 4, 5], [6, 8, 10]]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[doc(alias("ger", "geru", "multiply.outer"))]
pub fn outer<'a, A, B>(x: A, y: B) -> Expr<'a, <A::Elem as Promote<B::Elem>>::Output, Ix2, A::Backend>
where
    A: IntoExpr<'a, Dim = Ix1, Elem: Promote<B::Elem, Output: Numeric>>,
    B: IntoExpr<'a, Dim = Ix1, Backend = A::Backend>,
{
    let (x, y) = (x.into_expr().value, y.into_expr().value);
    let column = || -> Result<Value<'a>> {
        let mut column = x.as_array("outer")?.clone();
        column.shape = smallvec![column.shape.iter().product(), 1];
        column.strides.push(0);
        Ok(Value::leaf(column))
    };
    let column = column().unwrap_or_else(|error| Value::failed(error, A::Elem::DTYPE));
    let common = <A::Elem as Promote<B::Elem>>::Output::DTYPE;
    Expr::of(Value::binary(Op::Multiply, common, common, column, y))
}
