//! Device memory that belongs to another library.

use std::{any::Any, fmt, marker::PhantomData, sync::Arc};

use crate::raw::{CUdeviceptr, CUstream};

use super::DeviceVec;
use crate::{DevicePod, DriverError, Event, Result, Stream, pod::byte_len, pool::Allocation, sys};

/// The owner of memory; its drop gives the memory back.
pub(super) struct Owner(#[expect(dead_code, reason = "it is dropped")] Box<dyn Any + Send + Sync>);

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the owner of a buffer")
    }
}

impl<T: DevicePod> DeviceVec<T> {
    /// A buffer over memory that another library has allocated. `owner` gives the memory back when it is dropped, which it is after the last work
    /// that uses the buffer.
    ///
    /// `after` is the stream, as the driver's handle, on which the other library has enqueued work on the memory: `home` waits for the work that it holds now.
    /// None stands for memory on which no work is left.
    ///
    /// # Cost
    /// Nothing is copied. The drop waits for the home stream, so that the owner may free the memory at once; in a capture the graph keeps the owner.
    ///
    /// # Errors
    /// `Length` for an address that is no multiple of the alignment of `T` on a device; `TooLarge`; the driver's for a stream that it does not know.
    /// The owner is dropped then.
    ///
    /// # Safety
    /// - There are `len` elements at `address` that the home's device can access, until the owner is dropped; a graph that is captured with the
    ///   buffer runs before that, unless the buffer is dropped within the capture.
    /// - As long as the buffer lives, others write to these elements only in an order with the buffer's home stream that they make themselves, and
    ///   read them so where the buffer is written to. No other `DeviceVec` or slice leads to elements of the buffer unless nobody writes to both.
    /// - `after` is a stream of the same device and is alive.
    pub unsafe fn from_foreign(
        home: &Stream,
        address: CUdeviceptr,
        len: usize,
        after: Option<CUstream>,
        owner: impl Any + Send + Sync,
    ) -> Result<Self> {
        let owner = Arc::new(Owner(Box::new(owner)));
        let bytes = byte_len::<T>(len)?;
        let alignment = T::CUDA_ALIGN as CUdeviceptr;
        if !address.is_multiple_of(alignment) || (address == 0 && bytes > 0) {
            let (expected, got) = (format!("an address that {alignment} divides"), format!("{address:#x}"));
            return Err(DriverError::Length { op: "DeviceVec::from_foreign", expected, got });
        }
        if let Some(after) = after {
            let device = home.device();
            let current = device.enter()?;
            let mark = Event::untimed_entered(device, &current)?;
            // SAFETY: the event is alive, and so is the stream, as the caller promises.
            device.check("cuEventRecord", unsafe { sys::cuEventRecord(mark.as_raw(), after) })?;
            // SAFETY: both are alive.
            let code = unsafe { sys::cuStreamWaitEvent(home.as_raw(), mark.as_raw(), 0) };
            device.check("cuStreamWaitEvent", code)?;
        }
        let memory = Allocation::of_owner(address);
        Ok(Self { memory, owner: Some(owner), pool: None, len, home: home.clone(), _elements: PhantomData })
    }
}
