//! Arrays of either place that are written to: the methods of [`ArrayMut`] by those of arrays on a GPU, and for arrays of ndarray.

use ndarray::{ArrayBase, ArrayViewMut, DataMut, Dimension};

use crate::{
    ArrayMut, Element, GpuArray, GpuViewMut, Integer, Result,
    expression::{
        Expr, Gpu, Host, IntoExpr, Rhs,
        graph::{Op, Value},
        host, host_owned, job,
    },
    put::put_on_host,
};

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
