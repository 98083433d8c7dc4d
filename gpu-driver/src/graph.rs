//! Captured work that is launched again and again at the cost of one call.

use std::{ffi::CString, path::Path, ptr::null_mut};

use crate::raw::{CUgraph, CUgraphExec};

use crate::{
    Device, DriverError, Result, Stream,
    capture::{Capturing, GraphResources},
    context::not_forked,
    sys,
};

/// Work that was captured from a stream, ready to be launched any number of times.
///
/// A replay repeats the work of the captured calls, with the same addresses and the same scalar arguments, for about 2 us of the
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
    /// The graph that the executable one was made from.
    captured: Captured,
    /// Released behind the graph.
    _resources: GraphResources,
}

// SAFETY: the driver takes the handle from any thread, one launch at a time; `launch` asks the caller for that.
unsafe impl Send for Graph {}
// SAFETY: as above.
unsafe impl Sync for Graph {}

impl Stream {
    /// Captures the work that `work` enqueues on this stream, without running it.
    ///
    /// Kernels whose buffers have this stream as their home can be captured, and other streams that are forked from it by
    /// [`Stream::record`] and [`Stream::wait`] and joined again. Waiting for the stream and copies between the host and its buffers cannot.
    /// Other threads must leave the stream alone meanwhile: their work would become part of the graph. Copies between the host and any stream of the device
    /// that other threads have begun are waited for.
    ///
    /// # Memory
    /// The graph owns all that its launches use and the caller does not hold: scratch memory ([`Stream::with_scratch`]), modules of captured
    /// kernels, values of [`Stream::retain_in_graph`], and buffers. A buffer that is allocated within the capture holds zeros until the graph
    /// has run, then the contents that the last launch left; its memory goes when both the buffer and the graph have gone. A buffer that is
    /// released within the capture stays until the graph goes. The graph's Drop waits for the device then.
    ///
    /// # Errors
    /// The error of `work`, which may have a type of its own (where nothing in it tells the type, `Ok::<_, DriverError>(())` does); else `Cuda`
    /// with a `STREAM_CAPTURE_…` code for operations that cannot be captured. The stream is usable again in both cases, and after a panic of
    /// `work`: the captured work is discarded.
    pub fn capture<T, E: From<DriverError>>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<(Graph, T), E> {
        let begun = Begun::on(self)?;
        let outcome = work();
        let ended = begun.end();
        // The error of `work` comes first: it may be why the capture cannot end well.
        let outcome = outcome?;
        Ok((Graph::instantiate(self.device(), ended)?, outcome))
    }

    fn end_capture(&self) -> Result<Captured> {
        let device = self.device();
        let _current = device.0.enter_quietly()?;
        let mut raw: CUgraph = null_mut();
        // SAFETY: the pointer is valid for the call, the stream is alive.
        device.check("cuStreamEndCapture", unsafe { sys::cuStreamEndCapture(self.as_raw(), &mut raw) })?;
        Ok(Captured { device: device.clone(), raw })
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
        not_forked()?;
        let announced = Capturing::announce(&device.0);
        let current = device.enter()?;
        let joining = device.0.captures.joining();
        // SAFETY: the stream is alive.
        let code = unsafe { sys::cuStreamBeginCapture_v2(stream.as_raw(), RELAXED) };
        device.check("cuStreamBeginCapture", code)?;
        let mut begun = Self { stream, ended: false, number: 0, _announced: announced };
        match device.0.capture_of(stream.as_raw(), &current) {
            Ok(number) => {
                begun.number = number.unwrap_or(0);
                device.0.open_capture(begun.number);
                Ok(begun)
            }
            Err(error) => {
                // Its end takes the lock itself.
                drop(joining);
                drop(begun);
                Err(error)
            }
        }
    }

    fn end(mut self) -> Ended {
        self.finish()
    }

    fn finish(&mut self) -> Ended {
        self.ended = true;
        let device = self.stream.device();
        // Nothing is given to the capture between its end and the end of its list.
        let _joining = device.0.captures.joining();
        let captured = self.stream.end_capture();
        Ended { captured, resources: GraphResources::of_capture(&device.0, self.number) }
    }
}

/// A capture that has ended. The graph goes before its resources.
struct Ended {
    captured: Result<Captured>,
    resources: GraphResources,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // A panic is on its way, and tells more than the end of the capture that it cut off.
            drop(self.finish());
        }
    }
}

