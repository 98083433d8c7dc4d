//! Matrix products of integers of 8 bits, whose results are of 32 bits.

use gpu_array::{
    ArrayError, DType, Element, GpuArray, GpuViewMut,
    expression::{Gpu, IntoExpr},
    gpu_driver::Stream,
};
use ndarray::{Dimension, IxDyn};

use super::{
    dims::MatmulDim,
    launch,
    precision::RequestedPrecision,
    problem::{MatmulProblem, MatmulShape},
    product::{Factor, multiply},
    vectors,
};
use crate::{
    AlgoError, Result,
    common::{
        array_operand::ArrayLayout,
        launch::{allocate, unique},
        shape::dim_of,
    },
};

const OP: &str = "matmul_i32";

/// An element type of the factors of [`matmul_i32`]: i8 or u8.
#[diagnostic::on_unimplemented(
    message = "matrices of `{Self}` have no product by `matmul_i32`",
    note = "its factors are of i8 or of u8; `a.matmul(&b)` multiplies matrices of i32 and other types"
)]
pub trait ByteElement: Element + Into<i32> + sealed::Byte {}

mod sealed {
    pub trait Byte {}
}

macro_rules! bytes {
    ($($byte:ty),*) => {$(
        impl ByteElement for $byte {}
        impl sealed::Byte for $byte {}
    )*};
}
bytes! { i8, u8 }

/// The matrix product of integers of 8 bits with a result of i32: NumPy's `np.matmul(a, b, dtype=np.int32)`, PyTorch's `torch._int_mm`. Does not wait.
///
/// c\[.., i, j\] = sum over k of a\[.., i, k\] b\[.., k, j\], in i32. NumPy's `a @ b` of such arrays has their own type instead, to which it wraps.
///
/// # Shapes
/// Those of [`Matmul`](super::Matmul): matrices, vectors, and stacks of matrices, which are broadcast. With k = 0 the result is 0.
///
/// # Element types
/// Factors of i8 or of u8, both of one type. Sums are exact where they fit in i32, which they do up to k = 131071 for i8 and 33025 for u8 whatever
/// the elements are. Beyond, they wrap modulo 2^32.
///
/// # Layouts
/// Arrays and views of any strides. Tensor cores (compute capability 8.0 and newer) take factors whose elements along k, which are the rows of a
/// and the columns of b, are neighbours, and begin at multiples of 16 bytes with strides that are such. Others, among them a b in C order, are copied
/// before the product. So `matmul_i32(&a, b.t())` of two arrays in C order is the fastest.
///
/// # Determinism
/// Bitwise the same on every device.
///
/// # Cost
/// One launch, of 2 m n k operations for each matrix, and one for each factor that is copied, with its bytes read and written. Stacks of matrices of up to
/// 32 rows and columns are one launch on CUDA cores, which copies no factor, if their axes join to one. On devices without these tensor cores, for other
/// such stacks, and for few results of thousands of terms, both factors are copied as i32, of four bytes for each element, and multiplied on CUDA cores.
/// Products with a row or a column are reductions, which read the matrix once. Factors that are expressions are computed into an array first.
///
/// # Errors
/// Those of [`MatrixProduct::eval`](super::MatrixProduct::eval).
///
/// # Example
/// ```no_run
/// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, matmul::matmul_i32};
/// use ndarray::array;
///
/// let device = Device::first()?;
/// let a = GpuArray::from_ndarray(&device, &array![[127i8, -128], [1, 2]])?;
/// assert_eq!(matmul_i32(&a, a.t())?.to_ndarray()?, array![[32513, -129], [-129, 5]]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
///
/// Quantized values are scaled afterwards, in one launch over the result:
/// ```no_run
/// # use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, matmul::matmul_i32};
/// # let device = Device::first()?;
/// # let (a, b) = (GpuArray::<i8, _>::full(&device, (64, 64), 3)?, GpuArray::<i8, _>::full(&device, (64, 64), 5)?);
/// let values = (matmul_i32(&a, &b)?.cast::<f32>() * 0.125).eval()?;
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
///
/// Source: the instructions `wgmma.mma_async` with types s8 and u8, PTX ISA.
#[doc(alias("int_mm", "MatMulInteger", "gemm_i8", "int8"))]
pub fn matmul_i32<'a, T, A, B, K>(a: A, b: B) -> Result<GpuArray<i32, K>>
where
    T: ByteElement,
    A: IntoExpr<'a, Elem = T, Dim: MatmulDim<B::Dim, Product = K>, Backend = Gpu>,
    B: IntoExpr<'a, Elem = T, Backend = Gpu>,
    K: Dimension,
{
    let (a, b) = (Factor::new(a.into_expr()), Factor::new(b.into_expr()));
    let shape = MatmulShape::of(OP, a.assembled()?.shape(), b.assembled()?.shape())?;
    let stream = a.assembled()?.stream().or_else(|_| b.assembled.as_ref().map_err(Clone::clone)?.stream())?;
    let mut result = allocate(stream, dim_of::<K>(OP, &shape.result())?)?;
    write(&shape, &a, &b, stream, result.view_mut())?;
    Ok(result)
}

