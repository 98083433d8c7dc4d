//! Expressions as the compiler sees them: element type, rank, place; the types that become one; where they are evaluated.

use std::{fmt, marker::PhantomData};

use gpu_driver::DeviceSlice;
use ndarray::{ArrayView, DimMax, Dimension};
use smallvec::SmallVec;

use super::{
    Code, Leaf, LeafMemory, Op, Pending,
    backend::{Backend, Gpu, Host},
    graph::assemble,
    job,
    node::Value,
};
use crate::{Element, GpuArray, GpuView, GpuViewMut, Result, layout::Layout};

/// A value at each place of an array that does not exist yet: operators and functions on arrays, views, scalars and other expressions build
/// it, and [`Expr::eval`] computes it, in one kernel on a GPU or one pass over the CPU's threads.
///
/// `T` is the element type of the value, `D` its rank, `P` where its arrays are: the compiler checks that all three fit. The operations
/// themselves are not in the type, so expressions can be built in loops and be of any depth.
///
/// Building one costs some 100 ns and cannot fail; `eval` reports shapes that do not fit. An expression borrows the arrays that it reads. A clone
/// refers to the same value: a value that is used twice, by a clone or a reference, is computed once.
///
/// ```no_run
/// # let device = gpu_array::gpu_driver::Device::first()?;
/// # let x = gpu_array::GpuArray::<f32, _>::zeros(&device, 100)?;
/// # let y = gpu_array::GpuArray::<f32, _>::zeros(&device, 100)?;
/// let z = (5.0 * &x + y.sin() * 6.0).eval()?;
///
/// let mut horner = &x * 0.5; // x/2, then ((x/2 + 1) x + 1) x + 1 ...: one kernel in the end
/// for _ in 0..8 {
///     horner = (horner + 1.0) * &x;
/// }
/// let w = horner.eval()?;
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
/// Arrays on the host and on a GPU do not mix:
/// ```compile_fail,E0277
/// # use gpu_array::{GpuArray, expression::host};
/// # fn test(x: GpuArray<f32, ndarray::Ix1>, y: ndarray::Array1<f32>) {
/// let sum = &x + host(&y);
/// # }
/// ```
///
/// A scalar has the element type of the array that it stands beside:
/// ```compile_fail,E0277
/// # fn test(x: gpu_array::GpuArray<i32, ndarray::Ix1>) {
/// let scaled = &x * 2.5f32; // x.cast::<f32>() * 2.5
/// # }
/// ```
///
/// An expression that reads an array cannot be assigned to it:
/// ```compile_fail,E0502
/// # fn test(mut x: gpu_array::GpuArray<f32, ndarray::Ix1>) -> gpu_array::Result<()> {
/// x.assign(&x * 2.0)?; // x.update(|x| x * 2.0)?
/// # Ok(())
/// # }
/// ```
///
/// Nor can it be written to while an expression of it lives:
/// ```compile_fail,E0502
/// # fn test(mut x: gpu_array::GpuArray<f32, ndarray::Ix1>) -> gpu_array::Result<()> {
/// let twice = &x * 2.0;
/// x.fill(0.0)?;
/// twice.eval()?;
/// # Ok(())
/// # }
/// ```
/// # Semantics
/// Those of NumPy, with types known at compile time; the crate's page has the table of them.
pub struct Expr<'a, T: Element, D: Dimension, P: Backend = Gpu> {
    pub(crate) value: Value<'a>,
    _value: PhantomData<Types<T, D, P>>,
}

/// The types that an expression has no value of; a function type, so that any thread may have the expression.
type Types<T, D, P> = fn() -> (T, D, P);

impl<'a, T: Element, D: Dimension, P: Backend> Expr<'a, T, D, P> {
    pub(crate) fn of(value: Value<'a>) -> Self {
        Self { value, _value: PhantomData }
    }

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
    pub fn eval(&self) -> Result<P::Owned<T, D>> {
        job::evaluate(self, None)
    }

    /// The shape of the value.
    ///
    /// # Errors
    /// The errors of [`Expr::eval`] for shapes.
    pub fn shape(&self) -> Result<Vec<usize>> {
        let mut code = Code::default();
        assemble(&mut code, &[&self.value], D::NDIM.unwrap_or(0))?;
        Ok(code.shape.to_vec())
    }

    /// The value in at least this shape: axes of length 1 and axes in front are added by repetition.
    ///
    /// `eval` reports a shape that it does not fit.
    #[must_use]
    pub fn broadcast<E: ndarray::IntoDimension>(&self, shape: E) -> Expr<'a, T, E::Dim, P> {
        Expr::of(self.value.clone().broadcast(shape.into_dimension().slice()))
    }

    pub(crate) fn to_expr(&self) -> Self {
        self.clone()
    }
}

impl<T: Element, D: Dimension, P: Backend> Clone for Expr<'_, T, D, P> {
    /// Another reference to the same value.
    fn clone(&self) -> Self {
        Self::of(self.value.clone())
    }
}

impl<T: Element, D: Dimension, P: Backend> fmt::Debug for Expr<'_, T, D, P> {
    /// Writes the value as a formula, cut off where it gets long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expr<{}>({})", T::DTYPE, self.value)
    }
}

/// Types that are an expression or can be read as one: `&GpuArray`, views, and expressions themselves.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no array and no expression",
    note = "arrays on a GPU are taken as `&x`, views and expressions as they are or by reference, arrays on the host as `host(&x)`"
)]
pub trait IntoExpr<'a> {
    /// Its element type.
    type Elem: Element;
    /// Its rank.
    type Dim: Dimension;
    /// The place of its arrays.
    type Backend: Backend;

    /// The expression.
    fn into_expr(self) -> Expr<'a, Self::Elem, Self::Dim, Self::Backend>;
}

