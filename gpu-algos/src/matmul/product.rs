//! Matrix products as values: the factors and the destination.

use std::{fmt, marker::PhantomData};

use gpu_array::{
    ArrayError, GpuArray, GpuViewMut,
    expression::{Around, Assembled},
    gpu_driver::Stream,
};
use ndarray::{Dimension, Ix0};

use super::{
    element::MatmulElement,
    epilogue::ProductEpilogue,
    launch,
    precision::RequestedPrecision,
    problem::{MatmulProblem, MatmulShape},
    vectors,
};
use crate::{
    AlgoError, Result,
    common::{
        array_operand::{ArrayLayout, ArrayOperand},
        launch::{Homes, allocate, unique},
        shape::{dim_of, in_order},
    },
};

/// A matrix product that has not been computed.
///
/// [`Matmul::matmul`](super::Matmul::matmul) makes it; [`MatrixProduct::eval`], [`MatrixProduct::get`] or [`MatrixProduct::write_into`] computes it. It
/// is an operand of expressions, and a factor of further products.
///
/// `T` is the element type, `K` the rank of the result.
#[must_use = "it is computed by `eval`"]
pub struct MatrixProduct<'a, T: MatmulElement, K> {
    pub(super) a: Factor<'a, T>,
    pub(super) b: Factor<'a, T>,
    pub(super) home: Option<Stream>,
    pub(super) precision: RequestedPrecision,
    _rank: PhantomData<fn() -> K>,
}

/// A factor.
pub(super) type Factor<'a, T> = ArrayOperand<'a, T>;

/// A factor with elements of f32, which is computed.
fn in_f32<'a, T: MatmulElement>(factor: &Factor<'a, T>) -> Result<Factor<'a, f32>> {
    factor.assembled()?;
    let expression = factor.expression.as_ref().ok_or(ArrayError::NoHome)?;
    Ok(Factor::new(expression.cast::<f32>()))
}

