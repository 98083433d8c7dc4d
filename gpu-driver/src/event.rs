//! Events: marks in a stream, to time its work; the order of streams, and the wait for all of them.

use std::{ptr::null_mut, sync::Weak};

use crate::raw::CUevent;
use gpu_driver_core::lock;

use crate::{CudaCode, Device, DriverError, IpcEventHandle, Result, Stream, context::Current, sys};

const DEFAULT: u32 = 0;
const BLOCKING_SYNC: u32 = 1;
const DISABLE_TIMING: u32 = 2;
const INTERPROCESS: u32 = 4;

/// A mark in a stream that can be waited for and timed (resolution about 0.5 us).
///
/// ```no_run
/// let device = gpu_driver::Device::first()?;
/// let stream = device.stream();
/// let start = stream.record()?;
/// // … enqueue work …
/// let end = stream.record()?;
/// println!("{} ms", end.elapsed_ms_since(&start)?); // waits for `end`
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
#[derive(Debug)]
pub struct Event {
    device: Device,
    raw: CUevent,
}

// SAFETY: the driver's event functions may be called from any thread.
unsafe impl Send for Event {}
// SAFETY: as above; the handle is never changed.
unsafe impl Sync for Event {}

impl Event {
    /// An event that can be timed, not recorded yet.
    ///
    /// # Errors
    /// The driver's error.
    pub fn new(device: &Device) -> Result<Self> {
        let current = device.enter()?;
        Self::with_flags(device, DEFAULT, &current)
    }

    /// An event for ordering alone, not recorded yet: cheaper than one with a time.
    ///
    /// # Errors
    /// The driver's error.
    pub fn untimed(device: &Device) -> Result<Self> {
        Self::untimed_entered(device, &device.enter()?)
    }

    /// An event that can be timed, and for which [`Event::synchronize`] sleeps instead of asking again and again: some microseconds later, but no
    /// processor is busy meanwhile.
    ///
    /// # Errors
    /// The driver's error.
    pub fn blocking(device: &Device) -> Result<Self> {
        let current = device.enter()?;
        Self::with_flags(device, BLOCKING_SYNC, &current)
    }

    /// An event that other processes may wait for, once they have opened its handle ([`Event::ipc_handle`]). It has no time.
    ///
    /// # Errors
    /// The driver's error.
    #[doc(alias = "event_flags.INTERPROCESS")]
    pub fn interprocess(device: &Device) -> Result<Self> {
        let current = device.enter()?;
        Self::with_flags(device, INTERPROCESS | DISABLE_TIMING, &current)
    }

    /// The handle by which another process opens an event of [`Event::interprocess`]. The event is kept until that process has dropped its own.
    ///
    /// # Errors
    /// `Cuda` with `INVALID_HANDLE` or `INVALID_VALUE` for other events, with `NOT_SUPPORTED` on the emulated device; else the driver's error.
    #[doc(alias = "cuIpcGetEventHandle")]
    pub fn ipc_handle(&self) -> Result<IpcEventHandle> {
        let _current = self.device.enter()?;
        IpcEventHandle::ask(|handle| {
            // SAFETY: the pointer is valid for the call, the event is alive.
            self.device.check("cuIpcGetEventHandle", unsafe { sys::cuIpcGetEventHandle(handle, self.raw) })
        })
    }

    /// Opens an event of another process, to wait for its mark, or to record it for the other to wait.
    ///
    /// # Errors
    /// `Cuda` with `NOT_SUPPORTED` on the emulated device; else the driver's error.
    ///
    /// # Safety
    /// The handle is of [`Event::ipc_handle`], and its process keeps the event until this one is dropped.
    #[doc(alias("from_ipc_handle", "cuIpcOpenEventHandle"))]
    pub unsafe fn open_ipc(device: &Device, handle: IpcEventHandle) -> Result<Self> {
        let _current = device.enter()?;
        let mut raw = null_mut();
        // SAFETY: the pointer is valid for the call; the handle is one, as the caller promises. Destroyed in Drop.
        device.check("cuIpcOpenEventHandle", unsafe { sys::cuIpcOpenEventHandle(&mut raw, handle.to_raw()) })?;
        Ok(Self { device: device.clone(), raw })
    }

