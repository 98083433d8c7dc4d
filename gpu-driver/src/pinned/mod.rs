//! Pinned (page-locked) host memory, and copies that run while the host goes on.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    panic::Location,
    ptr::{NonNull, null_mut},
    sync::Arc,
};

use crate::{
    CudaCode, Device, DevicePod, DriverError, Event, Result, Stream,
    context::{Current, Kept},
    pod::byte_len,
    raw::CUdeviceptr,
    sys,
};

mod aligned;
mod pool;

pub use aligned::AlignedVec;
pub use pool::{PinnedPool, PinnedPoolUse};

/// The driver aligns pinned memory to a page.
const ALIGNMENT: usize = 4096;

/// Flags of `cuMemHostAlloc` and `cuMemHostRegister`.
const PORTABLE: u32 = 1;
const MAPPED: u32 = 2;
const WRITE_COMBINED: u32 = 4;

/// A host buffer that the device copies from and to directly: about twice as fast as pageable memory, and without the
/// host waiting. Behaves as a slice.
///
/// Pinned memory is taken from the memory that the operating system can page; use it for buffers that are reused. Dropped buffers of up to 4096
/// bytes are kept for the next ones, at most 64 of them for a device; [`PinnedPool`] keeps those of any size.
///
/// Memory is aligned to 4096 bytes; a type that needs more is refused by the compiler:
/// ```no_run
/// #[repr(C, align(4096))]
/// #[derive(Clone, Copy, Debug)]
/// struct Page([u32; 2048]);
/// // SAFETY: plain numbers without padding.
/// unsafe impl gpu_driver::DevicePod for Page {
///     const CUDA_NAME: &'static str = "Page";
/// }
/// let pages = gpu_driver::PinnedVec::<Page>::zeros(&gpu_driver::Device::first()?, 1)?;
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
/// ```compile_fail,E0080
/// #[repr(C, align(8192))]
/// #[derive(Clone, Copy, Debug)]
/// struct Page([u32; 2048]);
/// // SAFETY: plain numbers without padding.
/// unsafe impl gpu_driver::DevicePod for Page {
///     const CUDA_NAME: &'static str = "Page";
/// }
/// let pages = gpu_driver::PinnedVec::<Page>::zeros(&gpu_driver::Device::first()?, 1)?;
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
pub struct PinnedVec<T: DevicePod> {
    /// Dangling for an empty buffer, which owns no memory.
    data: NonNull<T>,
    len: usize,
    device: Device,
    origin: MemorySource,
}

/// The source of a buffer's memory, which takes it back.
#[derive(Debug)]
enum MemorySource {
    /// The driver's, or a buffer that the device has kept.
    Kept,
    /// The driver's, for this buffer alone.
    Own,
    /// A vector's of that capacity.
    Registered { capacity: usize },
    /// An aligned buffer's; None once it has been given back.
    Aligned(Option<aligned::AlignedMemory>),
    /// A pool's, with the size class.
    Pool { pool: Arc<pool::PinnedPoolShared>, class_bytes: usize },
}

// SAFETY: it owns plain memory.
unsafe impl<T: DevicePod> Send for PinnedVec<T> {}
// SAFETY: shared access only reads.
unsafe impl<T: DevicePod> Sync for PinnedVec<T> {}

impl<T: DevicePod> PinnedVec<T> {
    /// A buffer of zero bytes.
    ///
    /// # Errors
    /// `OutOfPinnedMemory` when the system cannot lock that much; `TooLarge`; `DeviceLost`.
    #[track_caller]
    pub fn zeros(device: &Device, len: usize) -> Result<Self> {
        const { assert!(align_of::<T>() <= ALIGNMENT, "pinned memory is aligned to 4096 bytes, which this type exceeds") };
        let bytes = byte_len::<T>(len)?;
        let mut data: NonNull<T> = NonNull::dangling();
        if bytes > 0 {
            let _current = device.enter()?;
            let kept = device.0.pinned.take(bytes);
            let raw = kept.map_or_else(|| allocate(device, bytes), Ok)?;
            data = raw.cast();
            // SAFETY: the memory has `bytes` bytes at least, aligned to a page.
            unsafe { std::ptr::write_bytes(data.as_ptr().cast::<u8>(), 0, bytes) };
            record(device, data, bytes);
        }
        Ok(Self { data, len, device: device.clone(), origin: MemorySource::Kept })
    }

