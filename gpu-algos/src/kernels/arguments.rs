//! Arguments of a kernel call.

use std::{any::TypeId, marker::PhantomData};

use gpu_array::{
    Complex, Element, GpuArray, GpuView, GpuViewMut, bf16, f16,
    gpu_driver::{DevicePod, DeviceSlice, DeviceSliceMut, DeviceVec, KernelType, Stream},
};
use ndarray::Dimension;
use smallvec::SmallVec;

use super::declaration::Role;
use crate::AlgoError;

/// One argument of a call: a number, a structure, or an array.
///
/// Made by `From` from numbers and `bool`; from `&GpuArray`, `&DeviceVec`, [`GpuView`] and [`DeviceSlice`] to read; from `&mut GpuArray`,
/// `&mut DeviceVec`, [`GpuViewMut`] and [`DeviceSliceMut`] to write; and from a structure by [`KernelArg::value`]. The elements of a view
/// lie in C order without gaps; where they do not, the call returns the error.
#[derive(Debug)]
pub struct KernelArg<'a>(pub(crate) Given<'a>);

#[derive(Debug)]
pub(crate) enum Given<'a> {
    Value {
        of: Of,
        words: SmallVec<[u64; 2]>,
    },
    Array {
        of: Of,
        role: Role,
        address: u64,
        len: usize,
        home: &'a Stream,
    },
    /// An argument that cannot be passed; the call returns the error.
    Wrong(AlgoError),
}

/// A Rust type and its name in CUDA C++.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Of {
    pub(crate) id: TypeId,
    pub(crate) name: &'static str,
}

impl Of {
    fn kernel_type<T: KernelType>() -> Self {
        Self { id: TypeId::of::<T>(), name: T::CUDA_TYPE }
    }

    fn element<T: Element>() -> Self {
        Self { id: TypeId::of::<T>(), name: T::DTYPE.cuda_name() }
    }
}

impl<'a> KernelArg<'a> {
    /// A number or a structure, passed by value.
    pub fn value<T: KernelType>(value: T) -> Self {
        let mut words = SmallVec::new();
        value.for_each_word(|word| words.push(word));
        Self(Given::Value { of: Of::kernel_type::<T>(), words })
    }

    fn input<T: DevicePod>(of: Of, slice: DeviceSlice<'a, T>) -> Self {
        Self(Given::Array { of, role: Role::Input, address: slice.as_raw(), len: slice.len(), home: slice.home() })
    }

    fn output<T: DevicePod>(of: Of, slice: DeviceSliceMut<'a, T>) -> Self {
        let slice = slice.into_slice();
        Self(Given::Array { of, role: Role::Output, address: slice.as_raw(), len: slice.len(), home: slice.home() })
    }

    fn wrong(error: impl Into<AlgoError>) -> Self {
        Self(Given::Wrong(error.into()))
    }

    /// Description of the argument, for messages.
    pub(crate) fn describe(&self) -> String {
        match &self.0 {
            Given::Value { of, .. } => format!("a value of type {}", of.name),
            Given::Array { of, role: Role::Output, .. } => format!("an array of {} to write", of.name),
            Given::Array { of, .. } => format!("an array of {} to read", of.name),
            Given::Wrong(error) => error.to_string(),
        }
    }
}

macro_rules! values {
    ($($type:ty),*) => {$(
        impl From<$type> for KernelArg<'_> {
            fn from(value: $type) -> Self {
                Self::value(value)
            }
        }
    )*};
}

values!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Complex<f32>, Complex<f64>);

/// An array that a kernel reads, declared as `&[T]` in [`elementwise_kernel!`](crate::elementwise_kernel).
/// [`KernelArg`] lists the types that convert to it.
#[derive(Debug)]
pub struct Input<'a, T>(KernelArg<'a>, PhantomData<&'a T>);

/// An array that a kernel may write, declared as `&mut [T]` in [`elementwise_kernel!`](crate::elementwise_kernel).
/// [`KernelArg`] lists the types that convert to it.
#[derive(Debug)]
pub struct Output<'a, T>(KernelArg<'a>, PhantomData<&'a mut T>);

/// Conversions from a reference to an array or a view, and from a view itself.
macro_rules! arrays {
    ($($from:ty => $typed:ident, |$array:ident| $slice:expr);* $(;)?) => {$(
        impl<'a, T: Element, D: Dimension> From<$from> for $typed<'a, T> {
            fn from($array: $from) -> Self {
                let argument = match $slice {
                    Ok(slice) => arrays!(@$typed)(Of::element::<T>(), slice),
                    Err(error) => KernelArg::wrong(error),
                };
                Self(argument, PhantomData)
            }
        }

        impl<'a, T: Element, D: Dimension> From<$from> for KernelArg<'a> {
            fn from(array: $from) -> Self {
                $typed::<T>::from(array).0
            }
        }
    )*};
    (@Input) => { KernelArg::input };
    (@Output) => { KernelArg::output };
}

arrays! {
    &'a GpuArray<T, D> => Input, |array| array.view().as_device_slice();
    GpuView<'a, T, D> => Input, |view| view.as_device_slice();
    &GpuView<'a, T, D> => Input, |view| view.as_device_slice();
    &'a mut GpuArray<T, D> => Output, |array| array.view_mut().into_device_slice_mut();
    GpuViewMut<'a, T, D> => Output, |view| view.into_device_slice_mut();
    &'a mut GpuViewMut<'_, T, D> => Output, |view| view.view_mut().into_device_slice_mut();
}

/// Conversions from buffers and parts of them.
macro_rules! buffers {
    ($($from:ty => $typed:ident, |$buffer:ident| $slice:expr);* $(;)?) => {$(
        impl<'a, T: DevicePod> From<$from> for $typed<'a, T> {
            fn from($buffer: $from) -> Self {
                Self(arrays!(@$typed)(Of::kernel_type::<T>(), $slice), PhantomData)
            }
        }

        impl<'a, T: DevicePod> From<$from> for KernelArg<'a> {
            fn from(buffer: $from) -> Self {
                $typed::<T>::from(buffer).0
            }
        }
    )*};
}

buffers! {
    &'a DeviceVec<T> => Input, |buffer| buffer.as_slice();
    DeviceSlice<'a, T> => Input, |slice| slice;
    &'a mut DeviceVec<T> => Output, |buffer| buffer.as_mut_slice();
    DeviceSliceMut<'a, T> => Output, |slice| slice;
}

impl<'a, T> From<Input<'a, T>> for KernelArg<'a> {
    fn from(input: Input<'a, T>) -> Self {
        input.0
    }
}

impl<'a, T> From<Output<'a, T>> for KernelArg<'a> {
    fn from(output: Output<'a, T>) -> Self {
        output.0
    }
}
