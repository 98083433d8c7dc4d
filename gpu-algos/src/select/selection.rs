//! Selections as values: their inputs, their mode, their destination, and the places that compute them.

use std::{fmt, marker::PhantomData};

use gpu_array::{
    ArrayError, Element,
    expression::{Assembled, Backend, Expr, Gpu},
    gpu_driver::Stream,
};
use ndarray::{Array1, Axis, Dimension, Ix0, Ix1};

use super::launch::{FLAGS, INDICES};
use crate::{
    Result,
    common::{shape::same_shape, source::checked},
};

/// A selection that has not been computed; `T` is the element type of the selected values, `P` the place.
///
/// The methods of [`Select`](super::Select) make it; [`Selection::to_array`] computes it at either place, [`Selection::eval`] and
/// [`Selection::write_into`] on a GPU without waiting.
#[must_use = "it is computed by `eval` or `to_array`"]
pub struct Selection<'a, T, P = Gpu> {
    pub(super) values: Option<Result<Assembled<'a>, ArrayError>>,
    pub(super) heads: Result<Assembled<'a>, ArrayError>,
    pub(super) mode: u32,
    pub(super) home: Option<Stream>,
    /// The host's function of the heads, where the selected values are the indices of those that are not 0.
    pub(super) nonzero: Option<SelectOnHost<T>>,
    _types: PhantomData<fn() -> (T, P)>,
}

/// A partition that has not been computed.
///
/// [`Select::partition`](super::Select::partition) makes it; [`Partition::to_arrays`], [`Partition::eval`] or [`Partition::write_into`] computes it.
#[must_use = "it is computed by `eval` or `to_arrays`"]
pub struct Partition<'a, T, P = Gpu>(pub(super) Selection<'a, T, P>);

/// Runs of equal neighbours that have not been computed.
///
/// [`Select::run_length_encode`](super::Select::run_length_encode) makes them; [`RunLengths::to_arrays`], [`RunLengths::eval`] or
/// [`RunLengths::write_into`] computes them.
#[must_use = "it is computed by `eval` or `to_arrays`"]
pub struct RunLengths<'a, T, P = Gpu>(pub(super) Selection<'a, T, P>);

/// The expressions of a selection, and the number of their values.
pub(super) struct Ready<'r, 'a> {
    pub(super) values: Option<&'r Assembled<'a>>,
    pub(super) heads: &'r Assembled<'a>,
    pub(super) count: usize,
}

/// A place that selects values: [`Gpu`] or [`Host`](gpu_array::expression::Host), for each element type.
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

impl<'a, T: Element, P> Selection<'a, T, P> {
    pub(crate) fn new(
        values: Option<Result<Assembled<'a>, ArrayError>>,
        heads: Result<Assembled<'a>, ArrayError>,
        mode: u32,
    ) -> Self {
        Self { values, heads, mode, home: None, nonzero: None, _types: PhantomData }
    }

    /// Sets the stream, where there is one.
    pub(super) fn with_home(mut self, home: Option<Stream>) -> Self {
        self.home = home;
        self
    }

    pub(super) fn ready(&self) -> Result<Ready<'_, 'a>> {
        let heads = checked(&self.heads)?;
        let values = self.values.as_ref().map(checked).transpose()?;
        if let Some(values) = values {
            same_shape("a selection by a mask", values.shape(), heads.shape())?;
        }
        Ok(Ready { values, heads, count: heads.shape().iter().product() })
    }
}

impl<'a, P: Selects> Selection<'a, i64, P> {
    /// The indices of the values of type `T` that are not 0.
    pub(super) fn of_nonzero<T: Element>(heads: Result<Assembled<'a>, ArrayError>) -> Self {
        Self { nonzero: P::nonzero_on_host::<T>(), ..Self::new(None, heads, FLAGS | INDICES) }
    }
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

