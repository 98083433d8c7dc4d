//! Reductions as values: the expression, the axes, the destination, and the places that compute them.

use std::{fmt, marker::PhantomData};

use gpu_array::{
    ArrayError, Element, GpuViewMut,
    expression::{Assembled, Gpu, Lowered, LoweredTarget},
    gpu_driver::Stream,
};
use ndarray::{ArrayD, Axis, Dimension, Ix0, IxDyn, RemoveAxis};
use smallvec::{SmallVec, smallvec};

use super::{
    families::HostReduce,
    launch::run,
    results::{Pair, Results},
};
use crate::{
    AlgoError, Result,
    common::{launch::allocate, operator::DeviceOperator, shape::dim_of, source::checked},
    scan::ScanBackend,
    select::Selects,
};

/// A reduction that has not been computed.
///
/// The methods of [`Reductions`](super::Reductions) make it; [`Reduction::eval`], [`Reduction::get`] or [`Reduction::write_into`] computes it. It is an
/// operand of expressions too, as its result would be: `&x - x.mean().axis(Axis(0))` ([the module's page](super#reductions-within-expressions)).
///
/// `O` is the type of the result ([`Pair`] for two), `D` the rank of the reduced expression, `K` that of the result: `Ix0` unless axes are given; `P`
/// is the place.
#[must_use = "it is computed by `eval`"]
pub struct Reduction<'a, O: Results, D, K = Ix0, P = Gpu> {
    assembled: Result<Assembled<'a>, ArrayError>,
    pub(super) operation: ReduceOperation<O>,
    home: Option<Stream>,
    _types: Types<D, K, P>,
}

/// Whether each axis is outer.
pub(super) type Kept = SmallVec<[bool; 4]>;

/// Marker for the parameters that only the type has.
type Types<D, K, P> = PhantomData<fn() -> (D, K, P)>;

/// The axes of a reduction.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reduced {
    All,
    These(SmallVec<[usize; 4]>),
}

/// A reduction without its expression.
pub(super) struct ReduceOperation<O: Results> {
    pub(super) operator: DeviceOperator,
    pub(super) reduced: Reduced,
    pub(super) keeps_axes: bool,
    /// The function that computes it on the host, and the number that spreads subtract from the number of values.
    pub(super) host: Option<(HostReduce<O::Values>, u32)>,
}

impl<O: Results> Clone for ReduceOperation<O> {
    fn clone(&self) -> Self {
        let Self { operator, reduced, keeps_axes, host } = self;
        Self { operator: operator.clone(), reduced: reduced.clone(), keeps_axes: *keeps_axes, host: *host }
    }
}

impl<O: Results> fmt::Debug for ReduceOperation<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} over {:?}", self.operator.text(), self.reduced)
    }
}

impl<O: Results> ReduceOperation<O> {
    /// Whether each axis is outer. Selected values have one axis, whatever those of the values and their mask are, which is reduced.
    pub(super) fn is_kept(&self, ndim: usize) -> Result<Kept> {
        let is_masked = self.operator.is_masked;
        let outer = self.is_kept_of(if is_masked { 1 } else { ndim })?;
        if is_masked && outer[0] {
            let (name, dtype) = ("a reduction of selected values over no axis", self.operator.value);
            return Err(ArrayError::Operation { name, dtype }.into());
        }
        Ok(if is_masked { SmallVec::from_elem(false, ndim) } else { outer })
    }

    fn is_kept_of(&self, ndim: usize) -> Result<Kept> {
        let mut outer = SmallVec::from_elem(matches!(self.reduced, Reduced::These(_)), ndim);
        if let Reduced::These(axes) = &self.reduced {
            for &axis in axes {
                let flag = outer.get_mut(axis).ok_or(ArrayError::Axis { op: "a reduction", axis, ndim })?;
                if !std::mem::take(flag) {
                    return Err(AlgoError::RepeatedAxis { op: "a reduction", axis });
                }
            }
        }
        Ok(outer)
    }

