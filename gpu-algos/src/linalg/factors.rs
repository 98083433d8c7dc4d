//! The functions with two results: factors by elimination and by reflections, signs and logarithms of determinants.

use std::{fmt, marker::PhantomData};

use gpu_array::{
    Element, GpuArray,
    expression::{Gpu, IntoExpr},
    gpu_driver::Stream,
};
use ndarray::{Dimension, IxDyn};

use super::{
    element::LinalgElement,
    problem::LinalgFunction,
    value::{Further, Info, LinalgCall, memory},
};
use crate::{
    Result,
    common::{launch::allocate, shape::dim_of},
};

/// The factors l and u, and the exchanges of rows, of a stack of matrices; not computed yet. [`lu_factor`] makes it.
///
/// `T` is the element type, `D` the rank of the array.
#[must_use = "they are computed by `eval`"]
pub struct LuFactors<'a, T: LinalgElement, D> {
    call: LinalgCall<'a, T>,
    _rank: PhantomData<fn() -> D>,
}

/// The factors q and r of a stack of matrices; not computed yet. [`qr`] makes it.
///
/// `T` is the element type, `D` the rank of the array.
#[must_use = "they are computed by `eval`"]
pub struct QrFactors<'a, T: LinalgElement, D> {
    call: LinalgCall<'a, T>,
    _rank: PhantomData<fn() -> D>,
}

/// The signs of the determinants of a stack of matrices, and the logarithms of their sizes; not computed yet. [`slogdet`] makes it.
///
/// `T` is the element type, `K` the rank of the stack.
#[must_use = "they are computed by `eval`"]
pub struct SignedLogs<'a, T: LinalgElement, K> {
    call: LinalgCall<'a, T>,
    _rank: PhantomData<fn() -> K>,
}

/// For each step of an elimination the row that was exchanged; as many as a matrix has rows, for each matrix of an array with axes `D`.
pub type Pivots<D> = GpuArray<i32, <D as Dimension>::Smaller>;

/// The factors of `p a = l u` with partial pivoting: SciPy's `linalg.lu_factor(a)`, with `[lu, pivots]` as it packs them.
///
/// `lu` holds u on and above its diagonal, and below it l, whose diagonal is 1. `pivots[k]` is the row that row k was exchanged with in step k, counted
/// from 0: the exchanges, made one after another on the rows of a, give those of `l u`. Packed factors have half the bytes of l and u apart, and
/// [`solve_triangular`](super::solve_triangular) reads them as they are, with `Triangle::UnitLower` and `Triangle::Upper`; so does `scipy.linalg.lu_solve`.
///
/// A singular matrix has factors too, with a 0 on the diagonal of u: that is no error. [`LuFactors::eval_with_info`] tells its place.
///
/// # Shapes
/// a has square matrices of n rows, 0 to 64. `lu` has the shape of a, `pivots` that of the stack and an axis of n.
///
/// # Rounding
/// |p a - l u| <= gamma_n |l| |u|, where gamma_n = n u / (1 - n u), and u is 2^-24 for f32 and 2^-53 for f64. No element of l is above 1 in size.
///
/// # Determinism
/// Bitwise the same from run to run. Of elements of equal size the first in its column becomes the pivot.
///
/// # Cost
/// One launch. 2/3 n^3 operations for a matrix, which is read once and written once. Does not wait.
///
/// # Errors
/// When it is computed those of [`LinalgValue::eval`](super::LinalgValue::eval) but `Singular`.
///
/// # Example
/// ```no_run
/// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, linalg::lu_factor};
/// use ndarray::array;
///
/// let device = Device::first()?;
/// let a = GpuArray::from_ndarray(&device, &array![[1.0, 2.0], [4.0, 4.0]])?;
/// let (lu, pivots) = lu_factor(&a).eval()?;
/// assert_eq!(lu.to_ndarray()?, array![[4.0, 4.0], [0.25, 1.0]]);
/// assert_eq!(pivots.to_ndarray()?, array![1, 1]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
///
/// # Source
/// Golub and Van Loan, Matrix Computations (4th edition, 2013), 3.4; Higham, Accuracy and Stability of Numerical Algorithms (2nd edition, 2002), 9.3.
#[doc(alias("lu", "getrf"))]
pub fn lu_factor<'a, T, A>(a: A) -> LuFactors<'a, T, A::Dim>
where
    T: LinalgElement,
    A: IntoExpr<'a, Elem = T, Backend = Gpu>,
{
    LuFactors { call: LinalgCall::new(LinalgFunction::LuFactor, a.into_expr()), _rank: PhantomData }
}

