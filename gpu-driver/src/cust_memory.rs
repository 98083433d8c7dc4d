//! Memory of `cust` for this crate, and of this crate for `cust`, without copies.

use std::{ffi::c_void, fmt};

use cust::memory::{DeviceBuffer, DeviceCopy, DevicePointer, LockedBuffer};

use crate::{
    CustView, Device, DevicePod, DeviceVec, LaunchArgument, PinnedVec, Result, Stream,
    launch_arguments::{StagedArgument, pointer},
    raw::{CUdeviceptr, CUstream},
    signature::ArgumentType,
};

/// A buffer of cust's, which is released with its device's context current.
struct Released<T: DeviceCopy> {
    /// None once it is dropped.
    buffer: Option<DeviceBuffer<T>>,
    device: Device,
}

impl<T: DeviceCopy> Drop for Released<T> {
    fn drop(&mut self) {
        // cust frees memory in the context that is current.
        let current = self.device.0.enter_quietly();
        if current.is_ok() {
            self.buffer = None;
        } else {
            std::mem::forget(self.buffer.take());
        }
    }
}

impl<T: DevicePod + DeviceCopy + Sync> DeviceVec<T> {
    /// A buffer over the memory of one of cust's, which it owns from now on: nothing is copied. Work that `after` holds now comes first.
    ///
    /// # Cost
    /// The drop waits for the home stream, and frees the memory as cust does.
    ///
    /// # Errors
    /// Those of [`DeviceVec::from_foreign`].
    ///
    /// # Safety
    /// The buffer was allocated with the context of `home`'s device current ([`Device::make_current`]), and `after` is a stream of it. Other work on
    /// the memory, by pointers that were taken before, has run.
    pub unsafe fn from_cust(
        home: &Stream,
        buffer: DeviceBuffer<T>,
        after: Option<&cust::stream::Stream>,
    ) -> Result<Self> {
        let (address, len) = (buffer.as_device_ptr().as_raw(), buffer.len());
        let after: Option<CUstream> = after.map(cust::stream::Stream::as_inner);
        let owner = Released { buffer: Some(buffer), device: home.device().clone() };
        // SAFETY: the owner frees the memory; the rest is the caller's promise.
        unsafe { Self::from_foreign(home, address, len, after, owner) }
    }
}

impl<T: DevicePod + DeviceCopy> DeviceVec<T> {
    /// The buffer's address as cust's pointer, for its `launch!`. It is good as long as the buffer; cust's streams are not ordered with the buffer's home.
    pub fn as_cust_pointer(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.as_raw())
    }

    /// The buffer as one of cust's, for its copies and for functions that take a `&DeviceBuffer`; `let mut slice = **view` is a `DeviceSlice` to write to.
    /// Waits for the home's work, since cust's copies are not ordered with it.
    ///
    /// # Errors
    /// Those of [`Stream::synchronize`].
    ///
    /// # Safety
    /// Copies of the view's slice and pointers are not used when the buffer has gone. No work that uses the buffer is enqueued through this library while
    /// work of cust's that writes to it has not run, nor the other way round.
    ///
    /// ```no_run
    /// use gpu_driver::{Device, DeviceVec, cust::memory::CopyDestination};
    /// let device = Device::first()?;
    /// let x = DeviceVec::from_slice(&device.stream(), &[1.0f32, 2.0])?;
    /// let _current = device.make_current()?;
    /// // SAFETY: the buffer outlives the view, and the copy has run when it returns.
    /// let theirs = unsafe { x.as_cust()? };
    /// let mut host = [0.0f32; 2];
    /// theirs.copy_to(&mut host).unwrap();
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    pub unsafe fn as_cust(&self) -> Result<CustView<'_, DeviceBuffer<T>>> {
        self.home().synchronize()?;
        // SAFETY: the buffer's own memory, which the view does not free.
        Ok(CustView::new(unsafe { DeviceBuffer::from_raw_parts(self.as_cust_pointer(), self.len()) }))
    }

    /// The buffer as one of cust's, which owns the memory from now on: nothing is copied. Waits for the home's work.
    ///
    /// cust frees the memory in the context that is current then, which is to be this device's ([`Device::make_current`]); in none it leaks. The device
    /// stays open until the process ends, since cust's buffer does not keep it, and its memory would go with it.
    ///
    /// # Errors
    /// `Length` for a buffer over another library's memory, or over memory that a graph shares; `InCapture`; `DeviceLost`. The buffer is dropped then.
    pub fn into_cust(self) -> Result<DeviceBuffer<T>> {
        let len = self.len();
        let device = self.device().clone();
        let pointer = DevicePointer::from_raw(self.into_address("DeviceVec::into_cust")?);
        device.keep_open();
        // SAFETY: the memory has so many elements, nothing uses it any more, and cuMemFree takes memory of a pool too.
        Ok(unsafe { DeviceBuffer::from_raw_parts(pointer, len) })
    }
}

