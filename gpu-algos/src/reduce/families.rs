//! Reductions on the host: a family of functions, one for each element type, by the name of each operator.

use std::{any::Any as Erased, marker::PhantomData};

use gpu_array::{
    ArrayError, Element,
    expression::{Backend, Host, Lowered},
};
use ndarray::{ArrayD, ArrayView1, ArrayViewD, Axis, Zip};

use crate::{
    AlgoError, Result,
    common::on_host::with_values,
    host,
    operators::{self, Operand, Summand},
};

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
pub(super) struct SumAs<C>(PhantomData<C>);

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
pub(super) type OfViews<T> = fn(ArrayViewD<'_, T>, &[Axis], u32) -> Result<Box<dyn Erased>>;

/// The reduction of a host expression by a family's function.
pub(super) fn reduce_on_host<T: Element, V: Clone + 'static>(
    reduce: OfViews<T>,
    lowered: &Lowered<'_>,
    axes: &[Axis],
    ddof: u32,
) -> Result<ArrayD<V>> {
    results_as::<T, V>(with_values(lowered, |view| reduce(view, axes, ddof))??)
}

/// The reduction of the values that a mask selects, the second output. `nan` is the value of no values, where they have none but the type has one.
pub(super) fn reduce_selected_on_host<T: Element, V: Clone + 'static>(
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
