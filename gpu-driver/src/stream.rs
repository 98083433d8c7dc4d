//! Streams: queues of device work that run in order.

use std::{
    fmt,
    ptr::null_mut,
    sync::{Arc, LazyLock},
};

use cust::sys::CUstream;

use crate::{CudaCode, Device, DriverError, Event, Result, device::Current, environment, scratch::Scratch, sys};

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
    owned: Option<Arc<Owned>>,
}

/// `GPU_SYNC=1`: wait after each launch, so that a fault surfaces there.
///
/// Another value than 0 and 1 is an error of the first call of the driver.
static SYNC: LazyLock<bool> = LazyLock::new(|| environment::waits_after_launches().unwrap_or(false));

/// Destroys a stream of ours; keeps the context until then.
pub(crate) struct Owned {
    device: Device,
    raw: CUstream,
    scratch: Scratch,
}

// SAFETY: the driver's stream functions may be called from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above; the handle is never changed.
unsafe impl Sync for Stream {}
// SAFETY: as above.
unsafe impl Send for Owned {}
// SAFETY: as above.
unsafe impl Sync for Owned {}

impl Stream {
    /// A new stream. It does not synchronise with the legacy default stream.
    ///
    /// # Errors
    /// The driver's error.
    pub fn new(device: &Device) -> Result<Self> {
        const NON_BLOCKING: u32 = 1;
        let _current = device.enter()?;
        let mut raw = null_mut();
        // SAFETY: the pointer is valid for the call; destroyed in Drop.
        device.check("cuStreamCreate", unsafe { sys::cuStreamCreate(&mut raw, NON_BLOCKING) })?;
        let owned = Arc::new(Owned { device: device.clone(), raw, scratch: Scratch::default() });
        device.0.register(&owned);
        Ok(Self::of(device.clone(), owned))
    }

    pub(crate) fn of(device: Device, owned: Arc<Owned>) -> Self {
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
        if !*SYNC || self.is_capturing_entered(current)? {
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

    /// A new event behind all that is enqueued now.
    ///
    /// # Errors
    /// The driver's error.
    pub fn record(&self) -> Result<Event> {
        let event = Event::new(&self.device)?;
        event.record(self)?;
        Ok(event)
    }

    /// Makes later work of this stream start after `event`. The host does not wait.
    ///
    /// # Errors
    /// `WrongDevice` for an event of another device; else the driver's error.
    #[doc(alias = "wait_event")]
    pub fn wait(&self, event: &Event) -> Result<()> {
        if event.device() != &self.device {
            let (expected, got) = (self.device.ordinal(), event.device().ordinal());
            return Err(DriverError::WrongDevice { op: "Stream::wait", expected, got });
        }
        let _current = self.device.enter()?;
        self.wait_entered(event)
    }

    fn wait_entered(&self, event: &Event) -> Result<()> {
        // An event of a captured stream makes this one part of the capture.
        let _joining = self.device.0.captures.joining();
        // SAFETY: stream and event are alive.
        self.device.check("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(self.raw, event.as_raw(), 0) })
    }

    /// Makes later work of this stream start after all that `other` holds now; nothing when both are one queue.
    ///
    /// # Errors
    /// `WrongDevice`, or the driver's error.
    pub fn follow(&self, other: &Stream) -> Result<()> {
        let current = self.device.enter()?;
        self.follow_of_same_device("Stream::follow", other, &current)
    }

    /// [`Stream::follow`] for a Drop, which has no way to return an error and must not stop for an older one.
    ///
    /// Later work of this stream starts after all that `other` holds now. The host does not wait, except where an event cannot be
    /// had or the streams are of two devices: then it waits for `other`. Where that fails too, it is the error of the next call on
    /// this stream's device, as [`DriverError::InDrop`]. On a lost device it does nothing.
    ///
    /// ```no_run
    /// use gpu_driver::{DeviceVec, Stream};
    /// struct Scratch {
    ///     buffer: DeviceVec<f32>,
    ///     /// Where `buffer` is used, beside its home.
    ///     side: Stream,
    /// }
    /// impl Drop for Scratch {
    ///     fn drop(&mut self) {
    ///         // The buffer goes next, in the order of its home: behind the work of the side stream.
    ///         self.buffer.home().follow_in_drop(&self.side);
    ///     }
    /// }
    /// ```
    pub fn follow_in_drop(&self, other: &Stream) {
        let context = &self.device.0;
        let followed = context
            .enter_quietly()
            .and_then(|current| self.follow_of_same_device("Stream::follow_in_drop", other, &current));
        if matches!(followed, Ok(()) | Err(DriverError::DeviceLost { .. })) {
            return;
        }
        // Without an event, only the end of all work of `other` gives the order.
        let waited = other.device.0.enter_quietly().and_then(|current| other.synchronize_entered(&current));
        if let Err(error) = waited {
            context.report_later("what two streams use", error);
        }
    }

    fn follow_of_same_device(&self, op: &'static str, other: &Stream, current: &Current) -> Result<()> {
        if other.device != self.device {
            let (expected, got) = (self.device.ordinal(), other.device.ordinal());
            return Err(DriverError::WrongDevice { op, expected, got });
        }
        self.follow_entered(other, current)
    }

    /// [`Stream::follow`] within a call that has entered the device, and must not end half-way for an older error.
    pub(crate) fn follow_entered(&self, other: &Stream, current: &Current) -> Result<()> {
        if self == other {
            return Ok(());
        }
        self.wait_entered(&Event::untimed_on(other, current)?)
    }

    pub(crate) fn scratch(&self) -> &Scratch {
        self.owned.as_ref().map_or(&self.device.0.scratches.main, |owned| &owned.scratch)
    }

    /// The driver's handle. It lives as long as this stream.
    pub fn as_raw(&self) -> CUstream {
        self.raw
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

impl Drop for Owned {
    fn drop(&mut self) {
        self.scratch.release(&self.device.0, self.raw);
        // The driver destroys the queue once its work has run.
        // SAFETY: made in `Stream::new`, destroyed once.
        let destroy = || unsafe { sys::cuStreamDestroy_v2(self.raw) };
        self.device.0.in_drop("a stream", "cuStreamDestroy", destroy);
    }
}
