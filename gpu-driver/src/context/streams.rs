//! Streams that a context knows but does not own.

use std::{any::Any, sync::Arc};

use crate::raw::CUstream;
use gpu_driver_core::fork;

use super::{Context, Scratch};
use crate::sys;

/// A stream that is not the main one, destroyed with this unless another library owns it; keeps the context until then.
pub(crate) struct OwnedStream {
    pub(crate) context: Arc<Context>,
    pub(crate) raw: CUstream,
    pub(crate) scratch: Scratch,
    /// The owner of another library's stream, which is not destroyed here.
    pub(crate) owner: Option<Box<dyn Any + Send + Sync>>,
}

// SAFETY: the driver's stream functions may be called from any thread.
unsafe impl Send for OwnedStream {}
// SAFETY: as above; the handle is never changed.
unsafe impl Sync for OwnedStream {}

impl Drop for OwnedStream {
    fn drop(&mut self) {
        self.scratch.release(&self.context, self.raw);
        if let Some(owner) = self.owner.take() {
            // While there is a context; in the child of a fork the stream is the parent's.
            if fork::is_child() {
                std::mem::forget(owner);
            }
            return;
        }
        // The driver destroys the queue once its work has run.
        // SAFETY: made in `Stream::new`, destroyed once.
        let destroy = || unsafe { sys::cuStreamDestroy_v2(self.raw) };
        self.context.in_drop("a stream", "cuStreamDestroy", destroy);
    }
}
