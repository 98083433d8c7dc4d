//! Selections as methods of arrays, views and expressions.

use gpu_array::expression::{Backend, IntoExpr};
use ndarray::{Axis, Ix1};

use super::{
    launch::{FLAGS, INDICES, KEYS, LENGTHS, REJECTED, VALUES},
    masked::Masked,
    selection::{Partition, RunLengths, Selection, Selects},
};
use crate::{Result, common::operand::Receiver};

/// Selections of arrays, views and expressions on a GPU, or of [`host`](gpu_array::expression::host()): the selected values, in C order and contiguous.
///
/// Values and masks are computed in the same kernel, so that a predicate is an expression: `x.select(x.gt(0.0))`.
///
/// Nothing is computed before `eval`, `write_into` or `to_array`. On a GPU the first two do not wait: the number of selected values stays on the device
/// until it is asked for. The two methods that return arrays at once wait for it, as `to_array` does.
///
/// On the host results have the values of [`host`](mod@crate::host)'s functions, and the errors of a GPU. Code for either place asks for [`Selects`].
///
/// # Shapes
/// A mask has the shape of the values. Results have one axis.
///
/// # Determinism
/// Exact: values are moved and keep their order.
///
/// # Cost
/// On a GPU one launch, which reads each value and each mask once and writes the selected values; [`Select::partition`] reads the mask twice. See
/// [`Selection::eval`]. On the host expressions are computed into arrays first; the rest is that of [`host`](mod@crate::host)'s functions.
///
/// # Example
/// ```no_run
/// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, prelude::*};
/// use ndarray::array;
///
/// let x = GpuArray::from_ndarray(&Device::first()?, &array![[1, 5], [7, 2]])?;
/// let large = (&x * 10).select(x.gt(3)).eval()?;
/// assert_eq!(large.to_ndarray()?, array![50, 70]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
#[doc(alias("compaction", "copy_if", "x[mask]"))]
pub trait Select<'a>: Receiver<'a> + Sized {
    /// The values where `mask` is true: NumPy's `x[mask]`. Its [reductions](Masked) move no values: `x.select(&mask).mean()`.
    fn select<M>(self, mask: M) -> Masked<'a, Self::Elem, Self::Dim, Self::Backend>
    where
        M: IntoExpr<'a, Elem = bool, Dim = Self::Dim, Backend = Self::Backend>,
    {
        Masked::new(self.into_expr(), mask.into_expr())
    }

    /// The values where `mask` is true, then the others, both in their order.
    fn partition<M>(self, mask: M) -> Partition<'a, Self::Elem, Self::Backend>
    where
        Self::Backend: Selects,
        M: IntoExpr<'a, Elem = bool, Dim = Self::Dim, Backend = Self::Backend>,
    {
        let mode = FLAGS | VALUES | REJECTED;
        Partition::new(Selection::new(Some(self.into_expr().lower_deferred()), mask.into_expr().lower_deferred(), mode))
    }

    /// The indices in C order of the values that are true or not 0: NumPy's `flatnonzero`. NaN is not 0.
    #[doc(alias("flatnonzero", "argwhere"))]
    fn nonzero(self) -> Selection<'a, i64, Self::Backend>
    where
        Self::Backend: Selects,
    {
        Selection::of_nonzero::<Self::Elem>(self.into_expr().lower_deferred())
    }

    /// The indices along each axis of the values that are not 0, in C order of the values: NumPy's `nonzero`.
    /// Each array has one element for each such value.
    ///
    /// # Cost
    /// On a GPU it waits for [`Select::nonzero`], then one launch for each axis, which computes indices from the flat ones. On the host that of
    /// [`host::nonzero`](crate::host::nonzero()).
    ///
    /// # Errors
    /// As [`Selection::eval`]; `Array` with `Axis` for a value without axes; `DeviceLost` when a kernel faulted.
    fn nonzero_axes(self) -> Result<Vec<<Self::Backend as Backend>::Owned<i64, Ix1>>>
    where
        Self::Backend: Selects,
    {
        Self::Backend::nonzero_axes(&self.into_expr())
    }

    /// The parts of an array or view at the positions of an axis where `mask` is true: NumPy's `compress`.
    /// The result has the shape of the array, except along the axis.
    ///
    /// # Cost
    /// On a GPU it waits for [`Select::nonzero`] of the mask, whose number the result's shape needs, then one launch, which reads only the selected
    /// parts. On the host that of [`host::compress`](crate::host::compress()).
    ///
    /// # Errors
    /// As [`Selection::eval`]; `Array` with `Axis` for an axis that does not exist, with `NotAnArray` for an expression that is no array; `Length` if
    /// the mask and the axis have different lengths; `DeviceLost` when a kernel faulted.
    fn compress<M>(self, mask: M, axis: Axis) -> Result<<Self::Backend as Backend>::Owned<Self::Elem, Self::Dim>>
    where
        Self::Backend: Selects,
        M: IntoExpr<'a, Elem = bool, Dim = Ix1, Backend = Self::Backend>,
    {
        Self::Backend::compress(self.into_expr(), mask.into_expr(), axis)
    }

    /// The first value of each run of equal neighbours in C order, as `unique` of CUB and Thrust.
    /// NumPy's `unique` sorts; this does not. NaN is not equal to NaN, so each NaN is a run of its own.
    #[doc(alias = "unique_consecutive")]
    fn unique(self) -> Selection<'a, Self::Elem, Self::Backend>
    where
        Self::Backend: Selects,
    {
        Selection::new(None, self.into_expr().lower_deferred(), KEYS | VALUES)
    }

    /// The runs of equal neighbours in C order: value, start and length of each. NaN is treated as in [`Select::unique`].
    fn run_length_encode(self) -> RunLengths<'a, Self::Elem, Self::Backend>
    where
        Self::Backend: Selects,
    {
        RunLengths::new(Selection::new(None, self.into_expr().lower_deferred(), KEYS | VALUES | INDICES | LENGTHS))
    }
}

impl<'a, E: Receiver<'a>> Select<'a> for E {}
