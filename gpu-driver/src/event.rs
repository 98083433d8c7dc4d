//! Events: marks in a stream, to order streams and to time them.

use std::ptr::null_mut;

use cust::sys::CUevent;

use crate::{CudaCode, Device, DriverError, Result, Stream, device::Current, sys};

const DEFAULT: u32 = 0;
const DISABLE_TIMING: u32 = 2;

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

    /// An event for ordering only, recorded on `stream`: cheaper than one with a time.
    pub(crate) fn untimed_on(stream: &Stream, current: &Current) -> Result<Self> {
        let event = Self::with_flags(stream.device(), DISABLE_TIMING, current)?;
        event.record_entered(stream, current)?;
        Ok(event)
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

    fn record_entered(&self, stream: &Stream, _current: &Current) -> Result<()> {
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
    /// `WrongDevice`; `Cuda` with `INVALID_HANDLE` when one of them was never recorded; `DeviceLost`.
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

    pub(crate) fn as_raw(&self) -> CUevent {
        self.raw
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // The driver keeps the order of work that still waits for the event.
        // SAFETY: made in `with_flags`, destroyed once.
        self.device.0.in_drop("an event", "cuEventDestroy", || unsafe { sys::cuEventDestroy_v2(self.raw) });
    }
}
