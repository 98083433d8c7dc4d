//! Devices and their primary contexts.

use std::{
    ffi::c_int,
    fmt,
    marker::PhantomData,
    ptr::{NonNull, null_mut},
    sync::{
        Arc, Mutex, Once, Weak,
        atomic::{AtomicBool, AtomicI32, Ordering},
    },
};

use cust::sys::{CUcontext, CUdevice, CUmemoryPool, CUmodule, CUstream};
use gpu_driver_core::lock;
use gpu_driver_emulated::{self as emulated, Control};

use crate::{
    CudaCode, CudaVersion, DriverError, Event, Result, Stream,
    capture::{Captures, Resource},
    loaded::KernelCache,
    nvrtc::{self, Arch},
    pinned::Kept,
    pool,
    scratch::Scratches,
    stream, sys,
};

/// The oldest driver this library works with: CUDA 12.0 (driver 525).
pub const OLDEST_DRIVER: CudaVersion = CudaVersion { major: 12, minor: 0 };
/// The oldest driver that can also capture a launch that overlaps with the work before it.
const OVERLAPS_IN_CAPTURES: CudaVersion = CudaVersion { major: 12, minor: 3 };

/// A GPU, with its primary context held alive.
///
/// Cheap to clone, and Send and Sync: every call of this library makes the context current on the thread that calls, so
/// any thread may use any device. The context is released when the last handle (device, stream, buffer, kernel, …) goes.
///
/// ```no_run
/// let device = gpu_driver::Device::first()?;
/// println!("{device}");
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
#[derive(Clone)]
pub struct Device(pub(crate) Arc<Context>);

/// A retained primary context, its main stream and pool, and its caches.
pub(crate) struct Context {
    ordinal: usize,
    device: CUdevice,
    raw: CUcontext,
    /// Whether it is a context of its own ([`crate::emulated::Emulated`]), not the device's primary one.
    own: bool,
    /// The stream that [`Device::stream`] returns; destroyed with the context.
    pub(crate) main_stream: CUstream,
    /// Null where the device has no stream-ordered allocation.
    pub(crate) pool: CUmemoryPool,
    /// All memory of the device, used or not.
    pub(crate) memory_bytes: usize,
    name: String,
    arch: Arch,
    /// Whether a kernel that waits for its stream itself may start before earlier work has ended.
    pub(crate) overlaps: bool,
    pub(crate) kernels: KernelCache,
    pub(crate) pinned: Kept,
    pub(crate) scratches: Scratches,
    pub(crate) captures: Captures,
    /// The streams of [`Stream::new`] that are alive.
    streams: Mutex<Vec<Weak<stream::Owned>>>,
    /// A fatal code, once seen; 0 before.
    lost: AtomicI32,
    /// Errors of Drops that wait to be reported.
    dropped_errors: Mutex<Vec<DriverError>>,
    has_dropped_errors: AtomicBool,
}

// SAFETY: the driver's handles may be used from any thread; the rest is Sync by itself.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// One context per device and process, shared while anything uses it.
static CONTEXTS: Mutex<Vec<(usize, Weak<Context>)>> = Mutex::new(Vec::new());

impl Device {
    /// The first device of the process: CUDA's device 0 (`CUDA_VISIBLE_DEVICES` decides which card that is).
    ///
    /// # Errors
    /// `NoDriver`, `DriverTooOld`, `NoDevice`: their texts give the cause and the remedy.
    pub fn first() -> Result<Self> {
        Self::new(0)
    }

    /// A device to test on: the first CUDA device with NVRTC; where there is no device, the emulated one
    /// ([`crate::emulated`]) with a C++ compiler. `GPU_DEVICE` overrides the choice.
    ///
    /// The driver is chosen at a process's first call, so a test program calls this before anything else of the library.
    /// On the emulated device the first call prints the seed of its random orders, to repeat a failing run.
    ///
    /// # Errors
    /// Those of [`Device::first`]; `NoNvrtc` or `NoCompiler` when there is a device and nothing to compile kernels with.
    pub fn for_tests() -> Result<Self> {
        sys::loader::wish(sys::loader::Requested::StandIn);
        let device = Self::first()?;
        if device.is_emulated() {
            emulated::find_compiler()?;
            announce_seed();
        } else {
            nvrtc::version()?;
        }
        Ok(device)
    }