/// The right operand of an operation whose left one has elements of type `T`, rank `D` and place `P`: an array, a view or an expression of that
/// place, or a scalar of the type `T` itself.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be combined with an array of `{T}` on `{P}`",
    label = "neither an array or expression on `{P}` nor a scalar of type `{T}`",
    note = "a scalar has the array's own element type (`2.0 * &x` for floats, `2 * &x` for integers); `.cast::<f64>()` makes another",
    note = "arrays are taken as `&x`; arrays on the host and on a GPU do not mix: `GpuArray::from_ndarray` and `to_ndarray` copy"
)]
pub trait Rhs<'a, T: Element, D: Dimension, P: Backend> {
    /// Its element type.
    type Elem: Element;
    /// The rank of the result.
    type Dim: Dimension;

    #[doc(hidden)]
    fn into_value(self) -> Operand<'a>;
}

/// An operand without its types.
#[derive(Clone)]
#[doc(hidden)]
pub struct Operand<'a>(pub(crate) Value<'a>);

impl fmt::Debug for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl<'a, T: Element, D: Dimension, P: Backend> Rhs<'a, T, D, P> for T {
    type Elem = T;
    type Dim = D;
    fn into_value(self) -> Operand<'a> {
        Operand(Value::scalar(self))
    }
}

/// Both traits for a type that has a method `to_expr`.
macro_rules! expressions {
    ($([$($generics:tt)*] $type:ty, $place:ty;)*) => {$(
        impl<'a, $($generics)*, U: Element, E: Dimension> IntoExpr<'a> for $type {
            type Elem = U;
            type Dim = E;
            type Backend = $place;
            fn into_expr(self) -> Expr<'a, U, E, $place> {
                self.to_expr()
            }
        }

        impl<'a, $($generics)*, U: Element, E: Dimension, T: Element, D: DimMax<E> + Dimension> Rhs<'a, T, D, $place> for $type {
            type Elem = U;
            type Dim = <D as DimMax<E>>::Output;
            fn into_value(self) -> Operand<'a> {
                Operand(self.to_expr().value)
            }
        }
    )*};
}

expressions! {
    [P: Backend] Expr<'a, U, E, P>, P;
    ['r, P: Backend] &'r Expr<'a, U, E, P>, P;
    ['r] &'a GpuArray<U, E>, Gpu;
    ['r] GpuView<'a, U, E>, Gpu;
    ['r] &'r GpuView<'a, U, E>, Gpu;
    ['r] &'a GpuViewMut<'r, U, E>, Gpu;
}

/// An array on the host, or a view of one, as an expression that is evaluated by the CPU's threads.
///
/// ```
/// use gpu_array::expression::host;
/// let (x, y) = (ndarray::array![1f64, 2.0, 3.0], ndarray::array![4f64, 5.0, 6.0]);
/// let z = (5.0 * host(&x) + host(&y).sqrt()).eval()?;
/// assert_eq!(z, ndarray::array![7.0, 10.0 + 5f64.sqrt(), 15.0 + 6f64.sqrt()]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub fn host<'a, T: Element, D: Dimension>(array: impl Into<ArrayView<'a, T, D>>) -> Expr<'a, T, D, Host> {
    let view = array.into();
    let (shape, strides) = (SmallVec::from_slice(view.shape()), SmallVec::from_slice(view.strides()));
    let memory = LeafMemory::Host(T::host_view(view.into_dyn()));
    Expr::of(Value::leaf(Leaf { memory, dtype: T::DTYPE, offset: 0, shape, strides }))
}

/// The value is the same everywhere: a scalar as an expression of rank 0.
pub fn constant<T: Element, P: Backend>(value: T) -> Expr<'static, T, ndarray::Ix0, P> {
    Expr::of(Value::scalar(value))
}

/// The elements that a layout leads to.
fn leaf<'a, T: Element, D: Dimension>(
    data: DeviceSlice<'a, T::Storage>,
    layout: &Layout<D>,
    pending: Option<&'a Pending>,
) -> Value<'a> {
    if let Err(error) = layout.lies_within(data.len()) {
        return Value::failed(error, T::DTYPE);
    }
    let memory = LeafMemory::Device { address: data.as_raw(), home: data.home(), pending };
    let (shape, strides) = (SmallVec::from_slice(layout.shape()), SmallVec::from_slice(layout.strides()));
    let offset = layout.offset() as isize;
    Value::leaf(Leaf { memory, dtype: T::DTYPE, offset, shape, strides })
}

impl<'a, T: Element, D: Dimension> GpuView<'a, T, D> {
    pub(crate) fn to_expr(&self) -> Expr<'a, T, D> {
        Expr::of(leaf::<T, D>(self.data(), self.layout(), self.pending()))
    }
}

impl<T: Element, D: Dimension> GpuArray<T, D> {
    pub(crate) fn to_expr(&self) -> Expr<'_, T, D> {
        Expr::of(leaf::<T, D>(self.data(), self.layout(), self.pending()))
    }
}

impl<'a, T: Element, D: Dimension> GpuViewMut<'a, T, D> {
    pub(crate) fn to_expr(&self) -> Expr<'_, T, D> {
        Expr::of(leaf::<T, D>(self.data(), self.layout(), self.pending()))
    }

    /// Its own elements, each to be read where it is written. Functions that read at computed places do not take it for an array: another thread of
    /// the kernel may have written there.
    pub(crate) fn own_elements(&self) -> Expr<'a, T, D> {
        let (data, pending) = self.own();
        Expr::of(Value::unary(Op::Copy, T::DTYPE, leaf::<T, D>(data, self.layout(), pending)))
    }
}