    /// The lengths of the result for a reduced expression of this shape.
    pub(super) fn lengths(&self, shape: &[usize]) -> Result<SmallVec<[usize; 4]>> {
        let outer = self.is_kept(shape.len())?;
        if let Some(op) = self.operator.fails_on_nothing()
            && shape.iter().zip(&outer).any(|(&length, &outer)| length == 0 && !outer)
            && !shape.iter().zip(&outer).any(|(&length, &outer)| length == 0 && outer)
        {
            return Err(AlgoError::Empty { op });
        }
        Ok(match self.keeps_axes {
            true if self.operator.is_masked => smallvec![1],
            true => shape.iter().zip(&outer).map(|(&length, &outer)| if outer { length } else { 1 }).collect(),
            false => shape.iter().zip(&outer).filter(|(_, outer)| **outer).map(|(&length, _)| length).collect(),
        })
    }

    /// Enqueues the reduction by an operator. Where the operator returns whether any value was selected, this waits for it.
    pub(super) fn enqueue(
        &self,
        operator: &DeviceOperator,
        source: &Lowered<'_>,
        strides: &[isize],
        (targets, homes): (&[u64], &[&Stream]),
        stream: &Stream,
    ) -> Result<()> {
        let outer = self.is_kept(source.shape().len())?;
        let strides = outer_strides(strides, &outer, self.keeps_axes);
        if !operator.returns_any() {
            return run(source, operator, &outer, &strides, targets, homes, stream);
        }
        let any = allocate::<bool, _>(stream, Ix0())?;
        let targets: SmallVec<[u64; 4]> = targets.iter().copied().chain([any.as_device_vec().as_raw()]).collect();
        run(source, operator, &outer, &strides, &targets, homes, stream)?;
        if any.get()? { Ok(()) } else { Err(AlgoError::Empty { op: operator.name() }) }
    }

    /// The results on the host, in C order; their shape may lack the reduced axes.
    pub(super) fn on_host(&self, lowered: &Lowered<'_>) -> Result<ArrayD<O::Values>> {
        let outer = self.is_kept(lowered.shape().len())?;
        let axes: SmallVec<[Axis; 4]> = (0..outer.len()).filter(|&axis| !outer[axis]).map(Axis).collect();
        let Some((reduce, ddof)) = self.host else {
            return Err(ArrayError::Operation { name: self.operator.name(), dtype: self.operator.value }.into());
        };
        reduce(lowered, &axes, ddof)
    }
}

/// A place that computes reductions and scans, and [selections](Selects) too: [`Gpu`] or [`Host`](gpu_array::expression::Host).
pub trait ReduceBackend: Selects + ScanBackend {
    #[doc(hidden)]
    fn eval<O: Results, D: Dimension, K: Dimension>(
        reduction: &Reduction<'_, O, D, K, Self>,
    ) -> Result<O::Arrays<K, Self>>;
    #[doc(hidden)]
    fn get<O: Results>(arrays: &O::Arrays<Ix0, Self>) -> Result<O::Values>;
    #[doc(hidden)]
    fn reduce_into<O: Element, D: Dimension, K: Dimension>(
        reduction: &Reduction<'_, O, D, K, Self>,
        target: Self::ViewMut<'_, O, K>,
    ) -> Result<()>;
    #[doc(hidden)]
    fn reduce_into_both<A: Element, B: Element, D: Dimension, K: Dimension>(
        reduction: &Reduction<'_, Pair<A, B>, D, K, Self>,
        first: Self::ViewMut<'_, A, K>,
        second: Self::ViewMut<'_, B, K>,
    ) -> Result<()>;
}

impl<'a, O: Results, D: Dimension, P: ReduceBackend> Reduction<'a, O, D, Ix0, P> {
    pub(crate) fn new(
        assembled: Result<Assembled<'a>, ArrayError>,
        operator: DeviceOperator,
        host: Option<(HostReduce<O::Values>, u32)>,
    ) -> Self {
        let operation = ReduceOperation { operator, reduced: Reduced::All, keeps_axes: false, host };
        Self { assembled, operation, home: None, _types: PhantomData }
    }

    /// With a stream to compute on.
    pub(super) fn with_home(self, home: Option<Stream>) -> Self {
        Self { home, ..self }
    }

    /// Reduces over one axis: the result has the others.
    pub fn axis(self, axis: Axis) -> Reduction<'a, O, D, D::Smaller, P>
    where
        D: RemoveAxis,
    {
        self.over(Reduced::These(smallvec![axis.index()]), false)
    }