    /// The device of that number, from 0.
    ///
    /// # Errors
    /// Those of [`Device::first`]; `NoSuchDevice` when there are fewer.
    pub fn new(ordinal: usize) -> Result<Self> {
        let count = Self::count()?;
        if count == 0 {
            return Err(DriverError::NoDevice);
        }
        if ordinal >= count {
            return Err(DriverError::NoSuchDevice { ordinal, count });
        }
        let mut contexts = lock(&CONTEXTS);
        contexts.retain(|(_, context)| context.strong_count() > 0);
        let mut of_ordinal =
            contexts.iter().filter(|(n, _)| *n == ordinal).filter_map(|(_, context)| context.upgrade());
        // A lost CUDA device stays lost for the process; an emulated one can be had anew.
        let usable = |context: &Arc<Context>| !context.is_emulated() || context.lost.load(Ordering::Relaxed) == 0;
        if let Some(context) = of_ordinal.find(usable) {
            return Ok(Self(context));
        }
        let context = Arc::new(Context::retain(ordinal)?);
        contexts.push((ordinal, Arc::downgrade(&context)));
        Ok(Self(context))
    }

    /// How many devices the driver shows.
    ///
    /// # Errors
    /// `NoDriver`, `DriverTooOld`, or the error of cuInit. A driver without a device counts 0.
    pub fn count() -> Result<usize> {
        match initialise() {
            Err(DriverError::NoDevice) => return Ok(0),
            other => other?,
        }
        let mut count = 0;
        // SAFETY: the pointer is valid for the call.
        plain("cuDeviceGetCount", unsafe { sys::cuDeviceGetCount(&mut count) })?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// The CUDA version that the driver supports.
    ///
    /// # Errors
    /// `NoDriver` when there is none.
    pub fn driver_version() -> Result<CudaVersion> {
        sys::loader::state()?;
        let mut version = 0;
        // SAFETY: the pointer is valid for the call.
        plain("cuDriverGetVersion", unsafe { sys::cuDriverGetVersion(&mut version) })?;
        let version = u32::try_from(version).unwrap_or(0);
        Ok(CudaVersion { major: version / 1000, minor: version % 1000 / 10 })
    }

    /// Number of this device, from 0.
    pub fn ordinal(&self) -> usize {
        self.0.ordinal
    }

    /// Its product name, such as `NVIDIA H200`.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The architecture that kernels are compiled for.
    pub fn arch(&self) -> Arch {
        self.0.arch
    }

    /// Whether it is the emulated device ([`crate::emulated`]).
    pub fn is_emulated(&self) -> bool {
        self.0.is_emulated()
    }

    /// Number of streaming multiprocessors.
    ///
    /// # Errors
    /// The driver's error.
    pub fn multiprocessors(&self) -> Result<u32> {
        self.attribute(16)
    }

    /// A device attribute by its `CUdevice_attribute` number (all are non-negative in practice; a negative one reads 0).
    ///
    /// # Errors
    /// `Cuda` with `INVALID_VALUE` for a number that the driver does not know.
    pub fn attribute(&self, attribute: i32) -> Result<u32> {
        attribute_of(self.0.device, attribute)
    }

    /// Free and total device memory in bytes, as the driver counts it (other processes included).
    ///
    /// # Errors
    /// The driver's error.
    pub fn memory(&self) -> Result<(usize, usize)> {
        let _current = self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the pointers are valid for the call.
        self.check("cuMemGetInfo", unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) })?;
        Ok((free, total))
    }

    /// The device's main stream: work that is enqueued there runs in order. Every array uses it unless told otherwise.
    ///
    /// It does not synchronise with the legacy default stream that other libraries may use.
    pub fn stream(&self) -> Stream {
        Stream::main(self.clone())
    }

    /// Waits until everything enqueued on any stream of this device has run.
    ///
    /// While another thread captures, streams of other libraries are not waited for, since that would end the capture; nor is a stream that is
    /// captured.
    ///
    /// # Errors
    /// `DeviceLost` when a kernel faulted since; `InCapture` within a capture of this thread.
    pub fn synchronize(&self) -> Result<()> {
        if self.0.captures_here() {
            return Err(DriverError::InCapture { op: "Device::synchronize" });
        }
        let current = self.enter()?;
        let waited = match self.0.alone() {
            // SAFETY: no arguments.
            Some(_alone) => self.check("cuCtxSynchronize", unsafe { sys::cuCtxSynchronize() }),
            None => self.synchronize_streams(&current),
        };
        self.0.release_left();
        waited
    }

    /// Waits for the main stream and those of [`Stream::new`], but for those that are captured.
    fn synchronize_streams(&self, current: &Current) -> Result<()> {
        let owned: Vec<_> = lock(&self.0.streams).iter().filter_map(Weak::upgrade).collect();
        let streams = owned.into_iter().map(|owned| Stream::of(self.clone(), owned));
        // Marks behind the work of each: a capture may begin while this thread waits for them.
        let mark = |stream: Stream| {
            let _steady = self.0.captures.steady();
            match self.0.capture_of(stream.as_raw(), current) {
                Ok(None) => Event::untimed_on(&stream, current).map(Some),
                Err(error @ DriverError::DeviceLost { .. }) => Err(error),
                _ => Ok(None),
            }
        };
        let marks = std::iter::once(self.stream()).chain(streams).map(mark).collect::<Result<Vec<_>>>()?;
        marks.into_iter().flatten().try_for_each(|mark| mark.synchronize_quietly())
    }

    /// Makes the primary context current on this thread until the guard goes, for calls to `cust` or other libraries.
    /// This library's own calls need no such guard.
    ///
    /// # Errors
    /// `DeviceLost` after a fault.
    ///
    /// ```no_run
    /// let device = gpu_driver::Device::first()?;
    /// let _current = device.make_current()?;
    /// let buffer = gpu_driver::cust::memory::DeviceBuffer::from_slice(&[1.0f32, 2.0]);
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    pub fn make_current(&self) -> Result<CurrentGuard> {
        let mut before = null_mut();
        // SAFETY: the pointer is valid for the call.
        plain("cuCtxGetCurrent", unsafe { sys::cuCtxGetCurrent(&mut before) })?;
        drop(self.enter()?);
        // SAFETY: the context is retained by the device that the guard holds.
        plain("cuCtxPushCurrent", unsafe { sys::cuCtxPushCurrent_v2(self.0.raw) })?;
        Ok(CurrentGuard { had_none: before.is_null(), _device: self.clone(), _not_send: PhantomData })
    }

    /// The primary context's handle, for use with `cust` or other libraries. It lives as long as this device.
    pub fn as_raw_context(&self) -> CUcontext {
        self.0.raw
    }

    /// Makes the context current until the guard goes, unless an error of a Drop waits: then that is the result.
    pub(crate) fn enter(&self) -> Result<Current> {
        self.0.enter()
    }

    pub(crate) fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        self.0.check(call, code)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("ordinal", &self.0.ordinal).field("name", &self.0.name).finish()
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_emulated() { "Device" } else { "CUDA device" };
        write!(f, "{kind} {}: {} ({})", self.0.ordinal, self.0.name, self.0.arch)
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Device {}