/// Enqueues `target = alpha a b + beta target` on `stream`.
///
/// # Errors
/// Those of [`MatrixProduct::write_into`].
pub(super) fn multiply<T: MatmulElement, K: Dimension>(
    op: &'static str,
    [a, b]: [&Factor<'_, T>; 2],
    stream: &Stream,
    (alpha, beta): (T, T),
    precision: RequestedPrecision,
    mut target: GpuViewMut<'_, T, K>,
) -> Result<()> {
    let shape = MatmulShape::of(op, a.assembled()?.shape(), b.assembled()?.shape())?;
    let expected = shape.result();
    if target.shape() != &expected[..] {
        return Err(AlgoError::OutShape { expected: expected.to_vec(), got: target.shape().to_vec() });
    }
    let is_plain = alpha == T::one() && beta == T::ZERO;
    if shape.is_of_vectors() && !is_plain {
        // Only a result as it is can be a reduction.
        let mut product: GpuArray<T, K> = allocate(stream, dim_of::<K>(op, &expected)?)?;
        multiply(op, [a, b], stream, (T::one(), T::ZERO), precision, product.view_mut())?;
        return scale(target, &product, alpha, beta);
    }
    if try_multiply(op, &shape, [a, b], stream, (alpha, beta), precision, &mut target)? {
        return Ok(());
    }
    // Numbers of 16 bits that no kernel takes: in f32, rounded once more at the end.
    let (a, b) = (in_f32(a)?, in_f32(b)?);
    let mut product: GpuArray<f32, K> = allocate(stream, dim_of::<K>(op, &expected)?)?;
    multiply(op, [&a, &b], stream, (1.0, 0.0), RequestedPrecision::default(), product.view_mut())?;
    if beta == T::ZERO {
        return Ok(target.assign((&product * alpha.to_float()).cast::<T>())?);
    }
    Ok(target.update(|c| (c.cast::<f32>() * beta.to_float() + &product * alpha.to_float()).cast::<T>())?)
}

/// `target = alpha product + beta target`, of which the target is not read if beta is 0.
fn scale<T: MatmulElement, K: Dimension>(
    mut target: GpuViewMut<'_, T, K>,
    product: &GpuArray<T, K>,
    alpha: T,
    beta: T,
) -> Result<()> {
    if beta == T::ZERO {
        return Ok(target.assign(product * alpha)?);
    }
    Ok(target.update(|c| c * beta + product * alpha)?)
}

/// Enqueues the product, if a kernel takes it; false for some products of numbers of 16 bits.
fn try_multiply<T: MatmulElement, K: Dimension>(
    op: &'static str,
    shape: &MatmulShape,
    [a, b]: [&Factor<'_, T>; 2],
    stream: &Stream,
    (alpha, beta): (T, T),
    precision: RequestedPrecision,
    target: &mut GpuViewMut<'_, T, K>,
) -> Result<bool> {
    let computed = [a.compute(stream)?, b.compute(stream)?];
    let (on_left, on_right) = (computed[0].lower()?, computed[1].lower()?);
    let factors = [a.array(on_left.as_ref())?, b.array(on_right.as_ref())?];
    multiply_arrays(op, shape, factors, stream, (alpha, beta), precision, target)
}

/// [`try_multiply`] of arrays in memory.
pub(super) fn multiply_arrays<'t, T: MatmulElement, K: Dimension>(
    op: &'static str,
    shape: &MatmulShape,
    [(left, left_homes), (right, right_homes)]: [(ArrayLayout<'t>, Homes<'t>); 2],
    stream: &Stream,
    (alpha, beta): (T, T),
    precision: RequestedPrecision,
    target: &'t mut GpuViewMut<'_, T, K>,
) -> Result<bool> {
    let target = target.lower_mut()?;
    let (left, right) = (shape.left(&left), shape.right(&right));
    let result = shape.target(&ArrayLayout { address: target.address, shape: target.shape, strides: target.strides });
    let homes = unique(left_homes.into_iter().chain(right_homes).chain([target.home]));
    if shape.is_of_vectors() {
        vectors::run(op, T::DTYPE, shape, [&left, &right, &result], &homes, stream)?;
        return Ok(true);
    }
    let problem = MatmulProblem::new(T::DTYPE, shape, [left, right, result], [alpha, beta].map(words_of));
    launch::run(op, &problem, precision, None, &homes, stream)
}

/// Enqueues the product of arrays with an expression around it, whose values go to the target of `around`; false, with nothing enqueued, if no kernel
/// gives the bits that the product has in C order.
pub(super) fn multiply_around<T: MatmulElement>(
    op: &'static str,
    shape: &MatmulShape,
    [(left, left_homes), (right, right_homes)]: &[(ArrayLayout<'_>, Homes<'_>); 2],
    stream: &Stream,
    precision: RequestedPrecision,
    around: &Around<'_, '_>,
) -> Result<bool> {
    let Some(epilogue) = ProductEpilogue::of(around).filter(|_| !shape.is_of_vectors()) else { return Ok(false) };
    let (left, right, target) = (shape.left(left), shape.right(right), around.target());
    let lengths = shape.result();
    let strides = in_order(&lengths, 1);
    let dense = shape.target(&ArrayLayout { address: 0, shape: &lengths, strides: &strides });
    let result = shape.target(&ArrayLayout { address: target.address, shape: &lengths, strides: target.strides });
    let (leaves, factors) = (epilogue.leaves(shape), [T::one(), T::ZERO].map(words_of));
    let alone = MatmulProblem::new(T::DTYPE, shape, [left.clone(), right.clone(), dense], factors);
    let problem = MatmulProblem::with_leaves(T::DTYPE, shape, [left, right, result], leaves, factors);
    if !problem.adds_as(&alone) {
        return Ok(false);
    }
    let of_factors = left_homes.iter().chain(right_homes).map(|home| -> &Stream { home });
    let homes = unique(of_factors.chain(epilogue.homes()).chain([target.home]));
    launch::run(op, &problem, precision, Some(&epilogue).filter(|_| !around.is_empty()), &homes, stream)
}

/// The bits of a factor as kernels take it: f32 where they compute numbers of 16 bits.
pub(super) fn words_of<T: MatmulElement>(factor: T) -> [u64; 2] {
    if T::DTYPE.is_half() { [u64::from(factor.to_float().to_bits()), 0] } else { factor.to_words() }
}

impl<'a, T: MatmulElement, K: Dimension> MatrixProduct<'a, T, K> {
    pub(super) fn new(a: Factor<'a, T>, b: Factor<'a, T>) -> Self {
        Self { a, b, home: None, precision: RequestedPrecision::default(), _rank: PhantomData }
    }

    /// Computes on this stream, or on a device's main stream, which is then the home of a new result.
    /// It is needed if neither factor reads an array.
    pub fn on(mut self, home: impl Into<Stream>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// Computes the product as a new array in C order. Does not wait.
    ///
    /// The home of the first array is the home of the result, and orders the work.
    ///
    /// # Cost
    /// One launch, of 2 m n k operations for each matrix, and one for each factor that is copied ([`Matmul`](super::Matmul), Layouts): a copy of a
    /// broadcast factor has all its elements. Stacks of matrices of f16 and bf16 of at most 32 rows and columns are one launch without copies, whose sums
    /// are added in f32 in the order of k, if their axes join to one. Other such stacks, and few results of thousands of terms of these types, are products
    /// of copies in f32, with a launch for each copy and one for the result. A factor that is an
    /// expression is computed first, by a launch into an array. If there are too few tiles of the result for the device, several blocks share each, and
    /// scratch memory of the stream holds their sums. Products with a row or a column are reductions, which read the matrix once and round no more than
    /// [`dot`](crate::Reductions::dot) does. The first product of this form compiles or loads its kernel.
    ///
    /// # Errors
    /// `NoAxes` for a value without axes, `InnerLength` if the columns of a are not as many as the rows of b, `Stacks` for stacks that do not
    /// broadcast; `TooManyAxes` if more than 8 axes of a stack remain after contiguous ones are joined (7, where the result has one row or one
    /// column), `TooLarge`; `Array` with the errors of the factors, for a result that is too large, and with `NoHome` if there is no array and no
    /// stream; `Driver`.
    pub fn eval(&self) -> Result<GpuArray<T, K>> {
        let (a, b) = (self.a.assembled()?, self.b.assembled()?);
        let shape = MatmulShape::of("matmul", a.shape(), b.shape())?;
        let stream = match &self.home {
            Some(home) => home,
            None => a.stream().or_else(|_| b.stream())?,
        };
        let mut result = allocate(stream, dim_of::<K>("matmul", &shape.result())?)?;
        self.write(stream, result.view_mut())?;
        Ok(result)
    }

    /// Computes the product into an existing array or view of its shape, with any strides. Does not wait.
    ///
    /// # Errors
    /// As [`MatrixProduct::eval`]; `OutShape`. After an error the array is unchanged, unless the stream of the product and that of the array could not
    /// be joined after the launch: then it may have been written.
    pub fn write_into<'t>(&self, target: impl Into<GpuViewMut<'t, T, K>>) -> Result<()>
    where
        K: 't,
    {
        let target = target.into();
        let stream = self.home.clone().unwrap_or_else(|| target.stream().clone());
        self.write(&stream, target)
    }

    fn write(&self, stream: &Stream, target: GpuViewMut<'_, T, K>) -> Result<()> {
        multiply("matmul", [&self.a, &self.b], stream, (T::one(), T::ZERO), self.precision, target)
    }
}

impl<K: Dimension> MatrixProduct<'_, f32, K> {
    /// Computes in this precision: TF32, or f32 emulated by bf16, on tensor cores that know them.
    ///
    /// # Cost
    /// `Precision::Emulated` copies both factors into three parts of two bytes for each element, before the product. `Precision::Tf32` copies one of them
    /// on Hopper if neither lies along k, which is the rows of a and the columns of b, elsewhere each that does not, and those that tensor cores cannot read
    /// where they are. Each copy is a launch, into memory that is released after the product. See [`Precision`](super::Precision).
    ///
    /// # Example
    /// ```no_run
    /// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, matmul::Precision, prelude::*};
    ///
    /// let device = Device::first()?;
    /// let a = GpuArray::<f32, _>::full(&device, (4096, 4096), 0.5)?;
    /// let squared = a.matmul(&a).precision(Precision::Emulated).eval()?;
    /// # Ok::<(), gpu_algos::AlgoError>(())
    /// ```
    #[doc(alias("allow_tf32", "tf32", "compute_type"))]
    pub fn precision(mut self, precision: impl Into<RequestedPrecision>) -> Self {
        self.precision = precision.into();
        self
    }
}

impl<T: MatmulElement> MatrixProduct<'_, T, Ix0> {
    /// The product of two vectors itself. Waits for it and copies it to the host.
    ///
    /// # Errors
    /// As [`MatrixProduct::eval`], and `DeviceLost` when a kernel faulted.
    pub fn get(&self) -> Result<T> {
        Ok(self.eval()?.get()?)
    }
}

impl<T: MatmulElement, K> fmt::Debug for MatrixProduct<'_, T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = [&self.a, &self.b].map(|factor| factor.assembled.as_ref().map(Assembled::shape));
        write!(f, "MatrixProduct({a:?} by {b:?})")
    }
}
