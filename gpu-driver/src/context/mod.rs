//! Contexts: made, made current, lost and released, with all that calls of one device share.
//!
//! The lowest layer above the table of driver functions. A context owns raw handles and plain data for the parts above it: streams, captures, pool,
//! scratch memory and kernels each have their data and its release here, and their calls in a module of their own, which this one does not know.

use std::{
    ffi::c_int,
    ptr::{NonNull, null_mut},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering},
    },
};

use crate::raw::{
    CUcontext, CUdevice, CUmemAllocationHandleType, CUmemAllocationType_enum, CUmemLocation_st, CUmemLocationType_enum,
    CUmemPool_attribute_enum, CUmemPoolProps, CUmemoryPool, CUstream,
};
use gpu_driver_core::{fork, lock};
use gpu_driver_emulated::Control;

use crate::{CudaCode, CudaVersion, DriverError, Result, nvrtc::Arch, sys};

mod captures;
mod current;
mod facts;
mod kept;
mod kernels;
mod release;
mod scratch;
mod streams;
mod trace;

pub(crate) use captures::{Captures, Resource, Resources, Shared};
pub(crate) use current::{Current, plain};
pub(crate) use facts::{attribute_of, attribute_value, device_of, driver_version, name_of, pci_bus_id_of, uuid_of};
pub(crate) use kept::{Kept, MOST_STAGES, STAGE_BYTES};
use kernels::KernelCache;
pub(crate) use kernels::{Loaded, SharedLimit};
use scratch::Scratches;
pub(crate) use scratch::{OfCapture, Scratch, ScratchKind, ScratchMemory};
pub(crate) use streams::OwnedStream;
pub(crate) use trace::{Trace, Traced};

/// The oldest driver that can also capture a launch that overlaps with the work before it.
const OVERLAPS_IN_CAPTURES: CudaVersion = CudaVersion { major: 12, minor: 3 };

/// The attributes that launches ask for each time, so they are read once: the number of multiprocessors, and the most dynamic shared memory
/// of a block (`CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN`).
pub(crate) const OF_LAUNCHES: [i32; 2] = [16, 97];

/// A retained primary context, its main stream and pool, and its caches.
pub(crate) struct Context {
    pub(crate) ordinal: usize,
    pub(crate) device: CUdevice,
    pub(crate) raw: CUcontext,
    /// Whether it is a context of its own ([`crate::emulated::Emulated`]), not the device's primary one.
    own: bool,
    /// The stream that [`Device::stream`](crate::Device::stream) returns; destroyed with the context.
    pub(crate) main_stream: CUstream,
    /// Null where the device has no stream-ordered allocation.
    pub(crate) pool: CUmemoryPool,
    /// Pools that programs made and dropped, for the next ones that they make.
    pub(crate) idle_pools: Mutex<Vec<CUmemoryPool>>,
    /// All memory of the device, used or not.
    pub(crate) memory_bytes: usize,
    pub(crate) name: String,
    pub(crate) arch: Arch,
    /// The attributes of [`OF_LAUNCHES`], in their order.
    pub(crate) of_launches: [u32; OF_LAUNCHES.len()],
    /// Whether a kernel that waits for its stream itself may start before earlier work has ended.
    pub(crate) overlaps: bool,
    pub(crate) kernels: KernelCache,
    pub(crate) pinned: Kept,
    /// Pinned buffers of copies to and from pageable memory.
    pub(crate) stages: Kept,
    pub(crate) scratches: Scratches,
    pub(crate) captures: Captures,
    /// The streams of [`Stream::new`](crate::Stream::new) that are alive.
    pub(crate) streams: Mutex<Vec<Weak<OwnedStream>>>,
    pub(crate) trace: Trace,
    /// The most bytes of buffers ([`Device::set_pool_limit`](crate::Device::set_pool_limit)); the largest number for no limit.
    pub(crate) pool_limit: AtomicU64,
    /// Held from the comparison with the limit to the allocation.
    pub(crate) limited: Mutex<()>,
    /// A fatal code, once seen; 0 before.
    pub(crate) lost: AtomicI32,
    /// Errors of Drops that wait to be reported.
    dropped_errors: Mutex<Vec<DriverError>>,
    has_dropped_errors: AtomicBool,
}

// SAFETY: the driver's handles may be used from any thread; the rest is Sync by itself.
unsafe impl Send for Context {}

// SAFETY: as above.
unsafe impl Sync for Context {}

fn arch_of_device(device: CUdevice) -> Result<Arch> {
    let (major, minor) = (attribute_of(device, 75)?, attribute_of(device, 76)?);
    Ok(if sys::loader::is_emulated() { Arch::emulated(major, minor) } else { Arch::new(major, minor) })
}

impl Context {
    pub(crate) fn retain(ordinal: usize) -> Result<Self> {
        let device = device_of(ordinal)?;
        let mut raw = null_mut();
        // SAFETY: the pointer is valid for the call; released in Drop.
        plain("cuDevicePrimaryCtxRetain", unsafe { sys::cuDevicePrimaryCtxRetain(&mut raw, device) })?;
        Self::around(ordinal, device, raw, false)
    }

