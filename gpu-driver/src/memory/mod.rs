//! Device memory: owned buffers, borrowed parts of them, copies and fills.

use std::{
    fmt,
    marker::PhantomData,
    ops::{Bound, RangeBounds},
    sync::Arc,
};

use crate::raw::CUdeviceptr;

use crate::{
    Device, DevicePod, DriverError, In, InOut, Out, Pending, PinnedVec, Result, Stream,
    pod::byte_len,
    pool::{self, Allocation},
    sys,
};

mod fill;
mod foreign;
mod growing;
mod ipc;
mod managed;
mod own_pool;
mod peer;
mod pitched;
mod slices;
mod staged;

pub use growing::GrowingVec;
pub use managed::{Advice, ManagedVec};
pub use own_pool::DevicePool;
pub use pitched::Pitched;
pub(crate) use slices::ordered_with;
pub use slices::{DeviceSlice, DeviceSliceMut};

/// The driver aligns every allocation to so many bytes at least.
const ALIGNMENT: usize = 256;

/// `CUmemAccessDesc`: the access of a device to memory.
#[repr(C)]
struct AccessDescription {
    location_type: i32,
    device: i32,
    flags: i32,
}

const _: () = assert!(size_of::<AccessDescription>() == 12, "the layout of cuda.h");

impl AccessDescription {
    const DEVICE: i32 = 1;

    /// The device of that number reads and writes.
    fn read_write(device: i32) -> Self {
        const READ_WRITE: i32 = 3;
        Self { location_type: Self::DEVICE, device, flags: READ_WRITE }
    }

    /// The device of that number does neither.
    fn none(device: i32) -> Self {
        Self { location_type: Self::DEVICE, device, flags: 0 }
    }
}

/// An owned buffer of `len` elements in device memory.
///
/// It belongs to one stream, its *home*: it is allocated, copied and released in that stream's order, so nothing waits
/// and nothing is released under a kernel that still uses it. A kernel launched on another stream is ordered with the home
/// stream by events, before and after (see [`crate::Kernel::launch`]), so the home stream's order always covers every use.
///
/// ```no_run
/// use gpu_driver::{Device, DeviceVec};
/// let device = Device::first()?;
/// let x = DeviceVec::from_slice(&device.stream(), &[1.0f32, 2.0, 3.0])?;
/// assert_eq!(x.to_vec()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
pub struct DeviceVec<T: DevicePod> {
    memory: Allocation,
    /// The owner of memory that is not ours.
    owner: Option<Arc<foreign::Owner>>,
    /// The pool of a program that it is of, which is not destroyed before it is released.
    pool: Option<DevicePool>,
    len: usize,
    home: Stream,
    _elements: PhantomData<T>,
}

impl<T: DevicePod> DeviceVec<T> {
    /// A buffer whose elements are whatever the memory held.
    ///
    /// # Errors
    /// `OutOfMemory`, `TooLarge`, `DeviceLost`.
    ///
    /// # Safety
    /// No memory unsafety follows on the host (every bit pattern is a valid `T`), but reading before writing gives
    /// arbitrary values: the caller writes every element first.
    #[track_caller]
    pub unsafe fn uninitialized(home: &Stream, len: usize) -> Result<Self> {
        const { assert!(align_of::<T>() <= ALIGNMENT, "device memory is aligned to 256 bytes, which this type exceeds") };
        let bytes = byte_len::<T>(len)?;
        let memory = if bytes == 0 { Allocation::NONE } else { pool::allocate(home, bytes)? };
        Ok(Self { memory, owner: None, pool: None, len, home: home.clone(), _elements: PhantomData })
    }

    /// A buffer of zero bytes.
    ///
    /// # Errors
    /// `OutOfMemory`, `TooLarge`, `DeviceLost`.
    #[track_caller]
    pub fn zeros(home: &Stream, len: usize) -> Result<Self> {
        // SAFETY: every byte is written next.
        let mut buffer = unsafe { Self::uninitialized(home, len)? };
        buffer.set_zero()?;
        Ok(buffer)
    }

