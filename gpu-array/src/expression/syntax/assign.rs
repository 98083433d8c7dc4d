//! Expressions into existing arrays.

use std::ops::{
    AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign, RemAssign, ShlAssign, ShrAssign,
    SubAssign,
};

use ndarray::Dimension;

use super::expr::{Expr, Gpu, IntoExpr, Rhs};
use crate::{
    Bits, Element, Float, GpuArray, GpuViewMut, Integer, Number, Promote, Result,
    expression::{
        graph::{Op, Value},
        job,
    },
    pending::Pending,
};

impl<T: Element, D: Dimension> GpuArray<T, D> {
    /// The error that an operator such as `+=` could not return, once. Every call that reads or writes elements begins with it; who takes the
    /// buffer itself ([`GpuArray::as_device_vec`]) calls it before.
    ///
    /// # Errors
    /// That error.
    pub fn take_error(&self) -> Result<()> {
        self.pending().map_or(Ok(()), Pending::check)
    }

    /// Overwrites the array with a value that has its shape, or is broadcast to it. One kernel; does not wait.
    ///
    /// # Errors
    /// The errors of [`Expr::eval`], and `Operands` for a shape that cannot be broadcast to the array's. The array is as it was then.
    ///
    /// ```no_run
    /// # let device = gpu_array::gpu_driver::Device::first()?;
    /// # let x = gpu_array::GpuArray::<f32, _>::zeros(&device, 100)?;
    /// # let mut y = gpu_array::GpuArray::<f32, _>::zeros(&device, 100)?;
    /// y.assign(2.0 * &x + 1.0)?;
    /// y.update(|y| y.sqrt() - &x)?;
    /// y += &x;
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    pub fn assign<'a, E>(&mut self, value: E) -> Result<()>
    where
        E: IntoExpr<'a, Elem = T, Backend = Gpu>,
    {
        job::assign(&self.view_mut(), &value.into_expr().value)
    }

    /// Overwrites the array with a function of itself and others, element by element, in one kernel; does not wait.
    ///
    /// # Errors
    /// The errors of [`GpuArray::assign`].
    pub fn update<'s, R>(&'s mut self, function: impl FnOnce(Expr<'s, T, D>) -> R) -> Result<()>
    where
        R: IntoExpr<'s, Elem = T, Backend = Gpu>,
    {
        self.view_mut().update(function)
    }
}

impl<'v, T: Element, D: Dimension> GpuViewMut<'v, T, D> {
    /// [`GpuArray::assign`] for part of an array.
    ///
    /// # Errors
    /// The errors of [`GpuArray::assign`].
    pub fn assign<'a, E>(&mut self, value: E) -> Result<()>
    where
        E: IntoExpr<'a, Elem = T, Backend = Gpu>,
    {
        job::assign(self, &value.into_expr().value)
    }

    /// [`GpuArray::update`] for part of an array.
    ///
    /// # Errors
    /// The errors of [`GpuArray::update`].
    pub fn update<'s, R>(self, function: impl FnOnce(Expr<'s, T, D>) -> R) -> Result<()>
    where
        'v: 's,
        R: IntoExpr<'s, Elem = T, Backend = Gpu>,
    {
        // The value reads an element where it is written, by the same thread of the kernel: its shape is the view's.
        let own: Expr<'s, T, D> = self.own_elements();
        let value = function(own).into_expr();
        job::assign(&self, &value.value)
    }
}

/// `x op= y`, where the result of `x op y` has the element type of x.
macro_rules! assigning {
    ($($trait:ident $method:ident $op:ident $kind:ident;)*) => {$(
        impl<'a, T: $kind, D: Dimension, R: Rhs<'a, T, D, Gpu>> $trait<R> for GpuArray<T, D>
        where
            T: Promote<R::Elem, Output = T>,
        {
            /// In place, in one kernel. Where that fails the array stays as it is, and the error is returned by the next call that reads or
            /// writes its elements.
            fn $method(&mut self, right: R) {
                let right = right.into_value().0;
                let outcome = {
                    let view = self.view_mut();
                    let own: Expr<'_, T, D> = view.own_elements();
                    job::assign(&view, &Value::binary(Op::$op, T::DTYPE, T::DTYPE, own.value, right))
                };
                if let (Err(error), Some(pending)) = (outcome, self.pending()) {
                    pending.set(error);
                }
            }
        }
    )*};
}

assigning! {
    AddAssign add_assign Add Number;
    SubAssign sub_assign Subtract Number;
    MulAssign mul_assign Multiply Number;
    RemAssign rem_assign Remainder Number;
    DivAssign div_assign Divide Float;
    BitAndAssign bitand_assign And Bits;
    BitOrAssign bitor_assign Or Bits;
    BitXorAssign bitxor_assign Xor Bits;
    ShlAssign shl_assign ShiftLeft Integer;
    ShrAssign shr_assign ShiftRight Integer;
}
