//! The interface between a solver and a matrix.

use std::fmt;
use std::marker::PhantomData;

use gpu_algos::host::dot;
use gpu_driver::DeviceVec;

use crate::product::{check_length, device};
use crate::{CsrMatrix, DeviceMatrix, PacketMatrix, Result, Scalar};

/// A linear map that can be applied to a vector.
///
/// Implemented for [`CsrMatrix`], [`PacketMatrix`] and [`DeviceMatrix`], for references to operators, and for
/// closures through [`from_fn`]. Only `shape` and `apply` are required; the rest has defaults, to be replaced where the operator knows better.
pub trait LinearOperator<T: Scalar> {
    /// (rows, columns).
    fn shape(&self) -> (usize, usize);

    /// `y = A x`. `x` has as many elements as `A` columns, `y` as many as `A` rows; the former elements of `y` mean nothing.
    ///
    /// # Errors
    /// Whatever keeps the operator from being applied; wrap foreign errors in
    /// [`SparseError::Operator`](crate::SparseError::Operator). The solver stops and hands the error on.
    fn apply(&self, x: &[T], y: &mut [T]) -> Result<()>;

    /// `y = A x`, returning `x . y` accumulated in f64. The default makes a second pass over both vectors.
    ///
    /// # Errors
    /// The errors of `apply`, and `Algo` where `A` is not square.
    fn apply_dot(&self, x: &[T], y: &mut [T]) -> Result<f64> {
        self.apply(x, y)?;
        Ok(dot(x, y)?)
    }

    /// `r = b - A x`. The default rounds twice; a matrix can do with one rounding.
    ///
    /// # Errors
    /// The errors of `apply`.
    fn residual(&self, x: &[T], b: &[T], r: &mut [T]) -> Result<()> {
        self.apply(x, r)?;
        r.iter_mut().zip(b).for_each(|(r, &b)| *r = b - *r);
        Ok(())
    }

    /// The diagonal, where it is known.
    fn diagonal(&self) -> Option<Vec<T>> {
        None
    }

    /// False when the operator is known to hold a NaN or an infinity. The default knows of none.
    fn is_finite(&self) -> bool {
        true
    }

    /// Row, column and value of the first NaN or infinity, where the operator knows them; solvers ask where [`is_finite`](LinearOperator::is_finite)
    /// is false. None by default.
    fn first_non_finite(&self) -> Option<(usize, usize, T)> {
        None
    }

    /// The matrix in GPU memory, where the operator is one: solvers that get one run on its device. None by default.
    fn on_device(&self) -> Option<&DeviceMatrix<T>> {
        None
    }
}

impl<T: Scalar> LinearOperator<T> for CsrMatrix<T> {
    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.cols())
    }

    fn apply(&self, x: &[T], y: &mut [T]) -> Result<()> {
        self.matvec_into(x, y)
    }

    fn apply_dot(&self, x: &[T], y: &mut [T]) -> Result<f64> {
        self.product_and_dot(x, y)
    }

    fn residual(&self, x: &[T], b: &[T], r: &mut [T]) -> Result<()> {
        self.residual_into(x, b, r)
    }

    fn diagonal(&self) -> Option<Vec<T>> {
        Some(CsrMatrix::diagonal(self).to_vec())
    }

    fn is_finite(&self) -> bool {
        self.holds_finite_values()
    }

    fn first_non_finite(&self) -> Option<(usize, usize, T)> {
        CsrMatrix::first_non_finite(self)
    }
}

/// Products on the CPU, with the bits of a device's.
impl<T: Scalar> LinearOperator<T> for PacketMatrix<T> {
    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.cols())
    }

    fn apply(&self, x: &[T], y: &mut [T]) -> Result<()> {
        self.matvec_into(x, y)
    }

    fn apply_dot(&self, x: &[T], y: &mut [T]) -> Result<f64> {
        check_length("PacketMatrix::apply_dot", "the matrix's rows", self.rows(), self.cols())?;
        self.matvec_into(x, &mut *y)?;
        Ok(dot(x, y)?)
    }

    fn residual(&self, x: &[T], b: &[T], r: &mut [T]) -> Result<()> {
        self.residual_into(x, b, r)
    }

    fn diagonal(&self) -> Option<Vec<T>> {
        Some(self.diagonal.clone())
    }

    fn is_finite(&self) -> bool {
        self.finite
    }

    fn first_non_finite(&self) -> Option<(usize, usize, T)> {
        if self.finite { None } else { self.to_csr().first_non_finite() }
    }
}

