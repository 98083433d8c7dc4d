//! Arrays of either place that are written to.

use ndarray::{ArrayBase, ArrayViewMut, DataMut, Dimension};

use super::{
    arrays::{host, host_owned},
    expr::{Backend, Expr, Gpu, Host, IntoExpr, Rhs},
};
use crate::{
    Element, GpuArray, GpuViewMut, Integer, Result,
    expression::{
        graph::{Op, Value},
        job,
    },
    put::put_on_host,
};

/// Arrays that can be written to, whole and as views, on a GPU or on the host: [`GpuArray`], [`GpuViewMut`], ndarray's `Array` and `ArrayViewMut`.
///
/// An array on a GPU has these methods itself, and the first as `assign`: here it has a name of its own, as arrays of ndarray have an `assign` that takes
/// an array. The owned arrays of a [`Backend`], and their views, have the trait, for code that is generic over the place.
///
/// ```
/// use gpu_array::{ArrayMut, Result, expression::{Backend, Host, host}};
/// use ndarray::{Ix1, array};
/// fn without_negatives<P: Backend>(x: &mut P::Owned<f64, Ix1>) -> Result<()> {
///     x.update(|x| x.maximum(0.0))
/// }
/// let mut x = array![1.0, -2.0, 3.0];
/// without_negatives::<Host>(&mut x)?;
/// x.put(host(&array![-1, 0]), 7.0)?;
/// assert_eq!(x, array![7.0, 0.0, 7.0]);
/// # Ok::<(), gpu_array::ArrayError>(())
/// ```
pub trait ArrayMut<T: Element, D: Dimension> {
    /// The place of the array.
    type Backend: Backend;

    /// The array as an expression.
    fn as_expr(&self) -> Expr<'_, T, D, Self::Backend>;

    /// All of it, to write.
    fn as_view_mut<'v>(&'v mut self) -> <Self::Backend as Backend>::ViewMut<'v, T, D>
    where
        D: 'v;

    /// Overwrites the array with a value that has its shape, or is broadcast to it: [`GpuArray::assign`].
    ///
    /// # Errors
    /// The errors of [`Expr::eval`], and `Operands` for a shape that cannot be broadcast to the array's; it is as it was then.
    fn assign_value<'a, E>(&mut self, value: E) -> Result<()>
    where
        E: IntoExpr<'a, Elem = T, Backend = Self::Backend>;

    /// Overwrites the elements at which a mask is true, with a value of the array's shape or one that is broadcast to it: [`GpuArray::assign_where`].
    ///
    /// # Errors
    /// Those of [`ArrayMut::assign_value`].
    fn assign_where<'a, M, V>(&mut self, mask: M, value: V) -> Result<()>
    where
        M: IntoExpr<'a, Elem = bool, Backend = Self::Backend>,
        V: Rhs<'a, T, D, Self::Backend, Promoted = T>;

    /// Overwrites the array with a function of itself and others: [`GpuArray::update`]. Functions of arrays alone, such as `roll`, do not take the array here.
    ///
    /// # Cost
    /// On the host a copy of the array besides the value.
    ///
    /// # Errors
    /// Those of [`ArrayMut::assign_value`].
    fn update<'s, R>(&'s mut self, function: impl FnOnce(Expr<'s, T, D, Self::Backend>) -> R) -> Result<()>
    where
        R: IntoExpr<'s, Elem = T, Backend = Self::Backend>;

    /// Overwrites the elements at flat indices, which count in C order; of several values at one index the last stays: [`GpuArray::put`].
    ///
    /// # Errors
    /// `OutOfBounds` with the first wrong index and its number: then nothing is written. `Operands` for values that do not fit the indices; those of
    /// [`ArrayMut::assign_value`].
    fn put<'a, I, V>(&mut self, indices: I, values: V) -> Result<()>
    where
        I: IntoExpr<'a, Elem: Integer, Backend = Self::Backend>,
        V: Rhs<'a, T, I::Dim, Self::Backend, Promoted = T>;
}

