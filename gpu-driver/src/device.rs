//! Devices: the handle of a context, and which devices there are.

use std::{
    ffi::c_int,
    fmt,
    marker::PhantomData,
    ptr::null_mut,
    sync::{Arc, Mutex, Once, Weak, atomic::Ordering},
};

use crate::raw::CUcontext;
use gpu_driver_core::lock;
use gpu_driver_emulated as emulated;

use crate::{
    CudaCode, CudaVersion, DriverError, Result,
    context::{Context, Current, driver_version, plain},
    nvrtc::{self, Arch},
    sys,
};

/// The oldest driver this library works with: CUDA 12.0 (driver 525).
pub const OLDEST_DRIVER: CudaVersion = CudaVersion { major: 12, minor: 0 };

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

/// One context per device and process, shared while anything uses it.
static CONTEXTS: Mutex<Vec<(usize, Weak<Context>)>> = Mutex::new(Vec::new());

impl Device {
    /// Leaves the device open until the process ends, for handles that do not keep it.
    #[cfg(feature = "cust")]
    pub(crate) fn keep_open(&self) {
        std::mem::forget(self.clone());
    }

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
        check_ordinal(ordinal)?;
        let mut contexts = lock(&CONTEXTS);
        contexts.retain(|(_, context)| context.strong_count() > 0);
        let mut of_ordinal =
            contexts.iter().filter(|(n, _)| *n == ordinal).filter_map(|(_, context)| context.upgrade());
        // A lost CUDA device stays lost for the process; an emulated one can be had anew.
        let usable = |context: &Arc<Context>| !context.is_emulated() || context.lost.load(Ordering::Relaxed) == 0;
        if let Some(context) = of_ordinal.find(usable) {
            return Ok(Self(context));
        }
        let context = Arc::new(nvrtc::early::beside(|| Context::retain(ordinal))?);
        contexts.push((ordinal, Arc::downgrade(&context)));
        Ok(Self(context))
    }

    /// The architecture of the device of that number, from 0, without opening it, which takes some 200 ms on a GPU: kernels can be compiled meanwhile
    /// ([`Preload::into_cache`](crate::Preload::into_cache)).
    ///
    /// # Errors
    /// Those of [`Device::new`].
    pub fn arch_of(ordinal: usize) -> Result<Arch> {
        check_ordinal(ordinal)?;
        Context::arch_of(ordinal)
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
        driver_version()
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

    /// Free and total device memory in bytes, as the driver counts it (other processes included).
    ///
    /// # Errors
    /// The driver's error.
    #[doc(alias = "mem_info")]
    pub fn memory(&self) -> Result<(usize, usize)> {
        let _current = self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the pointers are valid for the call.
        self.check("cuMemGetInfo", unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) })?;
        Ok((free, total))
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

    /// Keeps the error that the Drop of an `object` found, and no call has returned, for the next call on this device:
    /// [`DriverError::InDrop`] of a [`DriverError::Unreported`] with its text. For crates that build upon this one.
    pub fn report_in_drop(&self, object: &'static str, error: &dyn fmt::Display) {
        self.0.report_later(object, DriverError::Unreported { text: error.to_string() });
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
        let Self(device) = self;
        if self.is_emulated() {
            return write!(f, "emulated device {} (sm_{})", device.ordinal, device.arch.number());
        }
        write!(f, "CUDA device {}: {} ({})", device.ordinal, device.name, device.arch)
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Device {}

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

/// Whether there is a device of that number.
fn check_ordinal(ordinal: usize) -> Result<()> {
    match Device::count()? {
        0 => Err(DriverError::NoDevice),
        count if ordinal >= count => Err(DriverError::NoSuchDevice { ordinal, count }),
        _ => Ok(()),
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

/// Prints the seed that repeats this process's orders on the emulated device, once.
fn announce_seed() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if let Some(seed) = emulated::seed() {
            eprintln!("emulated device: GPU_EMULATED_SEED={seed}");
        }
    });
}