/// The reduced factors of `a = q r`: NumPy's `linalg.qr(a)`, by Householder's reflections.
///
/// The columns of q are orthonormal, and r is upper triangular. `r[k][k]` has the sign opposite to that of the element that reflection k finds in its
/// place, as LAPACK and so NumPy choose it; where all elements below that one are 0 it keeps its sign. The diagonal of r is 0, or small, for a
/// matrix without full rank: each matrix has factors, and no error is to be told.
///
/// # Shapes
/// a has matrices of m rows and n columns, 0 to 64 of each; with k the smaller one q has matrices of m rows and k columns, r of k rows and n columns.
///
/// # Rounding
/// |a - q r| and |q^T q - 1| are within a small multiple of m n u in norm, the first relative to that of a column, where u is 2^-24 for f32 and 2^-53 for
/// f64. Norms of columns do not overflow or underflow on the way.
///
/// # Determinism
/// Bitwise the same from run to run.
///
/// # Cost
/// One launch. 4 m n k operations for a matrix at most, which is read once and written once. Does not wait.
///
/// # Errors
/// When it is computed those of [`LinalgValue::eval`](super::LinalgValue::eval) but `Singular` and `NotSquare`.
///
/// # Example
/// ```no_run
/// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, linalg::qr, prelude::*};
/// use ndarray::array;
///
/// let device = Device::first()?;
/// let a = GpuArray::from_ndarray(&device, &array![[3.0, 1.0], [4.0, 2.0], [0.0, 5.0]])?;
/// let (q, r) = qr(&a).eval()?;
/// assert_eq!((q.shape(), r.shape()), (&[3, 2][..], &[2, 2][..]));
/// let error = (q.matmul(&r).eval()? - &a).abs().max().get()?;
/// assert!(error < 1e-14);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
///
/// # Source
/// Golub and Van Loan, Matrix Computations (4th edition, 2013), 5.1 and 5.2; Higham, Accuracy and Stability of Numerical Algorithms (2nd edition, 2002),
/// 19.3.
#[doc(alias("geqrf", "orgqr", "householder"))]
pub fn qr<'a, T, A>(a: A) -> QrFactors<'a, T, A::Dim>
where
    T: LinalgElement,
    A: IntoExpr<'a, Elem = T, Backend = Gpu>,
{
    QrFactors { call: LinalgCall::new(LinalgFunction::Qr, a.into_expr()), _rank: PhantomData }
}

/// The signs of the determinants, and the natural logarithms of their sizes: NumPy's `linalg.slogdet(a)`, by elimination as [`det`](super::det).
///
/// A determinant is `sign * exp(log)`, also where it overflows or underflows. The sign is 1, -1, or 0 for a singular matrix, whose logarithm is -inf: that
/// is no error. [`SignedLogs::eval_with_info`] tells its place. Of a matrix without rows they are 1 and 0. Where [`det`](super::det) is NaN both are NaN;
/// NumPy's sign is then that of the other pivots.
///
/// # Shapes
/// a has square matrices of 0 to 64 rows; both results have the shape of the stack, and for one matrix none
/// ([`GpuArray::get`](gpu_array::GpuArray::get) reads them).
///
/// # Rounding
/// The logarithm is that of the determinant of a matrix near a, as [`solve`](super::solve) solves one, within gamma_n and a small multiple of u of its own
/// size. Logarithms are not added: the product is taken with its exponent beside it.
///
/// # Determinism
/// Bitwise the same from run to run.
///
/// # Cost
/// One launch. 2/3 n^3 operations for a matrix, which is read once. Does not wait. The kernel is that of [`det`](super::det).
///
/// # Errors
/// When it is computed those of [`LinalgValue::eval`](super::LinalgValue::eval) but `Singular`.
///
/// # Example
/// ```no_run
/// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, linalg::slogdet};
/// use ndarray::array;
///
/// let device = Device::first()?;
/// let a = GpuArray::from_ndarray(&device, &array![[[0.0, 1e200], [1e200, 0.0]], [[1.0, 2.0], [2.0, 4.0]]])?;
/// let (signs, logs) = slogdet(&a).eval()?;
/// assert_eq!(signs.to_ndarray()?, array![-1.0, 0.0]);
/// let logs = logs.to_ndarray()?;
/// assert!((logs[0] - 400.0 * 10f64.ln()).abs() < 1e-12 && logs[1] == f64::NEG_INFINITY);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
///
/// # Source
/// Higham, Accuracy and Stability of Numerical Algorithms (2nd edition, 2002), 14.6.
#[doc(alias("determinant", "logdet"))]
pub fn slogdet<'a, T, A>(a: A) -> SignedLogs<'a, T, <<A::Dim as Dimension>::Smaller as Dimension>::Smaller>
where
    T: LinalgElement,
    A: IntoExpr<'a, Elem = T, Backend = Gpu>,
{
    SignedLogs { call: LinalgCall::new(LinalgFunction::LogDeterminant, a.into_expr()), _rank: PhantomData }
}

