//! Device memory that processes share.

use std::panic::Location;

use super::{ALIGNMENT, DeviceVec};
use crate::{
    Device, DevicePod, DriverError, IpcMemoryHandle, Result, Stream, pod::byte_len, pool, raw::CUdeviceptr, sys,
};

/// Bytes of the driver's unit of memory: the CUDA C++ Programming Guide advises to share multiples of 2 MiB.
const IPC_UNIT: usize = 2 << 20;

/// The address and the bytes of the allocation that memory lies in; the device's context is current.
fn allocation_of(device: &Device, address: CUdeviceptr) -> Result<(CUdeviceptr, usize)> {
    let (mut start, mut size) = (0, 0);
    // SAFETY: the pointers are valid for the call, and the driver checks the address.
    let code = unsafe { sys::cuMemGetAddressRange_v2(&mut start, &mut size, address) };
    device.check("cuMemGetAddressRange", code)?;
    Ok((start, size))
}

/// Memory of its own, which its drop frees.
struct Allocated {
    device: Device,
    address: CUdeviceptr,
}

impl Drop for Allocated {
    fn drop(&mut self) {
        self.device.0.trace.forget(self.address);
        // SAFETY: allocated in `shareable`, freed once, when no work uses it.
        self.device.0.in_drop("shareable memory", "cuMemFree", || unsafe { sys::cuMemFree_v2(self.address) });
    }
}

/// Memory of another process, which its drop lets go.
struct Opened {
    device: Device,
    address: CUdeviceptr,
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: opened in `open_ipc`, closed once, when no work uses it.
        let close = || unsafe { sys::cuIpcCloseMemHandle(self.address) };
        self.device.0.in_drop("memory of another process", "cuIpcCloseMemHandle", close);
    }
}

impl<T: DevicePod> DeviceVec<T> {
    /// A buffer of zero bytes that other processes may share: an allocation of its own, since the memory of the pool has no handle.
    ///
    /// # Cost
    /// Allocation and release are in no stream's order: the drop waits for the home stream. The memory is a multiple of 2 MiB, so that a handle gives away
    /// this buffer and no neighbour.
    ///
    /// # Errors
    /// `OutOfMemory`, `TooLarge`, `InCapture`, `DeviceLost`; `Length` for no elements.
    #[track_caller]
    pub fn shareable(home: &Stream, len: usize) -> Result<Self> {
        const OP: &str = "DeviceVec::shareable";
        const { assert!(align_of::<T>() <= ALIGNMENT, "device memory is aligned to 256 bytes, which this type exceeds") };
        let (device, bytes) = (home.device(), byte_len::<T>(len)?);
        if bytes == 0 {
            let (expected, got) = ("one element at least".to_owned(), "none".to_owned());
            return Err(DriverError::Length { op: OP, expected, got });
        }
        // Smaller allocations may share a unit of the driver, and a handle opens the whole unit.
        let whole = bytes.checked_next_multiple_of(IPC_UNIT).unwrap_or(bytes);
        let address = pool::with_room(device, whole, || {
            let current = device.enter()?;
            home.not_captured(OP, &current)?;
            let mut address = 0;
            // SAFETY: the pointer is valid for the call.
            device.check("cuMemAlloc", unsafe { sys::cuMemAlloc_v2(&mut address, whole) })?;
            Ok(address)
        })?;
        device.0.trace.record(address, "DeviceVec", bytes, Location::caller());
        let owner = Allocated { device: device.clone(), address };
        // SAFETY: the owner frees the memory of so many elements, which nobody else has.
        let mut buffer = unsafe { Self::from_foreign(home, address, len, None, owner)? };
        buffer.set_zero()?;
        Ok(buffer)
    }

