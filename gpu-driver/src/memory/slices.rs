//! Borrowed parts of device memory, to read or to write.

use std::{fmt, marker::PhantomData, ops::RangeBounds};

use crate::raw::CUdeviceptr;

use super::{
    DeviceVec, bounds, offset, same_len,
    staged::{Direction, Job, LEAST_BYTES},
};
use crate::{DevicePod, DriverError, In, InOut, Out, Result, Stream, context::Current, sys};

/// A borrowed part of a [`DeviceVec`], to read.
#[derive(Clone, Copy)]
pub struct DeviceSlice<'a, T: DevicePod> {
    pub(super) address: CUdeviceptr,
    pub(super) len: usize,
    pub(super) home: &'a Stream,
    pub(super) _elements: PhantomData<&'a T>,
}

/// A borrowed part of a [`DeviceVec`], to write.
pub struct DeviceSliceMut<'a, T: DevicePod> {
    pub(super) address: CUdeviceptr,
    pub(super) len: usize,
    pub(super) home: &'a Stream,
    pub(super) _elements: PhantomData<&'a mut T>,
}

impl<'a, T: DevicePod> DeviceSlice<'a, T> {
    /// Elements at an address.
    ///
    /// # Safety
    /// There are so many elements, which the home's device can access, as long as the slice lives.
    #[cfg(feature = "gl")]
    pub(crate) unsafe fn from_address(address: CUdeviceptr, len: usize, home: &'a Stream) -> Self {
        Self { address, len, home, _elements: PhantomData }
    }

