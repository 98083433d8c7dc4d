//! Release of memory and modules: in a stream's order, with a graph, or once the device is idle.

use crate::raw::{CUdeviceptr, CUmodule, CUstream};
use gpu_driver_core::{fork, lock};

use super::{
    Context, Current,
    captures::{self, Resource, Resources},
};
use crate::{CudaCode, DriverError, Result, sys};

/// Whether a stream is part of a capture, while memory goes back in its order.
enum CaptureState {
    Outside,
    Within(u64),
    /// The capture came to nothing, and has not been ended.
    Invalidated,
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

    /// [`Context::capture_of`] for captures of [`Stream::capture`](crate::Stream::capture) alone; costs next to nothing where there is none.
    pub(crate) fn own_capture_of(&self, stream: CUstream, current: &Current) -> Result<Option<u64>> {
        if !self.captures.any() {
            return Ok(None);
        }
        let number = self.capture_of(stream, current)?;
        Ok(number.filter(|number| lock(&self.captures.owned).is_ours(*number)))
    }

    /// Whether a stream is being captured, by this library or another.
    pub(crate) fn is_capturing(&self, stream: CUstream, _current: &Current) -> Result<bool> {
        let mut status = 0;
        // SAFETY: the pointer is valid for the call, the stream is alive.
        self.check("cuStreamIsCapturing", unsafe { sys::cuStreamIsCapturing(stream, &mut status) })?;
        Ok(status != 0)
    }

    /// Whether this thread is in a capture of the context.
    pub(crate) fn captures_here(&self) -> bool {
        captures::are_here(self.raw)
    }

    /// Begins to own the resources of a capture.
    pub(crate) fn open_capture(&self, number: u64) {
        lock(&self.captures.owned).captures.entry(number).or_default().is_ours = true;
    }

    /// The resources of a capture that has ended, for its graph.
    pub(crate) fn close_capture(&self, number: u64) -> Resources {
        if fork::is_child() {
            return Resources::default();
        }
        self.scratches.forget_capture(number);
        lock(&self.captures.owned).captures.remove(&number).unwrap_or_default()
    }

    /// Gives a resource to the graph of a capture.
    pub(crate) fn give_to_graph(&self, number: u64, resource: Resource) {
        lock(&self.captures.owned).captures.entry(number).or_default().list.push(resource);
    }

    /// Gives up the buffer's share of memory that it has together with a graph.
    pub(crate) fn release_from_graph(&self, stream: CUstream, address: CUdeviceptr) {
        if fork::is_child() {
            return;
        }
        let is_free = {
            let _steady = self.captures.steady();
            let number = match self.state_of(stream) {
                CaptureState::Within(number) => Some(number),
                CaptureState::Outside | CaptureState::Invalidated => None,
            };
            lock(&self.captures.owned).release(number, stream as usize, address)
        };
        if is_free {
            self.release_when_idle([Resource::Memory(address)]);
        }
    }

    fn state_of(&self, stream: CUstream) -> CaptureState {
        if !self.captures.any() {
            return CaptureState::Outside;
        }
        let number = self.enter_quietly().and_then(|current| self.capture_of(stream, &current));
        match number {
            Ok(Some(number)) => CaptureState::Within(number),
            Ok(None) | Err(DriverError::DeviceLost { .. }) => CaptureState::Outside,
            Err(_) => CaptureState::Invalidated,
        }
    }

    /// Gives memory back in the order of a stream, or keeps it where the stream is captured, until the graph has gone.
    ///
    /// The address is one of the pool, or of cuMemAlloc where there is none.
    pub(crate) fn release_in_order(&self, stream: CUstream, address: CUdeviceptr) {
        if fork::is_child() {
            return;
        }
        let steady = self.captures.steady();
        match self.state_of(stream) {
            CaptureState::Outside => self.free_in_order(stream, address),
            CaptureState::Within(number) => self.give_to_graph(number, Resource::Memory(address)),
            CaptureState::Invalidated => {
                // A value that is dropped with it may come here itself, and a second shared lock could wait for a thread that waits for the first.
                drop(steady);
                self.release_when_idle([Resource::Memory(address)]);
            }
        }
    }