impl Context {
    fn retain(ordinal: usize) -> Result<Self> {
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
            memory_bytes: 0,
            name: String::new(),
            arch: Arch::new(0, 0),
            overlaps: false,
            kernels: KernelCache::default(),
            pinned: Kept::default(),
            scratches: Scratches::default(),
            captures: Captures::default(),
            streams: Mutex::default(),
            lost: AtomicI32::new(0),
            dropped_errors: Mutex::default(),
            has_dropped_errors: AtomicBool::new(false),
        };
        let _current = context.enter()?;
        context.name = name_of(device)?;
        let (major, minor) = (attribute_of(device, 75)?, attribute_of(device, 76)?);
        context.arch = if context.is_emulated() { Arch::emulated(major, minor) } else { Arch::new(major, minor) };
        context.overlaps = context.arch.number() >= 90 && Device::driver_version()? >= OVERLAPS_IN_CAPTURES;
        // SAFETY: the pointer is valid for the call.
        plain("cuDeviceTotalMem", unsafe { sys::cuDeviceTotalMem_v2(&mut context.memory_bytes, device) })?;
        const NON_BLOCKING: u32 = 1;
        // SAFETY: the pointer is valid for the call; destroyed in Drop.
        let code = unsafe { sys::cuStreamCreate(&mut context.main_stream, NON_BLOCKING) };
        context.check("cuStreamCreate", code)?;
        const MEMORY_POOLS_SUPPORTED: i32 = 115;
        if attribute_of(device, MEMORY_POOLS_SUPPORTED)? != 0 {
            context.pool = pool::create(&context, number)?;
        }
        Ok(context)
    }

    pub(crate) fn is_emulated(&self) -> bool {
        sys::loader::is_emulated()
    }

    pub(crate) fn raw(&self) -> CUcontext {
        self.raw
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed) != 0
    }

    /// Registers a new stream, for waits while another thread captures.
    pub(crate) fn register(&self, stream: &Arc<stream::Owned>) {
        let mut streams = lock(&self.streams);
        if streams.len() == streams.capacity() {
            streams.retain(|stream| stream.strong_count() > 0);
        }
        streams.push(Arc::downgrade(stream));
    }

    /// Unloads a module once the device is idle and no capture is under way.
    pub(crate) fn unload(&self, module: CUmodule) {
        self.release_when_idle([Resource::Module(module)]);
    }

    /// The error of a lost device.
    fn lost_error(&self, code: CudaCode) -> DriverError {
        let known = if self.is_emulated() { Control::of(self.raw.cast()).loss() } else { None };
        let (kernel, report) = known.map_or((None, None), |loss| (loss.kernel, Some(loss.report)));
        DriverError::DeviceLost { code, kernel, report }
    }

    /// See [`Device::enter`].
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
        let lost = self.lost.load(Ordering::Relaxed);
        if lost != 0 {
            return Err(self.lost_error(CudaCode(lost)));
        }
        Current::of(self.raw)
    }

    /// Whether a pinned buffer of `bytes` bytes that is dropped is kept for the next one. Not on the emulated device, which finds
    /// who still uses it.
    pub(crate) fn keeps_pinned(&self, bytes: usize, buffer: NonNull<u8>) -> bool {
        !self.is_emulated() && self.lost.load(Ordering::Relaxed) == 0 && self.pinned.keep(bytes, buffer)
    }

    /// Runs `release` with the context current and keeps its failure for the next call. On a lost device nothing is done:
    /// the driver refuses every call, and the process's end frees all.
    pub(crate) fn in_drop(&self, what: &'static str, call: &'static str, release: impl FnOnce() -> c_int) {
        if self.lost.load(Ordering::Relaxed) != 0 {
            return;
        }
        if let Err(error) = Current::of(self.raw).and_then(|_current| self.check(call, release())) {
            self.report_later(what, error);
        }
    }

    /// Keeps a failure in a Drop for the next call; nothing on a lost device, whose every call reports the loss.
    pub(crate) fn report_later(&self, what: &'static str, error: DriverError) {
        if !matches!(error, DriverError::DeviceLost { .. }) {
            let mut errors = lock(&self.dropped_errors);
            errors.push(DriverError::InDrop { what, source: Box::new(error) });
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

impl Drop for Context {
    fn drop(&mut self) {
        self.scratches.main.release(self, self.main_stream);
        // Waits for work that still runs, so that nothing is freed under a kernel.
        // SAFETY: no arguments.
        self.in_drop("a device", "cuCtxSynchronize", || unsafe { sys::cuCtxSynchronize() });
        let modules = self.kernels.take_modules().into_iter().map(Resource::Module);
        for resource in modules.chain(self.captures.take_all()) {
            // SAFETY: whatever could use it held this context, so nothing is left, and nothing runs any more.
            unsafe { self.destroy(resource) };
        }
        for buffer in self.pinned.empty() {
            // SAFETY: nobody has the buffer, and nothing runs any more.
            self.in_drop("pinned memory", "cuMemFreeHost", || unsafe { sys::cuMemFreeHost(buffer.as_ptr().cast()) });
        }
        if !self.pool.is_null() {
            // SAFETY: every buffer held this context, so none is left.
            self.in_drop("a memory pool", "cuMemPoolDestroy", || unsafe { sys::cuMemPoolDestroy(self.pool) });
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
            Control::of(self.raw.cast()).close();
        } else if !lost {
            // SAFETY: retained once in `retain`.
            let _unreportable = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
        }
    }
}

/// Keeps a device's context current on this thread, and alive; puts back the one that was current before, or none. See
/// [`Device::make_current`].
#[derive(Debug)]
#[must_use = "the context is current until the guard goes"]
pub struct CurrentGuard {
    had_none: bool,
    _device: Device,
    /// The current context belongs to a thread, so the guard must stay on it.
    _not_send: PhantomData<*const ()>,
}

impl Drop for CurrentGuard {
    fn drop(&mut self) {
        let mut popped = null_mut();
        // SAFETY: the pointer is valid for the call. Fails only when the user broke the stack, who then sees it.
        let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut popped) };
        if self.had_none {
            // SAFETY: no context is needed for none.
            let _ = unsafe { sys::cuCtxSetCurrent(null_mut()) };
        }
    }
}

