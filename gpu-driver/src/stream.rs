//! Streams: queues of device work that run in order.

use std::{
    any::Any,
    ffi::c_void,
    fmt,
    panic::{self, AssertUnwindSafe},
    ptr::null_mut,
    sync::{Arc, LazyLock},
};

use crate::raw::CUstream;

use crate::{
    CudaCode, Device, DriverError, Result,
    context::{Current, OwnedStream, Scratch},
    environment, profiler, sys,
};

/// A queue of device work. Work that is enqueued on one stream runs in order; two streams run side by side unless an event
/// orders them.
///
/// Cheap to clone (a clone is the same queue), Send and Sync.
///
/// ```no_run
/// use gpu_driver::{Device, Stream};
/// let device = Device::first()?;
/// let side = Stream::new(&device)?;
/// let done = side.record()?; // after all that `side` holds now
/// device.stream().wait(&done)?; // later work of the main stream starts after it
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
#[derive(Clone)]
pub struct Stream {
    device: Device,
    raw: CUstream,
    /// None for the main stream, which the context owns.
    owned: Option<Arc<OwnedStream>>,
}

/// `GPU_SYNC=1`: wait after each launch, so that a fault surfaces there.
///
/// Another value than 0 and 1 is an error of the first call of the driver.
static SYNC: LazyLock<bool> = LazyLock::new(|| environment::waits_after_launches().unwrap_or(false));

// SAFETY: the driver's stream functions may be called from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above; the handle is never changed.
unsafe impl Sync for Stream {}

impl Stream {
    /// A new stream. It does not synchronise with the legacy default stream.
    ///
    /// # Errors
    /// The driver's error.
    pub fn new(device: &Device) -> Result<Self> {
        Self::with_priority(device, 0)
    }

    /// A new stream whose work goes before that of streams with a greater number, where both wait: 0 is the usual one, negative ones are more urgent
    /// ([`Device::stream_priorities`]). A number outside of the device's range becomes the nearest one within.
    ///
    /// # Errors
    /// The driver's error.
    pub fn with_priority(device: &Device, priority: i32) -> Result<Self> {
        const NON_BLOCKING: u32 = 1;
        let _current = device.enter()?;
        let mut raw = null_mut();
        // SAFETY: the pointer is valid for the call; destroyed in Drop.
        let code = unsafe { sys::cuStreamCreateWithPriority(&mut raw, NON_BLOCKING, priority) };
        device.check("cuStreamCreate", code)?;
        let owned = Arc::new(OwnedStream { context: device.0.clone(), raw, scratch: Scratch::default(), owner: None });
        device.0.register(&owned);
        Ok(Self::of(device.clone(), owned))
    }