    /// An event for ordering only, recorded on `stream`: cheaper than one with a time.
    pub(crate) fn untimed_on(stream: &Stream, current: &Current) -> Result<Self> {
        let event = Self::with_flags(stream.device(), DISABLE_TIMING, current)?;
        event.record_entered(stream, current)?;
        Ok(event)
    }

    /// [`Event::untimed`] within a call that has entered the device.
    pub(crate) fn untimed_entered(device: &Device, current: &Current) -> Result<Self> {
        Self::with_flags(device, DISABLE_TIMING, current)
    }

    fn with_flags(device: &Device, flags: u32, _current: &Current) -> Result<Self> {
        let mut raw = null_mut();
        // SAFETY: the pointer is valid for the call; destroyed in Drop.
        device.check("cuEventCreate", unsafe { sys::cuEventCreate(&mut raw, flags) })?;
        Ok(Self { device: device.clone(), raw })
    }

    /// Puts the mark behind all that `stream` holds now; a former mark of this event is forgotten.
    ///
    /// # Errors
    /// `WrongDevice` for a stream of another device; else the driver's error.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        if stream.device() != &self.device {
            let (expected, got) = (self.device.ordinal(), stream.device().ordinal());
            return Err(DriverError::WrongDevice { op: "Event::record", expected, got });
        }
        let current = self.device.enter()?;
        self.record_entered(stream, &current)
    }

    pub(crate) fn record_entered(&self, stream: &Stream, _current: &Current) -> Result<()> {
        // SAFETY: event and stream are alive.
        self.device.check("cuEventRecord", unsafe { sys::cuEventRecord(self.raw, stream.as_raw()) })
    }

    /// Whether the work before the mark has run. Does not wait. An event never recorded counts as run.
    ///
    /// # Errors
    /// `DeviceLost` when a kernel faulted.
    pub fn is_done(&self) -> Result<bool> {
        let _current = self.device.enter()?;
        // SAFETY: the event is alive.
        let code = unsafe { sys::cuEventQuery(self.raw) };
        if CudaCode(code) == CudaCode::NOT_READY {
            return Ok(false);
        }
        self.device.check("cuEventQuery", code).map(|()| true)
    }

    /// Waits until the work before the mark has run.
    ///
    /// # Errors
    /// `DeviceLost` when a kernel faulted.
    pub fn synchronize(&self) -> Result<()> {
        drop(self.device.enter()?);
        self.synchronize_quietly()
    }

    /// The wait alone, without the report of failures in a Drop.
    pub(crate) fn synchronize_quietly(&self) -> Result<()> {
        let _current = self.device.0.enter_quietly()?;
        // SAFETY: the event is alive.
        self.device.check("cuEventSynchronize", unsafe { sys::cuEventSynchronize(self.raw) })
    }

    /// Milliseconds of device time from `start` to this event, after waiting for this event.
    ///
    /// # Errors
    /// `WrongDevice`; `Cuda` with `INVALID_HANDLE` when one of them was never recorded, or has no time ([`Event::untimed`]); `DeviceLost`.
    #[doc(alias = "get_elapsed_time")]
    pub fn elapsed_ms_since(&self, start: &Event) -> Result<f32> {
        if start.device != self.device {
            let (expected, got) = (self.device.ordinal(), start.device.ordinal());
            return Err(DriverError::WrongDevice { op: "Event::elapsed_ms_since", expected, got });
        }
        self.synchronize()?;
        let _current = self.device.enter()?;
        let mut ms = 0.0;
        // SAFETY: the pointer is valid for the call; both events are alive.
        self.device.check("cuEventElapsedTime", unsafe { sys::cuEventElapsedTime(&mut ms, start.raw, self.raw) })?;
        Ok(ms)
    }

    /// The event's device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The event of that handle, which it owns.
    #[cfg(feature = "cust")]
    pub(crate) fn of_raw(device: &Device, raw: CUevent) -> Self {
        Self { device: device.clone(), raw }
    }

    /// Gives up the handle: whoever takes it destroys the event.
    #[cfg(feature = "cust")]
    pub(crate) fn into_raw(self) -> CUevent {
        let mut event = std::mem::ManuallyDrop::new(self);
        let raw = event.raw;
        // SAFETY: the only other field with a Drop, dropped once, as the event itself is not.
        unsafe { std::ptr::drop_in_place(&raw mut event.device) };
        raw
    }

    pub(crate) fn as_raw(&self) -> CUevent {
        self.raw
    }
}

