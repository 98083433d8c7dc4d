//! The definitions of linear algebra of stacks of matrices, in f64 and rounded once at the end.

use ndarray::{Array, Array2, ArrayView, ArrayView2, ArrayViewD, Axis, Dimension, IxDyn, indices, s};

use super::matmul::matrix_at;
use crate::{
    Result,
    common::shape::dim_of,
    linalg::{LinalgElement, LinalgFunction, LinalgShape, Triangle},
    matmul::MatmulDim,
};

/// For each step of an elimination the row that was exchanged; as many as a matrix has rows, for each matrix of an array with axes `D`.
pub type Pivots<D> = Array<i32, <D as Dimension>::Smaller>;

/// The definition of [`linalg::solve_triangular`](crate::linalg::solve_triangular): each row of x is the rest of b
/// after the rows before it, divided by the diagonal.
///
/// # Errors
/// `Singular`, and those of shapes, as on a device.
///
/// ```
/// use gpu_algos::{linalg::Triangle, reference};
/// use ndarray::array;
/// let (a, b) = (array![[2.0, 0.0], [1.0, 4.0]], array![2.0, 9.0]);
/// assert_eq!(reference::linalg::solve_triangular(&a, &b, Triangle::Lower)?, array![1.0, 2.0]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn solve_triangular<'a, 'b, T, D, E>(
    a: impl Into<ArrayView<'a, T, D>>,
    b: impl Into<ArrayView<'b, T, E>>,
    triangle: Triangle,
) -> Result<Array<T, D::Product>>
where
    T: LinalgElement,
    D: MatmulDim<E>,
    E: Dimension,
{
    let stack =
        HostStack::new(LinalgFunction::SolveTriangular(triangle), a.into().into_dyn(), Some(b.into().into_dyn()))?;
    stack.results(|a, b| substituted(&a, b, triangle))
}

/// The definition of [`linalg::solve`](crate::linalg::solve): elimination with partial pivoting, then substitution.
///
/// # Errors
/// `Singular`, and those of shapes, as on a device.
///
/// ```
/// use gpu_algos::reference;
/// use ndarray::array;
/// let (a, b) = (array![[3.0, 1.0], [1.0, 2.0]], array![9.0, 8.0]);
/// assert_eq!(reference::linalg::solve(&a, &b)?, array![2.0, 3.0]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn solve<'a, 'b, T, D, E>(
    a: impl Into<ArrayView<'a, T, D>>,
    b: impl Into<ArrayView<'b, T, E>>,
) -> Result<Array<T, D::Product>>
where
    T: LinalgElement,
    D: MatmulDim<E>,
    E: Dimension,
{
    let stack = HostStack::new(LinalgFunction::Solve, a.into().into_dyn(), Some(b.into().into_dyn()))?;
    stack.results(solved)
}

/// The definition of [`linalg::cholesky`](crate::linalg::cholesky), row by row.
///
/// # Errors
/// `NotPositiveDefinite`, and those of shapes, as on a device.
pub fn cholesky<'a, T: LinalgElement, D: Dimension>(a: impl Into<ArrayView<'a, T, D>>) -> Result<Array<T, D>> {
    HostStack::new(LinalgFunction::Cholesky, a.into().into_dyn(), None)?.results(|a, _| {
        let mut l = Array2::zeros(a.raw_dim());
        for i in 0..a.nrows() {
            for j in 0..=i {
                let rest = a[[i, j]] - (0..j).map(|k| l[[i, k]] * l[[j, k]]).sum::<f64>();
                l[[i, j]] = if i == j { rest.sqrt() } else { rest / l[[j, j]] };
            }
            if l[[i, i]].is_nan() || l[[i, i]] <= 0.0 {
                return Err(i);
            }
        }
        Ok(l)
    })
}

/// The definition of [`linalg::inv`](crate::linalg::inv): the solutions for the columns of the unit matrix.
///
/// # Errors
/// `Singular`, and those of shapes, as on a device.
pub fn inv<'a, T: LinalgElement, D: Dimension>(a: impl Into<ArrayView<'a, T, D>>) -> Result<Array<T, D>> {
    let stack = HostStack::new(LinalgFunction::Inverse, a.into().into_dyn(), None)?;
    stack.results(|a, _| solved(a.clone(), Array2::eye(a.nrows())))
}

/// The definition of [`linalg::det`](crate::linalg::det): the product of the pivots, with the sign of the exchanges. It may overflow on the way.
///
/// # Errors
/// Those of shapes, as on a device.
pub fn det<'a, T: LinalgElement, D: Dimension>(
    a: impl Into<ArrayView<'a, T, D>>,
) -> Result<Array<T, <D::Smaller as Dimension>::Smaller>> {
    HostStack::new(LinalgFunction::Determinant, a.into().into_dyn(), None)?.results(|a, _| {
        let (lu, pivots) = eliminated(a);
        let exchanges = pivots.iter().enumerate().filter(|&(k, &row)| k != row).count();
        let product: f64 = lu.diag().product();
        Ok(Array2::from_elem((1, 1), if exchanges % 2 == 0 { product } else { -product }))
    })
}

