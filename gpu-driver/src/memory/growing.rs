//! Arrays that grow in place, by virtual memory.

use std::{
    fmt,
    ops::Deref,
    panic::Location,
    ptr::null_mut,
    sync::{Arc, Mutex},
};

use gpu_driver_core::lock;

use super::{ALIGNMENT, AccessDescription, DeviceSliceMut, DeviceVec};
use crate::{CudaCode, Device, DevicePod, DriverError, Result, Stream, pod::byte_len, pool, raw::CUdeviceptr, sys};

/// `CUmemAllocationProp`: memory of a device, for this process.
#[repr(C)]
struct Properties {
    allocation_type: i32,
    handle_types: i32,
    location_type: i32,
    device: i32,
    win32_metadata: *mut u8,
    flags: [u8; 8],
}

const _: () = assert!(size_of::<Properties>() == 32, "the layout of cuda.h");

impl Properties {
    fn of(device: &Device) -> Self {
        const PINNED: i32 = 1;
        const DEVICE: i32 = 1;
        let number = device.0.device;
        let (allocation_type, location_type) = (PINNED, DEVICE);
        Self {
            allocation_type,
            handle_types: 0,
            location_type,
            device: number,
            win32_metadata: null_mut(),
            flags: [0; 8],
        }
    }
}

/// Addresses, the first of which have memory. Its drop gives both back.
struct Reservation {
    device: Device,
    address: CUdeviceptr,
    bytes: usize,
    /// The unit of memory.
    granularity: usize,
    /// The sizes of the parts that have memory, from the first address on.
    parts: Mutex<Vec<usize>>,
}

impl Reservation {
    /// Reserves addresses for so many bytes, without memory.
    fn new(home: &Stream, bytes: usize) -> Result<Self> {
        const MINIMUM: i32 = 0;
        let device = home.device();
        let current = device.enter()?;
        home.not_captured("GrowingVec::with_capacity", &current)?;
        let (properties, mut granularity, mut address) = (Properties::of(device), 0, 0);
        // SAFETY: the pointers are valid for the call.
        let code =
            unsafe { sys::cuMemGetAllocationGranularity(&mut granularity, (&raw const properties).cast(), MINIMUM) };
        device.check("cuMemGetAllocationGranularity", code)?;
        let whole = bytes.max(1).checked_next_multiple_of(granularity.max(1));
        let too_many = DriverError::OutOfMemory { requested_bytes: bytes, free_bytes: None };
        let Some(bytes) = whole else { return Err(too_many) };
        // SAFETY: the pointer is valid for the call.
        let code = unsafe { sys::cuMemAddressReserve(&mut address, bytes, 0, 0, 0) };
        device.check("cuMemAddressReserve", code).map_err(|error| match error {
            DriverError::Cuda { code: CudaCode::OUT_OF_MEMORY, .. } => too_many,
            other => other,
        })?;
        Ok(Self { device: device.clone(), address, bytes, granularity: granularity.max(1), parts: Mutex::default() })
    }

    /// The bytes that have memory.
    fn mapped(&self) -> usize {
        lock(&self.parts).iter().sum()
    }

    /// Puts memory behind the first `bytes` bytes at least, within the reservation; where it grows, by half if there is room.
    fn grow(&self, bytes: usize) -> Result<()> {
        let mut parts = lock(&self.parts);
        let mapped: usize = parts.iter().sum();
        if bytes <= mapped {
            return Ok(());
        }
        let size_to = |wanted: usize| (wanted - mapped).next_multiple_of(self.granularity).min(self.bytes - mapped);
        let (least, wished) = (size_to(bytes), size_to(bytes.max(mapped + mapped / 2).min(self.bytes)));
        if wished <= self.device.0.memory_bytes {
            match self.map(mapped, wished) {
                // Half as much again is a wish; the elements alone are asked for.
                Err(DriverError::Cuda { code: CudaCode::OUT_OF_MEMORY, .. }) => {}
                mapped => return mapped.map(|()| self.add(&mut parts, wished)),
            }
        }
        pool::with_room(&self.device, least, || self.map(mapped, least))?;
        self.add(&mut parts, least);
        Ok(())
    }

