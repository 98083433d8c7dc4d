//! The two places where values are combined at indices.

use gpu_array::{
    Element, GpuArray, GpuViewMut, Integer,
    expression::{Expr, Gpu, Host, PutOperation, put_combine},
    gpu_driver::{DriverError, Stream},
    start_threads,
};
use ndarray::{Array, Array1, ArrayViewMut, Dimension, Ix1, IxDyn};
use rayon::slice::ParallelSliceMut;

use crate::{Result, reduce::Reduces, select::Select};

/// A place where values are combined at indices: [`Gpu`] or [`Host`].
pub trait CombinesAt: Reduces<i64> + Reduces<bool> {
    /// The home of new arrays: a stream of a GPU.
    #[doc(hidden)]
    type Home;
    /// Combines integers by atomic operations; None where there are none for the place or the type.
    #[doc(hidden)]
    fn combine_atomically<T: Element, D: Dimension, I: Integer>(
        op: &'static str,
        operation: PutOperation,
        target: Self::ViewMut<'_, T, D>,
        indices: &Expr<'_, I, IxDyn, Self>,
        values: &Expr<'_, T, IxDyn, Self>,
    ) -> Option<Result<()>>;
    /// The home of an array, whose elements can be read and written now.
    #[doc(hidden)]
    fn checked_home<T: Element, D: Dimension>(op: &'static str, target: Self::ViewMut<'_, T, D>) -> Result<Self::Home>;
    /// The value as a new array in C order.
    #[doc(hidden)]
    fn eval_at<T: Element, D: Dimension>(value: &Expr<'_, T, D, Self>, home: &Self::Home) -> Result<Self::Owned<T, D>>;
    /// The pairs of place and position in ascending order. They may be in it already but for `bits` bits, from bit `lowest` on.
    #[doc(hidden)]
    fn sorted(pairs: Self::Owned<u64, Ix1>, lowest: u32, bits: u32) -> Result<Self::Owned<u64, Ix1>>;
}

impl CombinesAt for Gpu {
    type Home = Stream;

    fn combine_atomically<T: Element, D: Dimension, I: Integer>(
        op: &'static str,
        operation: PutOperation,
        mut target: GpuViewMut<'_, T, D>,
        indices: &Expr<'_, I, IxDyn>,
        values: &Expr<'_, T, IxDyn>,
    ) -> Option<Result<()>> {
        operation.takes(&target).then(|| Ok(put_combine(op, operation, &mut target, indices, values)?))
    }

    fn checked_home<T: Element, D: Dimension>(op: &'static str, mut target: GpuViewMut<'_, T, D>) -> Result<Stream> {
        let home = target.lower_mut()?.home;
        if home.is_capturing()? { Err(DriverError::InCapture { op }.into()) } else { Ok(home.clone()) }
    }

    fn eval_at<T: Element, D: Dimension>(value: &Expr<'_, T, D>, home: &Stream) -> Result<GpuArray<T, D>> {
        let array = value.eval_on(home)?;
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
    type Home = ();

    fn combine_atomically<T: Element, D: Dimension, I: Integer>(
        _: &'static str,
        _: PutOperation,
        _: ArrayViewMut<'_, T, D>,
        _: &Expr<'_, I, IxDyn, Self>,
        _: &Expr<'_, T, IxDyn, Self>,
    ) -> Option<Result<()>> {
        None
    }

    fn checked_home<T: Element, D: Dimension>(_: &'static str, _: ArrayViewMut<'_, T, D>) -> Result<()> {
        Ok(())
    }

    fn eval_at<T: Element, D: Dimension>(value: &Expr<'_, T, D, Self>, (): &()) -> Result<Array<T, D>> {
        Ok(value.eval()?)
    }

    fn sorted(mut pairs: Array1<u64>, _: u32, _: u32) -> Result<Array1<u64>> {
        if let Some(pairs) = pairs.as_slice_mut() {
            start_threads()?;
            pairs.par_sort_unstable();
        }
        Ok(pairs)
    }
}