impl<T: DevicePod + DeviceCopy> PinnedVec<T> {
    /// The memory as a locked buffer of cust's, for its asynchronous copies.
    pub fn as_cust(&self) -> CustView<'_, LockedBuffer<T>> {
        // SAFETY: the buffer's own memory, which the view neither frees nor lends for writing.
        CustView::new(unsafe { LockedBuffer::from_raw_parts(self.as_ptr().cast_mut(), self.len()) })
    }

    /// A locked buffer of cust's, which this library owns from now on: nothing is copied.
    ///
    /// # Safety
    /// The buffer was allocated with the context of `device` current ([`Device::make_current`]), and no work of cust's on it is left.
    pub unsafe fn from_cust(device: &Device, buffer: LockedBuffer<T>) -> Self {
        let mut buffer = std::mem::ManuallyDrop::new(buffer);
        // SAFETY: the driver's page-locked memory of so many elements, all of them initialised; nobody else has it.
        unsafe { Self::of_raw(device, buffer.as_mut_ptr(), buffer.len()) }
    }

    /// The memory as a locked buffer of cust's, which owns it from now on: nothing is copied. cust frees it in the context that is current then.
    /// The device stays open until the process ends, since cust's buffer does not keep it, and its memory would go with it.
    ///
    /// # Errors
    /// `Length` for memory that a vector was registered with ([`PinnedVec::register`]) and for a pool's ([`PinnedPool`](crate::PinnedPool)), which cust
    /// cannot free. It is dropped then.
    pub fn into_cust(self) -> Result<LockedBuffer<T>> {
        let len = self.len();
        let data = self.into_raw("PinnedVec::into_cust")?;
        // SAFETY: the driver's page-locked memory of so many elements.
        Ok(unsafe { LockedBuffer::from_raw_parts(data, len) })
    }
}

/// The address of a buffer of cust's.
#[doc(hidden)]
pub struct CustStaged(CUdeviceptr);

impl fmt::Debug for CustStaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CustStaged({:#x})", self.0)
    }
}

// SAFETY: the address is that of the buffer, which the launch's caller keeps.
unsafe impl StagedArgument for CustStaged {
    fn value(&self) -> *const c_void {
        (&raw const self.0).cast()
    }
    fn home(&self) -> Option<&Stream> {
        None
    }
    fn finish(self) -> Result<()> {
        Ok(())
    }
}

// SAFETY: a pointer to elements, which the kernel reads.
unsafe impl<T: DevicePod + DeviceCopy> LaunchArgument for &DeviceBuffer<T> {
    type Staged = CustStaged;
    fn describe() -> ArgumentType {
        pointer::<T>("const ")
    }
    fn stage(self, _stream: &Stream) -> Result<CustStaged> {
        Ok(CustStaged(self.as_device_ptr().as_raw()))
    }
}

// SAFETY: a pointer to elements, which are borrowed for the kernel alone until the launch returns.
unsafe impl<T: DevicePod + DeviceCopy> LaunchArgument for &mut DeviceBuffer<T> {
    type Staged = CustStaged;
    fn describe() -> ArgumentType {
        pointer::<T>("")
    }
    fn stage(self, _stream: &Stream) -> Result<CustStaged> {
        Ok(CustStaged(self.as_device_ptr().as_raw()))
    }
}