    /// Notes a part that has memory.
    fn add(&self, parts: &mut Vec<usize>, size: usize) {
        parts.push(size);
        self.device.0.trace.resize(self.address, parts.iter().sum());
    }

    /// Puts memory behind a part without.
    fn map(&self, offset: usize, size: usize) -> Result<()> {
        let (device, at) = (&self.device, self.address + offset as CUdeviceptr);
        let _current = device.enter()?;
        let (properties, mut handle) = (Properties::of(device), 0);
        // SAFETY: the pointers are valid for the call.
        let code = unsafe { sys::cuMemCreate(&mut handle, size, (&raw const properties).cast(), 0) };
        device.check("cuMemCreate", code)?;
        // SAFETY: the part is of the reservation, and has no memory yet.
        let mapped = device.check("cuMemMap", unsafe { sys::cuMemMap(at, size, 0, handle, 0) });
        // The memory itself goes when it is mapped nowhere any more.
        // SAFETY: created above, released once.
        let released = device.check("cuMemRelease", unsafe { sys::cuMemRelease(handle) });
        mapped?;
        let access = AccessDescription::read_write(device.0.device);
        let usable = released.and_then(|()| {
            // SAFETY: mapped above; the description is valid for the call.
            let code = unsafe { sys::cuMemSetAccess(at, size, (&raw const access).cast(), 1) };
            device.check("cuMemSetAccess", code)
        });
        usable.inspect_err(|_| {
            // SAFETY: mapped above, and nothing uses it.
            device.0.in_drop("a part of a growing array", "cuMemUnmap", || unsafe { sys::cuMemUnmap(at, size) });
        })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.device.0.trace.forget(self.address);
        let mut at = self.address;
        for size in std::mem::take(&mut *lock(&self.parts)) {
            // SAFETY: mapped in `map`, and nothing uses it any more.
            self.device.0.in_drop("a growing array", "cuMemUnmap", || unsafe { sys::cuMemUnmap(at, size) });
            at += size as CUdeviceptr;
        }
        // SAFETY: reserved in `new`, with nothing mapped.
        let free = || unsafe { sys::cuMemAddressFree(self.address, self.bytes) };
        self.device.0.in_drop("the addresses of a growing array", "cuMemAddressFree", free);
    }
}

/// An array in device memory that grows in place: its address stays, and nothing is copied.
///
/// Addresses for a capacity are reserved at first; they cost next to nothing. Memory comes when elements come: in units of the driver, mostly 2 MiB, and by
/// half of the array at a time where there is room. It goes with the array. Read, it is a [`DeviceVec`]; kernels write to [`GrowingVec::as_mut_slice`].
///
/// ```no_run
/// use gpu_driver::{Device, GrowingVec};
/// let mut x = GrowingVec::<f32>::with_capacity(&Device::first()?.stream(), 1_000_000_000)?;
/// x.extend_from_slice(&[1.0, 2.0])?;
/// let address = x.as_raw();
/// x.resize(1_000_000, 3.0)?;
/// x.push(4.0)?;
/// assert_eq!(x.slice(..3)?.to_vec()?, [1.0, 2.0, 3.0]);
/// assert_eq!((x.len(), x.as_raw()), (1_000_001, address));
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
#[doc(alias("cuMemAddressReserve", "cuMemMap", "virtual memory"))]
pub struct GrowingVec<T: DevicePod> {
    /// Never given out whole: its length is at most that of the memory.
    memory: DeviceVec<T>,
    reservation: Arc<Reservation>,
}