    /// A buffer of zero bytes in write-combined memory: it is not cached by the processor, so uploads may be faster, and reads by the host are very slow.
    /// For buffers that the host writes in order and does not read.
    ///
    /// # Errors
    /// Those of [`PinnedVec::zeros`].
    #[doc(alias("WRITECOMBINED", "host_alloc_flags"))]
    #[track_caller]
    pub fn write_combined(device: &Device, len: usize) -> Result<Self> {
        const { assert!(align_of::<T>() <= ALIGNMENT, "pinned memory is aligned to 4096 bytes, which this type exceeds") };
        let bytes = byte_len::<T>(len)?;
        if bytes == 0 {
            return Self::zeros(device, len);
        }
        let _current = device.enter()?;
        let data = allocate_with(device, bytes, bytes, WRITE_COMBINED)?.cast::<T>();
        // SAFETY: the memory has so many bytes.
        unsafe { std::ptr::write_bytes(data.as_ptr().cast::<u8>(), 0, bytes) };
        record(device, data, bytes);
        Ok(Self { data, len, device: device.clone(), origin: MemorySource::Own })
    }

    /// The memory of a vector, pinned where it lies: nothing is copied. [`PinnedVec::into_vec`] gives the vector back.
    ///
    /// # Cost
    /// The system locks each page, some 100 us for a MiB: worth it for memory that exists already and is copied more than once.
    ///
    /// # Errors
    /// `OutOfPinnedMemory` when the system cannot lock that much; `DeviceLost`; the driver's for memory that is registered already, and for a small
    /// vector that shares a page with registered memory. The vector is dropped then.
    ///
    /// ```no_run
    /// use gpu_driver::{Device, DeviceVec, PinnedVec};
    /// let device = Device::first()?;
    /// let mut x = DeviceVec::<f32>::zeros(&device.stream(), 1000)?;
    /// let host = PinnedVec::register(&device, vec![1.0; 1000])?;
    /// let host: Vec<f32> = x.upload(host)?.wait()?.into_vec()?;
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias("register_host_memory", "cuMemHostRegister"))]
    #[track_caller]
    pub fn register(device: &Device, host: Vec<T>) -> Result<Self> {
        let bytes = size_of_val(host.as_slice());
        if bytes == 0 {
            return Self::zeros(device, host.len());
        }
        let current = device.enter()?;
        let mut host = host;
        let data = NonNull::new(host.as_mut_ptr()).unwrap_or(NonNull::dangling()); // a vector's pointer is never null
        // SAFETY: the vector has that many bytes, which stay until they are no longer registered.
        unsafe { lock_pages(device, data.cast(), bytes, &current)? };
        let host = std::mem::ManuallyDrop::new(host);
        let (len, origin) = (host.len(), MemorySource::Registered { capacity: host.capacity() });
        record(device, data, bytes);
        Ok(Self { data, len, device: device.clone(), origin })
    }

    /// The elements as a vector: of a registered buffer the vector that it came from, of another one a copy.
    ///
    /// # Errors
    /// `DeviceLost`, and the driver's error; a registered vector is leaked where the driver does not let go of its memory.
    pub fn into_vec(mut self) -> Result<Vec<T>> {
        let MemorySource::Registered { capacity } = self.origin else { return Ok(self.to_vec()) };
        let current = self.device.enter()?;
        self.device.0.trace.forget(self.data.as_ptr() as u64);
        // SAFETY: registered before.
        unsafe { unlock_pages(&self.device, self.data.cast(), &current)? };
        self.origin = MemorySource::Kept;
        let (data, len) = (std::mem::replace(&mut self.data, NonNull::dangling()), std::mem::take(&mut self.len));
        // SAFETY: the parts of the vector that the buffer was made from; it is empty now.
        Ok(unsafe { Vec::from_raw_parts(data.as_ptr(), len, capacity) })
    }

    /// The address at which kernels read and write the buffer in place, over the bus; 0 when it is empty. It is an argument of
    /// [`crate::Function::launch`], whose caller keeps the buffer, and leaves its elements alone, until the kernel has run.
    ///
    /// # Errors
    /// `DeviceLost`, and the driver's error.
    ///
    /// ```no_run
    /// # use gpu_driver::{Device, LaunchConfig, PinnedVec};
    /// # let device = Device::first()?;
    /// # let double_all = device.compile("extern \"C\" __global__ void double_all(float *x) { x[threadIdx.x] *= 2; }")?.function("double_all")?;
    /// let (stream, x) = (device.stream(), PinnedVec::from_slice(&device, &[1.0f32, 2.0])?);
    /// // SAFETY: two threads change the two elements, and the wait comes before all other uses of them.
    /// unsafe { double_all.launch(LaunchConfig::new(1, 2), (x.device_address()?,), &stream)? };
    /// stream.synchronize()?;
    /// assert_eq!(*x, [2.0, 4.0]);
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias("DEVICEMAP", "get_device_pointer", "zero-copy"))]
    pub fn device_address(&self) -> Result<CUdeviceptr> {
        let mut address = 0;
        if self.len * size_of::<T>() > 0 {
            let _current = self.device.enter()?;
            // SAFETY: the pointer is valid for the call; the memory is pinned and alive.
            let code = unsafe { sys::cuMemHostGetDevicePointer_v2(&mut address, self.data.as_ptr().cast(), 0) };
            self.device.check("cuMemHostGetDevicePointer", code)?;
        }
        Ok(address)
    }

    /// The buffer over page-locked memory of the driver's, which it owns.
    ///
    /// # Safety
    /// There are `len` initialised elements, which nobody else uses or frees.
    #[cfg(feature = "cust")]
    pub(crate) unsafe fn of_raw(device: &Device, data: *mut T, len: usize) -> Self {
        // Memory of empty buffers is never freed.
        let data = NonNull::new(data).unwrap_or(NonNull::dangling());
        Self { data, len, device: device.clone(), origin: MemorySource::Own }
    }

    /// The memory, which the caller frees by cuMemFreeHost. It does not keep its device, which therefore stays open.
    #[cfg(feature = "cust")]
    pub(crate) fn into_raw(mut self, op: &'static str) -> Result<*mut T> {
        let source = match self.origin {
            MemorySource::Registered { .. } => Some("a registered vector"),
            MemorySource::Aligned(_) => Some("a registered buffer"),
            MemorySource::Pool { .. } => Some("memory of a pool"),
            MemorySource::Kept | MemorySource::Own => None,
        };
        if let Some(got) = source {
            let (expected, got) = ("memory that the buffer owns alone".to_owned(), got.to_owned());
            return Err(DriverError::Length { op, expected, got });
        }
        self.device.0.trace.forget(self.data.as_ptr() as u64);
        // The drop of an empty buffer frees nothing.
        self.len = 0;
        self.device.keep_open();
        Ok(self.data.as_ptr())
    }

    /// A buffer with a copy of `source`.
    ///
    /// # Errors
    /// As [`PinnedVec::zeros`].
    #[track_caller]
    pub fn from_slice(device: &Device, source: &[T]) -> Result<Self> {
        let mut buffer = Self::zeros(device, source.len())?;
        buffer.copy_from_slice(source);
        Ok(buffer)
    }
}