    /// A stream that another library has made: launches and buffers take it as one of this library. `owner` keeps it alive, and is dropped with the last
    /// handle, after the memory that has the stream for its home.
    ///
    /// # Errors
    /// `Length` for the null stream; `Cuda` with `INVALID_CONTEXT` for a stream of another device or context; else the driver's error. The owner is dropped
    /// then.
    ///
    /// # Safety
    /// `raw` is a stream that lives until `owner` is dropped. The other library captures it only while this one does not use it.
    ///
    /// ```no_run
    /// # #[cfg(feature = "cust")] {
    /// use gpu_driver::{Device, Stream, cust::stream::{Stream as Theirs, StreamFlags}};
    /// let device = Device::first()?;
    /// let current = device.make_current()?;
    /// let theirs = Theirs::new(StreamFlags::NON_BLOCKING, None).unwrap();
    /// let raw = theirs.as_inner();
    /// # struct Owner(Theirs);
    /// # // SAFETY: any thread may use and destroy a stream.
    /// # unsafe impl Send for Owner {}
    /// # // SAFETY: as above.
    /// # unsafe impl Sync for Owner {}
    /// # let theirs = Owner(theirs);
    /// // SAFETY: the stream goes with its owner.
    /// let stream = unsafe { Stream::from_foreign(&device, raw, theirs)? };
    /// # }
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias = "ExternalStream")]
    pub unsafe fn from_foreign(device: &Device, raw: CUstream, owner: impl Any + Send + Sync) -> Result<Self> {
        const INVALID_CONTEXT: CudaCode = CudaCode(201);
        const CALL: &str = "cuStreamGetCtx";
        if raw.is_null() {
            let (expected, got) = ("a stream's handle".to_owned(), "null".to_owned());
            return Err(DriverError::Length { op: "Stream::from_foreign", expected, got });
        }
        let _current = device.enter()?;
        let mut context = null_mut();
        // SAFETY: the pointer is valid for the call; the stream is alive, as the caller promises.
        device.check(CALL, unsafe { sys::cuStreamGetCtx(raw, &mut context) })?;
        if context != device.0.raw() {
            return Err(DriverError::Cuda { call: CALL, code: INVALID_CONTEXT });
        }
        let (context, scratch) = (device.0.clone(), Scratch::default());
        let owned = Arc::new(OwnedStream { context, raw, scratch, owner: Some(Box::new(owner)) });
        device.0.register(&owned);
        Ok(Self::of(device.clone(), owned))
    }

    /// The stream's priority.
    ///
    /// # Errors
    /// The driver's error.
    pub fn priority(&self) -> Result<i32> {
        let _current = self.device.enter()?;
        let mut priority = 0;
        // SAFETY: the pointer is valid for the call, the stream is alive.
        self.device.check("cuStreamGetPriority", unsafe { sys::cuStreamGetPriority(self.raw, &mut priority) })?;
        Ok(priority)
    }

    /// Calls `function` on a thread of the driver once the work that the stream holds now has run; later work of the stream waits for its return.
    ///
    /// The function, and the Drops of the values that it owns, make no call of this library or of CUDA: CUDA answers those with an error, or waits for
    /// ever. Nor do they wait for a thread that begins a capture, which waits for copies to the host that may wait for them. A panic is printed and ends
    /// the function alone. After a fault of the device it is not called.
    ///
    /// # Errors
    /// `InCapture` where the stream is captured, as a graph may run more than once; `DeviceLost`; else the driver's error.
    ///
    /// ```no_run
    /// use std::sync::mpsc;
    /// let stream = gpu_driver::Device::first()?.stream();
    /// let (sender, receiver) = mpsc::channel();
    /// // … enqueue work …
    /// stream.call_host(move || _ = sender.send("done"))?;
    /// assert_eq!(receiver.recv(), Ok("done"));
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias("add_callback", "cuLaunchHostFunc"))]
    pub fn call_host(&self, function: impl FnOnce() + Send + 'static) -> Result<()> {
        let current = self.device.enter()?;
        let _steady = self.device.0.captures.steady();
        if self.device.0.capture_of(self.raw, &current)?.is_some() {
            return Err(DriverError::InCapture { op: "Stream::call_host" });
        }
        self.call_host_uncaptured(function)
    }

    /// [`Stream::call_host`] of a stream that is in no capture, and joins none until it returns.
    pub(crate) fn call_host_uncaptured(&self, function: impl FnOnce() + Send + 'static) -> Result<()> {
        let boxed: Box<HostFunction> = Box::new(Box::new(function));
        let data = Box::into_raw(boxed);
        // SAFETY: `run_host_function` takes the box back, once: the stream is in no capture.
        let code = unsafe { sys::cuLaunchHostFunc(self.raw, Some(run_host_function), data.cast()) };
        self.device.check("cuLaunchHostFunc", code).inspect_err(|_| {
            // SAFETY: the driver refused it, so nobody else has it.
            drop(unsafe { Box::from_raw(data) });
        })
    }

    pub(crate) fn of(device: Device, owned: Arc<OwnedStream>) -> Self {
        Self { device, raw: owned.raw, owned: Some(owned) }
    }

    pub(crate) fn main(device: Device) -> Self {
        let raw = device.0.main_stream;
        Self { device, raw, owned: None }
    }

    /// The stream's device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Waits until all that is enqueued now has run.
    ///
    /// # Errors
    /// `DeviceLost` when a kernel faulted; `Cuda` with a `STREAM_CAPTURE_…` code while the stream is captured, which ends the capture.
    pub fn synchronize(&self) -> Result<()> {
        let current = self.device.enter()?;
        self.synchronize_entered(&current)
    }

    /// The wait alone. After an asynchronous copy to or from borrowed memory nothing may return before it, not even the
    /// report of an earlier error, or the copy would outlive the borrow.
    pub(crate) fn synchronize_entered(&self, _current: &Current) -> Result<()> {
        // SAFETY: the stream is alive.
        self.device.check("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(self.raw) })
    }

    /// With `GPU_SYNC=1`, waits for the last launch. A captured launch does not run, and a wait would end the capture.
    pub(crate) fn finish_launch(&self, current: &Current) -> Result<()> {
        if !*SYNC || self.device.0.is_capturing(self.raw, current)? {
            return Ok(());
        }
        self.synchronize_entered(current)
    }

    /// Whether all that is enqueued has run. Does not wait.
    ///
    /// # Errors
    /// `DeviceLost` when a kernel faulted.
    pub fn is_idle(&self) -> Result<bool> {
        let _current = self.device.enter()?;
        // SAFETY: the stream is alive.
        let code = unsafe { sys::cuStreamQuery(self.raw) };
        if CudaCode(code) == CudaCode::NOT_READY {
            return Ok(false);
        }
        self.device.check("cuStreamQuery", code).map(|()| true)
    }

    /// Gives up the handle of a stream that nobody else has: whoever takes it destroys the stream. Scratch memory goes in the stream's order.
    #[cfg(feature = "cust")]
    pub(crate) fn into_raw(self, op: &'static str) -> Result<CUstream> {
        let current = self.device.enter()?;
        self.not_captured(op, &current)?;
        let refused = |got: &str| {
            let (expected, got) = ("the only handle of a stream of Stream::new".to_owned(), got.to_owned());
            Err(DriverError::Length { op, expected, got })
        };
        let Some(mut owned) = self.owned else { return refused("the device's main stream") };
        if owned.owner.is_some() {
            return refused("another library's stream");
        }
        // A thread that puts a mark behind all streams, to wait for the device, has a handle meanwhile.
        for _ in 0..100 {
            match Arc::try_unwrap(owned) {
                Ok(mut owned) => {
                    owned.owner = Some(Box::new(()));
                    return Ok(owned.raw);
                }
                Err(shared) => owned = shared,
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        refused("a stream that buffers or clones share")
    }

    pub(crate) fn scratch(&self) -> &Scratch {
        self.owned.as_ref().map_or(&self.device.0.scratches.main, |owned| &owned.scratch)
    }

    /// Names the stream in profilers that show rows of streams, up to the first NUL byte of the name; without one nothing. See [`profiler`](crate::profiler).
    #[doc(alias = "nvtxNameCuStream")]
    pub fn set_name(&self, name: &str) {
        profiler::name_stream(self.raw, name);
    }

    /// The driver's handle. It lives as long as this stream.
    pub fn as_raw(&self) -> CUstream {
        self.raw
    }
}

type HostFunction = Box<dyn FnOnce() + Send>;

/// Called by the driver.
///
/// # Safety
/// `data` is the box of [`Stream::call_host`], and is used once.
unsafe extern "C" fn run_host_function(data: *mut c_void) {
    // SAFETY: as the caller promises.
    let function: Box<HostFunction> = unsafe { Box::from_raw(data.cast()) };
    // Nothing may unwind into the driver. The panic's message is printed already; the Drop of its payload may panic too.
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(function)) {
        let _ = panic::catch_unwind(AssertUnwindSafe(|| drop(payload))).map_err(std::mem::forget);
    }
}

impl Device {
    /// The least and the most urgent priority of streams, such as (0, -5); (0, 0) where the device has none.
    ///
    /// # Errors
    /// The driver's error.
    pub fn stream_priorities(&self) -> Result<(i32, i32)> {
        let _current = self.enter()?;
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: the pointers are valid for the call.
        let code = unsafe { sys::cuCtxGetStreamPriorityRange(&mut least, &mut greatest) };
        self.check("cuCtxGetStreamPriorityRange", code)?;
        Ok((least, greatest))
    }

    /// The device's main stream: work that is enqueued there runs in order. Every array uses it unless told otherwise.
    ///
    /// It does not synchronise with the legacy default stream that other libraries may use.
    pub fn stream(&self) -> Stream {
        Stream::main(self.clone())
    }
}

impl From<&Device> for Stream {
    /// The device's main stream.
    fn from(device: &Device) -> Self {
        device.stream()
    }
}

impl From<&Stream> for Stream {
    /// A handle of the same queue.
    fn from(stream: &Stream) -> Self {
        stream.clone()
    }
}

impl PartialEq for Stream {
    /// Whether both are the same queue.
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw && self.device == other.device
    }
}

impl Eq for Stream {}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("device", &self.device.ordinal()).field("raw", &self.raw).finish()
    }
}