    /// Reduces over a set of axes, each named once: the result has the others. With no axis each value is a result.
    pub fn axes(self, axes: &[Axis]) -> Reduction<'a, O, D, IxDyn, P> {
        self.over(Reduced::These(axes.iter().map(|axis| axis.index()).collect()), false)
    }
}

impl<'a, O: Results, D: Dimension, K: Dimension, P: ReduceBackend> Reduction<'a, O, D, K, P> {
    fn over<L>(self, reduced: Reduced, keeps_axes: bool) -> Reduction<'a, O, D, L, P> {
        let Self { assembled, operation, home, .. } = self;
        let operation = ReduceOperation { reduced, keeps_axes, ..operation };
        Reduction { assembled, operation, home, _types: PhantomData }
    }

    /// Keeps each reduced axis with length 1, so that the result broadcasts against the reduced expression (NumPy's `keepdims`).
    #[doc(alias = "keepdims")]
    pub fn keep_dims(self) -> Reduction<'a, O, D, D, P> {
        let reduced = self.operation.reduced.clone();
        self.over(reduced, true)
    }

    /// Carries a sum or product of f32 in f64, and rounds it once at the end. Means, variances and norms are always carried in f64, and on the host so
    /// are all sums and products.
    pub fn accumulate_f64(mut self) -> Self {
        self.operation.operator.kind.carry_in_f64();
        self
    }

    /// The reduced expression, and the shape of the result.
    pub(super) fn prepare(&self) -> Result<(&Assembled<'a>, K)> {
        let assembled = checked(&self.assembled).map_err(of_mask)?;
        let dim = dim_of("a reduction", &self.operation.lengths(assembled.shape())?)?;
        Ok((assembled, dim))
    }

    /// The stream to compute on.
    pub(super) fn stream<'s>(&'s self, assembled: &'s Assembled<'a>) -> Result<&'s Stream> {
        match &self.home {
            Some(home) => Ok(home),
            None => Ok(assembled.stream()?),
        }
    }

    /// The parts of an operand: the reduced expression, the operation, the shape of the result, the stream.
    pub(super) fn into_parts(self) -> Result<(Assembled<'a>, ReduceOperation<O>, K, Option<Stream>)> {
        let Self { assembled, operation, home, .. } = self;
        let assembled = assembled.map_err(of_mask)?;
        let dim = dim_of("a reduction", &operation.lengths(assembled.shape())?)?;
        Ok((assembled, operation, dim, home))
    }

    /// Computes the result as a new array, or a pair of arrays, in C order. Does not wait.
    ///
    /// The home of the first array is the home of the result, and orders the work.
    ///
    /// # Cost
    /// One kernel; only the result is allocated. The first reduction of this form compiles or loads its kernel, as the first expression of a form
    /// does.
    ///
    /// # Errors
    /// `Array` with the errors of [`gpu_array::expression::Expr::eval`] for shapes, devices and limits, and for an axis that does not exist;
    /// `RepeatedAxis`; `Empty` for the least or greatest of no values; `TooManyAxes`; `TooLarge`; the driver's errors.
    pub fn eval(&self) -> Result<O::Arrays<K, P>> {
        P::eval(self)
    }
}

impl<O: Results, D: Dimension, K: Dimension> Reduction<'_, O, D, K> {
    /// Runs the reduction on this stream, or on a device's main stream, which is then the home of a new result.
    /// It is needed if no array is reduced.
    #[doc(alias = "eval_on")]
    pub fn on(mut self, home: impl Into<Stream>) -> Self {
        self.home = Some(home.into());
        self
    }
}

impl<O: Results, D: Dimension, P: ReduceBackend> Reduction<'_, O, D, Ix0, P> {
    /// The value itself, or the pair of values. Waits for it and copies it to the host.
    ///
    /// # Errors
    /// As [`Reduction::eval`], and `DeviceLost` when a kernel faulted.
    pub fn get(&self) -> Result<O::Values> {
        P::get::<O>(&self.eval()?)
    }
}

