//! Reductions as values: the expression, the axes, the destination.

use std::{fmt, marker::PhantomData};

use gpu_array::{
    ArrayError, Element, GpuArray, GpuViewMut,
    expression::{Lowered, LoweredTarget},
    gpu_driver::Stream,
};
use ndarray::{Axis, Dimension, Ix0, IxDyn, RemoveAxis};
use smallvec::{SmallVec, smallvec};

use super::launch::run;
use crate::{
    AlgoError, Result,
    common::{launch::allocate, operator::DeviceOperator, shape::dim_of, source::checked},
};

/// A reduction that has not been computed.
///
/// The methods of [`Reductions`](super::Reductions) make it; [`Reduction::eval`], [`Reduction::get`] or [`Reduction::write_into`] computes it.
///
/// `O` is the type of the result ([`Pair`] for two), `D` the rank of the reduced expression, `K` that of the result: `Ix0` unless axes are given.
#[must_use = "it is computed by `eval`"]
pub struct Reduction<'a, O, D, K = Ix0> {
    lowered: Result<Lowered<'a>, ArrayError>,
    operator: DeviceOperator,
    reduced: Reduced,
    keeps_axes: bool,
    home: Option<Stream>,
    _types: Types<O, D, K>,
}

/// Whether each axis is outer.
type Kept = SmallVec<[bool; 4]>;

/// Marker for the parameters that only the type has.
type Types<O, D, K> = PhantomData<fn() -> (O, D, K)>;

/// The axes of a reduction.
#[derive(Clone, Debug)]
enum Reduced {
    All,
    These(SmallVec<[usize; 4]>),
}

impl<'a, O, D: Dimension> Reduction<'a, O, D, Ix0> {
    pub(crate) fn new(lowered: Result<Lowered<'a>, ArrayError>, operator: DeviceOperator) -> Self {
        let (reduced, keeps_axes, home) = (Reduced::All, false, None);
        Self { lowered, operator, reduced, keeps_axes, home, _types: PhantomData }
    }

    /// Reduces over one axis: the result has the others.
    pub fn axis(self, axis: Axis) -> Reduction<'a, O, D, D::Smaller>
    where
        D: RemoveAxis,
    {
        self.over(Reduced::These(smallvec![axis.index()]), false)
    }

    /// Reduces over a set of axes, each named once: the result has the others. With no axis each value is a result.
    pub fn axes(self, axes: &[Axis]) -> Reduction<'a, O, D, IxDyn> {
        self.over(Reduced::These(axes.iter().map(|axis| axis.index()).collect()), false)
    }
}

