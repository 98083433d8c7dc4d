//! Arrays, views and scalars as expressions.

use std::{fmt, sync::Arc};

use gpu_driver::{DevicePod, DeviceSlice, DeviceVec, Stream};
use ndarray::{Array, ArrayView, DimMax, Dimension};
use smallvec::SmallVec;

use super::expr::{Backend, Expr, Gpu, Host, IntoExpr, IntoOperand, Operand, Operation, OwnedRhs, Rhs};
use crate::{
    Element, GpuArray, GpuView, GpuViewMut, Result,
    element::OwnedHost,
    expression::graph::{Leaf, LeafMemory, Op, OwnedBuffer, Value},
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
            type Promoted = U;
        }

        impl<'a, $($generics)*, U: Element, E: Dimension, D: DimMax<E> + Dimension> IntoOperand<'a, D, $place> for $type {
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

impl<U: Element, E: Dimension, T: Element, D: DimMax<E> + Dimension> Rhs<'_, T, D, Gpu> for GpuArray<U, E> {
    type Promoted = U;
}

impl<'a, U: Element, E: Dimension, D: DimMax<E> + Dimension> IntoOperand<'a, D, Gpu> for GpuArray<U, E> {
    type Elem = U;
    type Dim = <D as DimMax<E>>::Output;
    fn into_value(self) -> Operand<'a> {
        Operand(self.into_owned_expr().value)
    }
}

/// [`OwnedRhs`] for a type that is [`Rhs`] for as long as `$life`.
macro_rules! owned_rhs {
    ($([$($generics:tt)*] $type:ty, $life:lifetime;)*) => {$(
        impl<$($generics)* U: Element, E: Dimension, T: Element, D: DimMax<E> + Dimension> OwnedRhs<T, D> for $type {
            type Elem = U;
            type Expr<V: Element> = Expr<$life, V, <D as DimMax<E>>::Output>;
            fn after<V: Element>(self, left: Operand<'static>, operation: Operation) -> Self::Expr<V> {
                let right: Operand<$life> = IntoOperand::<D, Gpu>::into_value(self);
                Expr::of(Value::binary(operation.op, V::DTYPE, operation.common, left.0, right.0))
            }
        }
    )*};
}

owned_rhs! {
    ['a,] Expr<'a, U, E>, 'a;
    ['a, 'r,] &'r Expr<'a, U, E>, 'a;
    [] GpuArray<U, E>, 'static;
    ['a,] &'a GpuArray<U, E>, 'a;
    ['a,] GpuView<'a, U, E>, 'a;
    ['a, 'r,] &'r GpuView<'a, U, E>, 'a;
    ['a, 'r,] &'a GpuViewMut<'r, U, E>, 'a;
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

/// An array on the host as an expression that owns it, as an array on a GPU that is given by value.
///
/// ```
/// use gpu_array::expression::{host, host_owned};
/// let y = ndarray::array![3f64, 4.0];
/// let sum = host_owned(ndarray::array![1f64, 2.0]) + host(&y);
/// assert_eq!(sum.eval()?, ndarray::array![4.0, 6.0]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub fn host_owned<T: Element, D: Dimension>(array: Array<T, D>) -> Expr<'static, T, D, Host> {
    let (shape, strides) = (SmallVec::from_slice(array.shape()), SmallVec::from_slice(array.strides()));
    let memory = LeafMemory::OwnedHost(OwnedHost::new(array.into_dyn()));
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
    let memory = LeafMemory::Device { address: data.as_raw(), home: data.home(), pending };
    leaf_of::<T, D>(memory, layout.lies_within(data.len()), layout)
}

/// The buffer of an array that an expression owns.
struct DeviceBuffer<S: DevicePod> {
    data: DeviceVec<S>,
    pending: Pending,
}

impl<S: DevicePod> OwnedBuffer for DeviceBuffer<S> {
    fn address(&self) -> u64 {
        self.data.as_raw()
    }
    fn home(&self) -> &Stream {
        self.data.home()
    }
    fn pending(&self) -> &Pending {
        &self.pending
    }
}

impl<S: DevicePod> fmt::Debug for DeviceBuffer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.data.fmt(f)
    }
}

/// The elements of a memory, unless the layout leads out of it.
fn leaf_of<'a, T: Element, D: Dimension>(
    memory: LeafMemory<'a>,
    lies_within: Result<()>,
    layout: &Layout<D>,
) -> Value<'a> {
    if let Err(error) = lies_within {
        return Value::failed(error, T::DTYPE);
    }
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

impl<T: Element, D: Dimension> GpuArray<T, D> {
    /// An expression that owns the array.
    pub(crate) fn into_owned_expr(self) -> Expr<'static, T, D> {
        let (data, layout, pending) = self.into_parts();
        let lies_within = layout.lies_within(data.len());
        Expr::of(leaf_of::<T, D>(
            LeafMemory::OwnedDevice(Arc::new(DeviceBuffer { data, pending })),
            lies_within,
            &layout,
        ))
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
