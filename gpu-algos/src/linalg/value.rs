//! Functions of stacks of matrices as values: the operands, and the results.

use std::{fmt, marker::PhantomData};

use gpu_array::{
    ArrayError, Element, GpuArray, GpuViewMut,
    expression::{Assembled, Expr},
    gpu_driver::{DriverError, Stream},
};
use ndarray::{Dimension, Ix0, IxDyn};

use super::{
    constants::PIVOT_BITS,
    element::LinalgElement,
    launch,
    problem::{LinalgFunction, LinalgProblem, LinalgShape},
};
use crate::{
    AlgoError, Result,
    common::{
        array_operand::{ArrayLayout, ArrayOperand},
        launch::{allocate, unique},
        shape::dim_of,
    },
    matmul::Matrix,
};

/// The status of each matrix of a stack: 0, or the number of its first failing pivot, counted from 1.
pub type Info = GpuArray<i32, IxDyn>;

/// A function of a stack of small matrices that has not been computed, with one result.
///
/// The functions of [`linalg`](super) make it; [`LinalgValue::eval`], [`LinalgValue::eval_with_info`] or [`LinalgValue::write_into`] computes it.
///
/// `T` is the element type, `K` the rank of the result.
#[must_use = "it is computed by `eval`"]
pub struct LinalgValue<'a, T: LinalgElement, K> {
    pub(super) call: LinalgCall<'a, T>,
    _rank: PhantomData<fn() -> K>,
}

/// A function and its operands.
pub(super) struct LinalgCall<'a, T: LinalgElement> {
    function: LinalgFunction,
    a: ArrayOperand<'a, T>,
    b: Option<ArrayOperand<'a, T>>,
    pub(super) home: Option<Stream>,
}

/// An array that a kernel writes from its first element on in C order: the address and the home.
pub(super) type Memory<'r> = (u64, &'r Stream);

/// The memory of a call beside its first result.
#[derive(Default)]
pub(super) struct Further<'r> {
    /// The second result.
    pub(super) second: Option<Memory<'r>>,
    /// The status of each matrix.
    pub(super) info: Option<Memory<'r>>,
    /// The word of the first failure.
    pub(super) first_failure: Option<Memory<'r>>,
}

/// The memory of a new array.
pub(super) fn memory<'r, S: Element, E: Dimension>(view: &'r mut GpuViewMut<'_, S, E>) -> Result<Memory<'r>> {
    let lowered = view.lower_mut()?;
    Ok((lowered.address, lowered.home))
}

impl<'a, T: LinalgElement> LinalgCall<'a, T> {
    pub(super) fn new<D: Dimension>(function: LinalgFunction, a: Expr<'a, T, D>) -> Self {
        Self { function, a: ArrayOperand::new(a), b: None, home: None }
    }

    pub(super) fn with_right_sides<E: Dimension>(self, b: Expr<'a, T, E>) -> Self {
        Self { b: Some(ArrayOperand::new(b)), ..self }
    }

    /// The shapes of the operands and results.
    pub(super) fn shape(&self) -> Result<LinalgShape> {
        let b = self.b.as_ref().map(ArrayOperand::assembled).transpose()?;
        LinalgShape::of(self.function, self.a.assembled()?.shape(), b.map(Assembled::shape))
    }

    /// The stream of the result.
    pub(super) fn stream(&self) -> Result<&Stream> {
        if let Some(home) = &self.home {
            return Ok(home);
        }
        let of_b = || Some(self.b.as_ref()?.assembled.as_ref().ok()?.stream());
        match self.a.assembled()?.stream() {
            Ok(stream) => Ok(stream),
            Err(error) => Ok(of_b().unwrap_or(Err(error))?),
        }
    }

    /// Enqueues the function on `stream`. Does not wait.
    pub(super) fn enqueue<K: Dimension>(
        &self,
        shape: &LinalgShape,
        stream: &Stream,
        mut target: GpuViewMut<'_, T, K>,
        further: Further<'_>,
    ) -> Result<()> {
        let target = target.lower_mut()?;
        let on_left = self.a.compute(stream)?;
        let on_right = self.b.as_ref().map(|b| b.compute(stream)).transpose()?;
        let lowered_left = on_left.lower()?;
        let lowered_right = on_right.as_ref().map(|b| b.lower()).transpose()?.flatten();
        let (left, mut homes) = self.a.array(lowered_left.as_ref())?;
        let rank = shape.batch.len();
        let c = ArrayLayout { address: target.address, shape: target.shape, strides: target.strides };
        let mut operands =
            [Matrix::new(&c, shape.has_axes, rank), Matrix::new(&left, (true, true), rank), Matrix::none(rank)];
        if let Some(b) = &self.b {
            let (right, right_homes) = b.array(lowered_right.as_ref())?;
            operands[2] = Matrix::new(&right, shape.has_axes, rank);
            homes.extend(right_homes);
        }
        homes.push(target.home);
        let Further { second, info, first_failure } = further;
        homes.extend([second, info, first_failure].into_iter().flatten().map(|(_, home)| home));
        let [second, info, first_failure] =
            [second, info, first_failure].map(|place| place.map_or(0, |(address, _)| address));
        let problem = LinalgProblem::new(self.function, T::DTYPE, shape, operands);
        let problem = LinalgProblem { second, info, first_failure, ..problem };
        launch::run(&problem, &unique(homes), stream)
    }

