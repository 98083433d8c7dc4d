//! The two places where selections are computed: by kernels on a GPU, or by the functions of [`host`](mod@crate::host).

use gpu_array::{
    ArrayError, Element, GpuArray, GpuViewMut,
    expression::{Expr, Gpu, Host, LoweredTarget},
    gpu_driver::Stream,
};
use ndarray::{Array, Array1, ArrayViewD, ArrayViewMut0, ArrayViewMut1, Axis, Dimension, Ix0, Ix1, s};

use super::{
    along,
    launch::{Out, SelectJob},
    results::{self, Partitioned, Selected},
    selection::{Pair, Partition, Ready, RunLengths, RunTargets, SelectOnHost, Selection, Selects, Triple},
};
use crate::{
    AlgoError, Result,
    common::{
        launch::{Homes, allocate},
        on_host::{in_c_order, with_values},
        source::ValueSource,
    },
    host,
    reference::Runs,
};

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
    pub fn eval(&self) -> Result<results::Runs<T>> {
        let ready = self.0.ready()?;
        let stream = self.0.stream(&ready)?;
        let offsets = allocate::<i64, _>(stream, Ix1(ready.count))?;
        let lengths = allocate::<i64, _>(stream, Ix1(ready.count))?;
        let beside = [&offsets, &lengths].map(|array| array.as_device_vec().as_raw());
        let Selected { values, count } = self.0.eval_both(&ready, beside, stream)?;
        Ok(results::Runs { values, offsets, lengths, count })
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

impl Selects for Host {
    fn nonzero_on_host<T: Element>() -> Option<SelectOnHost<i64>> {
        Some(|heads| with_values::<T, _>(&*heads.ready(None)?, |values| host::flat_nonzero(values)))
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
        with_values::<T, _>(&*x.lower_deferred()?.ready(None)?, |values| host::nonzero(values))?
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
            None => {
                with_values::<T, _>(&*heads.ready(None)?, |values| in_c_order(&values, |values| host::unique(values)))
            }
        }
    }

    /// Gives the values and their mask to a function, where there is a mask.
    fn by_mask<R>(&self, of: impl FnOnce(ArrayViewD<'_, T>, ArrayViewD<'_, bool>) -> Result<R>) -> Result<Option<R>> {
        let ready = self.ready()?;
        let Some(values) = ready.values else { return Ok(None) };
        let selected = with_values(&*values.ready(None)?, |values| -> Result<R> {
            with_values(&*ready.heads.ready(None)?, |mask| of(values, mask))?
        });
        selected?.map(Some)
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
        let heads = self.0.ready()?.heads.ready(None)?;
        with_values::<T, _>(&heads, |values| in_c_order(&values, |values| host::run_length_encode(values)))
    }
}
