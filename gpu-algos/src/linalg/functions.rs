//! The functions with one result.

use gpu_array::expression::{Gpu, IntoExpr};
use ndarray::Dimension;

use super::{
    Triangle,
    element::LinalgElement,
    problem::LinalgFunction,
    value::{LinalgCall, LinalgValue},
};
use crate::matmul::MatmulDim;

/// The solution x of `a x = b` for triangular matrices: SciPy's `solve_triangular(a, b, lower)`.
///
/// # Shapes
/// a has square matrices of n rows, 0 to 64. b is a vector of n elements or has matrices of n rows; the result has the shape of the
/// [product](crate::Matmul::matmul) of a and b.
///
/// # Rounding
/// The computed x solves `(a + e) x = b` with |e| <= gamma_n |a|, where gamma_n = n u / (1 - n u), and u is 2^-24 for f32 and 2^-53 for f64.
///
/// # Determinism
/// Bitwise the same from run to run.
///
/// # Cost
/// One launch. n^2 operations for each right-hand side; each matrix and each side is read once.
///
/// # Errors
/// When it is computed ([`LinalgValue::eval`]): `Singular` for a matrix with a 0 on its diagonal, which is not looked for if the diagonal is not read.
///
/// # Example
/// ```no_run
/// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, linalg::{Triangle, solve_triangular}};
/// use ndarray::array;
///
/// let device = Device::first()?;
/// let a = GpuArray::from_ndarray(&device, &array![[2.0, 0.0], [1.0, 4.0]])?;
/// let b = GpuArray::from_ndarray(&device, &array![2.0, 9.0])?;
/// assert_eq!(solve_triangular(&a, &b, Triangle::Lower).eval()?.to_ndarray()?, array![1.0, 2.0]);
/// assert_eq!(solve_triangular(a.t(), &b, Triangle::Upper).eval()?.to_ndarray()?, array![-0.125, 2.25]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
///
/// # Source
/// Golub and Van Loan, Matrix Computations (4th edition, 2013), 3.1; Higham, Accuracy and Stability of Numerical Algorithms (2nd edition, 2002), 8.1.
#[doc(alias("trsm", "trsv", "triangular_solve"))]
pub fn solve_triangular<'a, T, A, B>(
    a: A,
    b: B,
    triangle: Triangle,
) -> LinalgValue<'a, T, <A::Dim as MatmulDim<B::Dim>>::Product>
where
    T: LinalgElement,
    A: IntoExpr<'a, Elem = T, Dim: MatmulDim<B::Dim>, Backend = Gpu>,
    B: IntoExpr<'a, Elem = T, Backend = Gpu>,
{
    let call = LinalgCall::new(LinalgFunction::SolveTriangular(triangle), a.into_expr());
    LinalgValue::new(call.with_right_sides(b.into_expr()))
}

/// The solution x of `a x = b`: NumPy's `linalg.solve(a, b)`.
///
/// Elimination with partial pivoting, then forward and back substitution.
///
/// # Shapes
/// As [`solve_triangular`].
///
/// # Rounding
/// The computed x solves `(a + e) x = b` with |e| <= 3 gamma_n |l| |u| for the factors l and u ([`lu_factor`](super::lu_factor)): as good as the
/// factors are small, which they are but for matrices made for the purpose.
///
/// # Determinism
/// Bitwise the same from run to run.
///
/// # Cost
/// One launch. 2/3 n^3 operations for a matrix and 2 n^2 for each right-hand side; each matrix and each side is read once.
///
/// # Errors
/// When it is computed ([`LinalgValue::eval`]): `Singular`.
///
/// # Example
/// ```no_run
/// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, linalg::solve};
/// use ndarray::array;
///
/// let device = Device::first()?;
/// let a = GpuArray::from_ndarray(&device, &array![[3.0, 1.0], [1.0, 2.0]])?;
/// let b = GpuArray::from_ndarray(&device, &array![9.0, 8.0])?;
/// assert_eq!(solve(&a, &b).eval()?.to_ndarray()?, array![2.0, 3.0]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
///
/// The result cannot be an operand:
/// ```compile_fail,E0502
/// # use gpu_algos::{gpu_array::GpuArray, linalg};
/// # fn test(a: GpuArray<f64, ndarray::Ix2>, mut b: GpuArray<f64, ndarray::Ix2>) -> gpu_algos::Result<()> {
/// linalg::solve(&a, &b).write_into(&mut b)?;
/// # Ok(())
/// # }
/// ```
///
/// # Source
/// Golub and Van Loan, Matrix Computations (4th edition, 2013), 3.4; Higham, Accuracy and Stability of Numerical Algorithms (2nd edition, 2002), 9.3.
#[doc(alias("gesv", "getrs"))]
pub fn solve<'a, T, A, B>(a: A, b: B) -> LinalgValue<'a, T, <A::Dim as MatmulDim<B::Dim>>::Product>
where
    T: LinalgElement,
    A: IntoExpr<'a, Elem = T, Dim: MatmulDim<B::Dim>, Backend = Gpu>,
    B: IntoExpr<'a, Elem = T, Backend = Gpu>,
{
    LinalgValue::new(LinalgCall::new(LinalgFunction::Solve, a.into_expr()).with_right_sides(b.into_expr()))
}

