//! Launches of kernels by the driver, in an order with the homes of their arguments.

use std::{
    ffi::{c_int, c_void},
    ptr::null_mut,
};

use gpu_driver_core::launch::{self, Attribute};

use super::{Dim3, LaunchConfig};
use crate::{Device, DriverError, Result, Stream, context::Current, raw::CUfunction, sys};

pub(crate) fn same_device(op: &'static str, expected: &Device, got: &Device) -> Result<()> {
    if expected == got {
        return Ok(());
    }
    Err(DriverError::WrongDevice { op, expected: expected.ordinal(), got: got.ordinal() })
}

/// How the blocks of a launch stand to each other and to the work before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LaunchMode {
    #[default]
    Plain,
    /// The kernel waits for its stream itself.
    Overlapping,
    /// All blocks run at once.
    Cooperative,
    /// So many neighbouring blocks run at once, on one part of the device.
    Clusters(Dim3),
}

/// Enqueues a kernel on `stream`, after the work that the homes hold and before their later work.
///
/// # Safety
/// The promises of [`launch_raw`].
pub(crate) unsafe fn launch_in_order(
    name: &str,
    function: CUfunction,
    mode: LaunchMode,
    config: LaunchConfig,
    values: &mut [*mut c_void],
    for_each_home: impl Fn(&mut dyn FnMut(&Stream) -> Result<()>) -> Result<()>,
    stream: &Stream,
) -> Result<()> {
    let device = stream.device();
    let current = device.enter()?;
    for_each_home(&mut |home| {
        same_device("a kernel and its argument", device, home.device())?;
        stream.follow_entered(home, &current)
    })?;
    // SAFETY: as the caller promises.
    let mut outcome = unsafe { launch_raw(name, function, mode, config, values, stream, &current) };
    // Whatever happened, every home must come after the kernel if it was launched, or a release could overtake it.
    let joined = for_each_home(&mut |home| home.follow_entered(stream, &current));
    if joined.is_err() {
        let waited = stream.synchronize_entered(&current);
        outcome = outcome.and(joined).and(waited);
    }
    outcome
}

/// A launch within a call that has entered the stream's device.
///
/// # Safety
/// As [`Function::launch_raw`]; with [`LaunchMode::Overlapping`] its threads wait for the stream before they touch memory.
pub(crate) unsafe fn launch_raw(
    name: &str,
    function: CUfunction,
    mode: LaunchMode,
    config: LaunchConfig,
    arguments: &mut [*mut c_void],
    stream: &Stream,
    current: &Current,
) -> Result<()> {
    // SAFETY: as the caller promises.
    let (call, code) = unsafe { call_driver(function, mode, config, arguments, stream) };
    stream.device().check(call, code).map_err(|error| match error {
        DriverError::Cuda { code, .. } => {
            let LaunchConfig { grid, block, shared_bytes } = config;
            let (grid, block) = (grid.into(), block.into());
            DriverError::Launch { kernel: name.to_owned(), grid, block, shared_bytes, code }
        }
        other => other,
    })?;
    stream.finish_launch(current).map_err(|error| match error {
        DriverError::DeviceLost { code, report, .. } => {
            DriverError::DeviceLost { code, kernel: Some(name.to_owned()), report }
        }
        other => other,
    })
}

/// The driver's launch for a mode: the function that was called, and its result.
///
/// # Safety
/// As [`launch_raw`].
unsafe fn call_driver(
    function: CUfunction,
    mode: LaunchMode,
    config: LaunchConfig,
    arguments: &mut [*mut c_void],
    stream: &Stream,
) -> (&'static str, c_int) {
    let LaunchConfig { grid, block, shared_bytes } = config;
    static OVERLAP: Attribute = Attribute::new(launch::OVERLAP, 1);
    let cluster;
    let attribute = match mode {
        LaunchMode::Overlapping if stream.device().0.overlaps => Some(&OVERLAP),
        LaunchMode::Clusters(blocks) => {
            cluster = Attribute::cluster(blocks.into());
            Some(&cluster)
        }
        _ => None,
    };
    if let Some(attribute) = attribute {
        let stream = stream.as_raw();
        let (grid, block) = (grid.into(), block.into());
        let config = launch::Config {
            grid,
            block,
            shared_bytes,
            stream: stream.cast(),
            attributes: attribute,
            attribute_count: 1,
        };
        // SAFETY: as the caller promises; the driver copies configuration and argument values before it returns.
        let code =
            unsafe { sys::cuLaunchKernelEx((&raw const config).cast(), function, arguments.as_mut_ptr(), null_mut()) };
        ("cuLaunchKernelEx", code)
    } else if mode == LaunchMode::Cooperative {
        let (stream, values) = (stream.as_raw(), arguments.as_mut_ptr());
        let (Dim3 { x: across, y: down, z: deep }, Dim3 { x, y, z }) = (grid, block);
        // SAFETY: as below.
        let code = unsafe {
            sys::cuLaunchCooperativeKernel(function, across, down, deep, x, y, z, shared_bytes, stream, values)
        };
        ("cuLaunchCooperativeKernel", code)
    } else {
        // SAFETY: as the caller promises; the driver copies the argument values before it returns.
        let code = unsafe {
            sys::cuLaunchKernel(
                function,
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                shared_bytes,
                stream.as_raw(),
                arguments.as_mut_ptr(),
                null_mut(),
            )
        };
        ("cuLaunchKernel", code)
    }
}
