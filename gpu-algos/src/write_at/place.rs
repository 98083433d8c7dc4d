//! The two places where values are combined at indices.

use gpu_array::{
    ArrayError, Element, GpuArray, GpuViewMut, Integer,
    expression::{Expr, Gpu, Host, PutOperation, put_combine},
    gpu_driver::DriverError,
};
use ndarray::{Array, Array1, ArrayViewMut, Dimension, Ix1, IxDyn};
use rayon::slice::ParallelSliceMut;

use crate::{Result, reduce::Reduces, select::Select};

/// A place where values are combined at indices: [`Gpu`] or [`Host`].
pub trait CombinesAt: Reduces<i64> + Reduces<bool> {
    /// Whether it combines integers by atomic operations.
    #[doc(hidden)]
    const IS_ATOMIC: bool;
    #[doc(hidden)]
    fn combine_atomically<T: Element, D: Dimension, I: Integer>(
        op: &'static str,
        operation: PutOperation,
        target: Self::ViewMut<'_, T, D>,
        indices: &Expr<'_, I, IxDyn, Self>,
        values: &Expr<'_, T, IxDyn, Self>,
    ) -> Result<()>;
    /// Checks that the elements of an array can be read and written now.
    #[doc(hidden)]
    fn check_target<T: Element, D: Dimension>(op: &'static str, target: Self::ViewMut<'_, T, D>) -> Result<()>;
    /// The value as a new array in C order at the place of another.
    #[doc(hidden)]
    fn eval_beside<T: Element, D: Dimension, U: Element, E: Dimension>(
        value: &Expr<'_, T, D, Self>,
        other: &Expr<'_, U, E, Self>,
    ) -> Result<Self::Owned<T, D>>;
    /// The pairs of place and position in ascending order. They may be in it already but for `bits` bits, from bit `lowest` on.
    #[doc(hidden)]
    fn sorted(pairs: Self::Owned<u64, Ix1>, lowest: u32, bits: u32) -> Result<Self::Owned<u64, Ix1>>;
}

impl CombinesAt for Gpu {
    const IS_ATOMIC: bool = true;

    fn combine_atomically<T: Element, D: Dimension, I: Integer>(
        op: &'static str,
        operation: PutOperation,
        mut target: GpuViewMut<'_, T, D>,
        indices: &Expr<'_, I, IxDyn>,
        values: &Expr<'_, T, IxDyn>,
    ) -> Result<()> {
        Ok(put_combine(op, operation, &mut target, indices, values)?)
    }

    fn check_target<T: Element, D: Dimension>(op: &'static str, mut target: GpuViewMut<'_, T, D>) -> Result<()> {
        if target.lower_mut()?.home.is_capturing()? {
            return Err(DriverError::InCapture { op }.into());
        }
        Ok(())
    }

    fn eval_beside<T: Element, D: Dimension, U: Element, E: Dimension>(
        value: &Expr<'_, T, D>,
        other: &Expr<'_, U, E>,
    ) -> Result<GpuArray<T, D>> {
        let array = value.eval_on(other.lower_deferred()?.stream()?.clone())?;
        Ok(if array.is_standard_layout() { array } else { array.to_standard_layout()? })
    }

    fn sorted(mut pairs: GpuArray<u64, Ix1>, lowest: u32, bits: u32) -> Result<GpuArray<u64, Ix1>> {
        for bit in lowest..lowest + bits {
            let is_clear = (&pairs & (1u64 << bit)).eq(0);
            let parted = pairs.partition(is_clear).eval()?;
            pairs = parted.into_parts().0;
        }
        Ok(pairs)
    }
}

impl CombinesAt for Host {
    const IS_ATOMIC: bool = false;

    fn combine_atomically<T: Element, D: Dimension, I: Integer>(
        op: &'static str,
        _: PutOperation,
        _: ArrayViewMut<'_, T, D>,
        _: &Expr<'_, I, IxDyn, Self>,
        _: &Expr<'_, T, IxDyn, Self>,
    ) -> Result<()> {
        Err(ArrayError::Operation { name: op, dtype: T::DTYPE }.into())
    }

    fn check_target<T: Element, D: Dimension>(_: &'static str, _: ArrayViewMut<'_, T, D>) -> Result<()> {
        Ok(())
    }

    fn eval_beside<T: Element, D: Dimension, U: Element, E: Dimension>(
        value: &Expr<'_, T, D, Self>,
        _: &Expr<'_, U, E, Self>,
    ) -> Result<Array<T, D>> {
        Ok(value.eval()?)
    }

    fn sorted(mut pairs: Array1<u64>, _: u32, _: u32) -> Result<Array1<u64>> {
        if let Some(pairs) = pairs.as_slice_mut() {
            pairs.par_sort_unstable();
        }
        Ok(pairs)
    }
}