/// The lower triangular l with `a = l l^T`: NumPy's `linalg.cholesky(a)`. Zeros stand above its diagonal.
///
/// Reads the elements on and below the diagonal of a; those above are taken to be the same and not looked at.
///
/// # Shapes
/// a has square matrices of 0 to 64 rows; the result has the shape of a.
///
/// # Rounding
/// |a - l l^T| <= gamma_(n+1) |l| |l^T|, where gamma_n = n u / (1 - n u), and u is 2^-24 for f32 and 2^-53 for f64.
///
/// # Determinism
/// Bitwise the same from run to run.
///
/// # Cost
/// One launch. n^3 / 3 operations for a matrix, which is read once and written once.
///
/// # Errors
/// When it is computed ([`LinalgValue::eval`]): `NotPositiveDefinite` for a matrix with a pivot that is not above 0, or NaN.
///
/// # Example
/// ```no_run
/// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, linalg::cholesky};
/// use ndarray::array;
///
/// let device = Device::first()?;
/// let a = GpuArray::from_ndarray(&device, &array![[4.0, 2.0], [2.0, 10.0]])?;
/// assert_eq!(cholesky(&a).eval()?.to_ndarray()?, array![[2.0, 0.0], [1.0, 3.0]]);
/// let error = cholesky(-&a).eval().unwrap_err();
/// assert_eq!(error.to_string(), "cholesky: the matrix is not positive definite: pivot 0 is not above 0");
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
///
/// # Source
/// Golub and Van Loan, Matrix Computations (4th edition, 2013), 4.2; Higham, Accuracy and Stability of Numerical Algorithms (2nd edition, 2002), 10.1.
#[doc(alias("potrf", "llt"))]
pub fn cholesky<'a, T, A>(a: A) -> LinalgValue<'a, T, A::Dim>
where
    T: LinalgElement,
    A: IntoExpr<'a, Elem = T, Backend = Gpu>,
{
    LinalgValue::new(LinalgCall::new(LinalgFunction::Cholesky, a.into_expr()))
}

/// The inverse matrices: NumPy's `linalg.inv(a)`. The columns are the solutions for those of the unit matrix.
///
/// [`solve`] is cheaper than a product with the inverse, and rounds less.
///
/// # Shapes
/// a has square matrices of 0 to 64 rows; the result has the shape of a.
///
/// # Rounding
/// That of [`solve`], column by column: |a x - 1| is small, |x a - 1| need not be.
///
/// # Determinism
/// Bitwise the same from run to run.
///
/// # Cost
/// One launch. 8/3 n^3 operations for a matrix, which is read once and written once.
///
/// # Errors
/// When it is computed ([`LinalgValue::eval`]): `Singular`.
///
/// # Example
/// ```no_run
/// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, linalg::inv};
/// use ndarray::array;
///
/// let device = Device::first()?;
/// let a = GpuArray::from_ndarray(&device, &array![[4.0, 2.0], [2.0, 2.0]])?;
/// assert_eq!(inv(&a).eval()?.to_ndarray()?, array![[0.5, -0.5], [-0.5, 1.0]]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
///
/// # Source
/// Higham, Accuracy and Stability of Numerical Algorithms (2nd edition, 2002), 14.3 (method A).
#[doc(alias("getri", "inverse"))]
pub fn inv<'a, T, A>(a: A) -> LinalgValue<'a, T, A::Dim>
where
    T: LinalgElement,
    A: IntoExpr<'a, Elem = T, Backend = Gpu>,
{
    LinalgValue::new(LinalgCall::new(LinalgFunction::Inverse, a.into_expr()))
}

/// The determinants: NumPy's `linalg.det(a)`, the products of the pivots with the sign of the exchanges of rows.
///
/// The exponent of the product is carried beside it: the result overflows to infinity or underflows to 0 only if the determinant does, whatever the order
/// of large and small pivots; [`slogdet`](super::slogdet) gives the logarithm of one that does.
/// The determinant of a singular matrix is 0, which is no error, and that of a matrix without rows is 1.
///
/// # Shapes
/// a has square matrices of 0 to 64 rows; the result has the shape of the stack, and for one matrix none ([`GpuArray::get`](gpu_array::GpuArray::get)
/// reads it).
///
/// # Rounding
/// The result is the determinant of a matrix near a, as [`solve`] solves one, times a factor of 1 within gamma_n.
///
/// # Determinism
/// Bitwise the same from run to run.
///
/// # Cost
/// One launch. 2/3 n^3 operations for a matrix, which is read once. Does not wait.
///
/// # Errors
/// When it is computed those of [`LinalgValue::eval`] but `Singular`.
///
/// # Example
/// ```no_run
/// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, linalg::det};
/// use ndarray::{Axis, array};
///
/// let device = Device::first()?;
/// let a = GpuArray::from_ndarray(&device, &array![[[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [2.0, 4.0]]])?;
/// assert_eq!(det(&a).eval()?.to_ndarray()?, array![-2.0, 0.0]);
/// assert_eq!(det(a.index_axis(Axis(0), 0)?).get()?, -2.0); // of one matrix
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
///
/// # Source
/// Higham, Accuracy and Stability of Numerical Algorithms (2nd edition, 2002), 14.6.
#[doc(alias("determinant"))]
pub fn det<'a, T, A>(a: A) -> LinalgValue<'a, T, <<A::Dim as Dimension>::Smaller as Dimension>::Smaller>
where
    T: LinalgElement,
    A: IntoExpr<'a, Elem = T, Backend = Gpu>,
{
    LinalgValue::new(LinalgCall::new(LinalgFunction::Determinant, a.into_expr()))
}