/// A graph that is not executable yet.
#[derive(Debug)]
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
    fn instantiate(device: &Device, Ended { captured, resources }: Ended) -> Result<Self> {
        let captured = captured?;
        let _current = device.enter()?;
        let mut raw = null_mut();
        // SAFETY: the pointer is valid for the call, the graph is alive.
        let code = unsafe { sys::cuGraphInstantiateWithFlags(&mut raw, captured.raw, 0) };
        device.check("cuGraphInstantiate", code)?;
        Ok(Self { device: device.clone(), raw, captured, _resources: resources })
    }

    /// Enqueues the work. Launches of one graph run one after another, also on different streams.
    ///
    /// With `GPU_SYNC=1` it waits for the work, so that a fault in it is the error of this call. Which kernel of the graph
    /// faulted is not known; the emulated device alone tells it.
    ///
    /// # Errors
    /// `WrongDevice`; `DeviceLost`; `InCapture` on a stream that is being captured, since CUDA puts no graph into another one that way; else the
    /// driver's error.
    ///
    /// # Safety
    /// The promises of the captured launches hold again: the buffers that were borrowed for them are alive until the work has run, nothing else uses
    /// them meanwhile, and buffers that they read have been written. No other thread used the captured streams during the capture. Two threads do not
    /// launch one graph at the same time.
    pub unsafe fn launch(&self, stream: &Stream) -> Result<()> {
        if stream.device() != &self.device {
            let (expected, got) = (self.device.ordinal(), stream.device().ordinal());
            return Err(DriverError::WrongDevice { op: "Graph::launch", expected, got });
        }
        let current = self.device.enter()?;
        let _uncaptured = stream.uncaptured("Graph::launch", &current)?;
        // SAFETY: graph and stream are alive; the rest is the caller's promise.
        self.device.check("cuGraphLaunch", unsafe { sys::cuGraphLaunch(self.raw, stream.as_raw()) })?;
        stream.finish_launch(&current)
    }

    /// Captures work of the same kinds and order again, and puts its addresses, shapes and scalar arguments in place of the graph's: cheaper than another
    /// [`Stream::capture`], whose graph has to be made ready for launches.
    ///
    /// Launches that are enqueued already run as they were. From now on the graph owns the resources of the new capture.
    ///
    /// # Errors
    /// `WrongDevice`; the error of `work`; `Cuda` with `GRAPH_EXEC_UPDATE_FAILURE` where the work differs in more than a graph can change: other kinds of
    /// work, another order, or memory that is allocated or released within. The graph stays as it was then.
    ///
    /// ```no_run
    /// # use gpu_driver::{Device, DeviceVec};
    /// let stream = Device::first()?.stream();
    /// let (mut x, y) = (DeviceVec::zeros(&stream, 3)?, DeviceVec::from_slice(&stream, &[1, 2, 3])?);
    /// let (mut graph, ()) = stream.capture(|| x.copy_from(y.as_slice()))?;
    /// let z = DeviceVec::from_slice(&stream, &[4, 5, 6])?;
    /// graph.update(&stream, || x.copy_from(z.as_slice()))?;
    /// // SAFETY: all three buffers are alive, and nothing else uses them.
    /// unsafe { graph.launch(&stream)? };
    /// assert_eq!(x.to_vec()?, [4, 5, 6]);
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias = "cuGraphExecUpdate")]
    pub fn update<T, E: From<DriverError>>(
        &mut self,
        stream: &Stream,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        if stream.device() != &self.device {
            let (expected, got) = (self.device.ordinal(), stream.device().ordinal());
            return Err(DriverError::WrongDevice { op: "Graph::update", expected, got }.into());
        }
        let begun = Begun::on(stream)?;
        let outcome = work();
        let ended = begun.end();
        let outcome = outcome?;
        self.replace(ended)?;
        Ok(outcome)
    }

    fn replace(&mut self, Ended { captured, resources }: Ended) -> Result<()> {
        let captured = captured?;
        let _current = self.device.enter()?;
        // The function of this name has two places for the reason in all versions of the driver; that with a structure is called `_v2`.
        let (mut node, mut reason) = (null_mut(), 0);
        // SAFETY: graphs are alive, and the places are valid for the call.
        let code = unsafe { sys::cuGraphExecUpdate(self.raw, captured.raw, &mut node, &mut reason) };
        self.device.check("cuGraphExecUpdate", code)?;
        // The old resources go when the device has done its work.
        (self.captured, self._resources) = (captured, resources);
        Ok(())
    }

    /// Writes the graph's nodes and their order to a file, in the language of Graphviz: `dot -Tsvg graph.dot`.
    ///
    /// # Errors
    /// `Nul`; the driver's error where the file cannot be written.
    pub fn write_dot(&self, path: impl AsRef<Path>) -> Result<()> {
        const VERBOSE: u32 = 1;
        let path = CString::new(path.as_ref().as_os_str().as_encoded_bytes())
            .map_err(|_| DriverError::Nul { text: "a path" })?;
        let _current = self.device.enter()?;
        // SAFETY: the graph is alive, and the path ends in NUL.
        let code = unsafe { sys::cuGraphDebugDotPrint(self.captured.raw, path.as_ptr(), VERBOSE) };
        self.device.check("cuGraphDebugDotPrint", code)
    }

    /// The device whose streams it can be launched on.
    pub fn device(&self) -> &Device {
        &self.device
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // The driver keeps launches that are enqueued.
        // SAFETY: made in `instantiate`, destroyed once.
        self.device.0.in_drop("a graph", "cuGraphExecDestroy", || unsafe { sys::cuGraphExecDestroy(self.raw) });
    }
}