    /// The stream that orders the buffer's work.
    pub fn home(&self) -> &'a Stream {
        self.home
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The slice as a kernel's input.
    pub fn input(self) -> In<'a, T> {
        In::new(self.address, self.home)
    }

    /// Part of the slice.
    ///
    /// # Errors
    /// `Length` when the range lies outside.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let (start, len) = bounds("DeviceSlice::slice", range, self.len)?;
        Ok(Self { address: offset::<T>(self.address, start), len, ..*self })
    }

    /// The bytes of the slice as elements of another type, of which all bits are values too; bytes behind the last whole element are left out.
    ///
    /// # Errors
    /// `Length` where the address is no multiple of the alignment of the type on a device.
    ///
    /// ```no_run
    /// # use gpu_driver::{Device, DeviceVec};
    /// let bytes = DeviceVec::from_slice(&Device::first()?.stream(), &[1u8, 0, 0, 0, 2, 0])?;
    /// assert_eq!(bytes.as_slice().cast::<u32>()?.to_vec()?, [1]);
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    pub fn cast<U: DevicePod>(self) -> Result<DeviceSlice<'a, U>> {
        let alignment = U::CUDA_ALIGN as CUdeviceptr;
        if !self.address.is_multiple_of(alignment) {
            let (expected, got) = (format!("an address that {alignment} divides"), format!("{:#x}", self.address));
            return Err(DriverError::Length { op: "DeviceSlice::cast", expected, got });
        }
        // The type of an element without bytes has no number of them.
        let len = (self.len * size_of::<T>()).checked_div(size_of::<U>()).unwrap_or(0);
        Ok(DeviceSlice { address: self.address, len, home: self.home, _elements: PhantomData })
    }

    /// The slice with another home: launches on that stream are not ordered with the buffer's own.
    ///
    /// For data that graphs of several streams share, since a capture cannot wait for a stream that it is no part of.
    ///
    /// # Safety
    /// All work that writes the elements has run, and nothing changes or releases them before the work that uses the slice has run: for captured
    /// work, before its graph has gone ([`Stream::retain_in_graph`]).
    pub unsafe fn with_home(self, home: &'a Stream) -> Self {
        Self { home, ..self }
    }

    /// The slice to write.
    ///
    /// # Safety
    /// It came from [`DeviceSliceMut::into_slice`] or is part of such a slice, and while the result is used nothing else on the host
    /// leads to its elements.
    pub unsafe fn into_mut(self) -> DeviceSliceMut<'a, T> {
        DeviceSliceMut { address: self.address, len: self.len, home: self.home, _elements: PhantomData }
    }

    /// The device address, for launches with unchecked arguments and other libraries; 0 when the buffer is empty.
    pub fn as_raw(&self) -> CUdeviceptr {
        self.address
    }

    /// A new buffer with the same elements and home.
    ///
    /// # Errors
    /// `OutOfMemory`, `DeviceLost`.
    #[track_caller]
    pub fn try_clone(&self) -> Result<DeviceVec<T>> {
        // SAFETY: every element is written next.
        let mut copy = unsafe { DeviceVec::uninitialized(self.home, self.len)? };
        copy.copy_from(*self)?;
        Ok(copy)
    }

    /// Overwrites `host` with the slice, after waiting for the home stream.
    ///
    /// # Cost
    /// One copy. From 8 MiB on it goes through pinned buffers, from which several threads copy to `host` while the bus fills others: up to 64 MiB of
    /// pinned memory, which the device keeps for the next such copy.
    ///
    /// # Errors
    /// `Length` unless both have the same number of elements; `InCapture`; `DeviceLost`.
    pub fn copy_to_slice(&self, host: &mut [T]) -> Result<()> {
        same_len("copy_to_slice", self.len, host.len())?;
        // SAFETY: so many elements, borrowed mutably.
        unsafe { self.copy_to("copy_to_slice", host.as_mut_ptr()) }
    }

    /// # Safety
    /// There are as many elements at `host` as the slice has, which may be written, and which nobody else uses.
    unsafe fn copy_to(&self, op: &'static str, host: *mut T) -> Result<()> {
        let device = self.home.device();
        let current = device.enter()?;
        let _uncaptured = self.home.uncaptured(op, &current)?;
        let bytes = self.len * size_of::<T>();
        if bytes >= LEAST_BYTES {
            let (direction, device, host) = (Direction::ToHost, self.address, host.cast());
            // SAFETY: as the caller promises; the slice has that many bytes.
            if unsafe { Job { direction, device, host, bytes, home: self.home }.run(&current)? } {
                return Ok(());
            }
        }
        if self.len > 0 {
            // SAFETY: both have that many bytes, and the copy ends before this function returns.
            let code = unsafe { sys::cuMemcpyDtoHAsync_v2(host.cast(), self.address, bytes, self.home.as_raw()) };
            device.check("cuMemcpyDtoHAsync", code)?;
        }
        self.home.synchronize_entered(&current)
    }

    /// The elements on the host, after waiting for the home stream.
    ///
    /// # Cost
    /// That of [`DeviceSlice::copy_to_slice`].
    ///
    /// # Errors
    /// `InCapture`; `DeviceLost`.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut host: Vec<T> = Vec::with_capacity(self.len);
        // SAFETY: the vector has room for so many elements, and all of them are written where the copy succeeds.
        unsafe {
            self.copy_to("to_vec", host.as_mut_ptr())?;
            host.set_len(self.len);
        }
        Ok(host)
    }
}

impl<'a, T: DevicePod> DeviceSliceMut<'a, T> {
    /// Elements at an address.
    ///
    /// # Safety
    /// As for [`DeviceSlice::from_address`], and nothing else leads to the elements meanwhile.
    #[cfg(feature = "gl")]
    pub(crate) unsafe fn from_address(address: CUdeviceptr, len: usize, home: &'a Stream) -> Self {
        Self { address, len, home, _elements: PhantomData }
    }

    /// The stream that orders the buffer's work.
    pub fn home(&self) -> &'a Stream {
        self.home
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device address, for launches with unchecked arguments and other libraries; 0 when the buffer is empty.
    pub fn as_raw(&self) -> CUdeviceptr {
        self.address
    }

