//! Arrays, views and scalars as expressions.

use gpu_driver::DeviceSlice;
use ndarray::{ArrayView, DimMax, Dimension};
use smallvec::SmallVec;

use super::expr::{Backend, Expr, Gpu, Host, IntoExpr, Operand, Rhs};
use crate::{
    Element, GpuArray, GpuView, GpuViewMut,
    expression::graph::{Leaf, LeafMemory, Op, Value},
    layout::Layout,
    pending::Pending,
};

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