    /// A context of its own, destroyed when the last handle goes.
    pub(crate) fn adopt(ordinal: usize, raw: CUcontext) -> Result<Self> {
        Self::around(ordinal, device_of(ordinal)?, raw, true)
    }

    fn around(ordinal: usize, device: CUdevice, raw: CUcontext, own: bool) -> Result<Self> {
        let number = device;
        // From here on Drop releases the parts that were made.
        let mut context = Self {
            ordinal,
            device,
            raw,
            own,
            main_stream: null_mut(),
            pool: null_mut(),
            idle_pools: Mutex::default(),
            memory_bytes: 0,
            name: String::new(),
            arch: Arch::new(0, 0),
            of_launches: [0; OF_LAUNCHES.len()],
            overlaps: false,
            kernels: KernelCache::default(),
            pinned: Kept::small(),
            stages: Kept::new(STAGE_BYTES, MOST_STAGES),
            scratches: Scratches::default(),
            captures: Captures::default(),
            streams: Mutex::default(),
            trace: Trace::default(),
            pool_limit: AtomicU64::new(u64::MAX),
            limited: Mutex::default(),
            lost: AtomicI32::new(0),
            dropped_errors: Mutex::default(),
            has_dropped_errors: AtomicBool::new(false),
        };
        let _current = context.enter()?;
        context.name = name_of(device)?;
        context.arch = arch_of_device(device)?;
        for (value, attribute) in context.of_launches.iter_mut().zip(OF_LAUNCHES) {
            *value = attribute_of(device, attribute)?;
        }
        context.overlaps = context.arch.number() >= 90 && driver_version()? >= OVERLAPS_IN_CAPTURES;
        // SAFETY: the pointer is valid for the call.
        plain("cuDeviceTotalMem", unsafe { sys::cuDeviceTotalMem_v2(&mut context.memory_bytes, device) })?;
        const NON_BLOCKING: u32 = 1;
        // SAFETY: the pointer is valid for the call; destroyed in Drop.
        let code = unsafe { sys::cuStreamCreate(&mut context.main_stream, NON_BLOCKING) };
        context.check("cuStreamCreate", code)?;
        const MEMORY_POOLS_SUPPORTED: i32 = 115;
        if attribute_of(device, MEMORY_POOLS_SUPPORTED)? != 0 {
            context.pool = create_pool(&context, number)?;
        }
        Ok(context)
    }

    /// The architecture of a device that need not have a context.
    pub(crate) fn arch_of(ordinal: usize) -> Result<Arch> {
        arch_of_device(device_of(ordinal)?)
    }

    pub(crate) fn is_emulated(&self) -> bool {
        sys::loader::is_emulated()
    }

    pub(crate) fn raw(&self) -> CUcontext {
        self.raw
    }

    /// Whether nothing can be asked of the driver any more. True in the child of a fork.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed) != 0 || fork::is_child()
    }

    /// Registers a new stream, for waits while another thread captures.
    pub(crate) fn register(&self, stream: &Arc<OwnedStream>) {
        let mut streams = lock(&self.streams);
        if streams.len() == streams.capacity() {
            streams.retain(|stream| stream.strong_count() > 0);
        }
        streams.push(Arc::downgrade(stream));
    }

    /// The error of a lost device.
    fn lost_error(&self, code: CudaCode) -> DriverError {
        let known = if self.is_emulated() { Control::of(self.raw.cast()).loss() } else { None };
        let (kernel, report) = known.map_or((None, None), |loss| (loss.kernel, Some(loss.report)));
        DriverError::DeviceLost { code, kernel, report }
    }

    /// Makes the context current until the guard goes, unless an error of a Drop waits: then that is the result.
    pub(crate) fn enter(&self) -> Result<Current> {
        let current = self.enter_quietly()?;
        if self.has_dropped_errors.load(Ordering::Relaxed) {
            let mut errors = lock(&self.dropped_errors);
            let first = (!errors.is_empty()).then(|| errors.remove(0));
            self.has_dropped_errors.store(!errors.is_empty(), Ordering::Relaxed);
            if let Some(error) = first {
                return Err(error);
            }
        }
        Ok(current)
    }

    /// [`Context::enter`] without the report of failures in a Drop, for waits that must not be skipped.
    pub(crate) fn enter_quietly(&self) -> Result<Current> {
        not_forked()?;
        let lost = self.lost.load(Ordering::Relaxed);
        if lost != 0 {
            return Err(self.lost_error(CudaCode(lost)));
        }
        Current::of(self.raw)
    }

    /// Whether a buffer of a copy is kept for the next one.
    pub(crate) fn keeps_stage(&self, buffer: NonNull<u8>) -> bool {
        !self.is_lost() && self.stages.keep(STAGE_BYTES, buffer)
    }

    /// Whether a pinned buffer of `bytes` bytes that is dropped is kept for the next one. Not on the emulated device, which finds
    /// who still uses it.
    pub(crate) fn keeps_pinned(&self, bytes: usize, buffer: NonNull<u8>) -> bool {
        !self.is_emulated() && !self.is_lost() && self.pinned.keep(bytes, buffer)
    }

    /// Runs `release` with the context current and keeps its failure for the next call. On a lost device, and in the child of a fork, nothing is done:
    /// the driver refuses every call, and the process's end frees all.
    pub(crate) fn in_drop(&self, object: &'static str, call: &'static str, release: impl FnOnce() -> c_int) {
        if self.is_lost() {
            return;
        }
        if let Err(error) = Current::of(self.raw).and_then(|_current| self.check(call, release())) {
            self.report_later(object, error);
        }
    }

    /// Keeps a failure in a Drop for the next call; nothing on a lost device, whose every call reports the loss.
    pub(crate) fn report_later(&self, object: &'static str, error: DriverError) {
        if !matches!(error, DriverError::DeviceLost { .. }) && !fork::is_child() {
            let mut errors = lock(&self.dropped_errors);
            errors.push(DriverError::InDrop { object, source: Box::new(error) });
            self.has_dropped_errors.store(true, Ordering::Relaxed);
        }
    }

    /// The code as a result; a fatal one marks the device as lost.
    pub(crate) fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let code = CudaCode(code);
        if code.is_fatal() {
            self.lost.store(code.0, Ordering::Relaxed);
            return Err(self.lost_error(code));
        }
        Err(DriverError::Cuda { call, code })
    }
}

