//! The two places where reductions are computed: by a kernel on a GPU, or by the operators of the host.

use std::{any::Any as Erased, marker::PhantomData};

use gpu_array::{
    ArrayError, Complex, Element, GpuArray, GpuViewMut,
    expression::{Backend, Gpu, Host, Lowered},
};
use ndarray::{Array, ArrayD, ArrayView1, ArrayViewD, ArrayViewMut, Axis, Dimension, Ix0, Zip};

use super::{
    reduction::Reduction,
    results::{Pair, Results},
};
use crate::{
    AlgoError, Result, host,
    operators::{self, Operand, Summand},
    scan::{
        InPlace, Scan,
        place::{HostScan, ScansOnHost, scan_on_host},
    },
    select::Selects,
};

/// A place that reduces and scans arrays of `T`: [`Gpu`] for each element type, [`Host`] for those that are an [`Operand`], and for complex numbers.
///
/// Code that is generic over the place asks for it:
/// ```
/// use gpu_algos::{Result, prelude::*, reduce::Reduces};
/// use gpu_array::expression::{Backend, Host};
/// use ndarray::{Axis, Ix1, Ix2, array};
///
/// fn centred<P: Backend + Reduces<f64>>(x: &P::Owned<f64, Ix2>) -> Result<P::Owned<f64, Ix2>> {
///     let x = P::expr(x);
///     Ok((&x - x.mean().axis(Axis(0))).eval()?)
/// }
/// assert_eq!(centred::<Host>(&array![[1.0, 2.0], [3.0, 6.0]])?, array![[-1.0, -2.0], [1.0, 2.0]]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
pub trait Reduces<T: Element>: ReduceBackend {
    /// The host's function of a family, where this is the host.
    #[doc(hidden)]
    fn on_host<F: OnHost, V: Clone + 'static>() -> Option<HostReduce<V>>;
    /// The function for the values that a mask selects, where this is the host.
    #[doc(hidden)]
    fn selected_on_host<F: OnHost, V: Clone + 'static>() -> Option<HostReduce<V>>;
    /// The host's sum of products in their type, where this is the host; those of numbers of 16 bits are f64.
    #[doc(hidden)]
    fn dot_on_host() -> Option<HostReduce<T>>;
    /// The host's function of a family of scans, where this is the host.
    #[doc(hidden)]
    fn scan_on_host<F: ScansOnHost, O: 'static>() -> Option<HostScan<O>>;
}

impl<T: Element> Reduces<T> for Gpu {
    fn on_host<F: OnHost, V: Clone + 'static>() -> Option<HostReduce<V>> {
        None
    }
    fn selected_on_host<F: OnHost, V: Clone + 'static>() -> Option<HostReduce<V>> {
        None
    }
    fn dot_on_host() -> Option<HostReduce<T>> {
        None
    }
    fn scan_on_host<F: ScansOnHost, O: 'static>() -> Option<HostScan<O>> {
        None
    }
}

impl<T: Operand> Reduces<T> for Host {
    fn on_host<F: OnHost, V: Clone + 'static>() -> Option<HostReduce<V>> {
        Some(|lowered, axes, ddof| reduce_on_host(F::reduce::<T>, lowered, axes, ddof))
    }
    fn selected_on_host<F: OnHost, V: Clone + 'static>() -> Option<HostReduce<V>> {
        Some(|lowered, _, ddof| reduce_selected_on_host(F::reduce::<T>, lowered, ddof, T::FLOAT.then_some(T::NAN)))
    }
    fn dot_on_host() -> Option<HostReduce<T>> {
        Some(|lowered, axes, ddof| match T::DTYPE.is_half() {
            true => reduce_on_host(SumAs::<T>::reduce::<f64>, lowered, axes, ddof),
            false => reduce_on_host(SumAs::<T>::reduce::<T>, lowered, axes, ddof),
        })
    }
    fn scan_on_host<F: ScansOnHost, O: 'static>() -> Option<HostScan<O>> {
        Some(|lowered, heads, options| scan_on_host(F::scan::<T>, lowered, heads, options))
    }
}