/// The definition of [`linalg::slogdet`](crate::linalg::slogdet): the signs of the pivots and of the exchanges, and the sum of the logarithms. Both are
/// NaN where a pivot is, or where one is 0 and another infinite.
///
/// # Errors
/// Those of shapes, as on a device.
///
/// ```
/// use gpu_algos::reference;
/// use ndarray::{arr0, array};
/// let (sign, log) = reference::linalg::slogdet(&array![[0.0, 1.0], [1.0, 0.0]])?;
/// assert_eq!((sign, log), (arr0(-1.0), arr0(0.0)));
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
#[expect(clippy::type_complexity, reason = "two arrays of the rank of the stack")]
pub fn slogdet<'a, T: LinalgElement, D: Dimension>(
    a: impl Into<ArrayView<'a, T, D>>,
) -> Result<(Array<T, <D::Smaller as Dimension>::Smaller>, Array<T, <D::Smaller as Dimension>::Smaller>)> {
    let stack = HostStack::new(LinalgFunction::LogDeterminant, a.into().into_dyn(), None)?;
    let mut logs = Vec::new();
    let signs = stack.results(|a, _| {
        let (lu, pivots) = eliminated(a);
        let exchanges = pivots.iter().enumerate().filter(|&(k, &row)| k != row).count();
        let log: f64 = lu.diag().iter().map(|x| x.abs().ln()).sum();
        logs.push(T::rounded_from_f64(log));
        let of_exchanges = if exchanges % 2 == 0 { 1.0 } else { -1.0 };
        let sign = lu.diag().iter().fold(of_exchanges, |sign, &x| sign * if x == 0.0 { 0.0 } else { x.signum() });
        Ok(Array2::from_elem((1, 1), if log.is_nan() { f64::NAN } else { sign }))
    })?;
    Ok((signs, stack.second(logs)?))
}

/// The definition of [`linalg::lu_factor`](crate::linalg::lu_factor).
///
/// # Errors
/// Those of shapes, as on a device.
pub fn lu_factor<'a, T: LinalgElement, D: Dimension>(
    a: impl Into<ArrayView<'a, T, D>>,
) -> Result<(Array<T, D>, Pivots<D>)> {
    let stack = HostStack::new(LinalgFunction::LuFactor, a.into().into_dyn(), None)?;
    let mut all_pivots = Vec::new();
    let lu = stack.results(|a, _| {
        let (lu, pivots) = eliminated(a);
        all_pivots.extend(pivots.into_iter().map(|row| row as i32));
        Ok(lu)
    })?;
    Ok((lu, stack.second(all_pivots)?))
}

/// The definition of [`linalg::qr`](crate::linalg::qr): reflection after reflection on r, and on the unit matrix for q.
///
/// # Errors
/// Those of shapes, as on a device.
pub fn qr<'a, T: LinalgElement, D: Dimension>(a: impl Into<ArrayView<'a, T, D>>) -> Result<(Array<T, D>, Array<T, D>)> {
    let stack = HostStack::new(LinalgFunction::Qr, a.into().into_dyn(), None)?;
    let mut all_r = Vec::new();
    let q = stack.results(|mut r, _| {
        let (rows, count) = (r.nrows(), r.nrows().min(r.ncols()));
        let mut q = Array2::eye(rows);
        for k in 0..count {
            let mut v = r.slice(s![k.., k]).to_owned();
            if v.iter().skip(1).all(|&x| x == 0.0) {
                continue;
            }
            let scale = v.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            v /= scale;
            v[0] += v.dot(&v).sqrt().copysign(v[0]);
            let square = v.dot(&v);
            let mut part = r.slice_mut(s![k.., ..]);
            let products = v.dot(&part);
            part.zip_mut_with(&outer(&v, &products), |x, y| *x -= 2.0 / square * y);
            let mut part = q.slice_mut(s![.., k..]);
            let products = part.dot(&v);
            part.zip_mut_with(&outer(&products, &v), |x, y| *x -= 2.0 / square * y);
        }
        let upper = r.slice(s![..count, ..]);
        all_r.extend(upper.indexed_iter().map(|((i, j), &x)| T::rounded_from_f64(if i <= j { x } else { 0.0 })));
        Ok(q.slice(s![.., ..count]).to_owned())
    })?;
    Ok((q, stack.second(all_r)?))
}

/// The matrix of the products of all pairs of elements.
fn outer(x: &ndarray::Array1<f64>, y: &ndarray::Array1<f64>) -> Array2<f64> {
    Array2::from_shape_fn((x.len(), y.len()), |(i, j)| x[i] * y[j])
}

