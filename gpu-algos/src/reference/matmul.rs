//! The definition of matrix products and of sums of products over pairs of axes.

use ndarray::{Array, ArrayD, ArrayView, ArrayView2, ArrayViewD, ArrayViewMut, Axis, Dimension, Ix2, IxDyn, indices};

use crate::{
    AlgoError, Result,
    common::shape::dim_of,
    matmul::{ByteElement, Contraction, MatmulDim, MatmulElement, MatmulShape, SummedAxes},
};

/// NumPy's `a @ b`: `sum a[.., i, k] * b[.., k, j]` over k, from left to right, for vectors, matrices and stacks of matrices.
///
/// Sums of floats are carried in f64 and rounded once; integers wrap.
///
/// # Errors
/// `NoAxes`, `InnerLength`, `Stacks`, as [`Matmul::matmul`](crate::Matmul::matmul).
///
/// ```
/// use gpu_algos::reference;
/// use ndarray::array;
/// let (a, x) = (array![[1, 2], [3, 4]], array![1, -1]);
/// assert_eq!(reference::matmul(&a, &x)?, array![-1, -1]);
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
    of_rows_and_columns(a.into().into_dyn(), b.into().into_dyn(), |row, column| {
        let terms = row.iter().zip(column);
        T::rounded(terms.fold(T::NO_TERMS, |sum, (&x, &y)| T::add_product(sum, x, y)))
    })
}

/// `c = alpha a b + beta c`, with the product of [`matmul()`]; without its last term where beta is 0, so that NaN in c stays out of the result.
///
/// The product is rounded first. Its multiple and the sum with that of c are carried in f64 and rounded once; integers wrap.
///
/// # Errors
/// Those of [`matmul()`]; `OutShape` unless c has the shape of the product.
///
/// ```
/// use gpu_algos::reference;
/// use ndarray::array;
/// let (a, mut c) = (array![[1.0, 2.0], [3.0, 4.0]], array![1.0, -1.0]);
/// reference::gemm(2.0, &a, &array![1.0, 1.0], -1.0, &mut c)?;
/// assert_eq!(c, array![5.0, 15.0]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn gemm<'a, 'b, 'c, T, D, E>(
    alpha: T,
    a: impl Into<ArrayView<'a, T, D>>,
    b: impl Into<ArrayView<'b, T, E>>,
    beta: T,
    c: impl Into<ArrayViewMut<'c, T, D::Product>>,
) -> Result<()>
where
    T: MatmulElement,
    D: MatmulDim<E>,
    E: Dimension,
{
    let (product, mut c) = (matmul(a, b)?, c.into());
    if product.shape() != c.shape() {
        return Err(AlgoError::OutShape { expected: product.shape().to_vec(), got: c.shape().to_vec() });
    }
    c.zip_mut_with(&product, |c, &product| {
        let multiple = T::add_product(T::NO_TERMS, alpha, product);
        *c = T::rounded(if beta == T::ZERO { multiple } else { T::add_product(multiple, beta, *c) });
    });
    Ok(())
}

/// The product of matrices of i8 or u8 in i32: `sum a[.., i, k] * b[.., k, j]` over k, in i64 and then wrapped modulo 2^32.
///
/// # Errors
/// Those of [`matmul()`].
///
/// ```
/// use gpu_algos::reference;
/// use ndarray::array;
/// let (a, x) = (array![[100i8, -128], [3, 4]], array![100i8, -128]);
/// assert_eq!(reference::matmul_i32(&a, &x)?, array![26384, -212]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn matmul_i32<'a, 'b, T, D, E>(
    a: impl Into<ArrayView<'a, T, D>>,
    b: impl Into<ArrayView<'b, T, E>>,
) -> Result<Array<i32, D::Product>>
where
    T: ByteElement,
    D: MatmulDim<E>,
    E: Dimension,
{
    let product = |x: T, y: T| i64::from(Into::<i32>::into(x)) * i64::from(Into::<i32>::into(y));
    of_rows_and_columns(a.into().into_dyn(), b.into().into_dyn(), |row, column| {
        row.iter().zip(column).map(|(&x, &y)| product(x, y)).sum::<i64>() as i32
    })
}