/// The trait for a type of a GPU, by the type's own methods.
macro_rules! on_gpu {
    ($type:ty) => {
        impl<T: Element, D: Dimension> ArrayMut<T, D> for $type {
            type Backend = Gpu;

            fn as_expr(&self) -> Expr<'_, T, D> {
                self.to_expr()
            }

            fn as_view_mut<'v>(&'v mut self) -> GpuViewMut<'v, T, D>
            where
                D: 'v,
            {
                self.view_mut()
            }

            fn assign_value<'a, E>(&mut self, value: E) -> Result<()>
            where
                E: IntoExpr<'a, Elem = T, Backend = Gpu>,
            {
                <$type>::assign(self, value)
            }

            fn assign_where<'a, M, V>(&mut self, mask: M, value: V) -> Result<()>
            where
                M: IntoExpr<'a, Elem = bool, Backend = Gpu>,
                V: Rhs<'a, T, D, Gpu, Promoted = T>,
            {
                <$type>::assign_where(self, mask, value)
            }

            fn update<'s, R>(&'s mut self, function: impl FnOnce(Expr<'s, T, D>) -> R) -> Result<()>
            where
                R: IntoExpr<'s, Elem = T, Backend = Gpu>,
            {
                self.view_mut().update(function)
            }

            fn put<'a, I, V>(&mut self, indices: I, values: V) -> Result<()>
            where
                I: IntoExpr<'a, Elem: Integer, Backend = Gpu>,
                V: Rhs<'a, T, I::Dim, Gpu, Promoted = T>,
            {
                <$type>::put(self, indices, values)
            }
        }
    };
}

on_gpu!(GpuArray<T, D>);
on_gpu!(GpuViewMut<'_, T, D>);

impl<T: Element, D: Dimension, S: DataMut<Elem = T>> ArrayMut<T, D> for ArrayBase<S, D> {
    type Backend = Host;

    fn as_expr(&self) -> Expr<'_, T, D, Host> {
        host(self.view())
    }

    fn as_view_mut<'v>(&'v mut self) -> ArrayViewMut<'v, T, D>
    where
        D: 'v,
    {
        self.view_mut()
    }

    fn assign_value<'a, E>(&mut self, value: E) -> Result<()>
    where
        E: IntoExpr<'a, Elem = T, Backend = Host>,
    {
        job::assign_on_host(self.view_mut(), &value.into_expr().value)
    }

    fn assign_where<'a, M, V>(&mut self, mask: M, value: V) -> Result<()>
    where
        M: IntoExpr<'a, Elem = bool, Backend = Host>,
        V: Rhs<'a, T, D, Host, Promoted = T>,
    {
        let own = host(self.view()).value;
        let selected = Value::ternary(Op::Select, T::DTYPE, [mask.into_expr().value, value.into_promoted().0, own]);
        let new = job::evaluate_in_shape::<T>(&selected, self.shape())?;
        self.view_mut().into_dyn().assign(&new);
        Ok(())
    }

    fn update<'s, R>(&'s mut self, function: impl FnOnce(Expr<'s, T, D, Host>) -> R) -> Result<()>
    where
        R: IntoExpr<'s, Elem = T, Backend = Host>,
    {
        // Not as an array: on a GPU it is none either.
        let own = Value::unary(Op::Copy, T::DTYPE, host_owned(self.to_owned()).value);
        let value = function(Expr::of(own)).into_expr().value;
        job::assign_on_host(self.view_mut(), &value)
    }

    fn put<'a, I, V>(&mut self, indices: I, values: V) -> Result<()>
    where
        I: IntoExpr<'a, Elem: Integer, Backend = Host>,
        V: Rhs<'a, T, I::Dim, Host, Promoted = T>,
    {
        put_on_host(self.view_mut(), indices, values)
    }
}