impl<T: DevicePod> Deref for PinnedVec<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `len` elements that were initialised; dangling only when there are none.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), self.len) }
    }
}

impl<T: DevicePod> DerefMut for PinnedVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr(), self.len) }
    }
}

impl<T: DevicePod> Drop for PinnedVec<T> {
    fn drop(&mut self) {
        let bytes = self.len * size_of::<T>();
        if bytes == 0 {
            return;
        }
        let data = self.data.as_ptr();
        self.device.0.trace.forget(data as u64);
        match &mut self.origin {
            MemorySource::Pool { pool, class_bytes } => pool.give_back(*class_bytes, self.data.cast()),
            MemorySource::Kept if self.device.0.keeps_pinned(bytes, self.data.cast()) => {}
            MemorySource::Kept | MemorySource::Own => {
                // SAFETY: the driver's memory, freed once; a copy that uses it is kept by `Pending`.
                let free = || unsafe { sys::cuMemFreeHost(data.cast()) };
                self.device.0.in_drop("pinned memory", "cuMemFreeHost", free);
            }
            &mut MemorySource::Registered { capacity } => {
                if unlocks(&self.device, data.cast()) {
                    // SAFETY: the parts of the vector that the buffer was made from.
                    drop(unsafe { Vec::from_raw_parts(data, self.len, capacity) });
                }
            }
            MemorySource::Aligned(memory) => {
                let memory = memory.take();
                if !unlocks(&self.device, data.cast()) {
                    std::mem::forget(memory);
                }
            }
        }
    }
}

/// Whether the driver lets go of registered memory, in a drop. Memory that it holds on to is leaked: its pages must not serve anything else.
fn unlocks(device: &Device, data: *mut u8) -> bool {
    let mut code = -1;
    device.0.in_drop("registered memory", "cuMemHostUnregister", || {
        // SAFETY: registered by `lock_pages`; a copy that uses it is kept by `Pending`.
        code = unsafe { sys::cuMemHostUnregister(data.cast()) };
        code
    });
    code == 0
}