impl<T: DevicePod> GrowingVec<T> {
    /// An array without elements, with addresses for `capacity` of them at least.
    ///
    /// # Cost
    /// Its drop waits for the home stream.
    ///
    /// # Errors
    /// `TooLarge`, `InCapture`, `DeviceLost`; `Cuda` with `NOT_SUPPORTED` on devices without virtual memory; `OutOfMemory` for more addresses than there
    /// are, which on the emulated device are as many as its memory.
    #[track_caller]
    pub fn with_capacity(home: &Stream, capacity: usize) -> Result<Self> {
        const { assert!(align_of::<T>() <= ALIGNMENT, "device memory is aligned to 256 bytes, which this type exceeds") };
        let reservation = Arc::new(Reservation::new(home, byte_len::<T>(capacity)?)?);
        // SAFETY: no elements; those of later lengths have memory, which the owner keeps, and nobody else knows of them.
        let memory = unsafe { DeviceVec::from_foreign(home, reservation.address, 0, None, reservation.clone())? };
        // Its bytes are counted as they come.
        home.device().0.trace.record(reservation.address, "GrowingVec", 0, Location::caller());
        Ok(Self { memory, reservation })
    }

    /// The number of elements for which there are addresses.
    pub fn capacity(&self) -> usize {
        self.reservation.bytes / size_of::<T>()
    }

    /// The number of elements for which there is memory.
    pub fn allocated(&self) -> usize {
        self.reservation.mapped() / size_of::<T>()
    }

    /// All elements, to write to.
    pub fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, T> {
        self.memory.as_mut_slice()
    }

    /// Adds an element.
    ///
    /// # Cost
    /// A copy of one element: many are better added at once, by [`GrowingVec::extend_from_slice`].
    ///
    /// # Errors
    /// Those of [`GrowingVec::extend_from_slice`].
    pub fn push(&mut self, value: T) -> Result<()> {
        self.extend_from_slice(&[value])
    }

    /// Adds elements. Returns when `host` has been read.
    ///
    /// # Errors
    /// `Length` beyond the capacity; `OutOfMemory`, `InCapture`, `DeviceLost`. The array is as it was then.
    pub fn extend_from_slice(&mut self, host: &[T]) -> Result<()> {
        let before = self.memory.len;
        self.grow("GrowingVec::extend_from_slice", before.saturating_add(host.len()))?;
        let copied = self.memory.slice_mut(before..).and_then(|mut added| added.copy_from_slice(host));
        copied.inspect_err(|_| self.memory.len = before)
    }

    /// Makes the array `len` elements long: added ones are `value`. The memory of elements that go is kept for later ones.
    ///
    /// # Cost
    /// That of [`DeviceSliceMut::fill`] for the elements that are added.
    ///
    /// # Errors
    /// Those of [`GrowingVec::extend_from_slice`].
    pub fn resize(&mut self, len: usize, value: T) -> Result<()> {
        let before = self.memory.len;
        if len <= before {
            self.truncate(len);
            return Ok(());
        }
        self.grow("GrowingVec::resize", len)?;
        let filled = self.memory.slice_mut(before..).and_then(|mut added| added.fill(value));
        filled.inspect_err(|_| self.memory.len = before)
    }

    /// Drops the elements from `len` on. Their memory is kept for later ones.
    pub fn truncate(&mut self, len: usize) {
        self.memory.len = len.min(self.memory.len);
    }

    /// Makes the array `len` elements long, with memory behind all of them.
    fn grow(&mut self, op: &'static str, len: usize) -> Result<()> {
        if len > self.capacity() {
            let (expected, got) = (format!("at most {} elements", self.capacity()), len.to_string());
            return Err(DriverError::Length { op, expected, got });
        }
        let home = self.memory.home();
        home.not_captured(op, &home.device().enter()?)?;
        self.reservation.grow(len * size_of::<T>())?;
        self.memory.len = len;
        Ok(())
    }
}

impl<T: DevicePod> Deref for GrowingVec<T> {
    type Target = DeviceVec<T>;
    fn deref(&self) -> &DeviceVec<T> {
        &self.memory
    }
}

impl<T: DevicePod> fmt::Debug for GrowingVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GrowingVec<{}>(len {} of {})", T::CUDA_NAME, self.len(), self.capacity())
    }
}
