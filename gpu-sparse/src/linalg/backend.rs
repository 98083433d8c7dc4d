//! The place of a right-hand side, and with it of the solution.

use std::borrow::Cow;
use std::fmt::Debug;

use gpu_array::GpuArray;
use gpu_driver::{DeviceVec, Stream};
use ndarray::{Array1, ArrayBase, ArrayView1, Data, Ix1};

use crate::product::contiguous;
use crate::{Result, Scalar};

/// The place of a solve's vectors, for its caller: [`Host`] or [`OnDevice`]. The solution comes back where `b` was.
pub trait VectorBackend: sealed::VectorBackend + Clone + Copy + Debug + 'static {
    /// A vector that the solve makes.
    type Vector<T: Scalar>: Debug;
    /// A vector that the solve is given.
    type View<'a, T: Scalar>: Clone;
}

/// Vectors are ndarray's, in host memory.
#[derive(Clone, Copy, Debug)]
pub struct Host;

/// Vectors are [`GpuArray`]s, in the memory of a device.
#[derive(Clone, Copy, Debug)]
pub struct OnDevice;

impl VectorBackend for Host {
    type Vector<T: Scalar> = Array1<T>;
    type View<'a, T: Scalar> = ArrayView1<'a, T>;
}

impl VectorBackend for OnDevice {
    type Vector<T: Scalar> = GpuArray<T, Ix1>;
    type View<'a, T: Scalar> = &'a GpuArray<T, Ix1>;
}

/// A vector that a solver takes: slices, arrays, `Vec`s and ndarray's arrays and views by reference, and `&GpuArray`.
pub trait IntoView<'a, T: Scalar> {
    /// The vector's place.
    type Backend: VectorBackend;
    /// A view of it.
    fn into_view(self) -> <Self::Backend as VectorBackend>::View<'a, T>;
}

impl<'a, T: Scalar> IntoView<'a, T> for ArrayView1<'a, T> {
    type Backend = Host;
    fn into_view(self) -> ArrayView1<'a, T> {
        self
    }
}

impl<'a, T: Scalar, S: Data<Elem = T>> IntoView<'a, T> for &'a ArrayBase<S, Ix1> {
    type Backend = Host;
    fn into_view(self) -> ArrayView1<'a, T> {
        self.view()
    }
}

macro_rules! slices {
    ($([$($parameter:tt)*] $slice:ty),*) => {$(
        impl<'a, T: Scalar, $($parameter)*> IntoView<'a, T> for &'a $slice {
            type Backend = Host;
            fn into_view(self) -> ArrayView1<'a, T> {
                ArrayView1::from(&self[..])
            }
        }
    )*};
}

slices!([] [T], [] Vec<T>, [const N: usize] [T; N]);

impl<'a, T: Scalar> IntoView<'a, T> for &'a GpuArray<T, Ix1> {
    type Backend = OnDevice;
    fn into_view(self) -> Self {
        self
    }
}

mod sealed {
    use super::*;

    /// The operations on a place that the solver's engines need.
    pub trait VectorBackend {
        fn length<T: Scalar>(view: &<Self as super::VectorBackend>::View<'_, T>) -> usize
        where
            Self: super::VectorBackend;

        /// The elements on the host; waits where they are on a device.
        fn on_host<'v, T: Scalar>(view: &'v <Self as super::VectorBackend>::View<'_, T>) -> Result<Cow<'v, [T]>>
        where
            Self: super::VectorBackend;

        /// A copy that `stream` orders.
        fn on_stream<T: Scalar>(
            view: &<Self as super::VectorBackend>::View<'_, T>,
            stream: &Stream,
        ) -> Result<DeviceVec<T>>
        where
            Self: super::VectorBackend;

        /// A vector of this place, as `like` is one, from one on the host.
        fn from_host<T: Scalar>(
            x: Vec<T>,
            like: &<Self as super::VectorBackend>::View<'_, T>,
        ) -> Result<<Self as super::VectorBackend>::Vector<T>>
        where
            Self: super::VectorBackend;

        /// A vector of this place, as `like` is one, from one on a device.
        fn from_device<T: Scalar>(
            x: DeviceVec<T>,
            like: &<Self as super::VectorBackend>::View<'_, T>,
        ) -> Result<<Self as super::VectorBackend>::Vector<T>>
        where
            Self: super::VectorBackend;
    }

    impl VectorBackend for Host {
        fn length<T: Scalar>(view: &ArrayView1<'_, T>) -> usize {
            view.len()
        }

        fn on_host<'v, T: Scalar>(view: &'v ArrayView1<'_, T>) -> Result<Cow<'v, [T]>> {
            Ok(contiguous(view))
        }

        fn on_stream<T: Scalar>(view: &ArrayView1<'_, T>, stream: &Stream) -> Result<DeviceVec<T>> {
            Ok(DeviceVec::from_slice(stream, &contiguous(view))?)
        }

        fn from_host<T: Scalar>(x: Vec<T>, _: &ArrayView1<'_, T>) -> Result<Array1<T>> {
            Ok(x.into())
        }

        fn from_device<T: Scalar>(x: DeviceVec<T>, _: &ArrayView1<'_, T>) -> Result<Array1<T>> {
            Ok(x.to_vec()?.into())
        }
    }

    impl VectorBackend for OnDevice {
        fn length<T: Scalar>(view: &&GpuArray<T, Ix1>) -> usize {
            view.len()
        }

        fn on_host<'v, T: Scalar>(view: &'v &GpuArray<T, Ix1>) -> Result<Cow<'v, [T]>> {
            view.take_error()?;
            Ok(view.as_device_vec().to_vec()?.into())
        }

        fn on_stream<T: Scalar>(view: &&GpuArray<T, Ix1>, stream: &Stream) -> Result<DeviceVec<T>> {
            let mut copy = DeviceVec::zeros(stream, view.len())?;
            view.take_error()?;
            copy.copy_from(view.as_device_vec().as_slice())?;
            Ok(copy)
        }

        fn from_host<T: Scalar>(x: Vec<T>, like: &&GpuArray<T, Ix1>) -> Result<GpuArray<T, Ix1>> {
            let len = x.len();
            Ok(GpuArray::from_device_vec(DeviceVec::from_slice(like.stream(), &x)?, len)?)
        }

        fn from_device<T: Scalar>(x: DeviceVec<T>, like: &&GpuArray<T, Ix1>) -> Result<GpuArray<T, Ix1>> {
            let copy = Self::on_stream(&&GpuArray::from_device_vec(x, like.len())?, like.stream())?;
            Ok(GpuArray::from_device_vec(copy, like.len())?)
        }
    }
}
