//! Matrix products as values: the factors and the destination.

use std::{fmt, marker::PhantomData};

use gpu_array::{
    ArrayError, GpuArray, GpuViewMut,
    expression::{Assembled, Expr, IntoExpr, Lowered, LoweredLeaf, LoweredTarget},
    gpu_driver::Stream,
};
use ndarray::{Dimension, Ix0, IxDyn};

use super::{
    element::MatmulElement,
    launch,
    problem::{ArrayLayout, MatmulProblem, MatmulShape},
    vectors,
};
use crate::{
    AlgoError, Result,
    common::{
        launch::{Homes, allocate, unique},
        shape::dim_of,
        source::checked,
    },
};

/// A matrix product that has not been computed.
///
/// [`Matmul::matmul`](super::Matmul::matmul) makes it; [`MatrixProduct::eval`], [`MatrixProduct::get`] or [`MatrixProduct::write_into`] computes it.
///
/// `T` is the element type, `K` the rank of the result.
#[must_use = "it is computed by `eval`"]
pub struct MatrixProduct<'a, T: MatmulElement, K> {
    a: Factor<'a, T>,
    b: Factor<'a, T>,
    home: Option<Stream>,
    _rank: PhantomData<fn() -> K>,
}

/// A factor: an array or a view, or an expression that becomes an array first.
pub(super) struct Factor<'a, T: MatmulElement> {
    assembled: Result<Assembled<'a>, ArrayError>,
    /// The expression, unless it is an array.
    computed: Option<Expr<'a, T, IxDyn>>,
}

impl<'a, T: MatmulElement> Factor<'a, T> {
    pub(super) fn new<D: Dimension>(value: Expr<'a, T, D>) -> Self {
        let assembled = value.lower_deferred();
        let expression = assembled.as_ref().ok().filter(|assembled| assembled.as_array().is_none());
        let computed = expression.map(|assembled| value.broadcast(IxDyn(assembled.shape())));
        Self { assembled, computed }
    }

    fn assembled(&self) -> Result<&Assembled<'a>> {
        Ok(checked(&self.assembled)?)
    }

    /// The array that the factor has to become; None if it is one.
    fn compute(&self, stream: &Stream) -> Result<Option<GpuArray<T, IxDyn>>> {
        let computed = self.computed.as_ref().map(|expression| expression.eval_on(stream));
        Ok(computed.transpose()?)
    }

    /// The array in memory and its streams: that which was computed, or the factor itself.
    fn array<'s>(&'s self, computed: Option<&'s Lowered<'_>>) -> Result<(ArrayLayout<'s>, Homes<'s>)> {
        if let Some(computed) = computed {
            return array(computed);
        }
        match self.assembled()?.as_array() {
            Some(lowered) => array(lowered),
            None => unreachable!("a factor is an array or has become one"),
        }
    }
}

fn array<'l>(lowered: &'l Lowered<'_>) -> Result<(ArrayLayout<'l>, Homes<'l>)> {
    let Some(LoweredLeaf { address, strides, .. }) = lowered.array() else {
        unreachable!("a factor is an array or has become one");
    };
    Ok((
        ArrayLayout { address, shape: lowered.shape(), strides },
        unique(lowered.homes().map(|home| -> &Stream { home })),
    ))
}

/// Enqueues `target = alpha a b + beta target` on `stream`. Nothing is enqueued, and the result is false, if a vector is multiplied and alpha is not 1
/// or beta not 0.
///
/// # Errors
/// Those of [`MatrixProduct::write_into`].
pub(super) fn multiply<T: MatmulElement>(
    op: &'static str,
    [a, b]: [&Factor<'_, T>; 2],
    stream: &Stream,
    (alpha, beta): (T, T),
    target: LoweredTarget<'_>,
) -> Result<bool> {
    let shape = MatmulShape::of(op, a.assembled()?.shape(), b.assembled()?.shape())?;
    let expected = shape.result();
    if target.shape != &expected[..] {
        return Err(AlgoError::OutShape { expected: expected.to_vec(), got: target.shape.to_vec() });
    }
    let is_plain = alpha == T::one() && beta == T::ZERO;
    if shape.is_of_vectors() && !is_plain {
        return Ok(false);
    }
    let computed = [a.compute(stream)?, b.compute(stream)?];
    let [on_left, on_right] = computed.each_ref().map(|array| array.as_ref().map(|array| array.into_expr().lower()));
    let (on_left, on_right) = (on_left.transpose()?, on_right.transpose()?);
    let ((left, left_homes), (right, right_homes)) = (a.array(on_left.as_ref())?, b.array(on_right.as_ref())?);
    let (left, right) = (shape.left(&left), shape.right(&right));
    let result = shape.target(&ArrayLayout { address: target.address, shape: target.shape, strides: target.strides });
    let homes = unique(left_homes.into_iter().chain(right_homes).chain([target.home]));
    if shape.is_of_vectors() {
        vectors::run(op, T::DTYPE, &shape, [&left, &right, &result], &homes, stream)?;
        return Ok(true);
    }
    let problem =
        MatmulProblem::new(T::DTYPE, &shape, [left, right, result], (alpha.to_words()[0], beta.to_words()[0]));
    launch::run(op, &problem, &homes, stream)?;
    Ok(true)
}

impl<'a, T: MatmulElement, K: Dimension> MatrixProduct<'a, T, K> {
    pub(super) fn new(a: Factor<'a, T>, b: Factor<'a, T>) -> Self {
        Self { a, b, home: None, _rank: PhantomData }
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
    /// One launch, of 2 m n k operations for each matrix. A factor that is an expression is computed first, by a launch into an array. If there are too
    /// few tiles of the result for the device, several blocks share each, and scratch memory of the stream holds their sums. Products with a row or
    /// a column are reductions, which read the matrix once and round no more than [`dot`](crate::Reductions::dot) does. The first product of this form
    /// compiles or loads its kernel.
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
        self.write(stream, result.view_mut().lower_mut()?)?;
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
        let mut target = target.into();
        let target = target.lower_mut()?;
        self.write(self.home.as_ref().unwrap_or(target.home), target)
    }

    fn write(&self, stream: &Stream, target: LoweredTarget<'_>) -> Result<()> {
        multiply("matmul", [&self.a, &self.b], stream, (T::one(), T::ZERO), target).map(drop)
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
