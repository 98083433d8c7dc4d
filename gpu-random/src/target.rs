//! Destinations of random numbers.

use std::fmt;

use gpu_array::{Element, GpuArray, GpuViewMut};
use gpu_driver::{DevicePod, DeviceSliceMut, DeviceVec, Stream};
use ndarray::{ArrayBase, DataMut, Dimension};

use crate::Result;

/// Memory to fill, of the host or of a device.
#[derive(Debug)]
pub enum Memory<'a, T: DevicePod> {
    /// Filled before the call returns, by all threads of rayon's pool.
    Host(&'a mut [T]),
    /// Filled in the order of its home stream; the call returns at once.
    Device(DeviceSliceMut<'a, T>),
    /// Elements that are not contiguous: filled elsewhere, and copied.
    Strided(Strided<'a, T>),
}

/// Elements that are not contiguous, in C order.
pub struct Strided<'a, T: DevicePod> {
    pub(crate) len: usize,
    pub(crate) write: Write<'a, T>,
}

/// Copies the numbers to their elements.
pub(crate) enum Write<'a, T: DevicePod> {
    Host(Box<dyn FnOnce(Vec<T>) + 'a>),
    Device(Stream, Box<dyn FnOnce(DeviceVec<T>) -> Result<()> + 'a>),
}

impl<T: DevicePod> fmt::Debug for Strided<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Strided").field("len", &self.len).finish_non_exhaustive()
    }
}

/// A destination of random numbers: a slice or an ndarray array of the host; a [`GpuArray`], a view or a [`DeviceVec`] of a device, or part of it.
///
/// An array is filled in the order of its memory, so one in Fortran order gets the stream's elements column by column. Views with gaps between
/// their elements get them in C order, by way of as much memory again and one more kernel or pass.
pub trait Target<'a, T: DevicePod> {
    /// Its memory.
    ///
    /// # Errors
    /// That of an earlier operation such as `+=` on the array.
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
        if self.as_slice_memory_order().is_some() {
            return Ok(self.as_slice_memory_order_mut().map_or(Memory::Host(&mut []), Memory::Host));
        }
        let len = self.len();
        let write = |numbers: Vec<T>| self.iter_mut().zip(numbers).for_each(|(element, number)| *element = number);
        Ok(Memory::Strided(Strided { len, write: Write::Host(Box::new(write)) }))
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
        // Not the buffer itself: the error of an operator comes first.
        self.view_mut().memory()
    }
}

impl<'a, E: Element, D: Dimension + 'a> Target<'a, E::Storage> for &'a mut GpuViewMut<'_, E, D> {
    fn memory(self) -> Result<Memory<'a, E::Storage>> {
        self.view_mut().memory()
    }
}

impl<'a, E: Element, D: Dimension + 'a> Target<'a, E::Storage> for GpuViewMut<'a, E, D> {
    fn memory(mut self) -> Result<Memory<'a, E::Storage>> {
        if self.is_dense() {
            return Ok(Memory::Device(self.into_memory_order_slice_mut()?));
        }
        let (len, stream) = (self.len(), self.stream().clone());
        let write = move |numbers| Ok(self.assign(&GpuArray::<E, D>::from_storage(numbers, self.raw_dim())?)?);
        Ok(Memory::Strided(Strided { len, write: Write::Device(stream, Box::new(write)) }))
    }
}
