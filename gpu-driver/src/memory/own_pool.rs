//! Pools of device memory that a program makes, beside the device's own.

use std::{
    ffi::c_int,
    fmt,
    panic::Location,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use gpu_driver_core::lock;

use super::{AccessDescription, DeviceVec};
use crate::{
    CudaCode, Device, DevicePod, DriverError, PoolUse, Result, Stream,
    context::create_pool,
    pod::byte_len,
    pool::{self, Allocation, PoolLimit},
    raw::{CUmemPool_attribute_enum, CUmemoryPool},
    sys,
};

/// A pool of device memory, apart from that behind every other [`DeviceVec`]: with a limit and counts of its own, and memory that nothing else uses.
///
/// Its buffers are allocated and released in the order of their home streams, as all are. Released memory is kept for later buffers of the pool, all of it
/// unless [`DevicePool::set_release_threshold`] says less. Clones are the same pool, which its buffers hold too: it goes with the last of them, and its memory
/// goes back to the driver at a wait after that.
///
/// ```no_run
/// use gpu_driver::{Device, DevicePool};
/// let device = Device::first()?;
/// let pool = DevicePool::new(&device)?;
/// pool.set_limit(1 << 30); // this part of the program has a GiB
/// for _ in 0..10 {
///     let x = pool.zeros::<f32>(&device.stream(), 1_000_000)?; // the second and later ones are the first one's memory
/// }
/// println!("{:?}", pool.usage()?);
/// pool.trim(0)?;
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
#[derive(Clone)]
#[doc(alias("DeviceMemoryPool", "cuMemPoolCreate", "cudaMemPoolCreate"))]
pub struct DevicePool(Arc<OwnPool>);

struct OwnPool {
    device: Device,
    raw: CUmemoryPool,
    limit_bytes: AtomicU64,
    limited: Mutex<()>,
}

// SAFETY: a handle that the driver accepts from any thread.
unsafe impl Send for OwnPool {}
// SAFETY: as above.
unsafe impl Sync for OwnPool {}

impl Drop for OwnPool {
    /// Keeps the pool for the next one of its context: none is destroyed while memory of it may be in use. Where pools were destroyed before their buffers,
    /// which the driver's manual allows, a process ended by a division by zero (H200, driver 580.159.04).
    fn drop(&mut self) {
        let (context, mut none) = (&*self.device.0, 0u64);
        if context.is_lost() {
            return;
        }
        // Memory goes back to the driver at the next wait.
        // SAFETY: the attribute is a 64-bit count.
        let set = || unsafe { sys::cuMemPoolSetAttribute(self.raw, THRESHOLD, (&raw mut none).cast()) };
        context.in_drop("a memory pool", "cuMemPoolSetAttribute", set);
        lock(&context.idle_pools).push(self.raw);
    }
}

const THRESHOLD: c_int = CUmemPool_attribute_enum::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD as c_int;

impl DevicePool {
    /// An empty pool without a limit, which keeps all memory that is released.
    ///
    /// # Errors
    /// `Cuda` with `NOT_SUPPORTED` on devices without pools ([`Attribute::MEMORY_POOLS_SUPPORTED`](crate::Attribute::MEMORY_POOLS_SUPPORTED)); else the
    /// driver's error.
    pub fn new(device: &Device) -> Result<Self> {
        const NOT_SUPPORTED: CudaCode = CudaCode(801);
        let _current = device.enter()?;
        if device.0.pool.is_null() {
            return Err(DriverError::Cuda { call: "cuMemPoolCreate", code: NOT_SUPPORTED });
        }
        let idle = lock(&device.0.idle_pools).pop();
        let raw = idle.map_or_else(|| create_pool(&device.0, device.0.device), Ok)?;
        let (limit_bytes, limited) = (AtomicU64::new(u64::MAX), Mutex::default());
        let pool = Self(Arc::new(OwnPool { device: device.clone(), raw, limit_bytes, limited }));
        pool.set_release_threshold(u64::MAX)?;
        pool.reset_peaks()?;
        Ok(pool)
    }

    /// The device whose memory it is.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// A buffer of the pool whose elements are whatever the memory held.
    ///
    /// # Errors
    /// `OverLimit` where the pool's limit does not allow it; `InCapture`, as the memory of graphs is of no pool; `WrongDevice` for a stream of another
    /// device; else those of [`DeviceVec::uninitialized`].
    ///
    /// # Safety
    /// As for [`DeviceVec::uninitialized`]: the caller writes every element before it is read.
    #[track_caller]
    pub unsafe fn uninitialized<T: DevicePod>(&self, home: &Stream, len: usize) -> Result<DeviceVec<T>> {
        const OP: &str = "DevicePool::uninitialized";
        let (device, bytes) = (&self.0.device, byte_len::<T>(len)?);
        if home.device() != device {
            let (expected, got) = (device.ordinal(), home.device().ordinal());
            return Err(DriverError::WrongDevice { op: OP, expected, got });
        }
        // SAFETY: it has no elements; the length follows when there is memory for them.
        let mut buffer = unsafe { DeviceVec::uninitialized(home, 0)? };
        if bytes > 0 {
            home.not_captured(OP, &device.enter()?)?;
            buffer.memory = self.allocate(home, bytes)?;
            buffer.pool = Some(self.clone());
            device.0.trace.record(buffer.memory.address, "DeviceVec", bytes, Location::caller());
        }
        buffer.len = len;
        Ok(buffer)
    }

    /// A buffer of zero bytes of the pool.
    ///
    /// # Errors
    /// Those of [`DevicePool::uninitialized`].
    #[track_caller]
    pub fn zeros<T: DevicePod>(&self, home: &Stream, len: usize) -> Result<DeviceVec<T>> {
        // SAFETY: every byte is written next.
        let mut buffer = unsafe { self.uninitialized(home, len)? };
        buffer.set_zero()?;
        Ok(buffer)
    }

    /// A buffer of the pool with a copy of `host`. Returns when `host` has been read.
    ///
    /// # Errors
    /// Those of [`DevicePool::uninitialized`].
    #[track_caller]
    pub fn from_slice<T: DevicePod>(&self, home: &Stream, host: &[T]) -> Result<DeviceVec<T>> {
        // SAFETY: every element is written next.
        let mut buffer = unsafe { self.uninitialized(home, host.len())? };
        buffer.copy_from_slice(host)?;
        Ok(buffer)
    }

    /// Allocates in the order of a stream that is in no capture. Where the pool is full, or the device, it waits, and gives back unused memory of the pool
    /// first.
    fn allocate(&self, home: &Stream, bytes: usize) -> Result<Allocation> {
        let OwnPool { device, raw, limit_bytes, limited } = &*self.0;
        let limit = PoolLimit { pool: *raw, bytes: limit_bytes, alone: limited };
        let attempt = || {
            let current = device.enter()?;
            let _alone = limit.allows(device, bytes, &current)?;
            pool::allocate_of(*raw, home, bytes, &current).map(Allocation::of_owner)
        };
        pool::with_room(device, bytes, || match attempt() {
            Err(DriverError::OverLimit { .. }) if !device.0.captures_here() => {
                // Buffers count until their release has run.
                device.synchronize()?;
                attempt()
            }
            Err(DriverError::Cuda { code: CudaCode::OUT_OF_MEMORY, .. }) if !device.0.captures_here() => {
                self.trim(0)?;
                attempt()
            }
            other => other,
        })
    }

    /// Limits the bytes of all buffers of the pool, as [`Device::set_pool_limit`] does those of the device's own; `u64::MAX` takes the limit away.
    pub fn set_limit(&self, bytes: u64) {
        self.0.limit_bytes.store(bytes, Ordering::Relaxed);
    }

    /// The memory that the pool holds now.
    ///
    /// # Errors
    /// The driver's error.
    pub fn usage(&self) -> Result<PoolUse> {
        pool::use_of(&self.0.device, self.0.raw)
    }

    /// Lets the peaks of [`DevicePool::usage`] begin again at the present values.
    ///
    /// # Errors
    /// The driver's error.
    pub fn reset_peaks(&self) -> Result<()> {
        pool::reset_peaks_of(&self.0.device, self.0.raw)
    }

    /// Sets the bytes that the pool keeps when buffers are released: memory beyond them goes back to the driver at the next wait for a stream, an event
    /// or the device. `u64::MAX`, as at first, keeps all.
    ///
    /// # Errors
    /// The driver's error.
    #[doc(alias("CU_MEMPOOL_ATTR_RELEASE_THRESHOLD", "stop_holding"))]
    pub fn set_release_threshold(&self, bytes: u64) -> Result<()> {
        let (device, mut bytes) = (&self.0.device, bytes);
        let _current = device.enter()?;
        // SAFETY: the attribute is a 64-bit count.
        let code = unsafe { sys::cuMemPoolSetAttribute(self.0.raw, THRESHOLD, (&raw mut bytes).cast()) };
        device.check("cuMemPoolSetAttribute", code)
    }

    /// The bytes that the pool keeps when buffers are released.
    ///
    /// # Errors
    /// The driver's error.
    pub fn release_threshold(&self) -> Result<u64> {
        let (device, mut bytes) = (&self.0.device, 0u64);
        let _current = device.enter()?;
        // SAFETY: the attribute is a 64-bit count.
        let code = unsafe { sys::cuMemPoolGetAttribute(self.0.raw, THRESHOLD, (&raw mut bytes).cast()) };
        device.check("cuMemPoolGetAttribute", code)?;
        Ok(bytes)
    }

    /// Gives memory that no buffer uses back to the driver, down to `keep_bytes`, after waiting for the device.
    ///
    /// # Errors
    /// `InCapture` within a capture of this thread; `DeviceLost`; else the driver's error.
    #[doc(alias("free_held", "cuMemPoolTrimTo"))]
    pub fn trim(&self, keep_bytes: usize) -> Result<()> {
        self.0.device.synchronize()?;
        pool::trim_now(&self.0.device, self.0.raw, keep_bytes)
    }

    /// Lets kernels of another device read and write the pool's memory in place, which [`Device::enable_peer_access`] does for the device's own pool alone.
    ///
    /// # Errors
    /// Those of [`Device::enable_peer_access`].
    #[doc(alias = "cuMemPoolSetAccess")]
    pub fn enable_peer_access(&self, device: &Device) -> Result<()> {
        if device == &self.0.device {
            return Ok(());
        }
        device.enable_peer_access(&self.0.device)?;
        let access = AccessDescription::read_write(device.0.device);
        let _current = self.0.device.enter()?;
        // SAFETY: the pool is alive, and the description is valid for the call.
        let code = unsafe { sys::cuMemPoolSetAccess(self.0.raw, (&raw const access).cast(), 1) };
        self.0.device.check("cuMemPoolSetAccess", code)
    }
}

impl fmt::Debug for DevicePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DevicePool(device {})", self.0.device.ordinal())
    }
}
