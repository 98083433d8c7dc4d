//! Destinations of random numbers.

use gpu_array::{Element, GpuArray};
use gpu_driver::{DevicePod, DeviceSliceMut, DeviceVec};
use ndarray::{ArrayBase, DataMut, Dimension};

use crate::{RandomError, Result};

/// Memory to fill, of the host or of a device.
#[derive(Debug)]
pub enum Memory<'a, T: DevicePod> {
    /// Filled before the call returns, by all threads of rayon's pool.
    Host(&'a mut [T]),
    /// Filled in the order of its home stream; the call returns at once.
    Device(DeviceSliceMut<'a, T>),
}

/// A destination of random numbers: a slice or an ndarray array of the host; a [`GpuArray`], a [`DeviceVec`] or part of one of a device.
///
/// An array is filled in the order of its memory, so one in Fortran order gets the stream's elements column by column.
pub trait Target<'a, T: DevicePod> {
    /// Its memory.
    ///
    /// # Errors
    /// `Gaps` where its elements do not lie side by side.
    fn memory(self) -> Result<Memory<'a, T>>;
}

impl<'a, T: DevicePod> Target<'a, T> for &'a mut [T] {
    fn memory(self) -> Result<Memory<'a, T>> {
        Ok(Memory::Host(self))
    }
}

impl<'a, T: DevicePod> Target<'a, T> for &'a mut Vec<T> {
    fn memory(self) -> Result<Memory<'a, T>> {
        Ok(Memory::Host(self))
    }
}

impl<'a, T: DevicePod, S: DataMut<Elem = T>, D: Dimension> Target<'a, T> for &'a mut ArrayBase<S, D> {
    fn memory(self) -> Result<Memory<'a, T>> {
        self.as_slice_memory_order_mut().map(Memory::Host).ok_or(RandomError::Gaps)
    }
}

impl<'a, T: DevicePod> Target<'a, T> for &'a mut DeviceVec<T> {
    fn memory(self) -> Result<Memory<'a, T>> {
        Ok(Memory::Device(self.as_mut_slice()))
    }
}

impl<'a, T: DevicePod> Target<'a, T> for DeviceSliceMut<'a, T> {
    fn memory(self) -> Result<Memory<'a, T>> {
        Ok(Memory::Device(self))
    }
}

impl<'a, E: Element, D: Dimension> Target<'a, E::Storage> for &'a mut GpuArray<E, D> {
    fn memory(self) -> Result<Memory<'a, E::Storage>> {
        Ok(Memory::Device(self.as_mut_device_vec().as_mut_slice()))
    }
}
