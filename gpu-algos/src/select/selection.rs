//! Selections as values: their inputs, their mode, their destination.

use std::{fmt, marker::PhantomData};

use gpu_array::{
    ArrayError, Element, GpuViewMut,
    expression::{Assembled, Gpu, LoweredTarget},
    gpu_driver::Stream,
};
use ndarray::{Ix0, Ix1};

use super::{
    launch::{FLAGS, INDICES, Out, SelectJob},
    place::{RunTargets, SelectOnHost, Selects},
    results::{Partitioned, Runs, Selected},
};
use crate::{
    AlgoError, Result,
    common::{
        launch::{Homes, allocate},
        shape::same_shape,
        source::{ValueSource, checked},
    },
};

/// A selection that has not been computed; `T` is the element type of the selected values, `P` the place.
///
/// The methods of [`Select`](super::Select) make it; [`Selection::to_array`] computes it at either place, [`Selection::eval`] and
/// [`Selection::write_into`] on a GPU without waiting.
#[must_use = "it is computed by `eval` or `to_array`"]
pub struct Selection<'a, T, P = Gpu> {
    values: Option<Result<Assembled<'a>, ArrayError>>,
    heads: Result<Assembled<'a>, ArrayError>,
    mode: u32,
    home: Option<Stream>,
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

impl<'a, T: Element> Selection<'a, T> {
    /// Runs the selection on this stream, or on a device's main stream, which is then the home of a new result.
    /// It is needed if no array takes part.
    #[doc(alias = "eval_on")]
    pub fn on(mut self, home: impl Into<Stream>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// The stream of a selection into a new array.
    fn stream<'s>(&'s self, ready: &Ready<'s, 'a>) -> Result<&'s Stream> {
        if let Some(home) = &self.home {
            return Ok(home);
        }
        let of_values = ready.values.and_then(|values| values.stream().ok());
        Ok(of_values.map_or_else(|| ready.heads.stream(), Ok)?)
    }

    /// Computes the selection into `out`. Returns false if there are no values.
    fn run(&self, ready: &Ready<'_, 'a>, out: &Out, homes: &[&Stream], stream: &Stream) -> Result<bool> {
        let values = ready.values.map(|values| values.ready(Some(stream))).transpose()?;
        let values = values.as_ref().map(|values| &**values as &dyn ValueSource);
        let heads = ready.heads.ready(Some(stream))?;
        SelectJob { values, heads: &*heads, mode: self.mode }.run(out, homes, stream)
    }

    /// Allocates room for all values and for their number, and computes both. `places` and `lengths` are addresses of further outputs.
    fn eval_both(&self, ready: &Ready<'_, 'a>, [places, lengths]: [u64; 2], stream: &Stream) -> Result<Selected<T>> {
        let values = allocate::<T, _>(stream, Ix1(ready.count))?;
        let mut count = allocate::<i64, _>(stream, Ix0())?;
        let (address, at) = (values.as_device_vec().as_raw(), count.as_device_vec().as_raw());
        let out = Out { address, dtype: T::DTYPE, step: 1, places, lengths, count: at };
        if !self.run(ready, &out, &[], stream)? {
            count.fill(0)?;
        }
        Ok(Selected { values, count })
    }

    /// Computes the selected values as a new array with room for all values, and their number on the device. Does not wait.
    ///
    /// The home of the first array is the home of both, and orders the work.
    ///
    /// # Cost
    /// One kernel. Only the result is allocated, with memory for all values however many are selected. The first selection of this form compiles or
    /// loads its kernel, as the first expression of a form does. It is fastest if its inputs lie in memory in C order.
    ///
    /// # Errors
    /// `Array` with the errors of [`gpu_array::expression::Expr::eval`] for shapes, devices and limits; `Shape` for a mask of another shape;
    /// `TooManyAxes`; `TooLarge`; the driver's errors.
    pub fn eval(&self) -> Result<Selected<T>> {
        let ready = self.ready()?;
        let stream = self.stream(&ready)?;
        self.eval_both(&ready, [0; 2], stream)
    }

    pub(super) fn write_on_device(
        &self,
        mut target: GpuViewMut<'_, T, Ix1>,
        mut count: GpuViewMut<'_, i64, Ix0>,
    ) -> Result<()> {
        let ready = self.ready()?;
        if !self.run_into(&ready, &target.lower_mut()?, &[], &count.lower_mut()?)? {
            count.fill(0)?;
        }
        Ok(())
    }

    /// Computes the selection into `target` and `count`. `beside` are targets for the indices of the selected values and for the lengths of runs.
    fn run_into(
        &self,
        ready: &Ready<'_, 'a>,
        target: &LoweredTarget<'_>,
        beside: &[LoweredTarget<'_>],
        count: &LoweredTarget<'_>,
    ) -> Result<bool> {
        for one in std::iter::once(target).chain(beside) {
            let got: usize = one.shape.iter().product();
            if got < ready.count {
                return Err(AlgoError::OutputTooSmall { needed: ready.count, got });
            }
        }
        let &[step] = target.strides else { return Ok(false) };
        let of = |number: usize| beside.get(number).map_or(0, |one| one.address);
        let (places, lengths) = (of(0), of(1));
        let out = Out { address: target.address, dtype: T::DTYPE, step, places, lengths, count: count.address };
        let stream = self.home.as_ref().unwrap_or(target.home);
        let homes: Homes<'_> = beside.iter().chain([target, count]).map(|one| one.home).collect();
        self.run(ready, &out, &homes, stream)
    }
}

