//! Matrix products as a method of arrays, views and expressions, and as the function `gemm`.

use gpu_array::{
    GpuViewMut,
    expression::{Gpu, IntoExpr},
    gpu_driver::Stream,
};
use ndarray::Dimension;

use super::{
    dims::MatmulDim,
    element::MatmulElement,
    precision::{Precision, RequestedPrecision},
    product::{Factor, MatrixProduct, multiply},
};
use crate::{Result, common::operand::Receiver};

/// Matrix products of arrays, views and expressions on a GPU.
///
/// Nothing is computed before [`MatrixProduct::eval`] or [`MatrixProduct::write_into`], and these do not wait. A product is an operand of expressions, as
/// in `(x.matmul(&w) + &bias).maximum(0.0)`, which its kernel evaluates before it writes ([`MatrixProduct::into_expr`] says which), and a factor of
/// further products, as in `a.matmul(&b).matmul(&c)`.
///
/// # Shapes
/// NumPy's. Two matrices of shapes (m, k) and (k, n) give (m, n). A vector on the left is a row and one on the right a column, without that axis in
/// the result; two vectors give a scalar. Axes before the last two are a stack of matrices, and stacks are broadcast. The outer product of
/// vectors is the expression `&x.insert_axis(Axis(1))? * &y`.
///
/// # Layouts
/// Arrays and views of any strides are read where they are: transposed, reversed, with gaps, broadcast. Other expressions are computed into an
/// array first. Tensor cores (compute capability 8.0 and newer) take f16, bf16 and the precisions of f32 that are not strict, and read matrices whose rows
/// or columns lie side by side, at multiples of 16 bytes; in f32 both factors must lie along k, on Hopper one of them. Others are copied before the
/// product, by a launch each.
///
/// # Element types
/// [`MatmulElement`]: f16, bf16, f32, f64, `Complex<f32>`, `Complex<f64>`, and integers of 32 and 64 bits, the same on both sides. Floats of 32 and 64
/// bits are multiplied and added in their own type, unless [`MatrixProduct::precision`] says otherwise: with fused multiply-adds, those of f64 and
/// `Complex<f64>` on tensor cores where these know f64 (compute capability 8.0), and with two roundings where the result has one row or one column.
/// Integers wrap.
///
/// Products of f16 and bf16 are exact in f32, in which they are added; the result is rounded to f16 or bf16 at the end.
///
/// A product of complex numbers is four of their parts, each added with a fused multiply-add: re is re re - im im, im is re im + im re. An infinite part
/// makes infinities and NaN as these do; no infinity is recovered, as annex G of C99 has it. Nothing is conjugated: `a.t().conj().matmul(&b)` is the
/// product with the conjugate transpose, which becomes an array first.
///
/// # Rounding
/// |error| <= gamma_k |a| |b| with gamma_k = k u / (1 - k u), where u is 2^-24 for f32 and 2^-53 for f64. For f16 and bf16 u is 2^-23, since tensor
/// cores round sums towards zero, and the rounding of the result adds 2^-11 or 2^-8 of it. Each part of a complex result has 2 k terms, and |z| stands
/// for |re| + |im|. NaN and infinities propagate as the additions and
/// multiplications propagate them. With k = 0 the result is 0.
///
/// # Determinism
/// Bitwise the same from run to run on one device for one shape and layout, since these alone decide the order of additions. Another device may
/// add in another order.
///
/// # Example
/// ```no_run
/// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, prelude::*};
/// use ndarray::array;
///
/// let device = Device::first()?;
/// let a = GpuArray::from_ndarray(&device, &array![[1.0f32, 2.0], [3.0, 4.0]])?;
/// let x = GpuArray::from_ndarray(&device, &array![1.0f32, -1.0])?;
/// assert_eq!(a.matmul(a.t()).eval()?.to_ndarray()?, array![[5.0, 11.0], [11.0, 25.0]]);
/// assert_eq!(a.matmul(&x).eval()?.to_ndarray()?, array![-1.0, -1.0]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
#[doc(alias("gemm", "gemv", "dot", "mm", "@"))]
pub trait Matmul<'a>: Receiver<'a, Backend = Gpu> + Sized {
    /// The matrix product with `other`: NumPy's `a @ b`.
    fn matmul<R>(self, other: R) -> MatrixProduct<'a, Self::Elem, <Self::Dim as MatmulDim<R::Dim>>::Product>
    where
        R: IntoExpr<'a, Elem = Self::Elem, Backend = Gpu>,
        Self::Elem: MatmulElement,
        Self::Dim: MatmulDim<R::Dim>,
    {
        MatrixProduct::new(Factor::new(self.into_expr()), Factor::new(other.into_expr()))
    }
}

