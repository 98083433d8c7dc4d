//! Kernels in a device's memory: how they are loaded and launched.

use std::{ffi::c_void, sync::Mutex};

use gpu_driver_core::lock;

pub(crate) use crate::context::Loaded;
use crate::{
    Device, LaunchConfig, Program, Result, Stream,
    context::{SharedLimit, not_forked},
    module::{LaunchMode, find, launch_in_order, load_raw},
    sys,
};

impl Loaded {
    /// The kernel of a program that has one, named by `expression`.
    pub(crate) fn compile(device: &Device, expression: &str, program: &Program) -> Result<Self> {
        let binary = program.compile_fitting(device.arch())?;
        let lowered = binary.names().first().map_or(expression, |(_, lowered)| lowered);
        let module = load_raw(device, &binary)?;
        let raw = find(device, module, lowered).inspect_err(|_| device.0.unload(module))?;
        let (expression, overlaps) = (expression.to_owned(), program.overlaps());
        Ok(Self { expression, raw, module, shared: SharedLimit::default(), overlaps, resident: Mutex::default() })
    }

    /// All kernels that a program names, in the order of its names.
    pub(crate) fn compile_all(device: &Device, program: &Program) -> Result<Vec<Self>> {
        let binary = program.compile_fitting(device.arch())?;
        let module = load_raw(device, &binary)?;
        let each = binary.names().iter().map(|(expression, lowered)| {
            let raw = find(device, module, lowered)?;
            let (expression, overlaps) = (expression.clone(), program.overlaps());
            Ok(Self { expression, raw, module, shared: SharedLimit::default(), overlaps, resident: Mutex::default() })
        });
        let all: Result<Vec<Self>> = each.collect();
        if all.as_ref().map_or(true, Vec::is_empty) {
            device.0.unload(module);
        }
        all
    }

    /// Lets the kernel use that much dynamic shared memory.
    pub(crate) fn allow_shared(&self, device: &Device, bytes: u32) -> Result<()> {
        self.shared.allow(device, &self.expression, self.raw, bytes)
    }

    /// Blocks of that many threads and that much dynamic shared memory that fit a multiprocessor side by side.
    pub(crate) fn resident_blocks(&self, device: &Device, threads: u32, shared_bytes: u32) -> Result<u32> {
        not_forked()?;
        let mut known = lock(&self.resident);
        if let Some((of_threads, of_bytes, blocks)) = *known
            && (of_threads, of_bytes) == (threads, shared_bytes)
        {
            return Ok(blocks);
        }
        self.allow_shared(device, shared_bytes)?;
        let _current = device.enter()?;
        let mut blocks = 0;
        let size = i32::try_from(threads).unwrap_or(i32::MAX);
        // SAFETY: the pointer is valid for the call; the driver checks the numbers.
        let code = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, self.raw, size, shared_bytes as usize)
        };
        device.check("cuOccupancyMaxActiveBlocksPerMultiprocessor", code)?;
        let blocks = u32::try_from(blocks).unwrap_or(0);
        *known = Some((threads, shared_bytes, blocks));
        Ok(blocks)
    }

    /// Enqueues the kernel on `stream`, after the work that the homes hold and before their later work.
    ///
    /// # Safety
    /// The promises of [`crate::Function::launch_raw`].
    pub(crate) unsafe fn launch(
        &self,
        config: LaunchConfig,
        values: &mut [*mut c_void],
        for_each_home: impl Fn(&mut dyn FnMut(&Stream) -> Result<()>) -> Result<()>,
        stream: &Stream,
    ) -> Result<()> {
        let mode = if self.overlaps { LaunchMode::Overlapping } else { LaunchMode::Plain };
        // SAFETY: as the caller promises.
        unsafe { launch_in_order(&self.expression, self.raw, mode, config, values, for_each_home, stream) }
    }
}