/// Computes both results on the stream of the first array, and the status of each matrix into `info`.
fn both<T: LinalgElement, D: Dimension, S: Element, E: Dimension>(
    call: &LinalgCall<'_, T>,
    function: LinalgFunction,
    info: Option<&mut Info>,
) -> Result<(GpuArray<T, D>, GpuArray<S, E>)> {
    let (op, shape) = (function.name(), call.shape()?);
    let stream = call.stream()?;
    let mut first = allocate(stream, dim_of::<D>(op, &shape.result)?)?;
    let mut second: GpuArray<S, E> = allocate(stream, dim_of::<E>(op, &shape.second(function))?)?;
    let (mut second_view, mut info_view) = (second.view_mut(), info.map(|info| info.view_mut()));
    let info_memory = info_view.as_mut().map(memory).transpose()?;
    let further = Further { second: Some(memory(&mut second_view)?), info: info_memory, first_failure: None };
    call.enqueue(&shape, stream, first.view_mut(), further)?;
    Ok((first, second))
}

impl<'a, T: LinalgElement, D: Dimension> LuFactors<'a, T, D> {
    /// Computes on this stream, or on a device's main stream, which is then the home of the results.
    /// It is needed if the operand reads no array.
    pub fn on(mut self, home: impl Into<Stream>) -> Self {
        self.call.home = Some(home.into());
        self
    }

    /// Computes `[lu, pivots]` as new arrays in C order. Does not wait.
    ///
    /// # Errors
    /// As [`lu_factor`].
    pub fn eval(&self) -> Result<(GpuArray<T, D>, Pivots<D>)> {
        both(&self.call, LinalgFunction::LuFactor, None)
    }

    /// Computes `[lu, pivots]` and the status of each matrix as new arrays in C order. Does not wait.
    ///
    /// The third array has the shape of the stack. It holds 0, or for a singular matrix the number of the first pivot that is 0, counted from 1.
    ///
    /// # Errors
    /// As [`lu_factor`].
    pub fn eval_with_info(&self) -> Result<(GpuArray<T, D>, Pivots<D>, Info)> {
        let mut info = allocate(self.call.stream()?, IxDyn(&self.call.shape()?.batch))?;
        let (lu, pivots) = both(&self.call, LinalgFunction::LuFactor, Some(&mut info))?;
        Ok((lu, pivots, info))
    }
}

impl<'a, T: LinalgElement, D: Dimension> QrFactors<'a, T, D> {
    /// Computes on this stream, or on a device's main stream, which is then the home of the results.
    /// It is needed if the operand reads no array.
    pub fn on(mut self, home: impl Into<Stream>) -> Self {
        self.call.home = Some(home.into());
        self
    }

    /// Computes `[q, r]` as new arrays in C order. Does not wait.
    ///
    /// # Errors
    /// As [`qr`].
    pub fn eval(&self) -> Result<(GpuArray<T, D>, GpuArray<T, D>)> {
        both(&self.call, LinalgFunction::Qr, None)
    }
}

impl<'a, T: LinalgElement, K: Dimension> SignedLogs<'a, T, K> {
    /// Computes on this stream, or on a device's main stream, which is then the home of the results.
    /// It is needed if the operand reads no array.
    pub fn on(mut self, home: impl Into<Stream>) -> Self {
        self.call.home = Some(home.into());
        self
    }

    /// Computes the signs and the logarithms as new arrays in C order. Does not wait.
    ///
    /// # Errors
    /// As [`slogdet`].
    pub fn eval(&self) -> Result<(GpuArray<T, K>, GpuArray<T, K>)> {
        both(&self.call, LinalgFunction::LogDeterminant, None)
    }

    /// Computes the signs, the logarithms and the status of each matrix as new arrays in C order. Does not wait.
    ///
    /// The third array has the shape of the stack. It holds 0, or for a singular matrix the number of the first pivot that is 0, counted from 1.
    ///
    /// # Errors
    /// As [`slogdet`].
    #[expect(clippy::type_complexity, reason = "three arrays of the rank of the stack")]
    pub fn eval_with_info(&self) -> Result<(GpuArray<T, K>, GpuArray<T, K>, Info)> {
        let mut info = allocate(self.call.stream()?, IxDyn(&self.call.shape()?.batch))?;
        let (signs, logs) = both(&self.call, LinalgFunction::LogDeterminant, Some(&mut info))?;
        Ok((signs, logs, info))
    }
}

impl<T: LinalgElement, D> fmt::Debug for LuFactors<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt(f)
    }
}

impl<T: LinalgElement, D> fmt::Debug for QrFactors<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt(f)
    }
}

impl<T: LinalgElement, K> fmt::Debug for SignedLogs<'_, T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt(f)
    }
}