impl<'a, E: Receiver<'a, Backend = Gpu>> Matmul<'a> for E {}

/// `c = alpha a b + beta c`, with the matrix product of [`Matmul::matmul`]: BLAS's gemm and gemv, for stacks too. Does not wait.
///
/// The product is rounded first, then its multiple by alpha, and the sum with `beta c`, which is a fused multiply-add for matrices and two roundings
/// for vectors. With f16 and bf16 all of that is done in f32, and the result is rounded once; but a product with a vector is rounded before. If beta is
/// 0, c is not read, so NaN in it does not reach the result. If alpha is 0, NaN and infinities of a and b do reach it.
///
/// # Shapes
/// c has the shape of the product, and is not broadcast. Its strides are any.
///
/// # Determinism
/// As [`Matmul`].
///
/// # Cost
/// One launch on the stream of c, and one for each matrix that is copied ([`Matmul`], Layouts). If the matrices of c have one row
/// or one column, the product is one launch into a new array, and a second one writes c, unless alpha is 1 and beta is 0. A factor that is an
/// expression is computed before, by a launch into an array.
///
/// # Errors
/// As [`MatrixProduct::write_into`].
///
/// # Example
/// ```no_run
/// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, matmul::gemm};
/// use ndarray::array;
///
/// let device = Device::first()?;
/// let a = GpuArray::from_ndarray(&device, &array![[1.0f64, 2.0], [3.0, 4.0]])?;
/// let mut c = GpuArray::full(&device, (2, 2), 1.0)?;
/// gemm(2.0, &a, a.t(), -1.0, &mut c)?;
/// assert_eq!(c.to_ndarray()?, array![[9.0, 21.0], [21.0, 49.0]]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
///
/// c cannot be a or b:
/// ```compile_fail,E0502
/// # use gpu_algos::{gpu_array::GpuArray, matmul::gemm};
/// # fn test(mut a: GpuArray<f64, ndarray::Ix2>) -> gpu_algos::Result<()> {
/// gemm(1.0, &a, &a, 0.0, &mut a)?;
/// # Ok(())
/// # }
/// ```
#[doc(alias("general_mat_mul", "gemv"))]
pub fn gemm<'a, 'c, T, A, B, K>(alpha: T, a: A, b: B, beta: T, c: impl Into<GpuViewMut<'c, T, K>>) -> Result<()>
where
    T: MatmulElement,
    A: IntoExpr<'a, Elem = T, Dim: MatmulDim<B::Dim, Product = K>, Backend = Gpu>,
    B: IntoExpr<'a, Elem = T, Backend = Gpu>,
    K: Dimension + 'c,
{
    scaled(Precision::Strict.into(), alpha, [Factor::new(a.into_expr()), Factor::new(b.into_expr())], beta, c.into())
}

/// [`gemm`] of f32 in a [`Precision`].
///
/// # Errors
/// As [`gemm`].
///
/// # Example
/// ```no_run
/// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, matmul::{Precision, gemm_with_precision}};
///
/// let device = Device::first()?;
/// let a = GpuArray::<f32, _>::full(&device, (2048, 2048), 0.5)?;
/// let mut c = GpuArray::full(&device, (2048, 2048), 1.0)?;
/// gemm_with_precision(Precision::Emulated, 2.0, &a, a.t(), -1.0, &mut c)?;
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn gemm_with_precision<'a, 'c, A, B, K>(
    precision: impl Into<RequestedPrecision>,
    alpha: f32,
    a: A,
    b: B,
    beta: f32,
    c: impl Into<GpuViewMut<'c, f32, K>>,
) -> Result<()>
where
    A: IntoExpr<'a, Elem = f32, Dim: MatmulDim<B::Dim, Product = K>, Backend = Gpu>,
    B: IntoExpr<'a, Elem = f32, Backend = Gpu>,
    K: Dimension + 'c,
{
    scaled(precision.into(), alpha, [Factor::new(a.into_expr()), Factor::new(b.into_expr())], beta, c.into())
}

/// `c = alpha a b + beta c`.
fn scaled<T: MatmulElement, K: Dimension>(
    precision: RequestedPrecision,
    alpha: T,
    [a, b]: [Factor<'_, T>; 2],
    beta: T,
    c: GpuViewMut<'_, T, K>,
) -> Result<()> {
    let stream: Stream = c.stream().clone();
    multiply("gemm", [&a, &b], &stream, (alpha, beta), precision, c)
}