/// A product whose results are those of `sum` for a row of a and a column of b.
fn of_rows_and_columns<T: Clone, U, K: Dimension>(
    a: ArrayViewD<'_, T>,
    b: ArrayViewD<'_, T>,
    sum: impl Fn(&[T], &[T]) -> U,
) -> Result<Array<U, K>> {
    let (shape, a, b) = MatmulShape::on_host(a, b)?;
    let mut c = Vec::new();
    for at in indices(IxDyn(&shape.batch)) {
        let (a, b) = (matrix_at(&a, at.slice()), matrix_at(&b, at.slice()));
        let columns: Vec<_> = b.columns().into_iter().map(|column| column.to_vec()).collect();
        for row in a.rows() {
            let row = row.to_vec();
            c.extend(columns.iter().map(|column| sum(&row, column)));
        }
    }
    in_shape(&shape, c)
}

/// NumPy's `tensordot`: `sum a[i.., k..] * b[k.., j..]` over the paired axes k, in C order of the pairs as they are given.
///
/// Sums of floats are carried in f64 and rounded once; integers wrap.
///
/// # Errors
/// `Axis` (in `Array`), `RepeatedAxis`, `AxisPairs`, `AxisLengths`, as [`tensordot`](crate::matmul::tensordot) on a GPU; `TooLarge`.
///
/// ```
/// use gpu_algos::reference;
/// use ndarray::array;
/// let (a, b) = (array![[1, 2], [3, 4]], array![[1, 0], [1, 1]]);
/// assert_eq!(reference::tensordot(&a, &b, ([0, 1], [1, 0]))?, ndarray::arr0(7).into_dyn());
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn tensordot<'a, 'b, T, D, E>(
    a: impl Into<ArrayView<'a, T, D>>,
    b: impl Into<ArrayView<'b, T, E>>,
    axes: impl Into<SummedAxes>,
) -> Result<ArrayD<T>>
where
    T: MatmulElement,
    D: Dimension,
    E: Dimension,
{
    let (contraction, a, b) = Contraction::on_host(a.into().into_dyn(), b.into().into_dyn(), axes.into())?;
    let [rows, summed, columns] = contraction.parts().map(|lengths| IxDyn(&lengths));
    let mut c = Vec::new();
    for i in indices(rows) {
        for j in indices(columns.clone()) {
            let mut sum = T::NO_TERMS;
            for k in indices(summed.clone()) {
                let (at_a, at_b) = ([i.slice(), k.slice()].concat(), [k.slice(), j.slice()].concat());
                sum = T::add_product(sum, a[&at_a[..]], b[&at_b[..]]);
            }
            c.push(T::rounded(sum));
        }
    }
    let result = Array::from_shape_vec(contraction.result(), c);
    Ok(result.unwrap_or_else(|_| unreachable!("a value for each place")))
}

/// The matrix of a stack at an index of the broadcast stack.
pub(crate) fn matrix_at<'v, T>(stack: &ArrayViewD<'v, T>, at: &[usize]) -> ArrayView2<'v, T> {
    let axes = stack.ndim() - 2;
    let of = |view: ArrayViewD<'v, T>, &i: &usize| {
        let index = if view.len_of(Axis(0)) == 1 { 0 } else { i };
        view.index_axis_move(Axis(0), index)
    };
    let matrix = at[at.len() - axes..].iter().fold(stack.clone(), of);
    matrix.into_dimensionality::<Ix2>().unwrap_or_else(|_| unreachable!("two axes are left"))
}

/// The results as an array, in C order.
pub(crate) fn in_shape<T, K: Dimension>(shape: &MatmulShape, c: Vec<T>) -> Result<Array<T, K>> {
    let dim = dim_of::<K>("matmul", &shape.result())?;
    Ok(Array::from_shape_vec(dim, c).unwrap_or_else(|_| unreachable!("a value for each place")))
}