    /// Computes the selected values into the first elements of an existing array or view of the place, and their number into `count`.
    ///
    /// The array has room for all values, and its later elements stay as they are. On a GPU it does not wait, and allocates nothing.
    ///
    /// # Errors
    /// As [`Selection::to_array`]; `OutputTooSmall` if the array has fewer elements than there are values. After an error both are unchanged, unless the
    /// stream of the selection and that of an array could not be joined after the launch: then they may have been written.
    ///
    /// # Example
    /// ```
    /// use gpu_algos::prelude::*;
    /// use gpu_array::expression::host; // the same line as on a GPU, there with `&x` in place of `host(&x)`
    /// use ndarray::{arr0, array};
    ///
    /// let (mut indices, mut count) = (array![-1, -1, -1, -1], arr0(0));
    /// host(&array![0, 7, 0, -1]).nonzero().write_into(&mut indices, &mut count)?;
    /// assert_eq!((indices, count), (array![1, 3, -1, -1], arr0(2)));
    /// # Ok::<(), gpu_algos::AlgoError>(())
    /// ```
    pub fn write_into<'t>(
        &self,
        target: impl Into<P::ViewMut<'t, T, Ix1>>,
        count: impl Into<P::ViewMut<'t, i64, Ix0>>,
    ) -> Result<()>
    where
        T: 't,
    {
        P::selected_into(self, target.into(), count.into())
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

    /// Computes the partition into the first elements of an existing array or view of the place, and the number of selected values into `count`.
    /// The array has room for all values. Does not wait.
    ///
    /// # Errors
    /// As [`Selection::write_into`].
    pub fn write_into<'t>(
        &self,
        target: impl Into<P::ViewMut<'t, T, Ix1>>,
        count: impl Into<P::ViewMut<'t, i64, Ix0>>,
    ) -> Result<()>
    where
        T: 't,
    {
        P::partitioned_into(self, target.into(), count.into())
    }
}

impl<'a, T: Element, P> Partition<'a, T, P> {
    pub(crate) fn new(selection: Selection<'a, T, P>) -> Self {
        Self(selection)
    }
}

impl<'a, T: Element, P> RunLengths<'a, T, P> {
    pub(crate) fn new(selection: Selection<'a, T, P>) -> Self {
        Self(selection)
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

    /// Computes the runs into the first elements of existing arrays or views of the place, and their number into `count`.
    ///
    /// The arrays have room for one run per value, and their later elements stay as they are. On a GPU it does not
    /// wait, and allocates nothing.
    ///
    /// # Errors
    /// As [`Selection::write_into`], of each of the three; `NotInCOrder` on a GPU if the elements of `offsets` or `lengths` are not neighbours in memory. The
    /// arrays are then unchanged, with the exception that is named there.
    ///
    /// # Example
    /// ```no_run
    /// # use gpu_algos::{AlgoError, gpu_array::{GpuArray, gpu_driver::Device}, prelude::*};
    /// use ndarray::{Ix0, Ix1, array};
    ///
    /// let device = Device::first()?;
    /// let x = GpuArray::from_ndarray(&device, &array![3, 3, 3, 8, 1, 1])?;
    /// let mut values = GpuArray::<i32, Ix1>::zeros(&device, 6)?;
    /// let [mut offsets, mut lengths] = [GpuArray::<i64, Ix1>::zeros(&device, 6)?, GpuArray::zeros(&device, 6)?];
    /// let mut count = GpuArray::<i64, Ix0>::zeros(&device, ())?;
    /// x.run_length_encode().write_into(&mut values, &mut offsets, &mut lengths, &mut count)?;
    /// assert_eq!((count.get()?, lengths.to_ndarray()?), (3, array![3, 1, 2, 0, 0, 0]));
    /// # Ok::<(), AlgoError>(())
    /// ```
    pub fn write_into<'t>(
        &self,
        values: impl Into<P::ViewMut<'t, T, Ix1>>,
        offsets: impl Into<P::ViewMut<'t, i64, Ix1>>,
        lengths: impl Into<P::ViewMut<'t, i64, Ix1>>,
        count: impl Into<P::ViewMut<'t, i64, Ix0>>,
    ) -> Result<()>
    where
        T: 't,
    {
        P::runs_into(self, (values.into(), [offsets.into(), lengths.into()], count.into()))
    }
}

impl<T, P> fmt::Debug for Selection<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Selection({})", self.mode)
    }
}

impl<T, P> fmt::Debug for Partition<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Partition")
    }
}

impl<T, P> fmt::Debug for RunLengths<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunLengths")
    }
}