    /// Releases resources once the device's work has ended: at once, or at the end of the captures that are under way, as a wait would end them.
    pub(crate) fn release_when_idle(&self, resources: impl IntoIterator<Item = Resource>) {
        if fork::is_child() {
            // The handle that a value would release is the parent's.
            return resources.into_iter().for_each(std::mem::forget);
        }
        lock(&self.captures.left).extend(resources);
        self.release_left();
    }

    /// Releases the resources that were left, unless a capture is under way or another thread waits for the device: both come here at their end.
    pub(crate) fn release_left(&self) {
        if fork::is_child() {
            return;
        }
        while !lock(&self.captures.left).is_empty() {
            let Some(alone) = self.captures.alone_at_once() else { return };
            let left = std::mem::take(&mut *lock(&self.captures.left));
            let mut idle = self.is_lost();
            self.in_drop("resources of a graph", "cuCtxSynchronize", || {
                // SAFETY: no arguments.
                let code = unsafe { sys::cuCtxSynchronize() };
                idle = code == 0;
                code
            });
            if !idle {
                // Work that may still run keeps its memory, until a later attempt.
                lock(&self.captures.left).extend(left);
                return;
            }
            let (values, others): (Vec<_>, Vec<_>) =
                left.into_iter().partition(|resource| matches!(resource, Resource::Value(_)));
            for other in others {
                // SAFETY: who could use it has gone, and nothing runs any more; taken from the list once.
                unsafe { self.destroy(other) };
            }
            drop(alone);
            // Some of them may leave resources themselves.
            drop(values);
        }
    }

    /// Frees memory or unloads a module.
    ///
    /// # Safety
    /// Nothing uses it any more, and this is done once.
    pub(crate) unsafe fn destroy(&self, resource: Resource) {
        match resource {
            Resource::Memory(address) => {
                // SAFETY: as the caller promises.
                self.in_drop("device memory", "cuMemFree", || unsafe { sys::cuMemFree_v2(address) });
            }
            Resource::Module(module) => {
                // SAFETY: as the caller promises.
                self.in_drop("a module", "cuModuleUnload", || unsafe { sys::cuModuleUnload(module) });
            }
            Resource::Value(value) => drop(value),
        }
    }

    /// Unloads a module once the device is idle and no capture is under way.
    pub(crate) fn unload(&self, module: CUmodule) {
        self.release_when_idle([Resource::Module(module)]);
    }

    /// Frees memory of the pool, or of cuMemAlloc where there is none, in the order of a stream that is in no capture.
    pub(crate) fn free_in_order(&self, stream: CUstream, address: CUdeviceptr) {
        if self.pool.is_null() {
            // cuMemFree waits for the device, so work that still uses the memory ends first.
            // SAFETY: the callers allocated it in a stream's order, and release it once.
            self.in_drop("a device buffer", "cuMemFree", || unsafe { sys::cuMemFree_v2(address) });
        } else {
            // SAFETY: as above; released after the work that uses it in stream order.
            self.in_drop("a device buffer", "cuMemFreeAsync", || unsafe { sys::cuMemFreeAsync(address, stream) });
        }
    }

    /// Releases the resources of a graph, once the device is idle: its own resources, and the memory of buffers that have gone.
    pub(crate) fn release_of_graph(&self, resources: Resources) {
        if fork::is_child() {
            return std::mem::forget(resources);
        }
        let Resources { list, buffers, .. } = resources;
        let alone: Vec<Resource> = {
            let shared = &mut lock(&self.captures.owned).shared;
            let mut give_up = |address| {
                let holders = shared.get_mut(address)?;
                holders.graphs = holders.graphs.saturating_sub(1);
                let is_free = holders.graphs == 0 && !holders.buffer;
                is_free.then(|| shared.remove(address)).map(|_| Resource::Memory(*address))
            };
            buffers.iter().filter_map(&mut give_up).collect()
        };
        self.release_when_idle(list.into_iter().chain(alone));
    }
}
