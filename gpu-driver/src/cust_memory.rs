//! Memory of `cust` for this crate, and of this crate for `cust`, without copies.

use std::{ffi::c_void, fmt};

use cust::memory::{DeviceBuffer, DeviceCopy, DevicePointer};

use crate::{
    Device, DevicePod, DeviceVec, LaunchArgument, Result, Stream,
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
