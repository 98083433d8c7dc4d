//! `eval` and the functions beside it: expressions to arrays, one or several at once.

use gpu_driver::Stream;
use ndarray::Dimension;

use super::expr::{Backend, Expr, INTERNAL, IntoExpr};
use crate::{
    ArrayError, Element, GpuArray, Result,
    expression::{
        graph::{Assembled, Lowered, Value},
        job::Job,
    },
};

impl<T: Element, D: Dimension, P: Backend> Expr<'_, T, D, P> {
    /// Computes the value as a new array, on the device (and in the order of the stream) that the first of its arrays has for home, or on
    /// the CPU. Does not wait for a device.
    ///
    /// The result is in C order; on a device it is in Fortran order where all arrays of the full shape are.
    ///
    /// # Cost
    /// One kernel, nothing allocated but the result; on the CPU one pass in chunks that stay in the cache. The first time that an expression of this
    /// form comes (operations, types and sharing; not shapes and scalars), its kernel is compiled (some 100 ms) or loaded from the cache on disk.
    ///
    /// # Errors
    /// `Operands` for shapes that do not fit; `Devices` for arrays of several devices; `NoHome` and `NoShape` for an expression without any array;
    /// `TooManyOperations`, `TooManyArguments`; `TooLarge`; the errors of the functions that made it (`NotAnArray`, `Axis`, `Ndim`); the driver's.
    #[track_caller]
    pub fn eval(&self) -> Result<P::Owned<T, D>> {
        evaluate(self, None)
    }
}

impl<'a, T: Element, D: Dimension, P: Backend> Expr<'a, T, D, P> {
    /// An expression that cannot be evaluated: `eval` returns this error.
    pub fn failed(error: ArrayError) -> Self {
        Self::of(Value::failed(error, T::DTYPE))
    }

    /// [`Expr::lower`] for a value that is evaluated later, or never: the error that an operator such as `+=` on an array could not return is that of
    /// [`Assembled::ready`], which the evaluation calls before its launch.
    ///
    /// # Errors
    /// The errors of [`Expr::lower`] but that of an operator.
    pub fn lower_deferred(&self) -> Result<Assembled<'a>> {
        Assembled::of(&[&self.value], D::NDIM.unwrap_or(0))
    }

    /// [`Expr::lower_deferred`] of this value and of another one of its shape, as one structure with two outputs: an array that both read is one leaf.
    ///
    /// # Errors
    /// The errors of [`Expr::lower_deferred`]; `Outputs` for values of two shapes.
    pub fn lower_with<U: Element>(&self, other: &Expr<'a, U, D, P>) -> Result<Assembled<'a>> {
        Assembled::of(&[&self.value, &other.value], D::NDIM.unwrap_or(0))
    }
}

impl<'a, T: Element, D: Dimension> Expr<'a, T, D> {
    /// [`Expr::eval`] on a stream of one's own, or a device's main stream: the result has it for home. Needed where no array of the expression
    /// has one.
    ///
    /// # Errors
    /// The errors of [`Expr::eval`].
    ///
    /// ```no_run
    /// use gpu_array::expression::{Gpu, index};
    /// use ndarray::{Axis, Ix2};
    /// # let device = gpu_array::gpu_driver::Device::first()?;
    /// let products = index::<Ix2, Gpu>(Axis(0)) * index::<Ix2, Gpu>(Axis(1));
    /// let table = products.broadcast((10, 10)).eval_on(&device)?;
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    #[track_caller]
    pub fn eval_on(&self, home: impl Into<Stream>) -> Result<GpuArray<T, D>> {
        evaluate(self, Some(&home.into()))
    }

    /// The expression for a loop of one's own; it has one output. The [deferred](crate::expression::Deferred) computations in it are evaluated.
    ///
    /// # Errors
    /// The errors of [`Expr::eval`] for shapes and deferred computations; `TooManyOperations`; `Devices`; the error that an operator such as `+=` on an array
    /// could not return.
    pub fn lower(&self) -> Result<Lowered<'a>> {
        self.lower_deferred()?.into_ready()
    }
}

/// Computes one value as a new array.
#[track_caller]
pub(crate) fn evaluate<T: Element, D: Dimension, P: Backend>(
    expr: &Expr<'_, T, D, P>,
    home: Option<&Stream>,
) -> Result<P::Owned<T, D>> {
    let mut job = Job::new(home);
    job.take(&[&expr.value], D::NDIM)?;
    P::resolve(&mut job, INTERNAL)?;
    let mut value = P::allocate::<T, D>(&job, INTERNAL)?;
    P::run(&job, &mut [P::target(&mut value, INTERNAL)], INTERNAL)?;
    Ok(value)
}

/// Several values of one shape, for [`eval_all`]: a tuple of two to six expressions or arrays of one place.
pub trait Values<'a> {
    /// The arrays.
    type Arrays;

    /// [`eval_all`].
    ///
    /// # Errors
    /// The errors of [`eval_all`].
    #[track_caller]
    fn eval_all(self) -> Result<Self::Arrays>;
}

/// Computes several values together, in one kernel or one pass: parts that they share are computed once, and arrays that they share are read once.
///
/// # Errors
/// The errors of [`Expr::eval`]; `Outputs` unless all have one shape.
///
/// ```
/// use gpu_array::expression::{eval_all, host};
/// let x = ndarray::array![0f64, 1.0, 2.0];
/// let e = host(&x).exp();
/// let (sinh, cosh) = eval_all(((&e - 1.0 / &e) / 2.0, (&e + 1.0 / &e) / 2.0))?;
/// assert_eq!((sinh[0], cosh[0]), (0.0, 1.0));
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
#[track_caller]
pub fn eval_all<'a, V: Values<'a>>(values: V) -> Result<V::Arrays> {
    values.eval_all()
}

macro_rules! values {
    ($($first:ident $($other:ident)*;)*) => {$(
        impl<'a, $first: IntoExpr<'a>, $($other: IntoExpr<'a, Backend = $first::Backend>),*> Values<'a> for ($first, $($other),*) {
            type Arrays = (
                <$first::Backend as Backend>::Owned<$first::Elem, $first::Dim>,
                $(<$first::Backend as Backend>::Owned<$other::Elem, $other::Dim>),*
            );

            #[expect(non_snake_case, reason = "values are named as their types")]
            #[track_caller]
            fn eval_all(self) -> Result<Self::Arrays> {
                let ($first, $($other),*) = self;
                let ($first, $($other),*) = ($first.into_expr(), $($other.into_expr()),*);
                let mut job = Job::new(None);
                job.take(&[&$first.value, $(&$other.value),*], <$first::Dim as Dimension>::NDIM)?;
                <$first::Backend as Backend>::resolve(&mut job, INTERNAL)?;
                let mut $first = <$first::Backend as Backend>::allocate::<$first::Elem, $first::Dim>(&job, INTERNAL)?;
                $(let mut $other = <$first::Backend as Backend>::allocate::<$other::Elem, $other::Dim>(&job, INTERNAL)?;)*
                let mut targets = [
                    <$first::Backend as Backend>::target(&mut $first, INTERNAL),
                    $(<$first::Backend as Backend>::target(&mut $other, INTERNAL)),*
                ];
                <$first::Backend as Backend>::run(&job, &mut targets, INTERNAL)?;
                Ok(($first, $($other),*))
            }
        }
    )*};
}

values! { A B; A B C; A B C E; A B C E F; A B C E F G; }