    /// The slice to read, for as long as it was borrowed to write.
    pub fn into_slice(self) -> DeviceSlice<'a, T> {
        DeviceSlice { address: self.address, len: self.len, home: self.home, _elements: PhantomData }
    }

    /// The slice as a kernel's output.
    pub fn output(self) -> Out<'a, T> {
        Out::new(self.address, self.home)
    }

    /// The slice as a kernel's input and output.
    pub fn in_out(self) -> InOut<'a, T> {
        InOut::new(self.address, self.home)
    }

    /// Overwrites the slice with `host`. Returns when `host` has been read.
    ///
    /// # Cost
    /// That of [`DeviceSlice::copy_to_slice`].
    ///
    /// # Errors
    /// `Length` unless both have the same number of elements; `InCapture`; `DeviceLost`.
    pub fn copy_from_slice(&mut self, host: &[T]) -> Result<()> {
        same_len("copy_from_slice", self.len, host.len())?;
        if host.is_empty() {
            return Ok(());
        }
        let device = self.home.device();
        let current = device.enter()?;
        let _uncaptured = self.home.uncaptured("copy_from_slice", &current)?;
        let bytes = size_of_val(host);
        if bytes >= LEAST_BYTES {
            let (direction, device, host) = (Direction::ToDevice, self.address, host.as_ptr().cast_mut().cast());
            // SAFETY: both have that many bytes; those of the host are only read, and borrowed until it returns.
            if unsafe { Job { direction, device, host, bytes, home: self.home }.run(&current)? } {
                return Ok(());
            }
        }
        // SAFETY: both have that many bytes. The wait below ends the copy before `host` can change: for memory that
        // happens to be pinned the driver would otherwise read it after this function has returned.
        let code = unsafe { sys::cuMemcpyHtoDAsync_v2(self.address, host.as_ptr().cast(), bytes, self.home.as_raw()) };
        device.check("cuMemcpyHtoDAsync", code)?;
        self.home.synchronize_entered(&current)
    }

    /// Overwrites the slice with device memory. Returns at once; ordered with both home streams.
    ///
    /// # Errors
    /// `Length` unless both have the same number of elements; `WrongDevice`; `DeviceLost`.
    pub fn copy_from(&mut self, source: DeviceSlice<'_, T>) -> Result<()> {
        same_len("copy_from", self.len, source.len)?;
        ordered_with("copy_from", self.home, source.home, self.len == 0, |home, _| {
            let bytes = self.len * size_of::<T>();
            // SAFETY: both have that many bytes and cannot overlap, as one is borrowed mutably.
            let code = unsafe { sys::cuMemcpyDtoDAsync_v2(self.address, source.address, bytes, home.as_raw()) };
            home.device().check("cuMemcpyDtoDAsync", code)
        })
    }
}

/// Enqueues on `home` work that reads memory of another home, in an order with both; nothing if the work is empty.
pub(crate) fn ordered_with(
    op: &'static str,
    home: &Stream,
    source: &Stream,
    is_empty: bool,
    enqueue: impl FnOnce(&Stream, &Current) -> Result<()>,
) -> Result<()> {
    let device = home.device();
    if source.device() != device {
        let (expected, got) = (device.ordinal(), source.device().ordinal());
        return Err(DriverError::WrongDevice { op, expected, got });
    }
    if is_empty {
        return Ok(());
    }
    let current = device.enter()?;
    home.follow_entered(source, &current)?;
    enqueue(home, &current)?;
    let joined = source.follow_entered(home, &current);
    if joined.is_err() {
        // The source's home does not know of the work: only its end makes a release of the source safe.
        home.synchronize_entered(&current)?;
    }
    joined
}

impl<T: DevicePod> fmt::Debug for DeviceSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceSlice<{}>(len {})", T::CUDA_NAME, self.len)
    }
}

impl<T: DevicePod> fmt::Debug for DeviceSliceMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceSliceMut<{}>(len {})", T::CUDA_NAME, self.len)
    }
}