impl<T: Element, P: Selects> Selection<'_, T, P> {
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

impl<'a, T: Element> Partition<'a, T> {
    /// Sets the stream, as [`Selection::on`] does.
    #[doc(alias = "eval_on")]
    pub fn on(self, home: impl Into<Stream>) -> Self {
        Self(self.0.on(home))
    }

    /// Computes the partition as a new array, and the index of its second part on the device. Does not wait.
    ///
    /// The home of the first array is the home of both, and orders the work.
    ///
    /// # Cost
    /// One kernel, which first counts where the mask is true: the inputs of the mask are read twice. Only the result is allocated.
    ///
    /// # Errors
    /// As [`Selection::eval`].
    pub fn eval(&self) -> Result<Partitioned<T>> {
        let Selected { values, count } = self.0.eval()?;
        Ok(Partitioned { values, count })
    }
}

impl<'a, T: Element, P> RunLengths<'a, T, P> {
    pub(crate) fn new(selection: Selection<'a, T, P>) -> Self {
        Self(selection)
    }
}

impl<'a, T: Element> RunLengths<'a, T> {
    /// Sets the stream, as [`Selection::on`] does.
    #[doc(alias = "eval_on")]
    pub fn on(self, home: impl Into<Stream>) -> Self {
        Self(self.0.on(home))
    }

    /// Computes the runs as new arrays with room for one run per value, and their number on the device. Does not wait.
    ///
    /// The home of the first array is the home of all, and orders the work.
    ///
    /// # Cost
    /// One kernel, as for [`Selection::eval`]. Only the result is allocated, with 16 bytes per value more than there.
    ///
    /// # Errors
    /// As [`Selection::eval`].
    pub fn eval(&self) -> Result<Runs<T>> {
        let ready = self.0.ready()?;
        let stream = self.0.stream(&ready)?;
        let offsets = allocate::<i64, _>(stream, Ix1(ready.count))?;
        let lengths = allocate::<i64, _>(stream, Ix1(ready.count))?;
        let beside = [&offsets, &lengths].map(|array| array.as_device_vec().as_raw());
        let Selected { values, count } = self.0.eval_both(&ready, beside, stream)?;
        Ok(Runs { values, offsets, lengths, count })
    }

    pub(super) fn write_on_device(&self, targets: RunTargets<'_, Gpu, T>) -> Result<()> {
        let (mut values, [mut offsets, mut lengths], mut count) = targets;
        let ready = self.0.ready()?;
        let beside = [offsets.lower_mut()?, lengths.lower_mut()?];
        if let Some(one) = beside.iter().find(|one| one.shape[0] > 1 && one.strides != [1]) {
            let (op, shape, strides) = ("run_length_encode", one.shape.to_vec(), one.strides.to_vec());
            return Err(ArrayError::NotInCOrder { op, shape, strides }.into());
        }
        if !self.0.run_into(&ready, &values.lower_mut()?, &beside, &count.lower_mut()?)? {
            count.fill(0)?;
        }
        Ok(())
    }
}

impl<T: Element, P: Selects> RunLengths<'_, T, P> {
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