/// Keeps a context current on this thread for one call of this library.
///
/// Where another context was current it comes back at the end. Where none was, ours stays, which spares the next call a
/// switch; the context takes itself back when it is released.
#[derive(Debug)]
#[must_use]
pub(crate) struct Current {
    pushed: bool,
    /// The current context belongs to a thread, so the guard must stay on it.
    _not_send: PhantomData<*const ()>,
}

impl Current {
    fn of(context: CUcontext) -> Result<Self> {
        let mut before = null_mut();
        // SAFETY: the pointer is valid for the call.
        plain("cuCtxGetCurrent", unsafe { sys::cuCtxGetCurrent(&mut before) })?;
        if before == context {
            return Ok(Self { pushed: false, _not_send: PhantomData });
        }
        if before.is_null() {
            // Nothing to restore: leaving ours in place spares the next call a switch.
            // SAFETY: the context is retained by the caller.
            plain("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(context) })?;
            return Ok(Self { pushed: false, _not_send: PhantomData });
        }
        // SAFETY: the context is retained by the caller.
        plain("cuCtxPushCurrent", unsafe { sys::cuCtxPushCurrent_v2(context) })?;
        Ok(Self { pushed: true, _not_send: PhantomData })
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        if self.pushed {
            let mut popped = null_mut();
            // SAFETY: the pointer is valid for the call. Fails only when the user broke the stack, who then sees it.
            let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut popped) };
        }
    }
}

