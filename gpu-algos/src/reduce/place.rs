//! The two places where reductions are computed: by a kernel on a GPU, or by the operators of the host.

use gpu_array::{
    Complex, Element, GpuViewMut,
    expression::{Gpu, Host},
};
use ndarray::{ArrayViewMut, Dimension, Ix0};

use super::{
    families::{HostReduce, OnHost, SumAs, reduce_on_host, reduce_selected_on_host},
    reduction::{ReduceBackend, Reduction},
    results::{Pair, Results},
};
use crate::{Result, common::on_host, operators::Operand, scan::ScansOf};

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
pub trait Reduces<T: Element>: ReduceBackend + ScansOf<T> {
    /// The host's function of a family, where this is the host.
    #[doc(hidden)]
    fn on_host<F: OnHost, V: Clone + 'static>() -> Option<HostReduce<V>>;
    /// The function for the values that a mask selects, where this is the host.
    #[doc(hidden)]
    fn selected_on_host<F: OnHost, V: Clone + 'static>() -> Option<HostReduce<V>>;
    /// The host's sum of products in their type, where this is the host; those of numbers of 16 bits are f64.
    #[doc(hidden)]
    fn dot_on_host() -> Option<HostReduce<T>>;
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
        }
    )*};
}
complex! { f32 f64 }

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
        on_host::write(target, &reduction.eval()?)
    }

    fn reduce_into_both<A: Element, B: Element, D: Dimension, K: Dimension>(
        reduction: &Reduction<'_, Pair<A, B>, D, K, Self>,
        first: ArrayViewMut<'_, A, K>,
        second: ArrayViewMut<'_, B, K>,
    ) -> Result<()> {
        let (a, b) = reduction.eval()?;
        on_host::check_shape(b.shape(), second.shape())?;
        on_host::write(first, &a)?;
        on_host::write(second, &b)
    }
}