impl<'a, O, D: Dimension, K: Dimension> Reduction<'a, O, D, K> {
    fn over<L>(self, reduced: Reduced, keeps_axes: bool) -> Reduction<'a, O, D, L> {
        let Self { lowered, operator, home, .. } = self;
        Reduction { lowered, operator, reduced, keeps_axes, home, _types: PhantomData }
    }

    /// Keeps each reduced axis with length 1, so that the result broadcasts against the reduced expression (NumPy's `keepdims`).
    #[doc(alias = "keepdims")]
    pub fn keep_dims(self) -> Reduction<'a, O, D, D> {
        let reduced = self.reduced.clone();
        self.over(reduced, true)
    }

    /// Runs the reduction on this stream, or on a device's main stream, which is then the home of a new result.
    /// It is needed if no array is reduced.
    #[doc(alias = "eval_on")]
    pub fn on(mut self, home: impl Into<Stream>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// Carries a sum or product of f32 in f64, and rounds it once at the end. Means, variances and norms are always carried in f64.
    pub fn accumulate_f64(mut self) -> Self {
        self.operator.kind.carry_in_f64();
        self
    }

    /// Whether each axis is outer.
    fn is_kept(&self, ndim: usize) -> Result<Kept> {
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

    /// The reduced expression, the outer axes, and the shape of the result.
    fn prepare(&self) -> Result<(&Lowered<'a>, Kept, K)> {
        let lowered = checked(&self.lowered)?;
        let shape = lowered.shape();
        let outer = self.is_kept(shape.len())?;
        if let Some(op) = self.operator.fails_on_nothing()
            && shape.iter().zip(&outer).any(|(&length, &outer)| length == 0 && !outer)
            && !shape.iter().zip(&outer).any(|(&length, &outer)| length == 0 && outer)
        {
            return Err(AlgoError::Empty { op });
        }
        let lengths: SmallVec<[usize; 4]> = match self.keeps_axes {
            true => shape.iter().zip(&outer).map(|(&length, &outer)| if outer { length } else { 1 }).collect(),
            false => shape.iter().zip(&outer).filter(|(_, outer)| **outer).map(|(&length, _)| length).collect(),
        };
        let dim = dim_of("a reduction", &lengths)?;
        Ok((lowered, outer, dim))
    }

    /// The stream to compute on.
    fn stream<'s>(&'s self, lowered: &'s Lowered<'a>) -> Result<&'s Stream> {
        match &self.home {
            Some(home) => Ok(home),
            None => Ok(lowered.stream()?),
        }
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
    pub fn eval(&self) -> Result<O::Arrays<K>>
    where
        O: Results,
    {
        let (lowered, outer, dim) = self.prepare()?;
        let stream = self.stream(lowered)?;
        let arrays = O::allocate(stream, dim)?;
        let strides = outer_strides(O::strides(&arrays), &outer, self.keeps_axes);
        run(lowered, &self.operator, &outer, &strides, &O::addresses(&arrays), &[], stream)?;
        Ok(arrays)
    }
}

impl<O: Results, D: Dimension> Reduction<'_, O, D, Ix0> {
    /// The value itself, or the pair of values. Waits for it and copies it to the host.
    ///
    /// # Errors
    /// As [`Reduction::eval`], and `DeviceLost` when a kernel faulted.
    pub fn get(&self) -> Result<O::Values> {
        O::get(&self.eval()?)
    }
}

impl<O: Element, D: Dimension, K: Dimension> Reduction<'_, O, D, K> {
    /// Computes the result into an existing array or view, which has its shape. Does not wait.
    ///
    /// # Errors
    /// As [`Reduction::eval`]; `OutShape`. After an error the array is unchanged, unless the stream of the reduction and that of the array could not
    /// be joined after the launch: then it may have been written.
    pub fn write_into<'t>(&self, target: impl Into<GpuViewMut<'t, O, K>>) -> Result<()>
    where
        O: 't,
        K: 't,
    {
        let mut target = target.into();
        self.write([target.lower_mut()?])
    }
}

impl<A: Element, B: Element, D: Dimension, K: Dimension> Reduction<'_, Pair<A, B>, D, K> {
    /// Computes both results into existing arrays or views, which have their shape and the same strides. Does not wait.
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
        first: impl Into<GpuViewMut<'t, A, K>>,
        second: impl Into<GpuViewMut<'t, B, K>>,
    ) -> Result<()>
    where
        A: 't,
        B: 't,
        K: 't,
    {
        let (mut first, mut second) = (first.into(), second.into());
        let (first, second) = (first.lower_mut()?, second.lower_mut()?);
        let differ = |axis: usize| first.shape[axis] > 1 && first.strides[axis] != second.strides[axis];
        if first.shape == second.shape && (0..first.shape.len()).any(differ) {
            return Err(AlgoError::OutStrides { expected: first.strides.to_vec(), got: second.strides.to_vec() });
        }
        self.write([first, second])
    }
}