macro_rules! complex {
    ($($part:ident)*) => {$(
        impl Reduces<Complex<$part>> for Host {
            fn on_host<F: OnHost, V: Clone + 'static>() -> Option<HostReduce<V>> {
                Some(|lowered, axes, ddof| {
                    reduce_on_host(F::reduce_summands::<Complex<$part>>, lowered, axes, ddof)
                })
            }
            fn selected_on_host<F: OnHost, V: Clone + 'static>() -> Option<HostReduce<V>> {
                Some(|lowered, _, ddof| {
                    reduce_selected_on_host(F::reduce_summands::<Complex<$part>>, lowered, ddof, None)
                })
            }
            fn dot_on_host() -> Option<HostReduce<Complex<$part>>> {
                Some(|lowered, axes, ddof| {
                    reduce_on_host(SumAs::<Complex<$part>>::reduce_summands::<Complex<$part>>, lowered, axes, ddof)
                })
            }
            fn scan_on_host<F: ScansOnHost, O: 'static>() -> Option<HostScan<O>> {
                Some(|lowered, heads, options| {
                    scan_on_host(F::scan_summands::<Complex<$part>>, lowered, heads, options)
                })
            }
        }
    )*};
}
complex! { f32 f64 }

/// A place that computes reductions and scans, and [selections](Selects) too: [`Gpu`] or [`Host`].
pub trait ReduceBackend: Selects {
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
    #[doc(hidden)]
    fn scan<O: Element, D: Dimension, K: Dimension>(scan: &Scan<'_, O, D, K, Self>) -> Result<Self::Owned<O, K>>;
    #[doc(hidden)]
    fn scan_into<O: Element, D: Dimension, K: Dimension>(
        scan: &Scan<'_, O, D, K, Self>,
        target: Self::ViewMut<'_, O, K>,
    ) -> Result<()>;
    #[doc(hidden)]
    fn scan_in_place<T: Element, D: Dimension>(scan: InPlace<'_, T, D, Self>) -> Result<()>;
}

impl ReduceBackend for Gpu {
    fn eval<O: Results, D: Dimension, K: Dimension>(reduction: &Reduction<'_, O, D, K>) -> Result<O::Arrays<K, Self>> {
        let (assembled, dim) = reduction.prepare()?;
        let stream = reduction.stream(assembled)?;
        let ready = assembled.ready(Some(stream))?;
        let operation = &reduction.operation;
        let arrays = O::allocate(stream, dim)?;
        operation.enqueue(&operation.operator, &ready, O::strides(&arrays), (&O::addresses(&arrays), &[]), stream)?;
        Ok(arrays)
    }

    fn get<O: Results>(arrays: &O::Arrays<Ix0, Self>) -> Result<O::Values> {
        O::get(arrays)
    }

    fn reduce_into<O: Element, D: Dimension, K: Dimension>(
        reduction: &Reduction<'_, O, D, K>,
        mut target: GpuViewMut<'_, O, K>,
    ) -> Result<()> {
        reduction.write([target.lower_mut()?])
    }

    fn reduce_into_both<A: Element, B: Element, D: Dimension, K: Dimension>(
        reduction: &Reduction<'_, Pair<A, B>, D, K>,
        first: GpuViewMut<'_, A, K>,
        second: GpuViewMut<'_, B, K>,
    ) -> Result<()> {
        reduction.write_both(first, second)
    }

    fn scan<O: Element, D: Dimension, K: Dimension>(scan: &Scan<'_, O, D, K>) -> Result<GpuArray<O, K>> {
        scan.eval_on_device()
    }

    fn scan_into<O: Element, D: Dimension, K: Dimension>(
        scan: &Scan<'_, O, D, K>,
        target: GpuViewMut<'_, O, K>,
    ) -> Result<()> {
        scan.write_on_device(target)
    }

    fn scan_in_place<T: Element, D: Dimension>(scan: InPlace<'_, T, D>) -> Result<()> {
        scan.run_on_device()
    }
}

impl ReduceBackend for Host {
    fn eval<O: Results, D: Dimension, K: Dimension>(
        reduction: &Reduction<'_, O, D, K, Self>,
    ) -> Result<O::Arrays<K, Self>> {
        let (assembled, dim) = reduction.prepare()?;
        let values = reduction.operation.on_host(&*assembled.ready(None)?)?;
        O::on_host(values, dim)
    }

    fn get<O: Results>(arrays: &O::Arrays<Ix0, Self>) -> Result<O::Values> {
        Ok(O::value(arrays))
    }

    fn reduce_into<O: Element, D: Dimension, K: Dimension>(
        reduction: &Reduction<'_, O, D, K, Self>,
        target: ArrayViewMut<'_, O, K>,
    ) -> Result<()> {
        write_on_host(target, &reduction.eval()?)
    }

    fn reduce_into_both<A: Element, B: Element, D: Dimension, K: Dimension>(
        reduction: &Reduction<'_, Pair<A, B>, D, K, Self>,
        first: ArrayViewMut<'_, A, K>,
        second: ArrayViewMut<'_, B, K>,
    ) -> Result<()> {
        let (a, b) = reduction.eval()?;
        check_shape(b.shape(), second.shape())?;
        write_on_host(first, &a)?;
        write_on_host(second, &b)
    }

    fn scan<O: Element, D: Dimension, K: Dimension>(scan: &Scan<'_, O, D, K, Self>) -> Result<Array<O, K>> {
        scan.eval_on_host()
    }

    fn scan_into<O: Element, D: Dimension, K: Dimension>(
        scan: &Scan<'_, O, D, K, Self>,
        target: ArrayViewMut<'_, O, K>,
    ) -> Result<()> {
        write_on_host(target, &scan.eval_on_host()?)
    }

    fn scan_in_place<T: Element, D: Dimension>(scan: InPlace<'_, T, D, Self>) -> Result<()> {
        scan.run_on_host()
    }
}

/// Overwrites an array with results, which must have its shape.
fn write_on_host<T: Element, K: Dimension>(mut target: ArrayViewMut<'_, T, K>, results: &Array<T, K>) -> Result<()> {
    check_shape(results.shape(), target.shape())?;
    target.assign(results);
    Ok(())
}

/// Checks that an array to write has the shape of the results.
fn check_shape(results: &[usize], target: &[usize]) -> Result<()> {
    if results == target {
        return Ok(());
    }
    Err(AlgoError::OutShape { expected: results.to_vec(), got: target.to_vec() })
}

/// The reduction of a host expression over some axes. The last argument is the one that spreads subtract from the number of values.
pub(crate) type HostReduce<V> = fn(&Lowered<'_>, &[Axis], u32) -> Result<ArrayD<V>>;

/// The reductions of one name, for every element type of the host.
pub trait OnHost: 'static {
    /// The results, as an `ArrayD` of the operator's output.
    ///
    /// # Errors
    /// Those of [`reduce_axes`](host::reduce_axes).
    fn reduce<T: Operand>(view: ArrayViewD<'_, T>, axes: &[Axis], ddof: u32) -> Result<Box<dyn Erased>>;

    /// The results for values that need no order.
    ///
    /// # Errors
    /// Those of [`reduce_axes`](host::reduce_axes); `Array` with `Operation` where they need one.
    fn reduce_summands<T: Summand>(_: ArrayViewD<'_, T>, _: &[Axis], _ddof: u32) -> Result<Box<dyn Erased>> {
        Err(ArrayError::Operation { name: "a reduction of values with an order", dtype: T::DTYPE }.into())
    }
}

/// Sums as values of the type `C`, in which those of integers wrap.
struct SumAs<C>(PhantomData<C>);

impl<C: Element> OnHost for SumAs<C> {
    fn reduce<T: Operand>(view: ArrayViewD<'_, T>, axes: &[Axis], ddof: u32) -> Result<Box<dyn Erased>> {
        Self::reduce_summands(view, axes, ddof)
    }
    fn reduce_summands<T: Summand>(view: ArrayViewD<'_, T>, axes: &[Axis], _: u32) -> Result<Box<dyn Erased>> {
        let sums = host::reduce_axes(&operators::Sum::<T>::new(), view, axes)?;
        Ok(Box::new(Host::owned_expr(sums).cast::<C>().eval()?))
    }
}

/// A family's function for one element type.
type OfViews<T> = fn(ArrayViewD<'_, T>, &[Axis], u32) -> Result<Box<dyn Erased>>;

fn reduce_on_host<T: Element, V: Clone + 'static>(
    reduce: OfViews<T>,
    lowered: &Lowered<'_>,
    axes: &[Axis],
    ddof: u32,
) -> Result<ArrayD<V>> {
    let results = match lowered.host_array::<T>() {
        Some(view) => reduce(view, axes, ddof)?,
        None => reduce(lowered.eval_on_host::<T>()?.view(), axes, ddof)?,
    };
    results_as::<T, V>(results)
}

/// The reduction of the values that a mask selects, the second output. `nan` is the value of no values, where they have none but the type has one.
fn reduce_selected_on_host<T: Element, V: Clone + 'static>(
    reduce: OfViews<T>,
    lowered: &Lowered<'_>,
    ddof: u32,
    nan: Option<T>,
) -> Result<ArrayD<V>> {
    let (values, mask) = lowered.eval_both_on_host::<T, bool>()?;
    let selected = host::select(&values, &mask)?;
    let reduce = |view: ArrayView1<'_, T>| reduce(view.into_dyn(), &[Axis(0)], ddof);
    let results = match (reduce(selected.view()), nan) {
        (Err(AlgoError::Empty { .. }), Some(nan)) => reduce(ArrayView1::from(&[nan])),
        (results, _) => results,
    };
    results_as::<T, V>(results?)
}

fn results_as<T: Element, V: 'static>(results: Box<dyn Erased>) -> Result<ArrayD<V>> {
    let unknown = |_| ArrayError::Operation { name: "a reduction on the host", dtype: T::DTYPE };
    Ok(*results.downcast::<ArrayD<V>>().map_err(unknown)?)
}

/// Families of one operator each: of values with an order, and of all summands, where spreads have an argument.
macro_rules! families {
    (ordered $($name:ident)*; summed $($sum:ident)*; spread $($spread:ident)*) => {
        $(pub(crate) struct $name;

        impl OnHost for $name {
            fn reduce<T: Operand>(view: ArrayViewD<'_, T>, axes: &[Axis], _: u32) -> Result<Box<dyn Erased>> {
                Ok(Box::new(host::reduce_axes(&operators::$name::<T>::new(), view, axes)?))
            }
        })*
        $(summands! { $sum, _ddof => |view, axes| host::reduce_axes(&operators::$sum::<T>::new(), view, axes)? })*
        $(summands! { $spread, ddof => |view, axes| {
            host::reduce_axes(&operators::$spread::<T>::new(u64::from(ddof)), view, axes)?
        } })*
    };
}

/// A family that needs no order; `T` is the element type in its results.
macro_rules! summands {
    ($name:ident, $ddof:ident => |$view:ident, $axes:ident| $results:expr) => {
        pub(crate) struct $name;

        impl OnHost for $name {
            fn reduce<T: Operand>(view: ArrayViewD<'_, T>, axes: &[Axis], ddof: u32) -> Result<Box<dyn Erased>> {
                Self::reduce_summands(view, axes, ddof)
            }
            fn reduce_summands<T: Summand>(
                $view: ArrayViewD<'_, T>,
                $axes: &[Axis],
                $ddof: u32,
            ) -> Result<Box<dyn Erased>> {
                Ok(Box::new($results))
            }
        }
    };
}

/// Families of two operators of values with an order, whose results are pairs.
macro_rules! pairs {
    ($($name:ident: $first:ident, $second:ident;)*) => {$(
        pub(crate) struct $name;

        impl OnHost for $name {
            fn reduce<T: Operand>(view: ArrayViewD<'_, T>, axes: &[Axis], _: u32) -> Result<Box<dyn Erased>> {
                let first = host::reduce_axes(&operators::$first::<T>::new(), view.view(), axes)?;
                let second = host::reduce_axes(&operators::$second::<T>::new(), view, axes)?;
                Ok(Box::new(zip(first, second)))
            }
        }
    )*};
}

/// Pairs of the results of one shape.
fn zip<A: Clone, B: Clone>(first: ArrayD<A>, second: ArrayD<B>) -> ArrayD<(A, B)> {
    Zip::from(&first).and(&second).map_collect(|a, b| (a.clone(), b.clone()))
}

/// The families, by the names of the operators.
pub(crate) mod families {
    use super::*;

    families! {
        ordered ArgMax ArgMin Max Min NanArgMax NanArgMin NanMax NanMin;
        summed All Any Count Mean NanMean NanProduct NanSum NormL1 NormL2 NormMax Product Sum;
        spread MeanVariance NanStandardDeviation NanVariance StandardDeviation Variance
    }
    pairs! {
        MinMax: Min, Max;
        NanMinMax: NanMin, NanMax;
    }
    summands! { NanMeanVariance, ddof => |view, axes| {
        let means = host::reduce_axes(&operators::NanMean::<T>::new(), view.view(), axes)?;
        zip(means, host::reduce_axes(&operators::NanVariance::<T>::new(u64::from(ddof)), view, axes)?)
    } }
}
