//! The two places where selections are computed: by kernels on a GPU, or by the functions of [`host`](mod@crate::host).

use gpu_array::{
    ArrayError, Element, GpuArray, GpuViewMut,
    expression::{Assembled, Backend, Expr, Gpu, Host},
};
use ndarray::{
    Array, Array1, ArrayD, ArrayView1, ArrayViewD, ArrayViewMut0, ArrayViewMut1, Axis, Dimension, Ix0, Ix1, s,
};

use super::{
    along,
    selection::{Partition, RunLengths, Selection},
};
use crate::{AlgoError, Result, host, reference::Runs};

/// A place that selects values: [`Gpu`] or [`Host`], for each element type.
///
/// Code that is generic over the place asks for it, or for [`Reduces`](crate::reduce::Reduces), which has it:
/// ```
/// use gpu_algos::{Result, prelude::*, select::Selects};
/// use gpu_array::expression::Host;
/// use ndarray::{Ix1, array};
///
/// /// The values above a limit, and the indices where they begin to be so.
/// fn above<P: Selects>(x: &P::Owned<f64, Ix1>, limit: f64) -> Result<(P::Owned<f64, Ix1>, P::Owned<i64, Ix1>)> {
///     let x = P::expr(x);
///     let (_, offsets, _) = x.gt(limit).run_length_encode().to_arrays()?;
///     Ok((x.select(x.gt(limit)).to_array()?, offsets))
/// }
/// let (values, offsets) = above::<Host>(&array![1.0, 5.0, 7.0, 2.0], 3.0)?;
/// assert_eq!((values, offsets), (array![5.0, 7.0], array![0, 1, 3]));
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub trait Selects: Backend {
    /// The function for the indices of the values that are not 0, where this is the host.
    #[doc(hidden)]
    fn nonzero_on_host<T: Element>() -> Option<SelectOnHost<i64>>;
    #[doc(hidden)]
    fn selected<T: Element>(selection: &Selection<'_, T, Self>) -> Result<Self::Owned<T, Ix1>>;
    #[doc(hidden)]
    fn partitioned<T: Element>(partition: &Partition<'_, T, Self>) -> Result<Pair<Self, T>>;
    #[doc(hidden)]
    fn runs<T: Element>(runs: &RunLengths<'_, T, Self>) -> Result<Triple<Self, T>>;
    #[doc(hidden)]
    fn selected_into<T: Element>(
        selection: &Selection<'_, T, Self>,
        target: Self::ViewMut<'_, T, Ix1>,
        count: Self::ViewMut<'_, i64, Ix0>,
    ) -> Result<()>;
    #[doc(hidden)]
    fn partitioned_into<T: Element>(
        partition: &Partition<'_, T, Self>,
        target: Self::ViewMut<'_, T, Ix1>,
        count: Self::ViewMut<'_, i64, Ix0>,
    ) -> Result<()>;
    #[doc(hidden)]
    fn runs_into<T: Element>(runs: &RunLengths<'_, T, Self>, targets: RunTargets<'_, Self, T>) -> Result<()>;
    #[doc(hidden)]
    fn nonzero_axes<T: Element, D: Dimension>(x: &Expr<'_, T, D, Self>) -> Result<Vec<Self::Owned<i64, Ix1>>>;
    #[doc(hidden)]
    fn compress<T: Element, D: Dimension>(
        x: Expr<'_, T, D, Self>,
        mask: Expr<'_, bool, Ix1, Self>,
        axis: Axis,
    ) -> Result<Self::Owned<T, D>>;
}

/// The selected values of a host expression that selects by its own values.
pub(super) type SelectOnHost<T> = fn(&Assembled<'_>) -> Result<Array1<T>>;

/// Selected values and the others.
pub(super) type Pair<P, T> = (<P as Backend>::Owned<T, Ix1>, <P as Backend>::Owned<T, Ix1>);

/// Values, starts and lengths of runs.
pub(super) type Triple<P, T> =
    (<P as Backend>::Owned<T, Ix1>, <P as Backend>::Owned<i64, Ix1>, <P as Backend>::Owned<i64, Ix1>);

/// Arrays for the values, for starts and lengths, and for the number of runs.
pub(super) type RunTargets<'t, P, T> = (
    <P as Backend>::ViewMut<'t, T, Ix1>,
    [<P as Backend>::ViewMut<'t, i64, Ix1>; 2],
    <P as Backend>::ViewMut<'t, i64, Ix0>,
);

impl Selects for Gpu {
    fn nonzero_on_host<T: Element>() -> Option<SelectOnHost<i64>> {
        None
    }
    fn selected<T: Element>(selection: &Selection<'_, T>) -> Result<GpuArray<T, Ix1>> {
        selection.eval()?.into_array()
    }
    fn partitioned<T: Element>(partition: &Partition<'_, T>) -> Result<Pair<Self, T>> {
        partition.eval()?.into_arrays()
    }
    fn runs<T: Element>(runs: &RunLengths<'_, T>) -> Result<Triple<Self, T>> {
        runs.eval()?.into_arrays()
    }
    fn selected_into<T: Element>(
        selection: &Selection<'_, T>,
        target: GpuViewMut<'_, T, Ix1>,
        count: GpuViewMut<'_, i64, Ix0>,
    ) -> Result<()> {
        selection.write_on_device(target, count)
    }
    fn partitioned_into<T: Element>(
        partition: &Partition<'_, T>,
        target: GpuViewMut<'_, T, Ix1>,
        count: GpuViewMut<'_, i64, Ix0>,
    ) -> Result<()> {
        partition.0.write_on_device(target, count)
    }
    fn runs_into<T: Element>(runs: &RunLengths<'_, T>, targets: RunTargets<'_, Self, T>) -> Result<()> {
        runs.write_on_device(targets)
    }
    fn nonzero_axes<T: Element, D: Dimension>(x: &Expr<'_, T, D, Self>) -> Result<Vec<GpuArray<i64, Ix1>>> {
        along::nonzero_axes(x)
    }
    fn compress<T: Element, D: Dimension>(
        x: Expr<'_, T, D, Self>,
        mask: Expr<'_, bool, Ix1, Self>,
        axis: Axis,
    ) -> Result<GpuArray<T, D>> {
        along::compress(x, mask, axis)
    }
}

impl Selects for Host {
    fn nonzero_on_host<T: Element>() -> Option<SelectOnHost<i64>> {
        Some(|heads| with_values::<T, _>(heads, |values| host::flat_nonzero(values)))
    }
    fn selected<T: Element>(selection: &Selection<'_, T, Self>) -> Result<Array1<T>> {
        selection.eval()
    }
    fn partitioned<T: Element>(partition: &Partition<'_, T, Self>) -> Result<Pair<Self, T>> {
        let (mut values, selected) = partition.eval()?;
        let others = values.slice(s![selected..]).to_owned();
        values.slice_collapse(s![..selected]);
        Ok((values, others))
    }
    fn runs<T: Element>(runs: &RunLengths<'_, T, Self>) -> Result<Triple<Self, T>> {
        let Runs { values, offsets, lengths } = runs.eval()?;
        Ok((values, offsets, lengths))
    }
    fn selected_into<T: Element>(
        selection: &Selection<'_, T, Self>,
        mut target: ArrayViewMut1<'_, T>,
        mut count: ArrayViewMut0<'_, i64>,
    ) -> Result<()> {
        let selected = selection.eval()?;
        check_room(selection, target.len())?;
        write_first(&mut target, &selected);
        count.fill(selected.len() as i64);
        Ok(())
    }
    fn partitioned_into<T: Element>(
        partition: &Partition<'_, T, Self>,
        mut target: ArrayViewMut1<'_, T>,
        mut count: ArrayViewMut0<'_, i64>,
    ) -> Result<()> {
        let (values, selected) = partition.eval()?;
        check_room(&partition.0, target.len())?;
        write_first(&mut target, &values);
        count.fill(selected as i64);
        Ok(())
    }
    fn runs_into<T: Element>(runs: &RunLengths<'_, T, Self>, targets: RunTargets<'_, Self, T>) -> Result<()> {
        let Runs { values, offsets, lengths } = runs.eval()?;
        let (mut of_values, [mut of_offsets, mut of_lengths], mut count) = targets;
        for room in [of_values.len(), of_offsets.len(), of_lengths.len()] {
            check_room(&runs.0, room)?;
        }
        write_first(&mut of_values, &values);
        write_first(&mut of_offsets, &offsets);
        write_first(&mut of_lengths, &lengths);
        count.fill(values.len() as i64);
        Ok(())
    }
    fn nonzero_axes<T: Element, D: Dimension>(x: &Expr<'_, T, D, Self>) -> Result<Vec<Array1<i64>>> {
        with_values::<T, _>(&x.lower_deferred()?, |values| host::nonzero(values))?
    }
    fn compress<T: Element, D: Dimension>(
        x: Expr<'_, T, D, Self>,
        mask: Expr<'_, bool, Ix1, Self>,
        axis: Axis,
    ) -> Result<Array<T, D>> {
        along::compress_on_host(x, mask, axis)
    }
}

/// Checks that an array to write has room for all values that may be selected.
fn check_room<T: Element>(selection: &Selection<'_, T, Host>, got: usize) -> Result<()> {
    let needed = selection.ready()?.count;
    if got < needed { Err(AlgoError::OutputTooSmall { needed, got }) } else { Ok(()) }
}

/// Overwrites the first elements of an array that has room for them.
fn write_first<T: Element>(target: &mut ArrayViewMut1<'_, T>, values: &Array1<T>) {
    target.slice_mut(s![..values.len()]).assign(values);
}

/// Gives the values of a host expression to a function: the array that it is, or a new one.
pub(super) fn with_values<T: Element, R>(
    assembled: &Assembled<'_>,
    of: impl FnOnce(ArrayViewD<'_, T>) -> R,
) -> Result<R> {
    let lowered = assembled.ready(None)?;
    Ok(match lowered.host_array::<T>() {
        Some(view) => of(view),
        None => of(lowered.eval_on_host::<T>()?.view()),
    })
}

/// Gives the values of a host expression in C order to a function.
fn in_order<T: Element, R>(assembled: &Assembled<'_>, of: impl FnOnce(ArrayView1<'_, T>) -> R) -> Result<R> {
    with_values(assembled, |view| {
        let view = view.as_standard_layout();
        of(ArrayView1::from(view.as_slice().unwrap_or_default()))
    })
}

/// An array with its rank in its type.
pub(super) fn with_rank<T, D: Dimension>(array: ArrayD<T>) -> Result<Array<T, D>> {
    let (expected, got) = (D::NDIM.unwrap_or_default(), array.ndim());
    let other = |_| ArrayError::Ndim { op: "a selection on the host", expected, got };
    Ok(array.into_dimensionality().map_err(other)?)
}

impl<T: Element, P: Selects> Selection<'_, T, P> {
    /// Computes the selected values as an array of their own, at either place.
    ///
    /// # Cost
    /// On a GPU that of [`Selection::eval`] and of [`Selected::into_array`](super::Selected::into_array): one kernel, for whose number of values it
    /// waits, and a copy on the device. On the host that of `eval` there.
    ///
    /// # Errors
    /// As `eval` of the place; on a GPU `OutOfMemory`, and `DeviceLost` when a kernel faulted.
    ///
    /// # Example
    /// ```
    /// use gpu_algos::prelude::*;
    /// use gpu_array::expression::host; // the same line as on a GPU, there with `&x` in place of `host(&x)`
    /// use ndarray::array;
    ///
    /// assert_eq!(host(&array![0, 7, 0, -1]).nonzero().to_array()?, array![1, 3]);
    /// # Ok::<(), gpu_algos::AlgoError>(())
    /// ```
    pub fn to_array(&self) -> Result<P::Owned<T, Ix1>> {
        P::selected(self)
    }
}

impl<T: Element, P: Selects> Partition<'_, T, P> {
    /// Computes the selected values and the others as two arrays, at either place.
    ///
    /// # Cost
    /// On a GPU that of [`Partition::eval`] and of [`Partitioned::into_arrays`](super::Partitioned::into_arrays), which waits. On the host that of
    /// `eval` there, and a copy of the others.
    ///
    /// # Errors
    /// As [`Selection::to_array`].
    ///
    /// # Example
    /// ```
    /// use gpu_algos::prelude::*;
    /// use gpu_array::expression::host;
    /// use ndarray::array;
    ///
    /// let x = array![3, -1, 2, -5];
    /// let (negative, others) = host(&x).partition(host(&x).lt(0)).to_arrays()?;
    /// assert_eq!((negative, others), (array![-1, -5], array![3, 2]));
    /// # Ok::<(), gpu_algos::AlgoError>(())
    /// ```
    #[expect(clippy::type_complexity, reason = "two arrays")]
    pub fn to_arrays(&self) -> Result<(P::Owned<T, Ix1>, P::Owned<T, Ix1>)> {
        P::partitioned(self)
    }
}

impl<T: Element, P: Selects> RunLengths<'_, T, P> {
    /// Computes values, starts (in C order of the values) and lengths of the runs as three arrays, at either place.
    ///
    /// # Cost
    /// On a GPU that of [`RunLengths::eval`] and of [`Runs::into_arrays`](super::Runs::into_arrays), which waits. On the host that of `eval` there.
    ///
    /// # Errors
    /// As [`Selection::to_array`].
    ///
    /// # Example
    /// ```
    /// use gpu_algos::prelude::*;
    /// use gpu_array::expression::host;
    /// use ndarray::array;
    ///
    /// let (values, offsets, lengths) = host(&array![3, 3, 8, 1, 1, 1]).run_length_encode().to_arrays()?;
    /// assert_eq!((values, offsets, lengths), (array![3, 8, 1], array![0, 2, 3], array![2, 1, 3]));
    /// # Ok::<(), gpu_algos::AlgoError>(())
    /// ```
    #[expect(clippy::type_complexity, reason = "three arrays")]
    pub fn to_arrays(&self) -> Result<(P::Owned<T, Ix1>, P::Owned<i64, Ix1>, P::Owned<i64, Ix1>)> {
        P::runs(self)
    }
}

impl<T: Element> Selection<'_, T, Host> {
    /// The selected values on the host, as its functions give them: [`flat_nonzero`](host::flat_nonzero()), [`unique`](host::unique()).
    ///
    /// # Errors
    /// `Array` with the errors of [`Expr::eval`]; `Shape` for a mask of another shape.
    pub fn eval(&self) -> Result<Array1<T>> {
        if let Some(selected) = self.by_mask(|values, mask| host::select(values, mask))? {
            return Ok(selected);
        }
        let heads = self.ready()?.heads;
        match self.nonzero {
            Some(nonzero) => nonzero(heads),
            None => in_order::<T, _>(heads, |values| host::unique(values)),
        }
    }

    /// Gives the values and their mask to a function, where there is a mask.
    fn by_mask<R>(&self, of: impl FnOnce(ArrayViewD<'_, T>, ArrayViewD<'_, bool>) -> Result<R>) -> Result<Option<R>> {
        let ready = self.ready()?;
        let Some(values) = ready.values else { return Ok(None) };
        with_values(values, |values| with_values(ready.heads, |mask| of(values, mask)))??.map(Some)
    }
}

impl<T: Element> Partition<'_, T, Host> {
    /// All values on the host, the selected ones first, and the number of these, as [`host::partition_by_mask`] gives them.
    ///
    /// # Errors
    /// `Array` with the errors of [`Expr::eval`]; `Shape` for a mask of another shape.
    pub fn eval(&self) -> Result<(Array1<T>, usize)> {
        let unknown = ArrayError::Operation { name: "a partition on the host", dtype: T::DTYPE };
        self.0.by_mask(|values, mask| host::partition_by_mask(values, mask))?.ok_or(unknown.into())
    }
}

impl<T: Element> RunLengths<'_, T, Host> {
    /// The runs on the host, as [`host::run_length_encode`] gives them.
    ///
    /// # Errors
    /// `Array` with the errors of [`Expr::eval`].
    pub fn eval(&self) -> Result<Runs<T>> {
        in_order::<T, _>(self.0.ready()?.heads, |values| host::run_length_encode(values))
    }
}