/// The solution of a triangular system; the place of the first 0 on the diagonal.
fn substituted(t: &Array2<f64>, mut b: Array2<f64>, triangle: Triangle) -> Result<Array2<f64>, usize> {
    let n = t.nrows();
    if let Some(k) = (0..n).find(|&k| !triangle.is_unit() && t[[k, k]] == 0.0) {
        return Err(k);
    }
    for step in 0..n {
        let (k, known) = if triangle.is_lower() { (step, 0..step) } else { (n - 1 - step, n - step..n) };
        for mut x in b.columns_mut() {
            let rest = x[k] - known.clone().map(|i| t[[k, i]] * x[i]).sum::<f64>();
            x[k] = if triangle.is_unit() { rest } else { rest / t[[k, k]] };
        }
    }
    Ok(b)
}

/// The packed factors, and the row that each row was exchanged with.
fn eliminated(mut a: Array2<f64>) -> (Array2<f64>, Vec<usize>) {
    let n = a.nrows();
    let mut pivots = Vec::new();
    for k in 0..n {
        let size = |i: &usize| if a[[*i, k]].is_nan() { f64::INFINITY } else { a[[*i, k]].abs() };
        // The first of the greatest.
        let row = (k..n).rev().max_by(|i, j| size(i).total_cmp(&size(j))).unwrap_or(k);
        pivots.push(row);
        for j in 0..n {
            a.swap([k, j], [row, j]);
        }
        if a[[k, k]] == 0.0 {
            continue;
        }
        for i in k + 1..n {
            a[[i, k]] /= a[[k, k]];
            for j in k + 1..n {
                a[[i, j]] -= a[[i, k]] * a[[k, j]];
            }
        }
    }
    (a, pivots)
}

/// The solution of a system; the number of the first pivot that is 0.
fn solved(a: Array2<f64>, mut b: Array2<f64>) -> Result<Array2<f64>, usize> {
    let (lu, pivots) = eliminated(a);
    for (k, &row) in pivots.iter().enumerate() {
        for j in 0..b.ncols() {
            b.swap([k, j], [row, j]);
        }
    }
    let y = substituted(&lu, b, Triangle::UnitLower)?;
    substituted(&lu, y, Triangle::Upper)
}

/// A function of a stack of matrices on the host: its shapes and operands, both with axes of rows and of columns.
pub(crate) struct HostStack<'a, 'b, T> {
    pub(crate) function: LinalgFunction,
    pub(crate) shape: LinalgShape,
    a: ArrayViewD<'a, T>,
    b: Option<ArrayViewD<'b, T>>,
}

impl<'a, 'b, T: LinalgElement> HostStack<'a, 'b, T> {
    /// # Errors
    /// Those of [`LinalgShape::of`].
    pub(crate) fn new(function: LinalgFunction, a: ArrayViewD<'a, T>, b: Option<ArrayViewD<'b, T>>) -> Result<Self> {
        let shape = LinalgShape::of(function, a.shape(), b.as_ref().map(|b| b.shape()))?;
        let b = b.map(|b| if b.ndim() == 1 { b.insert_axis(Axis(1)) } else { b });
        Ok(Self { function, shape, a, b })
    }

    /// The indices of the stack, in C order.
    pub(crate) fn places(&self) -> impl Iterator<Item = IxDyn> + use<T> {
        indices(IxDyn(&self.shape.batch)).into_iter()
    }

    /// The matrix and the right-hand sides at an index of the stack.
    pub(crate) fn at(&self, index: &[usize]) -> (ArrayView2<'_, T>, Option<ArrayView2<'_, T>>) {
        (matrix_at(&self.a, index), self.b.as_ref().map(|b| matrix_at(b, index)))
    }

    /// The first results of all matrices; the error of the first one that has none.
    fn results<K: Dimension>(
        &self,
        mut one: impl FnMut(Array2<f64>, Array2<f64>) -> Result<Array2<f64>, usize>,
    ) -> Result<Array<T, K>> {
        let mut values = Vec::new();
        for index in self.places() {
            let (a, b) = self.at(index.slice());
            let wide = |x: ArrayView2<'_, T>| x.mapv(Into::<f64>::into);
            let x = one(wide(a), b.map(wide).unwrap_or_default());
            let x = x.map_err(|pivot| self.function.failure(index.slice().to_vec(), pivot))?;
            values.extend(x.iter().map(|&x| T::rounded_from_f64(x)));
        }
        self.first(values)
    }

    /// The first result, from its elements in C order.
    pub(crate) fn first<K: Dimension>(&self, values: Vec<T>) -> Result<Array<T, K>> {
        let dim = dim_of::<K>(self.function.name(), &self.shape.result)?;
        Ok(Array::from_shape_vec(dim, values).unwrap_or_else(|_| unreachable!("a value for each place")))
    }

    /// The second result, from its elements in C order.
    pub(crate) fn second<S, K: Dimension>(&self, values: Vec<S>) -> Result<Array<S, K>> {
        let dim = dim_of::<K>(self.function.name(), &self.shape.second(self.function))?;
        Ok(Array::from_shape_vec(dim, values).unwrap_or_else(|_| unreachable!("a value for each place")))
    }
}