/// Loads and initialises the driver; repeated calls cost a table look-up in the driver.
fn initialise() -> Result<()> {
    sys::loader::state()?;
    // SAFETY: 0 is the only flag defined.
    match CudaCode(unsafe { sys::cuInit(0) }) {
        CudaCode(0) => {}
        CudaCode::NO_DEVICE => return Err(DriverError::NoDevice),
        code => return Err(DriverError::Cuda { call: "cuInit", code }),
    }
    let found = Device::driver_version()?;
    if found < OLDEST_DRIVER {
        let hint = String::new();
        return Err(DriverError::DriverTooOld { found, needed: OLDEST_DRIVER, needed_by: "this library", hint });
    }
    Ok(())
}

/// A result outside any context, where no code is tied to one device.
fn plain(call: &'static str, code: c_int) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(DriverError::Cuda { call, code: CudaCode(code) }) }
}

fn attribute_of(device: CUdevice, attribute: i32) -> Result<u32> {
    let mut value = 0;
    // SAFETY: the pointer is valid for the call; the driver checks the number.
    plain("cuDeviceGetAttribute", unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, device) })?;
    Ok(u32::try_from(value).unwrap_or(0))
}

fn device_of(ordinal: usize) -> Result<CUdevice> {
    let mut device = 0;
    let number = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
    // SAFETY: the pointer is valid for the call.
    plain("cuDeviceGet", unsafe { sys::cuDeviceGet(&mut device, number) })?;
    Ok(device)
}

fn name_of(device: CUdevice) -> Result<String> {
    let mut name = [0u8; 256];
    // SAFETY: the buffer has the length that is passed; the driver ends the text with NUL.
    plain("cuDeviceGetName", unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as c_int, device) })?;
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    Ok(String::from_utf8_lossy(&name[..end]).into_owned())
}

/// Prints the seed that repeats this process's orders on the emulated device, once.
fn announce_seed() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if let Some(seed) = emulated::seed() {
            eprintln!("emulated device: GPU_EMULATED_SEED={seed}");
        }
    });
}