/// The error of the child of a fork. For calls that take a lock before they enter the device: a thread of the parent may have held it.
pub(crate) fn not_forked() -> Result<()> {
    if fork::is_child() { Err(DriverError::Forked) } else { Ok(()) }
}

impl Drop for Context {
    fn drop(&mut self) {
        if fork::is_child() {
            // All of it is the parent's.
            return;
        }
        self.scratches.main.release(self, self.main_stream);
        // Waits for work that still runs, so that nothing is freed under a kernel.
        // SAFETY: no arguments.
        self.in_drop("a device", "cuCtxSynchronize", || unsafe { sys::cuCtxSynchronize() });
        let modules = self.kernels.take_modules().into_iter().map(Resource::Module);
        for resource in modules.chain(self.captures.take_all()) {
            // SAFETY: whatever could use it held this context, so nothing is left, and nothing runs any more.
            unsafe { self.destroy(resource) };
        }
        for buffer in self.pinned.empty().into_iter().chain(self.stages.empty()) {
            // SAFETY: nobody has the buffer, and nothing runs any more.
            self.in_drop("pinned memory", "cuMemFreeHost", || unsafe { sys::cuMemFreeHost(buffer.as_ptr().cast()) });
        }
        let pools = std::mem::take(&mut *lock(&self.idle_pools)).into_iter().chain([self.pool]);
        for pool in pools.filter(|pool| !pool.is_null()) {
            // SAFETY: every buffer held this context, so none is left.
            self.in_drop("a memory pool", "cuMemPoolDestroy", || unsafe { sys::cuMemPoolDestroy(pool) });
        }
        if !self.main_stream.is_null() {
            // SAFETY: every user of the stream held this context, so none is left.
            self.in_drop("a stream", "cuStreamDestroy", || unsafe { sys::cuStreamDestroy_v2(self.main_stream) });
        }
        let mut current = null_mut();
        // SAFETY: the pointer is valid for the call; null is always allowed.
        unsafe {
            if sys::cuCtxGetCurrent(&mut current) == 0 && current == self.raw {
                sys::cuCtxSetCurrent(null_mut());
            }
        }
        let lost = self.lost.load(Ordering::Relaxed) != 0;
        if self.is_emulated() && (self.own || lost) {
            // SAFETY: everything that was made in the context held it, so nothing is left.
            unsafe { Control::of(self.raw.cast()).close() };
        } else if !lost {
            // SAFETY: retained once in `retain`.
            let _unreportable = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
        }
    }
}

/// A pool of our own that keeps released memory: other libraries' settings of the default pool stay theirs.
pub(crate) fn create_pool(context: &Context, ordinal: c_int) -> Result<CUmemoryPool> {
    let props = CUmemPoolProps {
        allocType: CUmemAllocationType_enum::CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location: CUmemLocation_st { type_: CUmemLocationType_enum::CU_MEM_LOCATION_TYPE_DEVICE, id: ordinal },
        win32SecurityAttributes: null_mut(),
        reserved: [0; 64],
    };
    let mut pool = null_mut();
    // SAFETY: both pointers are valid for the call; destroyed in the context's Drop.
    context.check("cuMemPoolCreate", unsafe { sys::cuMemPoolCreate(&mut pool, &props) })?;
    let mut keep_all = u64::MAX;
    let attribute = CUmemPool_attribute_enum::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD as c_int;
    // SAFETY: the attribute is a 64-bit count.
    let code = unsafe { sys::cuMemPoolSetAttribute(pool, attribute, (&raw mut keep_all).cast()) };
    context.check("cuMemPoolSetAttribute", code).inspect_err(|_| {
        // SAFETY: created above, with nothing allocated from it.
        context.in_drop("a memory pool", "cuMemPoolDestroy", || unsafe { sys::cuMemPoolDestroy(pool) });
    })?;
    Ok(pool)
}