impl<O: Element, D: Dimension, K: Dimension, P: ReduceBackend> Reduction<'_, O, D, K, P> {
    /// Computes the result into an existing array or view, which has its shape: `&mut y` or `y.view_mut()` of the reduction's place. Does not wait.
    ///
    /// # Errors
    /// As [`Reduction::eval`]; `OutShape`. After an error the array is unchanged, unless the stream of the reduction and that of the array could not
    /// be joined after the launch: then it may have been written.
    pub fn write_into<'t>(&self, target: impl Into<P::ViewMut<'t, O, K>>) -> Result<()>
    where
        O: 't,
        K: 't,
    {
        P::reduce_into(self, target.into())
    }
}

impl<A: Element, B: Element, D: Dimension, K: Dimension, P: ReduceBackend> Reduction<'_, Pair<A, B>, D, K, P> {
    /// Computes both results into existing arrays or views, which have their shape and on a GPU the same strides. Does not wait.
    ///
    /// # Errors
    /// As [`Reduction::eval`]; `OutShape`; `OutStrides` if the strides of the two differ. After an error the arrays are unchanged, unless streams
    /// could not be joined after the launch: then they may have been written.
    ///
    /// ```no_run
    /// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, prelude::*};
    /// # fn main() -> Result<(), gpu_algos::AlgoError> {
    /// let device = Device::new(0)?;
    /// let x = GpuArray::<f32, _>::zeros(&device, (1000, 3))?;
    /// let (mut means, mut variances) = (GpuArray::<f32, _>::zeros(&device, 3)?, GpuArray::<f32, _>::zeros(&device, 3)?);
    /// x.mean_var(1).axis(ndarray::Axis(0)).write_into(&mut means, &mut variances)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn write_into<'t>(
        &self,
        first: impl Into<P::ViewMut<'t, A, K>>,
        second: impl Into<P::ViewMut<'t, B, K>>,
    ) -> Result<()>
    where
        A: 't,
        B: 't,
        K: 't,
    {
        P::reduce_into_both(self, first.into(), second.into())
    }
}

impl<A: Element, B: Element, D: Dimension, K: Dimension> Reduction<'_, Pair<A, B>, D, K> {
    pub(super) fn write_both(&self, mut first: GpuViewMut<'_, A, K>, mut second: GpuViewMut<'_, B, K>) -> Result<()> {
        let (first, second) = (first.lower_mut()?, second.lower_mut()?);
        let differ = |axis: usize| first.shape[axis] > 1 && first.strides[axis] != second.strides[axis];
        if first.shape == second.shape && (0..first.shape.len()).any(differ) {
            return Err(AlgoError::OutStrides { expected: first.strides.to_vec(), got: second.strides.to_vec() });
        }
        self.write([first, second])
    }
}

impl<O: Results, D: Dimension, K: Dimension> Reduction<'_, O, D, K> {
    /// Computes the results into these targets, which have equal strides.
    pub(super) fn write<const N: usize>(&self, targets: [LoweredTarget<'_>; N]) -> Result<()> {
        let (assembled, dim) = self.prepare()?;
        if let Some(other) = targets.iter().find(|target| target.shape != dim.slice()) {
            return Err(AlgoError::OutShape { expected: dim.slice().to_vec(), got: other.shape.to_vec() });
        }
        let stream = self.home.as_ref().unwrap_or(targets[0].home);
        let ready = assembled.ready(Some(stream))?;
        let (addresses, homes) =
            (targets.each_ref().map(|target| target.address), targets.each_ref().map(|target| target.home));
        let operation = &self.operation;
        operation.enqueue(&operation.operator, &ready, targets[0].strides, (&addresses, &homes), stream)
    }
}

impl<O: Results, D, K, P> fmt::Debug for Reduction<'_, O, D, K, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reduction({:?})", self.operation)
    }
}

/// The error of values and a mask that were lowered together.
fn of_mask(error: ArrayError) -> AlgoError {
    match error {
        ArrayError::Outputs { first, other } => {
            AlgoError::Shape { op: "a selection by a mask", left: first, right: other }
        }
        error => error.into(),
    }
}

/// The strides of the result along each outer axis.
fn outer_strides(strides: &[isize], outer: &[bool], keeps_axes: bool) -> SmallVec<[isize; 4]> {
    if !keeps_axes {
        return strides.into();
    }
    strides.iter().zip(outer).filter(|(_, outer)| **outer).map(|(&stride, _)| stride).collect()
}
