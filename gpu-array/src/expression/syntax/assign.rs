//! Expressions into existing arrays.

use std::{
    ops::{
        AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign, RemAssign, ShlAssign, ShrAssign,
        SubAssign,
    },
    panic::Location,
};

use gpu_driver::DriverError;
use ndarray::Dimension;

use super::expr::{Expr, Gpu, IntoExpr, Operand, Rhs};
use crate::{
    ArrayError, Bits, Element, GpuArray, GpuViewMut, Inexact, Integer, Number, Numeric, Promote, Result,
    expression::{
        graph::{Op, Value},
        job,
    },
    pending::Pending,
};

impl<T: Element, D: Dimension> GpuArray<T, D> {
    /// Takes away the error that an operator such as `+=` on the array, or on a view of it, could not return: the array's elements, which are those
    /// from before the operator, count as good again.
    ///
    /// Every other call that reads or writes elements returns that error too, and leaves it with the array. It goes where all elements are
    /// overwritten (by `assign`, `fill`, `copy_from_ndarray` or `upload`) after some call has returned it. If no call has by the time the array is
    /// dropped, the next call on the device does.
    ///
    /// # Errors
    /// `Operator`, with the operator and its place in the program.
    ///
    /// ```no_run
    /// # let device = gpu_array::gpu_driver::Device::first()?;
    /// use gpu_array::{ArrayError, GpuArray};
    /// let mut p = GpuArray::<f32, _>::zeros(&device, 3)?;
    /// p += &GpuArray::<f32, _>::zeros(&device, 5)?;
    /// assert!(matches!(p.to_ndarray(), Err(ArrayError::Operator { op: "+=", .. })));
    /// assert!(p.take_error().is_err() && p.to_ndarray().is_ok());
    /// # Ok::<(), ArrayError>(())
    /// ```
    pub fn take_error(&self) -> Result<()> {
        self.pending().map_or(Ok(()), Pending::take)
    }

    /// Overwrites the array with a value that has its shape, or is broadcast to it. One kernel; does not wait.
    ///
    /// # Errors
    /// The errors of [`Expr::eval`], and `Operands` for a shape that cannot be broadcast to the array's. The array is as it was then. The error of an
    /// operator such as `+=` on the array, unless a call has returned it before ([`GpuArray::take_error`]).
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

    /// Overwrites the elements at which a mask is true, with a value of the array's shape or one that is broadcast to it: NumPy's `x[mask] = 0` and
    /// `copyto(x, y, where=mask)`. The mask is broadcast likewise. One kernel; does not wait.
    ///
    /// A mask that reads the array itself is a value of [`GpuArray::update`], `x.update(|x| where_(x.lt(0.0), 0.0, x))`, or is evaluated before.
    ///
    /// # Errors
    /// The errors of [`GpuArray::assign`].
    ///
    /// ```no_run
    /// # let device = gpu_array::gpu_driver::Device::first()?;
    /// let mut x = gpu_array::GpuArray::from_ndarray(&device, &ndarray::array![1.0, f64::NAN, 3.0])?;
    /// let gaps = x.is_nan().eval()?;
    /// x.assign_where(&gaps, 0.0)?;
    /// assert_eq!(x.to_ndarray()?, ndarray::array![1.0, 0.0, 3.0]);
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    #[doc(alias("putmask", "copyto", "mask", "x[mask]"))]
    pub fn assign_where<'a, M, V>(&mut self, mask: M, value: V) -> Result<()>
    where
        M: IntoExpr<'a, Elem = bool, Backend = Gpu>,
        V: Rhs<'a, T, D, Gpu, Promoted = T>,
    {
        self.view_mut().assign_where(mask, value)
    }

    /// Overwrites the array with a function of itself and others, element by element, in one kernel; does not wait.
    ///
    /// # Errors
    /// The errors of [`GpuArray::assign`].
    #[doc(alias("axpy", "axpby", "scal", "ger"))]
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

    /// [`GpuArray::assign_where`] for part of an array.
    ///
    /// # Errors
    /// The errors of [`GpuArray::assign_where`].
    pub fn assign_where<'a, M, V>(&mut self, mask: M, value: V) -> Result<()>
    where
        M: IntoExpr<'a, Elem = bool, Backend = Gpu>,
        V: Rhs<'a, T, D, Gpu, Promoted = T>,
    {
        self.select(mask.into_expr().value, value.into_promoted().0)
    }

    /// Overwrites the elements at which the mask is true.
    pub(super) fn select(&self, mask: Value<'_>, value: Value<'_>) -> Result<()> {
        let own: Expr<'_, T, D> = self.own_elements();
        job::assign(self, &Value::ternary(Op::Select, T::DTYPE, [mask, value, own.value]))
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

/// `target op= right`, with the error kept for the next calls on the array.
#[track_caller]
fn in_place<T: Element, D: Dimension>(target: &GpuViewMut<'_, T, D>, op: Op, symbol: &'static str, right: Operand<'_>) {
    // The error of an earlier operator stays, and its elements with it.
    let Some(pending) = target.pending().filter(|pending| !pending.is_set()) else { return };
    let own: Expr<'_, T, D> = target.own_elements();
    let value = Value::binary(op, T::DTYPE, T::DTYPE, own.value, right.0);
    // An error that a Drop left to the next call is not this operator's failure: it goes on to the next call, which may have a result.
    let mut dropped = Vec::new();
    let outcome = loop {
        match job::assign(target, &value) {
            Err(ArrayError::Driver(DriverError::InDrop { object, source })) => dropped.push((object, source)),
            other => break other,
        }
    };
    for (object, source) in dropped {
        target.device().report_in_drop(object, &source);
    }
    if let Err(error) = outcome {
        pending.set(symbol, Location::caller(), error, target.device());
    }
}

/// `x op= y`, where the result of `x op y` has the element type of x.
macro_rules! assigning {
    ($($trait:ident $method:ident $op:ident $symbol:literal $kind:ident;)*) => {$(
        assigning!(@one [] GpuArray<T, D>, $trait $method $op $symbol $kind);
        assigning!(@one ['v,] GpuViewMut<'v, T, D>, $trait $method $op $symbol $kind);
    )*};
    (@one [$($life:tt)*] $left:ty, $trait:ident $method:ident $op:ident $symbol:literal $kind:ident) => {
        impl<'a, $($life)* T: $kind, D: Dimension, R: Rhs<'a, T, D, Gpu>> $trait<R> for $left
        where
            T: Promote<R::Promoted, Output = T>,
        {
            /// In place, in one kernel. Where that fails the array stays as it is, and every later call that reads or writes its elements returns the
            /// error ([`GpuArray::take_error`]).
            #[track_caller]
            fn $method(&mut self, right: R) {
                in_place(&self.view_mut(), Op::$op, $symbol, right.into_promoted());
            }
        }
    };
}

assigning! {
    AddAssign add_assign Add "+=" Numeric;
    SubAssign sub_assign Subtract "-=" Numeric;
    MulAssign mul_assign Multiply "*=" Numeric;
    RemAssign rem_assign Remainder "%=" Number;
    DivAssign div_assign Divide "/=" Inexact;
    BitAndAssign bitand_assign And "&=" Bits;
    BitOrAssign bitor_assign Or "|=" Bits;
    BitXorAssign bitxor_assign Xor "^=" Bits;
    ShlAssign shl_assign ShiftLeft "<<=" Integer;
    ShrAssign shr_assign ShiftRight ">>=" Integer;
}