impl Stream {
    /// A new event behind all that is enqueued now.
    ///
    /// # Errors
    /// The driver's error.
    pub fn record(&self) -> Result<Event> {
        let event = Event::new(self.device())?;
        event.record(self)?;
        Ok(event)
    }

    /// Makes later work of this stream start after `event`. The host does not wait.
    ///
    /// # Errors
    /// `WrongDevice` for an event of another device; else the driver's error.
    #[doc(alias = "wait_event")]
    pub fn wait(&self, event: &Event) -> Result<()> {
        if event.device() != self.device() {
            let (expected, got) = (self.device().ordinal(), event.device().ordinal());
            return Err(DriverError::WrongDevice { op: "Stream::wait", expected, got });
        }
        let _current = self.device().enter()?;
        self.wait_entered(event)
    }

    fn wait_entered(&self, event: &Event) -> Result<()> {
        // An event of a captured stream makes this one part of the capture.
        let _joining = self.device().0.captures.joining();
        // SAFETY: stream and event are alive.
        self.device().check("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(self.as_raw(), event.as_raw(), 0) })
    }

    /// Makes later work of this stream start after all that `other` holds now; nothing when both are one queue.
    ///
    /// # Errors
    /// `WrongDevice`, or the driver's error.
    pub fn follow(&self, other: &Stream) -> Result<()> {
        let current = self.device().enter()?;
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
        let context = &self.device().0;
        let followed = context
            .enter_quietly()
            .and_then(|current| self.follow_of_same_device("Stream::follow_in_drop", other, &current));
        if matches!(followed, Ok(()) | Err(DriverError::DeviceLost { .. })) {
            return;
        }
        // Without an event, only the end of all work of `other` gives the order.
        let waited = other.device().0.enter_quietly().and_then(|current| other.synchronize_entered(&current));
        if let Err(error) = waited {
            context.report_later("the memory of two streams", error);
        }
    }

    fn follow_of_same_device(&self, op: &'static str, other: &Stream, current: &Current) -> Result<()> {
        if other.device() != self.device() {
            let (expected, got) = (self.device().ordinal(), other.device().ordinal());
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
}

impl Device {
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
        let waited = match self.0.captures.alone() {
            // SAFETY: no arguments.
            Some(_alone) => self.check("cuCtxSynchronize", unsafe { sys::cuCtxSynchronize() }),
            None => self.synchronize_streams(&current),
        };
        self.0.release_left();
        waited
    }

    /// Waits for the main stream and those of [`Stream::new`], but for those that are captured.
    fn synchronize_streams(&self, current: &Current) -> Result<()> {
        let streams: Vec<_> = lock(&self.0.streams).clone();
        // Marks behind the work of each: a capture may begin while this thread waits for them. A stream is held no longer than its mark takes, since
        // `Stream::into_cust` asks for the only handle.
        let mark = |weak: Option<&Weak<_>>| {
            // Dropped when captures may go on.
            let stream;
            let _steady = self.0.captures.steady();
            stream = match weak.map(Weak::upgrade) {
                None => self.stream(),
                Some(Some(owned)) => Stream::of(self.clone(), owned),
                Some(None) => return Ok(None),
            };
            match self.0.capture_of(stream.as_raw(), current) {
                Ok(None) => Event::untimed_on(&stream, current).map(Some),
                Err(error @ DriverError::DeviceLost { .. }) => Err(error),
                _ => Ok(None),
            }
        };
        let all = std::iter::once(None).chain(streams.iter().map(Some));
        let marks = all.map(mark).collect::<Result<Vec<_>>>()?;
        marks.into_iter().flatten().try_for_each(|mark| mark.synchronize_quietly())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // The driver keeps the order of work that still waits for the event.
        // SAFETY: made in `with_flags`, destroyed once.
        self.device.0.in_drop("an event", "cuEventDestroy", || unsafe { sys::cuEventDestroy_v2(self.raw) });
    }
}