    /// Overwrites every byte with zero. Returns at once.
    ///
    /// # Errors
    /// `DeviceLost`.
    pub fn set_zero(&mut self) -> Result<()> {
        if self.len == 0 {
            return Ok(());
        }
        let device = self.home.device();
        let _current = device.enter()?;
        let bytes = self.len * size_of::<T>();
        // SAFETY: the buffer has that many bytes.
        let code = unsafe { sys::cuMemsetD8Async(self.memory.address, 0, bytes, self.home.as_raw()) };
        device.check("cuMemsetD8Async", code)
    }

    /// A buffer with a copy of `host`. Returns when `host` has been read.
    ///
    /// # Errors
    /// `OutOfMemory`, `InCapture`, `DeviceLost`.
    #[track_caller]
    pub fn from_slice(home: &Stream, host: &[T]) -> Result<Self> {
        // SAFETY: every element is written next.
        let mut buffer = unsafe { Self::uninitialized(home, host.len())? };
        buffer.copy_from_slice(host)?;
        Ok(buffer)
    }

    /// A buffer with a copy of `host`. Returns at once: the vector is released when the stream has copied it.
    ///
    /// # Errors
    /// `OutOfMemory`, `InCapture`, `DeviceLost`.
    #[track_caller]
    pub fn from_vec(home: &Stream, host: Vec<T>) -> Result<Self> {
        // SAFETY: every element is written next.
        let buffer = unsafe { Self::uninitialized(home, host.len())? };
        if host.is_empty() {
            return Ok(buffer);
        }
        let (bytes, host) = (size_of_val(&host[..]), Arc::new(host));
        let kept = host.clone();
        let told = {
            let current = home.device().enter()?;
            let _uncaptured = home.uncaptured("DeviceVec::from_vec", &current)?;
            // SAFETY: both have that many bytes; the vector is kept until the copy has run.
            let code =
                unsafe { sys::cuMemcpyHtoDAsync_v2(buffer.memory.address, host.as_ptr().cast(), bytes, home.as_raw()) };
            home.device().check("cuMemcpyHtoDAsync", code)?;
            home.call_host_uncaptured(move || drop(kept))
        };
        if told.is_err() && home.synchronize().is_err() {
            // The copy may still be on its way.
            std::mem::forget(host);
        }
        Ok(buffer)
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The stream that orders the buffer's work.
    pub fn home(&self) -> &Stream {
        &self.home
    }

    /// The device that holds it.
    pub fn device(&self) -> &Device {
        self.home.device()
    }

    /// The whole buffer, to read.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        DeviceSlice { address: self.memory.address, len: self.len, home: &self.home, _elements: PhantomData }
    }

