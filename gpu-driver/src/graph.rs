//! Captured work that is launched again and again at the cost of one call.

use std::ptr::null_mut;

use cust::sys::{CUgraph, CUgraphExec, CUstream};

use crate::{
    CudaCode, Device, DriverError, Result, Stream,
    device::{Capturing, Context, Current},
    scratch::GraphMemory,
    sys,
};

/// Work that was captured from a stream, ready to be launched any number of times.
///
/// A replay does what the captured calls did, with the same addresses and the same scalar arguments, for about 2 us of the
/// host's time however many kernels it holds.
///
/// ```no_run
/// # use gpu_driver::{Device, Result};
/// # fn enqueue_step() -> Result<()> { Ok(()) }
/// let device = Device::first()?;
/// let stream = device.stream();
/// let (graph, ()) = stream.capture(|| enqueue_step())?;
/// for _ in 0..100 {
///     // SAFETY: the buffers of the step are alive, and nothing else uses them.
///     unsafe { graph.launch(&stream)? };
/// }
/// stream.synchronize()?;
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
#[derive(Debug)]
pub struct Graph {
    device: Device,
    raw: CUgraphExec,
    /// Freed behind the graph.
    _memory: GraphMemory,
}

// SAFETY: the driver takes the handle from any thread, one launch at a time; `launch` asks the caller for that.
unsafe impl Send for Graph {}
// SAFETY: as above.
unsafe impl Sync for Graph {}

impl Stream {
    /// Captures what `work` enqueues on this stream, without running it.
    ///
    /// Kernels whose buffers have this stream as their home can be captured, and other streams that are forked from it by
    /// [`Stream::record`] and [`Stream::wait`] and joined again. So can [`Stream::with_scratch`]: its memory is the graph's, whose
    /// Drop waits for the device then. Waiting for the stream, allocating and releasing buffers,
    /// and copies between device and pageable host memory cannot. A wait of another thread for the whole device, such as
    /// [`Device::synchronize`], begins when the capture has ended.
    ///
    /// `work` may have an error type of its own. Where nothing in it tells the type, `Ok::<_, DriverError>(())` does.
    ///
    /// # Errors
    /// The error of `work`; else `Cuda` with a `STREAM_CAPTURE_…` code for what cannot be captured. The stream is usable again
    /// in both cases, and after a panic of `work`: what was captured is discarded.
    pub fn capture<T, E: From<DriverError>>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<(Graph, T), E> {
        let begun = Begun::on(self)?;
        let outcome = work();
        let (captured, memory) = begun.end();
        // What `work` met comes first: it may be why the capture cannot end well.
        let outcome = outcome?;
        Ok((Graph::instantiate(self.device(), captured?, memory)?, outcome))
    }

    fn end_capture(&self) -> Result<Captured> {
        let device = self.device();
        let _current = device.0.enter_quietly()?;
        let mut raw: CUgraph = null_mut();
        // SAFETY: the pointer is valid for the call, the stream is alive.
        device.check("cuStreamEndCapture", unsafe { sys::cuStreamEndCapture(self.as_raw(), &mut raw) })?;
        Ok(Captured { device: device.clone(), raw })
    }

    /// Whether the stream is being captured.
    ///
    /// # Errors
    /// What the driver reports.
    pub fn is_capturing(&self) -> Result<bool> {
        let current = self.device().enter()?;
        self.is_capturing_entered(&current)
    }

    /// The number of the capture that the stream is part of, which no other one of the process's time has. None outside.
    ///
    /// # Errors
    /// `Cuda` with `STREAM_CAPTURE_INVALIDATED` where an error has ended the capture; else what the driver reports.
    pub fn capture_number(&self) -> Result<Option<u64>> {
        let current = self.device().enter()?;
        self.device().0.capture_of(self.as_raw(), &current)
    }

    pub(crate) fn is_capturing_entered(&self, _current: &Current) -> Result<bool> {
        let mut status = 0;
        // SAFETY: the pointer is valid for the call, the stream is alive.
        let code = unsafe { sys::cuStreamIsCapturing(self.as_raw(), &mut status) };
        self.device().check("cuStreamIsCapturing", code)?;
        Ok(status != 0)
    }
}

