//! Vectors that products and solves are given, on the host or on a device, and the place of a solution.

use std::borrow::Cow;
use std::fmt::{self, Debug};

use gpu_array::expression::Expr;
use gpu_array::{ArrayError, GpuArray, GpuView, GpuViewMut};
use gpu_driver::{DeviceSlice, DeviceVec, Stream};
use ndarray::{Array1, ArrayBase, ArrayView1, Data, Ix1};

use crate::{Result, Scalar};

/// The elements in one piece, copied only when they are not.
pub(crate) fn contiguous<'a, T: Clone>(view: &ArrayView1<'a, T>) -> Cow<'a, [T]> {
    view.to_slice().map_or_else(|| Cow::Owned(view.to_vec()), Cow::Borrowed)
}

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
    type View<'a, T: Scalar> = DeviceVector<'a, T>;
}

/// A vector on a device that a product or a solve reads: an array or a view, of any layout, or an expression.
#[derive(Clone)]
pub struct DeviceVector<'a, T: Scalar>(Reading<'a, T>);

#[derive(Clone)]
enum Reading<'a, T: Scalar> {
    View(GpuView<'a, T, Ix1>),
    Expr(Expr<'a, T, Ix1>),
}

impl<T: Scalar> fmt::Debug for DeviceVector<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reading::View(view) => view.fmt(f),
            Reading::Expr(expr) => expr.fmt(f),
        }
    }
}

/// The elements of a [`DeviceVector`] in C order.
pub(crate) enum Elements<'a, T: Scalar> {
    /// In memory of the caller.
    Borrowed(DeviceSlice<'a, T>),
    /// Copied or computed.
    Owned(DeviceVec<T>),
}

impl<T: Scalar> Elements<'_, T> {
    pub(crate) fn as_slice(&self) -> DeviceSlice<'_, T> {
        match self {
            Self::Borrowed(elements) => *elements,
            Self::Owned(elements) => elements.as_slice(),
        }
    }
}

impl<'a, T: Scalar> DeviceVector<'a, T> {
    fn len(&self) -> Result<usize> {
        match &self.0 {
            Reading::View(view) => Ok(view.len()),
            Reading::Expr(expr) => Ok(expr.shape()?.iter().product()),
        }
    }

    /// The elements in C order; copied or computed where they do not lie so.
    pub(crate) fn into_elements(self) -> Result<Elements<'a, T>> {
        Ok(match self.0 {
            Reading::View(view) if view.is_standard_layout() => Elements::Borrowed(view.as_device_slice()?),
            Reading::View(view) => Elements::Owned(view.to_standard_layout()?.into_device_vec()),
            Reading::Expr(expr) => Elements::Owned(expr.eval()?.into_device_vec()),
        })
    }

    /// The stream of the vector; None for an expression of no array, which has none.
    fn stream(&self) -> Option<Stream> {
        match &self.0 {
            Reading::View(view) => Some(view.stream().clone()),
            Reading::Expr(expr) => expr.lower_deferred().ok()?.stream().ok().cloned(),
        }
    }
}

/// A vector that a solver or a product takes: slices, arrays, `Vec`s and ndarray's arrays and views by reference; on a device `&GpuArray`, views
/// of any layout, and expressions.
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

macro_rules! on_device {
    ($([$($life:lifetime),*] $vector:ty, |$given:ident| $source:expr;)*) => {$(
        impl<'a, $($life,)* T: Scalar> IntoView<'a, T> for $vector {
            type Backend = OnDevice;
            fn into_view(self) -> DeviceVector<'a, T> {
                let $given = self;
                DeviceVector($source)
            }
        }
    )*};
}

on_device! {
    [] &'a GpuArray<T, Ix1>, |x| Reading::View(x.view());
    [] &'a mut GpuArray<T, Ix1>, |x| Reading::View((*x).view());
    [] GpuView<'a, T, Ix1>, |x| Reading::View(x);
    ['r] &'r GpuView<'a, T, Ix1>, |x| Reading::View(*x);
    ['r] &'a GpuViewMut<'r, T, Ix1>, |x| Reading::View(x.view());
    [] Expr<'a, T, Ix1>, |x| Reading::Expr(x);
    ['r] &'r Expr<'a, T, Ix1>, |x| Reading::Expr(x.clone());
}

mod sealed {
    use super::*;

    /// The operations on a place that the solver's engines need.
    pub trait VectorBackend {
        fn length<T: Scalar>(view: &<Self as super::VectorBackend>::View<'_, T>) -> Result<usize>
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
        fn length<T: Scalar>(view: &ArrayView1<'_, T>) -> Result<usize> {
            Ok(view.len())
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
        fn length<T: Scalar>(view: &DeviceVector<'_, T>) -> Result<usize> {
            view.len()
        }

        fn on_host<'v, T: Scalar>(view: &'v DeviceVector<'_, T>) -> Result<Cow<'v, [T]>> {
            Ok(view.clone().into_elements()?.as_slice().to_vec()?.into())
        }

        fn on_stream<T: Scalar>(view: &DeviceVector<'_, T>, stream: &Stream) -> Result<DeviceVec<T>> {
            let elements = view.clone().into_elements()?;
            copy(elements.as_slice(), stream)
        }

        fn from_host<T: Scalar>(x: Vec<T>, like: &DeviceVector<'_, T>) -> Result<GpuArray<T, Ix1>> {
            let (len, stream) = (x.len(), like.stream().ok_or(ArrayError::NoHome)?);
            Ok(GpuArray::from_device_vec(DeviceVec::from_slice(&stream, &x)?, len)?)
        }

        fn from_device<T: Scalar>(x: DeviceVec<T>, like: &DeviceVector<'_, T>) -> Result<GpuArray<T, Ix1>> {
            let (len, stream) = (x.len(), like.stream().ok_or(ArrayError::NoHome)?);
            Ok(GpuArray::from_device_vec(copy(x.as_slice(), &stream)?, len)?)
        }
    }

    fn copy<T: Scalar>(elements: DeviceSlice<'_, T>, stream: &Stream) -> Result<DeviceVec<T>> {
        let mut copy = DeviceVec::zeros(stream, elements.len())?;
        copy.copy_from(elements)?;
        Ok(copy)
    }
}