    /// The whole buffer, to write.
    pub fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut { address: self.memory.address, len: self.len, home: &self.home, _elements: PhantomData }
    }

    /// Part of the buffer, to read.
    ///
    /// # Errors
    /// `Length` when the range lies outside.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<DeviceSlice<'_, T>> {
        let (start, len) = bounds("DeviceVec::slice", range, self.len)?;
        Ok(DeviceSlice {
            address: offset::<T>(self.memory.address, start),
            len,
            home: &self.home,
            _elements: PhantomData,
        })
    }

    /// Part of the buffer, to write.
    ///
    /// # Errors
    /// `Length` when the range lies outside.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<DeviceSliceMut<'_, T>> {
        let (start, len) = bounds("DeviceVec::slice_mut", range, self.len)?;
        Ok(DeviceSliceMut {
            address: offset::<T>(self.memory.address, start),
            len,
            home: &self.home,
            _elements: PhantomData,
        })
    }

    /// The buffer as a kernel's input.
    pub fn input(&self) -> In<'_, T> {
        self.as_slice().input()
    }

    /// The buffer as a kernel's output.
    pub fn output(&mut self) -> Out<'_, T> {
        self.as_mut_slice().output()
    }

    /// The buffer as a kernel's input and output.
    pub fn in_out(&mut self) -> InOut<'_, T> {
        self.as_mut_slice().in_out()
    }

    /// Overwrites the buffer with `host`. Returns when `host` has been read.
    ///
    /// # Errors
    /// `Length` unless both have the same number of elements; `InCapture`; `DeviceLost`.
    pub fn copy_from_slice(&mut self, host: &[T]) -> Result<()> {
        self.as_mut_slice().copy_from_slice(host)
    }

    /// Overwrites `host` with the buffer, after waiting for the home stream.
    ///
    /// # Errors
    /// `Length` unless both have the same number of elements; `InCapture`; `DeviceLost`.
    pub fn copy_to_slice(&self, host: &mut [T]) -> Result<()> {
        self.as_slice().copy_to_slice(host)
    }

    /// The elements on the host, after waiting for the home stream.
    ///
    /// # Errors
    /// `InCapture`; `DeviceLost`.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.as_slice().to_vec()
    }

    /// Overwrites the buffer with device memory. Returns at once; ordered with both home streams.
    ///
    /// # Errors
    /// `Length` unless both have the same number of elements; `WrongDevice`; `DeviceLost`.
    pub fn copy_from(&mut self, source: DeviceSlice<'_, T>) -> Result<()> {
        self.as_mut_slice().copy_from(source)
    }

    /// A new buffer with the same elements and home.
    ///
    /// # Errors
    /// `OutOfMemory`, `DeviceLost`.
    #[track_caller]
    pub fn try_clone(&self) -> Result<Self> {
        self.as_slice().try_clone()
    }

    /// Starts to overwrite the buffer with pinned memory and returns at once; the pinned buffer comes back from
    /// [`Pending::wait`].
    ///
    /// # Errors
    /// `Length` unless both have the same number of elements; `InCapture`; `DeviceLost`. The pinned buffer is dropped then.
    pub fn upload(&mut self, host: PinnedVec<T>) -> Result<Pending<PinnedVec<T>>> {
        same_len("DeviceVec::upload", self.len, host.len())?;
        let device = self.home.device();
        let current = device.enter()?;
        let _uncaptured = self.home.uncaptured("DeviceVec::upload", &current)?;
        if self.len > 0 {
            let bytes = self.len * size_of::<T>();
            // SAFETY: both have that many bytes; `Pending` keeps the pinned memory until the copy has run.
            let code = unsafe {
                sys::cuMemcpyHtoDAsync_v2(self.memory.address, host.as_ptr().cast(), bytes, self.home.as_raw())
            };
            device.check("cuMemcpyHtoDAsync", code)?;
        }
        Pending::after(&self.home, host, &current)
    }

    /// Starts to copy the buffer to pinned memory and returns at once; the filled memory comes from [`Pending::wait`].
    ///
    /// # Errors
    /// `Length` unless both have the same number of elements; `InCapture`; `DeviceLost`. The pinned buffer is dropped then.
    pub fn download(&self, mut host: PinnedVec<T>) -> Result<Pending<PinnedVec<T>>> {
        same_len("DeviceVec::download", self.len, host.len())?;
        let device = self.home.device();
        let current = device.enter()?;
        let _uncaptured = self.home.uncaptured("DeviceVec::download", &current)?;
        if self.len > 0 {
            let bytes = self.len * size_of::<T>();
            // SAFETY: both have that many bytes; `Pending` keeps the pinned memory until the copy has run.
            let code = unsafe {
                sys::cuMemcpyDtoHAsync_v2(host.as_mut_ptr().cast(), self.memory.address, bytes, self.home.as_raw())
            };
            device.check("cuMemcpyDtoHAsync", code)?;
        }
        Pending::after(&self.home, host, &current)
    }

    /// The address, which the caller owns from now on, outside of any capture and once the home's work has run; 0 for an empty buffer.
    #[cfg(feature = "cust")]
    pub(crate) fn into_address(self, op: &'static str) -> Result<CUdeviceptr> {
        let not_alone = |got: &str| {
            let (expected, got) = ("memory that the buffer owns alone".to_owned(), got.to_owned());
            Err(DriverError::Length { op, expected, got })
        };
        if self.owner.is_some() {
            return not_alone("another library's memory");
        }
        if self.memory.is_of_graph() {
            return not_alone("memory that a graph shares");
        }
        {
            let current = self.home.device().enter()?;
            let _uncaptured = self.home.uncaptured(op, &current)?;
            self.home.synchronize_entered(&current)?;
        }
        let mut buffer = self;
        let address = std::mem::replace(&mut buffer.memory, Allocation::NONE).address;
        buffer.home.device().0.trace.forget(address);
        Ok(address)
    }

    /// The device address, for launches with unchecked arguments and other libraries; 0 when empty.
    pub fn as_raw(&self) -> CUdeviceptr {
        self.memory.address
    }
}