    /// Computes the function into `target`, and waits for the statuses if some matrices may have no result.
    fn write_checked<K: Dimension>(
        &self,
        shape: &LinalgShape,
        stream: &Stream,
        target: GpuViewMut<'_, T, K>,
    ) -> Result<()> {
        if !self.function.may_fail() {
            return self.enqueue(shape, stream, target, Further::default());
        }
        if stream.is_capturing()? {
            return Err(DriverError::InCapture { op: self.function.name() }.into());
        }
        let mut word = GpuArray::<u64, Ix0>::zeros(stream, ())?;
        let mut view = word.view_mut();
        let further = Further { first_failure: Some(memory(&mut view)?), ..Further::default() };
        self.enqueue(shape, stream, target, further)?;
        match word.get()? {
            0 => Ok(()),
            word => {
                let (matrix, pivot) = (!word >> PIVOT_BITS, !word & ((1 << PIVOT_BITS) - 1));
                Err(self.function.failure(shape.index(matrix as usize), pivot as usize))
            }
        }
    }
}

impl<'a, T: LinalgElement, K: Dimension> LinalgValue<'a, T, K> {
    pub(super) fn new(call: LinalgCall<'a, T>) -> Self {
        Self { call, _rank: PhantomData }
    }

    /// Computes on this stream, or on a device's main stream, which is then the home of a new result.
    /// It is needed if no operand reads an array.
    pub fn on(mut self, home: impl Into<Stream>) -> Self {
        self.call.home = Some(home.into());
        self
    }

    /// Computes the result as a new array in C order, and waits until it is known that each matrix has a result. [`det`](super::det) does not wait.
    ///
    /// The home of the first array is the home of the result, and orders the work.
    ///
    /// # Cost
    /// One launch for the whole stack, and one for each operand that is an expression; a word of device memory, which is copied to the host. The first
    /// call of a function for matrices of up to 4, 8, 16 and 32 rows, and the first for larger ones, compiles or loads its kernel.
    ///
    /// # Errors
    /// `Singular` and `NotPositiveDefinite` with the index in the stack of the first matrix without a result, and with its first failing pivot;
    /// `NoMatrices`, `NotSquare`, `MatrixTooLarge`; `InnerLength` if b has not as many rows as a, `Stacks` for stacks that do not broadcast;
    /// `TooManyAxes` if more than 8 axes of a stack remain after contiguous ones are joined; `Array` with the errors of the operands, for a result
    /// that is too large, and with `NoHome` if there is no array and no stream; `Driver`, with `InCapture` for a function that waits.
    pub fn eval(&self) -> Result<GpuArray<T, K>> {
        let shape = self.call.shape()?;
        let stream = self.call.stream()?;
        let mut result = allocate(stream, dim_of::<K>(self.call.function.name(), &shape.result)?)?;
        self.call.write_checked(&shape, stream, result.view_mut())?;
        Ok(result)
    }

    /// Computes the result and the status of each matrix as new arrays in C order. Does not wait, and may be captured.
    ///
    /// The second array has the shape of the stack. It holds 0, or for a matrix without a result the number of the first failing pivot, counted from 1
    /// as LAPACK's `info`; all elements of that matrix's result are NaN. Of a singular matrix [`det`](super::det) is 0, and the number is told too.
    ///
    /// # Errors
    /// As [`LinalgValue::eval`], without `Singular`, `NotPositiveDefinite` and `InCapture`.
    pub fn eval_with_info(&self) -> Result<(GpuArray<T, K>, Info)> {
        let shape = self.call.shape()?;
        let stream = self.call.stream()?;
        let mut result = allocate(stream, dim_of::<K>(self.call.function.name(), &shape.result)?)?;
        let mut info: Info = allocate(stream, IxDyn(&shape.batch))?;
        let mut view = info.view_mut();
        let further = Further { info: Some(memory(&mut view)?), ..Further::default() };
        self.call.enqueue(&shape, stream, result.view_mut(), further)?;
        Ok((result, info))
    }

    /// Computes the result into an existing array or view of its shape, with any strides, and waits as [`LinalgValue::eval`].
    ///
    /// # Errors
    /// As [`LinalgValue::eval`]; `OutShape`. After `Singular` or `NotPositiveDefinite` the results of all other matrices are written, and those without
    /// one are NaN. After an error of the driver the array is unchanged, unless the launch had begun: then it may have been written.
    pub fn write_into<'t>(&self, target: impl Into<GpuViewMut<'t, T, K>>) -> Result<()>
    where
        K: 't,
    {
        let (target, shape) = (target.into(), self.call.shape()?);
        if target.shape() != &shape.result[..] {
            return Err(AlgoError::OutShape { expected: shape.result.to_vec(), got: target.shape().to_vec() });
        }
        let stream = self.call.home.clone().unwrap_or_else(|| target.stream().clone());
        self.call.write_checked(&shape, &stream, target)
    }
}

impl<T: LinalgElement> LinalgValue<'_, T, Ix0> {
    /// The value of one matrix, such as its determinant: computes it, waits, and copies it to the host.
    ///
    /// # Errors
    /// As [`LinalgValue::eval`]; `DeviceLost` when a kernel faulted.
    pub fn get(&self) -> Result<T> {
        Ok(self.eval()?.get()?)
    }
}

impl<T: LinalgElement> fmt::Debug for LinalgCall<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = |operand: &ArrayOperand<'_, T>| match &operand.assembled {
            Ok(assembled) => format!("{:?}", assembled.shape()),
            Err(error) => ArrayError::to_string(error),
        };
        let operands: Vec<String> = [Some(&self.a), self.b.as_ref()].into_iter().flatten().map(shape).collect();
        write!(f, "{}({})", self.function.name(), operands.join(", "))
    }
}

impl<T: LinalgElement, K> fmt::Debug for LinalgValue<'_, T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt(f)
    }
}