/// Pins memory where it lies.
///
/// # Safety
/// There are so many bytes, which stay until they are no longer registered.
unsafe fn lock_pages(device: &Device, data: NonNull<u8>, bytes: usize, _current: &Current) -> Result<()> {
    // SAFETY: as the caller promises.
    let code = unsafe { sys::cuMemHostRegister_v2(data.as_ptr().cast(), bytes, PORTABLE | MAPPED) };
    device.check("cuMemHostRegister", code).map_err(|error| as_out_of_pinned(error, bytes))
}

/// Ends the work of [`lock_pages`].
///
/// # Safety
/// The memory is registered, and no copy uses it.
unsafe fn unlock_pages(device: &Device, data: NonNull<u8>, _current: &Current) -> Result<()> {
    // SAFETY: as the caller promises.
    device.check("cuMemHostUnregister", unsafe { sys::cuMemHostUnregister(data.as_ptr().cast()) })
}

/// Records the place of an allocation.
#[track_caller]
fn record<T>(device: &Device, data: NonNull<T>, bytes: usize) {
    device.0.trace.record(data.as_ptr() as u64, "PinnedVec", bytes, Location::caller());
}

/// Memory from the driver, whose context is current.
fn allocate(device: &Device, bytes: usize) -> Result<NonNull<u8>> {
    // Small buffers have one size, so that they serve each other; but for the emulated device, which knows where each ends.
    let capacity = if bytes < Kept::LARGEST && !device.is_emulated() { Kept::LARGEST } else { bytes };
    allocate_with(device, bytes, capacity, 0)
}

fn allocate_with(device: &Device, bytes: usize, capacity: usize, flags: u32) -> Result<NonNull<u8>> {
    let mut raw = null_mut();
    // SAFETY: the pointer is valid for the call; freed when a `PinnedVec` or the context is dropped.
    let outcome = device.check("cuMemHostAlloc", unsafe { sys::cuMemHostAlloc(&mut raw, capacity, flags) });
    outcome.map_err(|error| as_out_of_pinned(error, bytes))?;
    NonNull::new(raw.cast()).ok_or(DriverError::OutOfPinnedMemory { requested_bytes: bytes })
}

fn as_out_of_pinned(error: DriverError, bytes: usize) -> DriverError {
    match error {
        DriverError::Cuda { code: CudaCode::OUT_OF_MEMORY, .. } => {
            DriverError::OutOfPinnedMemory { requested_bytes: bytes }
        }
        other => other,
    }
}

impl<T: DevicePod> fmt::Debug for PinnedVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedVec<{}>(len {})", T::CUDA_NAME, self.len)
    }
}

/// A value that device work still uses; [`Pending::wait`] gives it back. Dropping it waits too.
#[must_use = "dropping it waits for the device"]
#[derive(Debug)]
pub struct Pending<V> {
    /// None once given back.
    value: Option<V>,
    done: Event,
}

impl<V> Pending<V> {
    /// `value`, in use by the work that `stream` holds now.
    pub(crate) fn after(stream: &Stream, value: V, current: &Current) -> Result<Self> {
        match Event::untimed_on(stream, current) {
            Ok(done) => Ok(Self { value: Some(value), done }),
            Err(error) => {
                // Without an event, only the end of all work tells that the value is free.
                if stream.synchronize_entered(current).is_err() {
                    std::mem::forget(value);
                }
                Err(error)
            }
        }
    }

    /// Whether the device is done with the value.
    ///
    /// # Errors
    /// `DeviceLost`.
    pub fn is_done(&self) -> Result<bool> {
        self.done.is_done()
    }

    /// Waits for the device and gives the value back.
    ///
    /// # Errors
    /// `DeviceLost`; the value is leaked then, as the device may still write to it.
    pub fn wait(mut self) -> Result<V> {
        let outcome = self.done.synchronize_quietly();
        let value = self.value.take();
        if let Err(error) = outcome {
            std::mem::forget(value);
            return Err(error);
        }
        // Always there: only `wait`, which consumes self, and Drop take it.
        value.ok_or(DriverError::Cuda { call: "Pending::wait", code: CudaCode::NOT_READY })
    }
}

impl<V> Drop for Pending<V> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take()
            && self.done.synchronize_quietly().is_err()
        {
            std::mem::forget(value);
        }
    }
}