impl<T: DevicePod> Drop for DeviceVec<T> {
    fn drop(&mut self) {
        match self.owner.take() {
            Some(owner) => release_foreign(&self.home, owner),
            None if self.memory.address != 0 => pool::release(&self.home, self.memory),
            None => {}
        }
    }
}

/// Releases memory of another library once the work of its home has run. It stands apart, so that crates with arrays of their own need not compile it.
#[inline(never)]
fn release_foreign(home: &Stream, owner: Arc<foreign::Owner>) {
    home.release_in_order("memory of another library", owner);
}

impl<T: DevicePod> fmt::Debug for DeviceVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceVec<{}>(len {}, device {})", T::CUDA_NAME, self.len, self.device().ordinal())
    }
}

pub(crate) fn same_len(op: &'static str, expected: usize, got: usize) -> Result<()> {
    if expected == got {
        return Ok(());
    }
    Err(DriverError::Length { op, expected: format!("{expected} elements"), got: got.to_string() })
}

fn offset<T>(address: CUdeviceptr, elements: usize) -> CUdeviceptr {
    address + (elements * size_of::<T>()) as CUdeviceptr
}

/// Start and length of a range within `len` elements.
fn bounds(op: &'static str, range: impl RangeBounds<usize>, len: usize) -> Result<(usize, usize)> {
    let start = match range.start_bound() {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&before) => before.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(len),
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= len => Ok((start, end - start)),
        _ => Err(DriverError::Length {
            op,
            expected: format!("a range within 0..{len}"),
            got: format!("{:?} to {:?}", range.start_bound(), range.end_bound()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked() {
        assert_eq!(bounds("t", 1..3, 4).unwrap(), (1, 2));
        assert_eq!(bounds("t", .., 4).unwrap(), (0, 4));
        assert_eq!(bounds("t", 4.., 4).unwrap(), (4, 0));
        assert_eq!(bounds("t", ..=3, 4).unwrap(), (0, 4));
        #[expect(clippy::reversed_empty_ranges, reason = "a user's mistake")]
        let reversed = bounds("t", 3..1, 4);
        assert!(reversed.is_err());
        assert!(bounds("t", 0..5, 4).is_err());
        assert!(bounds("t", ..=usize::MAX, 4).is_err());
    }

    #[test]
    fn sizes_beyond_the_address_space_are_errors() {
        assert_eq!(byte_len::<f64>(3).unwrap(), 24);
        assert!(matches!(byte_len::<f64>(usize::MAX / 4), Err(DriverError::TooLarge { .. })));
        assert!(matches!(byte_len::<u8>(usize::MAX), Err(DriverError::TooLarge { .. })));
    }
}