/// [`matmul_i32`] into an existing array or view of the product's shape, with any strides, on its stream. Does not wait.
///
/// # Errors
/// Those of [`MatrixProduct::write_into`](super::MatrixProduct::write_into).
///
/// # Example
/// ```no_run
/// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, matmul::matmul_i32_into};
///
/// let device = Device::first()?;
/// let a = GpuArray::<u8, _>::full(&device, (300, 200), 255)?;
/// let mut c = GpuArray::zeros(&device, (300, 300))?;
/// matmul_i32_into(&a, a.t(), &mut c)?;
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub fn matmul_i32_into<'a, 'c, T, A, B, K>(a: A, b: B, c: impl Into<GpuViewMut<'c, i32, K>>) -> Result<()>
where
    T: ByteElement,
    A: IntoExpr<'a, Elem = T, Dim: MatmulDim<B::Dim, Product = K>, Backend = Gpu>,
    B: IntoExpr<'a, Elem = T, Backend = Gpu>,
    K: Dimension + 'c,
{
    let (a, b, c) = (Factor::new(a.into_expr()), Factor::new(b.into_expr()), c.into());
    let shape = MatmulShape::of(OP, a.assembled()?.shape(), b.assembled()?.shape())?;
    let (expected, stream) = (shape.result(), c.stream().clone());
    if c.shape() != &expected[..] {
        return Err(AlgoError::OutShape { expected: expected.to_vec(), got: c.shape().to_vec() });
    }
    write(&shape, &a, &b, &stream, c)
}

/// Enqueues the product, whose target has its shape.
fn write<T: ByteElement, K: Dimension>(
    shape: &MatmulShape,
    a: &Factor<'_, T>,
    b: &Factor<'_, T>,
    stream: &Stream,
    mut target: GpuViewMut<'_, i32, K>,
) -> Result<()> {
    // An expression is computed once, whichever kernel reads it.
    if let Some(array) = array_of(a, stream)? {
        return write(shape, &Factor::new((&array).into_expr()), b, stream, target);
    }
    if let Some(array) = array_of(b, stream)? {
        return write(shape, a, &Factor::new((&array).into_expr()), stream, target);
    }
    if try_bytes(shape, a, b, stream, &mut target)? {
        return Ok(());
    }
    let (a, b) = (widened(a, stream)?, widened(b, stream)?);
    let (a, b) = (Factor::new((&a).into_expr()), Factor::new((&b).into_expr()));
    multiply(OP, [&a, &b], stream, (1, 0), RequestedPrecision::default(), target)
}

/// The array that a factor has to become, if it is none.
fn array_of<T: ByteElement>(factor: &Factor<'_, T>, stream: &Stream) -> Result<Option<GpuArray<T, IxDyn>>> {
    if factor.assembled()?.as_array().is_some() {
        return Ok(None);
    }
    Ok(factor.expression.as_ref().map(|expression| expression.eval_on(stream)).transpose()?)
}

/// A factor as an array of i32.
fn widened<T: ByteElement>(factor: &Factor<'_, T>, stream: &Stream) -> Result<GpuArray<i32, IxDyn>> {
    factor.assembled()?;
    let expression = factor.expression.as_ref().ok_or(ArrayError::NoHome)?;
    Ok(expression.cast::<i32>().eval_on(stream)?)
}

/// Enqueues the product by a kernel that reads bytes, if one takes it.
fn try_bytes<T: ByteElement, K: Dimension>(
    shape: &MatmulShape,
    a: &Factor<'_, T>,
    b: &Factor<'_, T>,
    stream: &Stream,
    target: &mut GpuViewMut<'_, i32, K>,
) -> Result<bool> {
    let ((left, left_homes), (right, right_homes)) = (a.array(None)?, b.array(None)?);
    let target = target.lower_mut()?;
    let (left, right) = (shape.left(&left), shape.right(&right));
    let result = shape.target(&ArrayLayout { address: target.address, shape: target.shape, strides: target.strides });
    let homes = unique(left_homes.into_iter().chain(right_homes).chain([target.home]));
    if shape.is_of_vectors() {
        vectors::run(OP, T::DTYPE, shape, [&left, &right, &result], &homes, stream)?;
        return Ok(true);
    }
    debug_assert!(matches!(T::DTYPE, DType::I8 | DType::U8));
    let problem = MatmulProblem::new(T::DTYPE, shape, [left, right, result], [[1, 0], [0; 2]]);
    launch::run(OP, &problem, RequestedPrecision::default(), None, &homes, stream)
}
