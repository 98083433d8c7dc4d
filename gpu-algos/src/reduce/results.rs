//! Results of reductions: arrays of one type, or pairs of them.

use std::marker::PhantomData;

use gpu_array::{
    Element, GpuArray,
    expression::{Backend, Gpu, Host},
    gpu_driver::Stream,
};
use ndarray::{ArrayD, Dimension, Ix0};
use smallvec::{SmallVec, smallvec};

use crate::{
    Result,
    common::{launch::allocate, on_host::shaped},
};

/// Result types of reductions: an element type, or a [`Pair`] of them.
pub trait Results: sealed::SealedResults + Sized + 'static {
    /// Arrays of the results.
    type Arrays<K: Dimension, P: Backend>;
    /// The values on the host.
    type Values: Clone + Send + Sync + 'static;
    #[doc(hidden)]
    fn allocate<K: Dimension>(stream: &Stream, dim: K) -> Result<Self::Arrays<K, Gpu>>;
    #[doc(hidden)]
    fn addresses<K: Dimension>(arrays: &Self::Arrays<K, Gpu>) -> SmallVec<[u64; 2]>;
    #[doc(hidden)]
    fn strides<K: Dimension>(arrays: &Self::Arrays<K, Gpu>) -> &[isize];
    #[doc(hidden)]
    fn get(arrays: &Self::Arrays<Ix0, Gpu>) -> Result<Self::Values>;
    /// The value of arrays of rank 0.
    #[doc(hidden)]
    fn value(arrays: &Self::Arrays<Ix0, Host>) -> Self::Values;
    /// The arrays of values on the host, in the shape `dim`, which has as many places as there are values.
    #[doc(hidden)]
    fn on_host<K: Dimension>(values: ArrayD<Self::Values>, dim: K) -> Result<Self::Arrays<K, Host>>;
}

mod sealed {
    pub trait SealedResults {}
    impl<T: gpu_array::Element> SealedResults for T {}
    impl<A: gpu_array::Element, B: gpu_array::Element> SealedResults for super::Pair<A, B> {}
}

impl<T: Element> Results for T {
    type Arrays<K: Dimension, P: Backend> = P::Owned<T, K>;
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
    fn value(array: &ndarray::Array<T, Ix0>) -> T {
        array[()]
    }
    fn on_host<K: Dimension>(values: ArrayD<T>, dim: K) -> Result<ndarray::Array<T, K>> {
        shaped(values, dim)
    }
}

/// Two results of one reduction.
#[derive(Debug)]
pub struct Pair<A, B>(PhantomData<fn() -> (A, B)>);

impl<A: Element, B: Element> Results for Pair<A, B> {
    type Arrays<K: Dimension, P: Backend> = (P::Owned<A, K>, P::Owned<B, K>);
    type Values = (A, B);
    fn allocate<K: Dimension>(stream: &Stream, dim: K) -> Result<Self::Arrays<K, Gpu>> {
        Ok((allocate(stream, dim.clone())?, allocate(stream, dim)?))
    }
    fn addresses<K: Dimension>((a, b): &Self::Arrays<K, Gpu>) -> SmallVec<[u64; 2]> {
        smallvec![a.as_device_vec().as_raw(), b.as_device_vec().as_raw()]
    }
    fn strides<K: Dimension>((a, _): &Self::Arrays<K, Gpu>) -> &[isize] {
        a.strides()
    }
    fn get((a, b): &Self::Arrays<Ix0, Gpu>) -> Result<(A, B)> {
        Ok((a.get()?, b.get()?))
    }
    fn value((a, b): &Self::Arrays<Ix0, Host>) -> (A, B) {
        (a[()], b[()])
    }
    fn on_host<K: Dimension>(values: ArrayD<(A, B)>, dim: K) -> Result<Self::Arrays<K, Host>> {
        Ok((shaped(values.map(|both| both.0), dim.clone())?, shaped(values.map(|both| both.1), dim)?))
    }
}