    /// The handle by which another process opens the buffer ([`DeviceVec::open_ipc`]). The buffer is kept until that process has let go of it, and work on
    /// it is ordered by an event ([`Event::interprocess`](crate::Event::interprocess)) or a wait.
    ///
    /// # Errors
    /// `Length` for a buffer of the pool, that is any but those of [`DeviceVec::shareable`] and of other libraries, and for one of those that does not
    /// begin where its allocation does, since the handle is the whole allocation's; `Cuda` with `NOT_SUPPORTED` on the emulated device, whose memory
    /// is its process's alone; else the driver's error.
    ///
    /// ```no_run
    /// use gpu_driver::{Device, DeviceVec};
    /// let mut x = DeviceVec::<f32>::shareable(&Device::first()?.stream(), 1000)?;
    /// x.copy_from_slice(&[1.0; 1000])?;
    /// x.home().synchronize()?;
    /// let bytes = x.ipc_handle()?.to_bytes(); // to be sent to another process
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias("mem_get_ipc_handle", "cuIpcGetMemHandle"))]
    pub fn ipc_handle(&self) -> Result<IpcMemoryHandle> {
        const OP: &str = "DeviceVec::ipc_handle";
        if self.owner.is_none() {
            let (expected, got) = ("a buffer of DeviceVec::shareable".to_owned(), "memory of the pool".to_owned());
            return Err(DriverError::Length { op: OP, expected, got });
        }
        let _current = self.device().enter()?;
        let (start, _) = allocation_of(self.device(), self.as_raw())?;
        if start != self.as_raw() {
            let (expected, got) = (format!("the start of an allocation, {start:#x}"), format!("{:#x}", self.as_raw()));
            return Err(DriverError::Length { op: OP, expected, got });
        }
        IpcMemoryHandle::ask(|handle| {
            // SAFETY: the pointer is valid for the call; the driver checks the address.
            self.device().check("cuIpcGetMemHandle", unsafe { sys::cuIpcGetMemHandle(handle, self.as_raw()) })
        })
    }

    /// Opens a buffer of another process, of `len` elements. Nothing is copied; the drop lets go of the memory, which the other process frees.
    ///
    /// # Errors
    /// `Cuda` with `INVALID_CONTEXT` for memory of this process itself; `Length` for memory that is smaller; `Cuda` with `NOT_SUPPORTED` on the emulated
    /// device; else the driver's error.
    ///
    /// # Safety
    /// The handle is of [`DeviceVec::ipc_handle`], on the same device or one that can access it, and its process keeps the memory until this buffer is
    /// dropped. Work of both processes on the memory is ordered by them. `T` is the type of the elements there.
    #[doc(alias("IPCMemoryHandle", "cuIpcOpenMemHandle"))]
    pub unsafe fn open_ipc(home: &Stream, handle: IpcMemoryHandle, len: usize) -> Result<Self> {
        const LAZY_ENABLE_PEER_ACCESS: u32 = 1;
        const OP: &str = "DeviceVec::open_ipc";
        let (device, bytes) = (home.device(), byte_len::<T>(len)?);
        let owner = {
            let current = device.enter()?;
            home.not_captured(OP, &current)?;
            let mut address = 0;
            // SAFETY: the pointer is valid for the call; the handle is one, as the caller promises.
            let code = unsafe { sys::cuIpcOpenMemHandle_v2(&mut address, handle.to_raw(), LAZY_ENABLE_PEER_ACCESS) };
            device.check("cuIpcOpenMemHandle", code)?;
            let owner = Opened { device: device.clone(), address };
            let (start, size) = allocation_of(device, address)?;
            let behind = size.saturating_sub(usize::try_from(address - start).unwrap_or(usize::MAX));
            if bytes > behind {
                let (expected, got) = (format!("{bytes} bytes"), format!("{behind}"));
                return Err(DriverError::Length { op: OP, expected, got });
            }
            owner
        };
        let address = owner.address;
        // SAFETY: the owner lets go of the memory, which has so many bytes; the rest is the caller's promise.
        unsafe { Self::from_foreign(home, address, len, None, owner) }
    }
}