impl Context {
    /// The number of the capture that a stream is part of, for the process's time. None outside.
    pub(crate) fn capture_of(&self, stream: CUstream, _current: &Current) -> Result<Option<u64>> {
        const ACTIVE: i32 = 1;
        const STREAM_CAPTURE_INVALIDATED: CudaCode = CudaCode(901);
        const CALL: &str = "cuStreamGetCaptureInfo";
        let (mut status, mut number) = (0, 0);
        // SAFETY: the pointers are valid for the call, the stream is alive.
        self.check(CALL, unsafe { sys::cuStreamGetCaptureInfo(stream, &mut status, &mut number) })?;
        match status {
            0 => Ok(None),
            ACTIVE => Ok(Some(number)),
            _ => Err(DriverError::Cuda { call: CALL, code: STREAM_CAPTURE_INVALIDATED }),
        }
    }
}

/// A capture under way. It ends with this in any case, or the stream could not be used again.
struct Begun<'a> {
    stream: &'a Stream,
    ended: bool,
    /// The driver's number of the capture.
    number: u64,
    /// Dropped behind the end of the capture.
    _announced: Capturing<'a>,
}

impl<'a> Begun<'a> {
    fn on(stream: &'a Stream) -> Result<Self> {
        // Relaxed: kernels are loaded at their first launch, which the stricter modes forbid within a capture.
        const RELAXED: i32 = 2;
        let device = stream.device();
        let announced = device.0.capturing();
        let current = device.enter()?;
        // SAFETY: the stream is alive.
        let code = unsafe { sys::cuStreamBeginCapture_v2(stream.as_raw(), RELAXED) };
        device.check("cuStreamBeginCapture", code)?;
        let mut begun = Self { stream, ended: false, number: 0, _announced: announced };
        begun.number = device.0.capture_of(stream.as_raw(), &current)?.unwrap_or(0);
        Ok(begun)
    }

    fn end(mut self) -> (Result<Captured>, GraphMemory) {
        self.finish()
    }

    fn finish(&mut self) -> (Result<Captured>, GraphMemory) {
        self.ended = true;
        let captured = self.stream.end_capture();
        (captured, GraphMemory::of(self.stream.device(), self.number))
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // A panic is on its way, and tells more than the end of what it cut off.
            drop(self.finish());
        }
    }
}

/// A graph that is not executable yet.
struct Captured {
    device: Device,
    raw: CUgraph,
}

impl Drop for Captured {
    fn drop(&mut self) {
        // SAFETY: made by the end of a capture, destroyed once.
        self.device.0.in_drop("a captured graph", "cuGraphDestroy", || unsafe { sys::cuGraphDestroy(self.raw) });
    }
}

impl Graph {
    fn instantiate(device: &Device, captured: Captured, memory: GraphMemory) -> Result<Self> {
        let _current = device.enter()?;
        let mut raw = null_mut();
        // SAFETY: the pointer is valid for the call, the graph is alive.
        let code = unsafe { sys::cuGraphInstantiateWithFlags(&mut raw, captured.raw, 0) };
        device.check("cuGraphInstantiate", code)?;
        Ok(Self { device: device.clone(), raw, _memory: memory })
    }

    /// Enqueues the work. Launches of one graph run one after another, also on different streams.
    ///
    /// With `GPU_SYNC=1` it waits for the work, so that a fault in it is the error of this call. Which kernel of the graph
    /// faulted is not known; the emulated device alone tells it.
    ///
    /// # Errors
    /// `WrongDevice`; `DeviceLost`; else what the driver reports.
    ///
    /// # Safety
    /// What held for the captured launches holds again: their buffers are alive until the work has run, nothing else uses
    /// them meanwhile, and what they read has been written. Two threads do not launch one graph at the same time.
    pub unsafe fn launch(&self, stream: &Stream) -> Result<()> {
        if stream.device() != &self.device {
            let (expected, got) = (self.device.ordinal(), stream.device().ordinal());
            return Err(DriverError::WrongDevice { op: "Graph::launch", expected, got });
        }
        let current = self.device.enter()?;
        // SAFETY: graph and stream are alive; the rest is the caller's promise.
        self.device.check("cuGraphLaunch", unsafe { sys::cuGraphLaunch(self.raw, stream.as_raw()) })?;
        stream.finish_launch(&current)
    }

    /// The device whose streams it can be launched on.
    pub fn device(&self) -> &Device {
        &self.device
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // The driver keeps what is enqueued.
        // SAFETY: made in `instantiate`, destroyed once.
        self.device.0.in_drop("a graph", "cuGraphExecDestroy", || unsafe { sys::cuGraphExecDestroy(self.raw) });
    }
}