/// An operator on host vectors: right, and slow, for each application copies `x` to the device and `y` back. Solvers that can
/// run on the device ask [`on_device`](LinearOperator::on_device) and do not come here.
impl<T: Scalar> LinearOperator<T> for DeviceMatrix<T> {
    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.cols())
    }

    fn apply(&self, x: &[T], y: &mut [T]) -> Result<()> {
        let x = DeviceVec::from_slice(self.stream(), x)?;
        let mut product = DeviceVec::zeros(self.stream(), y.len())?;
        device::product(self, x.as_slice(), product.as_mut_slice())?;
        Ok(product.copy_to_slice(y)?)
    }

    fn diagonal(&self) -> Option<Vec<T>> {
        Some(self.diagonal.clone())
    }

    fn is_finite(&self) -> bool {
        self.finite
    }

    fn on_device(&self) -> Option<&DeviceMatrix<T>> {
        Some(self)
    }
}

impl<T: Scalar, A: LinearOperator<T> + ?Sized> LinearOperator<T> for &A {
    fn shape(&self) -> (usize, usize) {
        (**self).shape()
    }

    fn apply(&self, x: &[T], y: &mut [T]) -> Result<()> {
        (**self).apply(x, y)
    }

    fn apply_dot(&self, x: &[T], y: &mut [T]) -> Result<f64> {
        (**self).apply_dot(x, y)
    }

    fn residual(&self, x: &[T], b: &[T], r: &mut [T]) -> Result<()> {
        (**self).residual(x, b, r)
    }

    fn diagonal(&self) -> Option<Vec<T>> {
        (**self).diagonal()
    }

    fn is_finite(&self) -> bool {
        (**self).is_finite()
    }

    fn first_non_finite(&self) -> Option<(usize, usize, T)> {
        (**self).first_non_finite()
    }

    fn on_device(&self) -> Option<&DeviceMatrix<T>> {
        (**self).on_device()
    }
}

/// A closure as a linear operator: see [`from_fn`].
pub struct FromFn<T, F> {
    n: usize,
    apply: F,
    element: PhantomData<fn(T)>,
}

/// Makes an `n` x `n` operator of a closure that sets all of `y` to `A x`.
///
/// ```
/// use gpu_sparse::linalg;
///
/// let twice = linalg::from_fn(3, |x: &[f64], y: &mut [f64]| y.iter_mut().zip(x).for_each(|(y, x)| *y = 2.0 * x));
/// let solution = linalg::cg(&twice, &[2.0, 4.0, 6.0]).solve()?;
/// assert_eq!(solution.x.to_vec(), [1.0, 2.0, 3.0]);
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
#[doc(alias = "aslinearoperator")]
pub fn from_fn<T: Scalar, F: Fn(&[T], &mut [T])>(n: usize, apply: F) -> FromFn<T, F> {
    FromFn { n, apply, element: PhantomData }
}

impl<T: Scalar, F: Fn(&[T], &mut [T])> LinearOperator<T> for FromFn<T, F> {
    fn shape(&self) -> (usize, usize) {
        (self.n, self.n)
    }

    fn apply(&self, x: &[T], y: &mut [T]) -> Result<()> {
        check_length("from_fn", "x", x.len(), self.n)?;
        check_length("from_fn", "y", y.len(), self.n)?;
        (self.apply)(x, y);
        Ok(())
    }
}

impl<T, F> fmt::Debug for FromFn<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FromFn").field("n", &self.n).finish_non_exhaustive()
    }
}