impl<O, D: Dimension, K: Dimension> Reduction<'_, O, D, K> {
    /// Computes the results into these targets, which have equal strides.
    fn write<const N: usize>(&self, targets: [LoweredTarget<'_>; N]) -> Result<()> {
        let (lowered, outer, dim) = self.prepare()?;
        if let Some(other) = targets.iter().find(|target| target.shape != dim.slice()) {
            return Err(AlgoError::OutShape { expected: dim.slice().to_vec(), got: other.shape.to_vec() });
        }
        let stream = self.home.as_ref().unwrap_or(targets[0].home);
        let strides = outer_strides(targets[0].strides, &outer, self.keeps_axes);
        let (addresses, homes) =
            (targets.each_ref().map(|target| target.address), targets.each_ref().map(|target| target.home));
        run(lowered, &self.operator, &outer, &strides, &addresses, &homes, stream)
    }
}

impl<O, D, K> fmt::Debug for Reduction<'_, O, D, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reduction({} over {:?})", self.operator.text(), self.reduced)
    }
}

/// The strides of the result along each outer axis.
fn outer_strides(strides: &[isize], outer: &[bool], keeps_axes: bool) -> SmallVec<[isize; 4]> {
    if !keeps_axes {
        return strides.into();
    }
    strides.iter().zip(outer).filter(|(_, outer)| **outer).map(|(&stride, _)| stride).collect()
}

/// Result types of reductions: an element type, or a [`Pair`] of them.
pub trait Results: sealed::SealedResults {
    /// Arrays of the results.
    type Arrays<K: Dimension>;
    /// The values on the host.
    type Values;
    #[doc(hidden)]
    fn allocate<K: Dimension>(stream: &Stream, dim: K) -> Result<Self::Arrays<K>>;
    #[doc(hidden)]
    fn addresses<K: Dimension>(arrays: &Self::Arrays<K>) -> SmallVec<[u64; 2]>;
    #[doc(hidden)]
    fn strides<K: Dimension>(arrays: &Self::Arrays<K>) -> &[isize];
    #[doc(hidden)]
    fn get(arrays: &Self::Arrays<Ix0>) -> Result<Self::Values>;
}

mod sealed {
    pub trait SealedResults {}
    impl<T: gpu_array::Element> SealedResults for T {}
    impl<A: gpu_array::Element, B: gpu_array::Element> SealedResults for super::Pair<A, B> {}
}

impl<T: Element> Results for T {
    type Arrays<K: Dimension> = GpuArray<T, K>;
    type Values = T;
    fn allocate<K: Dimension>(stream: &Stream, dim: K) -> Result<GpuArray<T, K>> {
        allocate(stream, dim)
    }
    fn addresses<K: Dimension>(array: &GpuArray<T, K>) -> SmallVec<[u64; 2]> {
        smallvec![array.as_device_vec().as_raw()]
    }
    fn strides<K: Dimension>(array: &GpuArray<T, K>) -> &[isize] {
        array.strides()
    }
    fn get(array: &GpuArray<T, Ix0>) -> Result<T> {
        Ok(array.get()?)
    }
}

/// Two results of one reduction.
#[derive(Debug)]
pub struct Pair<A, B>(PhantomData<fn() -> (A, B)>);

impl<A: Element, B: Element> Results for Pair<A, B> {
    type Arrays<K: Dimension> = (GpuArray<A, K>, GpuArray<B, K>);
    type Values = (A, B);
    fn allocate<K: Dimension>(stream: &Stream, dim: K) -> Result<Self::Arrays<K>> {
        Ok((allocate(stream, dim.clone())?, allocate(stream, dim)?))
    }
    fn addresses<K: Dimension>((a, b): &Self::Arrays<K>) -> SmallVec<[u64; 2]> {
        smallvec![a.as_device_vec().as_raw(), b.as_device_vec().as_raw()]
    }
    fn strides<K: Dimension>((a, _): &Self::Arrays<K>) -> &[isize] {
        a.strides()
    }
    fn get((a, b): &Self::Arrays<Ix0>) -> Result<(A, B)> {
        Ok((a.get()?, b.get()?))
    }
}
