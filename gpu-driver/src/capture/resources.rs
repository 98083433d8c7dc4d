//! The resources that captures and their graphs own, and their release.

use std::fmt;

use cust::sys::{CUdeviceptr, CUstream};
use gpu_driver_core::lock;

use super::state::{Resource, Resources, Shared};
use crate::{
    Device, DriverError, Result, Stream,
    device::{Context, Current},
    pool, sys,
};

/// Whether a stream is part of a capture, while memory goes back in its order.
enum CaptureState {
    Outside,
    Within(u64),
    /// The capture came to nothing, and has not been ended.
    Invalidated,
}

impl Context {
    /// Begins to own the resources of a capture.
    pub(crate) fn open_capture(&self, number: u64) {
        lock(&self.captures.owned).captures.entry(number).or_default().is_ours = true;
    }

    /// The resources of a capture that has ended, for its graph.
    pub(crate) fn close_capture(&self, device: &Device, number: u64) -> GraphResources {
        self.scratches.forget_capture(number);
        let resources = lock(&self.captures.owned).captures.remove(&number).unwrap_or_default();
        GraphResources { device: device.clone(), resources }
    }

    /// Gives a resource to the graph of a capture.
    pub(crate) fn give_to_graph(&self, number: u64, resource: Resource) {
        lock(&self.captures.owned).captures.entry(number).or_default().list.push(resource);
    }

    /// Memory within a capture of [`Stream::capture`], which its buffer and its graph share; zero at first.
    pub(crate) fn allocate_in_graph(
        &self,
        stream: &Stream,
        number: u64,
        bytes: usize,
        current: &Current,
    ) -> Result<CUdeviceptr> {
        if let Some(address) = lock(&self.captures.owned).reuse(number, stream.as_raw() as usize, bytes) {
            return Ok(address);
        }
        let address = pool::allocate_aside(stream.device(), bytes, bytes, current)?;
        let mut owned = lock(&self.captures.owned);
        owned.shared.insert(address, Shared { bytes, buffer: true, graph: true });
        owned.captures.entry(number).or_default().buffers.push(address);
        Ok(address)
    }

    /// Gives up the buffer's share of memory from [`Context::allocate_in_graph`].
    pub(crate) fn release_from_graph(&self, stream: CUstream, address: CUdeviceptr) {
        let number = match self.state_of(stream) {
            CaptureState::Within(number) => Some(number),
            CaptureState::Outside | CaptureState::Invalidated => None,
        };
        if lock(&self.captures.owned).release(number, stream as usize, address) {
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

    /// Gives memory back in the order of a stream by `free`, or keeps it where the stream is captured, until the graph has gone.
    ///
    /// The address is one of the pool, or of cuMemAlloc where there is none.
    pub(crate) fn release_in_order(&self, stream: CUstream, address: CUdeviceptr, free: impl FnOnce()) {
        let steady = self.captures.steady();
        match self.state_of(stream) {
            CaptureState::Outside => free(),
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
        lock(&self.captures.left).extend(resources);
        self.release_left();
    }

    /// Releases the resources that were left, unless a capture is under way or another thread waits for the device: both come here at their end.
    pub(crate) fn release_left(&self) {
        while !lock(&self.captures.left).is_empty() {
            let Some(alone) = self.alone_at_once() else { return };
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
}

/// The resources of a graph; released when the device has done its work.
pub(crate) struct GraphResources {
    device: Device,
    resources: Resources,
}

impl Drop for GraphResources {
    fn drop(&mut self) {
        let Resources { list, buffers, .. } = std::mem::take(&mut self.resources);
        let context = &self.device.0;
        let alone: Vec<Resource> = {
            let shared = &mut lock(&context.captures.owned).shared;
            let mut give_up = |address| match shared.get_mut(address) {
                Some(holders) if holders.buffer => {
                    holders.graph = false;
                    None
                }
                _ => shared.remove(address).map(|_| Resource::Memory(*address)),
            };
            buffers.iter().filter_map(&mut give_up).collect()
        };
        context.release_when_idle(list.into_iter().chain(alone));
    }
}

impl fmt::Debug for GraphResources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Resources { list, buffers, .. } = &self.resources;
        write!(f, "{} resources and {} buffers of a graph", list.len(), buffers.len())
    }
}
