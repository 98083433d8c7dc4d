//! Marks for profilers: the part of a program that is recorded, and ranges with names (NVTX).
//!
//! Ranges appear in Nsight Systems beside the kernels that are launched within them. They go to `libnvtx3interop.so.1` of the CUDA toolkit (from 12.9 on;
//! `pip install nvidia-nvtx` has it too), or to its `libnvToolsExt.so.1` before, which is opened when the first one begins. Where there is none, or
//! `GPU_NVTX=off`, they do nothing and cost one comparison. With a file in `GPU_NVTX` that is no such library they do nothing either, and the first call
//! that opens a device is an error. [`Stream::set_name`](crate::Stream::set_name) names the rows of streams.
//! ```no_run
//! use gpu_driver::{Device, profiler};
//! let device = Device::first()?;
//! profiler::start(&device)?; // `nsys profile --capture-range=cudaProfilerApi`
//! {
//!     let _range = profiler::range("step");
//!     // … launch kernels …
//! }
//! profiler::stop(&device)?;
//! # Ok::<(), gpu_driver::DriverError>(())
//! ```

use std::ffi::CString;

use crate::{Device, Result, nvtx, raw::CUstream, sys};

/// Starts the recording of a profiler that waits for it; without one, nothing.
///
/// # Errors
/// `DeviceLost`, and the driver's error.
#[doc(alias("start_profiler", "cuProfilerStart"))]
pub fn start(device: &Device) -> Result<()> {
    let _current = device.enter()?;
    // SAFETY: no arguments.
    device.check("cuProfilerStart", unsafe { sys::cuProfilerStart() })
}

/// Stops the recording of a profiler; without one, nothing.
///
/// # Errors
/// `DeviceLost`, and the driver's error.
#[doc(alias("stop_profiler", "cuProfilerStop"))]
pub fn stop(device: &Device) -> Result<()> {
    let _current = device.enter()?;
    // SAFETY: no arguments.
    device.check("cuProfilerStop", unsafe { sys::cuProfilerStop() })
}

/// A stretch of time with a name; it ends when this is dropped, in any order and on any thread.
#[must_use = "the range ends when it is dropped"]
#[derive(Debug)]
pub struct Range {
    /// None where nobody listens.
    number: Option<u64>,
}

/// Begins a range. The name ends before its first NUL byte.
#[doc(alias("nvtx", "nvtxRangeStart", "nvtxRangePush"))]
pub fn range(name: &str) -> Range {
    // SAFETY: the function is NVTX's, and the name ends in NUL.
    Range { number: nvtx::functions().map(|nvtx| unsafe { (nvtx.start)(c_name(name).as_ptr()) }) }
}

impl Drop for Range {
    fn drop(&mut self) {
        if let (Some(number), Some(nvtx)) = (self.number, nvtx::functions()) {
            // SAFETY: the function is NVTX's, and the range is open.
            unsafe { (nvtx.end)(number) };
        }
    }
}

/// Marks this moment by a name, which ends before its first NUL byte.
#[doc(alias = "nvtxMark")]
pub fn mark(name: &str) {
    if let Some(nvtx) = nvtx::functions() {
        // SAFETY: the function is NVTX's, and the name ends in NUL.
        unsafe { (nvtx.mark)(c_name(name).as_ptr()) };
    }
}

/// Whether there is a library that ranges go to.
pub fn has_ranges() -> bool {
    nvtx::functions().is_some()
}

fn c_name(name: &str) -> CString {
    CString::new(name.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

/// Tells a profiler the name of a stream, where one listens.
pub(crate) fn name_stream(stream: CUstream, name: &str) {
    if let Some(nvtx) = nvtx::functions() {
        // SAFETY: the function is NVTX's, the stream is alive, and the name ends in NUL.
        unsafe { (nvtx.name_stream)(stream, c_name(name).as_ptr()) };
    }
}
